# Decodes messages to columns with a program: the steps for each struct of a version, which
# `_programs.pxi` compiles from LAYOUT.
#
# Every version of a message fills the same columns, one for each field of any version. Fields
# that a version lacks and tags that were not sent have their defaults.

cdef enum Step_:
    STEP_1
    STEP_2
    STEP_4
    STEP_8
    STEP_16
    STEP_BOOL
    STEP_TEXT
    STEP_BYTES
    STEP_STRUCT

cdef enum:
    MAX_TEXT = 0x7FFF
    MAX_TAG = 0x7FFFFFFE


cdef struct Default:
    # The value of a column if the field was not sent.
    Column *column
    bint is_null
    bint is_optional  # a tagged struct whose null means a struct of defaults
    bint is_float
    uint8_t fixed[16]
    const uint8_t *text
    Py_ssize_t size
    Default *children  # of a struct


cdef struct Step:
    Step_ kind
    bint is_plain  # a number
    bint is_array
    bint compact
    bint nullable
    bint is_tagged
    bint forgets_defaults  # a tagged struct of defaults is treated as not sent
    uint32_t tag
    Column *column
    Default *default
    Program *program


cdef struct Program:
    Column *column
    Step *ordinary
    Step *tagged
    Default **absent
    uint32_t *refused  # tags of fields that only other versions tag
    int64_t *unknown_tags  # their number so far, shared by all programs of the message
    int ordinary_count
    int tagged_count
    int absent_count
    int refused_count
    bint flexible
    bint takes_bytes


# -- defaults ------------------------------------------------------------------------------


cdef int append_null(Column *column) noexcept nogil:
    """Append a null row, or an empty one if the column, inside a null struct, has no nulls."""
    cdef int i
    if reserve_rows(column, 1) < 0:
        return -1
    if column.nullable:
        column.valid[column.length] = 0
    if column.shape == FIXED or column.shape == BOOLEAN:
        memset(column.values + column.length * column.width, 0, column.width)
    elif column.shape == STRUCTURE:
        for i in range(column.child_count):
            if append_null(&column.children[i]) < 0:
                return -1
    else:
        column.offsets[column.length + 1] = <int32_t>end_of(column)
    column.length += 1
    return 0


cdef inline void store_default(uint8_t *to, const Default *default) noexcept nogil:
    """Copy a number; memcpy needs no call if the compiler knows the size."""
    if default.column.width == 8:
        memcpy(to, default.fixed, 8)
    elif default.column.width == 4:
        memcpy(to, default.fixed, 4)
    elif default.column.width == 16:
        memcpy(to, default.fixed, 16)
    else:
        memcpy(to, default.fixed, default.column.width)


cdef int append_default(const Default *default) noexcept nogil:
    cdef Column *column = default.column
    cdef int i
    if default.is_null:
        return append_null(column)
    if column.length == column.capacity and reserve_rows(column, 1) < 0:
        return -1
    if column.nullable:
        column.valid[column.length] = 1
    if column.shape == FIXED or column.shape == BOOLEAN:
        store_default(column.values + column.length * column.width, default)
    elif column.shape == STRUCTURE:
        for i in range(column.child_count):
            if append_default(&default.children[i]) < 0:
                return -1
    elif column.shape == LIST:
        column.offsets[column.length + 1] = <int32_t>end_of(column)
    else:
        return append_content(column, default.text, default.size, default.text + default.size)
    column.length += 1
    return 0


cdef bint is_default(const Default *default) noexcept nogil:
    """Whether the last row of a column equals its default.

    The rule is that of `kraftwire_wire.defaults`, except for unknown tags, which no column has.
    """
    cdef const Column *column = default.column
    cdef Py_ssize_t row = column.length - 1, size
    cdef double number, other
    cdef int i
    if column.nullable and not column.valid[row]:
        return default.is_null
    if default.is_null and not default.is_optional:
        return False
    if column.shape == STRUCTURE:
        for i in range(column.child_count):
            if not is_default(&default.children[i]):
                return False
        return True
    if default.is_float:
        memcpy(&number, column.values + row * 8, 8)
        memcpy(&other, default.fixed, 8)
        return number == other
    if column.shape == FIXED or column.shape == BOOLEAN:
        return memcmp(column.values + row * column.width, default.fixed, column.width) == 0
    size = column.offsets[row + 1] - column.offsets[row]
    if column.shape == LIST or size == 0 or size != default.size:
        return size == default.size
    return memcmp(column.data + column.offsets[row], default.text, size) == 0


