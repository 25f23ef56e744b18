"""Streams: log directories followed while brokers write to them. Nothing here knows Spark.

offsets        a stream's position, as a checkpoint stores it
progress       up to where a trigger reads, and its tasks; the entry point
listing        the partitions that exist now
tail           how far a log reaches, and where its offsets are
limits         how much of each partition a limited trigger reads
transactions   up to where all transactions have ended, and which were aborted
trigger        the splits of a trigger
"""
