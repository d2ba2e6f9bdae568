// The generated functions, called through C as a careful user would: views made once, outputs given.
#include "bench.hpp"

#include <arraygpu.h>
#include <cstdlib>
#include <kernels.h>

namespace {

void must(agpu_status status) {
    if (status != AGPU_OK) {
        std::fprintf(stderr, "arraygpu: %s\n", agpu_last_error_message());
        std::exit(1);
    }
}

// The same memory in two contexts: one with one thread, one with all.
struct side {
    agpu_context *context = nullptr;
    agpu_buffer *buffers[4] = {};
    agpu_view x{}, y{}, z{}, out{};

    void open(const arrays &d, int threads) {
        agpu_context_options options{};
        options.size = sizeof options;
        options.device = AGPU_DEVICE_CPU;
        options.threads = threads;
        must(agpu_context_create(&options, &context));
        float *const memory[4] = {const_cast<float *>(d.x), const_cast<float *>(d.y), const_cast<float *>(d.z), d.out};
        agpu_view *const views[4] = {&x, &y, &z, &out};
        for (int i = 0; i < 4; ++i) {
            must(agpu_buffer_wrap(context, AGPU_F32, memory[i], std::int64_t(d.n), &buffers[i]));
            must(agpu_buffer_view(buffers[i], views[i]));
        }
    }

    void close() {
        for (agpu_buffer *&b : buffers) must(agpu_buffer_free(b));
        must(agpu_context_free(context));
    }
};

side one, all;

const side &of(int threads) { return threads == 1 ? one : all; }

} // namespace

namespace ours {

void prepare(arrays &d) {
    one.open(d, 1);
    all.open(d, 0);
}

void release() {
    one.close();
    all.close();
}

void saxpy(arrays &, int threads) {
    const side &s = of(threads);
    must(kernels_saxpy(nullptr, alpha, s.x, s.y, s.out));
}

void expr3(arrays &, int threads) {
    const side &s = of(threads);
    must(kernels_expr3(nullptr, s.x, s.y, s.z, s.out));
}

void average(arrays &, int threads) {
    const side &s = of(threads);
    agpu_view out{};
    must(agpu_view_slice(s.out, 0, 0, s.out.extent[0] - 14, 1, &out));
    must(kernels_average(nullptr, s.x, out));
}

void sum(arrays &d, int threads) { must(kernels_total(nullptr, of(threads).x, &d.scalar)); }

void dot(arrays &d, int threads) { must(kernels_dot(nullptr, of(threads).x, of(threads).y, &d.scalar)); }

void rmse(arrays &d, int threads) { must(kernels_rmse(nullptr, of(threads).x, of(threads).y, &d.scalar)); }

} // namespace ours
