# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False
"""The native object engine: one version of one message, read and written without Python frames.

A codec is made from LAYOUT: a table of operations (`Op`) for each struct, with the place of
each field in the instance. Decoding allocates instances of the generated classes and stores
into their slots; encoding reads the slots and writes one buffer.

Rules:
- what the emitted code accepts as usual is done here, in the same way; whatever is unusual
  (damage, a wrong type, unknown tags to write, lenient reading) is given up, and the
  emitted code does the work again and words the error;
- structs do not hold themselves, so that nothing goes deeper than the plan;
- encoding runs no Python code: every value that is compared or converted has exactly the type of
  its field, down to the number in a uuid. So nothing can change or go away meanwhile, and the
  references that are borrowed from slots and lists stay valid until the bytes are written;
- every read is checked against the end of the input before it is made, every size before
  anything is allocated; sizes are 64-bit, and no two of them are multiplied unchecked;
- the collector rests while a message is built, since none of it can be garbage yet, and is
  set going again whatever happens.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact, PyFloat_FromDouble
from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_CheckExact, PyLong_FromLong, PyLong_FromLongLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport Py_NE, PyObject, PyObject_RichCompareBool, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from uuid import UUID, SafeUUID

from kraftwire_wire.codec import Codec
from kraftwire_wire.specialized_source import GIVES_UP, NotSpecialized, Unusual

include "_big_endian.pxi"


cdef extern from *:
    """
    #include <structmember.h>

    /* The offset of a slot's member; -1 if the descriptor is not a plain object slot of the class. */
    static Py_ssize_t slot_offset(PyObject *cls, PyObject *descriptor) {
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return -1;
        if ((PyObject *) PyDescr_TYPE(descriptor) != cls) return -1;
        PyMemberDef *member = ((PyMemberDescrObject *) descriptor)->d_member;
        return member->type == T_OBJECT_EX && member->flags == 0 ? member->offset : -1;
    }

    static PyObject *new_instance(PyTypeObject *cls) { return cls->tp_alloc(cls, 0); }
    static int is_exactly(PyObject *value, PyTypeObject *cls) { return Py_IS_TYPE(value, cls); }
    static int same_type(PyObject *one, PyObject *other) { return Py_TYPE(one) == Py_TYPE(other); }
    """
    Py_ssize_t slot_offset(object cls, object descriptor)
    object new_instance(PyTypeObject *cls)
    bint is_exactly(PyObject *value, PyTypeObject *cls)
    bint same_type(PyObject *one, PyObject *other)
    int PyGC_Disable()
    int PyGC_Enable()
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1
    const char *PyUnicode_AsUTF8AndSize(object value, Py_ssize_t *size) except NULL
    object PyLong_FromUnsignedLongLong(unsigned long long value)
    PyObject *Py_None

    # New references as pointers, which go into slots without being counted twice.
    PyObject *new_long "PyLong_FromLong" (long value) except NULL
    PyObject *new_long_long "PyLong_FromLongLong" (long long value) except NULL
    PyObject *new_text "PyUnicode_DecodeUTF8" (
        const char *start, Py_ssize_t size, const char *errors) except NULL
    PyObject *new_bytes "PyBytes_FromStringAndSize" (const char *start, Py_ssize_t size) except NULL
    PyObject *new_list "PyList_New" (Py_ssize_t size) except NULL


cdef enum Kind:
    BOOL
    INT8
    INT16
    UINT16
    INT32
    UINT32
    INT64
    FLOAT64
    UUID_
    STRING
    BYTES
    STRUCT


cdef enum Default:
    SHARED  # an immutable object
    EMPTY_LIST
    NEW_STRUCT


cdef struct Plan:
    PyTypeObject *cls
    Op *ordinary
    Op *tagged
    Op *absent  # what is not in the version: set to its default, and compared with it
    uint32_t *refused  # tags that only other versions know
    int ordinary_count
    int tagged_count
    int absent_count
    int refused_count
    Py_ssize_t unknown_tags
    bint takes_bytes
    PyObject *defaults  # an instance, to compare with


cdef struct Op:
    Kind kind
    int shortcut  # the kind, but for uuids, single structs, and arrays of anything but structs
    bint is_array
    bint compact
    bint nullable
    bint is_optional
    bint is_tagged
    bint is_refused  # where the version does not have the field: it must be at its default
    bint forgets_defaults  # a tagged struct of defaults is read as if it was not sent
    uint32_t tag
    Py_ssize_t slot
    Plan *plan
    Default default_kind
    PyObject *default


cdef struct Input:
    const uint8_t *at
    const uint8_t *end
    const uint8_t *start


cdef struct Output:
    uint8_t *data
    Py_ssize_t size
    Py_ssize_t capacity


cdef dict KINDS = {
    "bool": BOOL, "int8": INT8, "int16": INT16, "uint16": UINT16, "int32": INT32,
    "uint32": UINT32, "int64": INT64, "float64": FLOAT64, "uuid": UUID_, "string": STRING,
    "bytes": BYTES, "records": BYTES,
}

cdef Py_ssize_t WIDTHS[9]
WIDTHS[:] = [1, 1, 2, 2, 4, 4, 8, 8, 16]

cdef Py_ssize_t MAX_STRING = 0x7FFF
cdef Py_ssize_t MAX_LENGTH = 0x7FFFFFFF
cdef uint32_t KNOWN_TAGS = 64
"""Tags below this are looked at one by one; no message of Kafka's has higher ones."""

