"""The runtime of generated messages. It needs nothing but the standard library.

- `message` has `Message`, the base class of all messages, and `errors` what they raise;
- `registry` finds messages and decodes requests and responses, `records` does so for stored
  records, and `framing` cuts a connection into frames;
- `json_form` converts messages to and from Kafka's JSON, `canonical` finds encodings that Kafka
  would write differently;
- `generated` lists what generated modules import, and `layout` describes their tables;
- `engine` chooses how a codec runs: natively (`_objects`), in Python specialized for a version
  (`specialized`), or through the emitted code (`codec`, `reader`, `writer`).

`ErrorCode` and `ApiKey` can be imported from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kraftwire_wire.errors import RuntimeTooOld

RUNTIME_VERSION = 1
"""Version of the interface for generated code; it goes up when the interface grows."""


def require_runtime(version: int) -> None:
    """Raise `RuntimeTooOld` if a generated module needs a newer runtime than this one."""
    if version > RUNTIME_VERSION:
        raise RuntimeTooOld(
            f"this code was generated for runtime {version} of kraftwire_wire, but runtime "
            f"{RUNTIME_VERSION} is installed; upgrade kraftwire, or generate the code again"
        )


if TYPE_CHECKING:
    from kraftwire_wire.numbers import ApiKey as ApiKey
    from kraftwire_wire.numbers import ErrorCode as ErrorCode
else:

    def __getattr__(name: str) -> object:
        """Import `ErrorCode` and `ApiKey` on first use: they are large."""
        if name in ("ApiKey", "ErrorCode"):
            from kraftwire_wire import numbers

            value: object = getattr(numbers, name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
