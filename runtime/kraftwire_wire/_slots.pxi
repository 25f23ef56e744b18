# Reads and writes slots of instances without Python frames, and compares them with defaults.

cdef inline PyObject **slot_of(object instance, Py_ssize_t offset) noexcept:
    return <PyObject **>(<char *><PyObject *>instance + offset)


cdef inline void set_slot(object instance, Py_ssize_t offset, object value) noexcept:
    """Store a value into an empty slot of a new instance."""
    Py_INCREF(value)
    slot_of(instance, offset)[0] = <PyObject *>value


cdef inline void replace_slot(object instance, Py_ssize_t offset, object value) noexcept:
    cdef PyObject *before = slot_of(instance, offset)[0]
    Py_INCREF(value)
    slot_of(instance, offset)[0] = <PyObject *>value
    Py_XDECREF(before)


cdef inline int set_default(object instance, Op *op) except -1:
    if op.default_kind == SHARED:
        set_slot(instance, op.slot, <object>op.default)
    elif op.default_kind == EMPTY_LIST:
        slot_of(instance, op.slot)[0] = new_list(0)
    else:
        set_slot(instance, op.slot, default_struct(op.plan))
    return 0


cdef object default_struct(Plan *plan):
    """Return a struct of defaults, equal to what the class returns, without a Python frame."""
    cdef object instance = new_instance(plan.cls)
    cdef int i
    for i in range(plan.op_count):
        set_default(instance, &plan.ops[i])
    return instance


cdef bint differs(PyObject *value, Op *op) except -1:
    """Whether a field is not at its default; the rule is that of `kraftwire_wire.defaults`."""
    cdef PyObject *default = op.default
    if value == NULL:
        raise GIVE_UP
    if value == Py_None and op.nullable:
        return default != Py_None
    if op.default_kind == EMPTY_LIST:
        if not PyList_CheckExact(<object>value):
            raise GIVE_UP
        return PyList_GET_SIZE(<object>value) != 0
    if op.default_kind == NEW_STRUCT or op.is_optional:
        if value == Py_None and op.is_optional:
            return False
        return struct_differs(value, op.plan)
    if value == default:
        return False
    if default == Py_None or default == <PyObject *>True or default == <PyObject *>False:
        return True
    # Two ints, floats, strings or bytes, which are compared in C: see `_default_of`.
    if not same_type(value, default):
        raise GIVE_UP
    if op.kind == UUID_:
        return PyObject_RichCompareBool(uuid_number(value), uuid_number(default), Py_NE)
    return PyObject_RichCompareBool(<object>value, <object>default, Py_NE)


cdef inline bint has_unknown_tags(object instance, Plan *plan) except -1:
    """Whether a struct has unknown tagged fields; the slot may be empty, see `Struct`."""
    cdef PyObject *tags = slot_of(instance, plan.unknown_tags)[0]
    if tags == NULL:
        return False
    if not PyList_CheckExact(<object>tags):
        raise GIVE_UP
    return PyList_GET_SIZE(<object>tags) != 0


cdef bint struct_differs(PyObject *value, Plan *plan) except -1:
    """Whether a struct differs from its defaults; unknown tags count too."""
    cdef int i
    if not is_exactly(value, plan.cls):
        raise GIVE_UP
    if has_unknown_tags(<object>value, plan):
        return True
    for i in range(plan.op_count):
        if differs(slot_of(<object>value, plan.ops[i].slot)[0], &plan.ops[i]):
            return True
    return False
