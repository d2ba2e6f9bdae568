// First calls of packages' functions in fresh processes: what compressed code costs. A row of JSON a process.
//
//   g++ -std=c++17 -O2 -DWITH_ZSTD -Iinclude bench/gpu/first_calls.cpp -lzstd -ldl -o first_calls
//
//   first_calls LIBRARY PACKAGE write FOLDER              the images, not compressed, as files; needs libzstd, and no GPU
//   first_calls LIBRARY PACKAGE FUNCTION launched FOLDER  writes which of them a call launches
//   first_calls LIBRARY PACKAGE FUNCTION packed           the package as it is
//   first_calls LIBRARY PACKAGE FUNCTION plain FOLDER     the same module with images of FOLDER
//   first_calls LIBRARY PACKAGE FUNCTION driver FOLDER    the driver alone loads and launches the texts of FOLDER/FUNCTION.launched,
//                                                         which `launched` wrote: one block each, of arrays of zeros
//
// Parameters are arrays of 1024 (vectors) or 512 x 512 and 64 x 64 x 64 zeros, scalars 1. `open_ms` is what loading library and package takes, `context_ms`
// the context's creation, `first_ms` and `second_ms` the calls with the wait for their end; of `driver` loading, launches and the wait.
#include "arraygpu.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>
#ifdef WITH_ZSTD
#include <zstd.h>
#endif

namespace {

double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void fail(const std::string &why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

void *library = nullptr;

template <class F> F *function(void *of, const char *name) {
    void *found = dlsym(of, name);
    if (!found) fail(std::string("no ") + name);
    return reinterpret_cast<F *>(found);
}
#define LIB(name) function<decltype(agpu_##name)>(library, "agpu_" #name)

void agpu(agpu_status status, const char *what) {
    if (status != AGPU_OK) fail(std::string(what) + ": " + LIB(last_error_message)());
}
#define AGPU(name, ...) agpu(LIB(name)(__VA_ARGS__), #name)

std::string read(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) fail("no " + path);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string image_path(const std::string &folder, const agpu_image &image) {
    return folder + "/" + std::to_string(image.kernel) + "_" + std::to_string(image.version) + "_" + std::to_string(image.arch);
}

#ifdef WITH_ZSTD
std::string unpacked(const agpu_module &module, const agpu_image &image) {
    if (image.packed == 0) return {static_cast<const char *>(image.data), static_cast<std::size_t>(image.size)};
    std::string base, text(image.size, 0);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 27);
    if (image.base) {
        base = unpacked(module, module.images[image.base - 1]);
        ZSTD_DCtx_refPrefix(context, base.data(), base.size());
    }
    const std::size_t size = ZSTD_decompressDCtx(context, &text[0], text.size(), image.data, image.packed);
    ZSTD_freeDCtx(context);
    if (ZSTD_isError(size) || size != text.size()) fail("a damaged image");
    return text;
}

void write_images(const agpu_module &module, const std::string &folder) {
    for (int i = 0; i < module.image_count; ++i)
        std::ofstream(image_path(folder, module.images[i]), std::ios::binary) << unpacked(module, module.images[i]);
}
#endif

// The module with its images as they are in a folder; all of them are in memory before anything is timed.
struct plain_module {
    std::vector<std::string> texts;
    std::vector<agpu_image> images;
    void *state = nullptr;
    agpu_module module;

    plain_module(const agpu_module &of, const std::string &folder) : module(of) {
        for (int i = 0; i < of.image_count; ++i) {
            texts.push_back(read(image_path(folder, of.images[i])));
            images.push_back(of.images[i]);
        }
        for (std::size_t i = 0; i < images.size(); ++i) {
            images[i].data = texts[i].c_str();
            images[i].packed = images[i].base = 0;
        }
        module.images = images.data();
        module.state = &state;
    }
};

// Arguments for any function: arrays of zeros, new results.
struct arguments {
    std::vector<agpu_arg> list;
    std::vector<agpu_buffer *> made;
    std::int64_t one = 1;
    float one_f32 = 1;
    double one_f64 = 1;

