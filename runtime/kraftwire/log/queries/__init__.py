"""What the batches of a partition mean and which of them a reader asks for.

transactions              which records belong to aborted or open transactions
selection                 a range of offsets or times, with the help of indexes
typed_records             records as messages, by the topic that they are in
summary                   counts and sizes, out of headers alone
"""
