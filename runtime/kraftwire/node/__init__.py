"""A KRaft node: disk, network and clock around the replica, and what state machines see of it.

- `settings`, `storage`, `disk`: server.properties, the directories, the log on disk
- `assembly` builds a `node` from its settings; `driver` carries out what the replica asks for
- `peers`, `known_peers`, `access`: other nodes, and who may change the voters
- `machine`, `proposals`: replicated state machines; `key_value` is an example, `observer` another
- `logs`, `prometheus`: what a node reports about itself
"""
