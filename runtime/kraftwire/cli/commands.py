"""The group `kraftwire` and the rows that say where its commands are.

The generator's commands are mounted like all others, when they are called; this is the only
package that knows the generator.
"""

from __future__ import annotations

import click

from kraftwire.console.lazy_group import LazyGroup, Row

ROWS = (
    Row(
        "generate",
        "kraftwire_generator.cli",
        "generate",
        "Write the Python codecs of message specs.",
    ),
    Row(
        "check",
        "kraftwire_generator.cli",
        "check",
        "Show where generated code differs from what the specs say.",
    ),
    Row(
        "lint",
        "kraftwire_generator.linting.lint_cli",
        "lint",
        "Look for slips in message specs, in files and on pages.",
    ),
    Row(
        "specs",
        "kraftwire_generator.specs_cli",
        "specs",
        "Import message specs, and show what changed between two sets.",
    ),
    Row(
        "evolve",
        "kraftwire_generator.comparing.evolve_cli",
        "evolve",
        "Say whether a change of specs breaks the wire.",
    ),
    Row(
        "docs",
        "kraftwire_generator.guide.docs_cli",
        "docs",
        "The protocol guide of message specs, as static pages.",
    ),
    Row("fields", "kraftwire.cli.messages.fields", "fields", "Show the wire layout of a message."),
    Row(
        "decode",
        "kraftwire.cli.messages.decode",
        "decode",
        "Bytes to JSON, or to a table on a terminal.",
    ),
    Row(
        "encode", "kraftwire.cli.messages.encode", "encode", "JSON, as decode prints it, to bytes."
    ),
    Row("explain", "kraftwire.cli.explain.command", "explain", "What each byte is, as a hex view."),
    Row(
        "capture",
        "kraftwire.cli.capture",
        "capture",
        "Captured traffic: decode, record, replay.",
    ),
    Row(
        "simulate",
        "kraftwire.cli.simulate",
        "simulate_",
        "Clusters of replicas in a world of faults: what breaks.",
    ),
    Row("storage", "kraftwire.cli.storage", "storage", "Directories of a node: format, look at."),
    Row("node", "kraftwire.cli.node", "node", "A KRaft node: a voter or an observer."),
    Row("quorum", "kraftwire.cli.quorum", "quorum", "Quorums: describe, add, remove."),
    Row(
        "observe", "kraftwire.cli.metadata.observe", "observe", "Replicate a running quorum's log."
    ),
    Row("doctor", "kraftwire.cli.doctor", "doctor", "Show engine, versions, and what is missing."),
    Row("log", "kraftwire.cli.log", "log", "Kafka's files: dump, scan, check, repair."),
    Row("groups", "kraftwire.cli.groups", "groups", "Consumer groups: members, offsets."),
    Row(
        "metadata",
        "kraftwire.cli.metadata",
        "metadata",
        "Cluster metadata at any offset: show, compare, tell its history.",
    ),
)

EPILOG = """\b
Shell completion, as a line for ~/.bashrc (or ~/.zshrc with zsh_source):
  eval "$(_KRAFTWIRE_COMPLETE=bash_source kraftwire)"

\b
Exit codes: 0 done, 1 findings, 2 could not do it.
"""

main = LazyGroup(
    name="kraftwire",
    rows=ROWS,
    help="Kafka's binary forms: generate codecs, decode, encode, look inside.",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(package_name="kraftwire", prog_name="kraftwire")(main)
