"""The errors of refused input and of refused values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kraftwire_wire.errors import DecodeError, EncodeError


def decode_error_of(action: Callable[[], object]) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        action()
    return caught.value


def encode_error_of(action: Callable[[], object]) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        action()
    return caught.value