    arguments(agpu_context *context, agpu_loaded_module *package, int entry) {
        std::int32_t params = 0, results = 0;
        AGPU(module_entry_shape, package, entry, &params, &results);
        made.resize(results);
        for (int i = 0; i < params + results; ++i) {
            agpu_entry_slot slot{};
            if (i < params) AGPU(module_entry_param, package, entry, i, &slot);
            else AGPU(module_entry_result, package, entry, i - params, &slot);
            agpu_arg arg{};
            if (i >= params) {
                arg.kind = AGPU_ARG_RESULT_NEW;
                if (slot.rank == 0) {
                    arg.kind = AGPU_ARG_RESULT_VIEW;
                    arg.view = array(context, slot.type, 1, 1);
                }
                arg.made = &made[i - params];
            } else if (slot.rank == 0) {
                arg.kind = AGPU_ARG_SCALAR;
                arg.scalar = slot.type == AGPU_F32 ? static_cast<const void *>(&one_f32) : slot.type == AGPU_F64 ? static_cast<const void *>(&one_f64) : &one;
            } else {
                arg.kind = AGPU_ARG_VIEW;
                arg.view = array(context, slot.type, slot.rank, slot.rank == 1 ? 1024 : slot.rank == 2 ? 512 : 64);
            }
            list.push_back(arg);
        }
    }

    static agpu_view array(agpu_context *context, agpu_type type, int rank, std::int64_t extent) {
        const std::int64_t extents[3] = {extent, extent, extent};
        agpu_buffer *buffer = nullptr;
        AGPU(buffer_create_array, context, type, rank, extents, &buffer);
        agpu_view view{};
        AGPU(buffer_view, buffer, &view);
        return view;
    }

    double run(agpu_context *context, const agpu_module *module, int entry) {
        const double begin = now();
        AGPU(invoke, module, entry, nullptr, list.data(), static_cast<std::int32_t>(list.size()));
        AGPU(context_synchronize, context);
        const double time = now() - begin;
        for (agpu_buffer *&buffer : made) {
            if (buffer) AGPU(buffer_free, buffer);
            buffer = nullptr;
        }
        return time;
    }
};

// Which images a call launches, by the names of their entries.
void write_launched(agpu_context *context, const plain_module &plain, arguments &x, int entry, const std::string &path) {
    AGPU(context_profile, context, true);
    x.run(context, &plain.module, entry);
    std::vector<agpu_launch_time> times(1024);
    std::int64_t count = 0;
    AGPU(context_launch_times, context, times.data(), static_cast<std::int64_t>(times.size()), &count);
    std::set<std::string> names;
    std::ofstream out(path);
    for (std::int64_t i = 0; i < count && i < 1024; ++i) {
        if (!names.insert(times[i].variant).second) continue;
        const std::string wanted = std::string(".entry ") + times[i].variant + "(";
        for (std::size_t k = 0; k < plain.texts.size(); ++k)
            if (plain.images[k].arch == 0 && plain.texts[k].find(wanted) != std::string::npos) {
                out << times[i].variant << " " << image_path("", plain.images[k]).substr(1) << "\n";
                break;
            }
    }
}

// What a program without the library does: the driver compiles each text, and launches a block of it. Every address leads to zeros.
int by_driver(const std::string &name, const std::string &folder) {
    std::vector<std::string> names, texts;
    std::istringstream list(read(folder + "/" + name + ".launched"));
    for (std::string entry, file; list >> entry >> file;) {
        names.push_back(entry);
        texts.push_back(read(folder + "/" + file));
    }
    const double begin = now();
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda) fail("no driver");
    const double opened = now();
    const auto call = [&](int status, const char *what) {
        if (status != 0) fail(std::string(what) + ": error " + std::to_string(status));
    };
    using pointer = unsigned long long;
    void *context = nullptr, *stream = nullptr;
    call(function<int(unsigned)>(cuda, "cuInit")(0), "cuInit");
    call(function<int(void **, int)>(cuda, "cuDevicePrimaryCtxRetain")(&context, 0), "cuDevicePrimaryCtxRetain");
    call(function<int(void *)>(cuda, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    call(function<int(void **, unsigned)>(cuda, "cuStreamCreate")(&stream, 1), "cuStreamCreate");
    const double made = now();
    pointer zeros = 0;
    call(function<int(pointer *, std::size_t)>(cuda, "cuMemAlloc_v2")(&zeros, 64 << 20), "cuMemAlloc");
    call(function<int(pointer, unsigned, std::size_t)>(cuda, "cuMemsetD32_v2")(zeros, 0, 16 << 20), "cuMemsetD32");
    const auto load = function<int(void **, const void *)>(cuda, "cuModuleLoadData");
    const auto get = function<int(void **, void *, const char *)>(cuda, "cuModuleGetFunction");
    const auto set = function<int(void *, int, int)>(cuda, "cuFuncSetAttribute");
    const auto launch = function<int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)>(cuda, "cuLaunchKernel");
    const auto wait = function<int(void *)>(cuda, "cuStreamSynchronize");
    std::vector<void *> kernels(texts.size());
    double times[2];
    for (double &time : times) {
        const double start = now();
        for (std::size_t i = 0; i < texts.size(); ++i) {
            void *module = nullptr;
            if (!kernels[i]) {
                call(load(&module, texts[i].c_str()), "cuModuleLoadData");
                call(get(&kernels[i], module, names[i].c_str()), "cuModuleGetFunction");
            }
            std::vector<pointer> values;
            std::istringstream lines(texts[i].substr(0, texts[i].find("\n)")));
            unsigned threads = 128;
            for (std::string line; std::getline(lines, line);)
                if (line.find(".param ") != std::string::npos) values.push_back(line.find(".ptr") != std::string::npos ? zeros + (32 << 20) : 0);
            std::sscanf(texts[i].c_str() + texts[i].find(".maxntid ") + 9, "%u", &threads);
            unsigned shared = 0;
            if (texts[i].find(".extern .shared") != std::string::npos) {
                shared = 200 << 10;
                call(set(kernels[i], 8, static_cast<int>(shared)), "cuFuncSetAttribute");
            }
            std::vector<void *> at;
            for (pointer &value : values) at.push_back(&value);
            call(launch(kernels[i], 1, 1, 1, threads, 1, 1, shared, stream, at.data(), nullptr), "cuLaunchKernel");
        }
        call(wait(stream), "cuStreamSynchronize");
        time = now() - start;
    }
    std::printf("{\"function\": \"%s\", \"way\": \"driver\", \"open_ms\": %.3f, \"context_ms\": %.3f, \"first_ms\": %.3f, \"second_ms\": %.3f, \"kernels\": %zu}\n",
                name.c_str(), opened - begin, made - opened, times[0], times[1], texts.size());
    return 0;
}

} // namespace

