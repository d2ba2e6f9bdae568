// The elementary functions beside CUDA's precise ones, over 2^26 values in the functions' ordinary ranges, in turns on one stream.
//   arraygpu-gpu-functions [FILTER] [--package lib<name>.so]... [--peers FILE] [--rows FILE] [--rounds N] [--log2 N]
// Each implementation is a row; ours is "arraygpu", or "arraygpu:<name>" of further packages. "r" is a peer's time over that of the first package: above 1 we are faster.
#include "data.hpp"
#include "driver.hpp"
#include "function_peers.h"
#include "ours.hpp"
#include "timing.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

struct options {
    std::string filter, rows = "function-rows.jsonl", peers = "libarraygpu-functions.so";
    std::vector<std::string> packages;
    int rounds = 31, log2 = 26;
};

options parse(int count, char **words) {
    options o;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const bool has_value = i + 1 < count;
        if (word == "--package" && has_value) o.packages.push_back(words[++i]);
        else if (word == "--peers" && has_value) o.peers = words[++i];
        else if (word == "--rows" && has_value) o.rows = words[++i];
        else if (word == "--rounds" && has_value) o.rounds = std::max(1, std::atoi(words[++i]));
        else if (word == "--log2" && has_value) o.log2 = std::atoi(words[++i]);
        else if (word[0] != '-') o.filter = word;
        else std::fprintf(stderr, "unknown option %s\n", words[i]), std::exit(2);
    }
    if (o.packages.empty()) o.packages.push_back("libfunctions.so");
    return o;
}

const function_peer *load_peers(const std::string &path) {
    void *library = dlopen(path.c_str(), RTLD_NOW);
    const auto list = library ? reinterpret_cast<const function_peer *(*)()>(dlsym(library, "function_peers")) : nullptr;
    if (!list) std::fprintf(stderr, "no peers, and they name the functions: %s\n", dlerror()), std::exit(3);
    return list();
}

// Memory of the device for one argument or result, as elements of any of the three types.
struct device_array {
    agpu_context *context;
    agpu_buffer *buffer = nullptr;
    agpu_view view{};
    void *data = nullptr;

    device_array(agpu_context *c, agpu_type type, std::size_t n) : context(c) {
        AGPU(agpu_buffer_create(context, type, std::int64_t(n), &buffer));
        AGPU(agpu_buffer_data(buffer, &data));
        view = all_of(buffer);
    }
    ~device_array() { agpu_buffer_free(buffer); }
    device_array(const device_array &) = delete;
};

template <class T> void upload(const device_array &to, std::size_t n, double low, double high, std::uint64_t seed) {
    std::vector<T> host(n);
    parallel(n, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            std::uint64_t z = (seed + i + 1) * 0x9e3779b97f4a7c15u;
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
            z = (z ^ z >> 27) * 0x94d049bb133111ebu;
            host[i] = T(low + (high - low) * (double((z ^ z >> 31) >> 11) * 0x1p-53));
        }
    });
    AGPU(agpu_copy_from_host(to.view, host.data(), std::int64_t(n)));
}

void upload(const device_array &to, agpu_type type, std::size_t n, double low, double high, std::uint64_t seed) {
    if (type == AGPU_F32) upload<float>(to, n, low, high, seed);
    if (type == AGPU_F64) upload<double>(to, n, low, high, seed);
    if (type == AGPU_I32) upload<std::int32_t>(to, n, low, high, seed);
}

// The first results as integers in the order of the numbers: differences count ulps.
template <class T, class I> std::vector<std::int64_t> ranks(const device_array &from, std::size_t n) {
    std::vector<I> bits(n);
    CU(MemcpyDtoH(bits.data(), cu::address(from.data), n * sizeof(T)));
    std::vector<std::int64_t> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = bits[i] < 0 ? std::int64_t(std::numeric_limits<I>::min()) - bits[i] : bits[i];
    return out;
}

struct bench {
    options o;
    cu::stream stream;
    agpu_context *gpu;
    std::vector<package> packages;
    std::FILE *json;
    std::size_t n;
    int wrong = 0;

    void run(const function_peer &);
};

