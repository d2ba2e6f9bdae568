#include "calls.hpp"
#include <algorithm>
#include <cstring>

const char *name_of(layout l) {
    static const char *const names[] = {"aligned", "offset", "mixed", "strided", "backwards", "in place", "far"};
    return names[int(l)];
}

namespace {

// A buffer that is freed with this.
struct array {
    agpu_buffer *buffer = nullptr;
    agpu_view view{};
    agpu_type type{};
    array() = default;
    array(array &&other) noexcept : buffer(other.buffer), view(other.view), type(other.type) { other.buffer = nullptr; }
    ~array() { agpu_buffer_free(buffer); }
};

// Memory for `count` elements, the `number`-th array of the call.
agpu_status make(agpu_context *context, agpu_type type, std::int64_t count, layout l, std::size_t number, array &out) {
    std::int64_t offset = 0, stride = 1, size = count;
    const std::int64_t last = std::max<std::int64_t>(count - 1, 0);
    if (l == layout::offset || (l == layout::mixed && number % 2 == 1)) offset = 1, size = count + 1;
    if (l == layout::strided) offset = 3, stride = 2, size = 3 + 2 * count;
    if (l == layout::backwards) offset = last, stride = -1;
    if (l == layout::far) stride = (std::int64_t(1) << 31) / std::max<std::int64_t>(last, 1) + 1, size = last * stride + 1;
    const agpu_status status = agpu_buffer_create(context, type, size, &out.buffer);
    out.type = type;
    out.view.buffer = out.buffer, out.view.offset = offset;
    out.view.rank = 1, out.view.extent[0] = count, out.view.stride[0] = stride;
    return status;
}

value download(agpu_buffer *buffer, const agpu_view &view, agpu_type type, bool vector, outcome &o) {
    value v{type, vector, std::vector<unsigned char>(std::size_t(view.extent[0]) * size_of(type))};
    const agpu_status status = agpu_copy_to_host(v.bytes.data(), view, view.extent[0]);
    if (buffer && status != AGPU_OK && o.status == AGPU_OK) {
        o.status = status; // a record of a call that nothing has waited for yet
        o.message = agpu_last_error_message();
    }
    return v;
}

} // namespace

outcome call(agpu_context *context, const package &p, std::size_t i, const std::vector<value> &arguments, layout l, const std::vector<value> *like) {
    outcome o;
    const entry &e = p.entries[i];
    const auto failed = [&](agpu_status status) {
        if (status == AGPU_OK) return false;
        o.status = status;
        o.message = agpu_last_error_message();
        return true;
    };
    std::vector<array> inputs, outputs;
    std::vector<std::uint64_t> scalars(e.results.size());
    std::vector<agpu_buffer *> made(e.results.size());
    std::vector<agpu_arg> args;
    inputs.reserve(arguments.size());
    outputs.reserve(e.results.size());
    for (const value &v : arguments) {
        agpu_arg a{};
        a.kind = v.vector ? AGPU_ARG_VIEW : AGPU_ARG_SCALAR;
        a.scalar = v.bytes.data();
        if (v.vector) {
            inputs.emplace_back();
            if (failed(make(context, v.type, v.count(), l, inputs.size(), inputs.back()))) return o;
            if (failed(agpu_copy_from_host(inputs.back().view, v.bytes.data(), v.count()))) return o;
            a.view = inputs.back().view;
        }
        args.push_back(a);
    }
    std::vector<agpu_buffer *> taken;
    for (std::size_t r = 0; r < e.results.size(); ++r) {
        const agpu_entry_slot &slot = e.results[r];
        agpu_arg a{};
        if (slot.rank == 0) {
            a.kind = AGPU_ARG_RESULT_SCALAR;
            a.scalar = &scalars[r];
        } else if (!like) {
            a.kind = AGPU_ARG_RESULT_NEW;
            a.made = &made[r];
        } else {
            a.kind = AGPU_ARG_RESULT_VIEW;
            const std::int64_t count = (*like)[r].count();
            const auto fits = [&](const array &x) {
                return x.type == slot.type && x.view.extent[0] == count && std::find(taken.begin(), taken.end(), x.buffer) == taken.end();
            };
            const auto same = l == layout::in_place ? std::find_if(inputs.begin(), inputs.end(), fits) : inputs.end();
            if (same != inputs.end()) {
                a.view = same->view;
            } else {
                outputs.emplace_back();
                if (failed(make(context, slot.type, count, l, inputs.size() + outputs.size(), outputs.back()))) return o;
                a.view = outputs.back().view;
            }
            taken.push_back(a.view.buffer);
        }
        args.push_back(a);
    }
    agpu_call options{sizeof options, context, nullptr, nullptr, 0, nullptr};
    failed(agpu_invoke(p.module, int(i), &options, args.data(), int(args.size())));
    for (std::size_t r = 0; r < e.results.size() && o.status == AGPU_OK; ++r) {
        const agpu_entry_slot &slot = e.results[r];
        if (slot.rank == 0) {
            const auto *bytes = reinterpret_cast<const unsigned char *>(&scalars[r]);
            o.results.push_back({slot.type, false, {bytes, bytes + size_of(slot.type)}});
            continue;
        }
        agpu_view view = args[arguments.size() + r].view;
        if (!like && failed(agpu_buffer_view(made[r], &view))) break;
        o.results.push_back(download(view.buffer, view, slot.type, true, o));
    }
    for (agpu_buffer *b : made) agpu_buffer_free(b);
    return o;
}
