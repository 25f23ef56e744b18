"""The output of the generator: a package per spec set, a module per message."""
