# The codec of one version, which compiles LAYOUT to plans.

@cython.final
@cython.no_gc_clear
cdef class NativeCodec:
    """Reads and writes one version of one message; see `kraftwire_wire.codec.Codec`.

    The garbage collector must not clear `_kept`: the plans point to its elements.
    """

    cdef readonly object message
    cdef readonly int version
    cdef object _python
    cdef list _kept  # objects that the plans point to
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
        # Set last: the classes' own code runs before, and could use this unfinished codec.
        self._plan = plan

    def __dealloc__(self):
        free_blocks(self._blocks)

    def decode(self, data, *, bint lenient=False):
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
        if not lenient and PyBytes_CheckExact(data):
            try:
                return self.read(data, position)
            except GIVES_UP:
                pass
        return self._python.decode_from(data, position, lenient=lenient)

    def check_end(self, data, end):
        self._python.check_end(data, end)

    def encode(self, message):
        try:
            return self.write(message)
        except GIVES_UP:
            pass
        return self._python.encode(message)

    def __reduce__(self):
        """Unpickle as a codec of the engine in use there."""
        return self.message.codec, (self.version,)

    cpdef tuple read(self, bytes data, Py_ssize_t position):
        """Return the message at a position and its end, or raise one of `GIVES_UP`."""
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
        """Return the bytes of a message, or raise one of `GIVES_UP`."""
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
        """Return the plan of a struct class; make it on first use."""
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
        fields = (*layout.ordinary, *layout.tagged, *layout.absent)
        plan.ops = <Op *>self._block(len(fields) * sizeof(Op))
        plan.op_count = len(fields)
        plan.ordinary_count = len(layout.ordinary)
        plan.tagged_count = len(layout.tagged)
        plan.absent_count = len(layout.absent)
        plan.tagged = plan.ops + plan.ordinary_count
        plan.absent = plan.tagged + plan.tagged_count
        for i, field in enumerate(fields):
            self._fill(&plan.ops[<int>i], cls, field)
        plan.refused_count = len(layout.refused)
        plan.refused = <uint32_t *>self._block(plan.refused_count * sizeof(uint32_t))
        for i, field in enumerate(layout.refused):
            plan.refused[<int>i] = field.tag
        self._open.remove(cls)
        return plan

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
        """Return the default of a field; raise if comparing it could run Python code."""
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
        """Make an instance of each struct with all defaults, once all plans exist."""
        cdef Plan *plan
        for cls, address in self._plans.items():
            plan = <Plan *><size_t>address
            instance = cls()
            self._kept.append(instance)
            plan.defaults = <PyObject *>instance
        return 0
