# python3 erf.py (needs mpmath): the f64 polynomials of src/erf.rs. Sollya's Remez takes very long for these degrees; Lawson's reweighted least squares in
# Chebyshev's basis, rounded to f64 at the end, comes as near.
from mpmath import mp, mpf, matrix, lu_solve, cos, pi, erf, erfc, exp, log, sqrt

mp.prec = 250


def evaluate(p, x):
    y = mpf(0)
    for c in reversed(p):
        y = y * x + c
    return y


def chebyshev(u, d):
    t = [mpf(1), u]
    for _ in range(d - 1):
        t.append(2 * u * t[-1] - t[-2])
    return t[: d + 1]


def monomials(c, a, b):
    """The polynomial whose coefficients in the Chebyshev polynomials of [a, b] are c."""
    scale, shift = 2 / (b - a), -(a + b) / (b - a)

    def times_u(p):
        return [shift * x + scale * y for x, y in zip(p + [mpf(0)], [mpf(0)] + p)]

    before, now = [mpf(1)], [shift, scale]
    total = [c[0]] + [mpf(0)] * (len(c) - 1)
    for k in range(1, len(c)):
        for i, q in enumerate(now):
            total[i] += c[k] * q
        after = [2 * q for q in times_u(now)]
        for i, q in enumerate(before):
            after[i] -= q
        before, now = now, after
    return total


def fit(name, f, d, a, b, weight=lambda x: 1):
    """Nearly the minimax polynomial of degree d of f on [a, b], its errors counted with the weight."""
    a, b = mpf(a), mpf(b)
    n = 6 * d
    us = [cos((2 * i + 1) * pi / (2 * n)) for i in range(n)]
    xs = [(a + b) / 2 + (b - a) / 2 * u for u in us]
    rows, fs, ws = [chebyshev(u, d) for u in us], [f(x) for x in xs], [weight(x) for x in xs]
    lawson = [mpf(1) / n] * n
    for _ in range(12):
        m, v = matrix(d + 1, d + 1), matrix(d + 1, 1)
        for row, y, w, l in zip(rows, fs, ws, lawson):
            for i in range(d + 1):
                v[i] += l * w * w * row[i] * y
                for k in range(d + 1):
                    m[i, k] += l * w * w * row[i] * row[k]
        c = list(lu_solve(m, v))
        errors = [abs(sum(q * t for q, t in zip(c, row)) - y) * w for row, y, w in zip(rows, fs, ws)]
        lawson = [l * e for l, e in zip(lawson, errors)]
        total = sum(lawson)
        lawson = [l / total for l in lawson]
    p = [mpf(float(q)) for q in monomials(c, a, b)]
    worst = max(abs(evaluate(p, x) - f(x)) * weight(x) for x in [a + (b - a) * (i + mpf(0.5)) / 500 for i in range(500)])
    print(f"/// {name}: error 2^{float(log(worst, 2)):.1f}")
    for q in p:
        print(f"    {float(q)!r},")


# |x| < 1: erf(x) = x + x p(x^2)
g = lambda x: erf(sqrt(x)) / sqrt(x)
fit("SMALL_64", lambda x: g(x) - 1, 11, 1e-20, 1, lambda x: 1 / g(x))
# above: erf(x) = 1 - 2^(x p(x))
fit("LARGE_64", lambda x: log(erfc(x), 2) / x, 17, 0.96, 5.93, lambda x: erfc(x) * x * log(2))


def tail(name, f, d, shift, scale, start, end):
    v = lambda t: 1 - scale / (mpf(t) + shift)
    fit(name, lambda v: f(scale / (1 - v) - shift), d, v(start), v(end))


# the tails: see tail() there
tail("NORMCDF_64", lambda t: exp(t * t / 2) * erfc(t / sqrt(mpf(2))) / 2 * (2.375 * t + 1.5) - 1, 20, 5, 8, 0.66, 38.7)
tail("ERFC_64", lambda t: exp(t * t) * erfc(t) * (1.625 * t + 0.75) - 1, 20, 3.5, 8, 0.46, 27.4)
