"""Bytes of Kafka as annotated rows: which range is which field, of which type and value."""
