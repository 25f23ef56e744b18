"""Commands for a running quorum, like `kafka-metadata-quorum`; KIP-856's spelling works too."""
