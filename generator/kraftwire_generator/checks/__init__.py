"""Decides whether code can be generated from specs; entry points: `load_set` and `check_spec`.

- `structs`        resolves the struct names of a message
- `field_rules`    rules for one field
- `message_rules`  rules for one message
- `set_rules`      rules between the messages of a set
- `spec_set`       loads a directory and runs all of the above on it
"""
