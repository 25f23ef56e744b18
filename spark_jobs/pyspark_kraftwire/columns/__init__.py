"""Columns: which exist, which a read has, and the filters on them. Nothing here knows Spark.

spark_types      Arrow arrays in the types that Spark has
record_kinds     the kinds of records in Kafka's own logs
record_columns   all columns, and how each is built from a batch's arrays
projection       the requested columns, checked against those that exist
filters          Spark's filters, applied to rows and to plans
"""
