# Encodes instances with the operations of a plan: reads slots and writes one buffer.

cdef inline uint8_t *reserve(Output *output, Py_ssize_t size) except NULL:
    """Append uninitialized bytes and return a pointer to them."""
    cdef Py_ssize_t wanted
    cdef uint8_t *grown
    if size > output.capacity - output.size:
        wanted = max(2 * output.capacity, output.size + size)
        grown = <uint8_t *>PyMem_Realloc(output.data, wanted)
        if grown == NULL:
            raise MemoryError
        output.data = grown
        output.capacity = wanted
    output.size += size
    return output.data + output.size - size


cdef inline void store(uint8_t *p, uint64_t value, Py_ssize_t width) noexcept:
    """Store a number big-endian in `width` bytes."""
    cdef Py_ssize_t i
    for i in range(width):
        p[width - 1 - i] = <uint8_t>(value & 0xFF)
        value >>= 8


cdef inline int put_varint(Output *output, uint32_t value) except -1:
    cdef uint8_t *p
    while value > 0x7F:
        p = reserve(output, 1)
        p[0] = <uint8_t>(value & 0x7F | 0x80)
        value >>= 7
    p = reserve(output, 1)
    p[0] = <uint8_t>value
    return 0


cdef object uuid_number(PyObject *uuid):
    """Return the number of a uuid; give up unless it is an int, as any object can be stored."""
    cdef PyObject *number = slot_of(<object>uuid, UUID_INT)[0]
    if number == NULL or not PyLong_CheckExact(<object>number):
        raise GIVE_UP
    return <object>number


cdef int put_fixed(Output *output, PyObject *given, Kind kind) except -1:
    cdef object value = <object>given
    cdef long long number
    cdef double real
    cdef uint64_t bits
    cdef int overflow = 0
    cdef uint8_t *p
    if kind == BOOL:
        if value is not True and value is not False:
            raise GIVE_UP
        p = reserve(output, 1)
        p[0] = value is True
        return 0
    if kind == UUID_:
        if not is_exactly(given, UUID_CLASS):
            raise GIVE_UP
        value = uuid_number(given)
        p = reserve(output, 16)
        store(p, <uint64_t>(value >> SIXTY_FOUR), 8)
        store(p + 8, <uint64_t>(value & 0xFFFFFFFFFFFFFFFF), 8)
        return 0
    if kind == FLOAT64:
        if not PyFloat_CheckExact(value):
            raise GIVE_UP
        real = PyFloat_AS_DOUBLE(value)
        memcpy(&bits, &real, 8)
        store(reserve(output, 8), bits, 8)
        return 0
    if not PyLong_CheckExact(value):
        raise GIVE_UP
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        raise GIVE_UP
    if kind == INT32:
        if number != <int32_t>number:
            raise GIVE_UP
    elif kind == INT16:
        if number != <int16_t>number:
            raise GIVE_UP
    elif kind == INT8:
        if number != <signed char>number:
            raise GIVE_UP
    elif kind == UINT16:
        if not 0 <= number <= 0xFFFF:
            raise GIVE_UP
    elif kind == UINT32:
        if not 0 <= number <= 0xFFFFFFFF:
            raise GIVE_UP
    store(reserve(output, WIDTHS[<int>kind]), <uint64_t>number, WIDTHS[<int>kind])
    return 0


cdef inline int put_length(Output *output, Py_ssize_t length, bint compact, Py_ssize_t width) except -1:
    """Write a length or count; -1 means null."""
    if compact:
        return put_varint(output, <uint32_t>(length + 1))
    store(reserve(output, width), <uint64_t>length, width)
    return 0


cdef int put_text(Output *output, PyObject *given, bint compact) except -1:
    cdef object value = <object>given
    cdef Py_ssize_t size
    cdef const char *text
    if not PyUnicode_CheckExact(value):
        raise GIVE_UP
    text = PyUnicode_AsUTF8AndSize(value, &size)
    if size > MAX_STRING:
        raise GIVE_UP
    put_length(output, size, compact, 2)
    memcpy(reserve(output, size) if size else <uint8_t *>text, text, size)
    return 0


