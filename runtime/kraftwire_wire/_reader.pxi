# Decodes bytes to instances with the operations of a plan.

cdef inline int need(Input *input, Py_ssize_t size) except -1:
    if size > input.end - input.at:
        raise GIVE_UP
    return 0


cdef inline uint32_t read_varint(Input *input) except? 0xFFFFFFFF:
    cdef uint32_t value
    cdef const uint8_t *stop
    need(input, 1)
    if input.at[0] < 0x80:
        input.at += 1
        return (input.at - 1)[0]
    stop = varint(input.at, input.end, &value)
    if stop == NULL:
        raise GIVE_UP
    input.at = stop
    return value


cdef object read_uuid(Input *input):
    need(input, 16)
    cdef uint64_t high = big64(input.at), low = big64(input.at + 8)
    input.at += 16
    cdef object number = PyLong_FromUnsignedLongLong(low)
    if high:
        number = (PyLong_FromUnsignedLongLong(high) << SIXTY_FOUR) | number
    cdef object value = new_instance(UUID_CLASS)
    set_slot(value, UUID_INT, number)
    set_slot(value, UUID_SAFE, UNKNOWN_SAFETY)
    return value


cdef object read_fixed(Input *input, Kind kind):
    cdef const uint8_t *p
    cdef uint64_t bits
    cdef double number
    if kind == UUID_:
        return read_uuid(input)
    need(input, WIDTHS[<int>kind])
    p = input.at
    input.at += WIDTHS[<int>kind]
    if kind == INT32:
        return PyLong_FromLong(<int32_t>big32(p))
    if kind == INT16:
        return PyLong_FromLong(<int16_t>big16(p))
    if kind == INT64:
        return PyLong_FromLongLong(<int64_t>big64(p))
    if kind == INT8:
        return PyLong_FromLong(<signed char>p[0])
    if kind == BOOL:
        return p[0] != 0
    if kind == UINT16:
        return PyLong_FromLong(big16(p))
    if kind == UINT32:
        return PyLong_FromLongLong(big32(p))
    bits = big64(p)
    memcpy(&number, &bits, 8)
    return PyFloat_FromDouble(number)


cdef inline Py_ssize_t read_length(
    Input *input, bint compact, bint is_short, bint nullable
) except -2:
    """Read a length or count; -1 means null, if allowed. `is_short` means int16, for strings."""
    cdef Py_ssize_t length
    if compact:
        length = <Py_ssize_t>read_varint(input) - 1
    elif is_short:
        need(input, 2)
        length = <int16_t>big16(input.at)
        input.at += 2
    else:
        need(input, 4)
        length = <int32_t>big32(input.at)
        input.at += 4
    if length < 0:
        if not nullable:
            raise GIVE_UP
        return -1
    need(input, length)
    return length


cdef inline object read_text(Input *input, Py_ssize_t length):
    if length > MAX_STRING:
        raise GIVE_UP
    cdef const char *start = <const char *>input.at
    input.at += length
    return PyUnicode_DecodeUTF8(start, length, NULL)


cdef inline object read_bytes(Input *input, Py_ssize_t length):
    cdef const char *start = <const char *>input.at
    input.at += length
    return PyBytes_FromStringAndSize(start, length)


cdef object read_structs(Input *input, Op *op, bint flexible):
    cdef Py_ssize_t count = read_length(input, op.compact, False, op.nullable), i
    cdef object items, item
    if count < 0:
        return None
    if count and not op.plan.takes_bytes:
        raise GIVE_UP
    items = PyList_New(count)
    for i in range(count):
        item = read_struct(input, op.plan, flexible)
        Py_INCREF(item)
        PyList_SET_ITEM(items, i, item)
    return items


cdef object read_array(Input *input, Op *op, bint flexible):
    if op.kind == STRUCT:
        return read_structs(input, op, flexible)
    cdef Py_ssize_t count = read_length(input, op.compact, False, op.nullable), i
    cdef object items, item
    if count < 0:
        return None
    if op.kind <= UUID_:
        # The count is at most the bytes left, so that the product cannot overflow.
        need(input, count * WIDTHS[<int>op.kind])
    items = PyList_New(count)
    for i in range(count):
        if op.kind == STRING:
            item = read_text(input, read_length(input, op.compact, True, False))
        elif op.kind == BYTES:
            raise GIVE_UP
        else:
            item = read_fixed(input, op.kind)
        Py_INCREF(item)
        PyList_SET_ITEM(items, i, item)
    return items


