"""Writing what a broker writes: segments with their indexes, and snapshots of metadata."""
