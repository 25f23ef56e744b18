"""Renders plans and keeps files on disk up to date.

- `targets`        which set goes into which package (`[tool.kraftwire]`)
- `renderer`       plan -> Python text, through jinja2 and black
- `package`        a set on disk -> the text of every file of its package
- `package_files`  compares these texts with the files on disk
- `file_changes`   shows or applies the difference
- `environment`    the settings of all templates
- `drafts_readme`  the README that lists drafted messages
"""
