"""What the command line, the pytest plugin and the Spark jobs share for talking to people.

- `output`: tables on a terminal, JSON Lines elsewhere; `failures`: messages and exit codes
- `lazy_group`: groups of commands that import a command when it is called
- `options`: options of several commands, findings and progress bars
"""
