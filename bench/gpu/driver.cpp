#include "driver.hpp"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace cu {

static functions load() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "no NVIDIA driver: %s\n", dlerror());
        std::exit(3);
    }
    functions f{};
    auto get = [&](auto &function, const char *name) {
        void *symbol = dlsym(library, name);
        if (!symbol) {
            std::fprintf(stderr, "the driver has no %s\n", name);
            std::exit(3);
        }
        function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
    };
    get(f.Init, "cuInit");
    get(f.DriverGetVersion, "cuDriverGetVersion");
    get(f.DeviceGet, "cuDeviceGet");
    get(f.DeviceGetName, "cuDeviceGetName");
    get(f.DeviceGetAttribute, "cuDeviceGetAttribute");
    get(f.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    get(f.CtxSetCurrent, "cuCtxSetCurrent");
    get(f.StreamCreate, "cuStreamCreate");
    get(f.StreamSynchronize, "cuStreamSynchronize");
    get(f.EventCreate, "cuEventCreate");
    get(f.EventRecord, "cuEventRecord");
    get(f.EventElapsedTime, "cuEventElapsedTime");
    get(f.StreamBeginCapture, "cuStreamBeginCapture_v2");
    get(f.StreamEndCapture, "cuStreamEndCapture");
    get(f.GraphInstantiate, "cuGraphInstantiateWithFlags");
    get(f.GraphLaunch, "cuGraphLaunch");
    get(f.GraphExecDestroy, "cuGraphExecDestroy");
    get(f.GraphDestroy, "cuGraphDestroy");
    get(f.ModuleLoadData, "cuModuleLoadData");
    get(f.ModuleGetFunction, "cuModuleGetFunction");
    get(f.LaunchKernel, "cuLaunchKernel");
    get(f.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
    get(f.MemcpyDtoH, "cuMemcpyDtoH_v2");
    get(f.MemsetD32Async, "cuMemsetD32Async");
    get(f.GetErrorName, "cuGetErrorName");
    return f;
}

const functions &driver() {
    static const functions f = load();
    return f;
}

void check(int status, const char *what) {
    if (status == 0) return;
    const char *name = "unknown error";
    driver().GetErrorName(status, &name);
    std::fprintf(stderr, "%s: %s (%d)\n", what, name, status);
    std::exit(2);
}

// What nvidia-smi says about the clocks now; empty without it.
static std::string clocks() {
    std::string text;
    std::FILE *smi = popen("nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw --format=csv,noheader 2>/dev/null", "r");
    if (!smi) return text;
    char line[128];
    if (std::fgets(line, sizeof line, smi)) text.assign(line, std::char_traits<char>::length(line) - 1);
    pclose(smi);
    return text;
}

std::string device(int ordinal) {
    int d = 0, version = 0, processors = 0, clock = 0, memory = 0, l2 = 0;
    char name[128] = "";
    CU(DeviceGet(&d, ordinal));
    CU(DeviceGetName(name, sizeof name, d));
    CU(DriverGetVersion(&version));
    CU(DeviceGetAttribute(&processors, PROCESSORS, d));
    CU(DeviceGetAttribute(&clock, CLOCK_KHZ, d));
    CU(DeviceGetAttribute(&memory, MEMORY_CLOCK_KHZ, d));
    CU(DeviceGetAttribute(&l2, L2_BYTES, d));
    char text[512];
    std::snprintf(text, sizeof text,
                  "\"device\":\"%s\",\"sms\":%d,\"l2_mb\":%.1f,\"sm_mhz\":%d,\"mem_mhz\":%d,\"driver\":%d,\"clocks_now\":\"%s\"", name,
                  processors, l2 / 1048576.0, clock / 1000, memory / 1000, version, clocks().c_str());
    return text;
}

} // namespace cu
