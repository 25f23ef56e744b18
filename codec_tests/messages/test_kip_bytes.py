"""Every message of the KIP sets against bytes that were computed by hand from the documents.

The cases are data in `kip_bytes`, a module per set or part of a set.
"""

from __future__ import annotations

import pytest

from kraftwire_messages import kip_595, kip_853, kip_856, kip_951

from codec_tests.kip_bytes import (
    bytes_595,
    bytes_853_epochs,
    bytes_853_fetch,
    bytes_853_voters,
    bytes_856_epochs,
    bytes_856_fetch,
    bytes_856_voters,
    bytes_951,
)
from codec_tests.kip_bytes.cases import Case

SETS = {
    kip_595.registry: bytes_595.CASES,
    kip_853.registry: (bytes_853_voters.CASES + bytes_853_fetch.CASES + bytes_853_epochs.CASES),
    kip_856.registry: (bytes_856_voters.CASES + bytes_856_fetch.CASES + bytes_856_epochs.CASES),
    kip_951.registry: bytes_951.CASES,
}
NAMED = {
    f"{registry.release}-{type(case.message).__name__}-{case.version}": case
    for registry, cases in SETS.items()
    for case in cases
}


def test_every_message_has_bytes_computed_by_hand() -> None:
    for registry, cases in SETS.items():
        assert {type(case.message) for case in cases} == {
            registry.message(name) for name in registry
        }
    assert len(NAMED) == sum(len(cases) for cases in SETS.values())


@pytest.mark.parametrize("case", NAMED.values(), ids=NAMED)
def test_the_bytes_are_those_computed_by_hand(case: Case) -> None:
    data = bytes.fromhex(case.text)
    assert case.message.encode(case.version).hex() == data.hex()
    assert type(case.message).decode(data, case.version) == case.message
