"""The KIP pages themselves: every mistake that is known of them is found, and nothing else."""

from __future__ import annotations

import pytest

from kraftwire_generator.errors import Finding
from kraftwire_generator.language.spec import MessageSpec, walk_fields
from kraftwire_generator.lint.common_mistakes import fix_mistakes
from kraftwire_generator.lint.compared_pages import names_in, read_newer_words
from kraftwire_generator.lint.lenient_json import read_leniently
from kraftwire_generator.lint.spec_lint import LintReport, lint
from kraftwire_generator.lint.spec_pages import read_page
from kraftwire_generator.parser.json_text import JsonObject
from kraftwire_generator.parser.message_parser import message_of, read_message

from codec_tests.oracle import REPOSITORY
from codec_tests.oracle_kips import kip_page

TOTALS = {"000": 41, "001": 38, "002": 3, "003": 17, "004": 1}

PLACEHOLDER = "is a placeholder, not a number"
NULL_DEFAULT = "a uuid is never null"
NULLABLE = "uuid cannot be null"
COMMA = "a comma is missing after this"
TRAILING = "a comma comes before"
COLON = "a colon is missing after 'about'"
LINE_BREAK = "a string continues over several lines"
NO_BREAK_SPACE = "a no-break space (U+00A0)"
OUTSIDE = "versions 12+ are outside 0"
NO_END = "taggedVersions 1 must have no end; write 1+"
NO_FLEXIBLE = "a message needs flexibleVersions"
EARLY = "closes VoterUuid too early"
BEYOND = "the spec ends before this"
MISSPELT_KEY = "'flexibleVersion' is not a key; write 'flexibleVersions'"
LEFT_OUT = "... leaves something out"

SLIPS: dict[str, dict[str, tuple[int, ...]]] = {
    "000": {
        PLACEHOLDER: (44, 83, 193, 220),
        NULL_DEFAULT: (346, 438, 572),
        NULLABLE: (346, 572),
        COMMA: (51, 90, 227),
        TRAILING: (209,),
        LINE_BREAK: (424,),
        NO_BREAK_SPACE: (
            *(25, 53, 62, 104, 151, 201, 241, 287, 346, 350),
            *(381, 493, 607, 613, 648, 787, 935),
        ),
        OUTSIDE: (100, 102, 237, 239),
        NO_END: (648, 787, 935),
        LEFT_OUT: (335, 366),
        "the end lacks ] }": (513,),
    },
    "001": {
        PLACEHOLDER: (315, 343, 407, 435),
        NULL_DEFAULT: (289, 521, 573, 637, 732, 787),
        NULLABLE: (289, 521, 637, 732, 787),
        "write '[]Voter' for an array": (291,),
        "write '[]TopicData' for an array": (323,),
        "write '[]PartitionData' for an array": (326,),
        COMMA: (350,),
        TRAILING: (424, 584, 585),
        LINE_BREAK: (423, 506, 559, 638, 733, 788),
        "VoterUuid is of type bool; write uuid": (681,),
        EARLY: (637, 732, 787),
        BEYOND: (529, 587, 648, 802),
        "} is missing before this ]": (864,),
        LEFT_OUT: (510,),
    },
    "002": {
        "null cannot be the default": (67, 147),
        "CurrentLeaderBroker has tag 2 already": (71,),
    },
    "003": {
        "apiKey 'N' " + PLACEHOLDER: (24, 61, 130, 163, 199),
        "apiKey 'N51' " + PLACEHOLDER: (101,),
        "apiKey '56N' " + PLACEHOLDER: (240, 264),
        MISSPELT_KEY: (28,),
        COLON: (31, 107, 169),
        NO_FLEXIBLE: (100, 129, 162, 198),
        TRAILING: (295,),
    },
    "004": {"'version' is not a key; write 'versions'": (50,)},
}

SETS = {"000": "kip_853", "001": "kip_856", "002": "kip_951", "003": "kip_595", "004": "kip_853"}
WARNINGS = (OUTSIDE, MISSPELT_KEY, "VoterUuid is of type bool; write uuid")


