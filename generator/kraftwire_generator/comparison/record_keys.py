"""Relates coordinator records before and after Kafka 4.0, which gave them their own message types.

Before, keys and values were `data` messages. The number before a key was the version of its
message, and identified the record: version 3 of a key is record 3. Since then, the same number
is the apiKey of a `coordinator-key`, and the bytes after it have version 0. The number before a
value was and is a version.

So values did not change, and version 3 of an old key is version 0 of the new key with apiKey 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kraftwire_generator.checks.structs import ResolvedMessage, resolve
from kraftwire_generator.comparison.sides import ComparedSide
from kraftwire_generator.language.spec import FieldSpec, MessageSpec
from kraftwire_generator.language.versions import VersionRange

_ZERO = VersionRange(0, 0)


def became_record_key(old: MessageSpec, new: MessageSpec) -> bool:
    """Whether a `data` message became a key."""
    return old.type == "data" and new.type == "coordinator-key"


def became_record_value(old: MessageSpec, new: MessageSpec) -> bool:
    """Whether a `data` message became a value."""
    return old.type == "data" and new.type == "coordinator-value"


def record_keys(new: ComparedSide, module: str) -> dict[int, ResolvedMessage]:
    """Return the keys of a module's records, by record id."""
    return {
        message.spec.api_key: message.resolved
        for message in new.messages.values()
        if message.spec.type == "coordinator-key"
        and message.spec.api_key is not None
        and message.module == module
    }


def keys_in(versions: VersionRange, keys: Iterable[int]) -> Iterator[int | VersionRange]:
    """Yield each version that has a key, and the spans of versions between them."""
    start = versions.lowest
    for key in sorted(key for key in keys if key in versions):
        if start < key:
            yield VersionRange(start, key - 1)
        yield key
        start = key + 1
    if start <= versions.highest:
        yield VersionRange(start, versions.highest)


def as_record_key(old: ResolvedMessage, record: int) -> ResolvedMessage:
    """Convert one version of a `data` message to the key that Kafka uses since 4.0."""
    spec = old.spec
    structs = tuple(
        replace(
            struct,
            versions=_shifted(struct.versions, record),
            fields=_fields(struct.fields, record),
        )
        for struct in spec.common_structs
    )
    key = replace(
        spec,
        type="coordinator-key",
        api_key=record,
        valid_versions=_ZERO,
        flexible_versions=_shifted(spec.flexible_versions, record),
        fields=_fields(spec.fields, record),
        common_structs=structs,
    )
    return resolve(key)[0]


def _fields(fields: tuple[FieldSpec, ...], version: int) -> tuple[FieldSpec, ...]:
    return tuple(_field(field, version) for field in fields)


def _field(field: FieldSpec, version: int) -> FieldSpec:
    own = field.flexible_versions
    return replace(
        field,
        versions=_shifted(field.versions, version),
        nullable_versions=_shifted(field.nullable_versions, version),
        tagged_versions=_shifted(field.tagged_versions, version),
        flexible_versions=None if own is None else _shifted(own, version),
        fields=_fields(field.fields, version),
    )


def _shifted(versions: VersionRange, version: int) -> VersionRange:
    return _ZERO if version in versions else VersionRange.NONE
