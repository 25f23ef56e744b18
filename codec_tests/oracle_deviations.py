"""Where kraftwire decides otherwise than the Kafka generator that the oracle was made with.

`SPEC_VALIDATION` and `VERSIONS` map a case of the section of that name to the reason,
`DEFAULT_VALUES` a case of spec_validation whose default is another value here, and
`EVOLUTION` one of evolution_checker. A listed case that no longer deviates fails the tests,
and so does an unlisted one that does.
"""

from __future__ import annotations

# We refuse what Kafka's generator accepts.
NOT_A_WHOLE_NUMBER = "a fraction is no apiKey and no tag; Java cuts it off without a word"
TYPE_BY_POSITION = "a message type is a name; Java takes the position of one in its own list"
EMPTY_NAME = "a message without a name has no class; Java writes one called Data"
EMPTY_RANGE = "a range such as 3-1 is a slip of the pen; Java reads it as none"
UNKNOWN_STRUCT = "a struct that nobody defines is a misspelling; Java makes up an empty one"
ASCII_NAMES = "names are ASCII, and a struct is defined somewhere; Java checks neither"
NO_DIGITS = "0x without a digit is no number; Java reads it as 0"
RECORDS_DEFAULT = "the default of records follows the rules of bytes; Java ignores its text"
REPEATED_KEY = "which of two equal keys was meant is a guess; Java takes the last"

# We accept what Kafka's generator refuses.
NEWER_KAFKA = "newer releases of Kafka have this"
BYTE_ORDER_MARK = "a file with a byte-order mark is UTF-8 too"
JAVA_NAME = "only Java has this name for itself; Python takes it, or adds an underscore"
JAVA_LITERAL = "only Java source cannot spell the value"
JAVA_METHOD_SIZE = "only a method of Java has a size limit"
JAVA_ZERO_COPY = "only Java's emitted code for this does not compile; zeroCopy is without effect"
VERSIONS_FROM_TAGGED = "a struct takes the versions of its field, which default to taggedVersions"
SPACES_ARE_EMPTY = "spaces are trimmed, and an empty range means that the key is absent"

_TYPE_CASES = ("type", "type-nullable", "type-tagged", "type-tagged-nullable", "type-mapkey")


def _type_cases(*types: str) -> list[str]:
    return [f"{case}={type_name}" for case in _TYPE_CASES for type_name in types]


_IDS_BY_REASON: dict[str, list[str]] = {
    NOT_A_WHOLE_NUMBER: ["top-apikey-float", "tag-float"],
    TYPE_BY_POSITION: ["top-type-int"],
    EMPTY_NAME: ["top-name-empty"],
    EMPTY_RANGE: ["flexibleVersions=3-1", "field-versions-inverted", "nullableVersions=3-1"],
    UNKNOWN_STRUCT: [
        "struct-undefined",
        "struct-undefined-single",
        *_type_cases("Int32", "STRING", "Foo", "[]Foo", "Bool"),
    ],
    ASCII_NAMES: _type_cases("\u00c9foo"),
    NO_DIGITS: ['default int8 "0x"'],
    RECORDS_DEFAULT: ['default records "null"', 'default records "foo"'],
    REPEATED_KEY: ["json-dup-key-top", "json-dup-key-field"],
    NEWER_KAFKA: ["top-type-coordinator-key", "validVersions=none"],
    BYTE_ORDER_MARK: ["json-bom"],
    JAVA_NAME: [
        "top-name-lower",
        "field-name=class",
        "field-name=int",
        "field-name=hashCode",
        "field-name=toString",
        "struct-name-eq-message",
    ],
    JAVA_LITERAL: [
        'default uint32 "4294967295"',
        'default string "a\\"b"',
        'default string "a\\nb"',
    ],
    JAVA_METHOD_SIZE: ["validVersions=0-32766"],
    JAVA_ZERO_COPY: ["zerocopy-tagged"],
    VERSIONS_FROM_TAGGED: ["tagged-default-versions-struct", "tagged-default-versions-structarray"],
    SPACES_ARE_EMPTY: ["fieldflex-string= "],
}

SPEC_VALIDATION: dict[str, str] = {
    case: reason for reason, cases in _IDS_BY_REASON.items() for case in cases
}

# What a field holds when nobody has set it.
DEFAULT_VALUES: dict[str, str] = {
    'default uint32 "0xffffffff"': "uint32 is unsigned; Java's converter prints -1",
    'default string "a\\\\b"': "a default is taken verbatim; in Java source \\b is a backspace",
}

VERSIONS: dict[str, str] = {"parse 3-1": EMPTY_RANGE}

# Where `evolve` and Kafka's checker disagree on whether the wire breaks.
EVOLUTION: dict[str, str] = {
    # We accept what Kafka's checker refuses.
    "default": "an ordinary field is written whatever it holds: its default is a warning",
    "default-zero": "no default and 0 are the same value; Kafka compares the texts",
    "name": "a message's name is not on the wire: a warning",
    "tagadd": "readers skip a tag they do not know; Kafka's own comment says so too",
    "nullable-new": "null came with a new version; Kafka compares with its operands swapped",
    "structs": "nothing changed; Kafka puts the structs of both specs into one registry",
    "common": "nothing changed; Kafka puts the common structs of both specs into one registry",
    "outside": "a field outside of its message's versions was never on the wire",
    # We refuse what Kafka's checker accepts.
    "untag": "the bytes of a field in line and of a tagged one differ; Kafka does not look",
    "drop-v0": "a stored record of the version that went can be read no more",
    "nullable-drop": "null that was written is refused; Kafka swaps its operands",
    "flex-superset": "a version that exists becomes flexible, so that all its bytes differ",
}
