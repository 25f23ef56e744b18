"""The commands `decode`, `encode` and `fields`, and how single messages are printed."""
