// fast_math (docs/semantics.md, section 8): on CPUs every function has its precise bits; on a GPU what is approximated is near, and everything else has its bits.
//   fast_math FOLDER      libfast_math.so and fast_math.cases, which random_packages.rs writes: functions <operator>_<type> of x and y
// ARRAYGPU_DEVICE=cpu: the CPU only.
#include "calls.hpp"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// An element as a double.
double number(const value &v, std::size_t i) {
    const unsigned char *at = v.bytes.data() + i * size_of(v.type);
    if (v.type == AGPU_F64) {
        double x;
        std::memcpy(&x, at, sizeof x);
        return x;
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, size_of(v.type));
    if (v.type == AGPU_F16) {
        const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
        const double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                            : exponent == 0 ? std::ldexp(fraction, -24)
                                            : std::ldexp(1024 + fraction, exponent - 25);
        return bits >> 15 ? -size : size;
    }
    if (v.type == AGPU_BF16) bits <<= 16;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// How far a GPU may be from the exact result, in f32; negative: not at all.
double allowed(const std::string &op, double x, double y, double exact) {
    const double bit = std::ldexp(1, -21), size = std::fabs(exact);
    if (op == "sqrt" || op == "rsqrt" || op == "exp2" || op == "div") return bit * size;
    // the argument is scaled before: that rounding grows with it
    if (op == "exp") return bit * size * (1 + std::fabs(x));
    if (op == "log" || op == "log2" || op == "log10") return bit * (1 + size);
    if (op == "sin" || op == "cos") return 2 * bit;
    if (op == "tan") return 4 * bit * (1 + exact * exact);
    // x * y + x, rounded once or twice
    if (op == "product_sum") return bit * (std::fabs(x * y) + std::fabs(x));
    return -1;
}

struct test {
    long passed = 0, failed = 0;

    void function(const char *where, agpu_context *context, bool gpu, const package &p, std::size_t i) {
        const std::string &name = p.entries[i].name, op = name.substr(0, name.rfind('_'));
        for (const one_case &c : p.entries[i].cases) {
            const outcome o = call(context, p, i, c.arguments, layout::aligned, &c.results);
            check(o.status, name + ": " + o.message);
            const value &exact = c.results[0], &found = o.results[0];
            const std::size_t size = size_of(exact.type);
            // a half is rounded after it was approximated: to the next one at worst
            const double half = exact.type == AGPU_F16 ? std::ldexp(1, -10) : exact.type == AGPU_BF16 ? std::ldexp(1, -7) : 0;
            long wrong = 0, other = 0;
            for (std::size_t k = 0; k < std::size_t(exact.count()); ++k) {
                if (std::memcmp(exact.bytes.data() + k * size, found.bytes.data() + k * size, size) == 0) continue;
                ++other;
                const double x = number(c.arguments[0], k), y = number(c.arguments[1], k), e = number(exact, k), f = number(found, k);
                const double may = allowed(op, x, y, e);
                const bool near = gpu && exact.type != AGPU_F64 && may >= 0 && std::fabs(e - f) <= may + half * std::fabs(e) + (half > 0 ? std::ldexp(1, -24) : 0);
                if (near) continue;
                if (++wrong == 1) std::printf("FAILED %s on %s: of %.9g and %.9g it is %.17g, found %.17g\n", name.c_str(), where, x, y, e, f);
            }
            ++(wrong ? failed : passed);
            if (other && !wrong) std::printf("%s on %s: %ld of %lld results are approximated otherwise\n", name.c_str(), where, other, (long long)exact.count());
        }
    }
};

bool is(const char *variable, const char *value) {
    const char *found = std::getenv(variable);
    return found && std::strcmp(found, value) == 0;
}

} // namespace

int main(int count, char **words) {
    if (count < 2) return std::fprintf(stderr, "usage: %s FOLDER\n", words[0]), 2;
    const std::string folder = words[1];
    const package p(folder + "/libfast_math.so", folder + "/fast_math.cases");
    agpu_context *cpu = nullptr, *gpu = nullptr;
    agpu_context_options options{sizeof options, AGPU_DEVICE_CPU, 1};
    check(agpu_context_create(&options, &cpu), "a context");
    if (!is("ARRAYGPU_DEVICE", "cpu")) {
        options = agpu_context_options{sizeof options, AGPU_DEVICE_CUDA, 0};
        const agpu_status status = agpu_context_create(&options, &gpu);
        if (status != AGPU_OK && std::getenv("ARRAYGPU_DEVICE")) check(status, "the GPU"); // it was asked for
        if (!gpu) std::printf("on the CPU only: %s\n", agpu_last_error_message());
    }
    test t;
    for (std::size_t i = 0; i < p.entries.size(); ++i) {
        t.function("the CPU", cpu, false, p, i);
        if (gpu) t.function("the GPU", gpu, true, p, i);
    }
    std::printf("%ld passed, %ld failed\n", t.passed, t.failed);
    return t.failed == 0 && t.passed > 0 ? 0 : 1;
}
