"""Decoding: splits and captured frames become Arrow batches. Nothing here knows Spark.

split_reader      a task's splits as batches of the requested columns
typed_columns     the typed records of Kafka's own logs
captured_frames   captured requests and responses as structs
"""
