// A program without exceptions: errors are kept for take_error(), and what failed is empty.
#include "../check.hpp"
#include <complex>
#include <examples.hpp>

using arraygpu::gpu_vector;
using arraygpu::take_error;
using floats = std::vector<float>;

// The first error since the last one that was taken has this code, and a message with this text.
static void kept(agpu_status code, const char *text) {
    const arraygpu::error e = take_error();
    CHECK(e.code() == code && std::string(e.what()).find(text) != std::string::npos);
    if (failures) std::fprintf(stderr, "%d: %s\n", int(e.code()), e.what());
    CHECK(take_error().code() == AGPU_OK);
}

int main() {
    const auto cpu = arraygpu::context::cpu();
    gpu_vector<float> x(floats{1, 2, 3}, cpu), y(floats{4, 5, 6}, cpu);
    const gpu_vector<float> shorter(floats{1}, cpu);
    examples::saxpy(2.0f, x, y, y);
    CHECK(y.to_host() == floats({6, 9, 12}) && take_error().code() == AGPU_OK);

    examples::saxpy(2.0f, x, shorter, y);
    examples::saxpy(2.0f, shorter, x, y); // the first one counts
    kept(AGPU_ERROR_SHAPE, "examples::saxpy");
    CHECK(y.to_host() == floats({6, 9, 12}));
    float error = -1;
    examples::rmse(x, shorter, error);
    kept(AGPU_ERROR_SHAPE, "rmse");
    CHECK(error == -1);
    const gpu_vector<float> none = examples::forward_difference(gpu_vector<float>());
    kept(AGPU_ERROR_SHAPE, "forward_difference");
    CHECK(none.size() == 0);
    const gpu_vector<double> empty = gpu_vector<double>::adopt(nullptr);
    CHECK(empty.size() == 0 && take_error().code() == AGPU_OK);
    const gpu_vector<float> huge(std::size_t(1) << 60, cpu);
    kept(AGPU_ERROR_OUT_OF_MEMORY, "agpu_buffer_create");
    CHECK(huge.size() == 0);
    const auto wrapped = gpu_vector<std::complex<float>>::wrap(nullptr, std::size_t(1) << 62, cpu);
    kept(AGPU_ERROR_INVALID_ARGUMENT, "a vector cannot have");
    CHECK(wrapped.size() == 0);
    agpu_buffer *floats_of = nullptr;
    arraygpu::check(agpu_buffer_create(cpu.c_context(), AGPU_F32, 2, &floats_of));
    const auto doubles = gpu_vector<double>::adopt(floats_of);
    kept(AGPU_ERROR_TYPE_MISMATCH, "another element type");
    CHECK(doubles.size() == 0 && !doubles.data());
    arraygpu::check(agpu_buffer_create(cpu.c_context(), AGPU_F32, 2, &floats_of));
    const auto no_matrix = arraygpu::gpu_matrix<float>::adopt(floats_of);
    kept(AGPU_ERROR_SHAPE, "rank 1");
    CHECK(no_matrix.size() == 0 && !no_matrix.data());
    auto gone = arraygpu::context::cpu();
    const arraygpu::pinned_allocator<float> without_context(gone);
    gone = arraygpu::context::cpu();
    const arraygpu::pinned_vector<float> host(3, 2.0f, without_context);
    kept(AGPU_ERROR_INVALID_HANDLE, "context");
    CHECK(host[2] == 2.0f && take_error().code() == AGPU_OK);
    arraygpu::context::cuda(1 << 21);
    kept(AGPU_ERROR_UNAVAILABLE, "no CUDA device");
    x.copy_from(floats{1, 2});
    kept(AGPU_ERROR_SHAPE, "length 3");
    CHECK(x.to_host() == floats({1, 2, 3}));
    arraygpu::gpu_matrix<float>::wrap(x.data(), 2, 3, 1);
    kept(AGPU_ERROR_INVALID_ARGUMENT, "apart");
    arraygpu::future<float> nothing;
    nothing.get();
    kept(AGPU_ERROR_INVALID_ARGUMENT, "holds no value");
    return failures != 0;
}
