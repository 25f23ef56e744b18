# Reads the framing of the records in Kafka's own logs; see `kraftwire_wire.records`.

cdef enum:
    NO_ID = -1
    MOST_IDS = 0x8000


cdef int check_spans(
    Py_ssize_t size, const int32_t[::1] begins, const int32_t[::1] ends
) except -1:
    cdef Py_ssize_t row
    if begins.shape[0] != ends.shape[0]:
        raise IndexError(begins.shape[0])
    for row in range(begins.shape[0]):
        if not 0 <= begins[row] <= ends[row] <= size:
            raise KraftwireError(f"row {row} of the column lies outside of its data")
    return 0


def read_metadata_frames(data, begins, ends):
    """Read the values of a metadata log: frame version 1, record id and version, each a varint.

    Returns the ids, the versions, and the positions of the messages, as buffers of int32. The id
    is -1 if the frame is unusual.
    """
    cdef const uint8_t[::1] raw = data
    cdef const int32_t[::1] first = begins
    cdef const int32_t[::1] last = ends
    cdef const uint8_t *start = &raw[0] if raw.shape[0] else <const uint8_t *>""
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef uint32_t frame, record_id, version
    cdef Py_ssize_t row, count = first.shape[0]
    cdef int32_t[:, ::1] found = new_int32(3, count)
    check_spans(raw.shape[0], first, last)
    with nogil:
        for row in range(count):
            found[0, row] = NO_ID
            end = start + last[row]
            p = varint(start + first[row], end, &frame)
            if p == NULL or frame != 1:
                continue
            p = varint(p, end, &record_id)
            if p == NULL or record_id >= MOST_IDS:
                continue
            p = varint(p, end, &version)
            if p == NULL or version >= MOST_IDS:
                continue
            found[0, row] = <int32_t>record_id
            found[1, row] = <int32_t>version
            found[2, row] = <int32_t>(p - start)
    return found[0, :count], found[1, :count], found[2, :count]


def read_prefixes(data, begins, ends):
    """Read the int16 before coordinators' keys (an id) or values (a version).

    Returns the numbers and the positions of the messages, as buffers of int32. The number is -1
    if it is missing or negative.
    """
    cdef const uint8_t[::1] raw = data
    cdef const int32_t[::1] first = begins
    cdef const int32_t[::1] last = ends
    cdef Py_ssize_t row, count = first.shape[0]
    cdef int32_t[:, ::1] found = new_int32(2, count)
    check_spans(raw.shape[0], first, last)
    with nogil:
        for row in range(count):
            found[0, row] = NO_ID
            if last[row] - first[row] >= 2 and raw[first[row]] < 0x80:
                found[0, row] = <int16_t>big16(&raw[first[row]])
                found[1, row] = first[row] + 2
    return found[0, :count], found[1, :count]


cdef int32_t[:, ::1] new_int32(Py_ssize_t lines, Py_ssize_t count):
    return memoryview(bytearray(4 * lines * max(count, 1))).cast("B").cast(
        "i", (lines, max(count, 1))
    )
