// The programs of tests/programs/src/images.rs.
#include "plain.hpp"

// Sets each r[i][j] to f(at), where at(a, b) is u[i + a][j + b] for a and b from -reach to reach; the edges repeat.
template <class T, class F> static void filter(matrix_view<T> u, matrix_view<float> r, long reach, F f) {
    const auto edge = [&](long i, long j) { r[i][j] = f([&](long a, long b) { return u.clamped(i + a, j + b); }); };
    for (long i = 0; i < u.rows; ++i) {
        const bool inside = i >= reach && i < u.rows - reach;
        const long begin = inside ? std::min(reach, u.cols) : u.cols, end = std::max(begin, u.cols - reach);
        for (long j = 0; j < begin; ++j) edge(i, j);
        for (long j = begin; j < end; ++j) r[i][j] = f([&](long a, long b) { return u[i + a][j + b]; });
        for (long j = end; j < u.cols; ++j) edge(i, j);
    }
}

// The sum of the elements up to reach away.
template <class At> static float sum(long reach, At at) {
    float sum = 0;
    for (long a = -reach; a <= reach; ++a)
        for (long b = -reach; b <= reach; ++b) sum += at(a, b);
    return sum;
}

template <class At> static float least(At at) {
    float x = at(-1, -1);
    for (long a = -1; a <= 1; ++a)
        for (long b = -1; b <= 1; ++b) x = std::min(x, at(a, b));
    return x;
}

template <class At> static float greatest(At at) {
    float x = at(-1, -1);
    for (long a = -1; a <= 1; ++a)
        for (long b = -1; b <= 1; ++b) x = std::max(x, at(a, b));
    return x;
}

template <class At> static float smooth(At at) {
    return 0.0625f * (at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)) +
           0.125f * (at(-1, 0) + at(0, -1) + at(0, 1) + at(1, 0)) + 0.25f * at(0, 0);
}

static float square(float x) { return x * x; }

PLAIN(box_blur_5) {
    filter(in.matrix<const float>(0), out.matrix<float>(0), 2, [](auto at) { return sum(2, at) * 0.04f; });
}

PLAIN(gaussian_separable) {
    const auto u = in.matrix<const float>(0);
    std::vector<float> storage(u.rows * u.cols);
    const matrix_view<float> rows{storage.data(), u.rows, u.cols};
    filter(u, rows, 2, [](auto at) {
        return 0.0625f * (at(0, -2) + at(0, 2)) + 0.25f * (at(0, -1) + at(0, 1)) + 0.375f * at(0, 0);
    });
    filter(rows, out.matrix<float>(0), 2, [](auto at) {
        return 0.0625f * (at(-2, 0) + at(2, 0)) + 0.25f * (at(-1, 0) + at(1, 0)) + 0.375f * at(0, 0);
    });
}

PLAIN(unsharp_mask) {
    const float amount = in.scalar<const float>(1);
    filter(in.matrix<const float>(0), out.matrix<float>(0), 1, [=](auto at) {
        const float x = at(0, 0);
        return std::min(std::max(x + amount * (x - sum(1, at) / 9), 0.0f), 1.0f);
    });
}

PLAIN(sobel) {
    filter(in.matrix<const float>(0), out.matrix<float>(0), 1, [](auto at) {
        const float x = at(-1, 1) - at(-1, -1) + 2 * (at(0, 1) - at(0, -1)) + at(1, 1) - at(1, -1);
        const float y = at(1, -1) - at(-1, -1) + 2 * (at(1, 0) - at(-1, 0)) + at(1, 1) - at(-1, 1);
        return std::sqrt(x * x + y * y);
    });
}

PLAIN(canny_gradient) {
    const auto u = in.matrix<const float>(0);
    std::vector<float> storage(u.rows * u.cols);
    const matrix_view<float> s{storage.data(), u.rows, u.cols};
    filter(u, s, 1, [](auto at) { return smooth(at); });
    filter(s, out.matrix<float>(0), 1, [](auto at) { return std::hypot(at(0, 1) - at(0, -1), at(1, 0) - at(-1, 0)); });
}

