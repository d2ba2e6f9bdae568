// Three centuries of sunspots: Spencer's 15-point average, the forward difference, and the error between raw and smoothed series,
// computed by the package `series` (generators/src/bin/demo-gen.rs) beside a plain C++ computation in double.
//
//   demo [file.csv [plot.svg]]
#include "csv.hpp"
#include "plot.hpp"
#include <series.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace {

using host = std::vector<float>;

// Values reach 200; Spencer's weights have an absolute sum of 1.35 and add up in 29 roundings of at most 2^-24 of that, and
// a weight is itself rounded: below 6e-4. Differences of whole numbers and tenths: one rounding. One tolerance for all.
constexpr double tolerance = 6e-4;

struct numbers {
    std::vector<double> smooth, difference;
    double rmse;
};

// What the package must say, without it.
numbers plain(const host &v) {
    static const double spencer[15] = {-3, -6, -5, 3, 21, 46, 67, 74, 67, 46, 21, 3, -5, -6, -3};
    numbers r{};
    double squares = 0;
    for (std::size_t i = 0; i + 14 < v.size(); ++i) {
        double s = 0;
        for (std::size_t k = 0; k < 15; ++k) s += spencer[k] / 320 * v[i + k];
        r.smooth.push_back(s);
        squares += (v[i + 7] - s) * (v[i + 7] - s);
    }
    for (std::size_t i = 0; i + 1 < v.size(); ++i) r.difference.push_back(double(v[i + 1]) - v[i]);
    r.rmse = std::sqrt(squares / double(r.smooth.size()));
    return r;
}

double greatest_error(const host &got, const std::vector<double> &want) {
    if (got.size() != want.size()) throw std::runtime_error("a result has the wrong length");
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = std::fabs(got[i] - want[i]);
        if (!(error <= worst)) worst = error; // a NaN counts
    }
    return worst;
}

plot::figure figure(const time_series &s, const host &smooth, const host &difference) {
    const host middle(s.time.begin() + 7, s.time.end() - 7), later(s.time.begin() + 1, s.time.end());
    char years[64];
    std::snprintf(years, sizeof years, "Yearly means, %.0f to %.0f", double(s.time.front()), double(s.time.back()));
    return {"Sunspots",
            std::string(years) + ", and Spencer\xe2\x80\x99s 15-point moving average. Source: National Geophysical Data Center",
            "Year",
            {{"Sunspot number", {{"raw", "#9aa5b1", 1.2, s.time, s.value}, {"smoothed", "#c2410c", 2.2, middle, smooth}}, 300},
             {"Change from year to year", {{"forward difference", "#2563a8", 1.8, later, difference, true}}, 150}}};
}

void run(const std::string &csv, const std::string &svg) {
    const time_series s = read_csv(csv);
    if (s.value.size() < 15) throw std::runtime_error(csv + ": fewer than 15 values");

    // to the device, three calls, and back
    const arraygpu::gpu_vector<float> values(s.value);
    const arraygpu::gpu_vector<float> smoothed = series::smooth(values);
    const auto raw = arraygpu::subview(values, 7, std::int64_t(s.value.size()) - 7); // what the averages are centred on; not copied
    const float rmse = series::rmse(raw, smoothed);
    const host smooth = smoothed.to_host(), difference = series::difference(values).to_host();

    const numbers want = plain(s.value);
    std::printf("%zu values from %s\n\n", s.value.size(), csv.c_str());
    std::printf("year      raw   smoothed     in C++    change     in C++\n");
    for (std::size_t i = 7; i + 7 < s.value.size(); i += i < 11 || i + 12 > s.value.size() ? 1 : 36) {
        std::printf("%4.0f  %7.1f  %9.4f  %9.4f  %8.2f   %8.2f\n", double(s.time[i]), double(s.value[i]), double(smooth[i - 7]),
                    want.smooth[i - 7], double(difference[i]), want.difference[i]);
    }
    std::printf("\nRMSE between raw and smoothed: %.6f, in C++ %.6f\n", double(rmse), want.rmse);

    const double errors[3] = {greatest_error(smooth, want.smooth), greatest_error(difference, want.difference),
                              std::fabs(double(rmse) - want.rmse)};
    std::printf("greatest difference from C++ in double: average %.1e, change %.1e, RMSE %.1e (allowed: %.0e)\n", errors[0], errors[1],
                errors[2], tolerance);
    for (const double e : errors) {
        if (!(e <= tolerance)) throw std::runtime_error("the package and plain C++ disagree");
    }

    std::ofstream file(svg);
    file << plot::svg(figure(s, smooth, difference));
    if (!file.flush()) throw std::runtime_error("cannot write " + svg);
    std::printf("plot written to %s\n", svg.c_str());
}

} // namespace

int main(int count, char **arguments) {
    try {
        run(count > 1 ? arguments[1] : DEMO_DATA, count > 2 ? arguments[2] : "sunspots.svg");
    } catch (const std::exception &e) {
        std::fprintf(stderr, "demo: %s\n", e.what());
        return 1;
    }
}
