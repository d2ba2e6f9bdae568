#include "cases.hpp"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

void check(agpu_status status, const std::string &what) {
    if (status == AGPU_OK) return;
    std::fprintf(stderr, "%s: %s: %s\n", what.c_str(), agpu_status_name(status), agpu_last_error_message());
    std::exit(2);
}

std::size_t size_of(agpu_type t) {
    switch (t) {
    case AGPU_F64:
    case AGPU_I64:
    case AGPU_U64: return 8;
    case AGPU_F16:
    case AGPU_BF16:
    case AGPU_I16:
    case AGPU_U16: return 2;
    case AGPU_I8:
    case AGPU_U8:
    case AGPU_BOOL: return 1;
    default: return 4;
    }
}

namespace {

struct reader {
    std::string path;
    std::vector<char> data;
    std::size_t at = 0;

    explicit reader(const std::string &name) : path(name) {
        std::ifstream file(name, std::ios::binary);
        data.assign(std::istreambuf_iterator<char>(file), {});
    }
    const char *take(std::size_t bytes) {
        if (bytes > data.size() - at) {
            std::fprintf(stderr, "%s is missing, or ends too early\n", path.c_str());
            std::exit(2);
        }
        at += bytes;
        return data.data() + at - bytes;
    }
    template <class T> T number() {
        T n;
        std::memcpy(&n, take(sizeof n), sizeof n);
        return n;
    }
    value read(const agpu_entry_slot &slot) {
        const std::size_t count = slot.rank == 0 ? 1 : std::size_t(number<std::uint64_t>());
        const std::size_t bytes = count * size_of(slot.type);
        const char *from = take(bytes);
        return {slot.type, slot.rank != 0, {from, from + bytes}};
    }
};

std::uint64_t mixed(std::uint64_t x) { // splitmix64
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

template <class T> void put(unsigned char *to, T x) { std::memcpy(to, &x, sizeof x); }

} // namespace

package::package(const std::string &library, const std::string &cases) {
    check(agpu_module_load(library.c_str(), &loaded), library);
    check(agpu_module_get(loaded, &module), library);
    name = module->name;
    reader file(cases);
    if (std::memcmp(file.take(8), "AGPUCASE", 8) != 0) file.take(SIZE_MAX);
    entries.resize(file.number<std::uint32_t>());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        entry &e = entries[i];
        const std::size_t length = file.number<std::uint32_t>();
        e.name.assign(file.take(length), length);
        int32_t index = -1, parameters = 0, results = 0;
        check(agpu_module_find(loaded, e.name.c_str(), &index), name);
        if (std::size_t(index) != i) std::fprintf(stderr, "%s: %s is entry %d\n", cases.c_str(), e.name.c_str(), index), std::exit(2);
        check(agpu_module_entry_shape(loaded, index, &parameters, &results), name);
        e.parameters.resize(std::size_t(parameters));
        e.results.resize(std::size_t(results));
        for (int p = 0; p < parameters; ++p) check(agpu_module_entry_param(loaded, index, p, &e.parameters[std::size_t(p)]), name);
        for (int r = 0; r < results; ++r) check(agpu_module_entry_result(loaded, index, r, &e.results[std::size_t(r)]), name);
        e.cases.resize(file.number<std::uint32_t>());
        for (one_case &c : e.cases) {
            c.status = agpu_status(file.number<std::uint32_t>());
            for (const agpu_entry_slot &p : e.parameters) c.arguments.push_back(file.read(p));
            for (const agpu_entry_slot &r : e.results)
                if (c.status == AGPU_OK) c.results.push_back(file.read(r));
        }
    }
}

std::vector<value> arguments_for(const entry &e, std::int64_t n, std::int64_t n2, std::uint64_t seed) {
    std::vector<value> all;
    for (const agpu_entry_slot &p : e.parameters) {
        const std::int64_t count = p.rank == 0 ? 1 : std::strcmp(p.name, "w") == 0 ? n2 : n;
        const std::size_t size = size_of(p.type);
        value v{p.type, p.rank != 0, std::vector<unsigned char>(std::size_t(count) * size)};
        seed = mixed(seed);
        for (std::size_t i = 0; i < std::size_t(count); ++i) {
            const std::uint64_t bits = mixed(seed + i);
            const double small = double(bits % 2000) / 100 - 10;
            unsigned char *to = v.bytes.data() + i * size;
            switch (p.type) {
            case AGPU_F32: put(to, float(small)); break;
            case AGPU_F64: put(to, small); break;
            case AGPU_I32: put(to, std::int32_t(small)); break;
            case AGPU_I64: put(to, std::int64_t(small)); break;
            case AGPU_U32: put(to, std::uint32_t(bits % 100)); break;
            // between 1/8 and 8 in f16, 1/2 and 128 in bf16, with a sign
            case AGPU_F16: put(to, std::uint16_t((bits & 0x8000) | (0x3000 + bits % 0x1800))); break;
            case AGPU_BF16: put(to, std::uint16_t((bits & 0x8000) | (0x3f00 + bits % 0x0400))); break;
            case AGPU_I8: put(to, std::int8_t(bits)); break;
            case AGPU_I16: put(to, std::int16_t(small)); break;
            case AGPU_U16: put(to, std::uint16_t(bits % 100)); break;
            case AGPU_U64: put(to, std::uint64_t(bits % 100)); break;
            case AGPU_U8: put(to, std::uint8_t(bits)); break;
            case AGPU_BOOL: put(to, std::uint8_t(bits & 1)); break;
            }
        }
        all.push_back(std::move(v));
    }
    return all;
}
