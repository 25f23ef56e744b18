"""Recorded Kafka traffic: capturing, storing, decoding, redacting and replaying frames.

Frames from any source become `frame.Frame` objects, in the order in which they were sent.

    packets           extracts frames from packet captures
    cassette          stores frames in a file of JSON Lines; `cassette_file` appends to one
    decoding          decodes frames, pairs requests with responses, selects some
    frame_redaction   removes secrets from decoded frames
    addresses         finds and replaces broker addresses in messages
    struct_search     finds structs in messages by their layout
    proxy             records live traffic between clients and a cluster
    replay            serves a recording as a broker would
    servers           client tasks and an event loop in a thread, for proxy and replay

`packets` and `cassette` only produce frames, and `decoding` does not know where they came from.
`proxy` and `replay` are on top and do not know each other.
"""
