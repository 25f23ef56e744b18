"""Bringing specs in: the facts of a Kafka release from jars, directories or git revisions."""