void bench::run(const function_peer &f) {
    const std::string kernel = std::string(f.name) + (f.is_f64 ? "_f64" : "_f32");
    if (kernel.find(o.filter) == std::string::npos || packages[0].entry(kernel.c_str()) < 0) return;
    const agpu_type type = f.is_f64 ? AGPU_F64 : AGPU_F32, second = f.second == 2 ? AGPU_I32 : type;
    const std::size_t width = f.is_f64 ? 8 : 4;
    const device_array x(gpu, type, n), y(gpu, second, f.second ? n : 8), out(gpu, type, n);
    upload(x, type, n, f.from, f.to, 0);
    if (f.second) upload(y, second, n, f.from_y, f.to_y, n);
    std::vector<contender> all;
    for (std::size_t p = 0; p < packages.size(); ++p) {
        const int entry = packages[p].entry(kernel.c_str());
        if (entry < 0) continue;
        std::vector<agpu_arg> args;
        const auto add = [&](agpu_arg_kind kind, const device_array &a) {
            agpu_arg arg{};
            arg.kind = kind;
            arg.view = a.view;
            args.push_back(arg);
        };
        add(AGPU_ARG_VIEW, x);
        if (f.second) add(AGPU_ARG_VIEW, y);
        add(AGPU_ARG_RESULT_VIEW, out);
        const agpu_call call{sizeof call, gpu, stream, nullptr, 0, nullptr};
        all.push_back({p ? "arraygpu:" + packages[p].name : "arraygpu", 0, true, [=, module = packages[p].module](int) {
            return int(agpu_invoke(module, entry, &call, args.data(), int(args.size())));
        }});
    }
    const auto peer = [&](const char *impl, function_run run) {
        all.push_back({impl, 0, false, [run, &x, &y, &out, this](int) { return run(x.data, y.data, out.data, n, stream); }});
    };
    peer("cuda_16B", f.one);
    peer("cuda_16Bx2", f.two);
    peer("cuda_16Bx4", f.four);
    all.push_back({"copy", 0, false, [&](int) { return cu::driver().MemcpyDtoDAsync(cu::address(out.data), cu::address(x.data), n * width, stream); }});

    // the same values, but for a few ulps; a wider difference is an error of one of them
    const std::size_t looked_at = std::min(n, std::size_t(1) << 20);
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> apart;
    for (const contender &who : all) {
        if (const int status = who.run(0)) std::printf("%s %s: not run (%d) %s\n", kernel.c_str(), who.impl.c_str(), status, who.ours ? agpu_last_error_message() : "");
        CU(StreamSynchronize(stream));
        const auto got = f.is_f64 ? ranks<double, std::int64_t>(out, looked_at) : ranks<float, std::int32_t>(out, looked_at);
        if (first.empty()) first = got;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < looked_at; ++i) most = std::max(most, std::abs(got[i] - first[i]));
        apart.push_back(most);
    }
    const std::vector<times> t = interleaved(stream, all, 4, o.rounds);
    const double bytes = double(n) * (2 * double(width) + (f.second == 2 ? 4 : f.second ? double(width) : 0));
    double best = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool copy = all[i].impl == "copy", fast = i > 0 && all[i].ours;
        const bool ok = copy || fast || apart[i] <= 16;
        wrong += !ok;
        std::fprintf(json, "{\"name\":\"functions\",\"kernel\":\"%s\",\"impl\":\"%s\",\"n\":%zu,\"ms\":%.6f,\"min_ms\":%.6f,\"p90_ms\":%.6f,\"gbps\":%.1f", kernel.c_str(),
                     all[i].impl.c_str(), n, t[i].median, t[i].least, t[i].p90, (copy ? 2 * double(n * width) : bytes) / t[i].median * 1e-6);
        if (!all[i].ours) std::fprintf(json, ",\"r\":%.3f", t[i].median / t[0].median);
        if (!copy) std::fprintf(json, ",\"apart\":%lld,\"ok\":%s", static_cast<long long>(apart[i]), ok ? "true" : "false");
        std::fprintf(json, "}\n");
        if (!copy && !all[i].ours && (best == 0 || t[i].median < best)) best = t[i].median;
    }
    std::fflush(json);
    std::printf("%-13s %8.5f ms   CUDA %8.5f ms   r = %5.3f   copy %8.5f ms", kernel.c_str(), t[0].median, best, best / t[0].median, t.back().median);
    for (std::size_t i = 1; i < all.size() && all[i].ours; ++i) std::printf("   %s %8.5f ms", all[i].impl.c_str(), t[i].median);
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main(int count, char **words) {
    bench b{};
    b.o = parse(count, words);
    b.n = std::size_t(1) << b.o.log2;
    const function_peer *peers = load_peers(b.o.peers);
    CU(Init(0));
    b.json = std::fopen(b.o.rows.c_str(), "w");
    if (!b.json) return std::perror(b.o.rows.c_str()), 2;
    b.gpu = context_on(AGPU_DEVICE_CUDA);
    void *primary = nullptr;
    CU(DevicePrimaryCtxRetain(&primary, 0));
    CU(CtxSetCurrent(primary));
    CU(StreamCreate(&b.stream, 0));
    for (const std::string &path : b.o.packages) b.packages.emplace_back(path);
    std::fprintf(b.json, "{%s,\"arraygpu\":\"%s\",\"rounds\":%d}\n", cu::device(0).c_str(), agpu_version(), b.o.rounds);
    for (const function_peer *f = peers; f->name; ++f) b.run(*f);
    std::fclose(b.json);
    if (b.wrong) std::printf("%d implementations are more than 16 ulps from ours\n", b.wrong);
    return b.wrong ? 1 : 0;
}
