// Stencils, sums of rows and columns, and all pairs on a GPU, with and without what the compiler does for them, beside kernels by hand.
//   arraygpu-shape-bench [FILTER] [--rows FILE] [--peers FILE] [--rounds N]     Rows are appended. Exit code 1 if any result is wrong.
#include "driver.hpp"
#include "report.hpp"
#include "shape_cases.hpp"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>

namespace {

constexpr unsigned NOT_A_NUMBER = 0x7fc00000;
using call = std::vector<agpu_arg>;

struct bench {
    package kernels{linked_package()};
    const peer *peers = nullptr;
    cu::stream stream = nullptr;
    agpu_context *gpu, *cpu;
    std::vector<std::unique_ptr<arrays>> sets;
    std::unique_ptr<arrays> host;
    inputs first; // of the first set
    int rounds = 31;
    double copy_gbps = 0;
    std::FILE *json = nullptr;

    void upload();
    void copy();
    void run(const shape_case &);
    std::vector<float> result(std::size_t count);
    bool same_bits(const shape_case &, const variant &, const std::vector<float> &got);
    agpu_status invoke(int entry, agpu_context *context, void *on, const call &arguments) {
        agpu_call how{sizeof how, context, on};
        return agpu_invoke(kernels.module, entry, &how, arguments.data(), int(arguments.size()));
    }
};

const peer *load_peers(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    const auto list = library ? reinterpret_cast<const peer *(*)()>(dlsym(library, "shapes_list")) : nullptr;
    if (!list) std::printf("no peers: %s\n", dlerror());
    return list ? list() : nullptr;
}

void bench::upload() {
    host = std::make_unique<arrays>(cpu, ELEMENTS);
    for (unsigned set = 0; set < 3; ++set) {
        inputs x{numbers(ELEMENTS, 1 + 10 * set), numbers(ELEMENTS, 2 + 10 * set), {}};
        for (std::size_t i = 0; i < 4 * BODIES; ++i) x.b[i] = x.a[i % 4 * BODIES + i / 4]; // the bodies in groups of four
        sets.push_back(std::make_unique<arrays>(gpu, ELEMENTS));
        const auto put = [&](const arrays &d) {
            AGPU(agpu_copy_from_host(all_of(d.a), x.a.data(), std::int64_t(ELEMENTS)));
            AGPU(agpu_copy_from_host(all_of(d.b), x.b.data(), std::int64_t(ELEMENTS)));
        };
        put(*sets[set]);
        if (set == 0) {
            put(*host);
            first = std::move(x);
        }
    }
    CU(StreamSynchronize(nullptr));
}

// How many floats of out a case writes between, at most; 0: its result is the scalar.
std::size_t reach(const shape_case &c) {
    if (c.out.rows == 0) return 0;
    return c.out.margin ? ELEMENTS : std::max(c.out.rows * c.out.pitch, c.name == "bodies" ? 4 * BODIES : 0);
}

// The results of the first set after a call: the elements of out, or the scalar.
std::vector<float> bench::result(std::size_t count) {
    const peer_arrays &raw = sets[0]->raw;
    std::vector<float> got(std::max<std::size_t>(count, 1));
    CU(StreamSynchronize(stream));
    CU(MemcpyDtoH(got.data(), cu::address(count ? raw.out : raw.scalar), got.size() * sizeof(float)));
    return got;
}

// Whether all of out is as on the CPU, also what lies around the result.
bool bench::same_bits(const shape_case &c, const variant &v, const std::vector<float> &got) {
    float *const to = reach(c) ? host->raw.out : host->raw.scalar;
    float nan;
    std::memcpy(&nan, &NOT_A_NUMBER, sizeof nan);
    std::fill(to, to + got.size(), nan);
    AGPU(invoke(kernels.entry(v.bits), cpu, nullptr, c.arguments(*host, v.at)));
    return std::memcmp(to, got.data(), got.size() * sizeof(float)) == 0;
}

void bench::copy() {
    const auto run = [this](int set) {
        const peer_arrays &raw = sets[std::size_t(set)]->raw;
        return cu::driver().MemcpyDtoDAsync(cu::address(raw.out), cu::address(raw.a), ELEMENTS * sizeof(float), stream);
    };
    row r{"copy", "cuMemcpyDtoDAsync", ELEMENTS, false, false, {}, 8.0 * ELEMENTS, 0, true};
    r.t = interleaved(stream, {{r.impl, 0, false, run}}, 6, rounds)[0];
    copy_gbps = r.bytes / r.t.median * 1e-6;
    report({r}, copy_gbps, json);
}

void bench::run(const shape_case &c) {
    struct entrant {
        contender who;
        const variant *ours;
        place at;
    };
    std::vector<entrant> all;
    for (const variant &v : c.ours) {
        const int entry = kernels.entry(v.function);
        if (entry < 0) {
            std::printf("%s: the package has no %s\n", c.name.c_str(), v.function);
            continue;
        }
        std::vector<call> calls;
        for (const auto &set : sets) calls.push_back(c.arguments(*set, v.at));
        const auto run = [this, calls, entry](int set) { return int(invoke(entry, gpu, stream, calls[std::size_t(set)])); };
        all.push_back({{std::string("arraygpu") + v.label, 0, true, run}, &v, v.at});
    }
    for (const peer *p = peers; p && p->name; ++p) {
        if (c.name != p->name) continue;
        const auto run = [this, p](int set) { return p->run(&sets[std::size_t(set)]->raw, stream); };
        const place at = p->flags & PEER_CENTRE ? place::centre : p->flags & PEER_GROUPS ? place::groups : place::start;
        all.push_back({{p->impl, p->flags, false, run}, nullptr, at});
    }
    std::vector<row> rows;
    std::vector<contender> good;
    for (const entrant &e : all) {
        CU(MemsetD32Async(cu::address(sets[0]->raw.scalar), NOT_A_NUMBER, 1, stream));
        CU(MemsetD32Async(cu::address(sets[0]->raw.out), NOT_A_NUMBER, ELEMENTS, stream));
        if (const int status = e.who.run(0)) {
            std::printf("%s %s: not run (%d) %s\n", c.name.c_str(), e.who.impl.c_str(), status, e.ours ? agpu_last_error_message() : "");
            if (e.ours) rows.push_back({c.name, e.who.impl, ELEMENTS, true, false, {}, 0, NAN, false});
            continue;
        }
        const std::vector<float> got = result(reach(c));
        const double error = error_of(c, first, got.data(), e.at);
        bool ok = error <= c.allowed;
        if (e.ours && e.ours->bits && !same_bits(c, *e.ours, got)) {
            std::printf("%s %s: other bits than on the CPU\n", c.name.c_str(), e.who.impl.c_str());
            ok = false;
        }
        rows.push_back({c.name, e.who.impl, c.name == "bodies" ? BODIES : ELEMENTS, e.who.ours, false, {}, c.bytes, error, ok, c.flops});
        good.push_back(e.who);
    }
    const std::vector<times> t = interleaved(stream, good, 6, rounds);
    std::size_t next = 0;
    for (row &r : rows)
        if (next < good.size() && r.impl == good[next].impl) r.t = t[next++];
    report(rows, copy_gbps, json);
}

} // namespace

