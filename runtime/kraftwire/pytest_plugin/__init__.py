"""The pytest plugin: recorded brokers, messages compared by fields, and snapshots of messages.

pytest loads it wherever kraftwire is installed. It imports the rest of kraftwire only when a test
uses one of its fixtures.

    kafka_cassette        a broker that is recorded to a file once, and then replayed from it
    message_snapshot      a message as JSON, with its bytes, in files beside the test
    assert_same_message   two messages compared field by field
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kraftwire.pytest_plugin.cassettes import KafkaCassette
    from kraftwire.pytest_plugin.snapshots import MessageSnapshot

__all__ = ["assert_same_message", "kafka_cassette", "message_snapshot"]

_PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each has `kafka` in its name, so that none clashes."""
    group = parser.getgroup("kafka", "Kafka cassettes and message snapshots (kraftwire)")
    group.addoption(
        "--kafka-bootstrap",
        metavar="HOST:PORT",
        help="The real broker from which kafka_cassette records missing cassettes.",
    )
    group.addoption(
        "--kafka-record",
        action="store_true",
        help="Record every cassette again, from --kafka-bootstrap.",
    )
    group.addoption(
        "--kafka-snapshot-update",
        action="store_true",
        help="Replace message snapshots by the current messages.",
    )
    parser.addini("kafka_bootstrap", "The default of --kafka-bootstrap.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "kafka_cassette(name=None, ignore=()): the cassette's name, and fields that may differ, "
        "as Message.path",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether a test passed: only then is its recording kept."""
    report = yield
    if report.when == "setup":
        item.stash[_PASSED] = False  # reset, since a plugin may run the test again
    elif report.when == "call":
        item.stash[_PASSED] = report.passed
    return report


@pytest.fixture
def kafka_cassette(request: pytest.FixtureRequest) -> Iterator[KafkaCassette]:
    """A broker to connect to at `.bootstrap`: recorded once, then replayed.

    The file is `cassettes/<module>/<test>.jsonl` beside the test's. If it does not exist, or with
    `--kafka-record`, the test runs against the broker of `--kafka-bootstrap`, and its traffic is
    kept if the test passes. A replay fails the test if it sends a request that was not recorded.
    """
    from kraftwire.pytest_plugin.cassettes import open_cassette

    item = request.node
    with open_cassette(item, lambda: item.stash.get(_PASSED, False)) as cassette:
        yield cassette


@pytest.fixture
def message_snapshot(request: pytest.FixtureRequest) -> MessageSnapshot:
    """Compares messages with those in `snapshots/<module>/<test>.json`; see `check`."""
    from kraftwire.pytest_plugin.snapshots import MessageSnapshot

    update: bool = request.config.getoption("--kafka-snapshot-update")
    return MessageSnapshot(request.node, update=update)


def assert_same_message(
    actual: Any, expected: Any, *, message: Any = None, version: int | None = None, ignore: Any = ()
) -> None:
    """Fail if two messages differ, with every path and both values.

    Each may be a message, a dict, or bytes. For bytes, pass the class as `message`, and the
    `version`; the error names the first byte that differs, with its field. `ignore` lists fields
    that may differ, as `Message.path` without indexes.
    """
    __tracebackhide__ = True
    from kraftwire.pytest_plugin.comparison import explain_difference

    text = explain_difference(actual, expected, message, version, ignore)
    if text is not None:
        raise AssertionError(text)
