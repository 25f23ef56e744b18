# Finds the batches in a piece of a file, checks their CRCs, decompresses them, and appends
# their records.

cdef enum:
    MOST_SPANS = 1024
    LOOK_AHEAD = 17
    LARGE_BATCH = 4 << 20
    LARGE_PART = 1 << 20


cdef struct Order:
    # The offsets that the next batch may have; see `kraftwire.log.segments.batch_order`.
    int64_t next_offset
    int64_t last_offset
    bint has_gaps
    Py_ssize_t file_end


@cython.final
cdef class RecordColumns:
    """Collects the records of batches as rows of the requested columns."""

    cdef Column root
    cdef Sinks sinks
    cdef Wanted wanted
    cdef Span spans[MOST_SPANS]
    cdef object schema, crc_of, decompress, is_visible
    cdef bint has_control
    cdef Order order
    cdef Py_ssize_t room
    cdef int64_t limit
    cdef bint is_busy
    # The rest of a large batch, whose records have been checked.
    cdef object rest
    cdef Span rest_span
    cdef Py_ssize_t rest_start

    def __cinit__(
        self, columns, bounds, room, has_control, crc_of, decompress, is_visible,
        limit=DEFAULT_LIMIT
    ):
        """`columns` are names; `bounds` are the four fields of `Wanted`.

        - A chunk is full at `room` bytes or rows.
        - `crc_of(view)` returns the CRC of bytes; None if CRCs are not checked.
        - `decompress(codec, view)` returns the decompressed records.
        - `is_visible(view, position)` returns whether to read a transactional or control batch;
          None to read them all.
        - `limit` is the number of bytes that the headers of one record may take.
        """
        import pyarrow as pa

        from kraftwire.columns.schema import record_schema

        schema = record_schema(columns)
        shape_column(&self.root, pa.struct(schema), False)
        self.sinks.offset = self._sink(schema, "offset")
        self.sinks.timestamp = self._sink(schema, "timestamp")
        self.sinks.key = self._sink(schema, "key")
        self.sinks.value = self._sink(schema, "value")
        self.sinks.headers = self._sink(schema, "headers")
        self.sinks.timestamp_type = self._sink(schema, "timestamp_type")
        self.sinks.leader_epoch = self._sink(schema, "partition_leader_epoch")
        self.sinks.producer_id = self._sink(schema, "producer_id")
        self.sinks.producer_epoch = self._sink(schema, "producer_epoch")
        self.sinks.sequence = self._sink(schema, "sequence")
        self.sinks.attributes = self._sink(schema, "attributes")
        self.sinks.position = self._sink(schema, "batch_position")
        self.schema = schema
        self.room = room
        self.limit = limit
        self.has_control = has_control
        self.crc_of = crc_of
        self.decompress = decompress
        self.is_visible = is_visible
        self.wanted.first_offset, self.wanted.last_offset = bounds[:2]
        self.wanted.first_timestamp, self.wanted.last_timestamp = bounds[2:]

    cdef Column *_sink(self, schema, str name) except? NULL:
        cdef int place = schema.get_field_index(name)
        return &self.root.children[place] if place >= 0 else NULL

    def __dealloc__(self):
        free_column(&self.root)

    @property
    def rows(self):
        return self.root.length

    @property
    def is_full(self):
        check_idle(self.is_busy)  # another thread may be moving the buffers
        return self._is_full()

    cdef bint _is_full(self) noexcept nogil:
        return bytes_in(&self.root) >= self.room or self.root.length >= self.room

    def take(self):
        """Return the rows so far for `pyarrow.record_batch`, and start a new chunk."""
        check_idle(self.is_busy)
        return hand_over_root(&self.root, self.schema)

    def read(
        self, piece, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t filled, int64_t position, order
    ):
        """Append the batches that begin in `piece[start:stop]`; `filled` bytes of it are valid.

        `piece[0]` is the file's byte `position`. `order` contains the least offset of the first
        batch, the largest offset of any batch, whether there may be gaps, and the end of the file
        relative to the piece, which may be past its end.

        Returns the position at which it stopped, and the start of the last batch read or -1.
        It stops at the end, after a batch that fills a chunk, after a large batch (whose rows
        `read_more` must append first), and before a batch that is cut off, begins after the last
        selected offset or is unusual: damaged, out of order, of another magic, or with a header
        key that is not UTF-8.
        """
        cdef const uint8_t[::1] data = piece
        if not 0 <= start <= stop <= filled <= data.shape[0]:
            raise IndexError(start, stop, filled)
        check_idle(self.is_busy or self.rest is not None)
        self.order.next_offset, self.order.last_offset = order[:2]
        self.order.has_gaps, self.order.file_end = order[2:]
        self.is_busy = True
        try:
            return self._read(piece, data, start, stop, filled, position)
        finally:
            self.is_busy = False

    @property
    def has_more(self):
        """Whether `read_more` must append more rows of a large batch."""
        return self.rest is not None

    def read_more(self):
        """Append more rows of a large batch."""
        check_idle(self.is_busy or self.rest is None)
        self.is_busy = True
        try:
            self._read_more()
        finally:
            self.is_busy = False

    cdef int _read_more(self) except -1:
        cdef Py_buffer buffer
        cdef Span part = self.rest_span
        cdef const uint8_t *start
        cdef const uint8_t *end
        cdef int outcome
        PyObject_GetBuffer(self.rest, &buffer, PyBUF_SIMPLE)
        with nogil:
            start = <const uint8_t *>buffer.buf + self.rest_start
            end = start
            part.count = count_records(
                &end, <const uint8_t *>buffer.buf + buffer.len, part.count, LARGE_PART
            )
            outcome = read_records(
                &self.sinks, &self.root, &self.wanted, &part, start, end, self.limit
            )
        self.rest_start += end - start
        self.rest_span.count -= part.count
        PyBuffer_Release(&buffer)
        if outcome < 0 or self.rest_span.count == 0:
            self.rest = None
        if outcome < 0:  # the only possible reason, since the records have been checked
            raise MemoryError
        return 0

    cdef tuple _read(
        self, object piece, const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop,
        Py_ssize_t filled, int64_t position
    ):
        cdef Py_ssize_t last = -1
        cdef int found, sound, appended
        while start < stop:
            with nogil:
                found = self._find(&data[0], start, stop, filled, position)
            sound = 0
            while sound < found and self._check(&data[0], &self.spans[sound]):
                sound += 1
            appended = self._append(piece, &data[0], sound)
            if appended:
                self.order.next_offset = last_offset_of(&self.spans[appended - 1]) + 1
                last = self.spans[appended - 1].start
                start = self.spans[appended - 1].end
            if appended < found or found == 0 or self._is_full() or self.rest is not None:
                break
        return start, last

    cdef int _find(
        self, const uint8_t *data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t filled,
        int64_t position
    ) noexcept nogil:
        """Find consecutive sound batches, at most as many as fill a chunk; return their number."""
        cdef int count = 0
        cdef int64_t next_offset = self.order.next_offset
        cdef Span *span
        if self.room < stop - start:
            stop = start + self.room
        while count < MOST_SPANS and start < stop:
            span = &self.spans[count]
            span.start = start
            span.position = position + start
            if not parse_span(data + start, filled - start, span):
                break
            if span.base_offset > self.wanted.last_offset:
                break
            if not self._is_in_order(data, span, filled, next_offset):
                break
            next_offset = last_offset_of(span) + 1
            start = span.end
            count += 1
        return count

    cdef bint _is_in_order(
        self, const uint8_t *data, const Span *span, Py_ssize_t filled, int64_t next_offset
    ) noexcept nogil:
        """Whether the offsets of a batch fit those around it."""
        cdef int64_t last = last_offset_of(span)
        if span.base_offset < next_offset or last > self.order.last_offset or last == INT64_MAX:
            return False
        if span.base_offset == next_offset:
            return True
        if not self.order.has_gaps:
            return False
        if span.end >= self.order.file_end:
            return True
        return filled - span.end >= LOOK_AHEAD and <int64_t>big64(data + span.end) > last

    cdef bint _check(self, const uint8_t *data, Span *span) except -1:
        """Return whether the CRC matches; set `span.is_wanted`."""
        if self.crc_of is not None:
            if <uint32_t>self.crc_of(view_of(data, span.start + CRC_START, span.end)) != span.crc:
                return False
        span.is_wanted = may_have(span, &self.wanted)
        if span.attributes & CONTROL and not self.has_control:
            span.is_wanted = False
        elif span.is_wanted and self.is_visible is not None:
            if span.attributes & (TRANSACTIONAL | CONTROL):
                header = view_of(data, span.start, span.end)
                span.is_wanted = self.is_visible(header, span.position)
        return True

    cdef int _append(self, object piece, const uint8_t *data, int count) except -1:
        """Append checked batches up to the first unusual one; return their number."""
        cdef int i = 0, outcome = 0
        cdef Span *span
        while i < count:
            with nogil:
                while i < count:
                    span = &self.spans[i]
                    if span.is_wanted:
                        if span.attributes & CODEC_BITS or span.end - span.start > LARGE_BATCH:
                            break
                        outcome = read_records(
                            &self.sinks, &self.root, &self.wanted, span,
                            data + span.start + HEADER_SIZE, data + span.end, self.limit
                        )
                        if outcome < 0:
                            break
                    i += 1
            if i == count or outcome < 0 or not self._append_alone(piece, data, span):
                break
            i += 1
            if self._is_full() or self.rest is not None:
                break
        return i

    cdef bint _append_alone(self, object piece, const uint8_t *data, Span *span) except -1:
        """Append a compressed batch, or begin a large one; return False if it is unusual."""
        cdef Py_buffer records
        cdef const uint8_t *start
        cdef bint is_large, is_usual
        if span.attributes & CODEC_BITS:
            try:
                unpacked = self.decompress(
                    span.attributes & CODEC_BITS, view_of(data, span.start + HEADER_SIZE, span.end)
                )
            except KraftwireError:
                return False
        else:
            unpacked = memoryview(piece)[span.start + HEADER_SIZE : span.end]
        PyObject_GetBuffer(unpacked, &records, PyBUF_SIMPLE)
        start = <const uint8_t *>records.buf
        with nogil:
            is_large = records.len > LARGE_BATCH
            if is_large:
                is_usual = are_usual(span, start, start + records.len, self.limit)
            else:
                is_usual = read_records(
                    &self.sinks, &self.root, &self.wanted, span,
                    start, start + records.len, self.limit
                ) == 0
        PyBuffer_Release(&records)
        if is_large and is_usual:
            self.rest, self.rest_span, self.rest_start = unpacked, span[0], 0
        return is_usual


cdef inline object view_of(const uint8_t *data, Py_ssize_t start, Py_ssize_t end):
    """Return a view for a Python function, which must not keep it."""
    return PyMemoryView_FromMemory(<char *>data + start, end - start, PyBUF_READ)
