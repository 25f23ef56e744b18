"""Input and output shared by the commands, the pytest plugin and the Spark jobs.

- `output`: the option `-o`, JSON Lines and tables on standard output, notes on standard error
- `failures`: error messages and exit codes; `findings`: problems of the data
- `progress`: progress bars; `times`: timestamps in readable form
- `lazy_group`: groups of commands that import a command when it is called

It may import `kraftwire.printing` and click. The generator must run without the rest of kraftwire,
so it has its own `kraftwire_generator.console` with the same rules; codec_tests/cli/test_console.py
tests both.
"""
