"""Filters that Spark hands down: what they rule out is not read, or dropped before Spark sees it.

Spark takes a filter out of its plan once it is accepted here, so those are applied to every
row, exactly; they narrow what is planned beforehand. A filter keeps rows for which it is
true: for a null neither `x = 1` nor `x != 1` is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kraftwire.log.queries.selection import Selection
from pyspark_kraftwire.columns.record_columns import COLUMNS, TYPE, VERSION
from pyspark_kraftwire.options import Options

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}


@dataclass(frozen=True)
class Filter:
    """A filter on one column, named as Spark names it, or its negation."""

    kind: str
    column: str
    value: Any = None
    negated: bool = False

    @property
    def name(self) -> str:
        """The column as it is known here: Spark's names are as the user wrote them."""
        return self.column.lower()

    def mask(self, batch: pa.RecordBatch) -> Any:
        """Which rows it keeps; null counts as not."""
        column = batch.column(self.column)
        if self.kind == "IsNull":
            found = pc.is_null(column)
        elif self.kind == "IsNotNull":
            found = pc.is_valid(column)
        elif self.kind == "In":
            known = pa.array(list(self.value), column.type)
            # A list with a null in it is never surely without a value.
            unsure = pa.scalar(None, pa.bool_()) if known.null_count else pa.scalar(False)
            found = pc.is_in(column, value_set=known.drop_null())
            found = pc.if_else(found, True, unsure)
            found = pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_()))
        else:
            found = COMPARISONS[self.kind](column, pa.scalar(self.value, column.type))
        return pc.invert(found) if self.negated else found


@dataclass(frozen=True)
class Filters:
    """The filters of a read."""

    all: tuple[Filter, ...] = ()

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that every filter keeps."""
        for one in self.all:
            mask = one.mask(batch)
            if mask.true_count < len(mask):
                batch = batch.filter(mask)
        return batch


FILTERED = frozenset(
    name.lower()
    for name, column in COLUMNS.items()
    if not pa.types.is_binary(column.type) and not pa.types.is_nested(column.type)
) | {TYPE, VERSION}
"""The columns whose filters are taken; those of bytes and messages are left to Spark."""


def can_take(one: Filter, schema: pa.Schema) -> bool:
    """Whether a filter is one that is applied here just as Spark would."""
    if one.column not in schema.names or one.name not in FILTERED:
        return False
    if one.kind in ("IsNull", "IsNotNull"):
        return True
    values = list(one.value) if one.kind == "In" else [one.value]
    if one.kind not in COMPARISONS and one.kind != "In":
        return False
    if one.kind != "In" and one.value is None:
        return False
    try:
        taken = pa.array(values, schema.field(one.column).type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return bool(taken.to_pylist() == values)


def narrowed(options: Options, filters: Filters) -> Options:
    """Options that plan no partition that the filters rule out."""
    for one in filters.all:
        values = _values(one)
        if values is None:
            continue
        if one.name == "topic":
            topics = frozenset(str(value) for value in values)
            topics = topics if options.topics is None else topics & options.topics
            options = replace(options, topics=topics)
        elif one.name == "partition":
            numbers = frozenset(int(value) for value in values)
            numbers = numbers if options.partitions is None else numbers & options.partitions
            options = replace(options, partitions=numbers)
    return options


def _values(one: Filter) -> list[Any] | None:
    """The values that a filter lets through, where it names them."""
    if one.negated or one.kind not in ("EqualTo", "In"):
        return None
    return [one.value] if one.kind == "EqualTo" else [v for v in one.value if v is not None]


def narrowed_selection(selection: Selection, filters: Filters) -> Selection:
    """A selection of no more than the filters let through, be it of a few records more."""
    first, stop = _bounds(filters, "offset", 1)
    since, until = _bounds(filters, "timestamp", timedelta(milliseconds=1))
    return replace(
        selection,
        from_offset=_most(selection.from_offset, first),
        to_offset=_least(selection.to_offset, stop),
        since=_most(selection.since, since),
        until=_least(selection.until, until),
    )


def _most(one: int | None, other: int | None) -> int | None:
    return max((bound for bound in (one, other) if bound is not None), default=None)


def _least(one: int | None, other: int | None) -> int | None:
    return min((bound for bound in (one, other) if bound is not None), default=None)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _bounds(filters: Filters, column: str, unit: int | timedelta) -> tuple[int | None, int | None]:
    """From which to before which whole number of units the values are that can pass."""
    starts, stops = [], []
    for one in filters.all:
        if one.name != column or one.negated:
            continue
        values = [one.value] if one.kind in COMPARISONS else _values(one)
        if not values:
            continue
        low, high = (_distance(of(values)) for of in (min, max))
        if one.kind == "GreaterThan":
            starts.append(low // unit + 1)
        elif one.kind in ("EqualTo", "GreaterThanOrEqual", "In"):
            starts.append(-(-low // unit))
        if one.kind == "LessThan":
            stops.append(-(-high // unit))
        elif one.kind in ("EqualTo", "LessThanOrEqual", "In"):
            stops.append(high // unit + 1)
    return max(starts, default=None), min(stops, default=None)


def _distance(value: Any) -> Any:
    """A number as it is; of a time how long it is after 1970."""
    return value - _EPOCH if isinstance(value, datetime) else value
