"""The command `explain`: `input` finds the bytes, `text` and `page` print the annotated rows."""
