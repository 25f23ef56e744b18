"""What all handlers of a replica share.

- `inputs`: the events that a replica handles; `effects`: what it asks its caller to do
- `roles`: follower, candidate, leader ...; `transitions`: which role may follow which
- `core`: the state of a replica and the changes to it
- `claims`: whether to believe an epoch or an offset that another node reports;
  `listeners`: whether an announced address is valid
- `connections`: at most one request in flight to each node
- `fetch_purgatory`: Fetches that wait for records
- `messages`, `replies`: requests and responses about the one partition of the metadata log
- `snapshots`: which snapshots to write and to keep

It imports `state`, `metadata_log` and `membership`.
"""
