"""Spec files, and whole pages with specs in them -> what is wrong with each spec.

A block that strict reading accepts is judged by the generator's own rules, with a few
warnings more. Any other is read leniently, every slip told, and what was read judged all
the same. Two kinds of block are judged with care, so that nothing is said to be missing
which its page leaves out: those with `...` in them, and those of a "Versions Compared"
page. Where such a page mixes old and new text until its brackets make no sense, fields are
judged one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kraftwire_generator.checks.field_rules import (
    FieldRule,
    default_fits_type,
    lies_outside_message,
    tagged_versions_open,
    type_can_be_null,
)
from kraftwire_generator.checks.message_rules import check_message
from kraftwire_generator.checks.structs import PlacedField, placed_fields, resolve
from kraftwire_generator.errors import Finding, Severity
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.lint.common_mistakes import fill_in, has_placeholder, mend_slips
from kraftwire_generator.lint.compared_pages import MergedWord, names_in, read_newer_words
from kraftwire_generator.lint.json_tokens import Slip, tokenize
from kraftwire_generator.lint.lenient_json import Reading, read_leniently
from kraftwire_generator.lint.spec_pages import Block, read_page
from kraftwire_generator.parser.json_text import JsonError, JsonObject, parse_json
from kraftwire_generator.parser.message_parser import message_of

# A hundred times the longest spec of Kafka; what is longer is read strictly or not at all.
_LONGEST_LENIENT = 500_000
_LONGEST_PATH = 200
_LONGEST_MESSAGE = 1000


def _uuid_default_is_null(place: PlacedField) -> str | None:
    is_null = str(place.field.type) == "uuid" and place.field.default == "null"
    return default_fits_type(place) if is_null else None


# What can be said of a field whose surroundings, and some of whose words, may not be its own.
_RULES_FOR_MIXED: tuple[tuple[FieldRule, Severity], ...] = (
    (type_can_be_null, "error"),
    (_uuid_default_is_null, "error"),
    (tagged_versions_open, "error"),
    (lies_outside_message, "warning"),
)


@dataclass(frozen=True, slots=True)
class ComparedNote:
    """What was done about a "Versions Compared" page, which is no fault of its specs.

    `mixed` are the blocks of which no more than single fields could be read, as first line
    and message name.
    """

    file: str
    merged: tuple[MergedWord, ...]
    mixed: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        text = (
            f'{self.file}: this is a "Versions Compared" page; '
            f"merged words that were read as their newer half: {len(self.merged)}"
        )
        if self.merged:
            text += " (-o json lists them)"
        if self.mixed:
            blocks = ", ".join(f"line {line} ({name})" for line, name in self.mixed)
            text += f"; old and new text cannot be told apart in the blocks of {blocks}"
            text += ", whose fields were judged one by one"
        return text


@dataclass
class Report:
    """The findings of one file in the order of its lines, and the note about its page.

    `spec` is what a file that is nothing but a spec holds, unless parts of it are left out.
    """

    findings: list[Finding] = field(default_factory=list)
    note: ComparedNote | None = None
    spec: MessageSpec | None = None


def lint(data: bytes, file: str) -> Report:
    """Everything that is wrong with the specs in a file or page."""
    report = Report()
    text = _text(data, file, report)
    if text is None:
        return report
    page = read_page(text, file)
    names = names_in(block.text for block in page.blocks) if page.compared else None
    blocks = [_Block(block, file, names) for block in page.blocks]
    for block in blocks:
        report.findings += block.findings()
    for piece in page.pieces:
        report.findings += _Block(piece, file, names).odd_spaces()
    if not blocks and not report.findings:
        advice = "no message spec was found here; is this the right file?"
        report.findings.append(Finding(file, 1, "", advice, "warning"))
    report.findings.sort(key=lambda finding: finding.line)
    if page.is_one_spec:
        report.spec = blocks[0].spec
    if page.compared:
        merged = [word for block in blocks for word in block.merged]
        mixed = [(block.first_line, block.name) for block in blocks if block.is_mixed]
        report.note = ComparedNote(file, tuple(merged), tuple(mixed))
    return report


def _text(data: bytes, file: str, report: Report) -> str | None:
    """The text in the bytes, as well as it can be read; None where they are no text."""
    zero = data.find(b"\0")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        advice = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        report.findings.append(Finding(file, line, "", advice))
        return data.decode(errors="replace") if zero < 0 else None
    if zero >= 0:
        line = data.count(b"\n", 0, zero) + 1
        advice = "a zero byte stands here, which no text has; save the file as text in UTF-8"
        report.findings.append(Finding(file, line, "", advice))
        return None
    return text


class _Block:
    """One block; `names` are those of its page where that is a compared one."""

    def __init__(self, block: Block, file: str, names: Counter[str] | None) -> None:
        self._block = block
        self._file = file
        self._names = names
        self.first_line = block.lines[0]
        self.name = ""
        self.merged: list[MergedWord] = []
        self.is_mixed = False
        self.spec: MessageSpec | None = None

    def findings(self) -> list[Finding]:
        """What is wrong with the block, at the lines of its page."""
        reading = _read(self._block.text)
        message = reading.value
        if message is None:
            return self._placed(self._strict_error())
        found = list(self._slips(reading, message))
        if self._names is not None:
            merged = read_newer_words(message, self._names)
            self.merged = [replace(word, line=self._line(word.line)) for word in merged]
            found += self._misspelt_keys(merged)
        found += mend_slips(message, self._file, sure_of_keys=not self.is_mixed)
        found += self._elisions(reading)
        name = message.members.get("name")
        self.name = _shortened(name, _LONGEST_PATH) if isinstance(name, str) else ""
        found += self._rules(reading, message)
        return self._placed(dict.fromkeys(found))

    def odd_spaces(self) -> list[Finding]:
        """No-break spaces and the like, which are slips in a piece of a spec as well."""
        slips: list[Slip] = []
        for _ in tokenize(self._block.text, slips):
            pass
        return self._placed(self._slip(slip) for slip in slips if slip.kind == "space")

    def _strict_error(self) -> Iterator[Finding]:
        try:
            parse_json(self._block.text)
        except JsonError as error:
            yield Finding(self._file, error.line, "", error.message)
        else:
            yield Finding(self._file, 1, "", "a spec is one JSON object; start it with {")

    def _slips(self, reading: Reading, message: JsonObject) -> Iterator[Finding]:
        """The slips of the text; of a compared page, those that merging does not explain."""
        is_compared = self._names is not None
        told_later = ("placeholder",) if has_placeholder(message) else ()
        for slip in reading.slips:
            if is_compared and slip.kind == "lost":
                self.is_mixed = True
            told = ("space",) if self.is_mixed else ("space", "plain")
            if slip.kind in told or (not is_compared and slip.kind not in told_later):
                yield self._slip(slip)

    def _slip(self, slip: Slip) -> Finding:
        opened_on = slip.opened_on
        opened = f" (line {self._line(opened_on)} opened it)" if opened_on else ""
        return Finding(self._file, slip.line, "", slip.message + opened)

    def _misspelt_keys(self, merged: Iterable[MergedWord]) -> Iterator[Finding]:
        """Keys that were slips before the page's newer text mended them."""
        for word in merged:
            if word.misspelt_key:
                text = f"{word.misspelt_key!r} is no key; write {word.read_as!r}, as the newer text"
                yield Finding(self._file, word.line, "", text, "warning")

    def _elisions(self, reading: Reading) -> Iterator[Finding]:
        if not reading.elided_lines or self.is_mixed:
            return
        first, *others = reading.elided_lines
        also = ", ".join(str(self._line(line)) for line in others)
        where = f" (and on {also})" if also else ""
        text = f"... leaves something out on this line{where}; write it out to generate"
        yield Finding(self._file, first, "", text)

    def _rules(self, reading: Reading, message: JsonObject) -> Iterator[Finding]:
        """What the generator says about the message that was read."""
        fill_in(reading.elided, message)
        if self.is_mixed:
            fill_in([message], message)
        spec, found = message_of(message, self._file)
        if spec is None:
            yield from found
        elif self.is_mixed:
            yield from _fields_of_mixed(spec)
        else:
            complete = not reading.elided_lines and not reading.stops_short
            self.spec = spec if complete else None
            resolved, problems = resolve(spec, complete=complete)
            yield from (*found, *problems, *check_message(resolved, complete=complete))

    def _line(self, line: int) -> int:
        """The line of the page that a line of the block stands on."""
        return self._block.lines[min(line, len(self._block.lines)) - 1]

    def _placed(self, findings: Iterable[Finding]) -> list[Finding]:
        return [
            replace(
                finding,
                line=self._line(finding.line),
                path=_shortened(".".join(filter(None, (self.name, finding.path))), _LONGEST_PATH),
                message=_shortened(finding.message, _LONGEST_MESSAGE),
            )
            for finding in findings
        ]


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _fields_of_mixed(spec: MessageSpec) -> Iterator[Finding]:
    for place in placed_fields(spec):
        for rule, severity in _RULES_FOR_MIXED:
            if (problem := rule(place)) is not None:
                yield Finding(spec.file, place.field.line, place.path, problem, severity)


def _read(text: str) -> Reading:
    """The block as strict reading has it, and leniently where that refuses it."""
    try:
        value = parse_json(text)
    except JsonError as error:
        reading = read_leniently(text) if len(text) <= _LONGEST_LENIENT else Reading()
        if not reading.slips and not reading.elided_lines:
            reading.slips.append(Slip(0, error.line, error.message))
        return reading
    return Reading(value if isinstance(value, JsonObject) else None)
