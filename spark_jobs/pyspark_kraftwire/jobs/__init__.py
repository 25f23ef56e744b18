"""What the scripts beside this package do, as functions that take a session.

outputs, state      where an export is written, and what of it is finished
damage, counts      which offsets damage took, and what an export says at its end
decode, by_spark    `decode_segments.py`; `pyspark_kraftwire.export` is its Arrow writer
metadata_*          `metadata_history.py`
group_offsets       `group_offsets.py`
session, tables     starting Spark, failing in one line, writing and printing tables
"""
