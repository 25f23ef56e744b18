"""Renders spec sets as a protocol guide: static HTML pages that need no server and no network.

- `wire_type`     how one field is written in one version
- `wire_forms`    the fields of each version; versions that are equal share a form
- `history`       what changed from one form to the next
- `pages`         which messages share a page, and which pages share a heading
- `diagram`       a form as nested boxes
- `search_index`  the data of the search
- `renderer`      pages -> HTML
- `guide_files`   writes the pages, and deletes those of earlier runs
"""
