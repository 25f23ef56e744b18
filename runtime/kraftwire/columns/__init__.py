"""Columns: record batches and messages as Arrow arrays, without an object for each record.

    from kraftwire.columns import decode_batches

    with FileSource("00000000000000000000.log") as source:
        for chunk in decode_batches(source, ["offset", "timestamp", "value"]):
            ...  # a pyarrow.RecordBatch of a few megabytes

`decode_batches` reads segments, `decode_messages` turns a column of one message's bytes into
structs, `decode_typed` does so for the mixed records of Kafka's own logs. The native engine
does the work where it was compiled, plain Python elsewhere, with the same outcome.
"""

try:
    import pyarrow as _pyarrow
except ModuleNotFoundError as error:
    mend = "pip install 'kraftwire[parquet]'"
    raise ModuleNotFoundError(f"columns need pyarrow: {mend}", name="pyarrow") from error

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
