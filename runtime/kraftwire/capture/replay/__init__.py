"""Recorded traffic, served as a broker would.

`tape` takes a recording apart: records by partition (`log`, `records`), other exchanges into
parts about one thing (`parts`). `matching` is the table of what may differ between a request
and the one recorded, `search` picks the nearest that was not used, and `miss` is what was not
recorded. `replay` has no socket; `server` listens once for each recorded broker.
"""
