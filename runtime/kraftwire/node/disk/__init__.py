"""A replica's disk, in Kafka's own format: `replica_disk` implements the store of `kraftwire.raft`.

- `segmented_log`, `segment`, `segment_indexes`, `epoch_checkpoint`: the log
- `snapshot_files`: `.checkpoint` files; `directory_lock`: one process per directory
- `files`: durable writes, whose errors name the file
"""
