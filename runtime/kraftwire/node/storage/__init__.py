"""A node's directories: what `kraftwire storage format` writes, and what a node checks at start.

- `directories`: `meta.properties`, which identifies the owner of a directory
- `format_options`, `features`: the first voters, and the features of a release of Kafka
- `formatting`: plans and writes new directories; `initial_checkpoints` builds their files

Above `settings` and `disk`.
"""
