"""The pytest plugin, in runs of pytest within pytest."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

import kraftwire.pytest_plugin
from kraftwire.capture.cassette import CassetteHeader, CassetteReader, write_cassette
from kraftwire.capture.replay.server import ReplayThread

from codec_tests.capture.replaying import Pair, cassette, metadata

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]

ASKING = f"""
    import sys
    sys.path.append({str(ROOT)!r})
    from codec_tests.interop.kafka_connection import Connection
    from kraftwire_messages.kafka import MetadataRequest

    def ask(cassette, *topics):
        topic = MetadataRequest.MetadataRequestTopic
        with Connection(int(cassette.bootstrap.rpartition(":")[2])) as connection:
            asked = MetadataRequest(topics=[topic(name=name) for name in topics])
            return connection.ask(asked, 12)
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(asking=ASKING.replace("\n    ", "\n"))
    pytester.syspathinsert()
    return pytester


@pytest.fixture
def broker() -> Iterator[str]:
    """A broker that knows of two topics; it is a replay too."""
    with ReplayThread(cassette(metadata("tea"), metadata("cups"))) as thread:
        yield str(thread.address)


def write(path: Path, *pairs: Pair) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        write_cassette(stream, CassetteHeader("a test", "4.4.0"), cassette(*pairs))


# -- the cost for others -------------------------------------------------------------------


def output_of(code: str) -> str:
    """What a new Python prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_it_imports_nothing_until_a_fixture_is_used() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import kraftwire.pytest_plugin; "
        "print(sorted(name for name in set(sys.modules) - before))"
    )
    assert output_of(code) == "['kraftwire', 'kraftwire.pytest_plugin']"


def test_its_import_takes_less_than_5_ms() -> None:
    """Of the processor: how busy the machine is does not matter."""
    code = (
        "import pytest, time; start = time.process_time(); import kraftwire.pytest_plugin; "
        "print((time.process_time() - start) * 1000)"
    )
    assert min(float(output_of(code)) for _ in range(3)) < 5


def test_kraftwire_needs_no_pytest() -> None:
    output_of(
        "import sys; sys.modules['pytest'] = None; "
        "import kraftwire.capture.replay.server, kraftwire.cli, kraftwire.difference"
    )


def test_every_name_is_its_own() -> None:
    parser = Mock()
    kraftwire.pytest_plugin.pytest_addoption(parser)
    calls = [*parser.getgroup().addoption.call_args_list, *parser.addini.call_args_list]
    assert len(calls) == 4
    assert all(call.args[0].strip("-").startswith("kafka") for call in calls)
    public = {name for name in vars(kraftwire.pytest_plugin) if not name.startswith("_")}
    hooks = {"pytest_addoption", "pytest_configure", "pytest_runtest_makereport"}
    imported = {"annotations", "pytest", "Any", "Generator", "Iterator", "TYPE_CHECKING"}
    modules = {"cassettes", "comparison", "files", "snapshots"}
    assert public - hooks - imported - modules == set(kraftwire.pytest_plugin.__all__)


def test_it_is_there_without_a_conftest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    shown = pytester.runpytest("--fixtures").stdout.str()
    assert "kafka_cassette -- " in shown
    assert "message_snapshot -- " in shown


# -- replay --------------------------------------------------------------------------------


def test_a_cassette_is_replayed(run: pytest.Pytester) -> None:
    file = run.makepyfile(test_it="""
        from asking import ask
        def test_tea(kafka_cassette):
            assert kafka_cassette.mode == "replay"
            assert ask(kafka_cassette, "tea").topics[0].name == "tea"
            assert kafka_cassette.misses == []
        class TestClass:
            def test_tea(self, kafka_cassette):
                assert ask(kafka_cassette, "cups").topics[0].name == "cups"
        """)
    folder = file.parent / "cassettes" / "test_it"
    write(folder / "test_tea.jsonl", metadata("tea"))
    write(folder / "TestClass.test_tea.jsonl", metadata("cups"))
    run.runpytest().assert_outcomes(passed=2)


def test_what_was_not_recorded_fails_the_test(run: pytest.Pytester) -> None:
    file = run.makepyfile(test_it="""
        from asking import ask
        def test_tea(kafka_cassette):
            try:
                ask(kafka_cassette, "coffee")
            except ConnectionError:
                pass
        """)
    write(file.parent / "cassettes" / "test_it" / "test_tea.jsonl", metadata("tea"))
    result = run.runpytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*not on the cassette cassettes/test_it/test_tea.jsonl:*",
            "*Metadata version 12: was not recorded; the nearest is frame 1:*",
            "*topics*name*'coffee'*'tea'*",
            "*--kafka-record*",
        ]
    )


def test_the_marker_names_the_cassette_and_what_may_differ(run: pytest.Pytester) -> None:
    file = run.makepyfile(test_it="""
        import pytest
        from asking import ask
        pytestmark = pytest.mark.kafka_cassette(name="shared", ignore=["MetadataRequest.topics"])
        @pytest.mark.parametrize("topic", ["tea", "cups"])
        def test_tea(kafka_cassette, topic):
            assert ask(kafka_cassette, topic).topics[0].name == "tea"
        @pytest.mark.kafka_cassette("shared")
        def test_wrong(kafka_cassette):
            pass
        """)
    write(file.parent / "cassettes" / "test_it" / "shared.jsonl", metadata("tea"))
    result = run.runpytest("--strict-markers")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*the marker kafka_cassette takes name='...'*"])


def test_a_bad_cassette_is_said(run: pytest.Pytester) -> None:
    file = run.makepyfile(test_it="def test_tea(kafka_cassette): pass")
    path = file.parent / "cassettes" / "test_it" / "test_tea.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("no cassette\n")
    result = run.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_tea.jsonl:1: not JSON*"])
    assert "Traceback" not in result.stdout.str()


# -- record --------------------------------------------------------------------------------

RECORDED = """
    from asking import ask
    def test_tea(kafka_cassette):
        print("mode", kafka_cassette.mode)
        assert ask(kafka_cassette, "tea").topics[0].name == "tea"
