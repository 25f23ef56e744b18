# Decodes the records of a batch of magic 2 to columns, in one pass without the GIL.
# `kraftwire.log.batches.header` and `kraftwire.log.batches.record` describe the formats.

cdef enum:
    HEADER_SIZE = 61
    CRC_START = 21
    MIN_BATCH_LENGTH = 49
    MIN_RECORD = 7
    OBJECT_BYTES = 512
    CODEC_BITS = 0x07
    LOG_APPEND_TIME = 0x08
    TRANSACTIONAL = 0x10
    CONTROL = 0x20


cdef struct Span:
    # A batch in a piece: its position and header.
    Py_ssize_t start
    Py_ssize_t end
    int64_t base_offset
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int64_t position
    uint32_t crc
    int32_t leader_epoch
    int32_t last_offset_delta
    int32_t base_sequence
    int32_t count
    int16_t attributes
    int16_t producer_epoch
    bint is_wanted


cdef struct Wanted:
    # The bounds of a selection, inclusive.
    int64_t first_offset
    int64_t last_offset
    int64_t first_timestamp
    int64_t last_timestamp


cdef struct Sinks:
    # The requested columns; others are NULL.
    Column *offset
    Column *timestamp
    Column *key
    Column *value
    Column *headers
    Column *timestamp_type
    Column *leader_epoch
    Column *producer_id
    Column *producer_epoch
    Column *sequence
    Column *attributes
    Column *position


# -- headers -------------------------------------------------------------------------------


cdef bint parse_span(const uint8_t *p, Py_ssize_t left, Span *span) noexcept nogil:
    """Parse a sound header of magic 2 of a complete batch; return False for anything else."""
    cdef int32_t length
    if left < HEADER_SIZE or p[16] != 2:
        return False
    length = <int32_t>big32(p + 8)
    if length < MIN_BATCH_LENGTH or length > left - 12:
        return False
    span.end = span.start + 12 + length
    span.base_offset = <int64_t>big64(p)
    span.leader_epoch = <int32_t>big32(p + 12)
    span.crc = big32(p + 17)
    span.attributes = <int16_t>big16(p + 21)
    span.last_offset_delta = <int32_t>big32(p + 23)
    span.base_timestamp = <int64_t>big64(p + 27)
    span.max_timestamp = <int64_t>big64(p + 35)
    span.producer_id = <int64_t>big64(p + 43)
    span.producer_epoch = <int16_t>big16(p + 51)
    span.base_sequence = <int32_t>big32(p + 53)
    span.count = <int32_t>big32(p + 57)
    return (
        span.last_offset_delta >= 0
        and span.count >= 0
        and 0 <= span.base_offset <= INT64_MAX - span.last_offset_delta
    )


cdef inline int64_t last_offset_of(const Span *span) noexcept nogil:
    return span.base_offset + span.last_offset_delta


cdef bint may_have(const Span *span, const Wanted *wanted) noexcept nogil:
    """Whether a batch may contain a selected record, judging by its header."""
    # In these two cases the largest timestamp, in the header, is that of all records.
    if span.attributes & LOG_APPEND_TIME or span.count == 1:
        if span.max_timestamp > wanted.last_timestamp:
            return False
    return (
        span.base_offset + span.last_offset_delta >= wanted.first_offset
        and span.base_offset <= wanted.last_offset
        and span.max_timestamp >= wanted.first_timestamp
    )


# -- records -------------------------------------------------------------------------------


cdef const uint8_t *long_zigzag(
    const uint8_t *p, const uint8_t *end, int64_t *value, int most
) noexcept nogil:
    """Read a zigzag varint of up to `most` bytes; return NULL if it is longer or cut off."""
    cdef uint64_t raw = 0
    cdef int shift
    for shift in range(0, 7 * most, 7):
        if p >= end:
            return NULL
        raw |= <uint64_t>(p[0] & 0x7F) << shift
        if p[0] < 0x80:
            if most == 5:
                raw = <uint32_t>raw
            value[0] = <int64_t>(raw >> 1) ^ -<int64_t>(raw & 1)
            return p + 1
        p += 1
    return NULL


cdef inline const uint8_t *zigzag(
    const uint8_t *p, const uint8_t *end, int64_t *value, int most
) noexcept nogil:
    """Read a zigzag varint; one of one or two bytes is read inline."""
    cdef uint32_t raw
    if end - p >= 2:
        raw = p[0]
        if raw < 0x80:
            value[0] = <int64_t>(raw >> 1) ^ -<int64_t>(raw & 1)
            return p + 1
        if p[1] < 0x80:
            raw = raw & 0x7F | <uint32_t>p[1] << 7
            value[0] = <int64_t>(raw >> 1) ^ -<int64_t>(raw & 1)
            return p + 2
    return long_zigzag(p, end, value, most)


cdef inline void copy_short(
    uint8_t *to, const uint8_t *start, Py_ssize_t size, const uint8_t *stop
) noexcept nogil:
    """Copy bytes; up to SLACK bytes after them in `to` may be overwritten. `stop` ends the input.

    Copying a size that the compiler knows needs no call.
    """
    if size > 128 or stop - start < 128:
        memcpy(to, start, size)
    elif size <= 16:
        memcpy(to, start, 16)
    elif size <= 64:
        memcpy(to, start, 64)
    else:
        memcpy(to, start, 128)


