#include "timing.hpp"
#include "peers.h"
#include <arraygpu.h>
#include <algorithm>
#include <cstdio>

namespace {

constexpr int SETS = 3, RELAXED = 2; // CU_STREAM_CAPTURE_MODE_RELAXED

times summary(std::vector<double> ms) {
    if (ms.empty()) return {};
    std::sort(ms.begin(), ms.end());
    return {ms[ms.size() / 2], ms.front(), ms[ms.size() * 9 / 10]};
}

struct span {
    cu::event begin, end;
    span() {
        CU(EventCreate(&begin, 0));
        CU(EventCreate(&end, 0));
    }
    span(const span &) = delete;
    span(span &&) = default;
    double ms() const {
        float t = 0;
        CU(EventElapsedTime(&t, begin, end));
        return t;
    }
};

// A pair of events for each competitor and round, so that no wait stands between rounds.
template <class Enqueue> std::vector<times> rounds_of(cu::stream s, std::size_t count, int rounds, int calls, Enqueue enqueue) {
    std::vector<std::vector<span>> spans(count); // not copied: each span has events of its own
    for (auto &of_one : spans) of_one = std::vector<span>(std::size_t(rounds));
    for (int r = 0; r < rounds; ++r)
        for (std::size_t i = 0; i < count; ++i) enqueue(i, spans[i][std::size_t(r)]);
    CU(StreamSynchronize(s));
    std::vector<times> out;
    for (const auto &of_one : spans) {
        std::vector<double> ms;
        for (const span &one : of_one) ms.push_back(one.ms() / calls);
        out.push_back(summary(std::move(ms)));
    }
    return out;
}

cu::graph_exec captured(cu::stream s, const contender &who, int calls) {
    cu::graph graph = nullptr;
    cu::graph_exec exec = nullptr;
    CU(StreamBeginCapture(s, RELAXED));
    bool good = true;
    for (int k = 0; k < calls && good; ++k) good = who.run(k % SETS) == 0;
    if (!good && who.ours) std::fprintf(stderr, "%s: %s\n", who.impl.c_str(), agpu_last_error_message());
    const int ended = cu::driver().StreamEndCapture(s, &graph);
    const int made = good && ended == 0 ? cu::driver().GraphInstantiate(&exec, graph, 0) : 0;
    if (graph) cu::driver().GraphDestroy(graph);
    if (!exec) std::fprintf(stderr, "%s cannot be captured in a graph (end %d, instantiation %d)\n", who.impl.c_str(), ended, made);
    return exec;
}

} // namespace

std::vector<times> interleaved(cu::stream s, const std::vector<contender> &all, int calls, int rounds) {
    for (const contender &who : all)
        for (int set = 0; set < SETS; ++set) who.run(set);
    CU(StreamSynchronize(s));
    int set = 0;
    return rounds_of(s, all.size(), rounds, calls, [&](std::size_t i, const span &t) {
        all[i].run(set++ % SETS);
        CU(EventRecord(t.begin, s));
        for (int k = 0; k < calls; ++k) all[i].run(set++ % SETS);
        CU(EventRecord(t.end, s));
    });
}

std::vector<times> replayed(cu::stream s, const std::vector<contender> &all, int calls, int rounds) {
    std::vector<cu::graph_exec> graphs;
    for (const contender &who : all) graphs.push_back(who.flags & PEER_SYNC ? nullptr : captured(s, who, calls));
    auto out = rounds_of(s, all.size(), rounds, calls, [&](std::size_t i, const span &t) {
        if (graphs[i]) CU(GraphLaunch(graphs[i], s)); // unmeasured
        CU(EventRecord(t.begin, s));
        if (graphs[i]) CU(GraphLaunch(graphs[i], s));
        CU(EventRecord(t.end, s));
    });
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (graphs[i]) CU(GraphExecDestroy(graphs[i]));
        else out[i] = {};
    }
    return out;
}
