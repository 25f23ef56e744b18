"""The metadata log as a replica sees it: its offsets, leader epochs and control records.

- `log_state`: offsets and leader epochs; `batches`: record batches, built and parsed
- `history`, `control_state`: voter sets and kraft.version by offset
- `snapshot_download`: the received part of a snapshot
- `store`: the interface of a replica's disk; `memory_store`: a disk for tests and the simulator
- `recovery`: restores the state of a log from the bytes in a store

It imports `kraftwire.raft.state` and nothing else of `kraftwire.raft`.
"""
