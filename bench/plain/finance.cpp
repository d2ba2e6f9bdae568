// The programs of tests/programs/src/finance.rs.
#include "plain.hpp"

template <class T> static T normcdf(T x) { return T(0.5) * std::erfc(x * T(-0.7071067811865476)); }

PLAIN(black_scholes) {
    const auto spot = in.vector<const float>(0), strike = in.vector<const float>(1), time = in.vector<const float>(2);
    const float rate = in.scalar<const float>(3), sigma = in.scalar<const float>(4);
    const auto call = out.vector<float>(0), put = out.vector<float>(1);
    const float drift = rate + sigma * sigma * 0.5f;
    for (long i = 0; i < spot.n; ++i) {
        const float s = spot[i], k = strike[i], t = time[i];
        const float spread = sigma * std::sqrt(t);
        const float d1 = (std::log(s / k) + drift * t) / spread, d2 = d1 - spread;
        const float discounted = k * std::exp(-rate * t);
        const float price = s * normcdf(d1) - discounted * normcdf(d2);
        call[i] = price;
        put[i] = price - s + discounted;
    }
}

PLAIN(implied_volatility) {
    const auto price = in.vector<const double>(0), strike = in.vector<const double>(1);
    const auto r = out.vector<double>(0);
    for (long i = 0; i < price.n; ++i) {
        const double k = strike[i], log = std::log(1 / k);
        double sigma = 0.5;
        for (int step = 0; step < 6; ++step) {
            const double d1 = (log + sigma * sigma * 0.5) / sigma;
            const double value = normcdf(d1) - k * normcdf(d1 - sigma);
            const double vega = std::exp(d1 * d1 * -0.5) * 0.3989422804014327;
            sigma -= (value - price[i]) / vega;
        }
        r[i] = sigma;
    }
}

PLAIN(binomial_tree) {
    const float spot = in.scalar<const float>(0), strike = in.scalar<const float>(1);
    const long steps = in.scalar<const int64_t>(2);
    std::vector<float> v(steps + 1);
    for (long i = 0; i <= steps; ++i) v[i] = std::max(strike - spot * std::exp((2 * i - steps) * 0.125f), 0.0f);
    // Before step k the tree has k + 1 nodes: what the program computes beside them does not reach the root.
    for (long k = steps; k > 0; --k)
        for (long i = 0; i < k; ++i) v[i] = 0.5f * v[i] + 0.46875f * v[i + 1];
    out.scalar<float>(0) = v[0];
}

PLAIN(american_put_steps) {
    const auto payoff = in.vector<const float>(0);
    const long steps = in.scalar<const int64_t>(1), n = payoff.n;
    std::vector<float> v(payoff.data, payoff.data + n), w(n);
    const auto node = [&](long before, long i, long after) {
        w[i] = std::max(0.25f * v[before] + 0.46875f * v[i] + 0.25f * v[after], payoff[i]);
    };
    for (long step = 0; step < steps; ++step) {
        node(0, 0, std::min(1l, n - 1));
        for (long i = 1; i < n - 1; ++i) node(i - 1, i, i + 1);
        node(std::max(n - 2, 0l), n - 1, n - 1);
        v.swap(w);
    }
    std::copy(v.begin(), v.end(), out.vector<float>(0).data);
}

PLAIN(price_grid) {
    const auto spots = in.vector<const float>(0), strikes = in.vector<const float>(1);
    const float sigma = in.scalar<const float>(2), drift = sigma * sigma * 0.5f;
    const auto r = out.matrix<float>(0);
    for (long i = 0; i < spots.n; ++i)
        for (long j = 0; j < strikes.n; ++j) {
            const float s = spots[i], k = strikes[j];
            const float d1 = (std::log(s / k) + drift) / sigma;
            r[i][j] = s * normcdf(d1) - k * normcdf(d1 - sigma);
        }
}

PLAIN(portfolio_variance) {
    const auto w = in.vector<const float>(0);
    const auto cov = in.matrix<const float>(1);
    float sum = 0;
    for (long i = 0; i < cov.rows; ++i) sum += dot(cov[i], w.data, w.n) * w[i];
    out.scalar<float>(0) = sum;
}

PLAIN(scenario_losses) {
    const auto scenarios = in.matrix<const float>(0);
    const auto w = in.vector<const float>(1);
    float sum = 0, worst = -std::numeric_limits<float>::infinity();
    for (long i = 0; i < scenarios.rows; ++i) {
        const float loss = dot(scenarios[i], w.data, w.n);
        sum += loss;
        worst = std::max(worst, loss);
    }
    out.scalar<float>(0) = sum / scenarios.rows;
    out.scalar<float>(1) = worst;
}

