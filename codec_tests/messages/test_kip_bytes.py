"""Every message of the KIP sets against bytes that were computed by hand from the documents."""

from __future__ import annotations

import pytest

from kraftwire_messages import kip_595, kip_853, kip_856, kip_951

from codec_tests.kip_bytes.reader import Encoding, read_encodings

SETS = {
    package.registry: read_encodings(package.registry, kip)
    for package, kip in ((kip_595, 595), (kip_853, 853), (kip_856, 856), (kip_951, 951))
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
def test_the_bytes_are_those_computed_by_hand(case: Encoding) -> None:
    assert case.message.encode(case.version).hex() == case.data.hex()
    assert type(case.message).decode(case.data, case.version) == case.message
