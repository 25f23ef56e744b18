# Checks sums for overflow, and bytes for UTF-8.

cdef extern from *:
    """
    static inline int add_overflows(int64_t a, int64_t b, int64_t *sum) {
        *sum = (int64_t)((uint64_t)a + (uint64_t)b);
        return ((a ^ *sum) & (b ^ *sum)) < 0;
    }
    """
    bint add_overflows(int64_t a, int64_t b, int64_t *sum) noexcept nogil


cdef bint is_utf8(const uint8_t *p, Py_ssize_t size) noexcept nogil:
    """Whether bytes are UTF-8: no overlong forms, surrogates, or code points above U+10FFFF."""
    cdef const uint8_t *end = p + size
    cdef uint64_t eight
    cdef uint32_t point
    cdef int more, i
    while p < end:
        while end - p >= 8:
            memcpy(&eight, p, 8)
            if eight & 0x8080808080808080u:
                break
            p += 8
        if p == end:
            return True
        if p[0] < 0x80:
            p += 1
            continue
        if p[0] < 0xC2 or p[0] > 0xF4:
            return False
        more = 1 if p[0] < 0xE0 else 2 if p[0] < 0xF0 else 3
        if end - p <= more:
            return False
        point = p[0] & (0x3F >> more)
        for i in range(1, more + 1):
            if p[i] & 0xC0 != 0x80:
                return False
            point = point << 6 | p[i] & 0x3F
        if more == 2 and (point < 0x800 or 0xD800 <= point < 0xE000):
            return False
        if more == 3 and not 0x10000 <= point < 0x110000:
            return False
        p += more + 1
    return True
