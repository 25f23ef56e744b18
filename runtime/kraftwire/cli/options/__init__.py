"""Click options of several groups, and what goes with them.

- `stored`: paths, offsets, times; `config`: a node's `server.properties`
- `connection`: where a quorum is; `listen`: addresses of servers; `signals`: how they are stopped
"""
