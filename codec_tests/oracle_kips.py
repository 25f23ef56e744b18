"""The KIP pages that the drafts come from, for tests to read specs in.

They lie outside this repository: in the directory that the environment variable
KRAFTWIRE_KIPS names, or in `../shared/kips` beside the repository. Where it is absent, the
tests that need it are skipped and say so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codec_tests.oracle import REPOSITORY, oracle_absences

KIPS = Path(os.environ.get("KRAFTWIRE_KIPS") or REPOSITORY.parent / "shared" / "kips")


def kip_pages(number: str = "") -> list[Path]:
    """The pages whose file names start with `number`; skips the calling test without any."""
    found = sorted(KIPS.glob(f"{number}*.txt"))
    if not found:
        reason = f"no KIP pages: {KIPS} has no {number}*.txt; name them in KRAFTWIRE_KIPS"
        if reason not in oracle_absences:
            oracle_absences.append(reason)
        pytest.skip(reason)
    return found


def kip_page(number: str) -> Path:
    """The page whose file name starts with `number`; skips the calling test without it."""
    return kip_pages(number)[0]
