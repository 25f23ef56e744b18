"""The commands. A module here parses options, calls the packages below, and prints.

- `group`              all commands together, for `python -m kraftwire_generator`
- `generate`           `generate` and `check`
- `lint`, `docs`       the commands of these names
- `specs`, `diff`      `specs import`, `specs table` and `specs diff`
- `evolve`             the command of this name
- `comparison_output`  what `specs diff` and `evolve` share
- `diff_text`, `evolution_text`  their results as text, JSON and Markdown

How commands print, fail and exit is in `kraftwire_generator.console`.
"""
