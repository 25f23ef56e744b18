"""Bytes and where they come from: `Source` (a file or bytes in memory), `Storage` (a place with
files that can be listed and opened) and `Window` (the part of a source that is being read).

Imports nothing of `kraftwire.log` but its errors.
"""