cdef int append_content(
    Column *column, const uint8_t *start, Py_ssize_t size, const uint8_t *stop
) noexcept nogil:
    """Append a row of bytes or text; the row has been reserved. `stop` ends the input."""
    cdef Py_ssize_t used = end_of(column)
    if used + size + SLACK > column.data_capacity and reserve_data(column, size) < 0:
        return -1
    if size:
        copy_short(column.data + used, start, size, stop)
    column.offsets[column.length + 1] = <int32_t>(used + size)
    column.length += 1
    return 0


cdef int reserve_whole(Column *column, Py_ssize_t more) noexcept nogil:
    """Make room for more rows of a column and of the structs inside it."""
    cdef int i
    if reserve_rows(column, more) < 0:
        return -1
    if column.shape == STRUCTURE:
        for i in range(column.child_count):
            if reserve_whole(&column.children[i], more) < 0:
                return -1
    return 0


# -- values --------------------------------------------------------------------------------


cdef const uint8_t *read_length(
    const uint8_t *p, const uint8_t *end, bint compact, bint is_short, Py_ssize_t *length
) noexcept nogil:
    """Read a length or count and check that it fits into the input; -1 means null."""
    cdef uint32_t raw
    if compact:
        p = varint(p, end, &raw)
        if p == NULL:
            return NULL
        length[0] = <Py_ssize_t>raw - 1
    elif is_short:
        if end - p < 2:
            return NULL
        length[0] = <int16_t>big16(p)
        p += 2
    else:
        if end - p < 4:
            return NULL
        length[0] = <int32_t>big32(p)
        p += 4
    if length[0] > end - p:
        return NULL
    if length[0] < -1:
        length[0] = -1
    return p


cdef inline void store_fixed(uint8_t *to, const uint8_t *p, Step_ kind) noexcept nogil:
    """Store a number from the wire in the machine's byte order."""
    cdef uint16_t two
    cdef uint32_t four
    cdef uint64_t eight
    if kind == STEP_4:
        four = big32(p)
        memcpy(to, &four, 4)
    elif kind == STEP_8:
        eight = big64(p)
        memcpy(to, &eight, 8)
    elif kind == STEP_2:
        two = big16(p)
        memcpy(to, &two, 2)
    elif kind == STEP_16:
        memcpy(to, p, 16)
    else:
        to[0] = p[0]


cdef const uint8_t *read_content(
    const Step *step, Column *column, const uint8_t *p, const uint8_t *end, bint nullable
) noexcept nogil:
    """Read a string or bytes; the row has been reserved."""
    cdef Py_ssize_t length
    p = read_length(p, end, step.compact, step.kind == STEP_TEXT, &length)
    if p == NULL:
        return NULL
    if length < 0:
        return p if nullable and append_null(column) == 0 else NULL
    if step.kind == STEP_TEXT and (length > MAX_TEXT or not is_utf8(p, length)):
        return NULL
    if column.nullable:
        column.valid[column.length] = 1
    if append_content(column, p, length, end) < 0:
        return NULL
    return p + length


