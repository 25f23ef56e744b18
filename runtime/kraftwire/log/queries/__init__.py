"""Reading parts of a partition, and what its records mean.

transactions              which records belong to aborted or open transactions
selection                 a range of offsets or times, found with indexes
typed_records             records as messages, by their topic
summary                   counts and sizes, from headers alone
"""
