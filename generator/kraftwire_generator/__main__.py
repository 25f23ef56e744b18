"""`python -m kraftwire_generator`: the generator's commands alone."""

from kraftwire_generator.commands.group import main

main(prog_name="python -m kraftwire_generator")
