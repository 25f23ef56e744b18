"""Files of packets: both formats, either byte order, cut off and damaged."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from kraftwire.capture.decoding.decoder import decode_frames
from kraftwire.capture.packets.pcap_file import CaptureError, PcapFile
from kraftwire.capture.packets.traffic import CUT, Traffic
from kraftwire_messages.kafka import registry
from kraftwire_wire.framing import add_size

from codec_tests.capture.packets import COOKED, ETHERNET, NULL, RAW, START, Talk, pcap, pcapng
from codec_tests.capture.sample_frames import metadata_request, metadata_response

MUTANTS = 400


def talk(link_type: int = ETHERNET, count: int = 3) -> Talk:
    made = Talk(link_type).open()
    for number in range(1, count + 1):
        made.say(0, add_size(metadata_request(number).data))
        made.say(1, add_size(metadata_response(number).data))
    return made.close()


FORMS = {
    "pcap": pcap(talk().timed()),
    "pcap, big-endian": pcap(talk().timed(), order=">"),
    "pcap, nanoseconds": pcap(talk().timed(), nanoseconds=True),
    "pcap, big-endian, nanoseconds": pcap(talk().timed(), order=">", nanoseconds=True),
    "pcapng": pcapng(talk().timed()),
    "pcapng, big-endian": pcapng(talk().timed(), order=">"),
    "pcap, cooked": pcap(talk(COOKED).timed(), COOKED),
    "pcap, raw": pcap(talk(RAW).timed(), RAW),
    "pcapng, loopback": pcapng(talk(NULL).timed(), NULL),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_has_the_same_packets(form: str, tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(FORMS[form])
    file = PcapFile(path)
    packets = list(file)
    assert [packet.number for packet in packets] == list(range(1, 12))
    assert [round(packet.time - START, 6) for packet in packets] == [n / 100 for n in range(11)]
    assert [packet.data for packet in packets] == talk(_link_type(form)).packets
    assert file.error is None
    assert len(list(Traffic(PcapFile(path), registry))) == 6


def _link_type(form: str) -> int:
    return {"cooked": COOKED, "raw": RAW, "loopback": NULL}.get(form.split(", ")[-1], ETHERNET)


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_a_truncated_file_gives_the_packets_before_its_end(form: str, tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(FORMS[form][:-5])
    file = PcapFile(path, "shown")
    assert len(list(file)) == 10
    assert file.error is not None
    assert file.error.packet == 11
    assert str(file.error).startswith("shown: packet 11: ")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    for data in (b"", b"\xd4\xc3\xb2\xa1", b"no capture at all, but long enough for a header"):
        path.write_bytes(data)
        with pytest.raises(CaptureError, match=str(path)):
            PcapFile(path)


def test_packets_cut_off_by_the_snapshot_length_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_bytes(pcap(talk().timed(), snap_length=70))
    traffic = Traffic(PcapFile(path), registry)
    assert list(traffic) == []
    assert traffic.losses.lost[CUT].count == 6


def test_without_the_library_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pcapy", None)
    with pytest.raises(CaptureError, match=r"pip install 'kraftwire\[capture\]'"):
        PcapFile(tmp_path / "capture")


@pytest.mark.parametrize("form", ["pcap", "pcapng", "pcap, big-endian", "pcap, cooked"])
def test_damaged_files_raise_only_kraftwire_errors(form: str, tmp_path: Path) -> None:
    chance = random.Random(form)
    path = tmp_path / "capture"
    for _ in range(MUTANTS):
        data = bytearray(FORMS[form])
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(data))
            data[at] = chance.choice([0, 1, 0x7F, 0xFF, chance.randrange(256)])
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        path.write_bytes(data)
        try:
            file = PcapFile(path)
            traffic = Traffic(file, registry)
        except CaptureError:
            continue
        for decoded in decode_frames(traffic, registry):
            decoded.encodes_back(registry)
        assert traffic.packets <= 11 or form == "pcapng"
        list(traffic.losses.lines())
