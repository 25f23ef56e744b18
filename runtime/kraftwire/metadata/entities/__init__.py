"""An image as entities with labels and fields, and what changed in them.

views, entity             an image as entities that JSON can hold
diff                      what differs between two images
record_entities           the entities that a record is about
description               a record and its changes in words
"""
