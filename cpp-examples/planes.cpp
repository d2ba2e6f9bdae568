// Three dimensions: frames of a film, the mean of each and the mean over all, in two orders of axes.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/reference.hpp"
#include <examples.hpp>

static void film(std::size_t frames, std::size_t rows, std::size_t cols) {
    const auto x = data::uniform(frames * rows * cols, 1);
    std::vector<float> means(frames), picture(rows * cols);
    const std::ptrdiff_t frame = std::ptrdiff_t(rows * cols);
    for (std::size_t k = 0; k < frames; ++k) {
        const auto begin = x.begin() + std::ptrdiff_t(k) * frame;
        means[k] = reference::sum(std::vector<float>(begin, begin + frame)) / float(rows * cols);
    }
    for (std::size_t p = 0; p < picture.size(); ++p) {
        std::vector<float> through(frames);
        for (std::size_t k = 0; k < frames; ++k) through[k] = x[k * picture.size() + p];
        picture[p] = reference::sum(through) / float(frames);
    }
    const arraygpu::gpu_tensor3<float> t(x, frames, rows, cols);
    const auto got = examples::plane_means(t);
    CHECK_EXACT(got.means.to_host(), means);
    CHECK(got.picture.rows() == rows && got.picture.cols() == cols);
    CHECK_EXACT(got.picture.to_host(), picture);

    // stored with the frames last: a view of it is the same film
    std::vector<float> y(x.size());
    for (std::size_t k = 0; k < frames; ++k)
        for (std::size_t p = 0; p < picture.size(); ++p) y[p * frames + k] = x[k * picture.size() + p];
    const arraygpu::gpu_tensor3<float> last(y, rows, cols, frames);
    const auto same = examples::plane_means(last.view().transpose(0, 2).transpose(1, 2)); // frames, cols, rows; then frames, rows, cols
    CHECK_EXACT(same.means.to_host(), means);
    CHECK_EXACT(same.picture.to_host(), picture);
}

int main() {
    film(1, 1, 1);
    film(5, 7, 9);
    film(3, 64, 128);
    film(130, 33, 5);
    film(2, 1, 3000);
    film(2500, 2, 3);
    return check::finish("planes");
}
