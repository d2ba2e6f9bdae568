#include "functions.hpp"
#include "cases.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

const char *name_of(kind k) {
    static const char *const names[] = {"an f32", "an f64", "two f32", "two f64", "an f32 and an integer", "an f64 and an integer"};
    return names[int(k)];
}

namespace {

bool is_double(kind k) { return k == kind::f64 || k == kind::f64_pair || k == kind::f64_integer; }
bool has_integer(kind k) { return k == kind::f32_integer || k == kind::f64_integer; }
bool has_second(kind k) { return k != kind::f32 && k != kind::f64; }
agpu_type type_of(kind k) { return is_double(k) ? AGPU_F64 : AGPU_F32; }

// Pieces of 0..n on all processors.
void parallel(std::size_t n, const std::function<void(std::size_t, std::size_t)> &piece) {
    const std::size_t workers = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t step = n / workers + 1;
    std::vector<std::thread> threads;
    for (std::size_t begin = 0; begin < n; begin += step) threads.emplace_back(piece, begin, std::min(n, begin + step));
    for (std::thread &t : threads) t.join();
}

std::uint64_t mixed(std::uint64_t x) { // splitmix64
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct f32_format {
    using bits = std::uint32_t;
    using number = float;
    static constexpr int mantissa = 23, bias = 127;
};
struct f64_format {
    using bits = std::uint64_t;
    using number = double;
    static constexpr int mantissa = 52, bias = 1023;
};

// A number of the r-th kind: any bits; of moderate size; near 1; a multiple of 1/8, perhaps an ulp away; near a power of two.
template <class F> typename F::bits number(std::uint64_t r) {
    using bits = typename F::bits;
    constexpr bits sign = bits(1) << (8 * sizeof(bits) - 1), fraction = (bits(1) << F::mantissa) - 1;
    const std::uint64_t s = mixed(r);
    const bits negative = s & 1 ? sign : 0, one = bits(F::bias) << F::mantissa;
    switch (r % 8) {
    case 0:
    case 1: return bits(s);
    case 2:
    case 3: return negative | bits(F::bias - 20 + int(s >> 56) % 40) << F::mantissa | (bits(s >> 1) & fraction);
    case 4: return negative | bits(F::bias - 3 + int(s >> 56) % 8) << F::mantissa | (bits(s >> 1) & fraction);
    case 5: return negative | bits(one + (bits(s >> 8) & fraction >> (s >> 2) % F::mantissa) - 2);
    case 6: {
        const auto x = static_cast<typename F::number>(double((s >> 8) % 8192) / 8);
        bits b;
        std::memcpy(&b, &x, sizeof b);
        return negative | bits(b + (b ? (s >> 2) % 3 - 1 : 0));
    }
    default: return negative | (bits(bits((s >> 8) % (2 * F::bias)) << F::mantissa) + bits(s >> 32) % 16);
    }
}

template <class F> void fill(void *x, void *y, bool integer, std::size_t n, std::uint64_t first) {
    using bits = typename F::bits;
    parallel(n, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t r = mixed(first + i);
            static_cast<bits *>(x)[i] = number<F>(r);
            if (!y) continue;
            const std::uint64_t other = mixed(r);
            if (integer) static_cast<std::int32_t *>(y)[i] = r >> 63 ? std::int32_t(other) : std::int32_t(other % 4400) - 2200;
            else static_cast<bits *>(y)[i] = number<F>(other);
        }
    });
}

} // namespace

std::vector<function> functions_of(agpu_loaded_module *module) {
    std::int32_t count = 0;
    check(agpu_module_entry_count(module, &count), "the package");
    std::vector<function> out;
    for (std::int32_t i = 0; i < count; ++i) {
        const char *name = nullptr;
        std::int32_t parameters = 0, results = 0;
        agpu_entry_slot slot{};
        check(agpu_module_entry_name(module, i, &name), "the package");
        check(agpu_module_entry_shape(module, i, &parameters, &results), name);
        check(agpu_module_entry_param(module, i, 0, &slot), name);
        const bool wide = slot.type == AGPU_F64;
        kind k = wide ? kind::f64 : kind::f32;
        if (parameters == 2) {
            check(agpu_module_entry_param(module, i, 1, &slot), name);
            const bool integer = slot.type == AGPU_I32;
            k = integer ? wide ? kind::f64_integer : kind::f32_integer : wide ? kind::f64_pair : kind::f32_pair;
        }
        out.push_back({name, i, k, 0, ""});
    }
    return out;
}

