"""How commands, the pytest plugin and the Spark jobs talk to people.

- `output`: the option `-o`, JSON Lines and tables on standard output, notes on standard error
- `failures`: error messages and exit codes; `findings`: what is wrong with the data
- `progress`: progress bars; `times`: timestamps as people write them
- `lazy_group`: groups of commands that import a command when it is called

It may import `kraftwire.printing` and click. The generator, which must run without the rest of
kraftwire, follows the same rules in `kraftwire_generator.console`; codec_tests/cli/test_console.py
runs over both.
"""