cdef struct Cells:
    # The buffers of a column of bytes. They are copied from the column since the compiler must
    # otherwise assume that each byte written changes it.
    uint8_t *valid
    int32_t *offsets
    uint8_t *data
    Py_ssize_t used


cdef inline Cells cells_of(const Column *column) noexcept nogil:
    cdef Cells cells
    memset(&cells, 0, sizeof(Cells))
    if column != NULL:
        cells.valid, cells.offsets, cells.data = column.valid, column.offsets, column.data
        cells.used = end_of(column)
    return cells


cdef inline void put_bytes(
    Cells *cells, Py_ssize_t row, const uint8_t *start, int64_t size, const uint8_t *stop
) noexcept nogil:
    """Write a row of bytes; a size of -1 means null."""
    cells.valid[row] = size >= 0
    if size > 0:
        copy_short(cells.data + cells.used, start, size, stop)
        cells.used += size
    cells.offsets[row + 1] = <int32_t>cells.used


cdef const uint8_t *read_headers(
    const uint8_t *p, const uint8_t *end, Column *column, int64_t limit
) noexcept nogil:
    """Read the headers of a record; append them to the column's child unless it is NULL.

    Returns their end, or NULL if they are unusual or too many for the limit.
    """
    cdef int64_t count, size, value_size, i
    cdef Column *pair = NULL
    cdef Column *key = NULL
    cdef Column *value = NULL
    cdef const uint8_t *start
    cdef Cells cells
    cdef bint copies = column != NULL
    p = zigzag(p, end, &count, 5)
    if p == NULL or not 0 <= count <= end - p or count * OBJECT_BYTES > limit:
        return NULL
    if copies:
        pair = &column.children[0]
        key, value = &pair.children[0], &pair.children[1]
        if reserve_rows(pair, count) < 0 or reserve_rows(key, count) < 0:
            return NULL
        if reserve_rows(value, count) < 0:
            return NULL
        if reserve_data(key, end - p) < 0 or reserve_data(value, end - p) < 0:
            return NULL
    for i in range(count):
        p = zigzag(p, end, &size, 5)
        if p == NULL or not 0 <= size <= end - p:
            return NULL
        start = p
        p += size
        if not is_utf8(start, size):
            return NULL
        if copies:
            memcpy(key.data + end_of(key), start, size)
            key.offsets[key.length + 1] = <int32_t>(end_of(key) + size)
            key.length += 1
        p = zigzag(p, end, &value_size, 5)
        if p == NULL or not -1 <= value_size <= end - p:
            return NULL
        if copies:
            cells = cells_of(value)
            put_bytes(&cells, value.length, p, value_size, end)
            value.length += 1
            pair.length += 1
        if value_size > 0:
            p += value_size
    return p


cdef struct Record:
    # The fields of a record, up to its headers.
    int64_t offset
    int64_t timestamp
    int64_t key_size
    int64_t value_size
    const uint8_t *key
    const uint8_t *value
    const uint8_t *headers


