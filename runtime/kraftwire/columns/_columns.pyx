# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False
"""The native column engine: decodes record batches and messages to Arrow without Python objects.

Rules:
- the engine handles common input. It stops before anything unusual (damage, another magic, a
  string that is not UTF-8, an overlong varint), and plain Python continues there;
- every read is checked against the end of the input, and every count against the number of bytes
  left before memory is allocated; sizes have 64 bits, and no two are multiplied unchecked;
- structs do not contain themselves, so recursion is no deeper than the message;
- the passes over the bytes run without the GIL and use no Python objects.

`_arrow.pxi` has the columns; `_pieces.pxi` and `_records.pxi` fill them from record batches,
`_programs.pxi` and `_messages.pxi` from messages. `_frames.pxi` reads the types of the records in
Kafka's own logs.
"""

cimport cython
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from kraftwire.log.batches.compression import DEFAULT_LIMIT
from kraftwire_wire.errors import KraftwireError
from kraftwire_wire.forms import fixed

include "../../kraftwire_wire/_blocks.pxi"
include "../../kraftwire_wire/_big_endian.pxi"
include "../../kraftwire_wire/_varint.pxi"
include "_bytes.pxi"
include "_arrow.pxi"
include "_records.pxi"
include "_pieces.pxi"
include "_messages.pxi"
include "_programs.pxi"
include "_frames.pxi"
include "_uuids.pxi"