PLAIN(difference_of_gaussians) {
    filter(in.matrix<const float>(0), out.matrix<float>(0), 2, [](auto at) {
        constexpr float w[] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
        float wide = 0;
        for (long a = -2; a <= 2; ++a)
            for (long b = -2; b <= 2; ++b) wide += w[a + 2] * w[b + 2] * at(a, b);
        return smooth(at) - wide;
    });
}

PLAIN(convolution_by_weights) {
    const auto u = in.matrix<const float>(0), w = in.matrix<const float>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < r.rows; ++i) {
        std::fill_n(r[i], r.cols, 0.0f);
        for (long a = 0; a < w.rows; ++a)
            for (long b = 0; b < w.cols; ++b) {
                const float weight = w[a][b];
                const float *x = u[i + a] + b;
                for (long j = 0; j < r.cols; ++j) r[i][j] += weight * x[j];
            }
    }
}

PLAIN(integral_image_box) {
    const long reach = in.scalar<const int64_t>(1);
    const float count = (2 * reach + 1) * (2 * reach + 1);
    filter(in.matrix<const float>(0), out.matrix<float>(0), reach, [=](auto at) { return sum(reach, at) / count; });
}

PLAIN(dilation) {
    filter(in.matrix<const float>(0), out.matrix<float>(0), 1, [](auto at) { return greatest(at); });
}

PLAIN(opening) {
    const auto u = in.matrix<const float>(0);
    std::vector<float> storage(u.rows * u.cols);
    const matrix_view<float> low{storage.data(), u.rows, u.cols};
    filter(u, low, 1, [](auto at) { return least(at); });
    filter(low, out.matrix<float>(0), 1, [](auto at) { return greatest(at); });
}

PLAIN(median_3x3) {
    filter(in.matrix<const float>(0), out.matrix<float>(0), 1, [](auto at) {
        float p[] = {at(-1, -1), at(-1, 0), at(-1, 1), at(0, -1), at(0, 0), at(0, 1), at(1, -1), at(1, 0), at(1, 1)};
        const auto sort = [&](int a, int b) {
            const float low = std::min(p[a], p[b]), high = std::max(p[a], p[b]);
            p[a] = low, p[b] = high;
        };
        sort(1, 2), sort(4, 5), sort(7, 8), sort(0, 1), sort(3, 4), sort(6, 7), sort(1, 2);
        sort(4, 5), sort(7, 8), sort(0, 3), sort(5, 8), sort(4, 7), sort(3, 6), sort(1, 4);
        sort(2, 5), sort(4, 7), sort(4, 2), sort(6, 4), sort(4, 2);
        return p[4];
    });
}

PLAIN(bilateral) {
    const float scale = -0.5f / square(in.scalar<const float>(1));
    filter(in.matrix<const float>(0), out.matrix<float>(0), 2, [=](auto at) {
        float top = 0, all = 0;
        for (long a = -2; a <= 2; ++a)
            for (long b = -2; b <= 2; ++b) {
                const float x = at(a, b), w = std::exp(square(x - at(0, 0)) * scale);
                top += w * x;
                all += w;
            }
        return top / all;
    });
}

PLAIN(non_local_means) {
    const float scale = -1 / square(in.scalar<const float>(1));
    filter(in.matrix<const float>(0), out.matrix<float>(0), 3, [=](auto at) {
        float top = 0, all = 0;
        for (long a = -2; a <= 2; ++a)
            for (long b = -2; b <= 2; ++b) {
                const float d = sum(1, [&](long p, long q) { return square(at(p, q) - at(a + p, b + q)); });
                const float w = std::exp(d * scale);
                top += w * at(a, b);
                all += w;
            }
        return top / all;
    });
}

