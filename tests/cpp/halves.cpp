// Halves as floats and back have the same bits whatever the host's floating-point environment is: it may flush subnormals, or round upwards.
#include "check.hpp"
#include <arraygpu.hpp>
#include <cfenv>
#include <cmath>
#include <vector>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using arraygpu::bfloat16;
using arraygpu::half;

static std::uint32_t bits_of(float x) { return arraygpu::detail::bits_of(x); }
/// Not inlined where the environment would be that of another place.
#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif
NOINLINE static void convert(std::vector<std::uint32_t> &wide, std::vector<std::uint16_t> &narrow, const std::vector<float> &floats) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        half h;
        bfloat16 b;
        h.bits = b.bits = std::uint16_t(bits);
        wide.push_back(bits_of(float(h)));
        wide.push_back(bits_of(float(b)));
    }
    for (const float &x : floats) {
        narrow.push_back(half(x).bits);
        narrow.push_back(bfloat16(x).bits);
    }
}

int main() {
    std::vector<float> floats;
    for (std::uint32_t bits = 0; bits < 0x80000000u; bits += 4099)
        for (const std::uint32_t sign : {0u, 0x80000000u}) floats.push_back(arraygpu::detail::float_of(bits | sign));
    for (int i = 0; i < 4096; ++i) // ties of subnormals, and their neighbours
        for (const float to : {0.0f, 1.0f}) floats.push_back(std::nextafter(std::ldexp(float(i), -26), to)), floats.push_back(std::ldexp(float(i), -26));
    std::vector<std::uint32_t> wide, wide_elsewhere;
    std::vector<std::uint16_t> narrow, narrow_elsewhere;
    convert(wide, narrow, floats);
    for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
        const int exponent = int(bits >> 10);
        const double value = exponent ? std::ldexp(double((bits & 0x3ff) | 0x400), exponent - 25) : std::ldexp(double(bits), -24);
        CHECK(wide[2 * bits] == bits_of(float(value)));
    }
    for (std::size_t i = 0; i < floats.size(); ++i) {
        const double size = std::fabs(double(floats[i]));
        if (size < 0x1p-14) CHECK((narrow[2 * i] & 0x7fff) == int(std::nearbyint(std::ldexp(size, 24))));
    }
    std::fenv_t usual;
    std::fegetenv(&usual);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040 | 0x4000); // flush results and operands, round upwards
#else
    std::fesetround(FE_UPWARD);
#endif
    convert(wide_elsewhere, narrow_elsewhere, floats);
    std::fesetenv(&usual);
    CHECK(wide == wide_elsewhere);
    CHECK(narrow == narrow_elsewhere);
    std::printf("halves: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures;
}
