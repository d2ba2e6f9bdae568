// Fisher's irises, a table grouped by species: counts, sums, means and extremes of each group, and rows that a condition keeps.
#include "../common/check.hpp"
#include <algorithm>
#include <arraygpu/views.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

namespace gpu = arraygpu;
namespace view = arraygpu::views;
using std::get;

struct flower {
    float sepal_length, sepal_width, petal_length, petal_width;
    std::int32_t species;
};
AGPU_RECORD(flower, sepal_length, sepal_width, petal_length, petal_width, species)

static std::vector<flower> table(const char *path, std::vector<std::string> &names) {
    std::ifstream file(path);
    std::vector<flower> rows;
    std::string line;
    std::getline(file, line); // what the columns are
    while (std::getline(file, line)) {
        std::istringstream in(line);
        flower f{};
        char comma = 0;
        std::string name;
        in >> f.sepal_length >> comma >> f.sepal_width >> comma >> f.petal_length >> comma >> f.petal_width >> comma >> name;
        const auto known = std::find(names.begin(), names.end(), name);
        f.species = std::int32_t(known - names.begin());
        if (known == names.end()) names.push_back(name);
        rows.push_back(f);
    }
    // in print the species stand one after the other
    for (std::size_t i = 0; i < rows.size(); ++i) std::swap(rows[i], rows[i * 7 % rows.size()]);
    return rows;
}

int main() {
    std::vector<std::string> names;
    const std::vector<flower> rows = table(IRIS_DATA, names);
    CHECK(rows.size() == 150 && names.size() == 3);
    const gpu::gpu_vector<flower> flowers(rows);

    // the rows of a species one after the other, and where each species begins
    const auto [species, sorted] = gpu::sort_by_key(gpu::field(flowers, &flower::species), flowers);
    const auto [kinds, lengths] = gpu::run_lengths(species);
    const auto [kind, count] = gpu::eval(std::make_tuple(kinds.filled(-1), lengths.filled(0)));
    const gpu::gpu_vector<std::int64_t> ends = gpu::inclusive_scan(gpu::slice(count, 0, 3), 0);
    const gpu::gpu_vector<std::int64_t> offsets = gpu::generate(4, [&](auto k) { return gpu::if_else(k > 0, gpu::at(ends, gpu::max(k - 1, 0)), 0); });

    const auto mean = [&](const auto &x) { return gpu::segmented_reduce(x, offsets, 0) / gpu::cast<float>(gpu::slice(count, 0, 3)); };
    const auto least = gpu::segmented_reduce(sorted.petal_length, offsets, INFINITY, [](auto a, auto b) { return gpu::min(a, b); });
    const auto [length, width, petal, thin, shortest] =
        gpu::eval(std::make_tuple(mean(sorted.sepal_length), mean(sorted.sepal_width), mean(sorted.petal_length), mean(sorted.petal_width), least));
    const auto means = {length.to_host(), width.to_host(), petal.to_host(), thin.to_host()};
    const auto numbers = kind.to_host();
    for (std::size_t k = 0; k < 3; ++k) {
        std::printf("%-10s %lld flowers, means", names[std::size_t(numbers[k])].c_str(), static_cast<long long>(count.to_host()[k]));
        for (const auto &m : means) std::printf(" %.3f", double(m[k]));
        std::printf(", shortest petal %.1f\n", double(shortest.to_host()[k]));
    }
    // the means of the three species, as they are known
    const double printed[4][3] = {{5.006, 5.936, 6.588}, {3.428, 2.770, 2.974}, {1.462, 4.260, 5.552}, {0.246, 1.326, 2.026}};
    std::size_t column = 0;
    for (const auto &m : means) {
        for (std::size_t k = 0; k < 3; ++k) CHECK(std::fabs(double(m[k]) - printed[column][std::size_t(numbers[k])]) < 5e-6);
        ++column;
    }
    for (std::size_t k = 0; k < 3; ++k) CHECK(count.to_host()[k] == 50);

    // the flowers with long petals, in the order of the table
    const std::vector<flower> kept = (flowers | view::filter([](auto f) { return f.petal_length > 5; })).to_host();
    std::vector<flower> wanted;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(wanted), [](const flower &f) { return f.petal_length > 5; });
    CHECK(kept.size() == wanted.size() && kept.size() > 10);
    for (std::size_t i = 0; i < kept.size() && i < wanted.size(); ++i) CHECK(std::memcmp(&kept[i], &wanted[i], sizeof(flower)) == 0);
    return check::finish("iris");
}
