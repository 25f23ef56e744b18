"""Which message or field of one side is which of the other: by name, else by place or tag.

Rules:
- equal names belong together, so do names that are known to be one; in a struct they must
  stand in the same order, and the fewest that do not are `moved`;
- between two neighbours that both sides have, fields without a partner are renamed ones where
  both sides have as many of them, and each looks like its counterpart; where one side has
  more, those whose look is the only one of its kind on either side;
- a message without a partner is a renamed one where a message of the same type on the other
  side has its key, and for stored records its module too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kraftwire_generator.comparison.sides import Side, SideMessage
from kraftwire_generator.language.field_types import Array, Primitive, Struct
from kraftwire_generator.language.spec import FieldSpec

Look = Callable[[FieldSpec], object]


@dataclass(frozen=True, slots=True)
class FieldPairs:
    """The fields of a struct on both sides; `pairs` includes the moved ones.

    `counted` are the new names of fields that were renamed where both sides have as many.
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
    """Pair two lists of fields; those that look alike may be one under two names.

    `renamed` has new names that are known already. Those in `moved` are new names.
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
    for gone, come in gaps:
        if len(gone) == len(come):
            counted |= _counterparts(gone, come, look)
        else:
            partner |= _only_ones(gone, come, look)
    partner |= counted
    taken = set(partner.values())
    return FieldPairs(
        tuple((field, new[places[partner[field.name]]]) for field in old if field.name in partner),
        tuple(field for field in old if field.name not in partner),
        tuple(field for field in new if field.name not in taken),
        moved,
        counted,
    )


def _counterparts(old: Sequence[FieldSpec], new: Sequence[FieldSpec], look: Look) -> dict[str, str]:
    pairs = zip(old, new, strict=True)
    return {before.name: after.name for before, after in pairs if look(before) == look(after)}


def _only_ones(old: Sequence[FieldSpec], new: Sequence[FieldSpec], look: Look) -> dict[str, str]:
    """The fields that no other field of their side looks like, where they keep their order."""
    counts = [Counter(map(look, fields)) for fields in (old, new)]
    only = {kind for kind in counts[0] if counts[0][kind] == counts[1][kind] == 1}
    names = {look(field): field.name for field in old}
    former = {field.name: names[look(field)] for field in new if look(field) in only}
    places = {field.name: place for place, field in enumerate(old)}
    in_order = _longest_rising(list(former.values()), places)
    return {before: after for after, before in former.items() if before in in_order}


def _longest_rising(names: Sequence[str], places: Mapping[str, int]) -> set[str]:
    """The longest part of `names` whose places rise."""
    lowest_ends: list[int] = []  # the lowest place that a rising run of each length ends at
    run_lengths: list[int] = []
    for name in names:
        length = bisect_left(lowest_ends, places[name])
        lowest_ends[length : length + 1] = [places[name]]
        run_lengths.append(length)
    found: set[str] = set()
    wanted = len(lowest_ends) - 1
    for name, length in zip(reversed(names), reversed(run_lengths), strict=True):
        if length == wanted:
            found.add(name)
            wanted -= 1
    return found


def _gaps(
    fields: Sequence[FieldSpec], anchors: Collection[str], paired: Collection[str]
) -> list[list[FieldSpec]]:
    """The fields that are not `paired`, before, between and after the anchors."""
    gaps: list[list[FieldSpec]] = [[]]
    for field in fields:
        if field.name in anchors:
            gaps.append([])
        elif field.name not in paired:
            gaps[-1].append(field)
    return gaps


def same_shape(old: FieldSpec, new: FieldSpec) -> bool:
    """True for equal types, whatever name their struct has."""
    return shape(old) == shape(new)


def shape(field: FieldSpec) -> tuple[bool, str]:
    """Whether a field is an array, and of what; structs are all alike."""
    is_array = isinstance(field.type, Array)
    element = field.type.element if isinstance(field.type, Array) else field.type
    match element:
        case Primitive(name):
            return is_array, name
        case Struct():
            return is_array, "struct"


def wire_shape(field: FieldSpec) -> tuple[bool, str]:
    """The shape without the one difference that no byte shows: records are bytes."""
    is_array, name = shape(field)
    return is_array, "bytes" if name == "records" else name


def pair_messages(old: Side, new: Side) -> Iterator[tuple[SideMessage | None, SideMessage | None]]:
    """Every message of the two sides with its partner, in the order of names."""
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
    """What a message without a partner is known by."""
    spec = message.spec
    if spec.api_key is None:
        return None
    module = "" if spec.type in ("request", "response") else message.module
    return spec.type, spec.api_key, module
