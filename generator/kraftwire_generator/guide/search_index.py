"""The search index: a script with pages, messages, fields and error codes as data.

It is a script because browsers do not let a page opened from disk load JSON. `static/guide.js`
reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kraftwire_generator.guide.pages import ERROR_CODES_PAGE, GuidePage, GuideSet, PagePart
from kraftwire_generator.printing import printable


def search_index(sets: Sequence[GuideSet]) -> str:
    """Return the text of the script.

    `pages` has address, number and description of each page; `messages` has name, page and anchor
    of each message; `fields` has path, page and anchor of each field, in the newest version that
    has it; `errors` has name, page and number of each error code.
    """
    pages: list[tuple[str, int | None, str]] = []
    messages: list[tuple[str, int, str]] = []
    fields: list[tuple[str, int, str]] = []
    errors: list[tuple[str, int, int]] = []
    for item in sets:
        if item.error_codes:
            errors += [(name, len(pages), number) for number, name in item.error_codes]
            pages.append(
                (f"{item.folder}/{ERROR_CODES_PAGE}", None, printable(item.spec_set.settings.title))
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


def _about(item: GuideSet, page: GuidePage) -> str:
    number = {"API": "API key", "record": "record id"}.get(page.kind)
    what = page.kind if page.number is None or number is None else f"{number} {page.number}"
    return f"{what}, {printable(item.spec_set.settings.title)}"


def _newest(part: PagePart) -> dict[str, str]:
    """Return the path of every field, with the id of its row in the newest form that has it."""
    return {
        field.path: f"{part.anchor}-v{form.versions.lowest}.{field.path}"
        for form in part.forms
        for field in form.body.rows()
    }