cdef Py_ssize_t LARGEST_GUESS = 1 << 20
"""A codec begins with a buffer as large as its last message needed, up to this."""

cdef object GIVE_UP = Unusual
cdef PyTypeObject *UUID_CLASS = <PyTypeObject *>UUID
cdef Py_ssize_t UUID_INT = slot_offset(UUID, UUID.__dict__["int"])
cdef Py_ssize_t UUID_SAFE = slot_offset(UUID, UUID.__dict__["is_safe"])
cdef object UNKNOWN_SAFETY = SafeUUID.unknown
cdef object SIXTY_FOUR = 64


# -- slots ---------------------------------------------------------------------------------


cdef inline PyObject **slot_of(object instance, Py_ssize_t offset) noexcept:
    return <PyObject **>(<char *><PyObject *>instance + offset)


cdef inline void set_slot(object instance, Py_ssize_t offset, object value) noexcept:
    """Store into a slot of an instance that is new: nothing is there yet to be released."""
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
    """A new struct of defaults, as the class itself makes it, without a Python frame."""
    cdef object instance = new_instance(plan.cls)
    cdef int i
    for i in range(plan.ordinary_count):
        set_default(instance, &plan.ordinary[i])
    for i in range(plan.tagged_count):
        set_default(instance, &plan.tagged[i])
    for i in range(plan.absent_count):
        set_default(instance, &plan.absent[i])
    return instance


# -- reading -------------------------------------------------------------------------------


cdef inline int need(Input *input, Py_ssize_t size) except -1:
    if size > input.end - input.at:
        raise GIVE_UP
    return 0


cdef inline uint32_t read_varint(Input *input) except? 0xFFFFFFFF:
    """An unsigned varint of 32 bits; overlong forms and those above 2**31 are given up."""
    cdef uint32_t byte, value
    cdef int shift
    need(input, 1)
    value = input.at[0]
    input.at += 1
    if value < 0x80:
        return value
    value &= 0x7F
    for shift in range(7, 35, 7):
        need(input, 1)
        byte = input.at[0]
        input.at += 1
        if shift == 28 and byte > 7:
            raise GIVE_UP
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0:
                raise GIVE_UP
            return value
    raise GIVE_UP


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


cdef inline Py_ssize_t read_length(Input *input, Op *op) except -2:
    """The length of a string or of bytes, or a count; -1 for null, which must be allowed."""
    cdef Py_ssize_t length
    if op.compact:
        length = <Py_ssize_t>read_varint(input) - 1
    elif op.kind == STRING and not op.is_array:
        need(input, 2)
        length = <int16_t>big16(input.at)
        input.at += 2
    else:
        need(input, 4)
        length = <int32_t>big32(input.at)
        input.at += 4
    if length < 0:
        if not op.nullable:
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


