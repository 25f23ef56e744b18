"""Recorded Kafka traffic: frames are captured, stored, decoded, redacted and replayed.

Wherever frames come from, they become `frame.Frame` objects in the order in which they were sent.

    packets           frames out of packet captures: packets, TCP streams, frame boundaries
    cassette          frames in a file of JSON Lines; `cassette_file` appends to one
    decoding          pairs requests with responses, decodes them, selects some
    frame_redaction   removes secrets from decoded frames
    addresses         finds and replaces broker addresses in messages
    struct_search     finds structs in messages by their layout
    proxy             records live traffic between clients and a cluster
    replay            serves a recording as a broker would
    servers           what proxy and replay share: client tasks, an event loop in a thread

`packets` and `cassette` only produce frames, and `decoding` does not know where they came from.
`proxy` and `replay` are on top and do not know each other.
"""
