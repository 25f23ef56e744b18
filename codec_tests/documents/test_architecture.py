"""What ARCHITECTURE.md says about the tree is true."""

from __future__ import annotations

import re

from codec_tests.documents.rooms import ROOT, draw_rooms

TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
_SOURCES = ("generator", "runtime", "spark_jobs", "generated", ".")


def test_the_picture_of_the_rooms_is_drawn_from_the_contracts() -> None:
    assert f"```text\n{draw_rooms()}\n```" in TEXT, "print it: codec_tests.documents.rooms"


def test_every_package_and_file_that_is_named_exists() -> None:
    named = re.findall(r"`((?:kraftwire|pyspark_kraftwire|codec_tests)[\w./]*)`", TEXT)
    assert len(named) > 15
    missing = [name for name in named if not any(exists(source, name) for source in _SOURCES)]
    assert missing == []


def exists(source: str, name: str) -> bool:
    """Whether a path, or a dotted name of a module or of something in one, is there."""
    path = ROOT / source / (name if "/" in name else name.replace(".", "/"))
    if path.exists() or path.with_suffix(".py").exists():
        return True
    module = path.parent.with_suffix(".py")
    if not module.exists():
        module = path.parent / "__init__.py"
    return module.exists() and re.search(rf"\b{path.name}\b", module.read_text()) is not None
