// The programs of tests/programs/src/fluids.rs.
#include "plain.hpp"

PLAIN(pressure_projection) {
    const auto u = in.matrix<const float>(0), v = in.matrix<const float>(1), start = in.matrix<const float>(2);
    const auto a = out.matrix<float>(0), b = out.matrix<float>(1);
    const long rows = u.rows, cols = u.cols, count = rows * cols;
    std::vector<float> of_div(count), now(start.data, start.data + count), next(count);
    const matrix_view<float> div{of_div.data(), rows, cols};
    on_torus(rows, cols, [&](long i, long j, long up, long down, long left, long right) {
        div[i][j] = 0.5f * ((u[i][right] - u[i][left]) + (v[down][j] - v[up][j]));
    });
    for (int step = 0; step < 3; ++step) {
        const matrix_view<float> p{now.data(), rows, cols}, q{next.data(), rows, cols};
        on_torus(rows, cols, [&](long i, long j, long up, long down, long left, long right) {
            q[i][j] = 0.25f * (p[up][j] + p[i][left] + p[i][right] + p[down][j] - div[i][j]);
        });
        now.swap(next);
    }
    const matrix_view<float> p{now.data(), rows, cols};
    on_torus(rows, cols, [&](long i, long j, long up, long down, long left, long right) {
        a[i][j] = u[i][j] - 0.5f * (p[i][right] - p[i][left]);
        b[i][j] = v[i][j] - 0.5f * (p[down][j] - p[up][j]);
    });
}

PLAIN(semi_lagrangian) {
    const auto q = in.matrix<const float>(0), u = in.matrix<const float>(1), v = in.matrix<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < q.rows; ++i)
        for (long j = 0; j < q.cols; ++j) {
            const float y = std::min(std::max(i - v[i][j], 0.0f), float(q.rows - 1));
            const float x = std::min(std::max(j - u[i][j], 0.0f), float(q.cols - 1));
            const long k = std::min(long(y), q.rows - 2), l = std::min(long(x), q.cols - 2);
            const float a = y - k, b = x - l;
            r[i][j] = (1 - a) * ((1 - b) * q[k][l] + b * q[k][l + 1]) +
                      a * ((1 - b) * q[k + 1][l] + b * q[k + 1][l + 1]);
        }
}

PLAIN(lattice_boltzmann_collision) {
    constexpr float cx[] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    constexpr float a = 1 / 9.0f, b = 1 / 36.0f, w[] = {4 / 9.0f, a, a, a, a, b, b, b, b};
    const auto f = in.matrix<const float>(0);
    const auto r = out.vector<float>(0);
    for (long x = 0; x < f.cols; ++x) {
        float rho = 0, ux = 0, uy = 0, energy = 0;
        for (int k = 0; k < 9; ++k) {
            rho += f[k][x];
            ux += cx[k] * f[k][x];
            uy += cy[k] * f[k][x];
        }
        ux /= rho;
        uy /= rho;
        const float square = 1.5f * (ux * ux + uy * uy);
        for (int k = 0; k < 9; ++k) {
            const float cu = cx[k] * ux + cy[k] * uy;
            const float eq = w[k] * rho * (1 + 3 * cu + 4.5f * cu * cu - square);
            const float next = f[k][x] - 0.5f * (f[k][x] - eq);
            energy += next * next;
        }
        r[x] = energy;
    }
}

PLAIN(shallow_water_flux) {
    const auto h = in.vector<const float>(0), u = in.vector<const float>(1);
    const auto hn = out.vector<float>(0), un = out.vector<float>(1);
    std::vector<float> mass(h.n), momentum(h.n);
    for (long i = 0; i < h.n; ++i) {
        mass[i] = h[i] * u[i];
        momentum[i] = mass[i] * u[i] + 4.9f * h[i] * h[i];
    }
    const auto step = [&](long before, long i, long after) {
        hn[i] = h[i] - 0.0625f * (mass[after] - mass[before]);
        un[i] = mass[i] - 0.0625f * (momentum[after] - momentum[before]);
    };
    const long last = h.n - 1;
    step(0, 0, std::min(1l, last));
    for (long i = 1; i < last; ++i) step(i - 1, i, i + 1);
    step(std::max(last - 1, 0l), last, last);
}
