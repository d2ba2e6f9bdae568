// arraygpu on a GPU beside its peers, in one process on one stream, in turns.
//   arraygpu-gpu-bench [FILTER] [--rows FILE] [--package lib<name>.so]... [--peers FILE] [--rounds N] [--log2 N]...
// Further packages export the same functions; their rows are "arraygpu:<name>". Exit code 1 if any result is wrong.
#include "data.hpp"
#include "driver.hpp"
#include "host_cost.hpp"
#include "ours.hpp"
#include "report.hpp"
#include <cmath>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <memory>

namespace {

struct options {
    std::string filter, rows = "rows.jsonl", peers = "libarraygpu-peers.so";
    std::vector<std::string> packages = {linked_package()};
    std::vector<int> sizes;
    int rounds = 31;
};

struct peer_library {
    const peer *list = nullptr;
    int (*launch_nothing)(const peer_arrays *, void *) = nullptr;
    std::string said = "none";
};

// Everything of one run.
struct bench {
    options o;
    std::FILE *json;
    cu::stream stream;
    agpu_context *gpu, *cpu;
    std::vector<package> packages;
    peer_library peers;
    double copy_gbps = 0;

    // of the current size
    std::size_t n = 0;
    inputs x; // of the first set
    std::vector<std::unique_ptr<arrays>> sets;

    void upload();
    void reset(const test_case &, int flags);
    std::vector<float> result(const test_case &, const contender &, float host);
    std::vector<float> expected(const test_case &);
    std::vector<contender> contenders(const test_case &, float *host);
    void run(const test_case &);
};

options parse(int count, char **words) {
    options o;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const bool has_value = i + 1 < count;
        if (word == "--rows" && has_value) o.rows = words[++i];
        else if (word == "--package" && has_value) o.packages.push_back(words[++i]);
        else if (word == "--peers" && has_value) o.peers = words[++i];
        else if (word == "--rounds" && has_value) o.rounds = std::atoi(words[++i]);
        else if (word == "--log2" && has_value) o.sizes.push_back(std::atoi(words[++i]));
        else if (word[0] != '-') o.filter = word;
        else std::fprintf(stderr, "unknown option %s\n", words[i]), std::exit(2);
    }
    if (o.sizes.empty()) o.sizes = {26, 20};
    return o;
}

peer_library load_peers(const std::string &path) {
    peer_library p;
    void *library = dlopen(path.c_str(), RTLD_NOW);
    if (!library) {
        std::printf("no peers: %s\n", dlerror());
        return p;
    }
    const auto prepare = reinterpret_cast<const char *(*)()>(dlsym(library, "peers_prepare"));
    const auto list = reinterpret_cast<const peer *(*)()>(dlsym(library, "peers_list"));
    p.launch_nothing = reinterpret_cast<int (*)(const peer_arrays *, void *)>(dlsym(library, "peers_launch_nothing"));
    if (prepare && list) {
        p.said = prepare();
        p.list = list();
    }
    return p;
}

void bench::upload() {
    sets.clear();
    for (unsigned set = 0; set < 3; ++set) {
        sets.push_back(std::make_unique<arrays>(gpu, n));
        inputs h{numbers(n, 1 + 10 * set), numbers(n, 2 + 10 * set), numbers(n, 3 + 10 * set)};
        arrays &d = *sets.back();
        AGPU(agpu_copy_from_host(all_of(d.a), h.a.data(), std::int64_t(n)));
        AGPU(agpu_copy_from_host(all_of(d.b), h.b.data(), std::int64_t(n)));
        AGPU(agpu_copy_from_host(all_of(d.c), h.c.data(), std::int64_t(n)));
        if (set == 0) x = std::move(h);
    }
    CU(StreamSynchronize(nullptr));
}

// What out holds before a call, in every set: an input, or NaN; the scalar NaN.
void bench::reset(const test_case &c, int flags) {
    const std::string start = flags & PEER_SCALES ? "a" : c.starts_as;
    for (const auto &set : sets) {
        const float *from = start == "a" ? set->raw.a : set->raw.b;
        CU(MemsetD32Async(cu::address(set->raw.scalar), 0x7fc00000, 1, stream));
        if (start.empty()) CU(MemsetD32Async(cu::address(set->raw.out), 0x7fc00000, n, stream));
        else CU(MemcpyDtoDAsync(cu::address(set->raw.out), cu::address(from), n * 4, stream));
    }
}

// What the first set holds after a call.
std::vector<float> bench::result(const test_case &c, const contender &who, float host) {
    CU(StreamSynchronize(stream));
    if (who.flags & PEER_SYNC) return {host};
    std::vector<float> got(c.scalar ? 1 : n);
    CU(MemcpyDtoH(got.data(), cu::address(c.scalar ? sets[0]->raw.scalar : sets[0]->raw.out), got.size() * 4));
    return got;
}

