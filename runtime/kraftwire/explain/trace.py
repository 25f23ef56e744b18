"""`Trace`, a stream that adds a row for each part that a schema reads from it.

If reading fails, the error has the path and start of the innermost part that was entered but not
left. The emitted code raises a `DecodeError` with the same path and offset for the same bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import construct as c  # type: ignore[import-untyped]

from kraftwire.construct_schema import INDEX, LEAVES, Part, Refusal, TraceStream, with_article
from kraftwire.explain.rows import Scope
from kraftwire_wire.errors import DecodeError, count_of
from kraftwire_wire.forms import FIXED_SIZES
from kraftwire_wire.reader import SIZELESS_PER_BYTE

_SIZES = {**FIXED_SIZES, "uuid": 16}


class Remark(NamedTuple):
    """The explanation of a value in its row; see `ByteRow`."""

    note: str = ""
    problem: str = ""
    time_ms: int | None = None


def remark_on_crc(stored: int, computed: int) -> Remark:
    """Return the remark on a CRC, which is a problem if it does not match its bytes."""
    if computed == stored:
        return Remark(f"0x{stored:08x}, which is right")
    return Remark(problem=f"the stored CRC is 0x{stored:08x}, that of the bytes 0x{computed:08x}")


class Trace(TraceStream):
    """Converts the parts that are read from bytes to rows of a scope."""

    def __init__(self, data: bytes, scope: Scope) -> None:
        super().__init__(data)
        self.data = data
        self.scope = scope
        self.covered = 0
        """The end of the last leaf."""
        self._depth = scope.depth
        self._path = scope.path
        self._entered: list[tuple[Part, int, int, str]] = []
        self._sizeless = 0
        self._tag = 0

    # -- hooks for subclasses ----------------------------------------------------------------

    def remark(self, part: Part, value: Any) -> Remark:
        """Return the explanation of a value."""
        return Remark()

    def opens(self, part: Part, value: Any, scope: Scope) -> bool:
        """Add rows for the content of a value; return False to show it as a plain value.

        `scope` begins with the value.
        """
        return False

    def after(self, part: Part, value: Any, scope: Scope) -> None:
        """Add rows after the row of a value."""

    @property
    def start(self) -> int:
        """The start of the innermost part."""
        return self._entered[-1][1]

    # -- reading -----------------------------------------------------------------------------

    def parse(self, schema: Any) -> tuple[Any, DecodeError | None]:
        """Return what a schema reads from the position, or the error, for which a row was added."""
        del self._entered[:]
        self._depth, self._path = self.scope.depth, self.scope.path
        try:
            return schema.parse_stream(self), None
        except c.ConstructError as error:
            return None, self._fail(error)

    def check_end(self, what: str) -> DecodeError | None:
        """Add and return an error if bytes follow the end of `what`."""
        left = len(self.data) - self.covered
        if not left:
            return None
        noun = "byte follows" if left == 1 else "bytes follow"
        return self.refuse(f"{left} {noun} the end of {what}", "", self.covered)

    def refuse(self, reason: str, step: str, at: int) -> DecodeError:
        """Add and return an error at byte `at` that ends the reading; `step` ends its path."""
        path = self.scope.path
        path = f"{path}.{step}" if path and step else path or step
        return self.scope.refuse(DecodeError(reason, path, at), self.data, self.covered)

    def enter(self, part: Part, index: int | None) -> None:
        start = self.tell()
        self._entered.append((part, start, self._depth, self._path))
        if part.deeper:
            self._depth += 1
        if part.step == INDEX:
            self._path = f"{self._path}[{index}]"
        elif part.step or part.type == "unknown tag":
            step = part.step or f"tag {self._tag}"
            self._path = f"{self._path}.{step}" if self._path else step
        if part.role == "struct":
            self._here().add("struct", part.type, start, name=part.name)
            self._depth += 1

    def leave(self, value: Any) -> None:
        part, start, depth, path = self._entered[-1]
        if part.role in LEAVES:
            self._leaf(part, start, value)
        self._entered.pop()
        self._depth, self._path = depth, path

    def count_sizeless(self, count: int) -> None:
        """Enforce the same limit as `kraftwire_wire.reader`."""
        self._sizeless += count
        if self._sizeless > SIZELESS_PER_BYTE * len(self.data):
            reason = "far more empty elements than the input has bytes"
            raise Refusal(reason, self.tell())

    def _leaf(self, part: Part, start: int, value: Any) -> None:
        end = self.tell()
        if part.role == "tag":
            self._tag = value
        elif part.role in ("length", "count") and value < 0:
            value = None
        elif part.role == "value" and part.type.endswith("string"):
            value = _text(value, start)
        if part.role == "value" and isinstance(value, bytes) and value:
            scope = self._here().inside(start, deeper=0)
            if self.opens(part, value, scope):
                self.covered = end
                return
        remark = self.remark(part, value)
        self.covered = end
        here = self._here()
        here.add(
            part.role,
            part.type,
            start,
            end,
            data=self.data[start:end],
            value=value,
            name=part.name,
            note=remark.note,
            problem=remark.problem,
            at=start if remark.problem else None,
            time_ms=remark.time_ms,
        )
        if remark.problem:
            error = DecodeError(remark.problem, self._path, here.base + start)
            here.report.findings.append(error)
        self.after(part, value, here.inside(start))

    def _here(self) -> Scope:
        scope = self.scope
        return Scope(scope.report, scope.base, self._depth, self._path, scope.view)

    def _fail(self, error: c.ConstructError) -> DecodeError:
        part, start = (self._entered[-1][:2]) if self._entered else (None, self.tell())
        if isinstance(error, Refusal):
            reason = error.reason
            start = start if error.offset is None else error.offset
        else:
            reason = self._cut_off(part, start)
        refused = DecodeError(reason, self._path, start)
        return self.scope.refuse(refused, self.data, self.covered)

    def _cut_off(self, part: Part | None, start: int) -> str:
        kind = part.type if part is not None else "value"
        size = _SIZES.get(kind)
        left = len(self.data) - start
        if size is None:
            return f"{with_article(kind)} is cut off by the end of the input"
        rest = "1 is left" if left == 1 else f"{left} are left"
        return f"{with_article(kind)} takes {count_of(size, 'byte')}, {rest}"


def _text(raw: bytes, start: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Refusal(f"not UTF-8: {error.reason}", start + error.start) from None
