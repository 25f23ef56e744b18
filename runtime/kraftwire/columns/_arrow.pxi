# Columns that grow, and their export through the Arrow C data interface.
#
# A `Column` is a tree of buffers: numbers, bools (one byte each until they are exported),
# bytes and text (`offsets` into `data`), lists (`offsets` into their one child), structs.
# `length` is its number of rows. To remove rows from the whole tree, it is enough to cut the
# root: the lengths below follow from the offsets. Filling columns does not need the GIL.

cdef extern from *:
    """
    /* The layout that the Arrow C data interface prescribes. */
    struct ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children;
        const void **buffers;
        struct ArrowArray **children;
        struct ArrowArray *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
    };
    """
    cdef struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        ArrowArray **children
        ArrowArray *dictionary
        void (*release)(ArrowArray *) noexcept nogil
        void *private_data


cdef enum Shape:
    FIXED
    BOOLEAN
    VARIABLE
    LIST
    STRUCTURE


cdef struct Column:
    Shape shape
    bint nullable
    Py_ssize_t width  # bytes of a number
    Py_ssize_t length
    Py_ssize_t capacity  # rows
    uint8_t *values  # for numbers and bools
    uint8_t *valid  # one byte per row, if the column is nullable
    int32_t *offsets  # for bytes and lists: one more than rows
    uint8_t *data  # for bytes
    Py_ssize_t data_capacity
    Py_ssize_t usual_length  # a little more than in the last export, to allocate early
    Py_ssize_t usual_data
    Column *children
    int child_count


cdef Py_ssize_t SLACK = 128
"""Number of writable bytes after `data`, so that a short value is copied in one step."""

cdef Py_ssize_t MAX_DATA = 0x7FFFFFFF
"""The largest offset: Arrow's have 32 bits."""


# -- growing -------------------------------------------------------------------------------


cdef int reserve_rows(Column *column, Py_ssize_t more) noexcept nogil:
    """Make room for more rows of a column, but not of its children; -1 if memory is exhausted."""
    cdef Py_ssize_t capacity = column.length + more
    cdef void *grown
    if capacity <= column.capacity:
        return 0
    if capacity > MAX_DATA:
        return -1
    if capacity < 2 * column.capacity:
        capacity = 2 * column.capacity
    if capacity < column.usual_length:
        capacity = column.usual_length
    if capacity < 64:
        capacity = 64
    if column.shape == FIXED or column.shape == BOOLEAN:
        grown = realloc(column.values, capacity * column.width)
        if grown == NULL:
            return -1
        column.values = <uint8_t *>grown
    elif column.shape != STRUCTURE:
        grown = realloc(column.offsets, (capacity + 1) * sizeof(int32_t))
        if grown == NULL:
            return -1
        column.offsets = <int32_t *>grown
        if column.length == 0:
            column.offsets[0] = 0
    if column.nullable:
        grown = realloc(column.valid, capacity)
        if grown == NULL:
            return -1
        column.valid = <uint8_t *>grown
    column.capacity = capacity
    return 0


cdef inline Py_ssize_t end_of(const Column *column) noexcept nogil:
    """Return the end of the last row of a column of bytes or lists."""
    return column.offsets[column.length] if column.length else 0


cdef int reserve_data(Column *column, Py_ssize_t more) noexcept nogil:
    """Make room for more bytes in a column of bytes; -1 if there are too many."""
    cdef Py_ssize_t capacity = end_of(column) + more
    cdef void *grown
    if capacity > MAX_DATA:
        return -1
    capacity += SLACK
    if capacity <= column.data_capacity:
        return 0
    if capacity < 2 * column.data_capacity:
        capacity = 2 * column.data_capacity
    if capacity < column.usual_data:
        capacity = column.usual_data
    # Never larger, so that a caller that checks only the capacity gets the error in time.
    if capacity > MAX_DATA + SLACK:
        capacity = MAX_DATA + SLACK
    grown = realloc(column.data, capacity)
    if grown == NULL:
        return -1
    column.data = <uint8_t *>grown
    column.data_capacity = capacity
    return 0


