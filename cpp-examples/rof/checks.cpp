// Checks: the package, its function of one kernel an operation, views and plain C++ agree to the bit, on images of all shapes; the photograph gets
// better; what is wrong is an error.
//
//   rof_checks [picture.pgm [folder for a file]]
#include "../common/check.hpp"
#include "../common/grid.hpp"
#include "../common/launches.hpp"
#include "composed.hpp"
#include "image.hpp"
#include "package.hpp"
#include "plain.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace {

// Three iterations, and the residual of the third.
void agree(std::size_t rows, std::size_t cols) {
    const std::vector<float> f = data::uniform(rows * cols, 1, 0, 255);
    settings by;
    by.between = by.most = 3;
    state<plain::image> want = plain::begin(f);
    float residual = 0;
    for (int k = 0; k < 3; ++k) residual = plain::iterate(f, cols, want, by);

    const package::image noisy(f, rows, cols);
    state<package::image> s = package::begin(noisy), t = package::begin(noisy);
    CHECK_EXACT_VALUE(package::denoise(noisy, s, by).residual, residual);
    float of_own = 0;
    state<package::image> own = package::begin(noisy); // the outputs are the inputs
    rof::steps(noisy, own.u, own.p, own.q, by.alpha, by.tau, by.sigma, 3, own.u, own.p, own.q, of_own);
    CHECK_EXACT_VALUE(of_own, residual);
    for (int k = 0; k < 3; ++k) {
        // one kernel in place of at least nine
        state<package::image> next = package::begin(noisy), fused = package::begin(noisy);
        CHECK(check::launches([&] { rof::step(noisy, t.u, t.p, t.q, by.alpha, by.tau, by.sigma, fused.u, fused.p, fused.q); }) == 1);
        CHECK(check::launches([&] { rof::step_unfused(noisy, t.u, t.p, t.q, by.alpha, by.tau, by.sigma, next.u, next.p, next.q); }) >= 9);
        CHECK_EXACT(fused.u.to_host(), next.u.to_host());
        CHECK_EXACT(fused.p.to_host(), next.p.to_host());
        CHECK_EXACT(fused.q.to_host(), next.q.to_host());
        t = std::move(next);
    }
    const composed::pixels pixels(f);
    state<composed::pixels> v = composed::begin(pixels);
    CHECK_EXACT_VALUE(composed::denoise(pixels, cols, v, by).residual, residual);

    const auto same = [](const auto &got, const state<plain::image> &expected) {
        CHECK_EXACT(got.u.to_host(), expected.u);
        CHECK_EXACT(got.p.to_host(), expected.p);
        CHECK_EXACT(got.q.to_host(), expected.q);
    };
    same(s, want);
    same(own, want);
    same(t, want);
    same(v, want);
}

// 25 grey levels of noise are 20.2 dB.
void photograph(const std::string &path) {
    const grey_picture file = read_pgm(path);
    const arraygpu::gpu_matrix<std::uint8_t> picture(file.pixels, file.rows, file.cols);
    const package::image noisy = rof::noisy(picture, 25.0f, 1);
    CHECK_EXACT(rof::noisy(picture, 25.0f, 1).to_host(), noisy.to_host());
    CHECK(rof::noisy(picture, 25.0f, 2).to_host() != noisy.to_host());
    CHECK_EXACT(rof::picture(rof::noisy(picture, 0.0f, 1), 0).to_host(), file.pixels);
    CHECK(std::fabs(rof::psnr(noisy, picture) - 20.17f) < 0.1f);

    const settings by;
    state<package::image> s = package::begin(noisy);
    const outcome r = package::denoise(noisy, s, by);
    CHECK(r.converged(by) && r.iterations <= 200);
    CHECK(rof::psnr(s.u, picture) > 28.5f);
    const composed::pixels pixels(noisy.to_host());
    state<composed::pixels> v = composed::begin(pixels);
    const auto launches = check::launches([&] {
        const outcome w = composed::denoise(pixels, file.cols, v, by);
        CHECK(w.iterations == r.iterations);
        CHECK_EXACT_VALUE(w.residual, r.residual);
    });
    CHECK(launches <= 3 * r.iterations); // two an iteration, three with the residual
    CHECK_EXACT(v.u.to_host(), s.u.to_host());

    // a bound that it does not reach ends it as well
    settings strict;
    strict.enough = 0;
    strict.most = 50;
    s = package::begin(noisy);
    const outcome end = package::denoise(noisy, s, strict);
    CHECK(!end.converged(strict) && end.iterations == 60 && end.residual > 0);
    // as does an image with a pixel that is no number
    const package::image broken(std::vector<float>{1, NAN, 3}, 1, 3);
    s = package::begin(broken);
    CHECK(package::denoise(broken, s, strict).iterations == 60);
}

template <class F> void refuses(F call, const char *what) {
    try {
        call();
        check::fail(__FILE__, __LINE__, std::string("no error: ") + what);
    } catch (const arraygpu::error &e) {
        if (std::string(e.what()).find(what) == std::string::npos) check::fail(__FILE__, __LINE__, std::string(what) + " is not in: " + e.what());
    }
}

void wrong_images() {
    const settings by;
    const package::image f(3, 4), narrow(3, 3), none(0, 4);
    state<package::image> s = package::begin(f), t = package::begin(none);
    refuses([&] { rof::step(narrow, s.u, s.p, s.q, by.alpha, by.tau, by.sigma); }, "f");
    refuses([&] { rof::step(f, s.u, narrow, s.q, by.alpha, by.tau, by.sigma); }, "p");
    refuses([&] { rof::step(none, t.u, t.p, t.q, by.alpha, by.tau, by.sigma); }, "rows");
    refuses([&] { rof::steps(f, s.u, s.p, s.q, by.alpha, by.tau, by.sigma, 0); }, "n");
    const composed::pixels flat(12), shorter(9);
    const composed::extents size{3, arraygpu::stage(std::int64_t(4))};
    refuses([&] { arraygpu::eval(composed::iteration(+flat, +shorter, {+flat, +flat}, size, by).u); }, "9");
}

void unreadable(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
    try {
        read_pgm(path);
        check::fail(__FILE__, __LINE__, "no error: " + text);
    } catch (const std::runtime_error &e) {
        CHECK(std::string(e.what()).find(path) == 0);
    }
}

void files(const std::string &path) {
    const grey_picture two{1, 2, {7, 250}};
    write_pgm(path, two);
    CHECK(read_pgm(path).pixels == two.pixels);
    std::ofstream(path, std::ios::binary) << "P5 # a comment\n#\n2 1 255\n\a!";
    CHECK((read_pgm(path).pixels == std::vector<std::uint8_t>{7, 33}));
    for (const char *text : {"", "P", "P2\n1 1\n255\n7", "P5\n1 1\n65535\n12", "P5\n2 1\n255\n1", "P5\n0 1\n255\n", "P5\n-1 1\n255\n1", "P5\nx 1\n255\n1",
                             "P5\n99999999 99999999\n255\n1", "P5\n99999999999999999999 1\n255\n1", "P5\n3"})
        unreadable(path, text);
    std::remove(path.c_str());
}

} // namespace

int main(int count, char **arguments) {
    for (const auto &[rows, cols] : {::shape{1, 1}, {1, 7}, {7, 1}, {2, 2}, {5, 129}, {64, 256}, {130, 31}, {3, 20001}}) agree(rows, cols);
    photograph(count > 1 ? arguments[1] : ROF_DATA);
    wrong_images();
    files((count > 2 ? arguments[2] : std::string(".")) + "/rof_checks.pgm");
    return check::finish("rof_checks");
}
