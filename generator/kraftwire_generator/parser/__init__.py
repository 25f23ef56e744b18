"""Reads the files of a spec set. Every problem becomes a finding with a file and a line.

- `json_text`       JSON with comments -> values with their lines
- `spec_object`     one JSON object, its keys read as typed values
- `message_parser`  a spec file -> `MessageSpec`
- `set_settings`    `set.toml`
- `error_codes`     `error_codes.toml`
- `draft_origin`    the comments at the top of a draft
"""