PLAIN(harris_corners) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const long rows = u.rows - 2, cols = u.cols - 2;
    std::vector<float> a(rows * cols), b(rows * cols), c(rows * cols);
    const matrix_view<float> xx{a.data(), rows, cols}, xy{b.data(), rows, cols}, yy{c.data(), rows, cols};
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < cols; ++j) {
            const float x = (u[i + 1][j + 2] - u[i + 1][j]) * 0.5f, y = (u[i + 2][j + 1] - u[i][j + 1]) * 0.5f;
            xx[i][j] = x * x;
            xy[i][j] = x * y;
            yy[i][j] = y * y;
        }
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) {
            const auto window = [=](matrix_view<float> x) {
                return sum(1, [=](long p, long q) { return x[i + 1 + p][j + 1 + q]; });
            };
            const float a = window(xx), b = window(xy), c = window(yy);
            r[i][j] = a * c - b * b - 0.0625f * (a + c) * (a + c);
        }
}

PLAIN(anisotropic_diffusion) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const float scale = -1 / square(in.scalar<const float>(1));
    std::vector<float> storage(u.rows * u.cols);
    const matrix_view<float> t{storage.data(), u.rows, u.cols};
    const auto step = [=](auto at) {
        const float x = at(0, 0);
        const auto flow = [=](float y) { return (y - x) * std::exp(square(y - x) * scale); };
        return x + 0.125f * (flow(at(-1, 0)) + flow(at(1, 0)) + flow(at(0, -1)) + flow(at(0, 1)));
    };
    filter(u, r, 1, step);
    filter(r, t, 1, step);
    filter(t, r, 1, step);
}

PLAIN(grey_of_planes) {
    const auto u = in.tensor<const float>(0);
    const auto r = out.matrix<float>(0);
    const auto red = u[0], green = u[1], blue = u[2];
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) r[i][j] = 0.299f * red[i][j] + 0.587f * green[i][j] + 0.114f * blue[i][j];
}

PLAIN(colour_matrix) {
    const auto u = in.tensor<const float>(0);
    const auto w = in.matrix<const float>(1);
    const auto r = out.tensor<float>(0);
    const auto red = u[0], green = u[1], blue = u[2];
    for (long p = 0; p < 3; ++p) {
        const float x = w[p][0], y = w[p][1], z = w[p][2];
        const auto to = r[p];
        for (long i = 0; i < u.rows; ++i)
            for (long j = 0; j < u.cols; ++j) to[i][j] = x * red[i][j] + y * green[i][j] + z * blue[i][j];
    }
}

PLAIN(saturation) {
    const auto u = in.tensor<const float>(0);
    const auto r = out.matrix<float>(0);
    const auto red = u[0], green = u[1], blue = u[2];
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) {
            const float x = red[i][j], y = green[i][j], z = blue[i][j];
            const float high = std::max(std::max(x, y), z), low = std::min(std::min(x, y), z);
            r[i][j] = high > 0 ? (high - low) / std::max(high, 0.0009765625f) : 0;
        }
}

PLAIN(gamma_of_bytes) {
    const auto u = in.matrix<const uint8_t>(0);
    const auto r = out.matrix<uint8_t>(0);
    for (long i = 0; i < u.rows; ++i)
        for (long j = 0; j < u.cols; ++j) r[i][j] = std::round(std::pow(u[i][j] / 255.0f, 0.4545f) * 255.0f);
}

PLAIN(contrast_stretch) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    float low = u[0][0], high = low;
    for (long i = 0; i < u.rows; ++i)
        for (long j = 0; j < u.cols; ++j) {
            low = std::min(low, u[i][j]);
            high = std::max(high, u[i][j]);
        }
    const float range = high - low;
    for (long i = 0; i < u.rows; ++i)
        for (long j = 0; j < u.cols; ++j) r[i][j] = (u[i][j] - low) / range;
}

