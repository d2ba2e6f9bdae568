// Calls that another thread cancels: a package's function, an expression that compiles, a scope inside of a scope.
#include "check.hpp"
#include <arraygpu/expr.hpp>
#include <chrono>
#include <examples.hpp>
#include <thread>

using namespace arraygpu;

int main() {
    const context c = context::cpu();
    const gpu_vector<float> x(std::vector<float>(1000, 1.5f), c);
    gpu_vector<float> y(std::vector<float>(1000, 2.0f), c);
    cancel_flag stop, other;
    {
        const cancel_scope scope(stop);
        examples::saxpy(2.0f, x, y, y);
        CHECK(y.to_host()[999] == 5.0f);
        stop.raise();
        CHECK_THROWS(AGPU_ERROR_CANCELLED, "cancelled", examples::saxpy(2.0f, x, y, y));
        CHECK_THROWS(AGPU_ERROR_CANCELLED, "cancelled", y = x * 31.0f - y / 7.0f);
        {
            const cancel_scope inner(other); // looks at its own flag
            examples::saxpy(2.0f, x, y, y);
        }
        CHECK_THROWS(AGPU_ERROR_CANCELLED, "saxpy", examples::saxpy(2.0f, x, y, y));
        CHECK(y.to_host()[0] == 8.0f); // copies go on
        stop.lower();
        y = x * 31.0f - y / 7.0f;
    }
    stop.raise();
    examples::saxpy(2.0f, x, y, y); // no scope, no flag

    // a run of a minute
    stop.lower();
    std::thread user([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        stop.raise();
    });
    const gpu_vector<float> large(1 << 24, c);
    gpu_vector<float> slow(1 << 24, c);
    const auto began = std::chrono::steady_clock::now();
    {
        const cancel_scope scope(stop);
        const auto f = [](const auto &a) { return pow(pow(pow(pow(a, 1.1f), 1.2f), 1.3f), 1.4f); };
        CHECK_THROWS(AGPU_ERROR_CANCELLED, "cancelled", for (;;) slow = f(large) + f(f(large + 1.0f)));
    }
    user.join();
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
    return failures != 0;
}
