// The same bits everywhere: packages of random programs on the CPU with 1 and 2 threads and on the GPU, with arrays laid out in every
// way, each call twice, against the interpreter's results, and on large vectors against the CPU's.
//   random_bits LIBRARIES CASES PACKAGE...     lib<package>.so in the first folder, <package>.cases in the second
// ARRAYGPU_DEVICE=cpu: the CPU only. ARRAYGPU_SANITIZER=1: less of everything. The last line is `N passed, M failed`.
#include "calls.hpp"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct place {
    const char *name;
    agpu_context *context;
    bool gpu;
};

struct test {
    std::vector<place> places;
    bool brief = false;
    long passed = 0, failed = 0;

    void compare(const place &, const package &, std::size_t i, const std::vector<value> &arguments, layout, agpu_status, const std::vector<value> &expected,
                 int runs = 2);
    void small(const package &);
    void large(const package &);
    void far(const package &);
    void complain(const place &, const package &, std::size_t i, const std::vector<value> &arguments, layout, int run, const std::string &what);
};

const layout LAYOUTS[] = {layout::aligned, layout::offset, layout::mixed, layout::strided, layout::backwards, layout::in_place};

agpu_context *context(int device, int threads) {
    agpu_context_options options{sizeof options, device, threads};
    agpu_context *made = nullptr;
    check(agpu_context_create(&options, &made), "a context");
    return made;
}

void test::complain(const place &at, const package &p, std::size_t i, const std::vector<value> &arguments, layout l, int run, const std::string &what) {
    if (++failed > 30) return;
    std::string sizes;
    for (const value &v : arguments)
        if (v.vector) sizes += " " + std::to_string(v.count());
    std::printf("FAILED %s %s on %s, %s, run %d, vectors of%s: %s\n", p.name.c_str(), p.entries[i].name.c_str(), at.name, name_of(l), run, sizes.c_str(),
                what.c_str());
}

std::string difference(const value &got, const value &want, std::size_t r) {
    const std::size_t size = size_of(want.type);
    std::size_t at = 0, count = 0;
    for (std::size_t k = want.bytes.size() / size; k-- > 0;)
        if (std::memcmp(got.bytes.data() + k * size, want.bytes.data() + k * size, size) != 0) at = k, ++count;
    char text[200], hex[2][20] = {"", ""};
    for (std::size_t k = size; k-- > 0;) {
        std::snprintf(hex[0] + 2 * (size - 1 - k), 4, "%02x", got.bytes[at * size + k]);
        std::snprintf(hex[1] + 2 * (size - 1 - k), 4, "%02x", want.bytes[at * size + k]);
    }
    std::snprintf(text, sizeof text, "result %zu: %zu elements differ, the first is %zu: 0x%s, expected 0x%s", r, count, at, hex[0], hex[1]);
    return text;
}

// Repeats one call.
void test::compare(const place &at, const package &p, std::size_t i, const std::vector<value> &arguments, layout l, agpu_status status,
                   const std::vector<value> &expected, int runs) {
    for (int run = 1; run <= (brief ? 1 : runs); ++run) {
        const bool lengths_known = status == AGPU_OK;
        const outcome o = call(at.context, p, i, arguments, l, lengths_known ? &expected : nullptr);
        if (o.status != status) {
            complain(at, p, i, arguments, l, run, std::string(agpu_status_name(o.status)) + " instead of " + agpu_status_name(status) + ": " + o.message);
            continue;
        }
        bool same = true;
        for (std::size_t r = 0; r < expected.size() && same; ++r) {
            same = o.results[r].bytes == expected[r].bytes;
            if (!same) complain(at, p, i, arguments, l, run, difference(o.results[r], expected[r], r));
        }
        passed += same;
    }
}

// The file's cases: the interpreter's bits.
void test::small(const package &p) {
    for (std::size_t i = 0; i < p.entries.size(); ++i) {
        if (brief && i % 4 != 0) continue;
        for (const one_case &c : p.entries[i].cases)
            for (const place &at : places)
                for (const layout l : LAYOUTS) compare(at, p, i, c.arguments, l, c.status, c.results);
    }
}

// Whether the function has a pass in index order: one thread of a GPU takes its time for that.
bool sequential(const package &p, std::size_t i) {
    const std::string plans(p.module->plans, std::size_t(p.module->plans_length));
    const std::size_t begin = plans.find("plan @" + p.entries[i].name + " ");
    return plans.substr(begin, plans.find("\nplan @", begin) - begin).find(" sequential ") != std::string::npos;
}

