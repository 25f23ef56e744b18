"""Formats the subject of a certificate as Kafka does: `CN=node,O=company` (RFC 2253).

Kafka's TLS principals are the names that Java prints, so Kafka's lists of principals work here. The
name is decoded from the certificate's bytes: Java prints the number and the encoded value of an
unusual attribute, which Python's parsed form lacks.
"""

from __future__ import annotations

from typing import NamedTuple

from kraftwire_wire.errors import DecodeError

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_SEQUENCE, _SET, _OID, _VERSION = 0x30, 0x31, 0x06, 0xA0
_TEXTS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1E})
"""The string types that Java prints as text; it decodes all of them as UTF-8."""
_ESCAPED = frozenset(',=+<>#;"\\')
_LONG = 0x80


class _Value(NamedTuple):
    """A DER value: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """Return the subject of a DER certificate; raise `DecodeError` if it is not valid."""
    parts = _parse_values(_parse_single(certificate, _SEQUENCE))
    fields = _parse_values(parts[0].content) if parts else []
    if fields and fields[0].tag == _VERSION:
        fields = fields[1:]
    if len(fields) < 5:  # number, signature, issuer, validity, subject
        raise DecodeError("the certificate has too few fields", "subject")
    names = _parse_values(fields[4].content)
    return ",".join(
        "+".join(_format_attribute(one) for one in _parse_values(name.content))
        for name in reversed(names)
    )


def _format_attribute(attribute: _Value) -> str:
    parts = _parse_values(attribute.content)
    if len(parts) != 2 or parts[0].tag != _OID:
        raise DecodeError("an attribute is not a number and a value", "subject")
    number, value = _format_identifier(parts[0].content), parts[1]
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or number}=#{value.whole.hex()}"
    return f"{keyword}={_escape(value.content.decode(errors='replace'))}"


def _escape(text: str) -> str:
    escaped = "".join(f"\\{char}" if char in _ESCAPED else char for char in text)
    escaped = escaped.replace("\0", "\\00")
    kept = escaped.strip(" ")
    before = len(escaped) - len(escaped.lstrip(" "))
    after = len(escaped) - len(escaped.rstrip(" ")) if kept else 0
    return "\\ " * before + kept + "\\ " * after


def _format_identifier(content: bytes) -> str:
    """Return an object identifier in dotted form."""
    found, value = [], 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if not byte & _LONG:
            found.append(value)
            value = 0
    if not found:
        raise DecodeError("an empty object identifier", "subject")
    first = min(found[0] // 40, 2)
    return ".".join(map(str, (first, found[0] - 40 * first, *found[1:])))


def _parse_single(data: bytes, tag: int) -> bytes:
    values = _parse_values(data)
    if len(values) != 1 or values[0].tag != tag:
        raise DecodeError("not a certificate", "subject")
    return values[0].content


def _parse_values(data: bytes) -> list[_Value]:
    """Parse consecutive values."""
    found, position = [], 0
    while position < len(data):
        start = position
        head = data[position : position + 2]
        position += 2
        size = head[-1] if len(head) == 2 else len(data)
        if len(head) == 2 and size & _LONG:
            width = size & ~_LONG
            size = int.from_bytes(data[position : position + width])
            position += width
        if position + size > len(data):
            raise DecodeError("cut off", "subject", start)
        content = data[position : position + size]
        position += size
        found.append(_Value(head[0], content, data[start:position]))
    return found
