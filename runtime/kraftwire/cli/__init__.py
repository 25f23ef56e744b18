"""The command line `kraftwire`.

- `commands`: the table of all commands and groups, which are imported when they are called
- `log`, `metadata`, `groups`, `capture`, `quorum`, `storage`, `node`: a package for each group;
  they do not import one another
- `messages`: decode, encode and fields, and what else prints messages; `explain`: the hex view
- `options`: click options that several groups have
- `simulate`, `doctor`: commands of one module

It may import every package of kraftwire, and alone knows the generator.
"""

from __future__ import annotations

from kraftwire.cli.commands import main

__all__ = ["main"]
