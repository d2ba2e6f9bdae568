// The programs of tests/programs/src/stencils.rs.
#include "plain.hpp"

PLAIN(five_point) {
    const auto u = in.matrix<const float>(0);
    const auto r = out.matrix<float>(0);
    const auto edge = [&](long i, long j) {
        r[i][j] = (u.clamped(i - 1, j) + u.clamped(i, j - 1) + u.clamped(i, j + 1) + u.clamped(i + 1, j)) * 0.25f;
    };
    for (long i = 0; i < u.rows; ++i) {
        if (i == 0 || i == u.rows - 1) {
            for (long j = 0; j < u.cols; ++j) edge(i, j);
            continue;
        }
        edge(i, 0);
        for (long j = 1; j < u.cols - 1; ++j)
            r[i][j] = (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j]) * 0.25f;
        edge(i, u.cols - 1);
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
