"""Decides whether specs can be generated from; entry points: `load_set` and `check_message`.

- `structs`        binds the struct names of a message to its structs
- `field_rules`    rules for one field
- `message_rules`  rules for one message
- `set_rules`      rules between the messages of a set
- `spec_set`       loads a directory and runs all of the above on it
"""
