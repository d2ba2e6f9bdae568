#include "report.hpp"
#include <cmath>

namespace {

std::vector<std::string> lines;
int wrong = 0;

bool is_peer(const row &r) { return !r.ours && r.t.median > 0 && r.ok; }

} // namespace

void report(const std::vector<row> &rows, double copy_gbps, std::FILE *json) {
    const row *first = nullptr, *best = nullptr;
    for (const row &r : rows) {
        if (r.ours && r.t.median > 0 && !first) first = &r;
        if (is_peer(r) && (!best || r.t.median < best->t.median)) best = &r;
    }
    for (const row &r : rows) {
        wrong += !r.ok && !r.graph; // a graph's row repeats the check of the call's
        if (r.t.median < 0) continue;
        const double gbps = r.bytes / r.t.median * 1e-6;
        std::fprintf(json, "{\"name\":\"%s\",\"impl\":\"%s%s\",\"n\":%zu,\"ms\":%.6f,\"min_ms\":%.6f,\"p90_ms\":%.6f,\"gbps\":%.1f",
                     r.name.c_str(), r.impl.c_str(), r.graph ? " graph" : "", r.n, r.t.median, r.t.least, r.t.p90, gbps);
        if (copy_gbps > 0) std::fprintf(json, ",\"of_copy\":%.3f", gbps / copy_gbps);
        if (r.flops > 0) std::fprintf(json, ",\"gflops\":%.0f", r.flops / r.t.median * 1e-6);
        if (!r.ours && first) std::fprintf(json, ",\"r\":%.3f", r.t.median / first->t.median);
        if (r.ours && &r != first && first) std::fprintf(json, ",\"of_first\":%.3f", r.t.median / first->t.median); // of our own ways
        if (std::isnan(r.error)) std::fprintf(json, ",\"err\":null");
        else std::fprintf(json, ",\"err\":%.3g", r.error);
        std::fprintf(json, ",\"ok\":%s}\n", r.ok ? "true" : "false");
    }
    std::fflush(json);
    for (const row &r : rows) {
        if (!r.ours || r.t.median < 0) continue;
        char text[240];
        const int k = std::snprintf(text, sizeof text, "%-19s n=2^%-4.4g %-6s %-28s %9.5f ms  %5.3f of copy", r.name.c_str(), std::log2(double(r.n)),
                                    r.graph ? "graph" : "", r.impl.c_str(), r.t.median, copy_gbps > 0 ? r.bytes / r.t.median * 1e-6 / copy_gbps : NAN);
        if (best) {
            std::snprintf(text + k, sizeof text - std::size_t(k), "   r = %5.3f of %s (%.5f ms)%s", best->t.median / r.t.median, best->impl.c_str(),
                          best->t.median, r.ok ? "" : "  WRONG");
        }
        lines.push_back(text);
        std::printf("%s\n", text);
    }
    std::fflush(stdout);
}

int summary() {
    std::printf("\n");
    for (const std::string &l : lines) std::printf("%s\n", l.c_str());
    if (wrong) std::printf("%d implementations gave wrong results\n", wrong);
    return wrong;
}
