// The process has only a given number of bytes left: making a context, compiling and running end with an error or
// work, and work afterwards.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <cstdlib>
#include <examples.hpp>
#include <malloc.h>
#include <new>
#include <sys/resource.h>

using namespace arraygpu;

static void *held[1 << 20];
static std::size_t count = 0;

// No more address space than there is.
static bool allow(rlim_t bytes) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

// Takes all memory that malloc still has, and gives the requested number of bytes back.
static void exhaust(std::size_t but) {
    for (const std::size_t size : {1 << 20, 1 << 16, 4096, 512, 64, 24}) {
        while (count < sizeof held / sizeof *held) {
            void *p = std::malloc(size);
            if (!p) break;
            held[count++] = p;
        }
    }
    for (std::size_t given = 0; given < but && count; std::free(held[count])) given += malloc_usable_size(held[--count]);
}

static void give_back() {
    while (count) std::free(held[--count]);
}

// A new program each time.
static float work(float k) {
    agpu_context_options options{};
    options.device = AGPU_DEVICE_CPU;
    options.threads = 2;
    const context c(options);
    gpu_vector<float> x(std::vector<float>(5000, 1.0f), c), y(5000, c);
    y = exp(x * k) / (x + 1.0f);
    float result = 0;
    examples::rmse(x, y, result);
    return result;
}

int main() {
    const float expected = work(0.5f);
    int refused = 0, done = 0;
    float k = 0.5f;
    for (std::size_t bytes = 0; bytes < 2000000; bytes += bytes < 400000 ? 8000 : 100000) {
        k += 1e-6f;
        if (!allow(0)) return 1;
        exhaust(bytes);
        int status = AGPU_OK;
        char said[200] = "";
        try {
            work(k);
        } catch (const error &e) {
            status = e.code();
            std::snprintf(said, sizeof said, "%s", e.what());
        } catch (const std::bad_alloc &) {
            status = AGPU_ERROR_OUT_OF_MEMORY; // the program's own
        }
        if (!allow(RLIM_INFINITY)) return 1;
        give_back();
        (status == AGPU_OK ? done : refused)++;
        if (status != AGPU_OK && status != AGPU_ERROR_OUT_OF_MEMORY) std::fprintf(stderr, "%d: %s\n", status, said);
        CHECK(status == AGPU_OK || status == AGPU_ERROR_OUT_OF_MEMORY);
        const float found = work(k);
        CHECK(found > expected * 0.99f && found < expected * 1.01f);
    }
    // how many of them depends on what the threads allocate at the same time
    std::fprintf(stderr, "%d refused, %d done\n", refused, done);
    CHECK(refused > 0 && done > 0);
    return failures != 0;
}
