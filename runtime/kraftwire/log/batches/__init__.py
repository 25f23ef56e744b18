"""One record batch of any magic, decoded and encoded.

    compression, varint       the codecs of batches; the numbers in records
    header                    what a batch says about itself before its records
    record, legacy            the records of magic 2; messages of magic 0 and 1
    large_records, batch      records that do not fit into memory together; a batch with its bytes
    encoding                  records to batches

A batch is bytes in memory: nothing here reads a file or knows about other batches.
"""
