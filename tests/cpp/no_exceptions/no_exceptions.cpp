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
    // a view that shows no array, or memory that is gone
    agpu_view bad = x.c_view();
    bad.extent[0] = -1;
    CHECK(arraygpu::gpu_vector_view<float>(bad).to_host().empty());
    kept(AGPU_ERROR_OUT_OF_BOUNDS, "-1 elements");
    CHECK(gpu_vector<float>(arraygpu::gpu_vector_view<const float>(bad), cpu).size() == 0);
    kept(AGPU_ERROR_INVALID_ARGUMENT, "a vector cannot have");
    agpu_view of_three{};
    {
        const gpu_vector<float> short_lived(floats{1, 2, 3}, cpu);
        of_three = short_lived.c_view();
    }
    CHECK(arraygpu::gpu_vector_view<float>(of_three).to_host().empty());
    kept(AGPU_ERROR_INVALID_HANDLE, "freed");
    CHECK(gpu_vector<float>(arraygpu::gpu_vector_view<const float>(of_three), cpu).size() == 0);
    kept(AGPU_ERROR_INVALID_HANDLE, "freed");
    of_three.rank = 2;
    of_three.extent[1] = -1;
    CHECK(arraygpu::gpu_matrix_view<float>(of_three).to_host().empty());
    CHECK(take_error().code() != AGPU_OK);
    // arrays that cannot be made
    const arraygpu::gpu_matrix<float> ragged({{1, 2}, {3}}, cpu);
    kept(AGPU_ERROR_SHAPE, "rows of 2 and of 1 elements");
    CHECK(ragged.size() == 0 && ragged.rows() == 0);
    const arraygpu::gpu_matrix<float> mismatched(floats{1, 2, 3}, 2, 2, cpu);
    kept(AGPU_ERROR_SHAPE, "2 x 2");
    CHECK(mismatched.size() == 0);
    const auto too_many = arraygpu::gpu_matrix<float>::wrap(x.data(), std::size_t(1) << 62, 8, 8, cpu);
    kept(AGPU_ERROR_INVALID_ARGUMENT, "so many elements");
    CHECK(too_many.size() == 0);
    const auto unknown = arraygpu::gpu_matrix<float>::wrap(nullptr, 2, 2, 0, cpu);
    kept(AGPU_ERROR_INVALID_ARGUMENT, "NULL");
    CHECK(unknown.size() == 0);
    const arraygpu::gpu_tensor3<float> volume(std::size_t(1) << 62, 8, 8, cpu);
    kept(AGPU_ERROR_INVALID_ARGUMENT, "so many elements");
    CHECK(volume.size() == 0);
    gpu_vector<float> taken(floats{1}, cpu);
    const gpu_vector<float> moved(std::move(taken));
    CHECK(taken.clone().size() == 0 && !taken.clone().c_buffer());
    kept(AGPU_ERROR_INVALID_HANDLE, "agpu_buffer_context");
    CHECK(arraygpu::gpu_matrix<float>::adopt(nullptr).clone().size() == 0);
    kept(AGPU_ERROR_INVALID_HANDLE, "agpu_buffer_context");
    // a context that cannot be had is not the default one
    const arraygpu::context none_such(0, 1000000);
    kept(AGPU_ERROR_UNAVAILABLE, "");
    CHECK(gpu_vector<float>(floats{1, 2}, none_such).size() == 0 && gpu_vector<float>(3, none_such).size() == 0);
    kept(AGPU_ERROR_INVALID_HANDLE, "the context");
    // futures
    int calls = 0;
    arraygpu::future<void>().then([&] { ++calls; });
    kept(AGPU_ERROR_INVALID_ARGUMENT, "holds no value");
    CHECK(calls == 0);
    auto failed = arraygpu::future<gpu_vector<float>>::failed(arraygpu::error(AGPU_ERROR_SHAPE, "not so"));
    CHECK(failed.get().size() == 0);
    kept(AGPU_ERROR_SHAPE, "not so");
    arraygpu::future<float> nothing;
    nothing.get();
    kept(AGPU_ERROR_INVALID_ARGUMENT, "holds no value");
    return failures != 0;
}
