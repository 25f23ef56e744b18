"""The protocol guide: spec sets as static pages, one per API, stored record and message."""
