"""The program in the docstring of `kraftwire.node` runs."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import kraftwire.node
from kraftwire.node.storage.format_options import FormatOptions
from kraftwire.node.storage.formatting import plan_format, write_format

from codec_tests.held_ports import HOST, held_port
from codec_tests.node.clusters import run
from codec_tests.node.storage.settings import storage


def test_the_program_of_the_docstring_counts(tmp_path: Path) -> None:
    port = held_port()
    properties = storage(
        tmp_path,
        controller_quorum_voters=f"1@{HOST}:{port}",
        listeners=f"CONTROLLER://{HOST}:{port}",
        controller_quorum_election_timeout_ms="100",
    )
    write_format(plan_format(properties, FormatOptions(cluster_id="c", release=None), 0))
    docstring = kraftwire.node.__doc__ or ""
    program = docstring[docstring.index("    import asyncio") : docstring.index("\n- `settings`")]
    names: dict[str, Any] = {}
    exec(textwrap.dedent(program), names)

    async def scene() -> None:
        assert await names["main"](tmp_path / "server.properties") == sum(range(10))

    run(scene())
