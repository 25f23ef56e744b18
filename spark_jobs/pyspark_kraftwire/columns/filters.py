"""Applies the filters that Spark pushes down, to what is planned and to every row.

Spark removes an accepted filter from its plan, so the filter must be applied exactly. A filter
keeps the rows for which it is true: for a null, neither `x = 1` nor `x != 1` is true.
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
class PushedFilter:
    """A filter on one column, named as Spark names it, or its negation."""

    kind: str
    column: str
    value: Any = None
    negated: bool = False

    @property
    def name(self) -> str:
        """The column in lower case; Spark passes names as the user wrote them."""
        return self.column.lower()

    def mask(self, batch: pa.RecordBatch) -> Any:
        """Return which rows to keep; null means that the row is dropped."""
        column = batch.column(self.column)
        if self.kind == "IsNull":
            found = pc.is_null(column)
        elif self.kind == "IsNotNull":
            found = pc.is_valid(column)
        elif self.kind == "In":
            known = pa.array(list(self.value), column.type)
            # SQL: if a list has a null, no value is known to be missing from it.
            unsure = pa.scalar(None, pa.bool_()) if known.null_count else pa.scalar(False)
            found = pc.is_in(column, value_set=known.drop_null())
            found = pc.if_else(found, True, unsure)
            found = pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_()))
        else:
            found = COMPARISONS[self.kind](column, pa.scalar(self.value, column.type))
        return pc.invert(found) if self.negated else found


@dataclass(frozen=True)
class PushedFilters:
    """The filters of a read."""

    all: tuple[PushedFilter, ...] = ()

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that every filter keeps."""
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
"""The columns whose filters are accepted; Spark applies filters on bytes and messages."""


def can_apply(one: PushedFilter, schema: pa.Schema) -> bool:
    """Whether a filter can be applied here exactly as Spark would."""
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
        stored = pa.array(values, schema.field(one.column).type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return bool(stored.to_pylist() == values)


def narrow_options(options: Options, filters: PushedFilters) -> Options:
    """Return options without the partitions that the filters exclude."""
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


def _values(one: PushedFilter) -> list[Any] | None:
    """Return the values that a filter allows, if it lists them."""
    if one.negated or one.kind not in ("EqualTo", "In"):
        return None
    return [one.value] if one.kind == "EqualTo" else [v for v in one.value if v is not None]


def narrow_selection(selection: Selection, filters: PushedFilters) -> Selection:
    """Return a selection narrowed by the filters; it may keep a few records that they drop."""
    offsets = (selection.from_offset, selection.to_offset)
    first, stop = _bounds(filters, "offset", 1, *offsets)
    times = (selection.since, selection.until)
    since, until = _bounds(filters, "timestamp", timedelta(milliseconds=1), *times)
    return replace(selection, from_offset=first, to_offset=stop, since=since, until=until)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _bounds(
    filters: PushedFilters, column: str, unit: int | timedelta, start: int | None, stop: int | None
) -> tuple[int | None, int | None]:
    """Return the lowest value that can pass, and the one after the highest, in whole units.

    `start` and `stop` are the bounds without the filters.
    """
    starts = [] if start is None else [start]
    stops = [] if stop is None else [stop]
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
    """Return a number itself, or the time since 1970."""
    return value - _EPOCH if isinstance(value, datetime) else value
