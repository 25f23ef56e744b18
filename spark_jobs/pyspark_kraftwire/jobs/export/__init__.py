"""`decode_segments`: directories of segments to Parquet, or to any format of Spark's.

export         plans an export, and runs what earlier runs have not finished
arrow_writer   writes Parquet inside the tasks
spark_writer   writes through Spark's own writers
outputs        directories that files are written to
state          what an export was started with, so that only the same one is resumed
counts         the report
damage         which offsets damage took
"""
