"""Finds mistakes in drafted specs, in files and on wiki pages; the entry point is `spec_lint.lint`.

- `page_html`        an HTML page -> lines of text
- `spec_pages`       a page -> the blocks that hold specs
- `json_tokens`      text that is almost JSON -> tokens
- `lenient_json`     tokens -> an object, with every mistake reported
- `compared_pages`   splits the words that a "Versions Compared" page merged
- `common_mistakes`  frequent mistakes of drafts
- `spec_lint`        one file or page -> findings
- `set_lint`         findings between the specs of one folder
"""
