// The programs of tests/programs/src/physics.rs.
#include "plain.hpp"

using floats = vector_view<const float>;

PLAIN(leapfrog_oscillators) {
    const floats x0 = in.vector<const float>(0), p0 = in.vector<const float>(1);
    const float dt = in.scalar<const float>(2), half_dt = 0.5f * dt;
    const auto xn = out.vector<float>(0), pn = out.vector<float>(1);
    for (long i = 0; i < x0.n; ++i) {
        float x = x0[i], p = p0[i];
        for (int step = 0; step < 4; ++step) {
            p -= x * half_dt;
            x += p * dt;
            p -= x * half_dt;
        }
        xn[i] = x;
        pn[i] = p;
    }
}

PLAIN(runge_kutta_pendulum) {
    const floats angle = in.vector<const float>(0), speed = in.vector<const float>(1);
    const auto an = out.vector<float>(0), wn = out.vector<float>(1);
    constexpr float h = 0.125f;
    for (long i = 0; i < angle.n; ++i) {
        const float a = angle[i], w = speed[i];
        const float a1 = w, w1 = -std::sin(a);
        const float a2 = w + w1 * (h / 2), w2 = -std::sin(a + a1 * (h / 2));
        const float a3 = w + w2 * (h / 2), w3 = -std::sin(a + a2 * (h / 2));
        const float a4 = w + w3 * h, w4 = -std::sin(a + a3 * h);
        an[i] = a + (a1 + 2 * a2 + 2 * a3 + a4) * (h / 6);
        wn[i] = w + (w1 + 2 * w2 + 2 * w3 + w4) * (h / 6);
    }
}

PLAIN(lorenz_steps) {
    const floats x0 = in.vector<const float>(0), y0 = in.vector<const float>(1), z0 = in.vector<const float>(2);
    const auto a = out.vector<float>(0), b = out.vector<float>(1), c = out.vector<float>(2);
    constexpr float h = 0.0078125f;
    for (long i = 0; i < x0.n; ++i) {
        float x = x0[i], y = y0[i], z = z0[i];
        for (int step = 0; step < 4; ++step) {
            const float dx = 10 * (y - x), dy = x * (28 - z) - y, dz = x * y - 2.6666667f * z;
            x += h * dx;
            y += h * dy;
            z += h * dz;
        }
        a[i] = x;
        b[i] = y;
        c[i] = z;
    }
}

PLAIN(boris_push) {
    const auto v = in.matrix<const float>(0);
    const floats b = in.vector<const float>(1);
    const auto r = out.matrix<float>(0);
    const float bx = b[0], by = b[1], bz = b[2], scale = 2 / (1 + bx * bx + by * by + bz * bz);
    for (long i = 0; i < v.rows; ++i) {
        const float x = v[i][0], y = v[i][1], z = v[i][2];
        const float tx = x + (y * bz - z * by), ty = y + (z * bx - x * bz), tz = z + (x * by - y * bx);
        r[i][0] = x + scale * (ty * bz - tz * by);
        r[i][1] = y + scale * (tz * bx - tx * bz);
        r[i][2] = z + scale * (tx * by - ty * bx);
    }
}

PLAIN(energies) {
    const floats x = in.vector<const float>(0), p = in.vector<const float>(1), mass = in.vector<const float>(2);
    float kinetic = 0, potential = 0;
    for (long i = 0; i < x.n; ++i) {
        kinetic += p[i] * p[i] / mass[i];
        potential += x[i] * x[i] * mass[i];
    }
    out.scalar<float>(0) = kinetic * 0.5f;
    out.scalar<float>(1) = potential * 0.5f;
}

PLAIN(gravity) {
    const floats x = in.vector<const float>(0), y = in.vector<const float>(1), mass = in.vector<const float>(2);
    const auto ax = out.vector<float>(0), ay = out.vector<float>(1);
    for (long i = 0; i < x.n; ++i) {
        const float xi = x[i], yi = y[i];
        float fx = 0, fy = 0;
        for (long j = 0; j < x.n; ++j) {
            const float dx = x[j] - xi, dy = y[j] - yi;
            const float r = 1 / std::sqrt(dx * dx + dy * dy + 0.0625f), s = mass[j] * r * r * r;
            fx += s * dx;
            fy += s * dy;
        }
        ax[i] = fx;
        ay[i] = fy;
    }
}

PLAIN(lennard_jones_energy) {
    const floats x = in.vector<const float>(0), y = in.vector<const float>(1);
    float energy = 0;
    for (long i = 0; i < x.n; ++i)
        for (long j = i + 1; j < x.n; ++j) {
            const float dx = x[i] - x[j], dy = y[i] - y[j], r2 = dx * dx + dy * dy;
            if (r2 < 6.25f) {
                const float s = 1 / (r2 * r2 * r2);
                energy += 4 * (s * s - s);
            }
        }
    out.scalar<float>(0) = energy;
}