def report_of(number: str) -> LintReport:
    page = kip_page(number)
    return lint(page.read_bytes(), page.as_posix())


def matches(finding: Finding, line: int, phrase: str) -> bool:
    severity = "warning" if phrase in WARNINGS else "error"
    return (finding.line, finding.severity) == (line, severity) and phrase in finding.message


@pytest.mark.parametrize("number", SLIPS)
def test_every_known_slip_is_found_and_nothing_else(number: str) -> None:
    findings = list(report_of(number).findings)
    assert len(findings) == TOTALS[number]
    for phrase, lines in SLIPS[number].items():
        for line in lines:
            (found,) = [finding for finding in findings if matches(finding, line, phrase)]
            findings.remove(found)
    assert findings == []


@pytest.mark.parametrize(
    ("number", "line", "word", "read_as"),
    [
        ("003", 28, "flexibleVersionflexibleVersions", "flexibleVersions"),
        ("003", 32, "[]VoteTopicRequestTopicData", "[]TopicData"),
        ("000", 62, "EndPointsEndPoint", "EndPoint"),
        ("000", 572, "ClusterIdVoterUuid", "VoterUuid"),
        ("000", 761, "5253", "53"),
        ("000", 764, "VoteRequestBeginQuorumEpochResponse", "BeginQuorumEpochResponse"),
    ],
)
def test_merged_words_are_read_as_their_newer_half(
    number: str, line: int, word: str, read_as: str
) -> None:
    note = report_of(number).note
    assert note is not None
    assert (line, word, read_as) in [(w.line, w.word, w.read_as) for w in note.merged]


@pytest.mark.parametrize(("number", "is_compared"), [(n, n != "001") for n in SLIPS])
def test_compared_pages_are_known(number: str, is_compared: bool) -> None:
    assert (report_of(number).note is not None) == is_compared


def test_blocks_past_telling_apart_are_named() -> None:
    note = report_of("000").note
    assert note is not None
    lines = [line for line, _ in note.mixed]
    assert lines == [82, 219, 535, 564, 590, 635, 686, 760, 829, 904]
    for number in ("002", "003", "004"):
        other = report_of(number).note
        assert other is not None
        assert other.mixed == ()


# -- what is read is what the drafts in message_specs say ------------------------------------


def facts(spec: MessageSpec) -> list[tuple[str, ...]]:
    structs = [(struct.name, struct.fields) for struct in spec.common_structs]
    return [
        (name, ".".join(path), str(field.type), str(field.versions))
        for name, fields in [("", spec.fields), *structs]
        for path, field in walk_fields(fields)
    ]


def messages_read(number: str) -> dict[str, MessageSpec]:
    page = read_page(kip_page(number).read_text(encoding="utf-8"), number)
    names = names_in(block.text for block in page.blocks)
    found = {}
    for block in page.blocks:
        message = read_leniently(block.text).value
        assert isinstance(message, JsonObject)
        if page.compared:
            read_newer_words(message, names)
        fix_mistakes(message, number)
        spec, _ = message_of(message, number)
        assert spec is not None
        found[spec.name] = spec
    return found


@pytest.mark.parametrize(
    ("number", "absent"),
    [("001", {"FetchRequest", "VoteResponse"}), ("002", set()), ("003", set()), ("004", set())],
)
def test_what_is_read_is_what_the_draft_set_has(number: str, absent: set[str]) -> None:
    """Compare all fields, except those behind `...` and the one type that the set corrects."""
    drafts = {
        path.stem: path for path in (REPOSITORY / "message_specs").glob(f"{SETS[number]}/**/*.json")
    }
    if not drafts:
        pytest.skip(f"message_specs has no {SETS[number]}")
    for name, spec in messages_read(number).items():
        if name not in absent:
            draft, _ = read_message(drafts[name])
            assert draft is not None
            assert facts(spec) == facts(draft)
