# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False
"""The native column engine: record batches and messages to Arrow, without a Python object each.

Rules:
- what is usual is done here; at whatever is not (damage, another magic, text that is no
  UTF-8, an overlong varint), the engine stops before it, and the Python twin goes on;
- bounds are checked before every read, and every count by the bytes there are before
  anything is allocated; sizes are 64-bit, and no two of them are multiplied unchecked;
- structs do not hold themselves, so that nothing goes deeper than the message;
- the passes over the bytes hold no lock and touch no Python object.

`_arrow.pxi` has the columns; `_pieces.pxi` and `_records.pxi` fill them from record batches,
`_programs.pxi` and `_messages.pxi` from messages; `_frames.pxi` reads what the records of
Kafka's own logs are.
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
