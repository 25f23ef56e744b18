"""Generates Python codecs from message specs, and compares, checks, imports and documents specs.

The rooms, from the bottom up; each imports only those listed before it:

- `errors`      findings, and the exceptions that carry them
- `language`    the spec language as data: versions, types, fields, defaults, header versions
- `console`     how every command prints, fails and exits
- `parser`      spec files and `set.toml` -> dataclasses
- `checks`      binds struct names to structs, and reports what is wrong with a message or set
- `plan`        every decision about the generated code, as plain data
- `output`      plan -> Python text -> files on disk
- `importer`    a Kafka release (jars, source tree, git revision) -> a spec set
- `lint`        drafts and wiki pages -> what is wrong with the specs in them
- `guide`       spec sets -> the protocol guide, as static HTML pages
- `comparison`  two spec sets -> what changed, and what breaks the wire
- `commands`    the command line on top of all of them

The package imports the standard library, jinja2, black and click, and nothing else of kraftwire.
"""
