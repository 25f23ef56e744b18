"""Frames decoded: requests paired with responses, and some of them selected.

`decoder` turns frames into decoded frames and exchanges; `selection` keeps those of an API, a
client or a topic, which `topics` finds in their messages; `request_queue` holds requests, up to
a limit, until their responses come.
"""
