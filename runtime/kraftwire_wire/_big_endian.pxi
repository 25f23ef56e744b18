# Reads big-endian numbers.

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
    """
    uint16_t big16(const uint8_t *p) noexcept nogil
    uint32_t big32(const uint8_t *p) noexcept nogil
    uint64_t big64(const uint8_t *p) noexcept nogil
