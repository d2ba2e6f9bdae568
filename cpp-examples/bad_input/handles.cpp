// Handles that are null, freed, freed twice, invented, of another context or of another element type, through the package's C functions.
#include "expect.hpp"
#include <checks.h>
#include <examples.h>

static agpu_buffer *buffer(agpu_context *context, agpu_type type, std::int64_t n) {
    agpu_buffer *made = nullptr;
    CHECK(agpu_buffer_create(context, type, n, &made) == AGPU_OK);
    return made;
}

static agpu_view subview(agpu_buffer *b) {
    agpu_view v{};
    CHECK(agpu_buffer_view(b, &v) == AGPU_OK);
    return v;
}

int main() {
    agpu_buffer *x = buffer(nullptr, AGPU_F32, 4), *y = buffer(nullptr, AGPU_F32, 4), *out = buffer(nullptr, AGPU_F32, 4);
    const agpu_view vx = subview(x), vy = subview(y), vout = subview(out);
    float result = -1;

    // null
    agpu_view null = vx;
    null.buffer = nullptr;
    CHECK_STATUS(AGPU_ERROR_INVALID_HANDLE, ({"rmse", "y"}), examples_rmse(nullptr, vx, null, &result));
    CHECK_STATUS(AGPU_ERROR_INVALID_HANDLE, ({"add", "result"}), checks_add(nullptr, vx, vy, null));
    CHECK_STATUS(AGPU_ERROR_INVALID_ARGUMENT, ({"rmse", "result"}), examples_rmse(nullptr, vx, vy, nullptr));
    CHECK_STATUS(AGPU_ERROR_INVALID_ARGUMENT, ({"add", "result"}), checks_add_new(nullptr, vx, vy, nullptr));

    // views that someone made up
    agpu_view bad = vx;
    bad.extent[0] = 5;
    CHECK_STATUS(AGPU_ERROR_OUT_OF_BOUNDS, ({"rmse", "x", "5", "4"}), examples_rmse(nullptr, bad, vy, &result));
    bad = vx;
    bad.offset = 1;
    CHECK_STATUS(AGPU_ERROR_OUT_OF_BOUNDS, ({"rmse", "y", "4"}), examples_rmse(nullptr, vx, bad, &result));
    bad = vx;
    bad.offset = -1;
    CHECK_STATUS(AGPU_ERROR_OUT_OF_BOUNDS, ({"rmse", "x"}), examples_rmse(nullptr, bad, vy, &result));
    bad = vx;
    bad.stride[0] = INT64_MAX;
    CHECK_STATUS(AGPU_ERROR_OUT_OF_BOUNDS, ({"rmse", "x"}), examples_rmse(nullptr, bad, vy, &result));
    bad = vx;
    bad.extent[0] = INT64_MIN;
    CHECK(examples_rmse(nullptr, bad, vy, &result) != AGPU_OK);
    bad = vx;
    bad.rank = 2;
    CHECK(examples_rmse(nullptr, bad, vy, &result) != AGPU_OK);

    // another element type
    agpu_buffer *doubles = buffer(nullptr, AGPU_F64, 4);
    CHECK_STATUS(AGPU_ERROR_TYPE_MISMATCH, ({"rmse", "y"}), examples_rmse(nullptr, vx, subview(doubles), &result));
    CHECK(agpu_buffer_free(doubles) == AGPU_OK);

    // two contexts in one call
    agpu_context *other = nullptr;
    CHECK(agpu_context_create(nullptr, &other) == AGPU_OK);
    agpu_buffer *z = buffer(other, AGPU_F32, 4);
    CHECK_STATUS(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "y"}), examples_rmse(nullptr, vx, subview(z), &result));
    CHECK_STATUS(AGPU_ERROR_WRONG_CONTEXT, ({"add", "result"}), checks_add(nullptr, vx, vy, subview(z)));
    agpu_call call{sizeof call, other, nullptr, nullptr, 0, nullptr};
    CHECK_STATUS(AGPU_ERROR_WRONG_CONTEXT, ({"rmse", "x"}), examples_rmse(&call, vx, vy, &result));
    CHECK(examples_rmse(&call, subview(z), subview(z), &result) == AGPU_OK);
    CHECK(result == 0);
    result = -1;

    // buffers outlive their context, as a call with one does
    const agpu_view vz = subview(z);
    CHECK(agpu_context_free(other) == AGPU_OK);
    CHECK(agpu_buffer_free(z) == AGPU_OK);
    CHECK_STATUS(AGPU_ERROR_INVALID_HANDLE, ({"rmse", "x"}), examples_rmse(nullptr, vz, vz, &result));
    CHECK(agpu_context_free(other) == AGPU_ERROR_INVALID_HANDLE);
    CHECK(examples_rmse(&call, vx, vy, &result) != AGPU_OK);

    // use after free, double free; the slot's next owner is not touched through the old handle
    CHECK(agpu_buffer_free(y) == AGPU_OK);
    CHECK_STATUS(AGPU_ERROR_INVALID_HANDLE, ({"rmse", "y"}), examples_rmse(nullptr, vx, vy, &result));
    agpu_buffer *next = buffer(nullptr, AGPU_F32, 4);
    CHECK_STATUS(AGPU_ERROR_INVALID_HANDLE, ({"rmse", "y"}), examples_rmse(nullptr, vx, vy, &result));
    CHECK(agpu_buffer_free(y) == AGPU_ERROR_INVALID_HANDLE);
    CHECK(checks_add(nullptr, vx, subview(next), vout) == AGPU_OK);
    CHECK(agpu_buffer_free(next) == AGPU_OK);

    // handles that never were
    for (const std::uintptr_t number : {std::uintptr_t(1), std::uintptr_t(0x1234567), ~std::uintptr_t(0)}) {
        agpu_view invented = vx;
        invented.buffer = reinterpret_cast<agpu_buffer *>(number);
        CHECK_STATUS(AGPU_ERROR_INVALID_HANDLE, ({"rmse", "x"}), examples_rmse(nullptr, invented, vx, &result));
        CHECK(agpu_buffer_free(invented.buffer) == AGPU_ERROR_INVALID_HANDLE);
        CHECK(agpu_context_free(reinterpret_cast<agpu_context *>(number)) == AGPU_ERROR_INVALID_HANDLE);
    }

    // options of a size that this library cannot know
    agpu_call odd{};
    CHECK_STATUS(AGPU_ERROR_INVALID_ARGUMENT, ({"size"}), examples_rmse(&odd, vx, vx, &result));

    CHECK(result == -1); // no failing call wrote it
    CHECK(agpu_buffer_free(nullptr) == AGPU_OK && agpu_context_free(nullptr) == AGPU_OK);
    CHECK(agpu_buffer_free(x) == AGPU_OK && agpu_buffer_free(out) == AGPU_OK);
    return check::finish("handles");
}
