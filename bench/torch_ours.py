"""arraygpu's functions on PyTorch's arrays and stream, and the time of calls, for the scripts beside this one."""

import ctypes

import torch


KINDS = {
    torch.float32: 0,
    torch.float64: 1,
    torch.int32: 2,
    torch.int64: 3,
    torch.uint32: 4,
    torch.uint8: 5,
    torch.int8: 8,
    torch.int16: 9,
    torch.float16: 11,
    torch.bfloat16: 12,
}


class View(ctypes.Structure):
    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("rank", ctypes.c_int64),
        ("extent", ctypes.c_int64 * 6),
        ("stride", ctypes.c_int64 * 6),
        ("element", ctypes.c_int32 * 2),
        ("length", ctypes.c_void_p),
        ("reserved", ctypes.c_uint64 * 2),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("context", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_int64),
        ("workspace_needed", ctypes.c_void_p),
    ]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_int32), ("threads", ctypes.c_int32)]
    _fields_ += [("memory_limit", ctypes.c_int64)] + [(name, ctypes.c_void_p) for name in ("allocate", "release", "run_tasks", "user")]


class Ours:
    """The functions of the package, on PyTorch's arrays and stream."""

    def __init__(self, library, package):
        self.lib = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        self.lib.agpu_last_error_message.restype = ctypes.c_char_p
        self.package = ctypes.CDLL(package)
        self.context = ctypes.c_void_p()
        options = Options(size=ctypes.sizeof(Options), device=2)
        self.check(self.lib.agpu_context_create(ctypes.byref(options), ctypes.byref(self.context)))
        self.views = {}

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.agpu_last_error_message().decode())

    def view(self, x):
        if x.data_ptr() not in self.views:
            buffer = ctypes.c_void_p()
            kind = KINDS[x.dtype]
            wrapped = self.lib.agpu_buffer_wrap(self.context, kind, ctypes.c_void_p(x.data_ptr()), ctypes.c_int64(x.numel()), ctypes.byref(buffer))
            self.check(wrapped)
            extent, stride = list(x.shape) + [0] * (6 - x.dim()), list(x.stride()) + [0] * (6 - x.dim())
            self.views[x.data_ptr()] = View(buffer, 0, x.dim(), (ctypes.c_int64 * 6)(*extent), (ctypes.c_int64 * 6)(*stride))
        return self.views[x.data_ptr()]

    def forget(self):
        for view in self.views.values():
            self.check(self.lib.agpu_buffer_free(ctypes.c_void_p(view.buffer)))
        self.views.clear()

    def function(self, name):
        call = Call(size=ctypes.sizeof(Call), context=self.context, stream=torch.cuda.current_stream().cuda_stream)
        function = getattr(self.package, name)

        def run(*arguments):
            """The arguments, arrays and numbers (of Python's floats f32, of its integers i64), and the results' arrays, the last of which is returned."""
            numbers = {float: ctypes.c_float, int: ctypes.c_int64}
            given = (numbers[type(x)](x) if type(x) in numbers else self.view(x) if isinstance(x, torch.Tensor) else x for x in arguments)
            self.check(function(ctypes.byref(call), *given))
            return arguments[-1]

        return run


def timed(f, n=20):
    f(0), f(1)
    torch.cuda.synchronize()
    ts = []
    for _ in range(7):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for i in range(n):
            f(i)
        b.record()
        torch.cuda.synchronize()
        ts.append(a.elapsed_time(b) / n)
    return sorted(ts)[3]


def replayed(f, n=20):
    """The device's milliseconds of a call: of n calls in a graph, which the host launches at once. Batches of calls take as long as the host if that
    is slower, and begin with the host's part of their first call; the library's debug build needs 20 to 110 us a call."""
    f(0), f(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        for i in range(n):
            f(i)
    return timed(lambda _: graph.replay(), 4) / n