comparison::comparison(place a, place b, std::size_t chunk) : n(chunk) {
    sides[0].at = a;
    sides[1].at = b;
    const auto memory = [&](void *&to) { check(agpu_host_alloc(b.context, std::int64_t(n * 8), &to), "host memory"); };
    memory(x);
    memory(y);
    for (side &s : sides) {
        memory(s.result);
        int device = 0;
        check(agpu_context_device(s.at.context, &device), "a context");
        s.wrapped = device == AGPU_DEVICE_CPU;
    }
}

comparison::~comparison() {
    for (side &s : sides) {
        release(s);
        agpu_host_free(s.result);
    }
    agpu_host_free(x);
    agpu_host_free(y);
}

void comparison::release(side &s) {
    for (agpu_buffer **b : {&s.x, &s.y, &s.out}) {
        agpu_buffer_free(*b);
        *b = nullptr;
    }
}

// Buffers of the kind's types, with the inputs in them.
void comparison::prepare(side &s) {
    const agpu_type type = type_of(of), second = has_integer(of) ? AGPU_I32 : type;
    const auto count = std::int64_t(n);
    if (!s.x || s.type != type || s.second != second) {
        release(s);
        s.type = type;
        s.second = second;
        const auto make = [&](agpu_type t, void *memory, agpu_buffer *&to) {
            check(s.wrapped ? agpu_buffer_wrap(s.at.context, t, memory, count, &to) : agpu_buffer_create(s.at.context, t, count, &to), "a buffer");
        };
        make(type, x, s.x);
        make(second, y, s.y);
        make(type, s.result, s.out);
    }
    if (s.wrapped) return;
    agpu_view view{};
    check(agpu_buffer_view(s.x, &view), "a view");
    check(agpu_copy_from_host(view, x, count), "inputs");
    if (!has_second(of)) return;
    check(agpu_buffer_view(s.y, &view), "a view");
    check(agpu_copy_from_host(view, y, count), "inputs");
}

void comparison::inputs(kind k, std::uint64_t first, std::uint64_t step) {
    of = k;
    void *second = has_second(k) ? y : nullptr;
    if (k == kind::f32) {
        parallel(n, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) static_cast<std::uint32_t *>(x)[i] = std::uint32_t((first + i) * step);
        });
    } else if (is_double(k)) {
        fill<f64_format>(x, second, has_integer(k), n, first);
    } else {
        fill<f32_format>(x, second, has_integer(k), n, first);
    }
    for (side &s : sides) prepare(s);
}

void comparison::run(function &f) {
    const auto count = std::int64_t(n);
    for (side &s : sides) {
        std::vector<agpu_arg> args;
        const auto add = [&](agpu_arg_kind kind, agpu_buffer *buffer) {
            agpu_arg a{};
            a.kind = kind;
            check(agpu_buffer_view(buffer, &a.view), "a view");
            args.push_back(a);
        };
        add(AGPU_ARG_VIEW, s.x);
        if (has_second(of)) add(AGPU_ARG_VIEW, s.y);
        add(AGPU_ARG_RESULT_VIEW, s.out);
        agpu_call call{sizeof call, s.at.context, nullptr, nullptr, 0, nullptr};
        check(agpu_invoke(s.at.module, f.entry, &call, args.data(), int(args.size())), f.name);
        if (!s.wrapped) check(agpu_copy_to_host(s.result, args.back().view, count), f.name);
    }
    const std::size_t width = is_double(of) ? 8 : 4;
    const auto *a = static_cast<const unsigned char *>(sides[0].result), *b = static_cast<const unsigned char *>(sides[1].result);
    std::mutex mutex;
    std::size_t least = n, different = 0;
    parallel(n, [&](std::size_t begin, std::size_t end) {
        if (std::memcmp(a + begin * width, b + begin * width, (end - begin) * width) == 0) return;
        const std::lock_guard<std::mutex> lock(mutex);
        for (std::size_t i = end; i-- > begin;) {
            if (std::memcmp(a + i * width, b + i * width, width) == 0) continue;
            ++different;
            least = std::min(least, i);
        }
    });
    if (different && !f.different) {
        const auto bits = [&](const void *from, std::size_t bytes) {
            std::uint64_t word = 0;
            std::memcpy(&word, static_cast<const unsigned char *>(from) + least * bytes, bytes);
            char text[24];
            std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(word));
            return std::string(text);
        };
        f.first = bits(x, width);
        if (has_second(of)) f.first += ", " + bits(y, has_integer(of) ? 4 : width);
        f.first += ": " + bits(a, width) + " on the CPU, " + bits(b, width);
    }
    f.different += different;
}
