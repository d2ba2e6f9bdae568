// The four programs of the expression-template paper (see generators/src/expression_templates.rs).
#include "common/check.hpp"
#include "common/data.hpp"
#include "common/reference.hpp"
#include <examples.hpp>

int main() {
    for (const std::size_t n : data::lengths) {
        const auto a = data::uniform(n, 1), b = data::uniform(n, 2), c = data::uniform(n, 3);
        const arraygpu::gpu_vector<float> da(a), db(b), dc(c);
        const float norm = std::sqrt(reference::dot(a, a));
        std::vector<float> add(n), axpby(n), expr3(n), unit(n);
        for (std::size_t i = 0; i < n; ++i) {
            add[i] = b[i] + c[i];
            axpby[i] = 0.12f * b[i] + 7.54f * c[i];
            expr3[i] = (b[i] - (a[i] + 3.75f * c[i]) + c[i] - 0.24f * b[i]) / 27.51f + a[i] - 0.25f * b[i];
            unit[i] = a[i] / norm;
        }
        CHECK_EXACT(examples::et_add(db, dc).to_host(), add);
        CHECK_EXACT(examples::et_axpby(db, dc).to_host(), axpby);
        CHECK_EXACT(examples::et_expr3(da, db, dc).to_host(), expr3);
        CHECK_EXACT(examples::et_normalise(da).to_host(), unit);
    }
    return check::finish("expression_templates");
}
