"""A KRaft node: disk, network and clock around the replica, and what state machines see of it."""
