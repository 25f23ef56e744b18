"""What only the native engine can get wrong: memory, references, the collector, threads."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import resource
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from kraftwire_messages.kafka import FetchResponse, MetadataResponse, VoteRequest
from kraftwire_wire.codec import Codec
from kraftwire_wire.engine import native_codec
from kraftwire_wire.errors import DecodeError, EncodeError
from kraftwire_wire.specialized import SpecializedCodec
from kraftwire_wire.specialized_source import NotSpecialized

from codec_tests.bench.payloads import payloads

NativeCodec: Any = native_codec()

pytestmark = pytest.mark.skipif(NativeCodec is None, reason="the native part is not compiled")


def metadata() -> Any:
    partition = MetadataResponse.MetadataResponsePartition(replica_nodes=[1, 2], isr_nodes=[1])
    topic = MetadataResponse.MetadataResponseTopic(name="größe", partitions=[partition] * 5)
    return MetadataResponse(cluster_id="cluster", topics=[topic] * 3)


def test_decode_is_a_native_callable() -> None:
    codec = NativeCodec(VoteRequest, 2)
    assert type(codec.decode) is type(codec.encode) is type(len)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_setting_is_restored(enabled: bool) -> None:
    codec = NativeCodec(MetadataResponse, 12)
    data = codec.encode(metadata())
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        codec.decode(data)
        assert gc.isenabled() is enabled
        for damaged in (data[:-1], data + b"x", b"\xff" * 50, b""):
            with pytest.raises(DecodeError):
                codec.decode(damaged)
            assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_lists_of_unknown_tags_are_created_on_access() -> None:
    codec = NativeCodec(VoteRequest, 2)
    data = codec.encode(VoteRequest(voter_id=3, topics=[VoteRequest.TopicData()]))
    made = VoteRequest(voter_id=3, topics=[VoteRequest.TopicData()])
    for used in (made.__eq__, repr, copy.copy):
        message = codec.decode(data)
        used(message)
        assert (message, repr(message)) == (made, repr(made))
    assert copy.copy(codec.decode(data)).unknown_tagged_fields == []
    for twin in (copy.deepcopy(codec.decode(data)), pickle.loads(pickle.dumps(codec.decode(data)))):
        assert twin == made
        assert codec.encode(twin) == data
    message = codec.decode(data)
    message.topics[0].unknown_tagged_fields.append((7, b"x"))
    assert codec.decode(codec.encode(message)).topics[0].unknown_tagged_fields == [(7, b"x")]
    with pytest.raises(AttributeError, match="'VoteRequest' object has no attribute 'voters'"):
        message.voters  # noqa: B018
    assert not hasattr(message, "unknown")


@pytest.mark.slow
def test_a_codec_in_a_cycle_leaves_nothing_behind() -> None:
    def one() -> None:
        codec = NativeCodec(MetadataResponse, 12)
        try:
            codec.decode(b"")
        except DecodeError as error:
            kept = error  # noqa: F841 - the cycle of an error that its own frame holds
            raise

    def many(times: int) -> int:
        for _ in range(times):
            with contextlib.suppress(DecodeError):
                one()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = many(1000)
    assert many(3000) - before < 3000


def test_threads_decode_in_parallel_and_leave_the_collector_running() -> None:
    codec = NativeCodec(MetadataResponse, 12)
    wanted = metadata()
    data = codec.encode(wanted)
    wrong: list[object] = []

    def work(seed: int) -> None:
        for number in range(300):
            if (number + seed) % 7 == 0:
                with pytest.raises(DecodeError):
                    codec.decode(data[: number % len(data)])
            elif codec.decode(data) != wanted or codec.encode(wanted) != data:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert gc.isenabled()


@pytest.mark.slow
def test_memory_and_references_do_not_grow() -> None:
    """Decoding, encoding and failing again and again leaves nothing behind."""
    codec = NativeCodec(MetadataResponse, 12)
    value = metadata()
    data = codec.encode(value)
    broken = MetadataResponse(controller_id=2**31)

    def turns(count: int) -> None:
        for number in range(count):
            codec.encode(codec.decode(data))
            with pytest.raises(DecodeError):
                codec.decode(data[: 1 + number % (len(data) - 1)])
            with pytest.raises(EncodeError):
                codec.encode(broken)

    turns(200)
    gc.collect()
    tracemalloc.start()
    counts = [sys.getrefcount(item) for item in (None, True, "größe", MetadataResponse, codec)]
    before, _ = tracemalloc.get_traced_memory()
    turns(1000)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000
    later = [sys.getrefcount(item) for item in (None, True, "größe", MetadataResponse, codec)]
    assert max(abs(one - two) for one, two in zip(counts, later, strict=True)) < 50


@pytest.mark.nightly
def test_memory_does_not_grow_over_a_million_decodes() -> None:
    """The resident set of the process; a reference lost per decode would be 50 MB or more."""
    for payload in payloads()[-3:]:
        codec = NativeCodec(type(payload.message), payload.versions[0])
        data = payload.message.encode(payload.versions[0])
        for _ in range(10_000):
            codec.encode(codec.decode(data))
        before = _resident()
        for _ in range(1_000_000):
            codec.encode(codec.decode(data))
        assert _resident() - before < 8 << 20, payload.name


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_every_payload_comes_back_from_either_engine() -> None:
    for payload in payloads():
        for version in payload.versions:
            native = NativeCodec(type(payload.message), version)
            emitted = Codec(type(payload.message), version)
            data = emitted.encode(payload.message)
            assert native.write(payload.message) == data
            assert native.read(data, 0) == (emitted.decode(data), len(data))


def test_wrong_counts_and_lengths_allocate_nothing() -> None:
    codec = NativeCodec(MetadataResponse, 5)
    for size in (2**31 - 1, 2**30, 10_000_000):
        data = b"\0\0\0\0" + size.to_bytes(4) + bytes(100)
        tracemalloc.start()
        with pytest.raises(DecodeError):
            codec.decode(data)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 1 << 20


def test_a_deleted_field_is_reported_and_not_read() -> None:
    value = metadata()
    del value.topics[0].partitions[0].leader_id
    for codec in (Codec(MetadataResponse, 12), NativeCodec(MetadataResponse, 12)):
        with pytest.raises(EncodeError, match=r"^topics\[0\]\.partitions\[0\]\.leader_id: "):
            codec.encode(value)


def test_a_list_that_shrinks_while_it_is_written_is_safe() -> None:
    """Comparing a value with its default runs the value's own code, which may do anything."""
    response = FetchResponse()

    class Odd(str):
        __slots__ = ()

        def __ne__(self, other: object) -> bool:
            response.responses.clear()
            return True

        __hash__ = str.__hash__

    response.responses = [FetchResponse.FetchableTopicResponse(topic=Odd("x")) for _ in range(50)]
    for version in FetchResponse.VALID_VERSIONS:
        with contextlib.suppress(EncodeError):
            NativeCodec(FetchResponse, version).encode(response)