"""


def test_without_a_cassette_it_says_what_to_do(run: pytest.Pytester) -> None:
    run.makepyfile(test_it=RECORDED)
    result = run.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*no cassette cassettes/test_it/test_tea.jsonl: record it with --kafka-bootstrap *"]
    )
    assert "not HOST:PORT" in run.runpytest("--kafka-bootstrap", "here").stdout.str()


@pytest.mark.parametrize("as_option", [True, False])
def test_it_is_recorded_once_and_replayed_after(
    run: pytest.Pytester, broker: str, as_option: bool
) -> None:
    file = run.makepyfile(test_it=RECORDED)
    if not as_option:
        run.makeini(f"[pytest]\nkafka_bootstrap = {broker}\n")
    first = run.runpytest("-s", *(["--kafka-bootstrap", broker] if as_option else []))
    first.assert_outcomes(passed=1)
    assert "mode record" in first.stdout.str()
    path = file.parent / "cassettes" / "test_it" / "test_tea.jsonl"
    with path.open("rb") as stream:
        assert len(list(CassetteReader(stream, "it"))) == 2
    assert str(run.path) not in path.read_text()
    second = run.runpytest("-s", "--kafka-bootstrap", "127.0.0.1:1")
    second.assert_outcomes(passed=1)
    assert "mode replay" in second.stdout.str()


def test_it_is_renewed_on_request(run: pytest.Pytester, broker: str) -> None:
    file = run.makepyfile(test_it=RECORDED)
    path = file.parent / "cassettes" / "test_it" / "test_tea.jsonl"
    write(path, metadata("old"))
    run.runpytest("--kafka-record").assert_outcomes(errors=1)
    run.runpytest("--kafka-record", "--kafka-bootstrap", broker).assert_outcomes(passed=1)
    run.runpytest().assert_outcomes(passed=1)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("assert False", pytest.ExitCode.TESTS_FAILED),
        ("raise KeyboardInterrupt", pytest.ExitCode.INTERRUPTED),
        ("import pytest; pytest.skip('late')", pytest.ExitCode.OK),
    ],
)
def test_what_was_recorded_is_not_kept_unless_the_test_passes(
    run: pytest.Pytester, broker: str, end: str, code: pytest.ExitCode
) -> None:
    file = run.makepyfile(test_it=f"{RECORDED}        {end}\n")
    assert run.runpytest_subprocess("--kafka-bootstrap", broker).ret == code
    assert not (file.parent / "cassettes").exists()


def test_a_broker_that_is_not_there_is_said_where_the_test_fails(run: pytest.Pytester) -> None:
    run.makepyfile(test_it=RECORDED)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = f"127.0.0.1:{listener.getsockname()[1]}"
    result = run.runpytest("--kafka-bootstrap", nobody)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"test_tea.jsonl: {nobody}: no connection: *"])


def test_two_that_record_one_cassette_at_once_leave_a_whole_one(
    run: pytest.Pytester, broker: str
) -> None:
    """As workers of pytest-xdist do; here the one begins and ends within the other."""
    file = run.makepyfile(test_it="""
        import pytest
        from kraftwire.pytest_plugin import cassettes
        from asking import ask
        pytestmark = pytest.mark.kafka_cassette(name="shared")

        @pytest.fixture
        def second(request):
            with cassettes.open_cassette(request.node, lambda: True) as cassette:
                yield cassette

        def test_it(kafka_cassette, second):
            ask(kafka_cassette, "tea")
            ask(second, "cups")
        """)
    run.runpytest("--kafka-bootstrap", broker).assert_outcomes(passed=1)
    (path,) = (file.parent / "cassettes" / "test_it").iterdir()
    with path.open("rb") as stream:
        assert len(list(CassetteReader(stream, "it"))) == 2


@pytest.mark.slow
def test_two_workers_record_and_replay_their_own_cassettes(
    run: pytest.Pytester, broker: str
) -> None:
    pytest.importorskip("xdist")
    file = run.makepyfile(test_it="""
        import pytest
        from asking import ask
        @pytest.mark.parametrize("at", range(2))
        def test_tea(kafka_cassette, at):
            assert ask(kafka_cassette, "tea").topics[0].name == "tea"
        """)
    recorded = run.runpytest_subprocess("-n", "2", "--kafka-bootstrap", broker)
    recorded.assert_outcomes(passed=2)
    assert len(list((file.parent / "cassettes" / "test_it").iterdir())) == 2
    run.runpytest().assert_outcomes(passed=2)


def test_a_folder_that_cannot_be_written_is_said(run: pytest.Pytester, broker: str) -> None:
    """A file in its place is as good as a read-only folder, also for root."""
    file = run.makepyfile(test_it=RECORDED)
    (file.parent / "cassettes").write_text("in the way")
    result = run.runpytest("--kafka-bootstrap", broker)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["cassettes/test_it/test_tea.jsonl cannot be written: *"])
    assert "Traceback" not in result.stdout.str()


ODD = [
    "a/b",
    "../../up",
    "a::b",
    "\u00fc\u4e2d",
    "x" * 300,
    "x" * 299 + "y",
    "a b",
    "a-b",
    ".",
    "\\0",
]


def test_tests_with_odd_ids_have_files_of_their_own(run: pytest.Pytester, broker: str) -> None:
    file = run.makepyfile(test_it=f"""
        import pytest
        from kraftwire_messages.kafka import MetadataRequest
        from asking import ask
        @pytest.mark.parametrize("at", range({len(ODD)}), ids={ODD!a})
        def test_tea(kafka_cassette, message_snapshot, at):
            assert ask(kafka_cassette, "tea").topics[0].name == "tea"
            message_snapshot.check(MetadataRequest(), 12, name="x/" * 200)
        """)
    options = "--kafka-bootstrap", broker, "--kafka-snapshot-update"
    run.runpytest(*options).assert_outcomes(passed=len(ODD))
    run.runpytest().assert_outcomes(passed=len(ODD))
    for folder, count in (("cassettes", len(ODD)), ("snapshots", 2 * len(ODD))):
        kept = [one.name for one in (file.parent / folder / "test_it").iterdir()]
        assert len(kept) == count
        assert all(name.startswith("test_tea") and name.isascii() for name in kept)


# -- snapshots -----------------------------------------------------------------------------

SNAPSHOT = """
    from kraftwire_messages.kafka import MetadataRequest
    def test_it(message_snapshot):
        topic = MetadataRequest.MetadataRequestTopic(name="{}")
        message_snapshot.check(MetadataRequest(topics=[topic]), 12)
        message_snapshot.check(MetadataRequest(), {})
        message_snapshot.check(MetadataRequest(), 4, "old one")
