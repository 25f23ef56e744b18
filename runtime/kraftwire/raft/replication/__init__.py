"""Copying the log and its snapshots from the leader (KIP-595, KIP-630).

- `fetch_client` sends Fetch; `fetch_server` answers
- `snapshot_client` sends FetchSnapshot; `snapshot_server` answers
- `leader_updates`: the epoch and leader that every response reports

It imports `election`, `core` and the packages below them.
"""
