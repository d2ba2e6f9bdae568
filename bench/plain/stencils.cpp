// The programs of tests/programs/src/stencils.rs.
#include "plain.hpp"

// Calls inside(i, j) for each element that has all neighbours, and edge(i, j) for all others.
template <class Edge, class Inside> static void edges_apart(long rows, long cols, Edge edge, Inside inside) {
    for (long i = 0; i < rows; ++i) {
        if (i == 0 || i == rows - 1) {
            for (long j = 0; j < cols; ++j) edge(i, j);
            continue;
        }
        edge(i, 0);
        for (long j = 1; j < cols - 1; ++j) inside(i, j);
        edge(i, cols - 1);
    }
}

PLAIN(three_point) {
    const auto x = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    const auto mean = [](float a, float b, float c) { return 0.25f * a + 0.5f * b + 0.25f * c; };
    const long last = x.n - 1;
    r[0] = mean(x[0], x[0], x[std::min(1l, last)]);
    for (long i = 1; i < last; ++i) r[i] = mean(x[i - 1], x[i], x[i + 1]);
    r[last] = mean(x[std::max(last - 1, 0l)], x[last], x[last]);
}

PLAIN(second_difference) {
    const auto x = in.vector<const float>(0);
    const float h = in.scalar<const float>(1), square = h * h;
    const auto r = out.vector<float>(0);
    for (long i = 0; i < r.n; ++i) r[i] = (x[i] - 2 * x[i + 1] + x[i + 2]) / square;
}

PLAIN(upwind_advection) {
    const auto u = in.vector<const float>(0);
    const float c = in.scalar<const float>(1);
    const auto r = out.vector<float>(0);
    r[0] = u[0] - c * (u[0] - u[u.n - 1]);
    for (long i = 1; i < u.n; ++i) r[i] = u[i] - c * (u[i] - u[i - 1]);
}

PLAIN(lax_wendroff) {
    const auto u = in.vector<const float>(0);
    const float c = in.scalar<const float>(1), half = 0.5f * c, square = half * c;
    const auto r = out.vector<float>(0);
    const auto step = [&](long left, long i, long right) {
        r[i] = u[i] - half * (u[right] - u[left]) + square * (u[right] - 2 * u[i] + u[left]);
    };
    const long last = u.n - 1;
    step(last, 0, std::min(1l, last));
    for (long i = 1; i < last; ++i) step(i - 1, i, i + 1);
    step(std::max(last - 1, 0l), last, 0);
}

PLAIN(flux_difference) {
    const auto u = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    const auto flux = [&](long i) {
        const float a = u[i], b = u[i + 1];
        return 0.5f * (a * a * 0.5f + b * b * 0.5f) - 0.5f * (b - a) * std::max(std::abs(a), std::abs(b));
    };
    float before = flux(0);
    for (long i = 0; i < r.n; ++i) {
        const float next = flux(i + 1);
        r[i] = next - before;
        before = next;
    }
}

PLAIN(five_point) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const auto edge = [&](long i, long j) {
        r[i][j] = (u.clamped(i - 1, j) + u.clamped(i, j - 1) + u.clamped(i, j + 1) + u.clamped(i + 1, j)) * 0.25f;
    };
    edges_apart(u.rows, u.cols, edge, [&](long i, long j) {
        r[i][j] = (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j]) * 0.25f;
    });
}

PLAIN(nine_point) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    on_torus(u.rows, u.cols, [&](long i, long j, long up, long down, long left, long right) {
        r[i][j] = 0.25f * (u[up][left] + u[up][right] + u[down][left] + u[down][right]) +
                  0.5f * (u[up][j] + u[i][left] + u[i][right] + u[down][j]) - 3 * u[i][j];
    });
}

PLAIN(gradient_magnitude) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j) {
            const float gx = (u[i + 1][j + 2] - u[i + 1][j]) * 0.5f, gy = (u[i + 2][j + 1] - u[i][j + 1]) * 0.5f;
            r[i][j] = std::sqrt(gx * gx + gy * gy);
        }
}

