// The nodes that expressions are made of: counted, immutable, without types of C++. Included by arraygpu/expr.hpp.
#ifndef ARRAYGPU_EXPR_NODE_HPP
#define ARRAYGPU_EXPR_NODE_HPP

#include <arraygpu/expr/operation.hpp>
#include <arraygpu/owner.hpp>

#include <atomic>
#include <new>
#if defined(__has_builtin)
#if __has_builtin(__builtin_COLUMN)
#define ARRAYGPU_COLUMN __builtin_COLUMN()
#endif
#endif
#if !defined(ARRAYGPU_COLUMN) && __cplusplus >= 202002L && __has_include(<source_location>)
#include <source_location>
#if defined(__cpp_lib_source_location)
#define ARRAYGPU_COLUMN static_cast<int>(std::source_location::current().column())
#endif
#endif
#if !defined(ARRAYGPU_COLUMN)
#define ARRAYGPU_COLUMN 0 // g++ gives columns from C++20 on
#endif
/// The place of the call of a function that has it as a default argument.
#define ARRAYGPU_HERE detail::place(__builtin_FILE(), __builtin_LINE(), ARRAYGPU_COLUMN)

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

/// A place in the author's program, and the word that stands there. A function that calls others of these headers hands its own place and word to them, so
/// that messages name what the author wrote.
struct place {
    const char *file = nullptr; // null: not known
    const char *word = nullptr; // null: that of no function
    int line = 0;
    int column = 0; // 0: not known

    place() = default;
    // Not constexpr: compilers would compute the arguments where a default argument is declared, not where it is used.
    place(const char *file_, int line_, int column_) noexcept : file(file_), line(line_), column(column_) {}
    /// The place of a call of this function, unless the function was called by another one of these headers.
    place of(const char *function) const noexcept {
        place named = *this;
        if (!named.word) named.word = function;
        return named;
    }
};

/// One operation, or a leaf. It never changes after it was made, so threads may share it; only the count of its uses does.
struct node {
    static constexpr int few = 4; // the number of operands that a node has room for
    struct operation {
        node *near[few];
        std::int64_t numbers[4]; // see `op`; of literals and constants the bits
    };
    struct array {
        agpu_view view;
        buffer_owner::block *owner; // null: the caller's view
        char *name;                 // null: it is numbered
    };

    std::atomic<std::uint32_t> uses;
    op code;
    std::uint8_t type; // an agpu_type
    std::uint8_t rank;
    std::uint8_t level;  // how deep the functions are nested whose variables it may depend on; 0: it can be computed
    std::uint32_t count; // of operands
    place written;
    std::int64_t extent[3]; // -1: not known before it is computed
    node **operands;        // own.near, or memory of its own
    union {
        operation own;
        array leaf;
        node *next; // of nodes that are unused
    };
};

/// Unused nodes of this thread, so that small expressions need no allocations. After the thread's end nodes go back to the heap.
struct node_pool {
    static constexpr int most = 64;
    node *first;
    int count;
    bool watched;
};
inline thread_local node_pool pool{};

struct pool_end {
    ~pool_end() {
        while (node *n = pool.first) {
            pool.first = n->next;
            ::operator delete(n);
        }
        pool.count = node_pool::most;
    }
};
inline void watch_pool() {
    static thread_local pool_end end;
    static_cast<void>(&end);
    pool.watched = true;
}

inline node *new_node() {
    if (node *n = pool.first) {
        pool.first = n->next;
        --pool.count;
        return n;
    }
    return static_cast<node *>(::operator new(sizeof(node)));
}
inline void recycle(node *n) noexcept {
    if (pool.count >= node_pool::most) return ::operator delete(n);
    if (!pool.watched) watch_pool();
    n->next = pool.first;
    pool.first = n;
    ++pool.count;
}

/// Removes a use; returns whether it was the last one.
inline bool last_use(node *n) noexcept {
    // no other thread can reach a node with one use, so that it needs no atomic instruction
    return n->uses.load(std::memory_order_acquire) == 1 || n->uses.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

/// Frees a node without uses, and the nodes that only it used. A list takes the place of recursion, so that chains may have any length.
inline void end_node(node *dead) noexcept {
    dead->written.file = nullptr; // which links the list
    while (node *n = dead) {
        dead = reinterpret_cast<node *>(const_cast<char *>(n->written.file));
        if (n->code == op::array) {
            buffer_owner::drop(n->leaf.owner);
            delete[] n->leaf.name;
        } else {
            for (std::uint32_t i = 0; i < n->count; ++i) {
                node *operand = n->operands[i];
                if (!last_use(operand)) continue;
                operand->written.file = reinterpret_cast<const char *>(dead);
                dead = operand;
            }
            if (n->count > node::few) delete[] n->operands;
        }
        recycle(n);
    }
}

/// A use of a node.
class node_ptr {
public:
    node_ptr() noexcept : node_(nullptr) {}
    explicit node_ptr(node *n) noexcept : node_(n) {}
    node_ptr(node_ptr &&other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    node_ptr(const node_ptr &other) noexcept : node_(other.node_) {
        if (node_) node_->uses.fetch_add(1, std::memory_order_relaxed);
    }
    node_ptr &operator=(node_ptr other) noexcept {
        std::swap(node_, other.node_);
        return *this;
    }
    ~node_ptr() {
        if (node_ && last_use(node_)) end_node(node_);
    }
    node *get() const noexcept { return node_; }
    node *operator->() const noexcept { return node_; }
    explicit operator bool() const noexcept { return node_ != nullptr; }
    node *release() noexcept { return std::exchange(node_, nullptr); }

private:
    node *node_;
};

} // namespace detail
} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_EXPR_NODE_HPP
