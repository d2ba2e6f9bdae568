// The generated functions beside loops over the system's, on vectors of 4096 elements in cache, one thread: nanoseconds an element, medians.
//   arraygpu-function-speed [FILTER] [--package lib<name>.so] [--rounds N]      one JSON row a function and type
// The level of the instruction set is v3, unless ARRAYGPU_CPU_LEVEL says another one.
#include "libm.h"
#include <algorithm>
#include <arraygpu.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t N = 4096;
constexpr int CALLS = 16; // of one measurement

void must(agpu_status status) {
    if (status == AGPU_OK) return;
    std::fprintf(stderr, "arraygpu: %s\n", agpu_last_error_message());
    std::exit(1);
}

// Random numbers of a range, in random order, as data comes.
double number(std::uint64_t i, double from, double to) {
    std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return from + (to - from) * (double((z ^ z >> 31) >> 11) * 0x1p-53);
}

// A vector of one of the three types, in host memory and as a view.
struct array {
    agpu_type type;
    std::vector<unsigned char> bytes;
    agpu_buffer *buffer = nullptr;
    agpu_view view{};

    array(agpu_context *context, agpu_type t, double from, double to, std::uint64_t seed) : type(t), bytes(N * 8) {
        for (std::int64_t i = 0; i < N; ++i) {
            const double x = number(seed + std::uint64_t(i), from, to);
            if (type == AGPU_F32) reinterpret_cast<float *>(bytes.data())[i] = float(x);
            if (type == AGPU_F64) reinterpret_cast<double *>(bytes.data())[i] = x;
            if (type == AGPU_I32) reinterpret_cast<std::int32_t *>(bytes.data())[i] = std::int32_t(x);
        }
        must(agpu_buffer_wrap(context, type, bytes.data(), N, &buffer));
        must(agpu_buffer_view(buffer, &view));
    }
    ~array() { agpu_buffer_free(buffer); }
    array(const array &) = delete;
};

template <class F> double ns(F run) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < CALLS; ++k) run();
    const std::chrono::duration<double, std::nano> t = std::chrono::steady_clock::now() - start;
    return t.count() / double(CALLS * N);
}

double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(v.size() / 2), v.end());
    return v[v.size() / 2];
}

void measure(agpu_context *context, const agpu_module *module, int entry, const libm_loop &f, int rounds) {
    const agpu_type type = f.is_f64 ? AGPU_F64 : AGPU_F32;
    const array x(context, type, f.from, f.to, 0);
    const array y(context, f.second == 2 ? AGPU_I32 : type, f.from_y, f.to_y, N);
    array out(context, type, 0, 0, 0), theirs(context, type, 0, 0, 0);
    std::vector<agpu_arg> args;
    const auto add = [&](agpu_arg_kind kind, const array &a) {
        agpu_arg arg{};
        arg.kind = kind;
        arg.view = a.view;
        args.push_back(arg);
    };
    add(AGPU_ARG_VIEW, x);
    if (f.second) add(AGPU_ARG_VIEW, y);
    add(AGPU_ARG_RESULT_VIEW, out);
    agpu_call call{sizeof call, context, nullptr, nullptr, 0, nullptr};
    const auto ours = [&] { must(agpu_invoke(module, entry, &call, args.data(), int(args.size()))); };
    const auto libm = [&] { f.run(x.bytes.data(), y.bytes.data(), theirs.bytes.data(), N); };
    std::vector<double> a, b;
    for (int r = 0; r < rounds; ++r) {
        const double one = ns(ours), other = ns(libm);
        if (r > 1) a.push_back(one), b.push_back(other);
    }
    const char *level = std::getenv("ARRAYGPU_CPU_LEVEL");
    std::printf("{\"name\":\"function_speed\",\"function\":\"%s\",\"type\":\"%s\",\"level\":\"%s\",\"ns\":%.3f,\"libm_ns\":%.3f,\"ratio\":%.2f}\n", f.name,
                f.is_f64 ? "f64" : "f32", level, median(a), median(b), median(b) / median(a));
    std::fflush(stdout);
}

} // namespace

int main(int count, char **words) {
    std::string filter, package = PACKAGE;
    int rounds = 41;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word == "--package" && i + 1 < count) package = words[++i];
        else if (word == "--rounds" && i + 1 < count) rounds = std::max(3, std::atoi(words[++i]));
        else filter = word;
    }
    setenv("ARRAYGPU_CPU_LEVEL", "v3", 0);
    agpu_context_options options{sizeof options, AGPU_DEVICE_CPU, 1};
    agpu_context *context = nullptr;
    agpu_loaded_module *loaded = nullptr;
    const agpu_module *module = nullptr;
    must(agpu_context_create(&options, &context));
    must(agpu_module_load(package.c_str(), &loaded));
    must(agpu_module_get(loaded, &module));
    for (const libm_loop *f = libm_loops; f->name; ++f) {
        const std::string name = std::string(f->name) + (f->is_f64 ? "_f64" : "_f32");
        int32_t entry = -1;
        if (!filter.empty() && filter != f->name) continue;
        if (agpu_module_find(loaded, name.c_str(), &entry) == AGPU_OK) measure(context, module, entry, *f, rounds);
    }
    must(agpu_loaded_module_free(loaded));
    must(agpu_context_free(context));
}
