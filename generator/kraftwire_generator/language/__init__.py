"""The spec language as data; nothing here reads files.

- `versions`         version ranges such as `2+`
- `field_types`      primitives, structs and arrays
- `spec`             a message, its fields and structs, as a spec file states them
- `defaults`         the value of a field that nobody set
- `header_versions`  which header version goes with which body version
- `names`            spec names -> names of Python classes, attributes and modules
"""