"""


def test_a_snapshot_is_written_and_compared(run: pytest.Pytester) -> None:
    file = run.makepyfile(test_it=SNAPSHOT.format("tea", 9))
    missing = run.runpytest()
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*no snapshot snapshots/test_it/test_it.json: run with*"])
    run.runpytest("--kafka-snapshot-update").assert_outcomes(passed=1)
    run.runpytest().assert_outcomes(passed=1)
    folder = file.parent / "snapshots" / "test_it"
    kept = sorted(one.name for one in folder.iterdir())
    assert len(kept) == 6
    assert {"test_it.json", "test_it.hex", "test_it.2.json"} <= set(kept)
    assert '"name": "tea"' in (folder / "test_it.json").read_text()
    file.write_text(file.read_text().replace('"tea"', '"cups"'))
    changed = run.runpytest()
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(
        [
            "*MetadataRequest version 12 differs from the expected one:*",
            "*topics?0?.name*'cups'*'tea'*",
            "*first differing byte: 17 in topics?0?.name*",
            "*accept it with --kafka-snapshot-update*",
        ]
    )


def test_two_snapshots_of_one_name_are_refused(run: pytest.Pytester) -> None:
    run.makepyfile(test_it="""
        from kraftwire_messages.kafka import MetadataRequest
        def test_it(message_snapshot):
            message_snapshot.check(MetadataRequest(), 12, "2")
            message_snapshot.check(MetadataRequest(), 9)
        """)
    result = run.runpytest("--kafka-snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["two snapshots of one test have the name '2'"])


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"name": 5}', '{"name": "FetchRequest"}'])
def test_a_damaged_snapshot_is_said(run: pytest.Pytester, damage: str) -> None:
    file = run.makepyfile(test_it=SNAPSHOT.format("tea", 9))
    run.runpytest("--kafka-snapshot-update").assert_outcomes(passed=1)
    (file.parent / "snapshots" / "test_it" / "test_it.json").write_text(damage)
    result = run.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*snapshot snapshots/test_it/test_it.json: *"])
