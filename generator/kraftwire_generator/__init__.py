"""Generates Python codecs from message specs, and compares, checks, imports and documents specs.

The subpackages and modules, from the bottom up; each imports only those listed before it:

- `errors`      findings, and the exceptions that carry them
- `language`    the spec language as data: versions, types, fields, defaults, header versions
- `console`     output, failures and exit codes of all commands
- `parser`      spec files and `set.toml` -> dataclasses
- `checks`      resolves struct names, and reports what is wrong with a message or set
- `plan`        specs -> the generated code as plain data
- `output`      that data -> Python text -> files on disk
- `importer`    a Kafka release (jars, source tree, git revision) -> a spec set
- `lint`        drafts and wiki pages -> findings about the specs in them
- `guide`       spec sets -> the protocol guide, as static HTML pages
- `comparison`  two spec sets -> what changed, and what breaks the wire format
- `commands`    the command line on top of all of them

The package depends on jinja2, black and click, and on nothing else of kraftwire.
"""
