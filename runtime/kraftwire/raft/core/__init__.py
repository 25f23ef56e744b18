"""What all handlers of a replica share.

- `inputs` and `effects`: what goes into a replica, and what it wants done
- `roles`: unattached, follower, candidate, leader ...; `core`: the state and its transitions
- `claims`: whether to believe an epoch or an offset that another node reports;
  `listeners`: the same for addresses
- `connections`: one request at a time to each node; `parked_fetches`: fetches that wait for records
- `messages`, `replies`: requests and responses for the one partition of the metadata log
- `snapshots`: which snapshots to write and to keep

It imports `state`, `metadata_log` and `membership`.
"""