// arraygpu's result on the CPU: to the bit what every GPU must give.
std::vector<float> bench::expected(const test_case &c) {
    arrays h(cpu, n);
    const auto put = [&](agpu_buffer *to, const std::vector<float> &from) { AGPU(agpu_copy_from_host(all_of(to), from.data(), std::int64_t(n))); };
    put(h.a, x.a);
    put(h.b, x.b);
    put(h.c, x.c);
    if (*c.starts_as) put(h.out, *c.starts_as == 'a' ? x.a : x.b);
    AGPU(prepared(packages[0], c, h, nullptr).run());
    std::vector<float> out(c.scalar ? 1 : n);
    AGPU(agpu_copy_to_host(out.data(), all_of(c.scalar ? h.scalar : h.out), std::int64_t(out.size())));
    return out;
}

std::vector<contender> bench::contenders(const test_case &c, float *host) {
    std::vector<contender> all;
    for (std::size_t p = 0; p < packages.size(); ++p) {
        if (packages[p].entry(c.entry) < 0) continue;
        std::vector<prepared> calls;
        for (const auto &set : sets) calls.emplace_back(packages[p], c, *set, stream);
        all.push_back({p ? "arraygpu:" + packages[p].name : "arraygpu", 0, true, [calls](int set) { return int(calls[std::size_t(set)].run()); }});
    }
    for (const peer *p = peers.list; p && p->name; ++p) {
        if (std::strcmp(p->name, c.name) != 0) continue;
        all.push_back({p->impl, p->flags, false, [this, p, host](int set) {
            peer_arrays raw = sets[std::size_t(set)]->raw;
            raw.host = host;
            return p->run(&raw, stream);
        }});
    }
    if (!c.entry && !peers.list)
        all.push_back({"cuMemcpyDtoDAsync", 0, false, [this](int set) {
            const peer_arrays &raw = sets[std::size_t(set)]->raw;
            return cu::driver().MemcpyDtoDAsync(cu::address(raw.out), cu::address(raw.a), n * 4, stream);
        }});
    return all;
}

void bench::run(const test_case &c) {
    float host = 0;
    std::vector<row> rows;
    std::vector<contender> good;
    std::vector<float> bits;
    for (contender &who : contenders(c, &host)) {
        reset(c, who.flags);
        host = NAN;
        const int status = who.run(0);
        if (status) { // no such library, or ours said no
            std::printf("%s %s: not run (%d) %s\n", c.name, who.impl.c_str(), status, who.ours ? agpu_last_error_message() : "");
            if (who.ours) rows.push_back({c.name, who.impl, n, true, false, {}, 0, NAN, false});
            continue;
        }
        const std::vector<float> got = result(c, who, host);
        const double error = error_of(c, x, got.data(), who.flags);
        bool ok = error <= c.allowed;
        if (who.ours) {
            if (bits.empty()) bits = expected(c);
            const bool same = std::memcmp(bits.data(), got.data(), got.size() * sizeof(float)) == 0;
            if (!same) std::printf("%s %s: other bits than on the CPU\n", c.name, who.impl.c_str());
            ok = ok && same;
        }
        rows.push_back({c.name, who.impl, n, who.ours, false, {}, c.bytes * double(n), error, ok});
        good.push_back(std::move(who));
    }
    reset(c, *c.starts_as ? 0 : PEER_SCALES); // numbers in place of NaN
    const bool small = n <= (1 << 22);
    const auto fill = [&](const std::vector<times> &t) {
        std::size_t next = 0;
        for (row &r : rows)
            if (next < good.size() && r.impl == good[next].impl) r.t = t[next++];
    };
    fill(interleaved(stream, good, small ? 24 : 6, o.rounds));
    if (!c.entry && n >= (std::size_t(1) << 24) && !rows.empty()) copy_gbps = rows[0].bytes / rows[0].t.median * 1e-6;
    report(rows, copy_gbps, json);
    if (!small) return;
    fill(replayed(stream, good, 20, o.rounds));
    for (row &r : rows) r.graph = true;
    report(rows, copy_gbps, json);
}

std::string date() {
    char text[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}

} // namespace

int main(int count, char **words) {
    bench b{};
    b.o = parse(count, words);
    CU(Init(0));
    b.json = std::fopen(b.o.rows.c_str(), "w");
    if (!b.json) return std::perror(b.o.rows.c_str()), 2;
    b.gpu = context_on(AGPU_DEVICE_CUDA);
    b.cpu = context_on(AGPU_DEVICE_CPU);
    void *primary = nullptr;
    CU(DevicePrimaryCtxRetain(&primary, 0));
    CU(CtxSetCurrent(primary));
    CU(StreamCreate(&b.stream, 0));
    for (const std::string &path : b.o.packages) b.packages.emplace_back(path);
    b.peers = load_peers(b.o.peers);
    std::fprintf(b.json, "{%s,\"date\":\"%s\",\"arraygpu\":\"%s\",\"peers\":\"%s\",\"rounds\":%d}\n", cu::device(0).c_str(), date().c_str(),
                 agpu_version(), b.peers.said.c_str(), b.o.rounds);
    for (const int size : b.o.sizes) {
        b.n = std::size_t(1) << size;
        b.upload();
        for (const test_case &c : cases())
            if (!c.entry || std::string(c.name).find(b.o.filter) != std::string::npos) b.run(c);
    }
    b.sets.clear();
    if (std::string("host_cost").find(b.o.filter) != std::string::npos) host_cost(b.gpu, b.stream, b.peers.launch_nothing, b.json);
    std::fclose(b.json);
    return summary() ? 1 : 0;
}