cdef void cut(Column *column, Py_ssize_t length) noexcept nogil:
    """Remove the rows from `length` on, and an unfinished row after them."""
    cdef int i
    if length < column.length:
        column.length = length
    if column.shape == LIST:
        cut(&column.children[0], end_of(column))
    elif column.shape == STRUCTURE:
        for i in range(column.child_count):
            cut(&column.children[i], length)


cdef Py_ssize_t bytes_in(const Column *column) noexcept nogil:
    """Return the approximate size of a column in bytes."""
    cdef Py_ssize_t size = 0
    cdef int i
    if column.shape == FIXED or column.shape == BOOLEAN:
        size = column.length * column.width
    elif column.shape != STRUCTURE:
        size = column.length * <Py_ssize_t>sizeof(int32_t)
    if column.shape == VARIABLE:
        size += end_of(column)
    for i in range(column.child_count):
        size += bytes_in(&column.children[i])
    return size


cdef void free_column(Column *column) noexcept nogil:
    """Free the buffers of a column and of all columns below it, and the child columns."""
    cdef int i
    for i in range(column.child_count):
        free_column(&column.children[i])
    free(column.children)
    free(column.values)
    free(column.valid)
    free(column.offsets)
    free(column.data)
    memset(column, 0, sizeof(Column))


