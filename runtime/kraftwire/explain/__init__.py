"""Explains each byte of a message, a frame, a batch or a stored file.

`messages` explains messages and frames, `batches` record batches, `typed` the records of Kafka's
own logs, and `files` stored files. They read with `kraftwire.construct_schema` through a `Trace`
(`trace`, `message_trace`), which converts each part that is read to a `ByteRow` (`rows`).
`record_schema` has the schemas of batch headers and records. The package may import the log, the
construct schema and the layers below them.
"""
