"""Commands for the metadata of a cluster, from its log and snapshots, or from a live quorum."""
