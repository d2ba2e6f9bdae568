// A photograph gets noise and loses it again: total variation denoising by the package `rof` (generators/src/rof.rs) and by views, which give the same
// bits.
//
//   rof [picture.pgm [folder for the pictures]]
#include "composed.hpp"
#include "image.hpp"
#include "package.hpp"

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace {

void write(const std::string &path, const arraygpu::gpu_matrix<std::uint8_t> &picture) {
    write_pgm(path, {picture.rows(), picture.cols(), picture.to_host()});
    std::printf("written: %s\n", path.c_str());
}

void run(const std::string &path, const std::string &folder) {
    const grey_picture file = read_pgm(path);
    const arraygpu::gpu_matrix<std::uint8_t> picture(file.pixels, file.rows, file.cols);
    const package::image noisy = rof::noisy(picture, 25.0f, 1);
    std::printf("%zu x %zu pixels from %s\n", file.cols, file.rows, path.c_str());

    const settings by;
    state<package::image> s = package::begin(noisy);
    const outcome r = package::denoise(noisy, s, by);
    std::printf("%lld iterations, residual %.4f grey levels a pixel\n", static_cast<long long>(r.iterations), double(r.residual));
    const float before = rof::psnr(noisy, picture), after = rof::psnr(s.u, picture);
    std::printf("PSNR: noisy %.2f dB, denoised %.2f dB\n", double(before), double(after));

    const composed::pixels f(noisy.to_host());
    state<composed::pixels> views = composed::begin(f);
    const outcome v = composed::denoise(f, file.cols, views, by);
    const auto one = s.u.to_host(), other = views.u.to_host();
    const bool same = v.iterations == r.iterations && std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0;
    std::printf("by views: %lld iterations, residual %.4f, %s\n", static_cast<long long>(v.iterations), double(v.residual),
                same ? "the same bits" : "other bits");
    if (!same) throw std::runtime_error("the package and the views disagree");

    const arraygpu::gpu_matrix<float> removed = arraygpu::eval(noisy - s.u);
    write(folder + "/noisy.pgm", rof::picture(noisy, 0));
    write(folder + "/denoised.pgm", rof::picture(s.u, 0));
    write(folder + "/difference.pgm", rof::picture(removed, 128));
}

} // namespace

int main(int count, char **arguments) {
    try {
        run(count > 1 ? arguments[1] : ROF_DATA, count > 2 ? arguments[2] : ".");
    } catch (const std::exception &e) {
        std::fprintf(stderr, "rof: %s\n", e.what());
        return 1;
    }
}
