// Elements of the narrow types: what C++ makes of halves, and vectors and scalars of them through a package.
#include "check.hpp"
#include <arraygpu.hpp>
#include <checks.hpp>
#include <cmath>

using arraygpu::gpu_vector;
using arraygpu::gpu_vector_view;
using arraygpu::subview;

// from float to nearest even, at ties and ends; back; and through vectors
static void halves() {
    using arraygpu::bfloat16;
    using arraygpu::half;
    CHECK(half(1.0f).bits == 0x3c00 && half(-2.0f).bits == 0xc000 && half(65504.0f).bits == 0x7bff);
    CHECK(half(65519.99f).bits == 0x7bff && half(65520.0f).bits == 0x7c00 && half(1e30f).bits == 0x7c00);
    CHECK(half(1.00048828125f).bits == 0x3c00 && half(1.00146484375f).bits == 0x3c02 && half(1.0004884f).bits == 0x3c01);
    CHECK(half(0x1p-24f).bits == 1 && half(0x1p-25f).bits == 0 && half(0x1.000002p-25f).bits == 1 && half(-0.0f).bits == 0x8000);
    CHECK(half(std::nanf("")).bits == 0x7e00 && bfloat16(std::nanf("")).bits == 0x7fc0);
    CHECK(bfloat16(1.0f).bits == 0x3f80 && bfloat16(1.00390625f).bits == 0x3f80 && bfloat16(1.01171875f).bits == 0x3f82);
    CHECK(bfloat16(3.4e38f).bits == 0x7f80 && bfloat16(-1.5f) == -1.5f);
    for (unsigned bits = 0; bits < 65536; ++bits) {
        half h;
        bfloat16 b;
        h.bits = b.bits = std::uint16_t(bits);
        CHECK(h != h ? (bits & 0x7fff) > 0x7c00 : half(float(h)).bits == bits);
        CHECK(b != b ? (bits & 0x7fff) > 0x7f80 : bfloat16(float(b)).bits == bits);
    }
    gpu_vector<half> x{1, 2.5f, -3};
    CHECK(x.to_host() == (std::vector<half>{1, 2.5f, -3}));
    subview(x, 0, 3, 2).fill(0.5f);
    CHECK(x.to_host() == (std::vector<half>{0.5f, 2.5f, 0.5f}));
    const auto [scaled, sum] = checks::scaled_half(x, 2);
    CHECK(scaled.to_host() == (std::vector<half>{1, 5, 1}) && sum == 3.5f);
    const auto [scaled2, sum2] = checks::scaled_bfloat16(gpu_vector<bfloat16>{1, 2, 0.25f}, 3);
    CHECK(scaled2.to_host() == (std::vector<bfloat16>{3, 6, 0.75f}) && sum2 == 3.25f);
    static_assert(std::is_same_v<decltype(checks::scaled_half_result::sum), half>);
    static_assert(!std::is_convertible_v<gpu_vector<bfloat16> &, gpu_vector_view<const half>>);
}

static void integers() {
    const gpu_vector<std::int8_t> a{127, -128};
    const gpu_vector<std::uint16_t> b{65535, 7};
    const gpu_vector<std::int16_t> c{-32768, 0};
    const gpu_vector<std::uint64_t> d{0, std::uint64_t(1) << 63};
    const auto r = checks::wrapped(a, b, c, d);
    CHECK(r.a1.to_host() == (std::vector<std::int8_t>{-128, -127}));
    CHECK(r.b1.to_host() == (std::vector<std::uint16_t>{0, 8}));
    CHECK(r.c1.to_host() == (std::vector<std::int16_t>{32767, -1}));
    CHECK(r.d1.to_host() == (std::vector<std::uint64_t>{~std::uint64_t(0), (std::uint64_t(1) << 63) - 1}));
    CHECK(r.sum == std::uint64_t(1) << 63);
}

int main() {
    halves();
    integers();
    std::printf("elements: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures == 0 ? 0 : 1;
}
