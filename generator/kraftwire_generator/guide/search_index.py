"""The search index: a script that holds pages, messages, fields and error codes as data.

A script and no JSON file, since a page that was opened from a disk may load the one and not
the other. `static/guide.js` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kraftwire_generator.guide.pages import ERROR_CODES_PAGE, GuideSet, Page, Part
from kraftwire_generator.printing import printable


def search_index(sets: Sequence[GuideSet]) -> str:
    """The text of the script.

    `pages` has the address, the number and a line about each page; `messages` the name, the
    page and the anchor of each message; `fields` the same of each field, by its path, in the
    newest version that has it; `errors` the name, the page and the number of error codes.
    """
    pages: list[tuple[str, int | None, str]] = []
    messages: list[tuple[str, int, str]] = []
    fields: list[tuple[str, int, str]] = []
    errors: list[tuple[str, int, int]] = []
    for item in sets:
        if item.error_codes:
            errors += [(name, len(pages), number) for number, name in item.error_codes]
            pages.append(
                (f"{item.folder}/{ERROR_CODES_PAGE}", None, printable(item.spec_set.title))
            )
        for page in item.pages:
            place = len(pages)
            pages.append((f"{item.folder}/{page.file}", page.number, _about(item, page)))
            for part in page.parts:
                messages.append((printable(part.spec.name), place, part.anchor))
                fields += [
                    (printable(path), place, anchor) for path, anchor in _newest(part).items()
                ]
    rows = {"pages": pages, "messages": messages, "fields": fields, "errors": errors}
    text = json.dumps(rows, separators=(",", ":")).replace("<", "\\u003c")
    return f"globalThis.kraftwireGuide={text};\n"


def _about(item: GuideSet, page: Page) -> str:
    number = {"API": "API key", "record": "record id"}.get(page.kind)
    what = page.kind if page.number is None or number is None else f"{number} {page.number}"
    return f"{what}, {printable(item.spec_set.title)}"


def _newest(part: Part) -> dict[str, str]:
    """The path of every field with the id of its row in the newest form that has it."""
    return {
        field.path: f"{part.anchor}-v{form.versions.lowest}.{field.path}"
        for form in part.forms
        for field in form.body.rows()
    }
