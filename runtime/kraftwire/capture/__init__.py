"""Recorded Kafka traffic: the frames of connections, stored, paired and decoded.

`frame` is one message as it went over a connection; `cassette` stores frames in a file;
`pairing` decodes them and puts requests and responses together. Wherever frames come from,
they become `Frame` objects in the order in which they were sent.

Out of packets they come in steps, each of which knows only those before it: `pcap_file` reads
packets, `segments` finds the TCP segment in one, `reassembly` puts those of one direction in
order, `tcp` those of a connection, `boundaries` and `cutting` make frames out of bytes,
`connection` finds out who is the client, and `traffic` goes through a file with all of them;
`losses` counts what could not be read. `selection` and `topics` choose among decoded frames.
"""
