"""The log and its snapshots, from the leader to everybody else (KIP-595, KIP-630).

- `fetch_client` asks the leader with Fetch; `fetch_server` answers
- `snapshot_client` asks with FetchSnapshot; `snapshot_server` answers
- `responses`: the epoch and leader that every response names

It imports `election`, `core` and the packages below them.
"""
