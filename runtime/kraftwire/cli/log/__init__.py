"""Commands for what Kafka keeps on disk; `record_json` and `output` are `log dump`'s forms."""
