"""The implementation of the scripts beside this package, as functions of a Spark session.

export            `decode_segments.py`
cluster_history   `metadata_history.py`
group_offsets     `group_offsets.py`
arguments         options that the command lines share
session           starts Spark, and ends a script with one line if it fails
tables            writes and prints DataFrames
"""