// The arguments for vectors of a size, or of as many elements as the function ends with: it may have a loop over a vector in each element,
// or go over all pairs, or one thread of a GPU may take its time for a fold in index order. Sizes grow from 255, 256 or 257 on while the next
// one would take at most a second at each place, were the time quadratic.
std::vector<value> affordable(const std::vector<place> &places, const package &p, std::size_t i, std::int64_t size) {
    const std::int64_t odd = size - ((size + 1) & ~std::int64_t(7)), steps[] = {1 << 8, 1 << 11, 1 << 14, 1 << 18, 1 << 22};
    for (std::size_t k = 0;; ++k) {
        std::vector<value> arguments = arguments_for(p.entries[i], steps[k] + odd, 1000, i);
        if (steps[k] + odd >= size) return arguments;
        const double growth = double(steps[k + 1]) / double(steps[k]);
        for (const place &at : places) {
            // the first call may compile
            call(at.context, p, i, arguments, layout::aligned, nullptr);
            const auto begin = std::chrono::steady_clock::now();
            call(at.context, p, i, arguments, layout::aligned, nullptr);
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
            // what a call costs at any size does not grow
            if ((took.count() - 300e-6) * growth * growth > 1) return arguments;
        }
    }
}

// Vectors of three levels of the tree, where the function ends in time: the bits of the CPU with one thread. (Every call once: run-tests.sh starts the program twice.)
void test::large(const package &p) {
    const std::int64_t sizes[] = {262143, 262144, 262145, (1 << 22) - 1, 1 << 22, (1 << 22) + 1};
    const bool edges = p.name == "edges";
    for (std::size_t i = 0; i < p.entries.size(); ++i) {
        const bool slow = sequential(p, i);
        for (std::size_t s = 0; s < 6; ++s) {
            // of the random programs every one takes one size, and the edges take all
            if (brief ? s != 1 || i % 4 != 0 : edges ? slow && s > 2 : s != i % (slow ? 3 : 6)) continue;
            const std::vector<value> arguments = affordable(places, p, i, sizes[s]);
            const outcome expected = call(places[0].context, p, i, arguments, layout::aligned, nullptr);
            for (std::size_t at = 1; at < places.size(); ++at)
                for (const layout l : LAYOUTS)
                    if (places[at].gpu || l == layout::aligned) compare(places[at], p, i, arguments, l, expected.status, expected.results, 1);
        }
    }
}

// Elements far apart: the versions with 64-bit indices. On the GPU only, and where there is memory for it.
void test::far(const package &p) {
    for (std::size_t i = 0; i < p.entries.size(); ++i) {
        const std::string &name = p.entries[i].name;
        if (name.find("_f32") == std::string::npos && name.find("_f64") == std::string::npos && name.find("_u8") == std::string::npos) continue;
        const std::vector<value> arguments = arguments_for(p.entries[i], 129, 129, i);
        const outcome expected = call(places[0].context, p, i, arguments, layout::aligned, nullptr);
        for (const place &at : places) {
            if (!at.gpu) continue;
            const outcome once = call(at.context, p, i, arguments, layout::far, &expected.results);
            if (once.status == AGPU_ERROR_OUT_OF_MEMORY) std::printf("%s %s: no memory for elements far apart\n", p.name.c_str(), name.c_str());
            else compare(at, p, i, arguments, layout::far, expected.status, expected.results, 1);
        }
    }
}

bool is(const char *variable, const char *value) {
    const char *found = std::getenv(variable);
    return found && std::strcmp(found, value) == 0;
}

} // namespace

int main(int count, char **words) {
    if (count < 4) return std::fprintf(stderr, "usage: %s LIBRARIES CASES PACKAGE...\n", words[0]), 2;
    test t;
    t.brief = is("ARRAYGPU_SANITIZER", "1");
    t.places = {{"the CPU, 1 thread", context(AGPU_DEVICE_CPU, 1), false}};
    if (!t.brief) t.places.push_back({"the CPU, 2 threads", context(AGPU_DEVICE_CPU, 2), false});
    const char *device = std::getenv("ARRAYGPU_DEVICE");
    if (!is("ARRAYGPU_DEVICE", "cpu")) {
        agpu_context_options options{sizeof options, AGPU_DEVICE_CUDA, 0};
        agpu_context *gpu = nullptr;
        const agpu_status status = agpu_context_create(&options, &gpu);
        if (status == AGPU_OK) t.places.push_back({"the GPU", gpu, true});
        else if (device) check(status, "the GPU"); // it was asked for
        else std::printf("on the CPU only: %s\n", agpu_last_error_message());
    }
    for (int k = 3; k < count; ++k) {
        const long before = t.passed;
        const package p(std::string(words[1]) + "/lib" + words[k] + ".so", std::string(words[2]) + "/" + words[k] + ".cases");
        t.small(p);
        t.large(p);
        if (p.name == "edges" && !t.brief) t.far(p);
        std::printf("%s: %zu functions, %ld calls with the same bits\n", p.name.c_str(), p.entries.size(), t.passed - before);
    }
    std::printf("%ld passed, %ld failed\n", t.passed, t.failed);
    return t.failed == 0 && t.passed > 0 ? 0 : 1;
}
