"""What each byte of a message, a frame, a batch or a stored file is.

`messages` explains messages and frames, `batches` record batches, `typed` the records of Kafka's
own logs, and `files` stored files. They read with `kraftwire.construct_schema` through a `Trace`,
which turns each part that was read into a `ByteRow`. The package may import the log, the
construct schema and what is below them.
"""