PLAIN(expected_shortfall) {
    const auto losses = in.vector<const float>(0);
    const float limit = in.scalar<const float>(1);
    float sum = 0;
    long count = 0;
    for (long i = 0; i < losses.n; ++i)
        if (losses[i] > limit) {
            sum += losses[i];
            ++count;
        }
    out.scalar<float>(0) = sum / std::max(count, 1l);
}

PLAIN(discounted_flows) {
    const auto flows = in.matrix<const float>(0);
    const auto rates = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    std::vector<float> factors(rates.n);
    for (long t = 0; t < rates.n; ++t) factors[t] = std::exp(-rates[t] * (t + 1));
    for (long i = 0; i < flows.rows; ++i) r[i] = dot(flows[i], factors.data(), rates.n);
}

PLAIN(sharpe_ratios) {
    const auto returns = in.matrix<const float>(0);
    const float rate = in.scalar<const float>(1);
    const auto r = out.vector<float>(0);
    const long rows = returns.rows, cols = returns.cols;
    std::vector<float> means(cols), squares(cols);
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < cols; ++j) means[j] += returns[i][j];
    for (float &mean : means) mean /= rows;
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < cols; ++j) squares[j] += (returns[i][j] - means[j]) * (returns[i][j] - means[j]);
    for (long j = 0; j < cols; ++j) r[j] = (means[j] - rate) / std::sqrt(squares[j] / rows);
}

PLAIN(yield_interpolation) {
    const auto curve = in.vector<const float>(0), times = in.vector<const float>(1);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < times.n; ++i) {
        const float t = times[i];
        const long k = std::clamp(long(std::floor(t)), 0l, curve.n - 2);
        const float f = t - k;
        r[i] = curve[k] * (1 - f) + curve[k + 1] * f;
    }
}

PLAIN(log_returns) {
    const auto p = in.vector<const float>(0);
    const auto r = out.vector<float>(0);
    float before = std::log(p[0]);
    for (long i = 0; i < r.n; ++i) {
        const float next = std::log(p[i + 1]);
        r[i] = next - before;
        before = next;
    }
}

PLAIN(realised_volatility) {
    const auto p = in.vector<const float>(0);
    float square = 0;
    for (long i = 0; i + 1 < p.n; ++i) {
        const float r = std::log(p[i + 1] / p[i]);
        square += r * r;
    }
    out.scalar<float>(0) = std::sqrt(square / (p.n - 1));
}

PLAIN(crossover_signal) {
    const auto p = in.vector<const float>(0);
    const auto r = out.vector<int32_t>(0);
    const auto sum = [&](long begin, long end) {
        float sum = 0;
        for (long i = begin; i < end; ++i) sum += p[i];
        return sum;
    };
    for (long i = 0; i < r.n; ++i) {
        const float slow = sum(i, i + 10) * 0.1f, fast = sum(i + 6, i + 10) * 0.25f;
        r[i] = (fast > slow) - (fast < slow);
    }
}

PLAIN(largest_drawdown) {
    const auto p = in.vector<const float>(0);
    float peak = 0, worst = 0;
    for (long i = 0; i < p.n; ++i) {
        peak = std::max(peak, p[i]);
        worst = std::max(worst, (peak - p[i]) / peak);
    }
    out.scalar<float>(0) = worst;
}

PLAIN(geometric_paths) {
    const auto z = in.matrix<const float>(0);
    const float drift = in.scalar<const float>(1), sigma = in.scalar<const float>(2);
    const auto r = out.vector<float>(0);
    for (long i = 0; i < z.rows; ++i) {
        float sum = 0;
        for (long j = 0; j < z.cols; ++j) sum += z[i][j] * sigma + drift;
        r[i] = std::exp(sum);
    }
}

PLAIN(asian_option) {
    const auto z = in.matrix<const float>(0);
    const float strike = in.scalar<const float>(1);
    float sum = 0;
    for (long i = 0; i < z.rows; ++i) {
        float x = 0, path = 0;
        for (long t = 0; t < z.cols; ++t) {
            x += z[i][t] * 0.125f;
            path += std::exp(x);
        }
        sum += std::max(path / z.cols - strike, 0.0f);
    }
    out.scalar<float>(0) = sum / z.rows;
}

PLAIN(hash_random_payoffs) {
    const long n = in.scalar<const int64_t>(0);
    float sum = 0;
    for (long i = 0; i < n; ++i) {
        const uint32_t a = (uint32_t(i) * 1664525u + 1013904223u) >> 8;
        sum += std::max(a * 5.9604645e-8f - 0.5f, 0.0f);
    }
    out.scalar<float>(0) = sum / n;
}
