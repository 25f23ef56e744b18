"""Recorded Kafka traffic: the frames of connections, stored, paired and decoded.

`frame` is one message as it went over a connection; `cassette` stores frames in a file;
`pairing` decodes them and puts requests and responses together. Wherever frames come from,
they become `Frame` objects in the order in which they were sent.
"""