static void laplace_of_inside(matrix_view<const float> u, matrix_view<float> r) {
    for (long i = 0; i < r.rows; ++i)
        for (long j = 0; j < r.cols; ++j)
            r[i][j] = u[i][j + 1] + u[i + 1][j] + u[i + 1][j + 2] + u[i + 2][j + 1] - 4 * u[i + 1][j + 1];
}

PLAIN(biharmonic) {
    const auto u = in.matrix<const float>(0);
    const long rows = u.rows - 2, cols = u.cols - 2;
    std::vector<float> inside(rows * cols);
    laplace_of_inside(u, {inside.data(), rows, cols});
    laplace_of_inside({inside.data(), rows, cols}, out.matrix<float>(0));
}

PLAIN(divergence_and_curl) {
    const auto u = in.matrix<const float>(0), v = in.matrix<const float>(1);
    const auto div = out.matrix<float>(0), curl = out.matrix<float>(1);
    for (long i = 0; i < div.rows; ++i)
        for (long j = 0; j < div.cols; ++j) {
            const float ux = u[i + 1][j + 2] - u[i + 1][j], uy = u[i + 2][j + 1] - u[i][j + 1];
            const float vx = v[i + 1][j + 2] - v[i + 1][j], vy = v[i + 2][j + 1] - v[i][j + 1];
            div[i][j] = 0.5f * (ux + vy);
            curl[i][j] = 0.5f * (vx - uy);
        }
}

PLAIN(jacobi_guarded) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < u.rows; ++i)
        for (long j = 0; j < u.cols; ++j) {
            const bool inside = i > 0 && i < u.rows - 1 && j > 0 && j < u.cols - 1;
            r[i][j] = inside ? 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) : u[i][j];
        }
}

PLAIN(diffusion_clamped) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const auto next = [](float x, float around) { return x + 0.125f * (around - 4 * x); };
    const auto edge = [&](long i, long j) {
        r[i][j] = next(u[i][j], u.clamped(i - 1, j) + u.clamped(i + 1, j) + u.clamped(i, j - 1) + u.clamped(i, j + 1));
    };
    edges_apart(u.rows, u.cols, edge, [&](long i, long j) {
        r[i][j] = next(u[i][j], u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
    });
}

static void next_generation(matrix_view<const int32_t> u, matrix_view<int32_t> r) {
    on_torus(u.rows, u.cols, [&](long i, long j, long up, long down, long left, long right) {
        const int32_t sum = u[up][left] + u[up][j] + u[up][right] + u[i][left] + u[i][right] +
                            u[down][left] + u[down][j] + u[down][right];
        r[i][j] = sum == 3 || (sum == 2 && u[i][j] == 1);
    });
}

PLAIN(life) { next_generation(in.matrix<const int32_t>(0), out.matrix<int32_t>(0)); }

PLAIN(life_by_index) { next_generation(in.matrix<const int32_t>(0), out.matrix<int32_t>(0)); }

PLAIN(heat_steps) {
    const auto start = in.matrix<const float>(0);
    const long steps = in.scalar<const int64_t>(1), rows = start.rows, cols = start.cols, count = rows * cols;
    std::vector<float> now(start.data, start.data + count), next(now);
    for (long step = 0; step < steps; ++step) {
        const matrix_view<float> u{now.data(), rows, cols}, r{next.data(), rows, cols};
        for (long i = 1; i < rows - 1; ++i)
            for (long j = 1; j < cols - 1; ++j)
                r[i][j] = 0.25f * (u[i][j - 1] + u[i][j + 1] + u[i - 1][j] + u[i + 1][j]);
        now.swap(next);
    }
    std::copy(now.begin(), now.end(), out.matrix<float>(0).data);
}

