"""The tests of kraftwire: a folder for each package; shared helpers are beside this file.

No module imports from a `test_*.py`. `bench`, `chaos`, `fuzz`, `installs` and `simulation` have
programs too, which the Makefile starts: `python -m codec_tests.bench.speed`.
"""
