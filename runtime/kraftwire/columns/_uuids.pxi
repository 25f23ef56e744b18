# Formats uuids as Kafka prints them: URL-safe base64 without padding.

cdef const char *URL_SAFE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def uuid_text(data, Py_ssize_t count):
    """Return `count` uuids of 16 bytes as text: 22 characters each, without separators."""
    cdef const uint8_t[::1] raw = data
    if not 0 <= count <= raw.shape[0] // 16:
        raise IndexError(count)
    text = bytearray(22 * count)
    cdef uint8_t[::1] signs = text
    cdef const uint8_t *p
    cdef uint8_t *q
    cdef uint32_t three
    cdef Py_ssize_t row, group
    with nogil:
        for row in range(count):
            p = &raw[16 * row]
            q = &signs[22 * row]
            for group in range(5):
                three = <uint32_t>p[0] << 16 | <uint32_t>p[1] << 8 | p[2]
                q[0] = URL_SAFE[three >> 18]
                q[1] = URL_SAFE[three >> 12 & 63]
                q[2] = URL_SAFE[three >> 6 & 63]
                q[3] = URL_SAFE[three & 63]
                p += 3
                q += 4
            q[0] = URL_SAFE[p[0] >> 2]
            q[1] = URL_SAFE[(p[0] & 3) << 4]
    return text
