"""The guide of every spec set of this repository, written once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftwire_generator.commands.docs import docs

from codec_tests.guide.guide_pages import PageOnDisk, pages_of

SETS = ("kafka", "kip_595", "kip_853", "kip_856", "kip_951")
SPECS = Path(__file__).resolve().parents[2] / "message_specs"


@pytest.fixture(scope="session")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the guide."""
    out = tmp_path_factory.mktemp("guide")
    chosen = [part for name in SETS for part in ("--specs", str(SPECS / name))]
    result = CliRunner().invoke(docs, [*chosen, "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="session")
def pages(guide: Path) -> dict[str, PageOnDisk]:
    """Its pages."""
    return pages_of(guide)
