"""Streams follow log directories while brokers write to them. Nothing here knows Spark.

offsets        a stream's position, as a checkpoint stores it
progress       the end of a trigger, and its tasks; the entry point
listing        the partitions that exist now
tail           the end of a log, and the positions of its offsets
limits         how much of each partition a limited trigger reads
transactions   last stable offsets, and which transactions were aborted
trigger        the splits of a trigger
"""