PLAIN(radial_distribution) {
    count_distances(in.vector<const float>(0), in.vector<const float>(1), out.vector<int32_t>(0));
}

PLAIN(coulomb_grid) {
    const floats px = in.vector<const float>(0), py = in.vector<const float>(1), q = in.vector<const float>(2);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < r.rows; ++i) {
        const float y = i * 0.25f;
        std::fill_n(r[i], r.cols, 0.0f);
        for (long k = 0; k < q.n; ++k) {
            const float a = px[k], charge = q[k], dy = py[k] - y, rest = dy * dy + 0.0625f;
            for (long j = 0; j < r.cols; ++j) {
                const float dx = a - j * 0.25f;
                r[i][j] += charge / std::sqrt(dx * dx + rest);
            }
        }
    }
}

PLAIN(particle_deposit) {
    const floats x = in.vector<const float>(0), q = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    std::fill_n(r.data, r.n, 0.0f);
    for (long i = 0; i < x.n; ++i) {
        const long c = std::floor(x[i]);
        const float f = x[i] - c;
        if (c >= 0 && c < r.n) r[c] += q[i] * (1 - f);
        if (c >= -1 && c + 1 < r.n) r[c + 1] += q[i] * f;
    }
}

PLAIN(ising_energy) {
    const auto spins = in.matrix<const float>(0);
    float energy = 0, sum = 0;
    for (long i = 0; i < spins.rows; ++i) {
        const float *s = spins[i], *down = spins[i < spins.rows - 1 ? i + 1 : 0];
        const long last = spins.cols - 1;
        for (long j = 0; j < last; ++j) {
            energy -= s[j] * (s[j + 1] + down[j]);
            sum += s[j];
        }
        energy -= s[last] * (s[0] + down[last]);
        sum += s[last];
    }
    out.scalar<float>(0) = energy;
    out.scalar<float>(1) = sum;
}

PLAIN(ising_checkerboard) {
    const auto spins = in.matrix<const float>(0), random = in.matrix<const float>(1);
    const float beta = in.scalar<const float>(2);
    const auto r = out.matrix<float>(0);
    const long rows = spins.rows, cols = spins.cols;
    std::vector<float> before(rows * cols);
    const matrix_view<float> s{before.data(), rows, cols};
    std::copy_n(spins.data, rows * cols, r.data);
    for (long colour = 0; colour < 2; ++colour) {
        std::copy_n(r.data, rows * cols, s.data);
        for (long i = 0; i < rows; ++i) {
            const float *up = s[(i > 0 ? i : rows) - 1], *here = s[i], *down = s[i < rows - 1 ? i + 1 : 0];
            for (long j = (i + colour) % 2; j < cols; j += 2) {
                const float near = up[j] + here[(j > 0 ? j : cols) - 1] + here[j < cols - 1 ? j + 1 : 0] + down[j];
                if (random[i][j] < std::exp(-2 * beta * here[j] * near)) r[i][j] = -here[j];
            }
        }
    }
}

PLAIN(maxwell_2d) {
    const auto ez = out.matrix<float>(0), hx = out.matrix<float>(1), hy = out.matrix<float>(2);
    const long rows = ez.rows, cols = ez.cols;
    for (int k = 0; k < 3; ++k) std::copy_n(in.matrix<const float>(k).data, rows * cols, out.matrix<float>(k).data);
    for (int step = 0; step < 2; ++step) {
        for (long i = 0; i < rows - 1; ++i)
            for (long j = 0; j < cols; ++j) hx[i][j] -= 0.5f * (ez[i + 1][j] - ez[i][j]);
        for (long j = 0; j < cols; ++j) hx[rows - 1][j] += 0.5f * ez[rows - 1][j];
        for (long i = 0; i < rows; ++i) {
            for (long j = 0; j < cols - 1; ++j) hy[i][j] += 0.5f * (ez[i][j + 1] - ez[i][j]);
            hy[i][cols - 1] -= 0.5f * ez[i][cols - 1];
        }
        ez[0][0] += 0.5f * (hy[0][0] - hx[0][0]);
        for (long j = 1; j < cols; ++j) ez[0][j] += 0.5f * ((hy[0][j] - hy[0][j - 1]) - hx[0][j]);
        for (long i = 1; i < rows; ++i) {
            ez[i][0] += 0.5f * (hy[i][0] - (hx[i][0] - hx[i - 1][0]));
            for (long j = 1; j < cols; ++j)
                ez[i][j] += 0.5f * ((hy[i][j] - hy[i][j - 1]) - (hx[i][j] - hx[i - 1][j]));
        }
    }
}