int main(int count, char **words) {
    if (count < 5) fail("first_calls LIBRARY PACKAGE FUNCTION packed|plain|driver|launched [FOLDER], or LIBRARY PACKAGE write FOLDER");
    const std::string name = words[3], way = words[4], folder = count > 5 ? words[5] : "";
    if (way == "driver") return by_driver(name, folder);
    const double begin = now();
    library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) fail(dlerror());
    agpu_loaded_module *package = nullptr;
    AGPU(module_load, words[2], &package);
    const agpu_module *module = nullptr;
    AGPU(module_get, package, &module);
    const double opened = now();
#ifdef WITH_ZSTD
    if (name == "write") return write_images(*module, way), 0;
#endif
    std::int32_t entry = 0;
    AGPU(module_find, package, words[3], &entry);
    const double start = now();
    agpu_context_options options{};
    options.size = sizeof options;
    options.device = AGPU_DEVICE_CUDA;
    agpu_context *context = nullptr;
    AGPU(context_create, &options, &context);
    const double made = now();
    arguments x(context, package, entry);
    AGPU(context_synchronize, context);
    if (way == "launched") {
        plain_module plain(*module, folder);
        write_launched(context, plain, x, entry, folder + "/" + name + ".launched");
        return 0;
    }
    double first = 0, second = 0;
    if (way == "plain") {
        plain_module plain(*module, folder);
        first = x.run(context, &plain.module, entry);
        second = x.run(context, &plain.module, entry);
    } else {
        // a copy, too, so that both read the plans in their first call
        void *state = nullptr;
        agpu_module copy = *module;
        copy.state = &state;
        first = x.run(context, &copy, entry);
        second = x.run(context, &copy, entry);
    }
    std::printf("{\"function\": \"%s\", \"way\": \"%s\", \"open_ms\": %.3f, \"context_ms\": %.3f, \"first_ms\": %.3f, \"second_ms\": %.3f}\n", name.c_str(),
                way.c_str(), opened - begin, made - start, first, second);
    return 0;
}
