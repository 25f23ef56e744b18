"""Names of error codes and API keys."""

from __future__ import annotations

from kraftwire_wire.numbers import ApiKey, ErrorCode


def with_name(field: str, number: int) -> str:
    """Return a number as text, with its name if it has one; `field` is the attribute's name."""
    name = _name(field, number)
    return f"{number} {name}" if name else str(number)


def _name(field: str, number: int) -> str | None:
    try:
        if field.endswith("error_code"):
            return ErrorCode(number).name
        if field.endswith("api_key"):
            # As messages write it: LIST_OFFSETS is the API of ListOffsetsRequest.
            return "".join(word.capitalize() for word in ApiKey(number).name.split("_"))
    except ValueError:
        pass
    return None
