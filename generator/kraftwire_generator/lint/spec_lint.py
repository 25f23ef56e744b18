"""Checks spec files, and whole pages with specs in them; the entry point is `lint`.

A block of strict JSON is checked by the generator's rules, plus a few warnings. Any other block is
read leniently: every mistake is reported, and the rest is checked too. Two kinds of block are
incomplete, so nothing is reported as missing from them: those with `...`, and those of a "Versions
Compared" page. If such a page mixes old and new text so that its brackets do not match, each field
is checked separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kraftwire_generator.checks.field_rules import (
    default_problem,
    null_problem,
    occurrence_problem,
    tagged_versions_problem,
)
from kraftwire_generator.checks.message_rules import check_spec
from kraftwire_generator.checks.structs import placed_fields
from kraftwire_generator.errors import Finding, not_utf8
from kraftwire_generator.language.spec import MessageSpec
from kraftwire_generator.lint.common_mistakes import fill_in, fix_mistakes, has_placeholder
from kraftwire_generator.lint.compared_pages import MergedWord, names_in, read_newer_words
from kraftwire_generator.lint.json_tokens import SyntaxMistake, tokenize
from kraftwire_generator.lint.lenient_json import LenientReading, read_leniently
from kraftwire_generator.lint.spec_pages import SpecBlock, read_page
from kraftwire_generator.parser.json_text import JsonError, JsonObject, parse_json
from kraftwire_generator.parser.message_parser import message_of

# A hundred times the longest spec of Kafka. Longer text is only read strictly.
_LONGEST_LENIENT = 500_000
_LONGEST_PATH = 200
_LONGEST_MESSAGE = 1000


@dataclass(frozen=True, slots=True)
class ComparedNote:
    """How a "Versions Compared" page was read, which is not a finding about its specs.

    `mixed` has first line and message name of the blocks whose fields were checked one by one.
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
            text += f"; old and new text cannot be separated in the blocks of {blocks}"
            text += ", whose fields were checked one by one"
        return text


@dataclass
class LintReport:
    """The findings of one file in the order of its lines, and the note about its page.

    `spec` is None unless the file consists of one complete spec.
    """

    findings: list[Finding] = field(default_factory=list)
    note: ComparedNote | None = None
    spec: MessageSpec | None = None


def lint(data: bytes, file: str) -> LintReport:
    """Return everything that is wrong with the specs in a file or page."""
    report = LintReport()
    text = _decode(data, file, report)
    if text is None:
        return report
    page = read_page(text, file)
    names = names_in(block.text for block in page.blocks) if page.compared else None
    blocks = [_BlockLint(block, file, names) for block in page.blocks]
    for block in blocks:
        report.findings += block.findings()
    for fragment in page.fragments:
        report.findings += _BlockLint(fragment, file, names).odd_spaces()
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


def _decode(data: bytes, file: str, report: LintReport) -> str | None:
    """Return the text as far as it can be decoded, or None for a binary file; report bad bytes."""
    zero = data.find(b"\0")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        report.findings.append(not_utf8(file, data, error))
        return data.decode(errors="replace") if zero < 0 else None
    if zero >= 0:
        line = data.count(b"\n", 0, zero) + 1
        advice = "this line has a zero byte, which text never has; save the file as text in UTF-8"
        report.findings.append(Finding(file, line, "", advice))
        return None
    return text


