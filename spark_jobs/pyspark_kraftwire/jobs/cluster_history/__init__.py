"""`metadata_history`: the history of a cluster, as tables, from its metadata log.

tables    the tables' rows, from the records of the log
replay    one task's replay of the log as Arrow batches; knows nothing of Spark
history   the tables as DataFrames
"""
