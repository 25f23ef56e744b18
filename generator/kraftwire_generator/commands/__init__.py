"""The commands: each module parses options, calls the other packages, and prints.

- `group`              all commands together, for `python -m kraftwire_generator`
- `generate`           `generate` and `check`
- `lint`, `docs`       the commands of these names
- `specs`, `diff`      `specs import`, `specs table` and `specs diff`
- `evolve`             the command of this name
- `comparison_output`  shared by `specs diff` and `evolve`
- `diff_text`, `evolution_text`  their results as text, JSON and Markdown

`kraftwire_generator.console` has the rules for output, failures and exit codes.
"""
