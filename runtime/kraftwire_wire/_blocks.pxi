# Memory that is freed together with its owner.

cdef struct Block:
    Block *next
    Py_ssize_t size


cdef void *new_block(Block **chain, Py_ssize_t size) except NULL:
    """Allocate zeroed memory, chained in C: the garbage collector would clear a Python list."""
    cdef Block *block = <Block *>calloc(1, sizeof(Block) + size)
    if block == NULL:
        raise MemoryError
    block.next = chain[0]
    chain[0] = block
    return block + 1


cdef void free_blocks(Block *block) noexcept:
    cdef Block *after
    while block != NULL:
        after = block.next
        free(block)
        block = after
