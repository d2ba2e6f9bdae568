// What the tests of real GPUs need beside the library: the driver's own functions, loaded at run time, processes of their own, and a
// list of tests that are run or skipped.
#pragma once

#include "../../cpp-examples/bad_input/expect.hpp"
#include "../../cpp-examples/common/data.hpp"
#include <arraygpu.hpp>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <initializer_list>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// The driver's functions by name. Handles are pointers, device addresses 64 bits.
namespace cuda {

template <class... Args> int call(const char *name, Args... args) {
    static void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *const found = library ? dlsym(library, name) : nullptr;
    if (!found) throw std::runtime_error(std::string("no function ") + name);
    return reinterpret_cast<int (*)(Args...)>(found)(args...);
}

template <class... Args> void must(const char *name, Args... args) {
    const int code = call(name, args...);
    if (code != 0) throw std::runtime_error(std::string(name) + " failed: " + std::to_string(code));
}

inline void *current() {
    void *context = nullptr;
    const int code = call("cuCtxGetCurrent", &context);
    // CUDA_ERROR_NOT_INITIALIZED: nobody has used the driver, so nothing is current
    if (code != 0 && code != 3) throw std::runtime_error("cuCtxGetCurrent failed: " + std::to_string(code));
    return context;
}

// The device's primary context is the thread's current one.
class primary {
public:
    explicit primary(int device = 0) : device_(device) {
        must("cuInit", 0u);
        must("cuDevicePrimaryCtxRetain", &context, device);
        before_ = current();
        must("cuCtxSetCurrent", context);
    }
    primary(const primary &) = delete;
    ~primary() {
        call("cuCtxSetCurrent", before_);
        call("cuDevicePrimaryCtxRelease_v2", device_);
    }
    void *context = nullptr;

private:
    int device_;
    void *before_ = nullptr;
};

constexpr unsigned NON_BLOCKING = 1;

// A stream of the current context.
class stream {
public:
    explicit stream(unsigned flags = NON_BLOCKING) { must("cuStreamCreate", &raw, flags); }
    stream(const stream &) = delete;
    ~stream() { call("cuStreamDestroy_v2", raw); }
    void wait() const { must("cuStreamSynchronize", raw); }
    void *raw = nullptr;
};

// Memory on the current context's device that the library has not made.
class memory {
public:
    explicit memory(std::size_t bytes) { must("cuMemAlloc_v2", &address, bytes); }
    memory(const memory &) = delete;
    ~memory() { free(); }
    void free() {
        if (address) call("cuMemFree_v2", address);
        address = 0;
    }
    float *floats() const { return reinterpret_cast<float *>(address); }
    std::uint64_t address = 0;
};

} // namespace cuda

namespace play {

struct part {
    const char *name;
    void (*run)();
    bool without_gpu = false; // can be run without one, too
};

// What a part was started with.
inline std::string argument;

// compute-sanitizer watches: everything is slow, and faults are reported although they are meant.
inline bool sanitized() { return std::getenv("ARRAYGPU_SANITIZER") != nullptr; }

// Plays a part of this program in a process of its own, and gives its exit status; 1000 and the signal's number if one ended it.
inline int child(const char *part, const char *with = "") {
    std::fflush(nullptr);
    std::string words[] = {"child", part, with};
    char *const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t process = 0;
    if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0) return -1;
    int status = 0;
    while (waitpid(process, &status, 0) != process) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline void guarded(const part &p) {
    try {
        p.run();
    } catch (const std::exception &e) {
        check::fail(p.name, 0, e.what());
    }
}

// What main does: plays the part that a parent asked for (`PROGRAM PART ARGUMENT`), or runs all tests.
inline int main(int count, char **arguments, std::initializer_list<part> tests, std::initializer_list<part> parts) {
    if (count > 2) {
        argument = arguments[2];
        alarm(300); // a test that hangs fails
        for (const part &p : parts) {
            if (std::string(p.name) != arguments[1]) continue;
            guarded(p);
            return check::failures == 0 ? 0 : 1;
        }
        return 2;
    }
    const bool gpu = arraygpu::device_count() > 0;
    int passed = 0, failed = 0, skipped = 0;
    for (const part &test : tests) {
        const bool run = gpu || test.without_gpu;
        const int before = check::failures;
        if (run) guarded(test);
        const bool good = check::failures == before;
        ++(!run ? skipped : good ? passed : failed);
        std::printf("%s %s\n", !run ? "skipped" : good ? "ok     " : "FAILED ", test.name);
    }
    if (!gpu) std::printf("no GPU: %s\n", arraygpu::device_problem().c_str());
    std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed == 0 ? 0 : 1;
}

} // namespace play

inline bool operator==(const arraygpu::memory_usage &a, const arraygpu::memory_usage &b) { return a.in_use == b.in_use && a.peak == b.peak; }