cdef object read_element_text(Input *input, Op *op):
    """A string of an array, which is never null."""
    cdef Py_ssize_t length
    if op.compact:
        length = <Py_ssize_t>read_varint(input) - 1
    else:
        need(input, 2)
        length = <int16_t>big16(input.at)
        input.at += 2
    if length < 0:
        raise GIVE_UP
    need(input, length)
    return read_text(input, length)


cdef object read_structs(Input *input, Op *op, bint flexible):
    """An array of structs, or null."""
    cdef Py_ssize_t count = read_length(input, op), i
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
    cdef Py_ssize_t count = read_length(input, op), i
    cdef object items, item
    if count < 0:
        return None
    if op.kind <= UUID_:
        # The count is at most the bytes left, so that the product cannot overflow.
        need(input, count * WIDTHS[<int>op.kind])
    items = PyList_New(count)
    for i in range(count):
        if op.kind == STRING:
            item = read_element_text(input, op)
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
    length = read_length(input, op)
    if length < 0:
        return None
    if op.kind == STRING:
        return read_text(input, length)
    return read_bytes(input, length)


cdef object read_struct(Input *input, Plan *plan, bint flexible):
    cdef object instance = new_instance(plan.cls)
    cdef const uint8_t *p
    cdef Py_ssize_t length
    cdef Op *op = plan.ordinary
    cdef Op *last = op + plan.ordinary_count
    while op < last:
        # What occurs most is read here, everything else by `read_value`.
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
            length = read_length(input, op)
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
    op = plan.tagged
    last = op + plan.tagged_count
    while op < last:
        set_default(instance, op)
        op += 1
    op = plan.absent
    last = op + plan.absent_count
    while op < last:
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
    """The field of a tag; NULL where the tag is not known in any version."""
    cdef int i
    for i in range(plan.tagged_count):
        if plan.tagged[i].tag == tag:
            return &plan.tagged[i]
    for i in range(plan.refused_count):
        if plan.refused[i] == tag:
            raise GIVE_UP
    return NULL


# -- writing -------------------------------------------------------------------------------


cdef inline uint8_t *reserve(Output *output, Py_ssize_t size) except NULL:
    """Room for some bytes, which are counted as written."""
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
    """A number of some bytes, the highest first."""
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
    """The number in a uuid, which must be an exact int: any object can be stored there."""
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
    """A length, a count, or -1 for null."""
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


cdef bint differs(PyObject *value, Op *op) except -1:
    """Whether a field is not at its default, as the emitted code has it."""
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
    # Two ints, floats, strings or bytes, whose comparison is C: see `_default_of`.
    if not same_type(value, default):
        raise GIVE_UP
    if op.kind == UUID_:
        return PyObject_RichCompareBool(uuid_number(value), uuid_number(default), Py_NE)
    return PyObject_RichCompareBool(<object>value, <object>default, Py_NE)


cdef inline bint has_unknown_tags(object instance, Plan *plan) except -1:
    """Whether a struct has unknown tagged fields; see `Struct` for a slot that is empty."""
    cdef PyObject *tags = slot_of(instance, plan.unknown_tags)[0]
    if tags == NULL:
        return False
    if not PyList_CheckExact(<object>tags):
        raise GIVE_UP
    return PyList_GET_SIZE(<object>tags) != 0


cdef bint struct_differs(PyObject *value, Plan *plan) except -1:
    """Whether a struct is not one of defaults; unknown tags count too."""
    cdef int i
    if not is_exactly(value, plan.cls):
        raise GIVE_UP
    if has_unknown_tags(<object>value, plan):
        return True
    for i in range(plan.ordinary_count):
        if differs(slot_of(<object>value, plan.ordinary[i].slot)[0], &plan.ordinary[i]):
            return True
    for i in range(plan.tagged_count):
        if differs(slot_of(<object>value, plan.tagged[i].slot)[0], &plan.tagged[i]):
            return True
    for i in range(plan.absent_count):
        if differs(slot_of(<object>value, plan.absent[i].slot)[0], &plan.absent[i]):
            return True
    return False


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
        value = slot_of(instance, plan.ordinary[i].slot)[0]
        if value == NULL:
            raise GIVE_UP
        put_value(output, value, &plan.ordinary[i], flexible)
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
        output.data[count_at] += 1  # fewer than 128: `plan_of` sees to it
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


