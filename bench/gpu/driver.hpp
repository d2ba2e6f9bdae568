// The part of NVIDIA's driver interface that the benchmark uses, loaded at run time. Types and values are those of cuda.h, which is not needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cu {

using stream = struct CUstream_st *;
using event = struct CUevent_st *;
using graph = struct CUgraph_st *;
using graph_exec = struct CUgraphExec_st *;
using module = struct CUmod_st *;
using function = struct CUfunc_st *;
using pointer = unsigned long long;

enum attribute { PROCESSORS = 16, CLOCK_KHZ = 13, MEMORY_CLOCK_KHZ = 36, L2_BYTES = 38 };

struct functions {
    int (*Init)(unsigned);
    int (*DriverGetVersion)(int *);
    int (*DeviceGet)(int *, int);
    int (*DeviceGetName)(char *, int, int);
    int (*DeviceGetAttribute)(int *, int, int);
    int (*DevicePrimaryCtxRetain)(void **, int);
    int (*CtxSetCurrent)(void *);
    int (*StreamCreate)(stream *, unsigned);
    int (*StreamSynchronize)(stream);
    int (*EventCreate)(event *, unsigned);
    int (*EventRecord)(event, stream);
    int (*EventElapsedTime)(float *, event, event);
    int (*StreamBeginCapture)(stream, int);
    int (*StreamEndCapture)(stream, graph *);
    int (*GraphInstantiate)(graph_exec *, graph, unsigned long long);
    int (*GraphLaunch)(graph_exec, stream);
    int (*GraphExecDestroy)(graph_exec);
    int (*GraphDestroy)(graph);
    int (*ModuleLoadData)(module *, const void *);
    int (*ModuleGetFunction)(function *, module, const char *);
    int (*LaunchKernel)(function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream, void **, void **);
    int (*MemcpyDtoDAsync)(pointer, pointer, std::size_t, stream);
    int (*MemcpyDtoH)(void *, pointer, std::size_t);
    int (*MemsetD32Async)(pointer, unsigned, std::size_t, stream);
    int (*GetErrorName)(int, const char **);
};

// The driver's functions; loads them at the first use, and ends the program if there is no driver.
const functions &driver();

// Ends the program with a message if a call failed.
void check(int status, const char *what);

// What the first row says of the machine, as JSON members.
std::string device(int ordinal);

inline pointer address(const void *p) { return reinterpret_cast<std::uintptr_t>(p); }

} // namespace cu

#define CU(call) cu::check(cu::driver().call, #call)
