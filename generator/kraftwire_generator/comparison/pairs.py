"""Pairs the messages and fields of two sides: by name, otherwise by position or key.

Rules:
- fields with equal names, or whose new name is known, are paired. If their order differs, the
  smallest set of fields that explains the difference is `moved`;
- the fields without a partner between two paired neighbours are compared by their look. If both
  sides have equally many, those that look like their counterpart are renamed. Otherwise only those
  are renamed whose look is unique on both sides;
- a message without a partner is renamed if a message of the same type on the other side has its
  key and, for stored records, its module.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kraftwire_generator.comparison.sides import ComparedSide, SideMessage
from kraftwire_generator.language.field_types import Array, Struct, element_of
from kraftwire_generator.language.spec import FieldSpec

Look = Callable[[FieldSpec], object]


@dataclass(frozen=True, slots=True)
class FieldPairs:
    """The fields of a struct on both sides; `pairs` includes the moved ones.

    `counted` has the new names of the renamed fields in gaps of equal length on both sides.
    """

    pairs: tuple[tuple[FieldSpec, FieldSpec], ...]
    removed: tuple[FieldSpec, ...]
    added: tuple[FieldSpec, ...]
    moved: frozenset[str]
    counted: Mapping[str, str]


def pair_fields(
    old: Sequence[FieldSpec],
    new: Sequence[FieldSpec],
    look: Look,
    renamed: Mapping[str, str] | None = None,
) -> FieldPairs:
    """Pair two lists of fields; fields that look alike may be one under two names.

    `renamed` has the new names that are known. The names in `moved` of the result are new ones.
    """
    places = {field.name: place for place, field in enumerate(new)}
    partner = {
        field.name: name
        for field in old
        if (name := (renamed or {}).get(field.name, field.name)) in places
    }
    in_order = _longest_rising(list(partner.values()), places)
    gaps = zip(
        _gaps(old, {name for name, after in partner.items() if after in in_order}, partner),
        _gaps(new, in_order, set(partner.values())),
        strict=True,
    )
    moved = frozenset(partner.values()) - in_order
    counted: dict[str, str] = {}
    for before, after in gaps:
        if len(before) == len(after):
            counted |= _pair_in_order(before, after, look)
        else:
            partner |= _pair_unique(before, after, look)
    partner |= counted
    taken = set(partner.values())
    return FieldPairs(
        tuple((field, new[places[partner[field.name]]]) for field in old if field.name in partner),
        tuple(field for field in old if field.name not in partner),
        tuple(field for field in new if field.name not in taken),
        moved,
        counted,
    )


def _pair_in_order(
    old: Sequence[FieldSpec], new: Sequence[FieldSpec], look: Look
) -> dict[str, str]:
    pairs = zip(old, new, strict=True)
    return {before.name: after.name for before, after in pairs if look(before) == look(after)}


def _pair_unique(old: Sequence[FieldSpec], new: Sequence[FieldSpec], look: Look) -> dict[str, str]:
    """Pair fields whose look is unique on both sides, as far as they keep their order."""
    counts = [Counter(map(look, fields)) for fields in (old, new)]
    only = {kind for kind in counts[0] if counts[0][kind] == counts[1][kind] == 1}
    names = {look(field): field.name for field in old}
    former = {field.name: names[look(field)] for field in new if look(field) in only}
    places = {field.name: place for place, field in enumerate(old)}
    in_order = _longest_rising(list(former.values()), places)
    return {before: after for after, before in former.items() if before in in_order}


def _longest_rising(names: Sequence[str], places: Mapping[str, int]) -> set[str]:
    """Return the longest subsequence of `names` whose places rise."""
    lowest_ends: list[int] = []  # the lowest place at which a rising run of each length ends
    run_lengths: list[int] = []
    for name in names:
        length = bisect_left(lowest_ends, places[name])
        lowest_ends[length : length + 1] = [places[name]]
        run_lengths.append(length)
    found: set[str] = set()
    next_length = len(lowest_ends) - 1
    for name, length in zip(reversed(names), reversed(run_lengths), strict=True):
        if length == next_length:
            found.add(name)
            next_length -= 1
    return found


def _gaps(
    fields: Sequence[FieldSpec], anchors: Collection[str], paired: Collection[str]
) -> list[list[FieldSpec]]:
    """Return the fields that are not `paired`, as lists before, between and after the anchors."""
    gaps: list[list[FieldSpec]] = [[]]
    for field in fields:
        if field.name in anchors:
            gaps.append([])
        elif field.name not in paired:
            gaps[-1].append(field)
    return gaps


def same_shape(old: FieldSpec, new: FieldSpec) -> bool:
    """Whether the types are equal, apart from the name of a struct."""
    return shape(old) == shape(new)


def shape(field: FieldSpec) -> tuple[bool, str]:
    """Return whether a field is an array, and its element type, which is equal for all structs."""
    element = element_of(field.type)
    name = "struct" if isinstance(element, Struct) else element.name
    return isinstance(field.type, Array), name


def wire_shape(field: FieldSpec) -> tuple[bool, str]:
    """Return the shape with records as bytes, which look the same on the wire."""
    is_array, name = shape(field)
    return is_array, "bytes" if name == "records" else name


def pair_messages(
    old: ComparedSide, new: ComparedSide
) -> Iterator[tuple[SideMessage | None, SideMessage | None]]:
    """Yield every message of the two sides with its partner, in the order of names."""
    partner = {name: name for name in old.messages if name in new.messages}
    if old.extent == new.extent == "file":
        partner = dict(zip(old.messages, new.messages, strict=True))
    else:
        free = {
            _identity(message): name
            for name, message in new.messages.items()
            if name not in partner and _identity(message)
        }
        for name, message in old.messages.items():
            if name not in partner and _identity(message) in free:
                partner[name] = free.pop(_identity(message))
    for name in sorted({*old.messages, *(new.messages.keys() - partner.values())}):
        if name not in old.messages:
            yield None, new.messages[name]
        elif name in partner:
            yield old.messages[name], new.messages[partner[name]]
        else:
            yield old.messages[name], None


def _identity(message: SideMessage) -> tuple[str, int, str] | None:
    spec = message.spec
    if spec.api_key is None:
        return None
    module = "" if spec.type in ("request", "response") else message.module
    return spec.type, spec.api_key, module
