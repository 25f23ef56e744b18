"""Bytes and where they come from.

    source                    `Source`: a file, or bytes in memory
    storage                   `Storage`: a place whose files can be listed and opened
    window                    `Window`: the part of a source that is being read

Imports nothing of `kraftwire.log` except its errors.
"""
