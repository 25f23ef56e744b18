"""Splits the words that a wiki's "Versions Compared" page merged, and keeps the newer halves.

Such a page shows a removed word and the added one together, without a mark between them. Often the
two can be told apart, because keys, types, versions and numbers come from short lists, and names
are elsewhere on the page. A word is split only on such evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from kraftwire_generator.checks.field_rules import ENTITY_TYPES
from kraftwire_generator.language.field_types import PRIMITIVES
from kraftwire_generator.language.spec import MessageType
from kraftwire_generator.language.versions import VersionRange
from kraftwire_generator.lint.common_mistakes import objects_in
from kraftwire_generator.parser.json_text import JsonNumber, JsonObject, JsonValue
from kraftwire_generator.parser.message_parser import FIELD_KEYS, MESSAGE_KEYS, STRUCT_KEYS

_HIGHEST_API_KEY = 999
_LONGEST_WORD = 200
_OFTEN = 3

_NAMED = re.compile(
    r'"name"\s*+:\s*+"([A-Za-z][A-Za-z0-9]*+)"|"type"\s*+:\s*+"(?:\[\])?([A-Z][A-Za-z0-9]*+)"'
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STRUCT = re.compile(r"[A-Z][A-Za-z0-9]*")
_OPEN_THEN_CLOSED = re.compile(r"([0-9]+)\+-([0-9]+)")
_LEADING_ZERO = re.compile(r"0[0-9]")
_PARTNERS = ("Request", "Response")
_ALL_KEYS = frozenset((*MESSAGE_KEYS, *FIELD_KEYS, *STRUCT_KEYS))
_VERSIONS_BEFORE = re.compile(r"[0-9]+\+(?=[A-Z])")
_LISTS = ("fields", "commonStructs", "listeners")
_VERSION_KEYS = ("versions", "nullableVersions", "taggedVersions", "flexibleVersions")
_Newer = Callable[[str], str]
_PRIMITIVES = sorted(PRIMITIVES, key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class MergedWord:
    """A merged word of the page, and its newer half (`read_as`)."""

    line: int
    word: str
    read_as: str
    is_key: bool = False

    @property
    def misspelt_key(self) -> str:
        """The older half of two merged keys, if it is not a key itself."""
        older = self.word.removesuffix(self.read_as)
        return older if self.is_key and older not in _ALL_KEYS else ""


def names_in(texts: Iterable[str]) -> Counter[str]:
    """Return how often the blocks have each name of a field, message or struct."""
    return Counter(first or second for text in texts for first, second in _NAMED.findall(text))


def read_newer_words(message: JsonObject, names: Counter[str]) -> list[MergedWord]:
    """Replace each merged word of a message with its newer half; return the merged words."""
    reader = _WordReader(names)
    reader.message(message)
    return reader.merged


class _WordReader:
    """Changes objects in place, and collects the merged words."""

    def __init__(self, names: Counter[str]) -> None:
        self._names = names
        self._valid: VersionRange | None = None
        self.merged: list[MergedWord] = []

    def message(self, source: JsonObject) -> None:
        is_merged = self._keys(source, MESSAGE_KEYS)
        self._text(source, "type", lambda text: _newest(text, get_args(MessageType)))
        self._text(source, "name", lambda text: self._message_name(text, is_merged))
        self._text(source, "validVersions", self._versions)
        self._valid = _range(source.members.get("validVersions"))
        self._text(source, "flexibleVersions", self._versions)
        self._api_key(source)
        self._fields(source)
        for struct in objects_in(source, "commonStructs"):
            self._keys(struct, STRUCT_KEYS)
            self._text(struct, "versions", self._versions)
            self._fields(struct)

    def _fields(self, source: JsonObject) -> None:
        for field in objects_in(source, "fields"):
            self._field(field)

    def _field(self, source: JsonObject) -> None:
        before = len(self.merged)
        is_merged = self._keys(source, FIELD_KEYS)
        self._text(source, "type", lambda text: self._type(text, is_merged))
        for key in _VERSION_KEYS:
            self._text(source, key, self._versions)
        self._text(source, "entityType", lambda text: _newest(text, tuple(ENTITY_TYPES)))
        has_merged = len(self.merged) > before
        self._text(source, "name", lambda text: self._name(text, has_merged))
        self._fields(source)

    def _keys(self, source: JsonObject, known: Sequence[str]) -> bool:
        """Replace merged keys with their newer halves; return whether there were any."""
        found = False
        for key in list(source.members):
            newer = _newer_key(key, known) if len(key) <= _LONGEST_WORD else key
            if newer != key:
                value, line = source.members.pop(key), source.key_lines.pop(key)
                if isinstance(value, list) and newer not in _LISTS and len(value) == 1:
                    value = value[0]  # the bracket is from the list of the older key
                source.members[newer] = value
                source.key_lines[newer] = line
                self.merged.append(MergedWord(line, key, newer, is_key=True))
                found = True
        return found

    def _text(self, source: JsonObject, key: str, newer: _Newer) -> None:
        text = source.members.get(key)
        if isinstance(text, str) and len(text) <= _LONGEST_WORD:
            read_as = newer(text)
            if read_as != text:
                source.members[key] = read_as
                self.merged.append(MergedWord(source.key_lines[key], text, read_as))

    def _api_key(self, source: JsonObject) -> None:
        number = source.members.get("apiKey")
        if not isinstance(number, JsonNumber) or not number.text.isdecimal():
            return
        half, odd = divmod(len(number.text), 2)
        if not odd and half <= 3 and int(number.text) > _HIGHEST_API_KEY:
            source.members["apiKey"] = JsonNumber(number.text[half:])
            line = source.key_lines["apiKey"]
            self.merged.append(MergedWord(line, number.text, number.text[half:]))

    def _versions(self, text: str) -> str:
        if match := _OPEN_THEN_CLOSED.fullmatch(text):
            return f"{match[1]}-{match[2]}"
        if self._valid is None or self._is_likely_range(text):
            return text
        for split in range(1, len(text)):
            older, newer = text[:split], text[split:]
            if _range(older) is not None and self._is_likely_range(newer):
                return newer
        return text

    def _is_likely_range(self, text: str) -> bool:
        """Whether the text is a version range in its usual spelling that the message can have."""
        found = _range(text)
        if found is None or self._valid is None or _LEADING_ZERO.match(text):
            return False
        return not found or not self._valid or bool(found.intersect(self._valid))

    def _type(self, text: str, is_merged: bool) -> str:
        mark = text.rfind("[]")
        if mark > 0:
            return text[mark:]
        element = text.removeprefix("[]")
        if element in PRIMITIVES:
            return text
        for name in _PRIMITIVES:
            older = element.removesuffix(name)
            if older in PRIMITIVES:
                return text[: len(text) - len(element)] + name
            if older != element and (is_merged or _STRUCT.fullmatch(older)):
                return name
            if _STRUCT.fullmatch(newer := element.removeprefix(name)) and newer != element:
                return newer
        return text[: len(text) - len(element)] + self._name(element, is_merged)

    def _message_name(self, text: str, is_merged: bool) -> str:
        text = text.removeprefix("[]")
        for older, newer in _splits(text):
            if older.endswith(_PARTNERS) or (is_merged and older in self._names):
                return newer
        return text

    def _name(self, text: str, has_merged: bool) -> str:
        """Return the newer of two names, or the text if it does not look like two."""
        if self._names[text] >= _OFTEN:
            return text
        text = _VERSIONS_BEFORE.sub("", text, count=1)
        splits = list(_splits(text))
        words = [word.removesuffix("s") for word in _WORDS.split(text)]
        is_doubled = len(set(words)) < len(words)
        if has_merged or is_doubled:
            for older, newer in splits:
                known = older in self._names or older in ENTITY_TYPES
                if known and newer in self._names:
                    return newer
        if is_doubled:
            # The newer name starts with a word of the older one.
            for older, newer in reversed(splits):
                count = len(_WORDS.split(older))
                if words[count] in words[:count]:
                    return newer
        return text


def _splits(text: str) -> list[tuple[str, str]]:
    """Return all ways to cut a name in two between words, the longest second half first."""
    words = _WORDS.split(text)
    return [("".join(words[:at]), "".join(words[at:])) for at in range(1, len(words))]


def _newer_key(key: str, known: Sequence[str]) -> str:
    if key in known:
        return key
    newer = _newest(key, known)
    older = key.removesuffix(newer)
    # The last letter of the older half may be a mistake.
    return newer if older[:-1] and any(name.startswith(older[:-1]) for name in _ALL_KEYS) else key


def _newest(text: str, known: Sequence[str]) -> str:
    """Return the longest known word that the text ends in, or the whole text."""
    ends = [word for word in known if text.endswith(word)]
    return max(ends, key=len, default=text)


def _range(value: JsonValue) -> VersionRange | None:
    if not isinstance(value, str):
        return None
    try:
        return VersionRange.parse(value)
    except ValueError:
        return None
