"""Planning: paths and options become splits. Nothing here knows Spark.

paths   paths and globs, on this machine and in object stores
plan    the partitions below them, and the splits that tasks read
"""
