"""Values that do harm while a message is encoded: they lie, raise, or change the message.

`HOSTILE` are values without a state, so that every engine has to make the same of them.
`Acting` ones do something to the message each time their code runs; `hostile_message` puts them
into random messages.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

from kraftwire_wire.errors import EncodeError
from kraftwire_wire.message import Message, Struct

from codec_tests.strategies import random_message


class Raising:
    """Raises whatever is done to it."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("hostile")

    __eq__ = __ne__ = __index__ = __int__ = __float__ = __bool__ = __len__ = _raise
    __iter__ = __getitem__ = __bytes__ = __repr__ = __str__ = __getattr__ = __format__ = _raise

    def __hash__(self) -> int:
        raise RuntimeError("hostile")


class RaisingClass(Raising):
    """Raises even when it is asked for its class."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("hostile")


def posing_as(cls: type[Any]) -> Any:
    """An object that says it is an instance of a class, and is not."""

    class Posing:
        __class__ = cls

        def __len__(self) -> int:
            return 3

    return Posing()


class LyingStr(str):
    """Says that it is shorter, and encodes as something else."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__

    def encode(self, *_: Any, **__: Any) -> Any:
        return [1, 2, 3]


class LyingBytes(bytes):
    """Says that it is longer, and has other bytes."""

    def __len__(self) -> int:
        return 2**40

    def __bytes__(self) -> bytes:
        return LyingBytes(b"other")

    def __getitem__(self, _: Any) -> Any:
        return b"another"


class LyingByteArray(bytearray):
    def __len__(self) -> int:
        return 1

    def __bytes__(self) -> bytes:
        return LyingBytes(b"other")


class LyingList(list[Any]):
    """Has a length and elements that it does not hold."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter([1] * 5)

    def copy(self) -> Any:
        return self

    __getitem__ = None  # type: ignore[assignment]


class LyingTuple(tuple[Any, ...]):
    __slots__ = ()

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[Any]:
        return iter([1] * 5)

    __getitem__ = None  # type: ignore[assignment]


class LyingInt(int):
    """Is another number to everyone who asks."""

    def __index__(self) -> int:
        return 2**70

    def __int__(self) -> int:
        return 2**70

    def to_bytes(self, *_: Any, **__: Any) -> bytes:
        return b"short"

    def __rshift__(self, _: int) -> int:
        raise RuntimeError("hostile")


class LyingUuid(UUID):
    """Has bytes that are too short."""

    @property
    def bytes(self) -> bytes:
        return b"short"


def uuid_with(number: object) -> UUID:
    """A uuid whose number is any object."""
    value = UUID(int=5)
    object.__setattr__(value, "int", number)
    return value


def _uuid_without_number() -> UUID:
    return object.__new__(UUID)


def _released() -> memoryview:
    view = memoryview(b"released")
    view.release()
    return view


HOSTILE: tuple[Callable[[], object], ...] = (
    *(Raising, RaisingClass, lambda: [Raising()], lambda: [RaisingClass()]),
    *(lambda cls=cls: posing_as(cls) for cls in (str, bytes, list, tuple, int, bool, UUID)),
    lambda: LyingStr("text"),
    lambda: [LyingStr("text")],
    lambda: LyingBytes(b"bytes"),
    lambda: LyingByteArray(b"bytes"),
    lambda: LyingList([1, 2, 3]),
    lambda: LyingList([LyingStr("a"), LyingStr("b"), LyingStr("c")]),
    lambda: LyingTuple([1, 2, 3]),
    lambda: LyingInt(7),
    lambda: [LyingInt(7), True],
    lambda: LyingUuid(int=9),
    lambda: [LyingUuid(int=9)],
    *(lambda n=n: uuid_with(n) for n in (-1, 2**128, "x", None, 1.5, b"x" * 16, LyingInt(3))),
    *(lambda cls=cls: uuid_with(cls()) for cls in (Raising, RaisingClass)),
    _uuid_without_number,
    _released,
)


class Acting:
    """Does something to a message whenever its own code runs, and then raises or answers."""

    def __init__(self, act: Callable[[], None], rng: random.Random) -> None:
        self._act = act
        self._raises = rng.random() < 0.3
        self._number = rng.choice((0, 1, 5, 2**40))

    def _answer(self, *_: object) -> Any:
        self._act()
        if self._raises:
            raise RuntimeError("hostile")
        return self._number

    __index__ = __float__ = __eq__ = __ne__ = _answer
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._answer())

    def __repr__(self) -> str:
        return str(self._answer())


class ActingStr(str):
    """A string that does something when it is compared."""

    act: Callable[[], None]

    def __ne__(self, other: object) -> bool:
        self.act()
        return True

    __hash__ = str.__hash__


class Acts:
    """What `Acting` values do to a message; a bounded number of times, since some of it encodes."""

    def __init__(self, message: Message, encode: Callable[[Any], bytes], rng: random.Random):
        self._message, self._encode, self._rng = message, encode, rng
        self._left = 20

    def __call__(self) -> None:
        if self._left == 0:
            return
        self._left -= 1
        rng = self._rng
        structs = list(_structs(self._message))
        struct = rng.choice(structs)
        names = [field.name for field in struct.LAYOUT.fields] or ["unknown_tagged_fields"]
        name = rng.choice(names)
        value = getattr(struct, name, None)
        match rng.randrange(8):
            case 0:
                gc.collect(0)
            case 1:
                with suppress(EncodeError):
                    self._encode(self._message)
            case 2:
                with suppress(AttributeError):
                    delattr(struct, name)
            case 3:
                setattr(struct, name, rng.choice((None, 1, "x", b"x", [], [1], 2**70, UUID(int=1))))
            case 4:
                struct.unknown_tagged_fields = [(rng.randrange(3), b"x")]
            case _ if type(value) is list:
                rng.choice((value.clear, value.reverse, lambda: value.extend(value[:3])))()
                if value and rng.random() < 0.5:
                    value.pop(rng.randrange(len(value)))
            case _:
                setattr(struct, name, value)


def _structs(value: Any) -> Iterator[Any]:
    if issubclass(type(value), Struct):
        yield value
        for field in value.LAYOUT.fields:
            if field.is_struct:
                yield from _structs(getattr(value, field.name, None))
    elif type(value) is list:
        for item in list(value):
            yield from _structs(item)


def hostile_message(
    cls: type[Message], version: int, encode: Callable[[Any], bytes], rng: random.Random
) -> Message:
    """A random message with hostile values in some of its fields and lists."""
    message = random_message(cls, version, rng)
    act = Acts(message, encode, rng)
    for _ in range(rng.randint(1, 4)):
        struct = rng.choice(list(_structs(message)))
        fields = struct.LAYOUT.fields
        if not fields:
            continue
        name = rng.choice(fields).name
        value = getattr(struct, name)
        if type(value) is list and rng.random() < 0.7:
            value.insert(rng.randrange(len(value) + 1), _hostile(act, rng))
        else:
            setattr(struct, name, _hostile(act, rng))
    return message


def _hostile(act: Acts, rng: random.Random) -> object:
    if rng.random() < 0.3:
        return rng.choice(HOSTILE)()
    if rng.random() < 0.3:
        text = ActingStr("text")
        text.act = act
        return text
    if rng.random() < 0.3:
        return uuid_with(Acting(act, rng))
    return Acting(act, rng)
