"""Prints trees: with lines on a terminal, indented elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from kraftwire.console.output import on_terminal
from kraftwire.printing import printable

if TYPE_CHECKING:
    from rich.tree import Tree

_MAX_DRAWN = 5_000
"""Larger trees are indented instead: drawing a node costs a tenth of a millisecond."""


@dataclass(slots=True)
class TreeNode:
    """A line, and the nodes below it."""

    text: str
    children: list[TreeNode] = field(default_factory=list)

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Yield this node and all below it, indented."""
        yield "  " * depth + printable(self.text)
        for child in self.children:
            yield from child.lines(depth + 1)


def print_tree(root: TreeNode) -> None:
    """Print a tree on standard output."""
    if on_terminal() and sum(1 for _ in root.lines()) <= _MAX_DRAWN:
        from rich.console import Console

        Console().print(_draw(root))
        return
    for line in root.lines():
        click.echo(line)


def _draw(node: TreeNode) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(printable(node.text)))  # not as str, which rich would read as markup
    for child in node.children:
        tree.children.append(_draw(child))
    return tree