cdef int put_array(Output *output, PyObject *given, Op *op, bint flexible) except -1:
    cdef object items = <object>given
    cdef Py_ssize_t count, i
    cdef PyObject *item
    if not PyList_CheckExact(items):
        raise GIVE_UP
    count = PyList_GET_SIZE(items)
    if count >= MAX_LENGTH:
        raise GIVE_UP
    put_length(output, count, op.compact, 4)
    for i in range(count):
        item = PyList_GET_ITEM(items, i)
        if op.kind == STRUCT:
            put_struct(output, item, op.plan, flexible)
        elif op.kind == STRING:
            put_text(output, item, op.compact)
        elif op.kind == BYTES:
            raise GIVE_UP
        else:
            put_fixed(output, item, op.kind)
    return 0


cdef int put_value(Output *output, PyObject *value, Op *op, bint flexible) except -1:
    cdef Py_ssize_t size
    cdef uint8_t *p
    if value == Py_None and (op.nullable or op.is_optional):
        return put_null(output, op, flexible)
    if op.is_array:
        return put_array(output, value, op, flexible)
    if op.kind < STRING:
        return put_fixed(output, value, op.kind)
    if op.kind == STRUCT:
        if op.nullable:
            p = reserve(output, 1)
            p[0] = 1
        return put_struct(output, value, op.plan, flexible)
    if op.kind == STRING:
        return put_text(output, value, op.compact)
    if not PyBytes_CheckExact(<object>value):
        raise GIVE_UP
    size = PyBytes_GET_SIZE(<object>value)
    if size >= MAX_LENGTH:
        raise GIVE_UP
    put_length(output, size, op.compact, 4)
    if size:
        memcpy(reserve(output, size), PyBytes_AS_STRING(<object>value), size)
    return 0


cdef int put_null(Output *output, Op *op, bint flexible) except -1:
    cdef uint8_t *p
    if op.is_array or op.kind != STRUCT:
        return put_length(output, -1, op.compact, 2 if op.kind == STRING and not op.is_array else 4)
    if op.nullable:
        p = reserve(output, 1)
        p[0] = 0 if op.is_tagged else 0xFF
        return 0
    return put_struct(output, op.plan.defaults, op.plan, flexible)


cdef int put_struct(Output *output, PyObject *given, Plan *plan, bint flexible) except -1:
    cdef object instance = <object>given
    cdef PyObject *value
    cdef uint8_t *p
    cdef int i
    if not is_exactly(given, plan.cls):
        raise GIVE_UP
    if has_unknown_tags(instance, plan):
        raise GIVE_UP
    for i in range(plan.absent_count):
        if plan.absent[i].is_refused:
            if differs(slot_of(instance, plan.absent[i].slot)[0], &plan.absent[i]):
                raise GIVE_UP
    for i in range(plan.ordinary_count):
        value = slot_of(instance, plan.ops[i].slot)[0]
        if value == NULL:
            raise GIVE_UP
        put_value(output, value, &plan.ops[i], flexible)
    if flexible:
        if plan.tagged_count:
            put_tags(output, instance, plan)
        else:
            p = reserve(output, 1)
            p[0] = 0
    return 0


cdef int put_tags(Output *output, object instance, Plan *plan) except -1:
    cdef Py_ssize_t count_at = output.size, start, size, width
    cdef PyObject *value
    cdef uint32_t rest
    cdef int i
    cdef uint8_t *p = reserve(output, 1)
    p[0] = 0
    for i in range(plan.tagged_count):
        value = slot_of(instance, plan.tagged[i].slot)[0]
        if not differs(value, &plan.tagged[i]):
            continue
        output.data[count_at] += 1  # stays below 128: `_plan_of` limits the tags
        put_varint(output, plan.tagged[i].tag)
        start = output.size
        reserve(output, 1)
        put_value(output, value, &plan.tagged[i], True)
        size = output.size - start - 1
        if size > MAX_LENGTH:
            raise GIVE_UP
        width = 1
        rest = <uint32_t>size >> 7
        while rest:
            width += 1
            rest >>= 7
        if width > 1:
            reserve(output, width - 1)
            memmove(output.data + start + width, output.data + start + 1, size)
        output.size = start
        put_varint(output, <uint32_t>size)
        output.size = start + width + size
    return 0
