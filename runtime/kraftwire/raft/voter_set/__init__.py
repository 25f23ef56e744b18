"""Changes of the voter set (KIP-853, KIP-856).

- `change_server` answers AddRaftVoter and RemoveRaftVoter; `checks`: what may be wrong with them
- `readiness`: whether a replica may become a voter
- `update_client` reports a voter's own endpoints and versions; `update_server` answers

It imports `replication`, `election`, `self_description`, `core` and the packages below them.
"""
