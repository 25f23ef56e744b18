"""Plans the generated code: checked specs -> dataclasses that hold snippets of Python.

Specs are untrusted. `checks` allows only identifiers as names, all other strings go through
`literals`, and an unknown type raises.

- `plan_data`    the dataclasses that templates print
- `planner`      a message or a set -> its plan; the entry point
- `struct_code`  the bodies of `_decode` and `_encode` of one class
- `field_code`   the statements that read and write one field
- `conditions`   `if version ...` around statements
- `docstrings`   docstrings of generated classes
- `literals`     Python source for values, types and version ranges
"""
