// Packages of older versions of the C ABI, as the compilers of their time wrote them: `FOLDER/VERSION/libabi.so`,
// made by `abi-gen`.
//   abi FOLDER
#include "check.hpp"
#include <arraygpu.hpp>
#include <cstdint>
#include <string>
#include <vector>

using arraygpu::gpu_matrix;
using arraygpu::gpu_vector;

// A loaded package, whose functions are called by name.
struct package {
    agpu_loaded_module *loaded = nullptr;
    const agpu_module *module = nullptr;

    explicit package(const std::string &path) {
        arraygpu::check(agpu_module_load(path.c_str(), &loaded));
        arraygpu::check(agpu_module_get(loaded, &module));
    }
    package(const package &) = delete;
    ~package() { agpu_loaded_module_free(loaded); }

    agpu_status call(const char *name, const std::vector<agpu_arg> &args) const {
        std::int32_t entry = -1;
        arraygpu::check(agpu_module_find(loaded, name, &entry));
        return agpu_invoke(module, entry, nullptr, args.data(), std::int32_t(args.size()));
    }
};

static agpu_arg of(agpu_arg_kind kind) {
    agpu_arg arg{};
    arg.kind = kind;
    return arg;
}
template <class T> agpu_arg in(const T &value) {
    agpu_arg arg = of(AGPU_ARG_SCALAR);
    arg.scalar = &value;
    return arg;
}
template <class T> agpu_arg out(T &value) {
    agpu_arg arg = of(AGPU_ARG_RESULT_SCALAR);
    arg.scalar = &value;
    return arg;
}
static agpu_arg view(agpu_arg_kind kind, const agpu_view &v) {
    agpu_arg arg = of(kind);
    arg.view = v;
    return arg;
}

static void all_kinds_of_functions(const package &p) {
    const gpu_vector<float> x(std::vector<float>{1, 2, 3}), y(std::vector<float>{10, 20, 30});
    gpu_vector<float> sum(3);
    const float two = 2;
    float dot = 0;
    CHECK(p.call("saxpy", {in(two), view(AGPU_ARG_VIEW, x.c_view()), view(AGPU_ARG_VIEW, y.c_view()), view(AGPU_ARG_RESULT_VIEW, sum.c_view())}) == AGPU_OK);
    CHECK(sum.to_host() == (std::vector<float>{12, 24, 36}));
    CHECK(p.call("dot", {view(AGPU_ARG_VIEW, x.c_view()), view(AGPU_ARG_VIEW, y.c_view()), out(dot)}) == AGPU_OK);
    CHECK(dot == 140);

    const gpu_matrix<double> m(std::vector<double>{1, 2, 3, 4, 5, 6}, 2, 3);
    agpu_arg made = of(AGPU_ARG_RESULT_NEW);
    agpu_buffer *buffer = nullptr;
    made.made = &buffer;
    CHECK(p.call("turned", {view(AGPU_ARG_VIEW, m.c_view()), made}) == AGPU_OK);
    const auto turned = gpu_matrix<double>::adopt(buffer);
    CHECK(turned.rows() == 3 && turned.to_host() == (std::vector<double>{1, 4, 2, 5, 3, 6}));

    const gpu_vector<double> d(std::vector<double>{8, 4});
    gpu_vector<double> halved(2);
    const std::int64_t three = 3, base = 7;
    CHECK(p.call("halved", {view(AGPU_ARG_VIEW, d.c_view()), in(three), view(AGPU_ARG_RESULT_VIEW, halved.c_view())}) == AGPU_OK);
    CHECK(halved.to_host() == (std::vector<double>{1, 0.5}));
    std::int64_t power = 0;
    CHECK(p.call("power", {in(base), in(three), out(power)}) == AGPU_OK);
    CHECK(power == 343);
}

// Messages have the author's file and line.
static void errors(const package &p) {
    const gpu_vector<std::int32_t> x(std::vector<std::int32_t>{5, 6});
    const gpu_vector<std::int64_t> beyond(std::vector<std::int64_t>{1, 2});
    gpu_vector<std::int32_t> result(2);
    const std::vector<agpu_arg> args{view(AGPU_ARG_VIEW, x.c_view()), view(AGPU_ARG_VIEW, beyond.c_view()), view(AGPU_ARG_RESULT_VIEW, result.c_view())};
    agpu_status status = p.call("picked", args);
    if (status == AGPU_OK) status = agpu_context_synchronize(arraygpu::context_ref::of_buffer(result.c_buffer()).c_context());
    CHECK(status == AGPU_ERROR_RECORD);
    CHECK(std::string(agpu_last_error_message()).find("abi-gen.rs:") != std::string::npos);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    for (int version = AGPU_ABI_OLDEST; version <= AGPU_ABI_VERSION; ++version) {
        const package p(std::string(arguments[1]) + "/" + std::to_string(version) + "/libabi.so");
        all_kinds_of_functions(p);
        errors(p);
    }
    return failures == 0 ? 0 : 1;
}
