"""Renders spec sets as a protocol guide: static HTML pages that need no server and no network.

- `wire_type`     the type and size of one field in one version
- `wire_forms`    the fields of each version; equal versions share a form
- `history`       the changes from one form to the next
- `pages`         sorts messages into pages, and pages under headings
- `diagram`       a form as nested boxes
- `search_index`  the data of the search
- `renderer`      pages -> HTML
- `guide_files`   writes the pages, and deletes those of earlier runs
"""
