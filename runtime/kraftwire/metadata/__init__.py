"""The metadata of a cluster, rebuilt from its log and snapshots."""
