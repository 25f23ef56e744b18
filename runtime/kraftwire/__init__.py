"""Everything that reads or speaks the binary forms of Kafka, built on generated codecs."""
