# Reads unsigned varints, for both native engines.

cdef const uint8_t *varint(const uint8_t *p, const uint8_t *end, uint32_t *value) noexcept nogil:
    """Read an unsigned varint below 2**31 in its shortest form; return NULL for any other."""
    cdef uint32_t byte, result = 0
    cdef int shift
    for shift in range(0, 35, 7):
        if p >= end:
            return NULL
        byte = p[0]
        p += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if (byte == 0 and shift) or (byte > 7 and shift == 28):
                return NULL
            value[0] = result
            return p
    return NULL
