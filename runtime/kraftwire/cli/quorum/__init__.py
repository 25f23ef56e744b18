"""Commands for a running quorum: what `kafka-metadata-quorum` does, also as KIP-856 spells it."""
