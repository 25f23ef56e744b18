"""The metadata of a cluster at one offset, and what each record does to it.

names                     names of the numbers in records
nodes, topics, access     the parts of the image
image                     `MetadataImage`, to which records are applied
"""
