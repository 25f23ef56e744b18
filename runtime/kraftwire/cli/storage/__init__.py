"""Commands for the directories of a node, like those of `kafka-storage`."""
