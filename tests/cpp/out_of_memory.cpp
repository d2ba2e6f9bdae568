// The address space of the process ends at each of many sizes: making a context, compiling and running end with an error or work, and work afterwards.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <examples.hpp>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

using namespace arraygpu;

// Bytes of address space in use.
static rlim_t in_use() {
    long pages = 0;
    if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE));
}

static bool allow(rlim_t bytes) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_AS, &limit) == 0;
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
    for (rlim_t more = 0; more < 400; more += 4) {
        k += 1e-6f;
        if (!allow(in_use() + more * 100000)) return 1;
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
        (status == AGPU_OK ? done : refused)++;
        if (status != AGPU_OK && status != AGPU_ERROR_OUT_OF_MEMORY) std::fprintf(stderr, "%d: %s\n", status, said);
        CHECK(status == AGPU_OK || status == AGPU_ERROR_OUT_OF_MEMORY);
        const float found = work(k);
        CHECK(found > expected * 0.99f && found < expected * 1.01f);
    }
    std::printf("%d refused, %d done\n", refused, done);
    CHECK(refused > 0 && done > 0);
    return failures != 0;
}
