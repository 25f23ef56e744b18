"""Commands for what Kafka keeps on disk; `record_format` and `output` are `log dump`'s forms."""
