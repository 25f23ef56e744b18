"""Plans the generated code: checked specs -> dataclasses that hold snippets of Python.

Specs are untrusted. Names were checked as identifiers, everything else goes through `literals`,
and every choice among types or forms is total: an unknown case raises.

- `plan_data`    the dataclasses that templates print
- `planner`      a message or a set -> its plan; the entry point
- `struct_code`  the bodies of `_decode` and `_encode` of one class
- `field_code`   the statements that read and write one field
- `conditions`   `if version ...` around statements
- `docstrings`   docstrings of generated classes
- `literals`     Python source for values, types and version ranges
"""
