# Compiles LAYOUT to a program for each version of a message, and collects the rows.

cdef dict STEPS = {
    "int8": STEP_1, "int16": STEP_2, "uint16": STEP_2, "int32": STEP_4, "uint32": STEP_4,
    "int64": STEP_8, "float64": STEP_8, "uuid": STEP_16, "bool": STEP_BOOL,
    "string": STEP_TEXT, "bytes": STEP_BYTES, "records": STEP_BYTES,
}


cdef Py_ssize_t MOST_AT_ONCE = 8192
"""The largest number of rows for which memory is allocated in advance."""


@cython.final
@cython.no_gc_clear
cdef class MessageColumns:
    """Collects messages of one class, in any version, as rows of a struct."""

    cdef Column root
    cdef Default default
    cdef Program **programs
    cdef int version_count
    cdef int64_t unknown_tags
    cdef object message, arrow_type
    cdef list kept  # objects that the programs point to; the garbage collector must not clear it
    cdef Block *blocks
    cdef bint is_busy

    def __cinit__(self, message):
        from kraftwire.columns.schema import message_type

        self.message = message
        self.arrow_type = message_type(message)
        self.kept = []
        shape_column(&self.root, self.arrow_type, True)
        self._fill_default(&self.default, &self.root, message, False)
        self.version_count = max(message.VALID_VERSIONS, default=-1) + 1
        self.programs = <Program **>self._block(self.version_count * sizeof(Program *))

    def __dealloc__(self):
        free_column(&self.root)
        free_blocks(self.blocks)

    @property
    def rows(self):
        return self.root.length

    def take(self):
        """Return the rows so far for `pyarrow.array`, and start a new array."""
        check_idle(self.is_busy)
        return hand_over_root(&self.root, self.arrow_type)

    def read(self, data, begins, ends, versions, Py_ssize_t row):
        """Append the messages at `data[begins[i]:ends[i]]` from `i = row` on.

        A version below 0 means null. Returns the first row with unusual content, or the number
        of rows.
        """
        cdef const uint8_t[::1] raw = data
        cdef const int32_t[::1] first = begins
        cdef const int32_t[::1] last = ends
        cdef const int16_t[::1] version = versions
        cdef Py_ssize_t count = first.shape[0], size = raw.shape[0]
        cdef const uint8_t *start = &raw[0] if size else <const uint8_t *>""
        if not (last.shape[0] == version.shape[0] == count and row >= 0):
            raise IndexError(row)
        check_idle(self.is_busy)
        self.is_busy = True
        try:
            while True:
                with nogil:
                    row = self._read(start, size, first, last, version, row)
                if row == count or not self._prepare(version[row]):
                    return row
        finally:
            self.is_busy = False

    cdef Py_ssize_t _read(
        self, const uint8_t *start, Py_ssize_t size, const int32_t[::1] first,
        const int32_t[::1] last, const int16_t[::1] version, Py_ssize_t row
    ) noexcept nogil:
        cdef Py_ssize_t count = first.shape[0], whole = self.root.length
        cdef const uint8_t *end
        # If memory is exhausted, appending the rows fails.
        reserve_whole(&self.root, min(count - row, MOST_AT_ONCE))
        while row < count:
            whole = self.root.length
            if version[row] < 0:
                if append_null(&self.root) < 0:
                    break
            elif (
                version[row] >= self.version_count
                or self.programs[version[row]] == NULL
                or not 0 <= first[row] <= last[row] <= size
            ):
                break
            else:
                end = start + last[row]
                if read_struct(self.programs[version[row]], start + first[row], end) != end:
                    break
            row += 1
        if row < count:
            cut(&self.root, whole)
        return row

    cdef bint _prepare(self, int version) except -1:
        """Compile the program of a version; return False if it exists, or the version does not."""
        if not 0 <= version < self.version_count or self.programs[version] != NULL:
            return False
        if version not in self.message.VALID_VERSIONS:
            return False
        self.programs[version] = self._program(version, self.message, &self.root, &self.default)
        return True

    # -- compiling programs ----------------------------------------------------------------

    cdef void *_block(self, Py_ssize_t size) except NULL:
        return new_block(&self.blocks, size)

    cdef int _fill_default(self, Default *default, Column *column, cls, bint is_null) except -1:
        """Fill in the defaults of a struct and of everything inside it."""
        cdef int i
        cdef Default *child
        fields = cls.LAYOUT.fields
        default.column = column
        default.is_null = is_null
        default.children = <Default *>self._block(len(fields) * sizeof(Default))
        for i, field in enumerate(fields):
            child = &default.children[i]
            child.column = &column.children[i]
            child.is_null = field.default is None
            child.is_optional = field.is_optional_struct
            child.is_float = field.type == "float64"
            if field.is_struct:
                struct = field.struct_class(self.message)
                if field.is_array:
                    child.children = <Default *>self._block(sizeof(Default))
                    self._fill_default(child.children, &child.column.children[0], struct, False)
                else:
                    self._fill_default(child, child.column, struct, child.is_null)
            elif not (field.is_array or child.is_null):
                self._fill_plain(child, field)
        return 0

    cdef int _fill_plain(self, Default *default, field) except -1:
        value = field.default
        if field.type in ("string", "bytes", "records"):
            raw = value.encode() if field.type == "string" else bytes(value)
            self.kept.append(raw)
            default.text = <const uint8_t *>PyBytes_AS_STRING(raw)
            default.size = len(raw)
            return 0
        # Arrow uses the machine's byte order, the packed value the wire's.
        raw = value.bytes if field.type == "uuid" else fixed(field.type).pack(value)
        store_fixed(default.fixed, <const uint8_t *>PyBytes_AS_STRING(raw), STEPS[field.type])
        return 0

    cdef Program *_program(self, int version, cls, Column *column, Default *default) except NULL:
        cdef Program *program = <Program *>self._block(sizeof(Program))
        cdef Default *children = default.children
        layout = cls.LAYOUT.at(version)
        places = {field.name: place for place, field in enumerate(cls.LAYOUT.fields)}
        program.column = column
        program.unknown_tags = &self.unknown_tags
        program.flexible = layout.flexible
        program.takes_bytes = layout.takes_bytes(self.message)
        program.ordinary_count = len(layout.ordinary)
        program.tagged_count = len(layout.tagged)
        program.absent_count = len(layout.absent)
        program.refused_count = len(layout.refused)
        program.ordinary = <Step *>self._block(program.ordinary_count * sizeof(Step))
        program.tagged = <Step *>self._block(program.tagged_count * sizeof(Step))
        program.absent = <Default **>self._block(program.absent_count * sizeof(Default *))
        program.refused = <uint32_t *>self._block(program.refused_count * sizeof(uint32_t))
        for i, field in enumerate(layout.refused):
            program.refused[<int>i] = field.tag
        for i, field in enumerate(layout.ordinary):
            self._step(&program.ordinary[<int>i], version, field, &children[<int>places[field.name]])
        for i, field in enumerate(layout.tagged):
            self._step(&program.tagged[<int>i], version, field, &children[<int>places[field.name]])
        for i, field in enumerate(layout.absent):
            program.absent[<int>i] = &children[<int>places[field.name]]
        return program

    cdef int _step(self, Step *step, int version, field, Default *default) except -1:
        cdef Column *column = default.column
        spec = field.spec
        step.kind = STEP_STRUCT if spec.is_struct else STEPS[spec.element_type]
        step.is_array = spec.is_array
        step.is_plain = step.kind < STEP_TEXT and not step.is_array
        step.compact = field.compact
        step.nullable = field.nullable
        step.is_tagged = field.tag is not None
        step.forgets_defaults = spec.has_struct_default
        step.tag = field.tag or 0
        step.column = column
        step.default = default
        if spec.is_struct:
            struct = spec.struct_class(self.message)
            if step.is_array:
                step.program = self._program(version, struct, &column.children[0], default.children)
            else:
                step.program = self._program(version, struct, column, default)
        return 0
