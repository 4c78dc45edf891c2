"""openrmds - market data right on the backbone, in batches.

    import openrmds
    with openrmds.Backbone(network="net1", dictionary="/usr/share/openrmds") as backbone:
        number = backbone.open("RDFD", "TRI.N")
        for batch in backbone.batches():
            for item, fid, value in zip(batch.item, batch.fid, batch.value):
                ...

It needs librmds.so.0 and nothing else; numpy is used where it is asked for. The columns of a batch
are views of the library's memory, good until the next one. rmds/backbone_batch.h says what they
hold; docs/backbone-library.md has the rest.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import gc
import os
import weakref

SONAME = "librmds.so.0"

# Flags of a row.
FIRST, IMAGE, VALUE, BLANK, STATE, CLOSED, CUT, OTHER = 1, 2, 4, 8, 16, 32, 64, 128
BEGIN, END = 256, 512
MARKET_PRICE = 6
ERROR_STATE = -9

_ON_LINK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_bool)
_ON_SERVICE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool)
_ON_ROOM = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_ON_REFUSED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
_ON_DENIED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p)


class _BackboneOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t),
                ("network", ctypes.c_char_p), ("instance", ctypes.c_char_p),
                ("run_dir", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("ring_bytes", ctypes.c_uint32), ("item_limit", ctypes.c_uint32),
                ("owner", ctypes.c_void_p),
                ("on_link", _ON_LINK), ("on_service", _ON_SERVICE), ("on_room", _ON_ROOM),
                ("on_refused", _ON_REFUSED), ("on_denied", _ON_DENIED),
                ("configuration", ctypes.c_char_p),
                ("why", ctypes.c_void_p), ("why_size", ctypes.c_size_t)]


class _BatchOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("dictionary", ctypes.c_void_p),
                ("rows", ctypes.c_uint32), ("raw_bytes", ctypes.c_uint32),
                ("item_limit", ctypes.c_uint32)]


class _Columns(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("count", ctypes.c_uint32),
                ("item", ctypes.c_void_p), ("fid", ctypes.c_void_p), ("flags", ctypes.c_void_p),
                ("exponent", ctypes.c_void_p), ("value", ctypes.c_void_p),
                ("time_ns", ctypes.c_void_p), ("raw_begin", ctypes.c_void_p),
                ("raw_length", ctypes.c_void_p), ("raw", ctypes.c_void_p),
                ("raw_size", ctypes.c_uint32), ("messages", ctypes.c_uint32),
                ("cut", ctypes.c_uint64)]


class _DictionaryError(ctypes.Structure):
    _fields_ = [("line", ctypes.c_uint), ("text", ctypes.c_char * 256)]


# Name of a column: its type in ctypes, in memoryview and in numpy.
_TYPES = {"item": (ctypes.c_uint32, "I", "u4"), "fid": (ctypes.c_int16, "h", "i2"),
          "flags": (ctypes.c_uint16, "H", "u2"), "exponent": (ctypes.c_int8, "b", "i1"),
          "value": (ctypes.c_double, "d", "f8"), "time_ns": (ctypes.c_uint64, "Q", "u8"),
          "raw_begin": (ctypes.c_uint32, "I", "u4"), "raw_length": (ctypes.c_uint32, "I", "u4")}


class Error(Exception):
    """A call of the library failed; `code` is its enum rmds_error."""

    def __init__(self, code, what):
        super().__init__(what)
        self.code = code


def _load():
    """The library of this version of the interface, by its soname."""
    library = ctypes.CDLL(os.environ.get("OPENRMDS_LIBRARY", SONAME))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32
    signatures = {
        "rmds_error_text": (text, [ctypes.c_int]),
        "rmds_backbone_options_init": (None, [pointer, ctypes.c_size_t]),
        "rmds_backbone_open": (ctypes.c_int, [pointer, pointer]),
        "rmds_backbone_close": (None, [pointer]),
        "rmds_backbone_flush": (None, [pointer]),
        "rmds_backbone_why": (text, [pointer]),
        "rmds_topic_publish": (ctypes.c_int, [pointer, text, text, ctypes.c_size_t]),
        "rmds_batch_options_init": (None, [pointer, ctypes.c_size_t]),
        "rmds_batch_create": (ctypes.c_int, [pointer, pointer, pointer]),
        "rmds_batch_destroy": (None, [pointer]),
        "rmds_batch_open": (ctypes.c_int, [pointer, text, text, ctypes.c_uint8,
                                           ctypes.POINTER(number)]),
        "rmds_batch_close_item": (ctypes.c_int, [pointer, number]),
        "rmds_batch_turn": (ctypes.c_int, [pointer, ctypes.c_uint64, pointer]),
        "rwf_dictionary_create": (ctypes.c_int, [pointer]),
        "rwf_dictionary_destroy": (None, [pointer]),
        "rwf_dictionary_load_fields": (ctypes.c_int, [pointer, text, text, ctypes.c_size_t,
                                                      pointer]),
        "rwf_dictionary_load_enums": (ctypes.c_int, [pointer, text, text, ctypes.c_size_t,
                                                     pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _check(library, code, what):
    if code < 0:
        reason = library.rmds_error_text(code).decode()
        raise Error(code, f"{what}: {reason}")
    return code


class _Views:
    """The memory of the columns, for as long as the library has it."""

    def __init__(self, columns, rows, raw_bytes):
        self._where = [(name, (kind * rows, getattr(columns, name)), code)
                       for name, (kind, code, _) in _TYPES.items()]
        self._where.append(("raw", (ctypes.c_uint8 * raw_bytes, columns.raw), "B"))
        self._views, self._sources, self._batches = {}, [], weakref.WeakSet()

    def _make(self):
        for name, (kind, address), code in self._where:
            source = kind.from_address(address)
            self._sources.append(weakref.ref(source))
            self._views[name] = memoryview(source).cast("B").cast(code)

    def batch(self, columns):
        """A batch of it."""
        if not self._views:
            self._make()
        batch = Batch(columns, self._views)
        self._batches.add(batch)
        return batch

    def release(self):
        """Ends all views. False: somebody has made another one, or an array, and still has it."""
        views = [view for batch in self._batches for view in vars(batch).values()]
        views.extend(self._views.values())
        self._views = {}
        for view in views:
            try:
                if isinstance(view, memoryview):
                    view.release()
            except BufferError:
                pass
        del views
        if any(source() is not None for source in self._sources):
            gc.collect()
        self._sources = [source for source in self._sources if source() is not None]
        return not self._sources


class Batch:
    """Rows: `len(batch)`, and a view for each column. Good until the next batch."""

    def __init__(self, columns, views):
        self.messages, self.cut, self._count = columns.messages, columns.cut, columns.count
        for name in _TYPES:
            setattr(self, name, views[name][:self._count])
        self.raw = views["raw"][:columns.raw_size]

    def __len__(self):
        return self._count

    def bytes(self, row):
        """The content of the field of a row, or the text of a state."""
        begin = self.raw_begin[row]
        return bytes(self.raw[begin:begin + self.raw_length[row]])

    def arrays(self):
        """The columns as arrays of numpy, without a copy. Drop or copy them before close()."""
        import numpy  # pylint: disable=import-outside-toplevel
        return {name: numpy.frombuffer(getattr(self, name), dtype=kind)
                for name, (_, _, kind) in _TYPES.items()}


class Backbone:
    """An attachment to the rrcpd of this host, or, with `configuration`, the engine in this process.
    For one thread. `dictionary` is a folder with RDMFieldDictionary and enumtype.def: without it
    fields have no values, only bytes. on_link(is_up), on_service(name, is_up), on_refused(code,
    why) and on_denied(count, what) are called inside of batch(). After close() all calls raise
    Error."""

    def __init__(self, network="net1", instance="1", run_dir="/run/rmds", name="python",
                 dictionary=None, configuration=None, rows=0, on_link=None, on_service=None,
                 on_refused=None, on_denied=None):
        self._handle, self._batch, self._dictionary, self._views = None, None, None, None
        self._is_turning, self._room = False, (0, 0)
        self._library = _load()
        options, why = _BackboneOptions(), ctypes.create_string_buffer(256)
        self._library.rmds_backbone_options_init(ctypes.byref(options), ctypes.sizeof(options))
        options.network, options.instance = network.encode(), instance.encode()
        options.run_dir, options.name = os.fsencode(run_dir), name.encode()
        options.configuration = os.fsencode(configuration) if configuration else None
        options.why, options.why_size = ctypes.addressof(why), len(why)
        self._keep_callbacks(options, on_link, on_service, on_refused, on_denied)
        handle = ctypes.c_void_p()
        code = self._library.rmds_backbone_open(ctypes.byref(options), ctypes.byref(handle))
        _check(self._library, code, why.value.decode(errors="replace") or "rmds_backbone_open")
        self._handle = handle
        try:
            self._dictionary = self._read_dictionary(dictionary) if dictionary else None
            self._batch = self._create_batch(rows)
        except BaseException:
            self.close()
            raise

    def _keep_callbacks(self, options, on_link, on_service, on_refused, on_denied):
        """The library holds them as long as we do."""
        if on_link:
            options.on_link = _ON_LINK(lambda _, is_up: on_link(is_up))
        if on_service:
            options.on_service = _ON_SERVICE(
                lambda _, name, is_up: on_service(name.decode(errors="replace"), is_up))
        if on_refused:
            options.on_refused = _ON_REFUSED(
                lambda _, code, why: on_refused(code, why.decode(errors="replace")))
        if on_denied:
            options.on_denied = _ON_DENIED(
                lambda _, count, what: on_denied(count, what.decode(errors="replace")))
        self._options = options

    def _read_dictionary(self, folder):
        library, handle, error = self._library, ctypes.c_void_p(), _DictionaryError()
        _check(library, library.rwf_dictionary_create(ctypes.byref(handle)), "dictionary")
        for name, load in (("RDMFieldDictionary", library.rwf_dictionary_load_fields),
                           ("enumtype.def", library.rwf_dictionary_load_enums)):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                text = file.read()
            code = load(handle, os.fsencode(path), text, len(text), ctypes.byref(error))
            if code < 0:
                library.rwf_dictionary_destroy(handle)
                raise Error(code, error.text.decode(errors="replace"))
        return handle

    def _create_batch(self, rows):
        options, handle = _BatchOptions(), ctypes.c_void_p()
        self._library.rmds_batch_options_init(ctypes.byref(options), ctypes.sizeof(options))
        options.dictionary = self._dictionary
        options.rows = rows or options.rows
        code = self._library.rmds_batch_create(self._handle, ctypes.byref(options),
                                               ctypes.byref(handle))
        _check(self._library, code, "rmds_batch_create")
        self._room = (options.rows, options.raw_bytes)
        return handle

    def _live(self, handle):
        if not handle:
            raise Error(ERROR_STATE, "the backbone is closed")
        return handle

    def open(self, service, name, domain=MARKET_PRICE):
        """Opens an item. Its number is what column `item` has."""
        number = ctypes.c_uint32()
        code = self._library.rmds_batch_open(self._live(self._batch), service.encode(),
                                             name.encode(), domain, ctypes.byref(number))
        _check(self._library, code, f"{service} {name}")
        return number.value

    def close_item(self, number):
        """No row of it follows."""
        code = self._library.rmds_batch_close_item(self._live(self._batch), number)
        _check(self._library, code, "item")

    def batch(self, seconds=1.0):
        """The next rows; waits for some at most so long. Other threads run meanwhile."""
        columns, handle = _Columns(size=ctypes.sizeof(_Columns)), self._live(self._batch)
        if self._is_turning:
            raise Error(ERROR_STATE, "batch() inside of batch()")
        self._is_turning = True
        try:
            code = self._library.rmds_batch_turn(handle, int(seconds * 1e9), ctypes.byref(columns))
        finally:
            self._is_turning = False
        _check(self._library, code, "rmds_batch_turn")
        if not self._views:
            self._views = _Views(columns, *self._room)
        return self._views.batch(columns)

    def batches(self, seconds=1.0):
        """Batches without end; empty ones after so long without an event."""
        while True:
            yield self.batch(seconds)

    def publish(self, topic, message):
        """One message on a bare topic. It leaves with the next batch() or flush()."""
        code = self._library.rmds_topic_publish(self._live(self._handle), topic.encode(), message,
                                                len(message))
        _check(self._library, code, topic)

    def flush(self):
        """Sends what was published."""
        self._library.rmds_backbone_flush(self._live(self._handle))

    def why(self):
        """Why this is not on the backbone; empty when it is, or was not tried yet."""
        why = self._library.rmds_backbone_why(self._live(self._handle))
        return why.decode(errors="replace")

    def close(self):
        """Ends all, the views of all batches too. Not inside of batch(), and not while an array of a
        batch, or another view of one, is in use: their memory goes."""
        if self._is_turning:
            raise Error(ERROR_STATE, "close() inside of batch()")
        views, self._views = self._views, None
        if views and not views.release():
            self._views = views
            raise Error(ERROR_STATE, "close(): an array or a view of a batch is still in use")
        if self._batch:
            self._library.rmds_batch_destroy(self._batch)
        if self._handle:
            self._library.rmds_backbone_close(self._handle)
        if self._dictionary:
            self._library.rwf_dictionary_destroy(self._dictionary)
        self._batch = self._handle = self._dictionary = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
