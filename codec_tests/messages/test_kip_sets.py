"""The KIP sets hold the messages that were asked for, and each of them round-trips.

What was asked for is written out here as facts: names, versions, keys, base releases. The
documents themselves lie outside this repository, in the directory that the environment
variable KRAFTWIRE_KIPS names, or in `../shared/kips` beside it; the one test that reads
them is skipped, and says so, where they are absent.
"""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kraftwire_generator.checks.spec_set import load_set
from kraftwire_generator.importer.spec_text import spec_to_json
from kraftwire_generator.parser.message_parser import read_message
from kraftwire_messages import kip_595, kip_853, kip_856, kip_951
from kraftwire_wire import records
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.registry import Registry

from codec_tests import oracle
from codec_tests.oracle_kips import kip_pages
from codec_tests.strategies import random_message, same

SPECS = oracle.REPOSITORY / "message_specs"
REGISTRIES: dict[str, Registry] = {
    "kip_595": kip_595.registry,
    "kip_853": kip_853.registry,
    "kip_856": kip_856.registry,
    "kip_951": kip_951.registry,
}
BASE_RELEASES = {"kip_595": "2.7", "kip_853": "3.4", "kip_856": "3.4", "kip_951": "3.5"}


def pairs(**highest: int) -> dict[str, int]:
    """Requests and responses with their highest versions; the lowest is always 0."""
    return {
        f"{name}{suffix}": version
        for name, version in highest.items()
        for suffix in ("Request", "Response")
    }


HIGHEST_VERSIONS: dict[str, dict[str, int]] = {
    "kip_595": pairs(Vote=0, BeginQuorumEpoch=0, EndQuorumEpoch=0, DescribeQuorum=0),
    "kip_853": {
        "AddVoterRecord": 0,
        "RemoveVoterRecord": 0,
        "KRaftVersionRecord": 0,
        "VotersRecord": 0,
        "LeaderChangeMessage": 1,
        **pairs(AddVoter=0, RemoveVoter=0, Fetch=14, FetchSnapshot=1),
        **pairs(Vote=1, BeginQuorumEpoch=1, EndQuorumEpoch=1, DescribeQuorum=2),
    },
    "kip_856": {
        "AddVoterRecord": 0,
        "RemoveVoterRecord": 0,
        "LeaderChangeMessage": 1,
        "QuorumStateData": 1,
        **pairs(AddVoter=0, RemoveVoter=0, Fetch=14, FetchSnapshot=1),
        **pairs(Vote=1, BeginQuorumEpoch=1, EndQuorumEpoch=1, DescribeQuorum=2),
    },
    "kip_951": pairs(Produce=9, Fetch=15),
}
KEYS: dict[str, dict[int, str]] = {
    "kip_595": {},
    "kip_853": {1: "Fetch", 52: "Vote", 53: "BeginQuorumEpoch", 54: "EndQuorumEpoch"}
    | {55: "DescribeQuorum", 59: "FetchSnapshot"},
    "kip_951": {0: "Produce", 1: "Fetch"},
}
KEYS["kip_856"] = KEYS["kip_853"]
FLEXIBLE_SINCE = {  # where that is not version 0
    "kip_595": pairs(BeginQuorumEpoch=1, EndQuorumEpoch=1),
    "kip_853": pairs(BeginQuorumEpoch=1, EndQuorumEpoch=1, Fetch=12),
    # The document makes the requests flexible, and leaves the responses unchanged.
    "kip_856": {
        **pairs(BeginQuorumEpoch=2, EndQuorumEpoch=2, Fetch=12),
        "BeginQuorumEpochRequest": 1,
        "EndQuorumEpochRequest": 1,
    },
    "kip_951": pairs(Produce=9, Fetch=12),
}

MESSAGES = [(name, message) for name, messages in HIGHEST_VERSIONS.items() for message in messages]
FILES = sorted(SPECS.glob("kip_*/*.json"))


@pytest.mark.parametrize("name", REGISTRIES)
def test_a_set_has_the_required_messages_and_versions(name: str) -> None:
    registry = REGISTRIES[name]
    assert sorted(registry) == sorted(HIGHEST_VERSIONS[name])
    for message, highest in HIGHEST_VERSIONS[name].items():
        cls = registry.message(message)
        since = FLEXIBLE_SINCE[name].get(message, 0)
        assert list(cls.VALID_VERSIONS) == list(range(highest + 1)), message
        assert list(cls.FLEXIBLE_VERSIONS) == list(range(since, highest + 1)), message


def test_there_are_53_messages() -> None:
    assert len(MESSAGES) == len(FILES) == 53


