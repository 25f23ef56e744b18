"""Reads the constants of a Java enum from its class file, without Java.

It parses only what is needed to find one method's bytecode, and only the bytecode that javac writes
for enum constants. Anything else raises `ValueError` with the offset.

javac puts every constant of an enum at the start of `<clinit>`, each as

    new, dup, ldc <name>, push <ordinal>, push <first argument>, ..., invokespecial, putstatic

A push is iconst_m1 to iconst_5, bipush, sipush, or ldc of an int. Kafka's error codes are such an
enum, whose first argument is the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_MAGIC = 0xCAFEBABE

# Tags of the constant pool (JVM specification, table 4.4-A).
_UTF8, _INTEGER, _LONG, _DOUBLE, _CLASS, _STRING = 1, 3, 5, 6, 7, 8
_REFERENCES = (_CLASS, _STRING, 16, 19, 20)  # these hold the index of a string
_SKIPPED_SIZES = dict.fromkeys((4, 9, 10, 11, 12, 17, 18), 4) | {_LONG: 8, _DOUBLE: 8, 15: 3}

_ACONST_NULL, _ICONST_M1, _ICONST_5, _BIPUSH, _SIPUSH, _LDC, _LDC_W = 1, 2, 8, 16, 17, 18, 19
_DUP, _PUTSTATIC, _INVOKESPECIAL, _INVOKESTATIC, _INVOKEDYNAMIC, _NEW = 89, 179, 183, 184, 186, 187


class _ByteReader:
    """Reads big-endian numbers, each checked against the end of the bytes."""

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.offset = start
        self.end = len(data) if end is None else end

    def take(self, size: int) -> bytes:
        start = self.offset
        if size > self.end - start:
            raise ValueError(
                f"the class file ends too early: it needs {size} bytes at offset {start}, "
                f"{self.end - start} are left"
            )
        self.offset = start + size
        return self.data[start : self.offset]

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "big", signed=signed)


@dataclass(slots=True)
class _ConstantPool:
    """The constants by index: strings and ints, and references as (tag, index)."""

    entries: dict[int, str | int | tuple[int, int]] = field(default_factory=dict)

    def text(self, index: int, offset: int) -> str:
        """Return a string constant, following a class or string reference."""
        entry = self.entries.get(index)
        if isinstance(entry, tuple) and entry[0] in (_CLASS, _STRING):
            entry = self.entries.get(entry[1])
        if isinstance(entry, str):
            return entry
        raise ValueError(f"constant {index}, used at offset {offset}, is not a string")

    def loaded(self, index: int, offset: int) -> str | int:
        """Return what `ldc` of a constant pushes: an int or a string."""
        entry = self.entries.get(index)
        return entry if isinstance(entry, int) else self.text(index, offset)


def enum_constants(data: bytes) -> list[tuple[str, int]]:
    """Return the constants of an enum with their first int argument, in source order."""
    reader = _ByteReader(data)
    if reader.number(4) != _MAGIC:
        raise ValueError("not a Java class file: it does not start with cafebabe at offset 0")
    reader.take(4)  # the class file's version
    pool = _read_constant_pool(reader)
    reader.take(2)  # access flags
    own_name = pool.text(reader.number(2), reader.offset - 2)
    reader.take(2)  # the superclass
    reader.take(2 * reader.number(2))  # the interfaces
    for _ in range(reader.number(2)):
        _read_member(reader, pool)
    for _ in range(reader.number(2)):
        name, code = _read_member(reader, pool)
        if name == "<clinit>" and code is not None:
            return list(_walk_constants(code, pool, own_name))
    raise ValueError(f"no static initialiser before offset {reader.offset}: not an enum")


def _read_constant_pool(reader: _ByteReader) -> _ConstantPool:
    pool = _ConstantPool()
    count = reader.number(2)
    index = 1
    while index < count:
        offset = reader.offset
        tag = reader.number(1)
        if tag == _UTF8:
            # Java's modified UTF-8 differs only in characters that these names do not have.
            pool.entries[index] = reader.take(reader.number(2)).decode("utf-8", "replace")
        elif tag == _INTEGER:
            pool.entries[index] = reader.number(4, signed=True)
        elif tag in _REFERENCES:
            pool.entries[index] = (tag, reader.number(2))
        elif tag in _SKIPPED_SIZES:
            reader.take(_SKIPPED_SIZES[tag])
        else:
            raise ValueError(f"unknown constant tag {tag} at offset {offset}")
        index += 2 if tag in (_LONG, _DOUBLE) else 1
    return pool


def _read_member(reader: _ByteReader, pool: _ConstantPool) -> tuple[str, _ByteReader | None]:
    reader.take(2)  # access flags
    name = pool.text(reader.number(2), reader.offset - 2)
    reader.take(2)  # the descriptor
    code = None
    for _ in range(reader.number(2)):
        attribute = pool.text(reader.number(2), reader.offset - 2)
        size = reader.number(4)
        start = reader.offset
        reader.take(size)
        if attribute == "Code":
            code = _bytecode(reader.data, start, reader.offset)
    return name, code


def _bytecode(data: bytes, start: int, end: int) -> _ByteReader:
    attribute = _ByteReader(data, start, end)
    attribute.take(4)  # the sizes of stack and locals
    size = attribute.number(4)
    first = attribute.offset
    attribute.take(size)
    return _ByteReader(data, first, attribute.offset)


def _walk_constants(
    code: _ByteReader, pool: _ConstantPool, own_name: str
) -> Iterator[tuple[str, int]]:
    """Yield constants until anything other than `new <the enum itself>` begins."""
    while code.offset < code.end:
        start = code.offset
        if code.number(1) != _NEW or not _is_own(pool.text(code.number(2), start), own_name):
            return
        pushed = _read_pushes(code, pool)
        match pushed:
            case [str(name), int(), int(argument), *_]:
                yield name, argument
            case _:
                raise ValueError(
                    f"the enum constant at offset {start} does not begin with "
                    "a name, an ordinal and a number"
                )


def _is_own(class_name: str, own_name: str) -> bool:
    """Whether the class is the enum, or the class of a constant with a body."""
    return class_name == own_name or class_name.startswith(own_name + "$")


def _read_pushes(code: _ByteReader, pool: _ConstantPool) -> list[str | int | None]:
    """Return what one constant's bytecode pushes, up to its `putstatic`."""
    pushed: list[str | int | None] = []
    while True:
        offset = code.offset
        operation = code.number(1)
        if operation == _PUTSTATIC:
            code.take(2)
            return pushed
        if operation == _ACONST_NULL:
            pushed.append(None)
        elif _ICONST_M1 <= operation <= _ICONST_5:
            pushed.append(operation - _ICONST_M1 - 1)
        elif operation in (_BIPUSH, _SIPUSH):
            pushed.append(code.number(operation - _BIPUSH + 1, signed=True))
        elif operation in (_LDC, _LDC_W):
            pushed.append(pool.loaded(code.number(operation - _LDC + 1), offset))
        elif operation in (_NEW, _INVOKESPECIAL, _INVOKESTATIC):
            code.take(2)
        elif operation == _INVOKEDYNAMIC:
            code.take(4)
        elif operation != _DUP:
            raise ValueError(
                f"bytecode {operation:#04x} at offset {offset} is not part of an enum constant"
            )