PLAIN(wave_equation) {
    const auto start = in.matrix<const float>(0), speed = in.matrix<const float>(1);
    const auto u = out.matrix<float>(0), v = out.matrix<float>(1);
    const long count = u.rows * u.cols;
    std::copy_n(start.data, count, u.data);
    std::copy_n(speed.data, count, v.data);
    for (int step = 0; step < 3; ++step) {
        on_torus(u.rows, u.cols, [&](long i, long j, long up, long down, long left, long right) {
            v[i][j] += 0.125f * (u[up][j] + u[i][left] + u[i][right] + u[down][j] - 4 * u[i][j]);
        });
        for (long i = 0; i < count; ++i) u.data[i] += v.data[i];
    }
}

PLAIN(staggered_wave) {
    const auto p = out.vector<float>(0), v = out.vector<float>(1);
    const long last = p.n - 1;
    std::copy_n(in.vector<const float>(0).data, p.n, p.data);
    std::copy_n(in.vector<const float>(1).data, v.n, v.data);
    for (int step = 0; step < 3; ++step) {
        for (long i = 0; i < last; ++i) v[i] -= 0.25f * (p[i + 1] - p[i]);
        v[last] -= 0.25f * (p[0] - p[last]);
        p[0] -= 0.25f * (v[0] - v[last]);
        for (long i = 1; i <= last; ++i) p[i] -= 0.25f * (v[i] - v[i - 1]);
    }
}

PLAIN(gray_scott) {
    const auto first = in.matrix<const float>(0), second = in.matrix<const float>(1);
    const long rows = first.rows, cols = first.cols, count = rows * cols;
    std::vector<float> now_u(first.data, first.data + count), now_v(second.data, second.data + count);
    std::vector<float> next_u(count), next_v(count);
    for (int step = 0; step < 2; ++step) {
        const matrix_view<float> u{now_u.data(), rows, cols}, v{now_v.data(), rows, cols};
        const matrix_view<float> a{next_u.data(), rows, cols}, b{next_v.data(), rows, cols};
        on_torus(rows, cols, [&](long i, long j, long up, long down, long left, long right) {
            const float x = u[i][j], y = v[i][j], reaction = x * y * y;
            const float of_u = u[up][j] + u[i][left] + u[i][right] + u[down][j] - 4 * x;
            const float of_v = v[up][j] + v[i][left] + v[i][right] + v[down][j] - 4 * y;
            a[i][j] = x + 0.125f * of_u - reaction + 0.03125f * (1 - x);
            b[i][j] = y + 0.0625f * of_v + reaction - 0.09375f * y;
        });
        now_u.swap(next_u);
        now_v.swap(next_v);
    }
    std::copy(now_u.begin(), now_u.end(), out.matrix<float>(0).data);
    std::copy(now_v.begin(), now_v.end(), out.matrix<float>(1).data);
}

PLAIN(residual_of_poisson) {
    const auto u = in.matrix<const float>(0), f = in.matrix<const float>(1);
    float sum = 0;
    for (long i = 1; i < u.rows - 1; ++i)
        for (long j = 1; j < u.cols - 1; ++j) {
            const float r = f[i][j] - (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j] - 4 * u[i][j]);
            sum += r * r;
        }
    out.scalar<float>(0) = std::sqrt(sum);
}

PLAIN(multigrid_restriction) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < r.rows; ++i) {
        const float *a = u[2 * i], *b = u[2 * i + 1];
        for (long j = 0; j < r.cols; ++j) r[i][j] = (a[2 * j] + a[2 * j + 1] + b[2 * j] + b[2 * j + 1]) * 0.25f;
    }
}

PLAIN(multigrid_prolongation) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const long last = u.cols - 1;
    for (long i = 0; i < r.rows; ++i) {
        const float *a = u[i / 2], *b = u[(i + 1) / 2];
        for (long j = 0; j < last; ++j) {
            r[i][2 * j] = (a[j] + b[j]) * 0.5f;
            r[i][2 * j + 1] = (a[j] + a[j + 1] + b[j] + b[j + 1]) * 0.25f;
        }
        r[i][2 * last] = (a[last] + b[last]) * 0.5f;
    }
}

