// A small hash table. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_NUMBERING_HPP
#define ARRAYGPU_EXPR_NUMBERING_HPP

#include <cstdint>
#include <vector>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// Numbers of pointers or of views: open addressing, emptied by forgetting its generation.
class numbering {
public:
    void clear() noexcept {
        used_ = 0;
        if (++generation_ != 0) return;
        for (slot &s : slots_) s.generation = 0;
        generation_ = 1;
    }
    /// The number of the first key that `same` accepts among those of this hash; or `fresh`, which is entered.
    template <class Same> std::uint32_t find(std::uint64_t hash, std::uint32_t fresh, const Same &same) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        for (std::size_t i = hash >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
            slot &s = slots_[i];
            if (s.generation != generation_) {
                s = {hash, fresh, generation_};
                ++used_;
                return fresh;
            }
            if (s.hash == hash && same(s.number)) return s.number;
        }
    }

private:
    struct slot {
        std::uint64_t hash;
        std::uint32_t number;
        std::uint32_t generation;
    };
    void grow() {
        std::vector<slot> old(slots_.empty() ? 64 : 2 * slots_.size(), slot{0, 0, 0});
        old.swap(slots_);
        shift_ = 64;
        for (std::size_t size = slots_.size(); size > 1; size /= 2) --shift_;
        for (const slot &s : old) {
            if (s.generation != generation_) continue;
            std::size_t i = s.hash >> shift_;
            while (slots_[i].generation == generation_) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = s;
        }
    }
    std::vector<slot> slots_;
    std::size_t used_ = 0;
    int shift_ = 64;
    std::uint32_t generation_ = 1;
};
inline std::uint64_t mixed(std::uint64_t x) noexcept { return (x ^ x >> 29) * 0x9e3779b97f4a7c15u; }

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_NUMBERING_HPP
