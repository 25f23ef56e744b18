"""The command that runs a KRaft node."""
