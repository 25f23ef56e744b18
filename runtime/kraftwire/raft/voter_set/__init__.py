"""Changes of the voter set (KIP-853, KIP-856).

- `change_server` answers AddRaftVoter and RemoveRaftVoter; `checks`: the reasons to refuse them
- `readiness`: whether a replica may become a voter
- `update_client` sends UpdateRaftVoter, and asks to join the voters; `update_server` answers

It imports `replication`, `election`, `self_description`, `core` and the packages below them.
"""
