"""What lint says: each kind of mistake in a small case of its own, and pages that mean harm."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftwire_generator.errors import Finding
from kraftwire_generator.lint.spec_lint import lint
from kraftwire_generator.parser.json_text import JsonError, parse_json

from codec_tests.oracle import REPOSITORY

KETTLE = """Tea

Code Block
{
  "apiKey": 7, "type": "request", "name": "KettleRequest",
  "validVersions": "0-1", "flexibleVersions": "1+",
  "fields": [
    { "name": "Litres", "type": "float64", "versions": "0+", "ignorable": true,
      "about": "How much water." },
    { "name": "Label", "type": "string", "versions": "1+", "taggedVersions": "1+", "tag": 0 },
    { "name": "Cups", "type": "[]Cup", "versions": "0+", "fields": [
      { "name": "CupUuid", "type": "uuid", "versions": "0+" }
    ]}
  ]
}

Handling
"""
COMPARED = "Versions Compared\n\nThis line was added.\n\n"


def findings(page: str, file: str = "page.txt") -> list[Finding]:
    return lint(page.encode(), file).findings


def test_a_sound_page_has_none() -> None:
    report = lint(KETTLE.encode(), "page.txt")
    assert (report.findings, report.note) == ([], None)


@pytest.mark.parametrize(
    ("old", "new", "line", "path", "phrase"),
    [
        ('"apiKey": 7', '"apiKey": "SOON"', 5, "", "apiKey 'SOON' is a placeholder"),
        ('"apiKey": 7', '"apiKey": X', 5, "", "apiKey 'X' is a placeholder"),
        ('"apiKey": 7', '"apiKey": 7X', 5, "", "or write 7 if that is its number"),
        (', "flexibleVersions": "1+"', "", 4, "", "a message needs flexibleVersions"),
        ('"uuid", "versions": "0+"', '"uuid", "versions": "0+", "default": "null"', 12,
         "Cups.CupUuid", "a uuid is never null; remove the default"),
        ('"uuid", "versions": "0+"', '"uuid", "versions": "0+", "nullableVersions": "0+"', 12,
         "Cups.CupUuid", "uuid cannot be null"),
        ('"string", "versions"', '"string", "default": "null", "versions"', 10, "Label",
         "null cannot be the default"),
        ('"taggedVersions": "1+"', '"taggedVersions": "+1"', 10, "Label", "write 1+"),
        ('"[]Cup"', '"[Cup]"', 11, "Cups", "'[Cup]' is not a type; write '[]Cup' for an array"),
        ('"[]Cup", "versions"', '"[]Cup", "version"', 11, "Cups",
         "'version' is not a key; write 'versions'"),
        ('"0-1", "flexible', '"0-1", "flexibel', 6, "", "write 'flexibleVersions'"),
        ('"ignorable": true,', '"ignorable": true', 8, "", "a comma is missing after this"),
        ('"about":', '"about"', 9, "", "a colon is missing after 'about'"),
        ('"versions": "0+" }\n', '"versions": "0+", }\n', 12, "", "a comma comes before }"),
        ('"How much', '"How\nmuch', 9, "", "a string continues over several lines"),
        ('    { "name": "Label"', '  \xa0 { "name": "Label"', 10, "", "a no-break space"),
        ("]}\n  ]\n", "]}\n  ]}\n", 15, "", "the spec ends before this"),
    ],
)  # fmt: skip
def test_slips(old: str, new: str, line: int, path: str, phrase: str) -> None:
    assert old in KETTLE
    (finding,) = findings(KETTLE.replace(old, new))
    assert finding.line == line
    assert finding.path == ".".join(filter(None, ("KettleRequest", path)))
    assert phrase in finding.message
    assert finding.severity == "error"


@pytest.mark.parametrize(
    ("old", "new", "line", "phrase"),
    [
        (
            '"CupUuid", "type": "uuid"',
            '"CupUuid", "type": "bool"',
            12,
            "is of type bool; write uuid",
        ),
        ('"CupUuid", "type": "uuid"', '"CupId", "type": "bool"', 12, "CupId is of type bool"),
        ('"float64", "versions": "0+"', '"float64", "versions": "4+"', 8, "are outside 0-1"),
    ],
)
def test_what_kafka_accepts_is_a_warning(old: str, new: str, line: int, phrase: str) -> None:
    (finding,) = findings(KETTLE.replace(old, new))
    assert (finding.line, finding.severity) == (line, "warning")
    assert phrase in finding.message


def test_two_fields_with_one_tag() -> None:
    second = '"tag": 0 },\n{ "name": "Color", "type": "int8", "taggedVersions": "1+", "tag": 0 },'
    (finding,) = findings(KETTLE.replace('"tag": 0 },', second))
    assert (finding.line, finding.path) == (11, "KettleRequest.Color")
    assert finding.message == "Label has tag 0 already; take the next free tag"


def test_every_slip_of_a_page_is_told_in_one_run() -> None:
    page = KETTLE.replace('"ignorable": true,', '"ignorable": true').replace('"[]Cup"', '"[Cup]"')
    assert [finding.line for finding in findings(page + page)] == [8, 11, 25, 28]


# -- what a page leaves out ------------------------------------------------------------------


def test_what_is_left_out_is_told_once_and_never_missed() -> None:
    page = KETTLE.replace('"fields": [\n', '"fields": [\n...\n', 1).replace('"tag": 0', '"tag": 2')
    page = page.replace(
        '"fields": [\n      { "name": "CupUuid"', '"fields": [\n...\n{ "name": "CupUuid"'
    )
    page = page.replace('"type": "uuid", "versions": "0+"', '"type": "Lid", ...')
    (finding,) = findings(page)
    assert (finding.line, finding.severity) == (8, "error")
    assert finding.message.startswith("... leaves something out on this line (and on 13, 14)")


def test_a_message_of_which_most_is_left_out() -> None:
    (finding,) = findings('Tea\n\n{ "type": "data",\n  ...\n  "fields": []\n}\n')
    assert (finding.line, finding.path) == (4, "")


# -- compared pages --------------------------------------------------------------------------


def test_merged_words_are_no_slips() -> None:
    page = KETTLE.replace('"apiKey": 7', '"apiKey": 5253').replace('"float64"', '"int8float64"')
    page = page.replace('"fields": [\n    {', '"fields": [\n    { {').replace(
        "]}\n  ]", "]}\n }\n  ]"
    )
    report = lint((COMPARED + page).encode(), "page.txt")
    assert report.findings == []
    assert report.note is not None
    merged = {(word.line, word.read_as) for word in report.note.merged}
    assert merged == {(9, "53"), (12, "float64")}
    assert report.note.mixed == ()
    assert "newer half: 2" in str(report.note)
    assert len(findings(page)) > 2


def test_slips_of_a_compared_page_are_told() -> None:
    page = COMPARED + KETTLE.replace('"about":', '"about"').replace('"[]Cup"', '"[Cup]"')
    assert [finding.line for finding in findings(page)] == [13, 15]


def test_fields_of_a_mixed_block_are_judged_one_by_one() -> None:
    mixed = KETTLE.replace('"taggedVersions": "1+"', '"taggedVersions": "+1"')
    mixed = mixed.replace('"about": "How much water."', '"Sugar", "Milk"')
    report = lint((COMPARED + mixed).encode(), "page.txt")
    assert report.note is not None
    assert report.note.mixed == ((8, "KettleRequest"),)
    assert [(f.line, f.path) for f in report.findings] == [(14, "KettleRequest.Label")]


# -- other files -----------------------------------------------------------------------------


def test_a_spec_file_is_judged_as_the_generator_does() -> None:
    file = REPOSITORY / "message_specs" / "kafka" / "clients" / "FetchRequest.json"
    assert lint(file.read_bytes(), file.as_posix()).findings == []


def test_the_released_specs_have_no_errors() -> None:
    for file in sorted((REPOSITORY / "message_specs" / "kafka").glob("**/*.json")):
        for finding in lint(file.read_bytes(), file.as_posix()).findings:
            assert finding.severity == "warning", finding


@pytest.mark.parametrize(
    ("page", "file", "severity", "phrase"),
    [
        ("", "page.txt", "warning", "no message spec was found here"),
        ("", "cup.json", "error", "expected a value but found the end of the file"),
        ("[]", "cup.json", "error", "start it with {"),
        ("tea", "cup.json", "error", "tea is not JSON"),
        ("<html><script>{</script>", "page.html", "warning", "no message spec was found here"),
    ],
)
def test_files_without_specs(page: str, file: str, severity: str, phrase: str) -> None:
    (finding,) = findings(page, file)
    assert finding.severity == severity
    assert phrase in finding.message


def test_text_that_is_not_utf8_is_told_and_read_on() -> None:
    data = KETTLE.replace('"[]Cup"', '"[Cup]"').encode().replace(b"water", b"w\xe4ter")
    first, second = lint(data, "page.txt").findings
    assert (first.line, second.line) == (9, 11)
    assert "byte 0xe4 is not UTF-8" in first.message


def test_a_file_that_is_no_text_is_told_once() -> None:
    for data in (KETTLE.replace("water", "w\0ter").encode(), KETTLE.encode("utf-16")):
        for file in ("page.txt", "cup.json"):
            (finding,) = lint(data, file).findings
            assert finding.severity == "error"
            assert "save the file as" in finding.message


def test_a_placeholder_that_a_later_key_replaces_is_still_an_error() -> None:
    found = findings(KETTLE.replace('"apiKey": 7', '"apiKey": N, "apiKey": 7'))
    assert [(finding.severity, finding.message) for finding in found] == [
        ("error", 'N is not JSON; write "N"'),
        ("error", "the key 'apiKey' is also on line 2; remove one of the two"),
    ]


# -- pages that mean harm --------------------------------------------------------------------

OPEN = '{ "apiKey": 1, "type": "data", "name": "A", "fields": ['
HOSTILE = {
    "bytes": random.Random(7).randbytes(200_000),
    "zeros": bytes(200_000),
    "one line of 10 MB": b"tea " * 2_500_000,
    "braces": b"{" * 200_000,
    "deep": (OPEN + '{"fields":[' * 20_000).encode(),
    "closers": (OPEN + "]}" * 50_000).encode(),
    "quotes": (OPEN + '"' * 100_000).encode(),
    "a string without end": (OPEN + '{"name": "' + "x" * 2_000_000).encode(),
    "strings without end": (OPEN + '\n{"name": "x' * 10_000).encode(),
    "comments": (OPEN + "/*" * 100_000).encode(),
    "commas": (OPEN + "," * 100_000).encode(),
    "torn blocks": (OPEN + "\nTea\n\n").encode() * 2_000,
    "a long name": (COMPARED + OPEN + '{"name": "' + "Ab" * 200_000 + '"}]}').encode(),
    "one long word": b"Tea\n{" + b"A" * 1_000_000,
    "colons": b"a:" * 500_000,
    "words before braces": b"Tea = {\n" * 20_000,
    "tags": b"<html>" + b"<a " * 200_000,
    "attributes": b"<html><a " + b'b="c>" ' * 200_000,
    "quotes in tags": b"<html>" + b'<a "' * 200_000,
    "HTML comments": b"<html>" + b"<!--" * 200_000,
    "scripts": b"<html>" + b"<script></" * 100_000,
    "entities": b"<html>" + b"&#" * 200_000,
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("file", ["page.txt", "cup.json"])
def test_no_page_hangs_or_breaks_it(what: str, file: str) -> None:
    start = time.monotonic()
    report = lint(HOSTILE[what], file)
    assert time.monotonic() - start < 30
    assert report.findings
    assert all(len(str(finding)) < 3_000 for finding in report.findings)


@pytest.mark.slow
@given(st.binary(max_size=200), st.integers(0, len(KETTLE)), st.integers(0, len(KETTLE)))
def test_any_damage_has_an_answer(junk: bytes, first: int, second: int) -> None:
    data = (COMPARED + KETTLE).encode()
    damaged = data[: len(COMPARED) + first] + junk + data[len(COMPARED) + second :]
    for file in ("page.txt", "cup.json", "page.html"):
        lint(damaged, file)
        lint(damaged[len(COMPARED) :], file)


@given(st.text('{}[]:,"x1 \n', max_size=3), st.integers(0, 370), st.integers(0, 3))
def test_what_strict_reading_refuses_is_an_error(junk: str, at: int, cut: int) -> None:
    spec = KETTLE[KETTLE.index("{") : KETTLE.index("Handling")]
    damaged = spec[:at] + junk + spec[at + cut :]
    try:
        parse_json(damaged)
    except JsonError:
        assert any(finding.severity == "error" for finding in findings(damaged, "cup.json"))
    else:
        assert findings("x" + damaged, "cup.json")