int main(int count, char **words) {
    const char *rows_path = "rows.jsonl", *peers_path = "libarraygpu-shapes.so";
    std::string filter;
    bench b;
    for (int i = 1; i < count; ++i) {
        const bool has_value = i + 1 < count;
        if (!std::strcmp(words[i], "--rows") && has_value) rows_path = words[++i];
        else if (!std::strcmp(words[i], "--peers") && has_value) peers_path = words[++i];
        else if (!std::strcmp(words[i], "--rounds") && has_value) b.rounds = std::atoi(words[++i]);
        else if (words[i][0] != '-') filter = words[i];
        else return std::fprintf(stderr, "unknown option %s\n", words[i]), 2;
    }
    b.json = std::fopen(rows_path, "a");
    if (!b.json) return std::perror(rows_path), 2;
    CU(Init(0));
    b.gpu = context_on(AGPU_DEVICE_CUDA);
    b.cpu = context_on(AGPU_DEVICE_CPU);
    void *primary = nullptr;
    CU(DevicePrimaryCtxRetain(&primary, 0));
    CU(CtxSetCurrent(primary));
    CU(StreamCreate(&b.stream, 0));
    b.peers = load_peers(peers_path);
    b.upload();
    b.copy();
    for (const shape_case &c : shape_cases())
        if (c.name.find(filter) != std::string::npos) b.run(c);
    b.sets.clear();
    std::fclose(b.json);
    return summary() ? 1 : 0;
}
