"""A node's directories: what `kraftwire storage format` writes, and what a node checks at start.

- `directories`: `meta.properties`, which says whose a directory is
- `format_options`, `features`: what to format, and for which release of Kafka
- `formatting`: plans and writes new directories; `initial_checkpoints` has the content of files

Above `settings` and `disk`.
"""
