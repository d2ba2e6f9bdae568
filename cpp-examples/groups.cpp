// A table grouped with counts, sums and means, a picture whose histogram is equalised, a matrix in CSR by a vector, what filters keep, and where groups of keys begin.
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/reference.hpp"
#include <algorithm>
#include <examples.hpp>
#include <fstream>
#include <string>

template <class T> using device = arraygpu::gpu_vector<T>;

static float sum(const std::vector<float> &v) {
    return reference::reduce(v, 0.0f, [](float a, float b) { return a + b; });
}

// Each group is summed as its elements alone would be (docs/semantics.md 5.1).
static void table(std::size_t n, std::size_t groups) {
    const auto x = data::uniform(n, 1);
    std::vector<std::int64_t> group(n), counts(groups);
    std::vector<std::vector<float>> parts(groups);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t k = (i * i + i / 7) % groups;
        group[i] = std::int64_t(k);
        ++counts[k];
        parts[k].push_back(x[i]);
    }
    std::vector<float> sums, means;
    for (const auto &part : parts) {
        sums.push_back(sum(part));
        means.push_back(part.empty() ? std::nanf("") : sums.back() / float(part.size()));
    }
    const auto [c, s, m] = examples::group_statistics(device<float>(x), device<std::int64_t>(group), std::int64_t(groups));
    CHECK_EXACT(c.to_host(), counts);
    CHECK_EXACT(s.to_host(), sums);
    CHECK_EXACT(m.to_host(), means);
}

// Each shade becomes its place among all pixels.
static std::vector<std::uint8_t> equalised(const std::vector<std::uint8_t> &x) {
    const auto n = x.size();
    std::vector<std::uint8_t> wanted(n);
    std::vector<std::int64_t> up_to(256);
    for (const auto a : x) ++up_to[a];
    for (std::size_t k = 1; k < 256; ++k) up_to[k] += up_to[k - 1];
    for (std::size_t i = 0; i < n; ++i) {
        const auto darkest = *std::upper_bound(up_to.begin(), up_to.end(), 0), others = std::int64_t(n) - darkest;
        wanted[i] = std::uint8_t(((up_to[x[i]] - darkest) * 255 + others / 2) / std::max<std::int64_t>(others, 1));
    }
    const auto found = examples::equalised(device<std::uint8_t>(x)).to_host();
    CHECK_EXACT(found, wanted);
    return found;
}

// A picture in which a few shades stand for all.
static void picture(std::size_t n) {
    std::vector<std::uint8_t> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::uint8_t(100 + (i * i / 50) % 40);
    equalised(x);
}

// A photograph, a file of the format PGM: of its shades, each quarter of the scale has between a fifth and a third of the pixels then.
static void photograph(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::string kind;
    std::size_t cols = 0, rows = 0, most = 0;
    file >> kind >> cols >> rows >> most;
    file.get();
    CHECK(kind == "P5" && most == 255);
    std::vector<std::uint8_t> x(rows * cols);
    file.read(reinterpret_cast<char *>(x.data()), std::streamsize(x.size()));
    CHECK(bool(file) && !x.empty());
    std::vector<std::size_t> quarters(4);
    for (const auto a : equalised(x)) ++quarters[a / 64];
    for (const auto n : quarters) CHECK(n > x.size() / 5 && n < x.size() / 3);
}

// Rows of very different lengths, one of them longer than a tile of 2048.
static void sparse(std::size_t rows) {
    std::vector<std::int64_t> offsets = {0}, columns;
    for (std::size_t i = 0; i < rows; ++i) offsets.push_back(offsets.back() + (i == 3 ? 5000 : std::int64_t(i * 7 % 19)));
    const auto count = std::size_t(offsets.back());
    for (std::size_t j = 0; j < count; ++j) columns.push_back(std::int64_t(j * 31 % rows));
    const auto values = data::uniform(count, 2), x = data::uniform(rows, 3);
    std::vector<float> wanted;
    for (std::size_t i = 0; i < rows; ++i) {
        std::vector<float> row;
        for (auto j = std::size_t(offsets[i]); j < std::size_t(offsets[i + 1]); ++j) row.push_back(values[j] * x[std::size_t(columns[j])]);
        wanted.push_back(sum(row));
    }
    const device<std::int64_t> o(offsets), c(columns);
    CHECK_EXACT(examples::csr_by_vector(o, c, device<float>(values), device<float>(x)).to_host(), wanted);
}