cdef int shape_column(Column *column, object kind, bint nullable) except -1:
    """Initialize a column for an Arrow type; after an error, `free_column` frees what exists."""
    from pyarrow import types as pa_types

    cdef int i
    column.nullable = nullable
    if pa_types.is_struct(kind) or pa_types.is_list(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        column.shape = STRUCTURE if pa_types.is_struct(kind) else LIST
        column.children = <Column *>calloc(max(len(fields), 1), sizeof(Column))
        if column.children == NULL:
            raise MemoryError
        column.child_count = len(fields)
        for i in range(column.child_count):
            shape_column(&column.children[i], fields[i].type, fields[i].nullable)
    elif pa_types.is_boolean(kind):
        column.shape, column.width = BOOLEAN, 1
    elif pa_types.is_binary(kind) or pa_types.is_string(kind):
        column.shape = VARIABLE
    else:
        column.shape, column.width = FIXED, kind.bit_width // 8
    return 0


# -- export to Arrow -----------------------------------------------------------------------


cdef struct Holding:
    # Memory that an exported array owns besides its buffers.
    const void *buffers[3]
    ArrowArray *children[1]  # in fact `n_children` elements


cdef void release_array(ArrowArray *array) noexcept nogil:
    cdef Holding *holding = <Holding *>array.private_data
    cdef int64_t i
    for i in range(array.n_buffers):
        free(<void *>holding.buffers[i])
    for i in range(array.n_children):
        if array.children[i].release != NULL:
            array.children[i].release(array.children[i])
        free(array.children[i])
    free(holding)
    array.release = NULL


cdef uint8_t *pack_bits(const uint8_t *values, Py_ssize_t length, int64_t *zeros) noexcept nogil:
    """Pack bytes into bits, the first in the lowest; return how many are zero."""
    cdef Py_ssize_t i, size = (length + 7) // 8
    cdef uint8_t *bits = <uint8_t *>calloc(size + 1, 1)
    cdef int64_t ones = 0
    if bits == NULL:
        return NULL
    for i in range(length):
        bits[i >> 3] |= (values[i] != 0) << (i & 7)
        ones += values[i] != 0
    zeros[0] = length - ones
    return bits


cdef int hand_over(Column *column, ArrowArray *array) noexcept nogil:
    """Move the rows of a column into an array, leaving it empty; -1 if memory is exhausted."""
    cdef Py_ssize_t size = sizeof(Holding) + column.child_count * sizeof(ArrowArray *)
    cdef Holding *holding = <Holding *>calloc(1, size)
    cdef ArrowArray *child
    cdef int i
    memset(array, 0, sizeof(ArrowArray))
    if holding == NULL:
        return -1
    array.length = column.length
    array.buffers = holding.buffers
    array.children = holding.children
    array.private_data = holding
    array.release = release_array
    # Arrow expects buffers even if there are no rows.
    if reserve_rows(column, 1) < 0 or (column.shape == VARIABLE and reserve_data(column, 0) < 0):
        return -1
    if hand_over_bits(column, array, holding) < 0:
        return -1
    hand_over_buffers(column, array, holding)
    for i in range(column.child_count):
        child = <ArrowArray *>calloc(1, sizeof(ArrowArray))
        if child == NULL:
            return -1
        array.children[i] = child
        array.n_children = i + 1
        if hand_over(&column.children[i], child) < 0:
            return -1
    return 0


cdef int hand_over_bits(Column *column, ArrowArray *array, Holding *holding) noexcept nogil:
    """Pack validity and bools, which a column holds as bytes, into bits."""
    cdef int64_t zeros = 0
    array.n_buffers = 1
    # Without nulls, no validity buffer is needed.
    if column.nullable and memchr(column.valid, 0, column.length) != NULL:
        holding.buffers[0] = pack_bits(column.valid, column.length, &zeros)
        if holding.buffers[0] == NULL:
            return -1
        array.null_count = zeros
    if column.shape == BOOLEAN:
        array.n_buffers = 2
        holding.buffers[1] = pack_bits(column.values, column.length, &zeros)
        if holding.buffers[1] == NULL:
            return -1
    return 0


cdef void hand_over_buffers(Column *column, ArrowArray *array, Holding *holding) noexcept nogil:
    """Move all other buffers into an array, leaving the column empty."""
    cdef Py_ssize_t end, size
    column.usual_length = column.length + column.length // 8
    if column.shape == FIXED:
        size = column.width
        holding.buffers[1] = fitting(column.values, column.length * size, column.capacity * size)
        column.values = NULL
        column.capacity = 0
        array.n_buffers = 2
    elif column.shape == VARIABLE or column.shape == LIST:
        end = end_of(column)
        holding.buffers[1] = column.offsets
        column.offsets = NULL
        column.capacity = 0
        array.n_buffers = 2
        if column.shape == VARIABLE:
            column.usual_data = end + end // 8 + SLACK
            holding.buffers[2] = fitting(column.data, end, column.data_capacity)
            column.data = NULL
            column.data_capacity = 0
            array.n_buffers = 3
    column.length = 0


cdef void *fitting(void *memory, Py_ssize_t used, Py_ssize_t capacity) noexcept nogil:
    """Shrink memory if most of it is unused."""
    cdef void *smaller
    if used >= capacity // 2:
        return memory
    smaller = realloc(memory, used + 1)
    return memory if smaller == NULL else smaller


cdef void release_capsule(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, ARRAY_NAME)
    if array.release != NULL:
        array.release(array)
    free(array)


cdef const char *ARRAY_NAME = "arrow_array"


cdef int check_idle(bint is_busy) except -1:
    """Raise if another thread, or a callback of this one, is using the engine."""
    if is_busy:
        raise RuntimeError("these columns are being filled by another call")
    return 0


@cython.final
cdef class HandedOver:
    """Arrow data for one import: `pyarrow.record_batch(it)` or `pyarrow.array(it)`."""

    cdef object arrow_type
    cdef object capsule

    def __cinit__(self, arrow_type, capsule):
        self.arrow_type = arrow_type
        self.capsule = capsule

    def __arrow_c_array__(self, requested_schema=None):
        """Return the type and the data; see the Arrow PyCapsule interface."""
        return self.arrow_type.__arrow_c_schema__(), self.capsule


cdef HandedOver hand_over_root(Column *column, object arrow_type):
    """Move the rows out of a column and its children, and return them."""
    cdef ArrowArray *array = <ArrowArray *>calloc(1, sizeof(ArrowArray))
    cdef int outcome
    if array == NULL:
        raise MemoryError
    with nogil:
        outcome = hand_over(column, array)
    handed = HandedOver(arrow_type, PyCapsule_New(array, ARRAY_NAME, release_capsule))
    if outcome < 0:
        forget(column)
        raise MemoryError
    return handed


cdef void forget(Column *column) noexcept nogil:
    """Empty a tree of columns after only a part of it was moved out."""
    cdef int i
    column.length = column.usual_length = column.usual_data = 0
    for i in range(column.child_count):
        forget(&column.children[i])
