// What a call costs the host: arraygpu's functions beside cuLaunchKernel of the very kernel that they launch, with the same parameters.
#include "host_cost.hpp"
#include "driver.hpp"
#include "ours.hpp"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <kernels.h>
#include <sstream>

namespace {

constexpr std::size_t N = 1024;
constexpr int BATCH = 500, BATCHES = 20; // a batch fits into the device's queue: nobody waits for the device

// saxpy's kernel as its package has it: the first version, which takes separate aligned vectors.
struct raw_kernel {
    cu::function function = nullptr;
    unsigned blocks = 0, threads = 0;
    std::vector<std::uint64_t> values;
    std::vector<void *> parameters;
};

std::string text_of(const char *text, std::int64_t length, const std::string &from) {
    const std::string all(text ? text : "", text ? std::size_t(length) : 0);
    const std::size_t at = all.find(from);
    return at == std::string::npos ? "" : all.substr(at, all.find("\n}", at) - at);
}

// The kernel's number, and its parameters in the order of docs/c-abi.md, from the plan's text (docs/ir.md).
int parameters_of(const std::string &plan, arrays &x, raw_kernel &k) {
    std::istringstream words(plan);
    std::vector<std::uint64_t> host, scalars;
    int kernel = -1;
    for (std::string word; words >> word;) {
        if (word[0] == '%' && word.back() == ':') { // "%1: f32 = arg 0"
            std::string type, equals, kind;
            words >> type >> equals >> kind;
            std::uint64_t value = N;
            if (kind == "arg") {
                value = 0;
                std::memcpy(&value, &alpha, sizeof alpha);
            }
            host.push_back(value);
        } else if (word == "launch") {
            words >> kernel;
        } else if (kernel >= 0 && (word == "pointwise" || word == "read" || word == "write")) {
            std::string place;
            std::size_t index = 0;
            words >> place >> index;
            const void *const params[] = {nullptr, x.raw.a, x.raw.b};
            k.values.push_back(cu::address(place == "param" && index < 3 ? params[index] : x.raw.out));
        } else if (kernel >= 0 && word == "in") {
            words >> word;
            const std::size_t index = std::stoul(word.substr(1));
            scalars.push_back(index < host.size() ? host[index] : 0);
        }
    }
    k.values.insert(k.values.end(), scalars.begin(), scalars.end());
    return kernel;
}

bool locate(const package &p, arrays &x, raw_kernel &k) {
    const agpu_module &m = *p.module;
    const int kernel = parameters_of(text_of(m.plans, m.plans_length, "plan @saxpy"), x, k);
    std::string launches = text_of(m.gpu, m.gpu_length, "gpu @saxpy");
    std::istringstream words(launches.substr(std::min(launches.size(), launches.find("version"))));
    std::string version, entry, grid;
    std::size_t elements = 0;
    words >> version >> entry >> version >> k.threads >> grid >> elements;
    const agpu_image *image = nullptr;
    for (int i = 0; i < m.image_count; ++i) {
        const agpu_image &one = m.images[i];
        if (one.kernel == kernel && one.version == 0 && (!image || one.arch == 90)) image = &one;
    }
    if (!image || grid != "elements" || elements == 0) return false;
    cu::module module = nullptr;
    if (cu::driver().ModuleLoadData(&module, image->data) != 0 || cu::driver().ModuleGetFunction(&k.function, module, entry.c_str()) != 0) return false;
    k.blocks = unsigned((N + elements - 1) / elements);
    for (std::uint64_t &v : k.values) k.parameters.push_back(&v);
    return true;
}

struct way {
    const char *impl;
    std::function<int()> call;
    std::vector<double> ns;
};

} // namespace

void host_cost(agpu_context *context, cu::stream stream, int (*launch_nothing)(const peer_arrays *, void *), std::FILE *json) {
    const package kernels(linked_package());
    arrays x(context, N);
    const test_case saxpy{"saxpy", "saxpy", {source::alpha, source::a, source::b}, false, "", 12, 1e-6};
    const prepared call(kernels, saxpy, x, stream);
    const agpu_view a = all_of(x.a), b = all_of(x.b), out = all_of(x.out);
    raw_kernel raw;
    std::vector<way> ways;
    if (locate(kernels, x, raw))
        ways.push_back({"cuLaunchKernel of the same kernel", [&] {
            return cu::driver().LaunchKernel(raw.function, raw.blocks, 1, 1, raw.threads, 1, 1, 0, stream, raw.parameters.data(), nullptr);
        }, {}});
    else std::printf("host_cost: the package's kernel for saxpy was not found; no row for cuLaunchKernel\n");
    ways.push_back({"arraygpu function", [&] { return int(kernels_saxpy(&call.call, alpha, a, b, out)); }, {}});
    ways.push_back({"arraygpu agpu_invoke", [&] { return int(call.run()); }, {}});
    if (launch_nothing) ways.push_back({"CUDA runtime <<<>>> of an empty kernel", [&] { return launch_nothing(&x.raw, stream); }, {}});
    for (int batch = -1; batch < BATCHES; ++batch) { // the first is not counted
        for (way &w : ways) {
            CU(StreamSynchronize(stream));
            const auto begin = std::chrono::steady_clock::now();
            int failed = 0;
            for (int i = 0; i < BATCH; ++i) failed |= w.call();
            const std::chrono::duration<double, std::nano> t = std::chrono::steady_clock::now() - begin;
            if (failed) std::fprintf(stderr, "host_cost: %s failed: %s\n", w.impl, agpu_last_error_message());
            if (batch >= 0) w.ns.push_back(failed ? NAN : t.count() / BATCH);
        }
    }
    CU(StreamSynchronize(stream));
    for (way &w : ways) {
        std::sort(w.ns.begin(), w.ns.end());
        const double ns = w.ns[w.ns.size() / 2];
        const double over = raw.function ? ns - ways[0].ns[ways[0].ns.size() / 2] : NAN;
        std::fprintf(json, "{\"name\":\"host_cost\",\"impl\":\"%s\",\"n\":%zu,\"calls\":%d,\"ns\":%.1f", w.impl, N, BATCH * BATCHES, ns);
        if (!std::isnan(over)) std::fprintf(json, ",\"over_raw_ns\":%.1f", over);
        std::fprintf(json, ",\"ok\":%s}\n", std::isnan(ns) ? "false" : "true");
        std::printf("host cost  %-40s %7.0f ns", w.impl, ns);
        if (!std::isnan(over)) std::printf("  (%+.0f)", over);
        std::printf("\n");
    }
}
