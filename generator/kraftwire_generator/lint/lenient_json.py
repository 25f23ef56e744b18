"""Reads a JSON object despite its mistakes; `parser.json_text` is the strict reader.

The reader reports every mistake once, with its line, and assumes the likeliest correction, so that
the rest can be checked as a spec. If a bracket does not match, either it is surplus or another is
missing; the reader assumes what leaves the rest of the text balanced. It accepts any text, in time
linear in its length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, dropwhile

from kraftwire_generator.lint.json_tokens import MistakeKind, SyntaxMistake, Token, tokenize
from kraftwire_generator.parser.json_text import (
    CONSTANTS,
    DEEPEST_NESTING,
    NUMBER,
    JsonNumber,
    JsonObject,
    JsonValue,
    repeated_key,
)

_OPENERS = {"}": "{", "]": "["}
_CLOSERS = {"{": "}", "[": "]"}


@dataclass
class LenientReading:
    """The object, if the text has one, and the mistakes in order.

    `elided_lines` has the lines with `...`, and `elided` the objects that contain `...`.
    `stops_short` is True if the text ends in the middle of a value or list.
    """

    value: JsonObject | None = None
    mistakes: list[SyntaxMistake] = field(default_factory=list)
    elided_lines: list[int] = field(default_factory=list)
    elided: list[JsonObject] = field(default_factory=list)
    stops_short: bool = False


@dataclass
class _OpenBracket:
    """An open bracket: its value so far, and what may come next in it (`state`)."""

    bracket: str
    value: JsonObject | list[JsonValue]
    line: int
    state: str = "item"  # item (a key or element), colon, value or comma
    key: str = ""
    key_line: int = 0
    after_comma: bool = False


def read_leniently(text: str) -> LenientReading:
    """Read the first object of the text as well as possible."""
    reading = LenientReading()
    tokens: list[Token] = []
    from_object = dropwhile(lambda token: token.kind != "{", tokenize(text, reading.mistakes))
    for token in from_object:
        # An object cannot start with an object: of `{ {`, the second brace counts.
        if token.kind == "{" and tokens and tokens[-1].kind == "{":
            first = tokens.pop()
            mistake = SyntaxMistake(first.at, first.line, "{ is doubled; remove one", "merge")
            reading.mistakes.append(mistake)
        tokens.append(token)
    _ObjectReader(tokens, reading).run()
    reading.mistakes.sort(key=lambda mistake: mistake.at)
    return reading


class _ObjectReader:
    """Consumes tokens one by one; a stack of open brackets replaces recursion."""

    def __init__(self, tokens: list[Token], reading: LenientReading) -> None:
        self._tokens = tokens
        self._reading = reading
        self._stack: list[_OpenBracket] = []
        self._last = tokens[0] if tokens else None  # the token before the current one
        steps = [(t.kind in _CLOSERS) - (t.kind in _OPENERS) for t in reversed(tokens)]
        self._balance = [*reversed(list(accumulate(steps, initial=0)))]

    def run(self) -> None:
        for index, token in enumerate(self._tokens):
            if self._reading.value is not None and not self._stack:
                text = "the spec ends before this; remove it, or a surplus bracket above"
                self._report(token, text, "merge")
                return
            if token.kind in _CLOSERS:
                if len(self._stack) >= DEEPEST_NESTING:
                    text = f"nested more than {DEEPEST_NESTING} levels deep; use fewer levels"
                    self._report(token, text, "lost")
                    return
                self._open(token)
            elif token.kind in _OPENERS:
                self._close(index, token)
            elif token.kind == ",":
                self._comma(token)
            elif token.kind == ":":
                self._colon(token)
            elif token.kind == "...":
                self._elision(token)
            else:
                self._scalar(index, token)
            self._last = token
        self._end()

    def _report(
        self,
        token: Token,
        text: str,
        kind: MistakeKind = "plain",
        opened_on: int | None = None,
    ) -> None:
        mistake = SyntaxMistake(token.at, token.line, text, kind, opened_on)
        self._reading.mistakes.append(mistake)

    def _report_before(self, token: Token, text: str, kind: MistakeKind = "plain") -> None:
        """Report a mistake to fix at the end of the previous token."""
        self._report(self._last or token, text, kind)

    def _put(self, value: JsonValue) -> None:
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            frame.value.members[frame.key] = value
            frame.value.key_lines[frame.key] = frame.key_line
        frame.state = "comma"
        frame.after_comma = False

    def _push(self, token: Token) -> None:
        is_object = token.kind == "{"
        value: JsonObject | list[JsonValue] = JsonObject({}, {}, token.line) if is_object else []
        if self._stack:
            self._put(value)
        elif isinstance(value, JsonObject):
            self._reading.value = value
        self._stack.append(_OpenBracket(token.kind, value, token.line))

    def _open(self, token: Token) -> None:
        if not self._stack:
            self._push(token)
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list) and token.kind == "[":
            self._report(token, "a list cannot hold a list; remove this [", "lost")
            return
        if isinstance(frame.value, list):
            self._require_comma(token)
        elif frame.state == "colon":
            self._report_before(token, f"a colon is missing after {frame.key!r}; add it")
        elif frame.state != "value":
            self._open_among_keys(token)
            return
        self._push(token)

    def _open_among_keys(self, token: Token) -> None:
        """Handle a bracket instead of a key: an earlier bracket was closed too early, or never."""
        frame = self._stack[-1]
        outer = self._stack[-2].value if len(self._stack) > 1 else None
        assert isinstance(frame.value, JsonObject)
        last = frame.value.members.get(frame.key)
        if token.kind == "{" and isinstance(last, list):
            text = f"the ] before this closes {frame.key[:40]} too early; move it back"
            self._report_before(token, text, "lost")
            self._stack.append(_OpenBracket("[", last, token.line))
            self._push(token)
        elif token.kind == "{" and isinstance(outer, list) and frame.value.members:
            text = "} and a comma are missing after this; add them"
            self._report_before(token, text, "lost")
            self._stack.pop()
            self._push(token)
        else:
            text = f"expected a key, not {token.kind}; remove it"
            self._report(token, text, "lost")

    def _close(self, index: int, token: Token) -> None:
        frame = self._stack[-1]
        if frame.bracket == _OPENERS[token.kind]:
            self._finish(token)
            return
        rest = self._balance[index + 1]
        outer = self._stack[-2].bracket if len(self._stack) > 1 else ""
        # Either this bracket is skipped, or it closes the outer one as well.
        open_if_skipped = len(self._stack) + rest
        open_if_closed = open_if_skipped - 2
        if outer == _OPENERS[token.kind] and abs(open_if_closed) < abs(open_if_skipped):
            missing = _CLOSERS[frame.bracket]
            text = f"{missing} is missing before this {token.kind}; add it"
            fits = open_if_closed == 0
            self._report(token, text, "merge" if fits else "lost", frame.line)
            self._stack.pop()
            self._finish(token)
        else:
            self._report(token, f"this {token.kind} closes nothing; remove it", "merge")

    def _finish(self, token: Token) -> None:
        frame = self._stack[-1]
        if frame.after_comma and frame.state == "item":
            self._report_before(token, f"a comma comes before {token.kind}; remove it")
        self._lost_key(token)
        self._stack.pop()

    def _lost_key(self, token: Token) -> None:
        frame = self._stack[-1]
        if frame.state in ("colon", "value"):
            text = f"the key {frame.key[:40]!r} has no value; add one, or remove it"
            self._report(token, text, "lost")
            frame.state = "comma"

    def _comma(self, token: Token) -> None:
        frame = self._stack[-1]
        self._lost_key(token)
        if frame.state != "comma" and frame.after_comma:
            self._report(token, "a comma is doubled; remove one", "merge")
        elif frame.state != "comma" and not self._reading.elided_lines:
            self._report(token, "a comma comes before the first item; remove it", "merge")
        frame.state = "item"
        frame.after_comma = True

    def _colon(self, token: Token) -> None:
        frame = self._stack[-1]
        if frame.state == "colon":
            frame.state = "value"
        else:
            self._report(token, "a colon follows no key; remove it", "merge")

    def _elision(self, token: Token) -> None:
        frame = self._stack[-1]
        self._reading.elided_lines.append(token.line)
        if isinstance(frame.value, JsonObject):
            self._reading.elided.append(frame.value)
        frame.state = "comma" if frame.state == "value" else "item"
        frame.after_comma = False

    def _require_comma(self, token: Token) -> None:
        if self._stack[-1].state == "comma":
            self._report_before(token, "a comma is missing after this; add it")

    def _next_kind(self, index: int) -> str:
        return self._tokens[index + 1].kind if index + 1 < len(self._tokens) else ""

    def _scalar(self, index: int, token: Token) -> None:
        frame = self._stack[-1]
        names_key = self._next_kind(index) == ":"
        if isinstance(frame.value, list):
            if names_key:
                self._key_in_list(index, token)
            else:
                self._require_comma(token)
                self._put(self._value(token))
        elif frame.state == "value":
            self._put(self._value(token))
        elif names_key:
            self._key(token)
        elif frame.state == "colon":
            self._report_before(token, f"a colon is missing after {frame.key!r}; add it")
            self._put(self._value(token))
        elif frame.state == "item" and not token.is_half and token.kind == "text":
            self._key_without_colon(index, token)
        else:
            self._second_value(token)

    def _key(self, token: Token) -> None:
        frame = self._stack[-1]
        self._lost_key(token)
        self._require_comma(token)
        if token.kind == "bare":
            self._report(token, f'a key is written in double quotes; write "{token.text[:40]}"')
        if isinstance(frame.value, JsonObject) and token.text in frame.value.members:
            self._report(token, repeated_key(token.text, frame.value), "merge")
        frame.key, frame.key_line, frame.state = token.text, token.line, "colon"

    def _key_without_colon(self, index: int, token: Token) -> None:
        """Handle a string instead of a key, without a colon after it."""
        frame = self._stack[-1]
        following = self._next_kind(index)
        next_but_one = self._next_kind(index + 1)
        if following in ("text", "bare", "{", "[") and next_but_one != ":":
            frame.key, frame.key_line, frame.state = token.text, token.line, "colon"
        else:
            is_doubled = next_but_one == ":"
            text = f"the key {token.text[:40]!r} has no value; add one, or remove it"
            self._report(token, text, "merge" if is_doubled else "lost")
            frame.state = "comma" if following == "," else frame.state

    def _second_value(self, token: Token) -> None:
        """Handle a second value of a key; the second one counts."""
        frame = self._stack[-1]
        if isinstance(frame.value, JsonObject) and frame.key in frame.value.members:
            earlier = frame.value.members[frame.key]
            text = f"{frame.key} has a second value, {token.text[:40]!r}; remove one of the two"
            self._report(token, text, "merge")
            later = self._value(token)
            if token.is_half and isinstance(earlier, str) and earlier.startswith("[]"):
                later = "[]" + token.text.removeprefix("[]")
            self._put(later)
        else:
            text = f"{token.text[:40]!r} belongs to no key; remove it"
            self._report(token, text, "lost")

    def _key_in_list(self, index: int, token: Token) -> None:
        """Handle a key in a list: its object is closed too early or not opened, or [ is wrong."""
        frame = self._stack[-1]
        items = frame.value
        last = items[-1] if isinstance(items, list) and items else None
        if isinstance(last, JsonObject):
            text = f"}} closes {_name(last)} too early; replace it with a comma"
            self._report_before(token, text, "lost")
            self._stack.append(_OpenBracket("{", last, last.line))
        elif not items and len(self._stack) + 1 + self._balance[index] <= 0:
            self._report(token, "{ is missing before this; add it", "lost")
            self._push(Token("{", "{", token.at, token.line))
        else:
            self._report(token, "[ opens a list that never ends; remove it", "merge")
            self._stack.pop()
            outer = self._stack[-1]
            if isinstance(outer.value, JsonObject):
                outer.value.members.pop(outer.key, None)
            else:
                outer.value.pop()
            outer.state = "item"
            self._scalar(index, token)
            return
        self._key(token)

    def _value(self, token: Token) -> JsonValue:
        if token.kind == "text":
            return token.text
        if token.text in CONSTANTS:
            return CONSTANTS[token.text]
        if NUMBER.fullmatch(token.text):
            return JsonNumber(token.text)
        frame = self._stack[-1]
        is_placeholder = frame.key == "apiKey" and any(map(str.isalpha, token.text))
        text = f'{token.text[:40]} is not JSON; write "{token.text[:40]}"'
        self._report(token, text, "placeholder" if is_placeholder else "plain")
        return token.text

    def _end(self) -> None:
        if not self._tokens or not self._stack:
            return
        last = self._tokens[-1]
        self._reading.stops_short = last.kind not in _OPENERS
        missing = " ".join(_CLOSERS[frame.bracket] for frame in reversed(self._stack))
        opened = self._stack[-1].line
        text = f"the end lacks {missing[:40]}; add what closes the open brackets"
        self._report(last, text, "lost" if self._reading.stops_short else "plain", opened)


def _name(value: JsonObject) -> str:
    name = value.members.get("name")
    return name[:40] if isinstance(name, str) else "the object"
