"""The picture of the rooms in ARCHITECTURE.md, drawn from the contracts of import-linter.

python -m codec_tests.documents.rooms      print it
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).parents[2]
_WIDTH = 98


def draw_rooms() -> str:
    """Return a row for each package, with its rooms; imports follow the arrows."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = [
        (container, contract["layers"])
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
        for container in contract.get("containers", ["all packages"])
    ]
    indent = max(len(container) for container, _ in rows) + 2
    return "\n".join(line for row in rows for line in _draw_row(*row, indent))


def _draw_row(container: str, layers: list[str], indent: int) -> list[str]:
    # wrap() breaks at spaces: the underscores hold a layer and its arrow together.
    text = "_--> ".join(layer.replace(" | ", ",_") for layer in layers)
    lines = wrap(text, _WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    starts = [container, *[""] * (len(lines) - 1)]
    return [
        start.ljust(indent) + line.replace("_-->", " -->").replace(",_", ", ")
        for start, line in zip(starts, lines, strict=True)
    ]


if __name__ == "__main__":
    print(draw_rooms())