include "_blocks.pxi"


# -- codecs --------------------------------------------------------------------------------


@cython.final
@cython.no_gc_clear
cdef class NativeCodec:
    """Reads and writes one version of one message; see `kraftwire_wire.codec.Codec`.

    The collector leaves `_kept` alone, since the plans point to what is in it.
    """

    cdef readonly object message
    cdef readonly int version
    cdef object _python
    cdef list _kept  # what the plans point to
    cdef dict _plans
    cdef set _open
    cdef Plan *_plan
    cdef Block *_blocks
    cdef bint _flexible
    cdef Py_ssize_t _expected

    def __cinit__(self, message, int version):
        cdef Plan *plan
        self.message = message
        self.version = version
        self._python = Codec(message, version)
        self._kept = []
        self._plans = {}
        self._open = set()
        self._flexible = message.LAYOUT.at(version).flexible
        self._expected = 256
        if UUID_INT < 0 or UUID_SAFE < 0:
            raise NotSpecialized("uuids of another kind")
        plan = self._plan_of(message)
        self._make_defaults()
        # Last, since classes run their own code on the way, and could find this codec half made.
        self._plan = plan

    def __dealloc__(self):
        free_blocks(self._blocks)

    def decode(self, data, *, bint lenient=False):
        """Read one message that fills `data`; see `Message.decode`."""
        cdef tuple found
        if not lenient and PyBytes_CheckExact(data):
            try:
                found = self.read(data, 0)
                if found[1] == PyBytes_GET_SIZE(data):
                    return found[0]
            except GIVES_UP:
                pass
        return self._python.decode(data, lenient=lenient)

    def decode_from(self, data, position=0, *, bint lenient=False):
        """Read one message that starts at `position`, and say where it ends."""
        if not lenient and PyBytes_CheckExact(data):
            try:
                return self.read(data, position)
            except GIVES_UP:
                pass
        return self._python.decode_from(data, position, lenient=lenient)

    def check_end(self, data, end):
        """Refuse bytes behind the end of a message."""
        self._python.check_end(data, end)

    def encode(self, message):
        """The bytes of a message; see `Message.encode`."""
        try:
            return self.write(message)
        except GIVES_UP:
            pass
        return self._python.encode(message)

    def __reduce__(self):
        """Unpickle as the codec of the engine that runs there."""
        return self.message.codec, (self.version,)

    cpdef tuple read(self, bytes data, Py_ssize_t position):
        """The message that starts at a position, and where it ends; one of `GIVES_UP` else."""
        cdef Input input
        cdef object message
        cdef int was_enabled
        if self._plan == NULL or data is None or not 0 <= position <= PyBytes_GET_SIZE(data):
            raise GIVE_UP
        input.start = <const uint8_t *>PyBytes_AS_STRING(data)
        input.at = input.start + position
        input.end = input.start + PyBytes_GET_SIZE(data)
        was_enabled = PyGC_Disable()
        try:
            message = read_struct(&input, self._plan, self._flexible)
        finally:
            if was_enabled:
                PyGC_Enable()
        return message, input.at - input.start

    cpdef bytes write(self, message):
        """The bytes of a message; one of `GIVES_UP` where the emitted code has to look at it."""
        cdef Output output
        if self._plan == NULL:
            raise GIVE_UP
        output.data = <uint8_t *>PyMem_Malloc(self._expected)
        output.size = 0
        output.capacity = self._expected
        if output.data == NULL:
            raise MemoryError
        try:
            put_struct(&output, <PyObject *>message, self._plan, self._flexible)
            if output.size > self._expected:
                self._expected = min(output.size, LARGEST_GUESS)
            return PyBytes_FromStringAndSize(<const char *>output.data, output.size)
        finally:
            PyMem_Free(output.data)

    # -- making plans ----------------------------------------------------------------------

    cdef void *_block(self, Py_ssize_t size) except NULL:
        return new_block(&self._blocks, size)

    cdef Plan *_plan_of(self, cls) except NULL:
        """The plan of a struct; one for each class, as structs may hold themselves."""
        if cls in self._plans:
            if cls in self._open:
                raise NotSpecialized("a struct that holds itself")
            return <Plan *><size_t>self._plans[cls]
        self._open.add(cls)
        cdef Plan *plan = <Plan *>self._block(sizeof(Plan))
        self._plans[cls] = <size_t>plan
        self._kept.append(cls)
        if cls.__new__ is not object.__new__:
            raise NotSpecialized(f"{cls.__name__} has a __new__ of its own")
        layout = cls.LAYOUT.at(self.version)
        if len(layout.tagged) > KNOWN_TAGS:
            raise NotSpecialized("more tags than this engine counts")
        plan.cls = <PyTypeObject *>cls
        plan.unknown_tags = self._slot(cls, "unknown_tagged_fields")
        plan.takes_bytes = layout.takes_bytes(self.message)
        plan.ordinary = self._ops(cls, layout.ordinary)
        plan.ordinary_count = len(layout.ordinary)
        plan.tagged = self._ops(cls, layout.tagged)
        plan.tagged_count = len(layout.tagged)
        plan.absent = self._ops(cls, layout.absent)
        plan.absent_count = len(layout.absent)
        plan.refused_count = len(layout.refused)
        plan.refused = <uint32_t *>self._block(plan.refused_count * sizeof(uint32_t))
        for i, field in enumerate(layout.refused):
            plan.refused[<int>i] = field.tag
        self._open.remove(cls)
        return plan

    cdef Op *_ops(self, cls, fields) except NULL:
        cdef Op *ops = <Op *>self._block(len(fields) * sizeof(Op))
        for i, field in enumerate(fields):
            self._fill(&ops[i], cls, field)
        return ops

    cdef int _fill(self, Op *op, cls, field) except -1:
        spec = field.spec
        element = spec.element_type
        op.kind = STRUCT if spec.is_struct else KINDS[element]
        op.is_array = spec.is_array
        op.shortcut = -1
        if op.is_array == (op.kind == STRUCT) and op.kind != UUID_:
            op.shortcut = op.kind
        op.compact = field.compact
        op.nullable = field.nullable
        op.is_optional = spec.is_optional_struct
        op.is_tagged = field.tag is not None
        op.is_refused = not spec.ignorable
        op.tag = field.tag or 0
        op.slot = self._slot(cls, field.name)
        if spec.is_struct:
            op.plan = self._plan_of(element.class_in(self.message))
        default = self._default_of(spec)
        if default == () and isinstance(default, tuple):
            op.default_kind = EMPTY_LIST if op.is_array else NEW_STRUCT
        else:
            op.default_kind = SHARED
        op.forgets_defaults = spec.has_struct_default
        self._kept.append(default)
        op.default = <PyObject *>default
        return 0

    cdef object _default_of(self, field):
        """The default of a field, of a type whose comparison runs no Python code."""
        default = field.default
        if type(default) not in (bool, int, float, str, bytes, tuple, UUID, type(None)):
            raise NotSpecialized(f"a default of type {type(default).__name__}")
        if default != default:
            raise NotSpecialized("a default that is not equal to itself")
        if isinstance(default, tuple) and default:
            raise NotSpecialized("a default that is a tuple with elements")
        return default

    cdef Py_ssize_t _slot(self, cls, name) except -1:
        offset = slot_offset(cls, cls.__dict__[name]) if name in cls.__dict__ else -1
        if offset < 0:
            raise NotSpecialized(f"{cls.__name__}.{name} is no slot")
        return offset

    cdef int _make_defaults(self) except -1:
        """An instance of each struct to compare with, when all plans are there."""
        cdef Plan *plan
        for cls, address in self._plans.items():
            plan = <Plan *><size_t>address
            instance = cls()
            self._kept.append(instance)
            plan.defaults = <PyObject *>instance
        return 0