PLAIN(alpha_blend) {
    const auto a = in.tensor<const float>(0), b = in.tensor<const float>(1);
    const auto alpha = in.matrix<const float>(2);
    const auto r = out.tensor<float>(0);
    for (long p = 0; p < a.planes; ++p) {
        const auto x = a[p], y = b[p];
        const auto to = r[p];
        for (long i = 0; i < a.rows; ++i)
            for (long j = 0; j < a.cols; ++j) to[i][j] = x[i][j] * alpha[i][j] + y[i][j] * (1 - alpha[i][j]);
    }
}

PLAIN(histogram) {
    const auto u = in.matrix<const int32_t>(0);
    const auto bins = in.vector<const int32_t>(1);
    const auto r = out.vector<int32_t>(0);
    std::fill_n(r.data, r.n, 0);
    for (long i = 0; i < u.rows; ++i)
        for (long b = 0; b < bins.n; ++b) {
            const int32_t bin = bins[b];
            int32_t count = 0;
            for (long j = 0; j < u.cols; ++j) count += u[i][j] == bin;
            r[b] += count;
        }
}

PLAIN(threshold_by_mean) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<uint8_t>(0);
    float sum = 0;
    for (long i = 0; i < u.rows; ++i)
        for (long j = 0; j < u.cols; ++j) sum += u[i][j];
    const float mean = sum / (u.rows * u.cols);
    for (long i = 0; i < u.rows; ++i)
        for (long j = 0; j < u.cols; ++j) r[i][j] = u[i][j] > mean ? 255 : 0;
}

PLAIN(bilinear_resize) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    struct place {
        long low, high;
        float part;
    };
    // The place of i of count elements among n.
    const auto place_of = [](long i, long count, long n) {
        const float x = static_cast<float>(i * (n - 1)) / (count - 1), low = std::floor(x);
        const long k = low;
        return place{k, std::min(k + 1, n - 1), x - low};
    };
    std::vector<place> columns(r.cols);
    for (long j = 0; j < r.cols; ++j) columns[j] = place_of(j, r.cols, u.cols);
    for (long i = 0; i < r.rows; ++i) {
        const place row = place_of(i, r.rows, u.rows);
        const float *x = u[row.low], *y = u[row.high], a = row.part;
        for (long j = 0; j < r.cols; ++j) {
            const auto [p, q, b] = columns[j];
            r[i][j] = (1 - a) * ((1 - b) * x[p] + b * x[q]) + a * ((1 - b) * y[p] + b * y[q]);
        }
    }
}

PLAIN(rotation_90) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) r[i][j] = u[u.rows - 1 - j][i];
}

PLAIN(warp_by_flow) {
    const auto u = in.matrix<const float>(0), dy = in.matrix<const float>(1), dx = in.matrix<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < u.rows; ++i)
        for (long j = 0; j < u.cols; ++j)
            r[i][j] = u.clamped(i + static_cast<long>(dy[i][j]), j + static_cast<long>(dx[i][j]));
}

template <class T> static void halve(matrix_view<T> u, matrix_view<float> r) {
    for (long i = 0; i < r.rows; ++i) {
        const float *x = u[2 * i], *y = u[2 * i + 1];
        for (long j = 0; j < r.cols; ++j) r[i][j] = (x[2 * j] + x[2 * j + 1] + y[2 * j] + y[2 * j + 1]) * 0.25f;
    }
}

PLAIN(pyramid_two_levels) {
    const auto a = out.matrix<float>(0), b = out.matrix<float>(1);
    halve(in.matrix<const float>(0), a);
    halve(a, b);
}

PLAIN(projections) {
    const auto u = in.matrix<const float>(0);
    const auto rows = out.vector<float>(0), cols = out.vector<float>(1);
    std::fill_n(cols.data, cols.n, 0.0f);
    for (long i = 0; i < u.rows; ++i) {
        float sum = 0;
        for (long j = 0; j < u.cols; ++j) {
            sum += u[i][j];
            cols[j] += u[i][j];
        }
        rows[i] = sum;
    }
}
