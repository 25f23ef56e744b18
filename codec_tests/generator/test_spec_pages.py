"""Where the specs of a page stand: text, wiki code blocks, fences, HTML."""

from __future__ import annotations

import pytest

from kraftwire_generator.lint.page_html import html_lines
from kraftwire_generator.lint.spec_pages import read_page

CUP = """{
  "apiKey": 7,
  "type": "request",
  "fields": [
    { "name": "Size", "type": "int8", "versions": "0+" }
  ]
}"""
POT = CUP.replace("request", "response")


def lines_of(page: str, file: str = "page.txt") -> list[tuple[int, int]]:
    return [(block.lines[0], block.lines[-1]) for block in read_page(page, file).blocks]


def test_a_file_of_json_is_one_block() -> None:
    assert lines_of("tea\n", "cup.json") == [(1, 2)]
    assert lines_of("", "cup.json") == [(1, 1)]
    assert lines_of(f"// tea\n{CUP}\n") == [(1, 9)]


@pytest.mark.parametrize(
    "page",
    [
        f"Tea\n\n{CUP}\n\nMore\n{POT}\nEnd",
        f"Code Block\n\n{CUP}\nHandling\n{POT}\n",
        f"{CUP}\n{POT}\n",
        f"// tea\n{CUP}\n\n// pot\n{POT}",
        f"Tea\n```\n{CUP}\n```\n{POT}\n```\n",
        f"Tea\n~~~ json\n{CUP}\n~~~\n{POT}\n~~~\n",
        f"h1. Tea\n{{code:java|title=Cup}}\n{CUP}\n{{code}}\n{{noformat}}\n{POT}\n{{noformat}}\n",
        f"Tea\n\nRequest: {CUP}\n\nResponse => {POT}\nEnd",
        f"Tea\n\n{CUP}\nHandling\n{POT}}}\n]",  # closed twice
    ],
)
def test_blocks_of_text(page: str) -> None:
    starts = [start for start, _ in lines_of(page)]
    assert starts == [page[: page.index(part)].count("\n") + 1 for part in (CUP, POT)]


def test_a_block_without_its_end_ends_at_words() -> None:
    torn = "\n".join(CUP.split("\n")[:5])
    assert lines_of(f"Tea\n{torn}\nHandling\n{POT}\n") == [(2, 6), (8, 14)]
    assert lines_of(f"Tea\n{torn}\n\n\nHandling\n") == [(2, 6)]


def test_a_string_over_several_lines_does_not_end_a_block() -> None:
    spec = CUP.replace('"versions": "0+"', '"about": "Small,\nor large\ncups {" ')
    assert lines_of(f"Tea\n{spec}\nMore") == [(2, 10)]


def test_a_bracket_closed_too_early_does_not_end_a_block() -> None:
    spec = CUP.replace('"int8",', '"int8" }}]}')
    assert lines_of(f"Tea\n{spec}\nMore") == [(2, 8)]


def test_a_block_that_words_open_holds_only_what_follows_them() -> None:
    (block,) = read_page(f"Tea\nCupRequest = {CUP}\nMore", "page.txt").blocks
    assert (block.text, block.lines[0]) == (CUP, 2)


def test_pieces_of_specs_are_kept_from_compared_pages_alone() -> None:
    page = f'{CUP}\nTea\n  "about": "Hot.", "versions": "0+" }}\n]}}\nMore\n  "tea"\n'
    head = "Versions Compared\nThis line was added.\n"
    (piece,) = read_page(head + page, "page.txt").fragments
    assert (list(piece.lines), piece.text.count("versions")) == ([11, 12], 1)
    assert read_page("Tea\n" + page, "page.txt").fragments == ()


def test_other_json_is_left_alone() -> None:
    page = 'Tea\n{ "name": "cup", "type": "record", "fields": [] }\n{\n"id": 1\n}\n{ tea }\n'
    assert lines_of(page) == []


def test_compared_pages() -> None:
    assert read_page("Versions Compared\n\nThis line was added.\n", "a.txt").compared
    assert not read_page("Versions\n\nThis line was added.\n", "a.txt").compared
    assert not read_page("Versions Compared\n\nTea\n", "a.txt").compared


# -- HTML ----------------------------------------------------------------------------------


def test_html_shows_its_text_with_lines_of_the_source() -> None:
    page = "<html><body>\n<p>A &amp; b</p>\n<!-- no\nno --><div>c<br/>d &lt; e\nf</div>"
    lines, has_marks = html_lines(page)
    assert [(line, text) for line, text in lines if text] == [
        (2, "A & b"),
        (4, "c"),
        (4, "d < e"),
        (5, "f"),
    ]
    assert not has_marks


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<pre>", "</pre>"),
        ('<pre title="a > b">', "</pre>"),
        ("Tea: <PRE CLASS=cup>", "</PRE>"),
        ("<ac:plain-text-body><![CDATA[", "]]></ac:plain-text-body>"),
        (
            '<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">js'
            "</ac:parameter><ac:plain-text-body><![CDATA[",
            "]]></ac:plain-text-body></ac:structured-macro>",
        ),
        ('<script type="syntaxhighlighter"><![CDATA[', "]]></script>"),
    ],
)
def test_code_blocks_of_html(before: str, after: str) -> None:
    page = (
        f"<!DOCTYPE html>\n<script>\n{CUP}\n</script><p>Tea</p>\n{before}{CUP}{after}\n<p>End</p>"
    )
    assert lines_of(page) == [(11, 17)]


def test_a_file_named_html_is_html_whatever_it_starts_with() -> None:
    page = f"Tea\n<p>Cup</p><pre>{CUP.replace('<', '&lt;')}</pre>"
    assert lines_of(page, "page.HTML") == [(2, 8)]


@pytest.mark.parametrize("space", ["&nbsp;", "&#160;", "&#xA0;"])
def test_an_indent_of_no_break_spaces_is_how_wikis_show_code(space: str) -> None:
    page = f"<html><p>{CUP.replace('  ', space * 2)}</p>".replace("\n", "<br/>")
    (block,) = read_page(page, "page.html").blocks
    assert block.text == CUP


def test_code_blocks_side_by_side() -> None:
    spec = '{"name": "Cup", "type": "data"}'
    page = read_page(f"<html><body><pre>{spec}</pre><pre>{spec}</pre>", "page.html")
    assert [block.text for block in page.blocks] == [spec, spec]


def test_code_that_is_marked_up_word_by_word() -> None:
    rows = [f"<div><code>{line.replace(' ', '&nbsp;')}</code></div>" for line in CUP.split("\n")]
    (block,) = read_page("<html><body>" + "".join(rows), "page.html").blocks
    assert block.text == CUP
    assert set(block.lines) == {1}


def test_removed_words_that_html_marks_are_left_out() -> None:
    spec = CUP.replace("7", '<span class="diff-html-removed">6<b>1</b></span><span>7</span>')
    page = f"<html><p>Versions Compared</p><p>This line was added.</p><pre>{spec}</pre></html>"
    found = read_page(page, "page.html")
    assert [block.text for block in found.blocks] == [CUP]
    assert not found.compared