cdef inline bint read_fields(
    Record *record, const Span *span, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    """Read the fields of a record, after its length; it ends at `end`."""
    cdef int64_t delta
    p = zigzag(p + 1, end, &delta, 10)
    if p == NULL or add_overflows(span.base_timestamp, delta, &record.timestamp):
        return False
    p = zigzag(p, end, &delta, 5)
    if p == NULL or add_overflows(span.base_offset, delta, &record.offset):
        return False
    p = zigzag(p, end, &record.key_size, 5)
    if p == NULL or not -1 <= record.key_size <= end - p:
        return False
    record.key = p
    if record.key_size > 0:
        p += record.key_size
    p = zigzag(p, end, &record.value_size, 5)
    if p == NULL or not -1 <= record.value_size <= end - p:
        return False
    record.value = p
    record.headers = p + record.value_size if record.value_size > 0 else p
    if span.attributes & LOG_APPEND_TIME:
        record.timestamp = span.max_timestamp
    return True


cdef inline bint is_wanted(const Record *record, const Wanted *wanted) noexcept nogil:
    return (
        wanted.first_offset <= record.offset <= wanted.last_offset
        and wanted.first_timestamp <= record.timestamp <= wanted.last_timestamp
    )


cdef int read_records(
    Sinks *sinks, Column *root, const Wanted *wanted, const Span *span,
    const uint8_t *start, const uint8_t *stop, int64_t limit
) noexcept nogil:
    """Append the records between `start` and `stop`; return -1 if one of them is unusual.

    `limit` is the number of bytes that the headers of one record may take.

    The columns' lengths grow only at the end. If the function fails before, the rows that it wrote
    are past the ends of the columns and will be overwritten.
    """
    cdef Py_ssize_t row = root.length
    cdef int64_t length
    cdef const uint8_t *p
    cdef Record record
    cdef Cells keys, values
    cdef int32_t i
    cdef bint takes
    if span.count > (stop - start) // MIN_RECORD:
        return -1
    if make_room(sinks, root, span.count, stop - start) < 0:
        return -1
    keys, values = cells_of(sinks.key), cells_of(sinks.value)
    for i in range(span.count):
        p = zigzag(start, stop, &length, 5)
        if p == NULL or not 0 < length <= stop - p:
            break
        # The next record starts here, however long the fields of this one are.
        start = p + length
        if not read_fields(&record, span, p, start):
            break
        takes = is_wanted(&record, wanted)
        if start - record.headers != 1 or record.headers[0] != 0:
            if read_headers(
                record.headers, start, sinks.headers if takes else NULL, limit
            ) != start:
                break
        if not takes:
            continue
        if keys.data != NULL:
            put_bytes(&keys, row, record.key, record.key_size, stop)
        if values.data != NULL:
            put_bytes(&values, row, record.value, record.value_size, stop)
        put_numbers(sinks, row, &record, span)
        row += 1
    else:
        if start == stop:
            finish_batch(sinks, root, span, row)
            return 0
    if sinks.headers != NULL:
        cut(&sinks.headers.children[0], end_of(sinks.headers))
    return -1


cdef inline int32_t sequence_of(int32_t base, int64_t delta) noexcept nogil:
    """Return the sequence number of a record; as in Kafka, 0 follows 2**31 - 1."""
    # Unsigned, since signed overflow is undefined.
    return <int32_t>((<uint64_t>base + <uint64_t>delta) & 0x7FFFFFFF)


cdef bint are_usual(
    const Span *span, const uint8_t *start, const uint8_t *stop, int64_t limit
) noexcept nogil:
    """Whether `read_records` would append all records between `start` and `stop`."""
    cdef int64_t length
    cdef const uint8_t *p
    cdef Record record
    cdef int32_t i
    if span.count > (stop - start) // MIN_RECORD:
        return False
    for i in range(span.count):
        p = zigzag(start, stop, &length, 5)
        if p == NULL or not 0 < length <= stop - p:
            return False
        start = p + length
        if not read_fields(&record, span, p, start):
            return False
        if start - record.headers != 1 or record.headers[0] != 0:
            if read_headers(record.headers, start, NULL, limit) != start:
                return False
    return start == stop


cdef int32_t count_records(
    const uint8_t **start, const uint8_t *stop, int32_t most, Py_ssize_t size
) noexcept nogil:
    """Skip up to `most` checked records that begin within `size` bytes; return their count."""
    cdef int64_t length
    cdef const uint8_t *p = start[0]
    cdef int32_t count = 0
    while count < most and p - start[0] < size:
        p = zigzag(p, stop, &length, 5) + length
        count += 1
    start[0] = p
    return count


cdef inline void put_numbers(
    Sinks *sinks, Py_ssize_t row, const Record *record, const Span *span
) noexcept nogil:
    """Write the values of one record except key and value, and the end of its headers."""
    if sinks.offset != NULL:
        (<int64_t *>sinks.offset.values)[row] = record.offset
    if sinks.timestamp != NULL:
        (<int64_t *>sinks.timestamp.values)[row] = record.timestamp
    if sinks.headers != NULL:
        sinks.headers.offsets[row + 1] = <int32_t>sinks.headers.children[0].length
    if sinks.sequence != NULL:
        (<int32_t *>sinks.sequence.values)[row] = (
            sequence_of(span.base_sequence, record.offset - span.base_offset)
            if span.base_sequence >= 0 else -1
        )


cdef int make_room(
    Sinks *sinks, Column *root, Py_ssize_t rows, Py_ssize_t size
) noexcept nogil:
    """Make room in every column for the records of a batch, at most one per byte."""
    cdef int i
    for i in range(root.child_count):
        if reserve_rows(&root.children[i], rows) < 0:
            return -1
    if sinks.key != NULL and reserve_data(sinks.key, size) < 0:
        return -1
    if sinks.value != NULL and reserve_data(sinks.value, size) < 0:
        return -1
    return reserve_rows(root, rows)


cdef void finish_batch(
    Sinks *sinks, Column *root, const Span *span, Py_ssize_t rows
) noexcept nogil:
    """Write the values that a batch's records share, and add its rows to the columns' lengths."""
    cdef Py_ssize_t row
    cdef int i
    for row in range(root.length, rows):
        if sinks.timestamp_type != NULL:
            (<int32_t *>sinks.timestamp_type.values)[row] = (
                1 if span.attributes & LOG_APPEND_TIME else 0
            )
        if sinks.leader_epoch != NULL:
            (<int32_t *>sinks.leader_epoch.values)[row] = span.leader_epoch
        if sinks.producer_id != NULL:
            (<int64_t *>sinks.producer_id.values)[row] = span.producer_id
        if sinks.producer_epoch != NULL:
            (<int16_t *>sinks.producer_epoch.values)[row] = span.producer_epoch
        if sinks.attributes != NULL:
            (<int16_t *>sinks.attributes.values)[row] = span.attributes
        if sinks.position != NULL:
            (<int64_t *>sinks.position.values)[row] = span.position
    root.length = rows
    for i in range(root.child_count):
        root.children[i].length = rows
