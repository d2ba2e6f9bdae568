// Black-Scholes on a GPU beside kernels by hand: call and put of n options, five arrays of f32.
//   arraygpu-options-bench [--rows FILE] [--peers FILE] [--rounds N] [--log2 N]     Rows are appended. Exit code 1 if any price is wrong.
#include "data.hpp"
#include "driver.hpp"
#include "ours.hpp"
#include "report.hpp"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>

namespace {

constexpr float rate = 0.02f, volatility = 0.3f;

// Spot, strike, years, call and put, on a device.
struct options {
    agpu_buffer *buffers[5];
    float *data[5];
    options(agpu_context *context, std::size_t n) {
        for (int i = 0; i < 5; ++i) {
            void *address = nullptr;
            AGPU(agpu_buffer_create(context, AGPU_F32, std::int64_t(n), &buffers[i]));
            AGPU(agpu_buffer_data(buffers[i], &address));
            data[i] = static_cast<float *>(address);
        }
    }
    ~options() {
        for (agpu_buffer *b : buffers) agpu_buffer_free(b);
    }
    options(const options &) = delete;
};

using market = std::vector<float>[3];

void draw(std::size_t n, unsigned seed, market &m) {
    const float low[] = {5, 1, 0.25f}, high[] = {30, 100, 10};
    for (unsigned k = 0; k < 3; ++k) {
        m[k] = numbers(n, seed + k);
        for (float &x : m[k]) x = low[k] + (high[k] - low[k]) * (0.5f * x + 0.5f);
    }
}

agpu_status price(const package &p, int entry, agpu_context *context, void *stream, const options &o) {
    agpu_call call{sizeof call, context, stream, nullptr, 0, nullptr};
    agpu_arg arguments[7] = {};
    for (int i = 0; i < 7; ++i) {
        const bool scalar = i == 3 || i == 4;
        arguments[i].kind = scalar ? AGPU_ARG_SCALAR : i < 3 ? AGPU_ARG_VIEW : AGPU_ARG_RESULT_VIEW;
        if (scalar) arguments[i].scalar = i == 3 ? &rate : &volatility;
        else arguments[i].view = all_of(o.buffers[i < 3 ? i : i - 2]);
    }
    return agpu_invoke(p.module, entry, &call, arguments, 7);
}

// The greatest error of both prices against the formula in double, over a sample.
double error_of(const market &m, const std::vector<float> &calls, const std::vector<float> &puts) {
    double worst = 0;
    for (std::size_t i = 0; i < calls.size(); i += 97) {
        const double s = m[0][i], x = m[1][i], t = m[2][i], r = rate, v = volatility;
        const auto normal = [](double d) { return 0.5 * std::erfc(-d * std::sqrt(0.5)); };
        const double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * std::sqrt(t)), d2 = d1 - v * std::sqrt(t), xe = x * std::exp(-r * t);
        const double e = std::fmax(std::fabs(calls[i] - (s * normal(d1) - xe * normal(d2))), std::fabs(puts[i] - (xe * normal(-d2) - s * normal(-d1))));
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

const peer *load_peers(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    const auto list = library ? reinterpret_cast<const peer *(*)()>(dlsym(library, "options_list")) : nullptr;
    if (!list) std::printf("no peers: %s\n", dlerror());
    return list ? list() : nullptr;
}

} // namespace

int main(int count, char **words) {
    const char *rows_path = "rows.jsonl", *peers_path = "libarraygpu-options.so";
    int rounds = 31, log2 = 26;
    for (int i = 1; i + 1 < count; i += 2) {
        if (!std::strcmp(words[i], "--rows")) rows_path = words[i + 1];
        else if (!std::strcmp(words[i], "--peers")) peers_path = words[i + 1];
        else if (!std::strcmp(words[i], "--rounds")) rounds = std::atoi(words[i + 1]);
        else if (!std::strcmp(words[i], "--log2")) log2 = std::atoi(words[i + 1]);
    }
    std::FILE *json = std::fopen(rows_path, "a");
    if (!json) return std::perror(rows_path), 2;
    const std::size_t n = std::size_t(1) << log2;
    CU(Init(0));
    agpu_context *gpu = context_on(AGPU_DEVICE_CUDA), *cpu = context_on(AGPU_DEVICE_CPU);
    void *primary = nullptr;
    CU(DevicePrimaryCtxRetain(&primary, 0));
    CU(CtxSetCurrent(primary));
    cu::stream stream = nullptr;
    CU(StreamCreate(&stream, 0));
    const package kernels(linked_package());

    market first;
    std::vector<std::unique_ptr<options>> sets;
    options host(cpu, n);
    for (unsigned set = 0; set < 3; ++set) {
        market m;
        draw(n, 4 + 10 * set, m);
        sets.push_back(std::make_unique<options>(gpu, n));
        for (int k = 0; k < 3; ++k) {
            AGPU(agpu_copy_from_host(all_of(sets[set]->buffers[k]), m[k].data(), std::int64_t(n)));
            if (set == 0) AGPU(agpu_copy_from_host(all_of(host.buffers[k]), m[k].data(), std::int64_t(n)));
        }
        if (set == 0) std::swap(first, m);
    }
    CU(StreamSynchronize(nullptr));

    std::vector<contender> all;
    for (const char *name : {"options", "options_tails", "options_fast"}) {
        const int entry = kernels.entry(name);
        const auto run = [&, entry](int set) { return int(price(kernels, entry, gpu, stream, *sets[std::size_t(set)])); };
        all.push_back({std::string("arraygpu ") + name, 0, true, run});
    }
    for (const peer *p = load_peers(peers_path); p && p->name; ++p)
        all.push_back({p->impl, 0, false, [&, p](int set) {
            float *const *d = sets[std::size_t(set)]->data;
            const peer_arrays x{d[0], d[1], d[2], d[3], d[4], nullptr, n};
            return p->run(&x, stream);
        }});
    std::vector<row> rows;
    std::vector<contender> good;
    for (contender &who : all) {
        for (int k = 3; k < 5; ++k) CU(MemsetD32Async(cu::address(sets[0]->data[k]), 0x7fc00000, n, stream));
        std::vector<float> got[2], same[2];
        if (who.run(0)) {
            std::printf("%s: not run: %s\n", who.impl.c_str(), who.ours ? agpu_last_error_message() : "");
            if (who.ours) rows.push_back({"blackscholes", who.impl, n, true, false, {}, 0, NAN, false});
            continue;
        }
        CU(StreamSynchronize(stream));
        for (int k = 0; k < 2; ++k) {
            got[k].resize(n);
            CU(MemcpyDtoH(got[k].data(), cu::address(sets[0]->data[3 + k]), n * 4));
        }
        const bool approximate = who.impl.find("fast") != std::string::npos;
        const double error = error_of(first, got[0], got[1]);
        bool ok = error <= (approximate ? 1e-3 : 1e-4);
        if (who.ours && !approximate) {
            AGPU(price(kernels, kernels.entry(who.impl.c_str() + std::strlen("arraygpu ")), cpu, nullptr, host));
            for (int k = 0; k < 2; ++k) {
                same[k].resize(n);
                AGPU(agpu_copy_to_host(same[k].data(), all_of(host.buffers[3 + k]), std::int64_t(n)));
                if (std::memcmp(same[k].data(), got[k].data(), n * 4) != 0) std::printf("%s: other bits than on the CPU\n", who.impl.c_str()), ok = false;
            }
        }
        rows.push_back({"blackscholes", who.impl, n, who.ours, false, {}, 20.0 * double(n), error, ok});
        good.push_back(who);
    }
    const std::vector<times> t = interleaved(stream, good, 6, rounds);
    std::size_t next = 0;
    for (row &r : rows)
        if (next < good.size() && r.impl == good[next].impl) r.t = t[next++];
    // precise beside precise, fast beside fast
    for (const bool fast : {false, true}) {
        std::vector<row> some;
        for (const row &r : rows)
            if ((r.impl.find("fast") != std::string::npos) == fast) some.push_back(r);
        report(some, 0, json);
    }
    std::fclose(json);
    return summary() ? 1 : 0;
}
