"""The group of the generator's commands, for `python -m kraftwire_generator`.

`kraftwire` has the same commands, but does not run if the generated packages are missing or broken.
"""

from __future__ import annotations

import click

from kraftwire_generator.commands.docs import docs
from kraftwire_generator.commands.evolve import evolve
from kraftwire_generator.commands.generate import check, generate
from kraftwire_generator.commands.lint import lint
from kraftwire_generator.commands.specs import specs
from kraftwire_generator.console import PrintableGroup


@click.group(cls=PrintableGroup)
def main() -> None:
    """Generate Python codecs from message specs."""


for command in (generate, check, lint, specs, evolve, docs):
    main.add_command(command)
