"""The fixture `message_snapshot`: messages as JSON for people, and as bytes beside it.

Both are compared: the JSON shows changes of fields, the bytes changes of the encoding alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kraftwire.pytest_plugin.comparison import explain_difference
from kraftwire.pytest_plugin.files import file_of, replace_file, safe_name, short_path
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.json_text import parse_json
from kraftwire_wire.message import Message

_UPDATE = "--kafka-snapshot-update"


class MessageSnapshot:
    """The fixture `message_snapshot`."""

    def __init__(self, item: pytest.Item, *, update: bool) -> None:
        self._item = item
        self._update = update
        self._count = 0
        self._parts: set[str] = set()

    def check(self, message: Message, version: int, name: str | None = None) -> None:
        """Compare a message with its snapshot; write it with `--kafka-snapshot-update`.

        Snapshots of one test are numbered, unless they get a `name`.
        """
        __tracebackhide__ = True
        self._count += 1
        part = name or (str(self._count) if self._count > 1 else "")
        if part in self._parts:
            pytest.fail(f"two snapshots of one test have the name {part!r}", pytrace=False)
        self._parts.add(part)
        suffix = f".{safe_name(part)}" if part else ""
        path = file_of(self._item, "snapshots", None, f"{suffix}.json")
        data = message.encode(version)
        if self._update:
            _write(path, message, version, data)
            return
        if not path.is_file():
            pytest.fail(
                f"no snapshot {short_path(path)}: run with {_UPDATE} to write it", pytrace=False
            )
        expected = _read(path, type(message), version)
        text = explain_difference(data, expected, type(message), version, ())
        if text is not None:
            pytest.fail(f"{short_path(path)}: {text}\naccept it with {_UPDATE}", pytrace=False)


def _write(path: Path, message: Message, version: int, data: bytes) -> None:
    obj = {"name": type(message).__name__, "version": version, "message": message.to_json(version)}
    replace_file(path, [json.dumps(obj, indent=2).encode(), b"\n"])
    replace_file(path.with_suffix(".hex"), [_hex_lines(data).encode()])


def _read(path: Path, kind: type[Message], version: int) -> bytes:
    """Return the stored bytes; fail if JSON and bytes are not a snapshot of this message."""
    __tracebackhide__ = True
    try:
        obj = parse_json(path.read_text(encoding="utf-8"))
        kept = obj["name"], obj["version"]
        data = bytes.fromhex(path.with_suffix(".hex").read_text(encoding="ascii"))
        if kept != (kind.__name__, version):
            reason = f"it is of {kept[0]} version {kept[1]}, not {kind.__name__} version {version}"
        elif kind.from_json(obj["message"], version).encode(version) != data:
            reason = "its JSON and its bytes differ"
        else:
            return data
    except (OSError, ValueError, KeyError, TypeError, KraftwireError) as error:
        reason = f"cannot be read: {error}"
    pytest.fail(f"snapshot {short_path(path)}: {reason}; replace it with {_UPDATE}", pytrace=False)


def _hex_lines(data: bytes) -> str:
    return "".join(data[at : at + 16].hex(" ") + "\n" for at in range(0, len(data), 16))