// r += factor * (pot * u - u'' / 2)
static void add_energy(vector_view<float> r, float factor, floats pot, vector_view<float> u) {
    const auto add = [&](long i, float before, float after) {
        r[i] += factor * (pot[i] * u[i] - 0.5f * (before - 2 * u[i] + after));
    };
    const long last = u.n - 1;
    add(0, 0, last > 0 ? u[1] : 0);
    for (long i = 1; i < last; ++i) add(i, u[i - 1], u[i + 1]);
    if (last > 0) add(last, u[last - 1], 0);
}

PLAIN(schroedinger_step) {
    const floats pot = in.vector<const float>(2);
    const auto re = out.vector<float>(0), im = out.vector<float>(1);
    std::copy_n(in.vector<const float>(0).data, re.n, re.data);
    std::copy_n(in.vector<const float>(1).data, im.n, im.data);
    for (int step = 0; step < 3; ++step) {
        add_energy(re, 0.0625f, pot, im);
        add_energy(im, -0.0625f, pot, re);
    }
}

PLAIN(elastic_volume_stress) {
    const auto u = in.tensor<const float>(0);
    const auto r = out.tensor<float>(0);
    const long last = u.cols - 1;
    for (long z = 0; z < u.planes; ++z)
        for (long y = 0; y < u.rows; ++y) {
            const float *before = u[std::max(z - 1, 0l)][y], *after = u[std::min(z + 1, u.planes - 1)][y];
            const float *up = u[z][std::max(y - 1, 0l)], *down = u[z][std::min(y + 1, u.rows - 1)], *here = u[z][y];
            float *to = r[z][y];
            const auto stress = [=](long left, long x, long right) {
                const float dz = after[x] - before[x], dy = down[x] - up[x], dx = here[right] - here[left];
                to[x] = (dz * dz + dy * dy + dx * dx) * 0.25f;
            };
            stress(0, 0, std::min(1l, last));
            for (long x = 1; x < last; ++x) stress(x - 1, x, x + 1);
            stress(std::max(last - 1, 0l), last, last);
        }
}

PLAIN(fourier_transform) {
    const floats re = in.vector<const float>(0), im = in.vector<const float>(1);
    const auto a = out.vector<float>(0), b = out.vector<float>(1);
    const long n = re.n;
    std::vector<float> cosines(n), sines(n);
    for (long t = 0; t < n; ++t) {
        const float angle = -6.2831853f * t / n;
        cosines[t] = std::cos(angle);
        sines[t] = std::sin(angle);
    }
    for (long k = 0; k < n; ++k) {
        float x = 0, y = 0;
        for (long i = 0, t = 0; i < n; ++i) {
            x += re[i] * cosines[t] - im[i] * sines[t];
            y += re[i] * sines[t] + im[i] * cosines[t];
            t += k;
            if (t >= n) t -= n;
        }
        a[k] = x;
        b[k] = y;
    }
}

PLAIN(expectation_value) {
    const auto h = in.matrix<const float>(0);
    const floats psi = in.vector<const float>(1);
    float sum = 0;
    for (long i = 0; i < h.rows; ++i) sum += psi[i] * dot(h[i], psi.data, psi.n);
    out.scalar<float>(0) = sum / dot(psi.data, psi.data, psi.n);
}

PLAIN(ray_spheres) {
    const floats dx = in.vector<const float>(0), dy = in.vector<const float>(1);
    const floats cx = in.vector<const float>(2), cy = in.vector<const float>(3), cz = in.vector<const float>(4);
    const auto r = out.vector<float>(0);
    std::vector<float> squares(cx.n);
    for (long k = 0; k < cx.n; ++k) squares[k] = cx[k] * cx[k] + cy[k] * cy[k] + cz[k] * cz[k];
    for (long i = 0; i < dx.n; ++i) {
        const float z = 1 / std::sqrt(dx[i] * dx[i] + dy[i] * dy[i] + 1), x = dx[i] * z, y = dy[i] * z;
        float nearest = std::numeric_limits<float>::infinity();
        for (long k = 0; k < cx.n; ++k) {
            const float along = x * cx[k] + y * cy[k] + z * cz[k];
            const float d = along * along - squares[k] + 1;
            nearest = std::min(nearest, d > 0 ? along - std::sqrt(d) : 1000.0f);
        }
        r[i] = nearest;
    }
}

PLAIN(mandelbrot) {
    const long rows = in.scalar<const int64_t>(0), cols = in.scalar<const int64_t>(1);
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < cols; ++j) {
            const float x0 = j * 0.375f - 2, y0 = i * 0.3125f - 1;
            float x = 0, y = 0;
            int count = 0;
            for (; count < 4 && x * x + y * y <= 4; ++count) {
                const float next = x * x - y * y + x0;
                y = 2 * x * y + y0;
                x = next;
            }
            r[i][j] = count;
        }
}
