/* What the drivers that emit.py writes call: launches over all tiles, as many threads as OpenMP has. */
#include <stdlib.h>
#include <string.h>

static inline uint64_t bits(const void *x, size_t size)
{
    uint64_t all = 0;
    memcpy(&all, x, size);
    return all;
}

/* Memory that later calls use again. */
static inline void *held(void **memory, int64_t *size, int64_t wanted)
{
    if (*size < wanted) {
        free(*memory);
        *memory = aligned_alloc(64, (size_t)((wanted + 63) / 64 * 64));
        *size = wanted;
    }
    return *memory;
}

static inline void *temporary(int number, int64_t size)
{
    static void *memory[8];
    static int64_t sizes[8];
    return held(&memory[number], &sizes[number], size);
}

static inline void *scratch(int number, int64_t size)
{
    static void *memory[16];
    static int64_t sizes[16];
    return held(&memory[number], &sizes[number], size);
}

static inline void launch(const agpu_cpu_kernel *kernel, const agpu_kernel_args *args, int64_t tiles, int finish)
{
    enum { PARTS = 64 };
    int64_t part = tiles / PARTS > 0 ? tiles / PARTS : 1;
#pragma omp parallel for schedule(static)
    for (int64_t tile = 0; tile < tiles; tile += part)
        kernel->contiguous(args, tile, tile + part < tiles ? tile + part : tiles);
    if (finish)
        kernel->finish(args, 0, tiles);
}
