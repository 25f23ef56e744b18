"""The rules between the messages of a set; entry point: `check_set`.

In a released set it is an error if two messages share a key, or a request has no response. A draft
may be incomplete, so there the same findings are warnings. Two messages with the same module name
are always an error. Messages whose validVersions are none are checked too: their keys stay
reserved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

from kraftwire_generator.errors import Finding, Severity
from kraftwire_generator.language.names import module_name
from kraftwire_generator.language.spec import MessageSpec, MessageType

ModuleMessages = Sequence[tuple[str, MessageSpec]]
_MessageProblems = Iterator[tuple[MessageSpec, str]]

_KEYS_BY_TYPE: dict[MessageType, str] = {
    "request": "its API key",
    "response": "the API key of its request",
    "metadata": "its record id",
    "coordinator-key": "its record type",
    "coordinator-value": "its record type",
}
_PARTNERS: dict[MessageType, tuple[str, MessageType, str]] = {
    "request": ("Request", "response", "Response"),
    "response": ("Response", "request", "Request"),
}


def check_set(
    messages: ModuleMessages, *, draft: bool, unread: Collection[str] = ()
) -> list[Finding]:
    """Return everything that is wrong between the messages of a set.

    `unread` has the names of messages that exist but were not read; they count as partners.
    """
    incomplete: Severity = "warning" if draft else "error"
    findings = [
        Finding(spec.file, spec.line, "", problem, incomplete)
        for problems in (
            _missing_keys(messages),
            _shared_keys(messages),
            _wrong_suffixes(messages),
            _missing_partners(messages, unread),
        )
        for spec, problem in problems
    ]
    findings += [
        Finding(spec.file, spec.line, "", problem) for spec, problem in _shared_modules(messages)
    ]
    return findings


def _missing_keys(messages: ModuleMessages) -> _MessageProblems:
    for _, spec in messages:
        if spec.type in _KEYS_BY_TYPE and spec.api_key is None:
            yield spec, f"a {spec.type} needs an apiKey: {_KEYS_BY_TYPE[spec.type]}"


def _shared_keys(messages: ModuleMessages) -> _MessageProblems:
    """Report repeated keys: API keys within the set, record ids and types within a module."""

    def key(module: str, spec: MessageSpec) -> Hashable:
        return (spec.type, spec.api_key, "" if spec.type in _PARTNERS else module)

    keyed = (
        (module, spec)
        for module, spec in messages
        if spec.type in _KEYS_BY_TYPE and spec.api_key is not None
    )
    for spec, first in _repeated(keyed, key):
        yield spec, f"{first.name} is a {spec.type} with apiKey {spec.api_key} too; take a free one"


def _wrong_suffixes(messages: ModuleMessages) -> _MessageProblems:
    for _, spec in messages:
        suffix = _PARTNERS[spec.type][0] if spec.type in _PARTNERS else ""
        if not spec.name.endswith(suffix):
            yield spec, f"the name of a {spec.type} ends in {suffix}; write {spec.name}{suffix}"


def _missing_partners(messages: ModuleMessages, unread: Collection[str]) -> _MessageProblems:
    """Report requests without a response of the same key, and the reverse."""
    by_name = {(spec.type, spec.name): spec for _, spec in messages}
    for _, spec in messages:
        if spec.type not in _PARTNERS:
            continue
        suffix, partner_type, partner_suffix = _PARTNERS[spec.type]
        if not spec.name.endswith(suffix):
            continue
        name = spec.name.removesuffix(suffix) + partner_suffix
        partner = by_name.get((partner_type, name))
        if partner is None:
            if name not in unread:
                yield spec, f"this {spec.type} has no {partner_type}; add {name}"
        elif spec.type == "response" and spec.api_key != partner.api_key:
            yield spec, f"apiKey is {spec.api_key}, but {name} has {partner.api_key}; write that"


def _shared_modules(messages: ModuleMessages) -> _MessageProblems:
    for spec, first in _repeated(messages, lambda _, spec: module_name(spec.name)):
        if spec.name == first.name:
            yield spec, f"{first.file} has a message {spec.name} too; rename one of the two"
        else:
            shared = module_name(spec.name)
            yield spec, f"{spec.name} and {first.name} share the module {shared}; rename one"


def _repeated(
    messages: Iterable[tuple[str, MessageSpec]], key: Callable[[str, MessageSpec], Hashable]
) -> Iterator[tuple[MessageSpec, MessageSpec]]:
    """Yield every message with a repeated key, and the first message with that key."""
    seen: dict[Hashable, MessageSpec] = {}
    for module, spec in messages:
        first = seen.setdefault(key(module, spec), spec)
        if first is not spec:
            yield spec, first