// What a condition keeps, the sum of that, and runs of equal bytes.
static void filters(std::size_t n) {
    std::vector<float> x = data::uniform(n, 5), kept, others;
    for (float &v : x) v -= 0.4f;
    for (const float v : x) (v > 0 ? kept : others).push_back(v);
    auto filled = kept, parts = kept;
    filled.resize(n, 0.0f);
    parts.insert(parts.end(), others.begin(), others.end());
    const device<float> d(x);
    const auto [y, count] = examples::positive(d);
    CHECK_EXACT(y.to_host(), filled);
    CHECK_EXACT_VALUE(count, std::int64_t(kept.size()));
    const auto [p, split] = examples::positive_first(d);
    CHECK_EXACT(p.to_host(), parts);
    CHECK_EXACT_VALUE(split, std::int64_t(kept.size()));
    CHECK_EXACT_VALUE(examples::positive_sum(d), sum(kept));

    std::vector<std::uint8_t> bytes(n), decoded;
    for (std::size_t i = 0; i < n; ++i) bytes[i] = std::uint8_t(i * i / 4000 % 3);
    const auto [v, l, runs] = examples::run_lengths(device<std::uint8_t>(bytes));
    const auto values = v.to_host();
    const auto lengths = l.to_host();
    for (std::size_t k = 0; k < std::size_t(runs); ++k) decoded.insert(decoded.end(), std::size_t(lengths[k]), values[k]);
    CHECK_EXACT(decoded, bytes);

    std::vector<std::uint32_t> keys(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = std::uint32_t(i * i / 900000) * 61;
    auto occurring = keys;
    occurring.erase(std::unique(occurring.begin(), occurring.end()), occurring.end());
    const auto groups = std::int64_t(occurring.size());
    std::vector<std::int64_t> begins;
    for (const auto key : occurring) begins.push_back(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
    occurring.resize(n), begins.resize(n, std::int64_t(n));
    const auto [k, b, found] = examples::group_begins(device<std::uint32_t>(keys));
    CHECK_EXACT(k.to_host(), occurring);
    CHECK_EXACT(b.to_host(), begins);
    CHECK_EXACT_VALUE(found, groups);

    const auto w = data::uniform(kept.size(), 6);
    auto weighted = kept;
    for (std::size_t i = 0; i < w.size(); ++i) weighted[i] *= w[i];
    CHECK_EXACT(examples::weighted_positive(d, device<float>(w)).to_host(), weighted);
}

// As many weights as there are positive elements, and no other number of them.
static void wrong_number() {
    const device<float> x(std::vector<float>{1, -1, 2, -2, 3});
    for (const std::size_t n : {0, 2, 4}) {
        bool refused = false;
        try {
            (void)examples::weighted_positive(x, device<float>(std::vector<float>(n, 1.0f)));
            arraygpu::synchronize();
        } catch (const arraygpu::error &e) {
            refused = std::string(e.what()).find("groups.rs") != std::string::npos;
        }
        CHECK(refused);
    }
}

int main(int count, char **arguments) {
    for (const std::size_t n : {0, 1, 1000, 20000}) {
        table(n, 1);
        table(n, 37);
        picture(n);
        filters(n);
    }
    for (const std::size_t rows : {1, 4, 500}) sparse(rows);
    wrong_number();
    if (count > 1) photograph(arguments[1]);
    return check::finish("groups");
}
