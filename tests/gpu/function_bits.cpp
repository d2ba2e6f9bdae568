// The elementary functions' bits on a GPU beside the CPU's: f32 functions of one number for all 2^32 inputs, the others for many random ones.
//   function_bits LIBRARY [FILTER]      the package `functions`; without a GPU: one thread beside all, on a sample
// ARRAYGPU_SANITIZER=1: a small part.
#include "cases.hpp"
#include "functions.hpp"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is(const char *variable, const char *value) {
    const char *found = std::getenv(variable);
    return found && std::strcmp(found, value) == 0;
}

agpu_context *context(int device, int threads) {
    agpu_context_options options{sizeof options, device, threads};
    agpu_context *made = nullptr;
    check(agpu_context_create(&options, &made), "a context");
    return made;
}

// The GPU, if there is one.
agpu_context *gpu() {
    if (is("ARRAYGPU_DEVICE", "cpu")) return nullptr;
    agpu_context_options options{sizeof options, AGPU_DEVICE_CUDA, 0};
    agpu_context *made = nullptr;
    const agpu_status status = agpu_context_create(&options, &made);
    if (status == AGPU_OK) return made;
    if (std::getenv("ARRAYGPU_DEVICE")) check(status, "the GPU"); // it was asked for
    std::printf("on the CPU only: %s\n", agpu_last_error_message());
    return nullptr;
}

} // namespace

int main(int count, char **words) {
    if (count < 2) return std::fprintf(stderr, "usage: %s LIBRARY [FILTER]\n", words[0]), 2;
    agpu_loaded_module *loaded = nullptr;
    const agpu_module *module = nullptr;
    check(agpu_module_load(words[1], &loaded), words[1]);
    check(agpu_module_get(loaded, &module), words[1]);
    std::vector<function> functions = functions_of(loaded);
    if (count > 2) {
        std::vector<function> kept;
        for (const function &f : functions)
            if (f.name.find(words[2]) != std::string::npos) kept.push_back(f);
        functions = kept;
    }
    agpu_context *device = gpu();
    const place a = {context(AGPU_DEVICE_CPU, 0), module}, b = {device ? device : context(AGPU_DEVICE_CPU, 1), module};
    const bool brief = !device || is("ARRAYGPU_SANITIZER", "1");
    const std::size_t chunk = brief ? std::size_t(1) << 18 : std::size_t(1) << 26;
    comparison compare(a, b, chunk);
    // chunks outside: all functions of one kind share their inputs
    for (const kind k : {kind::f32, kind::f64, kind::f32_pair, kind::f64_pair, kind::f32_integer, kind::f64_integer}) {
        const std::size_t chunks = brief ? 4 : k == kind::f32 ? 64 : 4;
        const auto start = std::chrono::steady_clock::now();
        std::size_t of_kind = 0;
        for (std::size_t c = 0; c < chunks; ++c) {
            // a brief run takes every 2^12-th f32
            bool made = false;
            for (function &f : functions) {
                if (f.of != k) continue;
                if (!made) compare.inputs(k, c * chunk, k == kind::f32 && brief ? std::uint64_t(1) << 12 : 1);
                made = true;
                of_kind += c == 0;
                compare.run(f);
            }
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (of_kind) std::printf("%zu functions of %s, %zu inputs each (took %.1f s)\n", of_kind, name_of(k), chunks * chunk, took.count());
        std::fflush(stdout);
    }
    int failed = 0;
    for (const function &f : functions) {
        failed += f.different > 0;
        if (f.different) std::printf("%s: %zu results with other bits, the first of %s\n", f.name.c_str(), f.different, f.first.c_str());
    }
    const int all = int(functions.size());
    std::printf("%d passed, %d failed\n", all - failed, failed);
    return failed == 0 && all > 0 ? 0 : 1;
}
