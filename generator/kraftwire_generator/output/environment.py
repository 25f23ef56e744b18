"""The jinja2 settings of all templates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jinja2

TEMPLATES = Path(__file__).parent / "templates"


def template_environment(
    *folders: Path, autoescape: bool, finalize: Callable[[object], object] | None = None
) -> jinja2.Environment:
    """Return an environment that searches `folders` for templates, in this order."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,  # noqa: S701 - the callers say how they escape strings
        finalize=finalize,
    )
