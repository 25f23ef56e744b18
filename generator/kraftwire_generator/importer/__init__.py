"""Imports the message specs of a Kafka release into a spec set.

- `class_file`   reads enum constants from a Java class file
- `git_process`  runs git in a repository that may be hostile
- `sources`      finds specs and error codes in a jar, a source tree or a git revision
- `spec_text`    `MessageSpec` -> the JSON of a spec file
- `set_writer`   writes the set; the entry point is `import_specs`
"""
