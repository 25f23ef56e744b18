"""A node's directories: what `kraftwire storage format` writes and a node checks at start.

`formatting` writes, after `format_options` checked the options; `initial_checkpoints` and `features`
are the content. `directories` reads `meta.properties`.
"""
