# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False
"""The native object engine: reads and writes one version of one message without Python frames.

A codec compiles LAYOUT to a table of operations (`Op`) for each struct, with the offset of
each field in the instance. Decoding allocates instances of the generated classes and stores
values into their slots; encoding reads the slots and writes one buffer.

Rules:
- the engine handles common input exactly as the emitted code does. For anything unusual (damage,
  a wrong type, unknown tags to write, lenient reading) it gives up, and the emitted code does the
  work again and raises any error;
- structs do not contain themselves, so recursion is no deeper than the plan;
- encoding runs no Python code: every value that is compared or converted has exactly the type of
  its field, down to the number in a uuid. So no value can change or be freed meanwhile, and
  references borrowed from slots and lists stay valid until the bytes are written;
- every read is checked against the end of the input first, and every size before memory is
  allocated for it; sizes have 64 bits, and no two are multiplied unchecked;
- the garbage collector is off while a message is built, since none of it can be garbage yet. It
  is turned on again even after an error.

`_slots.pxi` stores values into instances and compares them with their defaults, `_reader.pxi`
decodes, `_writer.pxi` encodes, and `_codec.pxi` builds the tables and has the class that Python
uses.
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
    Op *ops  # all fields: first the ordinary ones, then the tagged and the absent ones
    Op *tagged
    Op *absent  # fields that the version lacks: set to their default, and compared with it
    uint32_t *refused  # tags that only other versions have
    int op_count
    int ordinary_count
    int tagged_count
    int absent_count
    int refused_count
    Py_ssize_t unknown_tags
    bint takes_bytes
    PyObject *defaults  # an instance with all defaults


cdef struct Op:
    Kind kind
    int shortcut  # the kind; -1 for uuids, single structs, and arrays of anything except structs
    bint is_array
    bint compact
    bint nullable
    bint is_optional
    bint is_tagged
    bint is_refused  # if the version lacks the field: it must be at its default
    bint forgets_defaults  # a tagged struct of defaults is treated as not sent
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
"""The most tagged fields that a struct may have, so that their count takes one byte."""

cdef Py_ssize_t LARGEST_GUESS = 1 << 20
"""Each buffer starts as large as the codec's largest message so far, up to this size."""

cdef object GIVE_UP = Unusual
cdef PyTypeObject *UUID_CLASS = <PyTypeObject *>UUID
cdef Py_ssize_t UUID_INT = slot_offset(UUID, UUID.__dict__["int"])
cdef Py_ssize_t UUID_SAFE = slot_offset(UUID, UUID.__dict__["is_safe"])
cdef object UNKNOWN_SAFETY = SafeUUID.unknown
cdef object SIXTY_FOUR = 64

include "_big_endian.pxi"
include "_varint.pxi"
include "_blocks.pxi"
include "_slots.pxi"
include "_reader.pxi"
include "_writer.pxi"
include "_codec.pxi"