cdef const uint8_t *read_array(
    const Step *step, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    cdef Column *column = step.column
    cdef Column *items = &column.children[0]
    cdef Py_ssize_t count, i
    p = read_length(p, end, step.compact, False, &count)
    if p == NULL:
        return NULL
    if count < 0:
        return p if step.nullable and append_null(column) == 0 else NULL
    if step.kind == STEP_STRUCT:
        if count and not step.program.takes_bytes:
            return NULL
        for i in range(count):
            p = read_struct(step.program, p, end)
            if p == NULL:
                return NULL
    elif reserve_rows(items, count) < 0:
        return NULL
    elif step.kind == STEP_TEXT or step.kind == STEP_BYTES:
        for i in range(count):
            p = read_content(step, items, p, end, False)
            if p == NULL:
                return NULL
    else:
        # The count is at most the bytes left, so that the product cannot overflow.
        if count * items.width > end - p:
            return NULL
        for i in range(count):
            store_fixed(items.values + items.length * items.width, p, step.kind)
            items.length += 1
            p += items.width
    if column.nullable:
        column.valid[column.length] = 1
    if items.length > MAX_DATA:
        return NULL
    column.offsets[column.length + 1] = <int32_t>items.length
    column.length += 1
    return p


cdef inline const uint8_t *read_value(
    const Step *step, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    """Read one field; return NULL if it is unusual."""
    cdef Column *column = step.column
    if not step.is_plain:
        return read_composite(step, p, end)
    if end - p < column.width:
        return NULL
    if column.length == column.capacity and reserve_rows(column, 1) < 0:
        return NULL
    store_fixed(column.values + column.length * column.width, p, step.kind)
    column.length += 1
    return p + column.width


cdef const uint8_t *read_composite(
    const Step *step, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    """Read a field that is not a number."""
    cdef Column *column = step.column
    cdef signed char there
    if step.kind == STEP_STRUCT and not step.is_array:
        if step.nullable:
            if p >= end:
                return NULL
            there = <signed char>p[0]
            p += 1
            if there < 0 and step.is_tagged:
                return NULL
            if there < 0 or (there == 0 and step.is_tagged):
                return p if append_null(column) == 0 else NULL
        return read_struct(step.program, p, end)
    if column.length == column.capacity and reserve_rows(column, 1) < 0:
        return NULL
    if step.is_array:
        return read_array(step, p, end)
    return read_content(step, column, p, end, step.nullable)


cdef const uint8_t *read_struct(
    const Program *program, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    """Read a struct as a row of its column; return NULL if anything is unusual."""
    cdef Column *column = program.column
    cdef int i
    if column.length == column.capacity and reserve_rows(column, 1) < 0:
        return NULL
    for i in range(program.ordinary_count):
        p = read_value(&program.ordinary[i], p, end)
        if p == NULL:
            return NULL
    if program.flexible:
        if program.tagged_count == 0 and p < end and p[0] == 0:
            p += 1
        else:
            p = read_tags(program, p, end)
            if p == NULL:
                return NULL
    for i in range(program.absent_count):
        if append_default(program.absent[i]) < 0:
            return NULL
    if column.nullable:
        column.valid[column.length] = 1
    column.length += 1
    return p


cdef const uint8_t *read_tags(
    const Program *program, const uint8_t *p, const uint8_t *end
) noexcept nogil:
    """Read a tag section, skipping unknown tags."""
    cdef uint32_t count, tag, size, n
    cdef int64_t before = -1, unknown_before
    cdef int next_ = 0
    cdef const Step *step
    p = varint(p, end, &count)
    if p == NULL or count > (end - p) // 2:
        return NULL
    for n in range(count):
        p = varint(p, end, &tag)
        if p == NULL or <int64_t>tag <= before or tag > MAX_TAG:
            return NULL
        before = tag
        p = varint(p, end, &size)
        if p == NULL or size > end - p:
            return NULL
        # Tags are in order, both on the wire and in the program.
        while next_ < program.tagged_count and program.tagged[next_].tag < tag:
            if append_default(program.tagged[next_].default) < 0:
                return NULL
            next_ += 1
        if next_ < program.tagged_count and program.tagged[next_].tag == tag:
            step = &program.tagged[next_]
            next_ += 1
            unknown_before = program.unknown_tags[0]
            if read_value(step, p, p + size) != p + size:
                return NULL
            if step.forgets_defaults and program.unknown_tags[0] == unknown_before:
                if is_default(step.default):
                    cut(step.column, step.column.length - 1)
                    if append_default(step.default) < 0:
                        return NULL
        elif is_refused(program, tag):
            return NULL
        else:
            program.unknown_tags[0] += 1
        p += size
    while next_ < program.tagged_count:
        if append_default(program.tagged[next_].default) < 0:
            return NULL
        next_ += 1
    return p


cdef bint is_refused(const Program *program, uint32_t tag) noexcept nogil:
    cdef int i
    for i in range(program.refused_count):
        if program.refused[i] == tag:
            return True
    return False
