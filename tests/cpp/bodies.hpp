// The structs `body` of the packages that tests make: some, and whether two are the same.
#ifndef BODIES_HPP
#define BODIES_HPP

#include <cstdint>
#include <vector>

template <class Body> std::vector<Body> some_bodies(std::size_t n) {
    std::vector<Body> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        all[i].at[0] = 1.0 + double(i);
        all[i].at[1] = -2.0 * double(i);
        all[i].light.bright = 0.5f * float(i);
        all[i].light.is_on = i % 3 != 0;
        all[i].kind = std::int16_t(i % 7);
    }
    return all;
}
template <class Body> bool same_bodies(const Body &a, const Body &b) {
    return a.at[0] == b.at[0] && a.at[1] == b.at[1] && a.light.bright == b.light.bright && a.light.is_on == b.light.is_on && a.kind == b.kind;
}
template <class Body> bool same_bodies(const std::vector<Body> &a, const std::vector<Body> &b) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) same = same_bodies(a[i], b[i]);
    return same;
}

#endif // BODIES_HPP
