# Numbers in the wire's order of bytes, sums that may overflow, and text.

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define SWAP16 __builtin_bswap16
    #define SWAP32 __builtin_bswap32
    #define SWAP64 __builtin_bswap64
    #else
    #include <stdlib.h>
    #define SWAP16 _byteswap_ushort
    #define SWAP32 _byteswap_ulong
    #define SWAP64 _byteswap_uint64
    #endif
    #if PY_BIG_ENDIAN
    #define FROM_BIG(swap, value) (value)
    #else
    #define FROM_BIG(swap, value) swap(value)
    #endif
    static inline uint16_t big16(const uint8_t *p) {
        uint16_t v; memcpy(&v, p, 2); return FROM_BIG(SWAP16, v);
    }
    static inline uint32_t big32(const uint8_t *p) {
        uint32_t v; memcpy(&v, p, 4); return FROM_BIG(SWAP32, v);
    }
    static inline uint64_t big64(const uint8_t *p) {
        uint64_t v; memcpy(&v, p, 8); return FROM_BIG(SWAP64, v);
    }
    static inline int add_overflows(int64_t a, int64_t b, int64_t *sum) {
        *sum = (int64_t)((uint64_t)a + (uint64_t)b);
        return ((a ^ *sum) & (b ^ *sum)) < 0;
    }
    """
    uint16_t big16(const uint8_t *p) noexcept nogil
    uint32_t big32(const uint8_t *p) noexcept nogil
    uint64_t big64(const uint8_t *p) noexcept nogil
    bint add_overflows(int64_t a, int64_t b, int64_t *sum) noexcept nogil


cdef bint is_utf8(const uint8_t *p, Py_ssize_t size) noexcept nogil:
    """Whether bytes are UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF."""
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
