"""The forms of rows: text, JSON Lines and the page; hostile names in each of them."""

from __future__ import annotations

import io
import json
from functools import partial
from html.parser import HTMLParser
from typing import Any

from kraftwire.cli.explain.page import HtmlView
from kraftwire.cli.explain.text import cells, hex_lines, json_row
from kraftwire.explain.messages import explain_message
from kraftwire.explain.rows import ByteRow
from kraftwire_messages.kafka import registry

from codec_tests.explain.explaining import explained

HOSTILE = '</a><script>alert(1)</script>"\x1b[31m\u202e\n'
_VOID = {"meta"}


def _vote_rows(cluster_id: str) -> list[ByteRow]:
    cls: Any = registry.message("VoteRequest")
    topic = cls.TopicData(topic_name=cluster_id, partitions=[cls.PartitionData()])
    data = cls(cluster_id=cluster_id, topics=[topic]).encode(0)
    rows, findings = explained(partial(explain_message, registry, cls, 0, data))
    assert not findings
    return rows


def _page(rows: list[ByteRow], title: str = "a title") -> str:
    page = io.StringIO()
    view = HtmlView(lambda: page, title, full=False)
    for row in rows:
        view.row(row)
    view.finish()
    return page.getvalue()


class _Page(HTMLParser):
    """What the browser makes of it: elements that are closed in order, and their texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.deepest = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
        self.deepest = max(self.deepest, self.open.count("details"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _parsed(text: str) -> _Page:
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def test_the_page_is_self_contained() -> None:
    rows = _vote_rows("tea")
    page = _parsed(_page(rows))
    assert page.deepest == max(row.depth for row in rows)
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "base"}
        assert not {"src", "onclick", "style"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    policy = [attributes for tag, attributes in page.tags if "http-equiv" in attributes]
    assert "default-src 'none'" in (policy[0]["content"] or "")


def test_rows_and_bytes_of_the_page_refer_to_one_another() -> None:
    rows = _vote_rows("tea")
    page = _parsed(_page(rows))
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert len(ids) == len(rows)
    assert len(links) == len([row for row in rows if row.is_leaf and row.data])
    assert {(link or "").removeprefix("#") for link in links} <= ids
    shown = "".join(text for text in page.texts).split("bytes\n")[-1]
    data = b"".join(row.data for row in rows if row.is_leaf)
    assert data.hex(" ") in " ".join(shown.split())


def test_hostile_names_are_text_in_the_page() -> None:
    text = _page(_vote_rows(HOSTILE), HOSTILE)
    page = _parsed(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert any("<script>alert(1)" in one for one in page.texts)


def test_hostile_names_are_printable_in_text_and_whole_in_json() -> None:
    rows = _vote_rows(HOSTILE)
    for row in rows:
        assert all(cell.isprintable() for cell in cells(row))
    lines = [json.loads(json.dumps(json_row(row))) for row in rows]
    values = [line["value"] for line in lines if line["part"] == "value"]
    assert values[0] == HOSTILE


def test_json_has_the_position_of_each_byte() -> None:
    rows = _vote_rows("tea")
    lines = [json_row(row) for row in rows]
    leaves = [line for line in lines if "hex" in line]
    assert "".join(line["hex"] for line in leaves) == b"".join(row.data for row in rows).hex()
    assert lines[2] == {
        "start": 1,
        "end": 4,
        "depth": 1,
        "path": "cluster_id",
        "part": "value",
        "type": "nullable compact string",
        "hex": "746561",
        "value": "tea",
    }


def test_the_byte_of_an_error_is_marked_in_the_page() -> None:
    data = bytes.fromhex("04 61 ff 62 01 00")
    message = registry.message("VoteRequest")
    rows, findings = explained(partial(explain_message, registry, message, 0, data))
    assert [one.offset for one in findings] == [2]
    assert ">61 <b>ff</b> 62 01 00</a>" in _page(rows)
    assert cells(rows[-1]).value == "ERROR at byte 2: not UTF-8: invalid start byte"


def test_long_ranges_are_shortened_unless_all_bytes_are_requested() -> None:
    data = bytes(range(20))
    assert list(hex_lines(data, full=False)) == ["00 01 02 03 04 +15"]
    assert " ".join(hex_lines(data, full=True)) == data.hex(" ")
    assert list(hex_lines(b"", full=True)) == [""]
