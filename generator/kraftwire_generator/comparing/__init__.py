"""Two sets of specs side by side: what changed, and whether the wire still holds."""
