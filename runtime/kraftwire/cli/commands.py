"""The table of all commands, those of the generator included. Each is imported when called."""

from __future__ import annotations

import click

from kraftwire.cli.quorum.group import QuorumGroup
from kraftwire.console.lazy_group import LazyCommand as Command
from kraftwire.console.lazy_group import LazyGroup as Group

_EPILOG = """\b
Shell completion, as a line for ~/.bashrc (or ~/.zshrc with zsh_source):
  eval "$(_KRAFTWIRE_COMPLETE=bash_source kraftwire)"

\b
Exit codes: 0 done, 1 findings, 2 could not do it.
"""


def _group(name: str, text: str, **commands: str) -> Group:
    """Make a group whose commands are in modules and functions of their own names."""
    entries = [
        Command(command, f"kraftwire.cli.{name}.{command}:{command}", help_text)
        for command, help_text in commands.items()
    ]
    return Group(name, text, entries)


def _generator(name: str, target: str, text: str) -> Command:
    return Command(name, f"kraftwire_generator.commands.{target}", text)


_STORAGE = (
    Command("format", "kraftwire.cli.storage.format:format_", "Format a node's directories."),
    Command("info", "kraftwire.cli.storage.info:info", "Show a node's directories."),
    Command("random-uuid", "kraftwire.cli.storage.info:random_uuid", "Print a new id."),
)
_QUORUM = (
    Command("describe", "kraftwire.cli.quorum.describe:describe", "Show leader and replicas."),
    Command("add-controller", "kraftwire.cli.quorum.change:add", "Make a controller a voter."),
    Command("remove-controller", "kraftwire.cli.quorum.change:remove", "Remove a voter."),
)

COMMANDS = (
    _generator("generate", "generate:generate", "Write the Python codecs of message specs."),
    _generator("check", "generate:check", "Show where generated code differs from its specs."),
    _generator("lint", "lint:lint", "Look for mistakes in message specs."),
    _generator("specs", "specs:specs", "Import message specs, or compare two sets."),
    _generator("evolve", "evolve:evolve", "Check that new specs keep the wire form."),
    _generator("docs", "docs:docs", "Write a protocol guide, as static pages."),
    Command("fields", "kraftwire.cli.messages.fields:fields", "Show the wire layout of a message."),
    Command("decode", "kraftwire.cli.messages.decode:decode", "Decode bytes to JSON or a table."),
    Command("encode", "kraftwire.cli.messages.encode:encode", "Encode JSON as decode prints it."),
    Command("explain", "kraftwire.cli.explain.command:explain", "Show what each byte means."),
    _group(
        "capture",
        "Captured traffic: decode, record, replay.",
        decode="Decode recorded frames.",
        proxy="Record live traffic to a cassette.",
        replay="Serve a recording as a broker.",
    ),
    Command("simulate", "kraftwire.cli.simulate:simulate", "Check replicas against faults."),
    Group("storage", "Directories of a node: format and inspect them.", _STORAGE),
    _group(
        "node", "A KRaft node: a voter or an observer.", run="Run a node until SIGTERM or Ctrl-C."
    ),
    QuorumGroup("quorum", "Quorums of controllers: describe, add, remove.", _QUORUM),
    Command("observe", "kraftwire.cli.metadata.observe:observe", "Replicate a quorum's log."),
    Command("doctor", "kraftwire.cli.doctor:doctor", "Show engine, versions, and what is missing."),
    _group(
        "log",
        "Kafka's files: dump, scan, check, repair.",
        dump="Print records, batches, index entries.",
        scan="Count records by batch headers alone.",
        fsck="Check files against one another.",
        salvage="Copy what is readable of damaged logs.",
    ),
    _group(
        "groups",
        "Consumer groups from __consumer_offsets: state, history.",
        show="Print members and offsets.",
        history="Print what happened to groups.",
    ),
    _group(
        "metadata",
        "Cluster metadata at any offset: show, compare, history.",
        show="Print the metadata at an offset.",
        diff="Compare two offsets or two nodes.",
        history="Print what each record changed.",
    ),
)

main = Group(
    "kraftwire",
    "Kafka's binary forms: generate codecs, decode, encode, look inside.",
    COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(package_name="kraftwire", prog_name="kraftwire")(main)
