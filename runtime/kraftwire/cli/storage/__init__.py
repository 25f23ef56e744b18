"""Commands for the directories of a node, as `kafka-storage` has them."""
