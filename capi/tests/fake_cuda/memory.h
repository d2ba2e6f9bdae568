/* Memory of the fake driver. Included by fake_cuda.c. */

/* ---- memory: every allocation that ever was ---- */

enum { RESERVED, LIVE, FREED };
struct memory { char *at; size_t size; int state, host, device, of_graph; };
/* in the order of their addresses, none of which is used twice */
static struct memory **memories;
static size_t memory_count, memory_room;
static pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The number of allocations that begin at this address or below. */
static size_t below(uint64_t address) {
    size_t low = 0, high = memory_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uint64_t)memories[middle]->at <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}
static struct memory *find(uint64_t address) {
    pthread_mutex_lock(&memory_mutex);
    size_t n = below(address);
    struct memory *m = n ? memories[n - 1] : NULL;
    pthread_mutex_unlock(&memory_mutex);
    return m && address < (uint64_t)m->at + m->size ? m : NULL;
}
static struct memory *add(size_t size, int host, int device) {
    struct memory *m = calloc(1, sizeof *m);
    m->at = aligned_alloc(512, (size + 511) / 512 * 512), m->size = size, m->host = host, m->device = device;
    memset(m->at, 0xCD, size);
    pthread_mutex_lock(&memory_mutex);
    if (memory_count == memory_room) {
        memory_room = 2 * memory_room + 64;
        memories = realloc(memories, memory_room * sizeof *memories);
    }
    size_t n = below((uint64_t)m->at);
    memmove(memories + n + 1, memories + n, (memory_count++ - n) * sizeof *memories);
    memories[n] = m;
    pthread_mutex_unlock(&memory_mutex);
    return m;
}
/* Device memory that a kernel or copy touches now. */
static void touch(uint64_t address, size_t size, const char *what) {
    struct memory *m = find(address);
    if (!size) return;
    if (!m) bug("%s: %#lx is no memory of the driver", what, (unsigned long)address);
    if (address + size > (uint64_t)m->at + m->size) bug("%s: %zu bytes at %#lx reach past the end", what, size, (unsigned long)address);
    if (m->state != LIVE) bug("%s: %#lx is %s", what, (unsigned long)address, m->state == FREED ? "freed" : "not yet allocated");
}