cdef object read_value(Input *input, Op *op, bint flexible):
    cdef Py_ssize_t length
    if op.is_array:
        return read_array(input, op, flexible)
    if op.kind < STRING:
        return read_fixed(input, op.kind)
    if op.kind == STRUCT:
        if op.nullable:
            need(input, 1)
            length = <signed char>input.at[0]
            input.at += 1
            if op.is_tagged:
                if length < 0:
                    raise GIVE_UP
                if length == 0:
                    return None
            elif length < 0:
                return None
        return read_struct(input, op.plan, flexible)
    length = read_length(input, op.compact, op.kind == STRING, op.nullable)
    if length < 0:
        return None
    if op.kind == STRING:
        return read_text(input, length)
    return read_bytes(input, length)


cdef object read_struct(Input *input, Plan *plan, bint flexible):
    cdef object instance = new_instance(plan.cls)
    cdef const uint8_t *p
    cdef Py_ssize_t length
    cdef Op *op = plan.ops
    while op < plan.tagged:
        # The most common types are read inline, all others by `read_value`.
        if op.shortcut == INT32:
            need(input, 4)
            p = input.at
            input.at = p + 4
            slot_of(instance, op.slot)[0] = new_long(<int32_t>big32(p))
        elif op.shortcut == INT64:
            need(input, 8)
            p = input.at
            input.at = p + 8
            slot_of(instance, op.slot)[0] = new_long_long(<int64_t>big64(p))
        elif op.shortcut == INT16:
            need(input, 2)
            p = input.at
            input.at = p + 2
            slot_of(instance, op.slot)[0] = new_long(<int16_t>big16(p))
        elif op.shortcut == STRUCT:
            set_slot(instance, op.slot, read_structs(input, op, flexible))
        elif op.shortcut >= STRING:
            length = read_length(input, op.compact, op.shortcut == STRING, op.nullable)
            p = input.at
            if length < 0:
                set_slot(instance, op.slot, None)
            elif op.shortcut == BYTES:
                input.at = p + length
                slot_of(instance, op.slot)[0] = new_bytes(<const char *>p, length)
            elif length > MAX_STRING:
                raise GIVE_UP
            else:
                input.at = p + length
                slot_of(instance, op.slot)[0] = new_text(<const char *>p, length, NULL)
        else:
            set_slot(instance, op.slot, read_value(input, op, flexible))
        op += 1
    while op < plan.ops + plan.op_count:
        set_default(instance, op)
        op += 1
    if flexible:
        need(input, 1)
        if input.at[0] == 0:
            input.at += 1
        else:
            read_tags(input, plan, instance)
    return instance


cdef int read_tags(Input *input, Plan *plan, object instance) except -1:
    cdef uint32_t count = read_varint(input), size, tag, i
    cdef int64_t before = -1
    cdef const uint8_t *stop
    cdef object value
    cdef Op *op
    if count > (input.end - input.at) // 2:
        raise GIVE_UP
    for i in range(count):
        tag = read_varint(input)
        size = read_varint(input)
        need(input, size)
        if not before < tag < MAX_LENGTH:
            raise GIVE_UP
        before = tag
        stop = input.at + size
        op = find_tag(plan, tag)
        if op != NULL:
            value = read_value(input, op, True)
            if input.at != stop:
                raise GIVE_UP
            if op.forgets_defaults and value is not None:
                if not struct_differs(<PyObject *>value, op.plan):
                    continue  # the slot holds the default already
            replace_slot(instance, op.slot, value)
        else:
            if slot_of(instance, plan.unknown_tags)[0] == NULL:
                slot_of(instance, plan.unknown_tags)[0] = new_list(0)
            (<list>slot_of(instance, plan.unknown_tags)[0]).append(
                (tag, PyBytes_FromStringAndSize(<const char *>input.at, size))
            )
            input.at = stop
    return 0


cdef Op *find_tag(Plan *plan, uint32_t tag) except? NULL:
    """Return the field of a tag, or NULL if no version has the tag."""
    cdef int i
    for i in range(plan.tagged_count):
        if plan.tagged[i].tag == tag:
            return &plan.tagged[i]
    for i in range(plan.refused_count):
        if plan.refused[i] == tag:
            raise GIVE_UP
    return NULL
