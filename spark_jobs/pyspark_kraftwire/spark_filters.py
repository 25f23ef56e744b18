"""Filters as Spark writes them, as those of `filters`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import datasource

from pyspark_kraftwire.filters import Filter


def parse_filter(one: Any) -> Filter | None:
    """A filter of `pyspark.sql.datasource`; None for one within a struct."""
    negated = isinstance(one, datasource.Not)
    inner: Any = one.child if negated else one
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if len(path) != 1:
        return None
    return Filter(type(inner).__name__, path[0], getattr(inner, "value", None), negated)
