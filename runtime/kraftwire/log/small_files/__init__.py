"""The files beside the segments, a module for each format: decode and encode.

    indexes                   .index, .timeindex, .txnindex
    producer_snapshot         .snapshot
    checkpoints               leader-epoch-checkpoint and the four offset checkpoints
    properties                meta.properties and partition.metadata; java_properties their syntax
    quorum_state              quorum-state

Decoding raises `CorruptBatch`, with file and position.
"""