@pytest.mark.parametrize("name", REGISTRIES)
def test_messages_with_a_key_are_found_by_it_and_the_others_by_name(name: str) -> None:
    registry, keys = REGISTRIES[name], KEYS[name]
    assert sorted(registry.api_keys) == sorted(keys)
    for key, api in keys.items():
        assert registry.request(key) is registry.message(f"{api}Request")
        assert registry.response(key) is registry.message(f"{api}Response")
    with pytest.raises(KraftwireError):
        registry.request(80)
    keyless = {message for message in registry if registry.message(message).API_KEY is None}
    assert keyless == set(registry) - {
        f"{api}{suffix}" for api in keys.values() for suffix in ("Request", "Response")
    }


@pytest.mark.parametrize("name", REGISTRIES)
def test_a_set_is_marked_as_a_draft_with_its_base(name: str) -> None:
    settings = tomllib.loads((SPECS / name / "set.toml").read_text(encoding="utf-8"))
    assert settings["draft"] is True
    assert settings["base_release"] == BASE_RELEASES[name]
    assert REGISTRIES[name].release == settings["release"] == name.replace("kip_", "KIP-")


@pytest.mark.parametrize("name", ["kip_853", "kip_856"])
def test_the_drafts_control_records_have_their_own_types(name: str) -> None:
    registry = REGISTRIES[name]
    added: Any = registry.message("AddVoterRecord")()
    removed: Any = registry.message("RemoveVoterRecord")()
    added.voter_id, removed.voter_id = 1, 2
    for control_type, message in ((0x7001, added), (0x7002, removed)):
        key = records.encode_control_key(control_type)
        assert key.hex() == f"0000{control_type:x}"
        assert records.decode_control_key(key) == control_type
        value = records.encode_control_value(control_type, message, 0)
        assert records.decode_control_value(registry, control_type, value) == (message, 0)
    with pytest.raises(KraftwireError, match="no message is known for control records of type"):
        records.decode_control_value(kip_951.registry, 0x7001, b"")


def test_the_warnings_are_missing_keys_and_one_tag_out_of_order() -> None:
    found = []
    for name in REGISTRIES:
        _, findings = load_set(SPECS / name)
        assert {finding.severity for finding in findings} <= {"warning"}
        found += [(name, Path(finding.file).stem, finding.message) for finding in findings]
    missing = {(name, message) for name, message, text in found if "needs an apiKey" in text}
    assert missing == {
        (name, message)
        for name, registry in REGISTRIES.items()
        for message in registry
        if message.endswith(("Request", "Response")) and registry.message(message).API_KEY is None
    }
    rest = [(name, message) for name, message, text in found if "needs an apiKey" not in text]
    assert rest == [("kip_951", "FetchResponse")]  # the document's order, with tag 3 for tag 2


@pytest.mark.parametrize(("name", "message"), MESSAGES)
def test_a_message_round_trips_through_bytes_and_json(name: str, message: str) -> None:
    cls = REGISTRIES[name].message(message)
    rng = random.Random(f"{name} {message}")
    for version in cls.VALID_VERSIONS:
        for _ in range(15):
            value = random_message(cls, version, rng)
            data = value.encode(version)
            assert same(cls.decode(data, version), value)
            assert cls.decode(data, version).encode(version) == data
            assert same(cls.from_json(value.to_json(version), version), value)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_spec_is_in_our_written_form(file: Path) -> None:
    """But for comments and `about`, it is what `specs import` would write."""
    spec, findings = read_message(file)
    assert spec is not None
    assert not findings
    assert spec.name == file.stem
    text = re.sub(r"(?m)^//.*\n", "", file.read_text(encoding="utf-8"))
    assert re.sub(r', "about": "[^"]*"', "", text) == spec_to_json(spec)


def test_the_specs_do_not_copy_the_documents() -> None:
    sentences = _document_sentences()
    assert len(sentences) > 60
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        ours = {_plain(about) for about in re.findall(r'"about": "([^"]*)"', text)}
        assert not ours & sentences, file
        comments = _plain(" ".join(re.findall(r"(?m)^//(.*)$", text)))
        assert not [item for item in sentences if item.count(" ") > 2 and item in comments], file


def _document_sentences() -> set[str]:
    """The texts of `about` in all documents; skips the calling test where there are none."""
    files = kip_pages()
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return {_plain(about) for about in re.findall(r'about"\s*:?\s*"([^"]*)"', text)} - {""}


def _plain(text: str) -> str:
    """Text without case, punctuation at its end, and differences in white space."""
    return " ".join(text.lower().split()).rstrip(".")
