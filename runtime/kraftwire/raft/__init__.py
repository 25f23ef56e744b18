"""A replica of a KRaft quorum (KIP-595, 853, 856) that does nothing by itself.

A replica reads no clock, no file and no socket. Its parts, lowest first; each imports only those
above it in this list:

- `state`: what a replica knows about its quorum
- `metadata_log`: the log, its control records and its snapshots
- `membership`: the rules for changes of the voter set
- `core`: what all handlers share
- `self_description`: what a replica reports about itself; `election`: votes, leading, resigning
- `replication`: Fetch and FetchSnapshot
- `voter_set`: how voters are added, removed and updated
- `replica`: one input at a time
"""
