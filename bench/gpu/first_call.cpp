// The first call of a package in a fresh process, beside the creation of the context and the second call. A row for the JSON file.
#include "ours.hpp"
#include "driver.hpp"
#include <chrono>
#include <cstdio>
#include <cstring>

static double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "saxpy";
    const test_case *which = nullptr;
    for (const test_case &c : cases())
        if (c.entry && std::strcmp(c.name, name) == 0) which = &c;
    if (!which) return std::fprintf(stderr, "no case %s\n", name), 2;
    constexpr std::size_t n = 1 << 20;

    const double begin = now();
    agpu_context *context = context_on(AGPU_DEVICE_CUDA);
    CU(Init(0));
    void *primary = nullptr;
    CU(DevicePrimaryCtxRetain(&primary, 0)); // the context is there now
    CU(CtxSetCurrent(primary));
    const double made = now();
    arrays x(context, n);
    const package kernels(linked_package());
    const prepared call(kernels, *which, x, nullptr);
    CU(StreamSynchronize(nullptr));
    double ms[3];
    for (double &t : ms) {
        const double start = now();
        AGPU(call.run());
        CU(StreamSynchronize(nullptr));
        t = now() - start;
    }
    const bool cubin = kernels.module->image_count > 0 && [&] {
        for (int i = 0; i < kernels.module->image_count; ++i)
            if (kernels.module->images[i].arch != 0) return true;
        return false;
    }();
    std::printf("{\"name\":\"first_call\",\"impl\":\"arraygpu %s\",\"case\":\"%s\",\"n\":%zu,\"ms\":%.4f,\"second_ms\":%.4f,\"third_ms\":%.4f,"
                "\"context_ms\":%.2f,\"ok\":true}\n",
                cubin ? "machine code" : "PTX", name, n, ms[0], ms[1], ms[2], made - begin);
}
