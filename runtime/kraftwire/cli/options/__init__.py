"""Click options that several groups have, and their parsers.

- `stored`: paths, offsets, times; `config`: a node's `server.properties`
- `connection`: servers of a quorum; `listen`: addresses; `signals`: SIGINT and SIGTERM
"""