def test_a_codec_is_complete_or_not_created() -> None:
    with pytest.raises(TypeError):
        NativeCodec.__new__(NativeCodec)
    with pytest.raises(TypeError):
        NativeCodec.__new__(NativeCodec, VoteRequest)
    for wrong in (None, int, object(), VoteRequest()):
        with pytest.raises((TypeError, AttributeError)):
            NativeCodec(wrong, 2)
    codec = NativeCodec(VoteRequest, 2)
    data = codec.encode(VoteRequest(voter_id=3))
    codec.__init__(MetadataResponse, 12)
    assert codec.decode(data).voter_id == 3
    assert codec.message is VoteRequest


def test_an_incomplete_codec_cannot_be_used() -> None:
    """The collector shows an object as soon as there is memory for it."""
    found: list[Any] = []

    class Curious(VoteRequest):
        LAYOUT = VoteRequest.LAYOUT

        def __init__(self) -> None:
            found.extend(one for one in gc.get_objects() if type(one) is NativeCodec)
            for one in found:
                with contextlib.suppress(DecodeError, AttributeError):
                    one.decode(b"")
                with contextlib.suppress(ValueError):
                    one.read(b"", 0)
                with contextlib.suppress(EncodeError, AttributeError):
                    one.encode(self)

    with contextlib.suppress(NotSpecialized, TypeError):
        NativeCodec(Curious, 2)


def test_classes_whose_instances_are_made_or_laid_out_otherwise_are_left_to_python() -> None:
    class Made(VoteRequest):
        LAYOUT = VoteRequest.LAYOUT

        def __new__(cls, *_: Any, **__: Any) -> Any:
            return object.__new__(cls)

    class Borrowed(VoteRequest):
        __slots__ = ()
        LAYOUT = VoteRequest.LAYOUT
        voter_id = MetadataResponse.__dict__["topics"]

    for cls in (Made, Borrowed):
        with pytest.raises(NotSpecialized):
            NativeCodec(cls, 2)


def test_reading_alone_takes_bytes_within_bounds() -> None:
    codec = NativeCodec(VoteRequest, 2)
    for data, position in ((None, 0), (b"", -1), (b"", 1), (b"", 2**62)):
        with pytest.raises(ValueError):
            codec.read(data, position)
    for wrong in ("text", 5, bytearray(b"")):
        with pytest.raises(TypeError):
            codec.read(wrong, 0)
    with pytest.raises(TypeError, match="NativeCodec"):
        type("Sub", (NativeCodec,), {})


@pytest.mark.parametrize("make", [Codec, SpecializedCodec, NativeCodec])
def test_codecs_are_pickled_as_their_arguments(make: Any) -> None:
    codec = make(VoteRequest, 2)
    data = codec.encode(VoteRequest(voter_id=3))
    wanted = Codec if make is Codec else type(VoteRequest.codec(2))
    for twin in (pickle.loads(pickle.dumps(codec)), copy.copy(codec), copy.deepcopy(codec)):
        assert type(twin) is wanted
        assert (twin.message, twin.version) == (VoteRequest, 2)
        assert twin.encode(twin.decode(data)) == data


def _run(code: str, engine: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"KRAFTWIRE_ENGINE": engine}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("engine", "wanted"),
    [("python", "SpecializedCodec"), ("native", "NativeCodec"), ("", "NativeCodec")],
)
def test_the_environment_chooses_the_engine(engine: str, wanted: str) -> None:
    code = (
        "from kraftwire_messages.kafka import VoteRequest;"
        "print(type(VoteRequest.codec(2)).__name__)"
    )
    assert _run(code, engine).stdout == f"{wanted}\n"


def test_an_engine_that_does_not_exist_is_an_error_that_says_so() -> None:
    done = _run("from kraftwire_messages.kafka import VoteRequest; VoteRequest.codec(2)", "jet")
    assert "KRAFTWIRE_ENGINE=jet: set it to python or native" in done.stderr


def test_without_the_native_engine_python_does_the_same() -> None:
    code = (
        "import sys; sys.modules['kraftwire_wire._objects'] = None\n"
        "from kraftwire_messages.kafka import VoteRequest\n"
        "print(type(VoteRequest.codec(2)).__name__, VoteRequest().encode(2).hex())"
    )
    done = _run(code, "")
    assert done.stdout == f"SpecializedCodec {VoteRequest().encode(2).hex()}\n"
    assert "the native part is not compiled" in _run(code, "native").stderr
