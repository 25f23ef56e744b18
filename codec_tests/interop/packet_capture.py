"""Captures loopback traffic with tcpdump and dissects it with tshark.

Install them with `apt-get install tcpdump tshark`. tcpdump needs the right to capture: root, or
`setcap cap_net_raw,cap_net_admin=eip`. If it may not capture, or drops a packet, the test fails
and says so.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_STOP_SECONDS = 10
_READ_SECONDS = 120
_TURN_SECONDS = 0.05
_BUFFER_KIB = 65_536

MARKER = b"\xff\xff\xff\xff no more is captured"
"""Sent at the end of every capture, over a connection that is not Kafka's."""

Row = dict[str, list[str]]
"""The values of each field in one packet."""


def program(name: str) -> str:
    """Return the path of a program; fail the test if it is missing."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        pytest.fail(f"{name} is not installed: apt-get install tcpdump tshark")
    return found


@contextmanager
def captured(file: Path, ports: Collection[int]) -> Iterator[None]:
    """Capture the packets of these ports on loopback in this context."""
    marker = socket.create_server(("127.0.0.1", 0))
    last: int = marker.getsockname()[1]
    chosen = " or ".join(f"tcp port {port}" for port in (*ports, last))
    options = ["-i", "lo", "-s", "0", "-n", "-U", "--immediate-mode", "-w"]
    command = [program("tcpdump"), *options, str(file)]
    if os.geteuid() == 0:
        command += ["-Z", "root"]  # or it writes as a user who may not write here
    process = subprocess.Popen(
        [*command, "-B", str(_BUFFER_KIB), chosen], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    printed = ""
    try:
        for line in process.stderr:
            printed += line
            if "listening on" in line:
                break
        else:
            pytest.fail(
                f"tcpdump may not capture on lo; run as root, or give it the right: {printed}"
            )
        yield
        _wait_for_marker(file, last)
    finally:
        marker.close()
        process.send_signal(signal.SIGINT)
        try:
            _, rest = process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            _, rest = process.communicate()
    assert "\n0 packets dropped by kernel" in rest, rest


def _wait_for_marker(file: Path, port: int) -> None:
    """Send the marker and wait until it is in the file: then everything before it is too."""
    with socket.create_connection(("127.0.0.1", port), _STOP_SECONDS) as connection:
        connection.sendall(MARKER)
    end = time.monotonic() + _STOP_SECONDS
    while MARKER not in file.read_bytes():
        assert time.monotonic() < end, f"tcpdump needs more than {_STOP_SECONDS} seconds"
        time.sleep(_TURN_SECONDS)


def dissect(file: Path, ports: Collection[int], fields: Collection[str]) -> list[Row]:
    """Return the values of the fields in each packet, as tshark's Kafka dissector reads them."""
    command = [program("tshark"), "-r", str(file), "-T", "fields", "-E", "occurrence=a"]
    command += ["-E", "aggregator= ", "-Y", "kafka"]
    for port in ports:
        command += ["-d", f"tcp.port=={port},kafka"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_READ_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return [
        {field: cell.split() for field, cell in zip(fields, line.split("\t"), strict=True)}
        for line in done.stdout.splitlines()
    ]
