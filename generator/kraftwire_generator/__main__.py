"""`python -m kraftwire_generator`: the generator's commands alone."""

from kraftwire_generator.cli import main

main(prog_name="python -m kraftwire_generator")
