"""The pytest plugin: recorded brokers, messages compared by fields, and snapshots of them.

Installed with kraftwire, it is there without a conftest. Until a test uses a fixture of it, it
costs its own import alone: nothing else of kraftwire is loaded. All its names begin with
`kafka_` or `message_snapshot`.

    kafka_cassette        a broker out of a file; records it first, from a real one
    message_snapshot      a message as JSON, with its bytes, kept beside the test
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
    """The options; each has `kafka` in its name, to clash with none."""
    group = parser.getgroup("kafka", "Kafka cassettes and message snapshots (kraftwire)")
    group.addoption(
        "--kafka-bootstrap",
        metavar="HOST:PORT",
        help="A real broker, from which kafka_cassette records what it has no file of.",
    )
    group.addoption(
        "--kafka-record",
        action="store_true",
        help="Record every cassette anew, from --kafka-bootstrap.",
    )
    group.addoption(
        "--kafka-snapshot-update",
        action="store_true",
        help="Write message snapshots anew.",
    )
    parser.addini("kafka_bootstrap", "The default of --kafka-bootstrap.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "kafka_cassette(name=None, ignore=()): the cassette's name, and fields that may differ, "
        "as Message.path",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note whether a test passed: what it did otherwise, or before Ctrl-C, is not worth keeping."""
    report = yield
    if report.when == "setup":
        item.stash[_PASSED] = False  # until it is known, also where a plugin runs the test again
    elif report.when == "call":
        item.stash[_PASSED] = report.passed
    return report


@pytest.fixture
def kafka_cassette(request: pytest.FixtureRequest) -> Iterator[KafkaCassette]:
    """A broker to speak to at `.bootstrap`: recorded once, replayed after that.

    The file is `cassettes/<module>/<test>.jsonl` beside the test's. Where it is not there, or
    with `--kafka-record`, what the test does is recorded from the broker that
    `--kafka-bootstrap` names, and kept where the test passes. In a replay, the test fails
    where it asks for something that was not recorded.
    """
    from kraftwire.pytest_plugin.cassettes import open_cassette

    item = request.node
    with open_cassette(item, lambda: item.stash.get(_PASSED, False)) as cassette:
        yield cassette


@pytest.fixture
def message_snapshot(request: pytest.FixtureRequest) -> MessageSnapshot:
    """Compares messages with those kept in `snapshots/<module>/<test>.json`; see `check`."""
    from kraftwire.pytest_plugin.snapshots import MessageSnapshot

    update: bool = request.config.getoption("--kafka-snapshot-update")
    return MessageSnapshot(request.node, update=update)


def assert_same_message(
    actual: Any,
    expected: Any,
    *,
    message: Any = None,
    version: int | None = None,
    ignore: Any = (),
) -> None:
    """Fail where two messages differ, with every path and both values.

    Either may be a message, a dict, or bytes; for bytes, `message` is the class and `version`
    the version, and the first byte that differs is named with its field. `ignore` are fields
    that may differ, as `Message.path` without indexes.
    """
    __tracebackhide__ = True
    from kraftwire.pytest_plugin.comparing import explain_difference

    text = explain_difference(actual, expected, message, version, ignore)
    if text is not None:
        raise AssertionError(text)
