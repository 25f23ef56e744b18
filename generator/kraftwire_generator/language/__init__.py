"""The spec language as dataclasses; nothing here reads files.

- `versions`         version ranges such as `2+`
- `field_types`      primitives, structs and arrays
- `spec`             a message, its fields and structs, as written in a spec file
- `defaults`         the default value of a field
- `header_versions`  which header version goes with which body version
- `names`            spec names -> names of Python classes, attributes and modules
"""
