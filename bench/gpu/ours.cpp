#include "ours.hpp"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <kernels.h>

void check(agpu_status status, const char *what) {
    if (status == AGPU_OK) return;
    std::fprintf(stderr, "%s: %s: %s\n", what, agpu_status_name(status), agpu_last_error_message());
    std::exit(2);
}

agpu_context *context_on(int device) {
    agpu_context_options options{sizeof options, device, 0};
    agpu_context *context = nullptr;
    AGPU(agpu_context_create(&options, &context));
    return context;
}

package::package(const std::string &path) {
    AGPU(agpu_module_load(path.c_str(), &loaded));
    AGPU(agpu_module_get(loaded, &module));
    name = module->name;
}

int package::entry(const char *function) const {
    int32_t index = -1;
    return function && agpu_module_find(loaded, function, &index) == AGPU_OK ? index : -1;
}

std::string linked_package() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void *>(&kernels_saxpy), &info)) return "libkernels.so";
    return info.dli_fname;
}

agpu_view all_of(agpu_buffer *b) {
    agpu_view v{};
    AGPU(agpu_buffer_view(b, &v));
    return v;
}

arrays::arrays(agpu_context *in, std::size_t n) : context(in), raw{} {
    raw.n = n;
    auto make = [&](agpu_buffer *&buffer, std::size_t count) {
        void *data = nullptr;
        AGPU(agpu_buffer_create(context, AGPU_F32, std::int64_t(count), &buffer));
        AGPU(agpu_buffer_data(buffer, &data));
        return static_cast<float *>(data);
    };
    raw.a = make(a, n);
    raw.b = make(b, n);
    raw.c = make(c, n);
    raw.out = make(out, n);
    raw.scalar = make(scalar, 1);
}

arrays::~arrays() {
    for (agpu_buffer *buffer : {a, b, c, out, scalar}) agpu_buffer_free(buffer);
}

prepared::prepared(const package &p, const test_case &c, arrays &x, void *stream)
    : module(p.module), entry(p.entry(c.entry)), call{sizeof call, x.context, stream, nullptr, 0, nullptr} {
    for (const source s : c.parameters) {
        agpu_arg arg{};
        arg.kind = s == source::alpha ? AGPU_ARG_SCALAR : AGPU_ARG_VIEW;
        if (s == source::alpha) arg.scalar = &alpha;
        if (s == source::a) arg.view = all_of(x.a);
        if (s == source::b) arg.view = all_of(x.b);
        if (s == source::c) arg.view = all_of(x.c);
        if (s == source::out) arg.view = all_of(x.out);
        arguments.push_back(arg);
    }
    agpu_arg result{};
    result.kind = AGPU_ARG_RESULT_VIEW;
    result.view = all_of(c.scalar ? x.scalar : x.out);
    arguments.push_back(result);
}