static void seven_points(tensor_view<const float> u, tensor_view<float> r) {
    for (long z = 0; z < r.planes; ++z)
        for (long y = 0; y < r.rows; ++y) {
            const float *here = u[z + 1][y + 1] + 1;
            const float *before = u[z][y + 1] + 1, *after = u[z + 2][y + 1] + 1;
            const float *up = u[z + 1][y] + 1, *down = u[z + 1][y + 2] + 1;
            float *to = r[z][y];
            for (long x = 0; x < r.cols; ++x)
                to[x] = before[x] + after[x] + up[x] + down[x] + here[x - 1] + here[x + 1] - 6 * here[x];
        }
}

PLAIN(seven_point) { seven_points(in.tensor<const float>(0), out.tensor<float>(0)); }

PLAIN(seven_point_slices) { seven_points(in.tensor<const float>(0), out.tensor<float>(0)); }

// The rows around a row of a volume that is clamped at its faces: nine, plane by plane.
static void rows_around(tensor_view<const float> u, long z, long y, const float *(&rows)[9]) {
    for (long k = 0; k < 9; ++k)
        rows[k] = u[std::clamp(z + k / 3 - 1, 0l, u.planes - 1)][std::clamp(y + k % 3 - 1, 0l, u.rows - 1)];
}

// The six neighbours of the elements of a row, less six times these, into f(x, value).
template <class F> static void laplace_of_row(const float *(&rows)[9], long cols, F f) {
    const float *here = rows[4];
    const auto at = [&](long x, long left, long right) {
        f(x, (rows[1][x] + rows[7][x]) + (rows[3][x] + rows[5][x]) + (here[left] + here[right]) - 6 * here[x]);
    };
    at(0, 0, std::min(1l, cols - 1));
    for (long x = 1; x < cols - 1; ++x) at(x, x - 1, x + 1);
    if (cols > 1) at(cols - 1, cols - 2, cols - 1);
}

PLAIN(laplace3d) {
    const auto u = in.tensor<const float>(0);
    const auto r = out.tensor<float>(0);
    const float *rows[9];
    for (long z = 0; z < u.planes; ++z)
        for (long y = 0; y < u.rows; ++y) {
            rows_around(u, z, y, rows);
            float *to = r[z][y];
            laplace_of_row(rows, u.cols, [&](long x, float value) { to[x] = value; });
        }
}

PLAIN(wave_step_of_a_volume) {
    const auto u = in.tensor<const float>(0), before = in.tensor<const float>(1);
    const auto r = out.tensor<float>(0);
    const float c = in.scalar<const float>(2);
    const float *rows[9];
    for (long z = 0; z < u.planes; ++z)
        for (long y = 0; y < u.rows; ++y) {
            rows_around(u, z, y, rows);
            const float *here = u[z][y], *old = before[z][y];
            float *to = r[z][y];
            laplace_of_row(rows, u.cols, [&](long x, float value) { to[x] = 2 * here[x] - old[x] + c * value; });
        }
}

PLAIN(laplace27) {
    const auto u = in.tensor<const float>(0);
    const auto r = out.tensor<float>(0);
    const float *rows[9];
    float weights[27];
    for (int k = 0; k < 27; ++k) weights[k] = 1.0f / float(k + 1);
    for (long z = 0; z < u.planes; ++z)
        for (long y = 0; y < u.rows; ++y) {
            rows_around(u, z, y, rows);
            float *to = r[z][y];
            const auto at = [&](long x, long left, long right) {
                float s = 0;
                for (int k = 0; k < 9; ++k)
                    s += weights[3 * k] * rows[k][left] + weights[3 * k + 1] * rows[k][x] + weights[3 * k + 2] * rows[k][right];
                to[x] = s;
            };
            at(0, 0, std::min(1l, u.cols - 1));
            for (long x = 1; x < u.cols - 1; ++x) at(x, x - 1, x + 1);
            if (u.cols > 1) at(u.cols - 1, u.cols - 2, u.cols - 1);
        }
}
