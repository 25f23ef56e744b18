"""The table of all commands. The generator's are in it like all others, imported when called."""

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

COMMANDS = (
    Command(
        "generate",
        "kraftwire_generator.cli:generate",
        "Write the Python codecs of message specs.",
    ),
    Command(
        "check",
        "kraftwire_generator.cli:check",
        "Show where generated code differs from its specs.",
    ),
    Command(
        "lint",
        "kraftwire_generator.linting.lint_cli:lint",
        "Look for mistakes in message specs, in files and on pages.",
    ),
    Command(
        "specs",
        "kraftwire_generator.specs_cli:specs",
        "Import message specs, and show what changed between two sets.",
    ),
    Command(
        "evolve",
        "kraftwire_generator.comparing.evolve_cli:evolve",
        "Check whether a change of specs breaks the wire format.",
    ),
    Command(
        "docs",
        "kraftwire_generator.guide.docs_cli:docs",
        "Write a protocol guide of message specs, as static pages.",
    ),
    Command("fields", "kraftwire.cli.messages.fields:fields", "Show the wire layout of a message."),
    Command("decode", "kraftwire.cli.messages.decode:decode", "Decode bytes to JSON or a table."),
    Command(
        "encode", "kraftwire.cli.messages.encode:encode", "Encode the JSON that decode prints."
    ),
    Command(
        "explain", "kraftwire.cli.explain.command:explain", "Annotate every byte, as a hex view."
    ),
    Group(
        "capture",
        "Captured traffic: decode, record, replay.",
        [
            Command("decode", "kraftwire.cli.capture.decode:decode", "Decode recorded frames."),
            Command("proxy", "kraftwire.cli.capture.proxy:proxy", "Record traffic to a cassette."),
            Command(
                "replay", "kraftwire.cli.capture.replay:replay", "Serve a recording as a broker."
            ),
        ],
    ),
    Command(
        "simulate",
        "kraftwire.cli.simulate:simulate",
        "Run clusters of replicas with faults, and check Raft's rules.",
    ),
    Group(
        "storage",
        "Directories of a node: format and inspect them.",
        [
            Command(
                "format", "kraftwire.cli.storage.format:format_", "Format a node's directories."
            ),
            Command("info", "kraftwire.cli.storage.info:info", "Show a node's directories."),
            Command("random-uuid", "kraftwire.cli.storage.info:random_uuid", "Print a new id."),
        ],
    ),
    Group(
        "node",
        "A KRaft node: a voter or an observer.",
        [Command("run", "kraftwire.cli.node.run:run", "Run a node until SIGTERM or Ctrl-C.")],
    ),
    QuorumGroup(
        "quorum",
        "Quorums of controllers: describe, add, remove.",
        [
            Command(
                "describe", "kraftwire.cli.quorum.describe:describe", "Show leader and replicas."
            ),
            Command(
                "add-controller", "kraftwire.cli.quorum.change:add", "Make a controller a voter."
            ),
            Command("remove-controller", "kraftwire.cli.quorum.change:remove", "Remove a voter."),
        ],
    ),
    Command(
        "observe", "kraftwire.cli.metadata.observe:observe", "Replicate a running quorum's log."
    ),
    Command("doctor", "kraftwire.cli.doctor:doctor", "Show engine, versions, and what is missing."),
    Group(
        "log",
        "Kafka's files: dump, scan, check, repair.",
        [
            Command(
                "dump", "kraftwire.cli.log.dump:dump", "Print records, batches, index entries."
            ),
            Command("scan", "kraftwire.cli.log.scan:scan", "Count records by batch headers alone."),
            Command("fsck", "kraftwire.cli.log.fsck:fsck", "Check files against one another."),
            Command("salvage", "kraftwire.cli.log.salvage:salvage", "Copy what damage has left."),
        ],
    ),
    Group(
        "groups",
        "Consumer groups from __consumer_offsets: state, history.",
        [
            Command("show", "kraftwire.cli.groups.show:show", "Print members and offsets."),
            Command("history", "kraftwire.cli.groups.history:history", "Print what happened."),
        ],
    ),
    Group(
        "metadata",
        "Cluster metadata at any offset: show, compare, history.",
        [
            Command("show", "kraftwire.cli.metadata.show:show", "Print the metadata at an offset."),
            Command(
                "diff", "kraftwire.cli.metadata.diff:diff", "Compare two offsets or two nodes."
            ),
            Command(
                "history", "kraftwire.cli.metadata.history:history", "Print what records changed."
            ),
        ],
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
