"""The group `quorum`, whose commands can be spelled in three ways.

    kraftwire quorum describe --status --bootstrap-controller localhost:9093
    kraftwire quorum --bootstrap-controller localhost:9093 describe --status      as Kafka's tool
    kraftwire quorum --bootstrap-controller localhost:9093 --describe replication as KIP-856

The second and third are rewritten to the first before click parses them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import click

from kraftwire.console.lazy_group import LazyCommand, LazyGroup

_EPILOG = """\b
The servers (HOST:PORT, repeatable) and how to connect, before or after a command:
  --bootstrap-controller or --bootstrap-server, --command-config FILE

\b
KIP-856 spells the commands as options:
  --describe [replication]
  --add-voter --replicaId N --replicaUuid U [--listener NAME://HOST:PORT]
  --remove-voter --replicaId N --replicaUuid U

\b
Example:
  kraftwire quorum describe --replication --bootstrap-controller localhost:9093
"""

_SPELLINGS = {
    "--describe": ["describe", "--kip-856"],
    "--add-voter": ["add-controller"],
    "--remove-voter": ["remove-controller"],
}
_HELP = ("-h", "--help")
_FLAGS = (*_HELP, "--dry-run", "--human-readable", "--status", "--replication")


class QuorumGroup(LazyGroup):
    """A group whose commands can be spelled as options, with their own options before them."""

    def __init__(self, name: str, help: str, entries: Sequence[LazyCommand]) -> None:  # noqa: A002
        super().__init__(name, help, entries, epilog=_EPILOG)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if ctx.resilient_parsing else as_command(args))


def as_command(args: list[str]) -> list[str]:
    """Return the arguments in the first spelling, with the command first."""
    rest = deque(args)
    command: list[str] = []
    options: list[str] = []
    while rest and (rest[0].startswith("-") or command):
        word = rest.popleft()
        if word in _SPELLINGS:
            if command:
                raise click.UsageError(f"{word} is a second command")
            command = list(_SPELLINGS[word])
            if word == "--describe" and rest and rest[0] == "replication":
                command.append("--" + rest.popleft())
            continue
        options.append(word)
        takes_value = word.startswith("-") and word not in _FLAGS and "=" not in word
        if takes_value and rest:
            options.append(rest.popleft())
    if not command and not rest:
        return args  # --help, or no command at all
    return [*command, *options] if command else [rest[0], *options, *list(rest)[1:]]