class _BlockLint:
    """Checks one block; `names` has the names on its page, or is None if that is not compared."""

    def __init__(self, block: SpecBlock, file: str, names: Counter[str] | None) -> None:
        self._block = block
        self._file = file
        self._names = names
        self.first_line = block.lines[0]
        self.name = ""
        self.merged: list[MergedWord] = []
        self.is_mixed = False
        self.spec: MessageSpec | None = None

    def findings(self) -> list[Finding]:
        """Return the findings of the block, with the lines of its page."""
        reading = _read(self._block.text)
        message = reading.value
        if message is None:
            return self._placed([self._strict_error()])
        found = list(self._syntax(reading, message))
        if self._names is not None:
            merged = read_newer_words(message, self._names)
            self.merged = [replace(word, line=self._line(word.line)) for word in merged]
            found += self._misspelt_keys(merged)
        found += fix_mistakes(message, self._file, sure_of_keys=not self.is_mixed)
        if reading.elided_lines and not self.is_mixed:
            found.append(self._elision(*reading.elided_lines))
        name = message.members.get("name")
        self.name = _shortened(name, _LONGEST_PATH) if isinstance(name, str) else ""
        found += self._rules(reading, message)
        return self._placed(dict.fromkeys(found))

    def odd_spaces(self) -> list[Finding]:
        """Return findings about no-break spaces and the like; also called for fragments."""
        mistakes: list[SyntaxMistake] = []
        for _ in tokenize(self._block.text, mistakes):
            pass
        return self._placed(self._finding(item) for item in mistakes if item.kind == "space")

    def _strict_error(self) -> Finding:
        try:
            parse_json(self._block.text)
        except JsonError as error:
            return Finding(self._file, error.line, "", error.message)
        return Finding(self._file, 1, "", "a spec is one JSON object; start it with {")

    def _syntax(self, reading: LenientReading, message: JsonObject) -> Iterator[Finding]:
        """Yield syntax mistakes; on a compared page, only those that merging cannot cause."""
        is_compared = self._names is not None
        for mistake in reading.mistakes:
            if is_compared and mistake.kind == "lost":
                self.is_mixed = True
            sure = ("space",) if self.is_mixed else ("space", "plain")
            reported_later = mistake.kind == "placeholder" and has_placeholder(message)
            if mistake.kind in sure or not (is_compared or reported_later):
                yield self._finding(mistake)

    def _finding(self, mistake: SyntaxMistake) -> Finding:
        opened_on = mistake.opened_on
        opened = f" (line {self._line(opened_on)} opened it)" if opened_on else ""
        return Finding(self._file, mistake.line, "", mistake.message + opened)

    def _misspelt_keys(self, merged: Iterable[MergedWord]) -> Iterator[Finding]:
        """Yield a warning for each misspelt key that the page's newer text corrects."""
        for word in merged:
            if word.misspelt_key:
                text = (
                    f"{word.misspelt_key!r} is not a key; write {word.read_as!r}, as the newer text"
                )
                yield Finding(self._file, word.line, "", text, "warning")

    def _elision(self, first: int, *others: int) -> Finding:
        also = ", ".join(str(self._line(line)) for line in others)
        where = f" (and on {also})" if also else ""
        text = f"... leaves something out on this line{where}; write it out to generate"
        return Finding(self._file, first, "", text)

    def _rules(self, reading: LenientReading, message: JsonObject) -> Iterator[Finding]:
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
            yield from (*found, *check_spec(spec, complete=complete)[1])

    def _line(self, line: int) -> int:
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
    """Apply only rules that are valid even if old and new text around a field are mixed."""
    for place in placed_fields(spec):
        errors = [null_problem(place), tagged_versions_problem(place)]
        if str(place.field.type) == "uuid" and place.field.default == "null":
            errors.insert(1, default_problem(place))
        yield from (place.finding(problem) for problem in errors if problem is not None)
        if (problem := occurrence_problem(place)) is not None:
            yield place.finding(problem, "warning")


def _read(text: str) -> LenientReading:
    try:
        value = parse_json(text)
    except JsonError as error:
        reading = read_leniently(text) if len(text) <= _LONGEST_LENIENT else LenientReading()
        if not reading.mistakes and not reading.elided_lines:
            reading.mistakes.append(SyntaxMistake(0, error.line, error.message))
        return reading
    return LenientReading(value if isinstance(value, JsonObject) else None)
