"""A file of record batches, damage included.

    resync                    find the next batch after damage
    segment                   read batches or headers from start to end
    verified_headers          the same for headers with a checked CRC, without the batches
    batch_order               whether offsets and leader epochs go up, as in every log
    batch_positions           where the batches of a segment begin, in memory

Built on `sources` and `batches`.
"""
