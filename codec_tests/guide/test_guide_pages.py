"""Pages hang together and need nothing from elsewhere: links, ids, addresses, labels, colours."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest

from kraftwire_wire.numbers import ErrorCode

from codec_tests.guide.guide_pages import PageOnDisk

Pages = dict[str, PageOnDisk]
COLOURS = re.compile(r"--([a-z]+): #([0-9a-f]{6})")
GROUNDS = ("ground", "panel", "fixed", "open", "tags", "frame", "mark")
LEGIBLE = 4.5  # WCAG 2, level AA


def search_index_of(guide: Path) -> dict[str, Any]:
    text = (guide / "assets" / "search-index.js").read_text(encoding="utf-8")
    index: dict[str, Any] = json.loads(text[text.index("=") + 1 : text.rindex(";")])
    return index


def test_every_link_leads_somewhere(guide: Path, pages: Pages) -> None:
    followed = 0
    for path, page in pages.items():
        for address in page.addresses:
            file, anchor = urldefrag(address)
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), file or ""))
            if file and not file.endswith("/"):
                assert (guide / target).is_file(), f"{path}: {address}"
            if anchor:
                assert anchor in pages[target if file else path].ids, f"{path}: {address}"
            followed += 1
    assert followed > 2000


def test_no_address_leads_out(pages: Pages) -> None:
    for path, page in pages.items():
        for address in page.addresses:
            assert re.fullmatch(r"[A-Za-z0-9_./#-]*", address), f"{path}: {address}"
            assert not address.startswith("/"), f"{path}: {address}"


def test_scripts_and_styles_come_from_files_and_a_policy_says_so(guide: Path, pages: Pages) -> None:
    for page in pages.values():
        policy = [
            values["content"]
            for tag, values in page.tags
            if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy"
        ]
        assert len(policy) == 1
        assert "default-src 'none'" in policy[0]
        assert "unsafe" not in policy[0]
        for tag, values in page.tags:
            assert tag not in {"style", "iframe", "object", "img", "form", "base"}
            assert tag != "script" or values["src"].endswith("assets/guide.js")
            assert not any(name == "style" or name.startswith("on") for name in values)
    for asset in (guide / "assets").iterdir():
        assert "http" not in asset.read_text(encoding="utf-8")


def test_ids_are_unique_and_pages_have_landmarks(pages: Pages) -> None:
    for path, page in pages.items():
        twice = [name for name, count in Counter(page.ids).items() if count > 1]
        assert not twice, f"{path}: {twice}"
        tags = Counter(tag for tag, _ in page.tags)
        assert (tags["main"], tags["h1"], tags["header"], tags["footer"]) == (1, 1, 1, 1)
        assert ("html", {"lang": "en"}) in page.tags
        for tag, values in page.tags:
            assert tag != "nav" or values["aria-label"]
            assert tag != "input" or values["aria-label"]


def test_the_search_index_leads_to_rows_and_messages(guide: Path, pages: Pages) -> None:
    index = search_index_of(guide)
    for kind in ("messages", "fields"):
        for name, place, anchor in index[kind]:
            assert anchor in pages[index["pages"][place][0]].ids, (name, anchor)
    rows = {
        (path, row.id.partition("-v")[0], row.id.partition(".")[2])
        for path, page in pages.items()
        for form in page.forms
        for row in form.rows
    }
    known = {
        (index["pages"][place][0], anchor.partition("-v")[0], name)
        for name, place, anchor in index["fields"]
    }
    assert known == rows


def test_every_error_code_has_a_row_and_is_found(guide: Path, pages: Pages) -> None:
    page = "kafka/error-codes.html"
    text = (guide / page).read_text(encoding="utf-8")
    rows = {
        name: (int(number), bytes.fromhex(data))
        for name, number, data in re.findall(
            r'<tr id="(\w+)">.*?>(-?\d+)</td>.*?<code>([0-9a-f ]+)</code>', text
        )
    }
    assert rows == {code.name: (code, code.to_bytes(2, signed=True)) for code in ErrorCode}
    index = search_index_of(guide)
    found = {name: (index["pages"][place][0], number) for name, place, number in index["errors"]}
    assert found == {code.name: (page, code) for code in ErrorCode}
    assert found.keys() <= set(pages[page].ids)


def test_fields_with_error_codes_lead_to_them(guide: Path) -> None:
    text = (guide / "kafka" / "Vote.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr id=.*?</tr>", text, re.DOTALL)
    linked = {"ErrorCode</th>" in row for row in rows if 'href="error-codes.html"' in row}
    assert linked == {True}
    assert not list(guide.glob("kip_*/error-codes.html"))
    assert "error-codes" not in (guide / "kip_853" / "Vote.html").read_text(encoding="utf-8")


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_on_every_ground(guide: Path, scheme: int) -> None:
    text = (guide / "assets" / "guide.css").read_text(encoding="utf-8")
    colours = dict(COLOURS.findall(text.split(":root {")[scheme + 1]))
    pairs = [(ink, ground) for ink in ("text", "quiet") for ground in GROUNDS]
    pairs += [(ink, "ground") for ink in ("link", "added", "removed", "changed", "chosen")]
    pairs += [("link", "panel")]
    for ink, ground in pairs:
        lighter, darker = sorted(
            (luminance(colours[ink]), luminance(colours[ground])), reverse=True
        )
        contrast = (lighter + 0.05) / (darker + 0.05)
        assert contrast >= LEGIBLE, f"{ink} on {ground}: {contrast:.2f}"


def test_all_of_it_is_small(guide: Path) -> None:
    sizes = [path.stat().st_size for path in guide.rglob("*") if path.is_file()]
    assert sum(sizes) < 15_000_000
    assert max(sizes) < 1_000_000
