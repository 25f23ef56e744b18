"""Decodes record batches and messages to Arrow arrays, without a Python object per record.

    from kraftwire.columns import decode_batches

    with FileSource("00000000000000000000.log") as source:
        for chunk in decode_batches(source, ["offset", "timestamp", "value"]):
            ...  # a pyarrow.RecordBatch of a few megabytes

`decode_batches` reads segments, `decode_messages` converts a column of encoded messages of one
type to structs, and `decode_typed` does so for the mixed records of Kafka's own logs. The native
engine does the work if it is compiled, and plain Python otherwise, with the same results.
"""

try:
    import pyarrow as _pyarrow
except ModuleNotFoundError as error:
    hint = "columns need pyarrow: pip install 'kraftwire[parquet]'"
    raise ModuleNotFoundError(hint, name="pyarrow") from error

from kraftwire.columns.batches import decode_batches
from kraftwire.columns.messages import decode_messages
from kraftwire.columns.schema import DEFAULT_COLUMNS, RECORD_COLUMNS, message_type, record_schema
from kraftwire.columns.typed import TypedRows, decode_typed
from kraftwire.columns.uuids import uuid_strings

__all__ = [
    "DEFAULT_COLUMNS",
    "RECORD_COLUMNS",
    "TypedRows",
    "decode_batches",
    "decode_messages",
    "decode_typed",
    "message_type",
    "record_schema",
    "uuid_strings",
]

del _pyarrow
