/* What the tests ask the fake driver beside CUDA's own functions. */
#include <stddef.h>
#include <stdint.h>

/* What is alive (first line), and what happened. Threads count at once. */
typedef struct fake_counts {
    _Atomic int64_t contexts, streams, events, pools, allocations, pinned, modules;
    _Atomic int64_t switches, records, orders, waits, peers, trims, ptx, cubins, lookups;
    _Atomic int64_t linkers, links; /* alive, and what they made */
} fake_counts;

typedef struct fake_launch_record {
    char entry[64];
    uint32_t grid, block, count;
    uint32_t dependent; /* whether it may begin while the launch before it ends */
    uint64_t words[64];
} fake_launch_record;
