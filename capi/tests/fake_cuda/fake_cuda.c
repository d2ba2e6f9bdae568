/* A CUDA driver for tests, over host memory. Work on a stream is queued and runs as late as possible: when something waits for it. So a missing
 * order between streams, a use after a free, or a result read too early is seen. What only a bug does ends the process with a
 * message. FAKE_CUDA=name=number,... changes what it is and what fails: the names are in `option`.
 */
#include "fake_cuda.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID = 1, NO_MEMORY = 2, NOT_READY = 600, NO_CONTEXT = 201, BAD_HANDLE = 400, NOT_FOUND = 500, UNSUPPORTED = 900, INVALIDATED = 901, ISOLATION = 905, IMPLICIT = 906, CAPTURED_EVENT = 907 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define CALL(...)                     \
    do {                              \
        pthread_mutex_lock(&mutex);   \
        int code_ = __VA_ARGS__;      \
        pthread_mutex_unlock(&mutex); \
        return code_;                 \
    } while (0)

static void bug(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("fake CUDA driver: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    _exit(99);
}

/* The number of an option; `otherwise` if it is not given. */
static long option(const char *name, long otherwise) {
    const char *text = getenv("FAKE_CUDA");
    size_t n = strlen(name);
    for (; text && *text; text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL)
        if (!strncmp(text, name, n) && text[n] == '=') return strtol(text + n + 1, NULL, 10);
    return otherwise;
}

static int sticky; /* an error that stays */
static int ended;  /* the driver was shut down */
static fake_counts counts;
fake_counts fake_count(void) { return counts; }
void fake_end(void) { ended = 1; }
static long allocate_calls, launch_calls, wait_calls, cubin_loads, loads;
/* Counts for the options fail_... start again. */
void fake_restart(void) { allocate_calls = launch_calls = wait_calls = cubin_loads = loads = 0; }

static _Atomic long fail_at, driver_calls;
static int fail_code;
/* Of the calls from now on, those that need a context, the one of this number fails; 0: none. Whether the last one that was asked for did. */
int fake_fail(long at, int code) {
    int reached = fail_at && driver_calls >= fail_at;
    return fail_at = at, fail_code = code, driver_calls = 0, reached;
}
static int fails(void) { return fail_at && ++driver_calls == fail_at; }

/* ---- contexts ---- */

struct context { int device, retained; };
static struct context contexts[8];
static __thread struct context *current;
static __thread unsigned capture_mode;
static int captures; /* streams that are being captured */

#define NEED_CONTEXT                        \
    do {                                    \
        if (ended) return 4;                \
        if (sticky) return sticky;          \
        if (!current) return NO_CONTEXT;    \
        if (fails()) return fail_code;      \
    } while (0)
/* what is not allowed while anybody captures, and spoils it, unless the thread is relaxed */
static void spoil_all(void);
#define UNCAPTURED                                                            \
    do {                                                                      \
        if (captures && capture_mode != 2) return spoil_all(), UNSUPPORTED; \
    } while (0)

int cuDriverGetVersion(int *version) { return *version = (int)option("version", 12040), 0; }
int cuInit(unsigned flags) { return (void)flags, (int)option("init", option("devices", 1) == 0 ? 100 : 0); }
int cuGetErrorName(int code, const char **text) {
    *text = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 218 ? "CUDA_ERROR_INVALID_PTX"
          : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : NULL;
    return *text ? 0 : INVALID;
}
int cuGetErrorString(int code, const char **text) {
    *text = code == 2 ? "out of memory" : code == 700 ? "an illegal memory access was encountered" : NULL;
    return *text ? 0 : INVALID;
}
int cuDeviceGetCount(int *count) { return *count = (int)option("devices", 1), 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int length, int device) { return snprintf(name, (size_t)length, "Fake GPU %d", device), 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    long capability = device == 0 ? option("capability", 90) : 90;
    switch (attribute) {
    case 16: *value = 4; return 0;    /* multiprocessors */
    case 39: *value = 2048; return 0; /* threads of one */
    case 75: *value = (int)capability / 10; return 0;
    case 76: *value = (int)capability % 10; return 0;
    case 115: *value = (int)option("pools", 1); return 0;
    default: return INVALID;
    }
}
int cuDevicePrimaryCtxRetain(struct context **out, int device) {
    if (ended) return 4;
    if (option("retain", 0)) return (int)option("retain", 0);
    contexts[device].device = device, contexts[device].retained++, counts.contexts++;
    return *out = &contexts[device], 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    if (ended) return 4;
    if (contexts[device].retained-- <= 0) bug("context released more often than retained");
    return counts.contexts--, 0;
}
int cuCtxGetCurrent(struct context **out) { return *out = current, ended ? 4 : 0; }
int cuCtxSetCurrent(struct context *context) {
    if (ended) return 4;
    counts.switches++;
    return current = context, 0;
}
int cuThreadExchangeStreamCaptureMode(unsigned *mode) {
    unsigned was = capture_mode;
    return capture_mode = *mode, *mode = was, ended ? 4 : 0;
}

#include "memory.h"

/* ---- streams ---- */

struct stream;
struct event { struct stream *on; uint64_t ticket; int captured, timed; };
struct module { int own; int size; int op; int has_code; int waits; };
struct function { char name[64]; struct module *module; int shared; };
struct op {
    enum { ALLOC, FREE, COPY, SET8, SET16, SET32, WAIT, LAUNCH, CALLBACK } kind;
    struct memory *memory;
    uint64_t to, from;
    size_t size;
    uint32_t value;
    struct stream *on;
    uint64_t ticket;
    struct function *function;
    fake_launch_record launch;
    void *staged;
    void (*callback)(void *);
    struct op *next;
};
/* What an owner of a graph asked to be told of its end. */
struct user_object { void *of; void (*destroy)(void *); struct user_object *next; };
struct graph {
    uint64_t id; /* of its capture */
    struct op *head, *tail;
    struct user_object *held;
};
struct stream {
    struct context *context;
    uint64_t id, queued, done;
    struct op *head, *tail;
    int destroyed, blocking, capturing; /* capturing: 1, 2 when it is spoilt */
    struct graph *graph;
    struct stream *next;
};
static struct stream *streams;

static fake_launch_record *log_;
static size_t logged, log_room;
size_t fake_launches(void) { return logged; }
fake_launch_record fake_launch_at(size_t i) { return log_[i]; }

#include "kernels.h"

static void run(struct stream *s, uint64_t until) {
    while (s->done < until) {
        struct op *o = s->head;
        if (!o) bug("a stream lacks queued work");
        s->head = o->next, s->done++;
        switch (o->kind) {
        case ALLOC: o->memory->state = LIVE; memset(o->memory->at, 0xCD, o->memory->size); break;
        case FREE:
            if (o->memory->state != LIVE) bug("freed twice, or before it was allocated");
            o->memory->state = FREED;
            memset(o->memory->at, 0xDD, o->memory->size);
            break;
        case COPY:
            if (!o->staged) touch(o->from, o->size, "copy from");
            touch(o->to, o->size, "copy to");
            memmove((void *)o->to, o->staged ? o->staged : (void *)o->from, o->size);
            break;
        case SET8: touch(o->to, o->size, "set"); memset((void *)o->to, (int)o->value, o->size); break;
        case SET16:
            touch(o->to, o->size * 2, "set");
            for (size_t i = 0; i < o->size; ++i) ((uint16_t *)o->to)[i] = (uint16_t)o->value;
            break;
        case SET32:
            touch(o->to, o->size * 4, "set");
            for (size_t i = 0; i < o->size; ++i) ((uint32_t *)o->to)[i] = o->value;
            break;
        case WAIT: run(o->on, o->ticket); break;
        case LAUNCH: launch(o->function, &o->launch); break;
        case CALLBACK: o->callback(o->staged); break;
        }
    }
}
static int make_stream(struct stream **out) {
    static uint64_t ids;
    struct stream *s = calloc(1, sizeof *s);
    s->context = current, s->id = ++ids;
    s->next = streams, streams = s;
    return *out = s, 0;
}
/* The handle 1 is the context's legacy default stream, 2 a stream of the thread's own. */
static struct stream *legacy[8];
static __thread struct stream *of_thread;
static struct stream *real(struct stream *s) {
    if ((uintptr_t)s < 1 || (uintptr_t)s > 2) return s;
    struct stream **one = s == (struct stream *)1 ? &legacy[current->device] : &of_thread;
    if (!*one) make_stream(one);
    return *one;
}
static int spoil(struct stream *s, int code) { return s->capturing = 2, code; }
static void spoil_all(void) {
    for (struct stream *s = streams; s; s = s->next)
        if (s->capturing) s->capturing = 2;
}
/* The legacy default stream is unusable while a stream that waits for it is captured. */
static int implicit(struct stream *s) {
    if (s != legacy[s->context->device]) return 0;
    for (struct stream *o = streams; o; o = o->next)
        if (o->capturing && o->blocking && o->context == s->context) return IMPLICIT;
    return 0;
}
/* Queues an operation, or records it for a graph. */
static int queue(struct stream *s, struct op o) {
    s = real(s);
    if (!s) bug("the legacy default stream is used");
    if (s->destroyed) bug("a destroyed stream is used");
    if (s->context != current) bug("a stream of another context is used");
    if (s->capturing == 2) return INVALIDATED;
    if (implicit(s)) return spoil_all(), IMPLICIT;
    struct op *copy = malloc(sizeof o);
    *copy = o, copy->next = NULL;
    if (s->capturing) {
        *(s->graph->head ? &s->graph->tail->next : &s->graph->head) = copy, s->graph->tail = copy;
    } else {
        *(s->head ? &s->tail->next : &s->head) = copy, s->tail = copy, s->queued++;
        if (option("eager", 0)) run(s, s->queued);
    }
    return 0;
}
static int synchronize(struct stream *s) {
    s = real(s);
    if (s->destroyed) bug("a destroyed stream is used");
    if (s->capturing) return spoil(s, UNSUPPORTED);
    UNCAPTURED;
    if (implicit(s)) return IMPLICIT;
    counts.waits++;
    if (++wait_calls == option("fail_wait", -1)) return sticky = 700;
    return run(s, s->queued), sticky;
}
/* A stream of the caller. */
struct stream *fake_stream(void) {
    struct stream *s;
    return make_stream(&s), s->blocking = 1, s;
}
void fake_stream_destroy(struct stream *s) { s->destroyed = 1; }
void fake_stream_reuse(struct stream *s) { s->destroyed = 0, s->id += 1000; }
void fake_begin_capture(struct stream *s) {
    static uint64_t ids;
    s->capturing = 1, s->graph = calloc(1, sizeof *s->graph), s->graph->id = ++ids, captures++;
}
void *fake_end_capture(struct stream *s) {
    int spoilt = s->capturing == 2;
    return captures--, s->capturing = 0, spoilt ? NULL : (void *)s->graph;
}
void fake_launch_graph(void *graph, struct stream *s) {
    for (struct op *o = ((struct graph *)graph)->head; o; o = o->next) queue(s, *o);
}
/* The runs of the graph are done. */
void fake_destroy_graph(struct graph *graph) {
    for (struct user_object *o = graph->held; o; o = o->next) o->destroy(o->of);
    graph->head = NULL, graph->held = NULL;
}
int cuStreamCreate(struct stream **out, unsigned flags) {
    NEED_CONTEXT;
    if (flags != 1) bug("a stream that waits for the legacy default stream");
    return counts.streams++, make_stream(out);
}
int cuStreamDestroy_v2(struct stream *s) { return ended ? 4 : (counts.streams--, s->destroyed = 1, 0); }
int cuStreamSynchronize(struct stream *s) {
    NEED_CONTEXT;
    CALL(synchronize(s));
}
/* not even a relaxed thread may wait for a stream that is being captured */
static int synchronize_all(void) {
    if (captures) return spoil_all(), UNSUPPORTED;
    for (struct stream *s = streams; s; s = s->next)
        if (s->context == current) run(s, s->queued);
    return sticky;
}
int cuCtxSynchronize(void) {
    NEED_CONTEXT;
    CALL(synchronize_all());
}
/* Nothing says that these two may be asked of a stream that is being captured: here they spoil the capture. */
int cuStreamGetCtx(struct stream *s, struct context **out) { return s = real(s), *out = s->context, s->capturing ? spoil(s, UNSUPPORTED) : 0; }
int cuStreamGetId(struct stream *s, uint64_t *id) {
    s = real(s);
    return s->destroyed ? BAD_HANDLE : s->capturing ? spoil(s, UNSUPPORTED) : (*id = s->id, 0);
}
int cuStreamGetCaptureInfo_v2(struct stream *s, unsigned *status, uint64_t *id, struct graph **graph, void *nodes, void *count) {
    if (nodes || count) bug("the nodes of a capture are asked for");
    s = real(s), *status = (unsigned)s->capturing;
    return s->capturing ? *id = s->graph->id, *graph = s->graph, 0 : 0;
}
int cuUserObjectCreate(struct user_object **out, void *of, void (*destroy)(void *), unsigned count, unsigned flags) {
    if (count != 1 || flags != 1) bug("a user object with other references");
    *out = calloc(1, sizeof **out), (*out)->of = of, (*out)->destroy = destroy;
    return 0;
}
int cuGraphRetainUserObject(struct graph *graph, struct user_object *object, unsigned count, unsigned flags) {
    if (count != 1 || flags != 1) bug("a graph that shares a user object");
    object->next = graph->held, graph->held = object;
    return 0;
}
int cuStreamIsCapturing(struct stream *s, unsigned *status) { return s = real(s), *status = (unsigned)s->capturing, ended ? 4 : implicit(s); }
int cuEventCreate(struct event **out, unsigned flags) {
    NEED_CONTEXT;
    if (flags != 2 && flags != 0) bug("an event of a kind that the runtime does not use");
    counts.events++, *out = calloc(1, sizeof **out), (*out)->timed = flags == 0;
    return 0;
}
/* a millisecond for each operation of a stream between them */
int cuEventElapsedTime(float *ms, struct event *begin, struct event *end) {
    NEED_CONTEXT;
    if (!begin->timed || !end->timed) bug("an event that takes no times");
    if (!end->on || end->on->done < end->ticket) return NOT_READY;
    return *ms = (float)((int64_t)end->ticket - (int64_t)begin->ticket), sticky;
}
int cuEventDestroy_v2(struct event *e) { return ended ? 4 : (counts.events--, free(e), 0); }
int cuEventRecord(struct event *e, struct stream *s) {
    NEED_CONTEXT;
    s = real(s);
    if (s->destroyed) bug("a destroyed stream is used");
    counts.records++;
    return e->on = s, e->ticket = s->queued, e->captured = s->capturing, 0;
}
int cuEventSynchronize(struct event *e) {
    NEED_CONTEXT;
    if (e->captured) return spoil_all(), CAPTURED_EVENT;
    UNCAPTURED;
    CALL((e->on ? run(e->on, e->ticket) : (void)0, sticky));
}
int cuEventQuery(struct event *e) {
    NEED_CONTEXT;
    if (e->captured) return spoil_all(), CAPTURED_EVENT;
    UNCAPTURED;
    CALL(e->on && e->on->done < e->ticket ? NOT_READY : sticky);
}
int cuLaunchHostFunc(struct stream *s, void (*f)(void *), void *data) {
    NEED_CONTEXT;
    struct op o = {.kind = CALLBACK, .callback = f, .staged = data};
    CALL(queue(s, o));
}
int cuStreamWaitEvent(struct stream *s, struct event *e, unsigned flags) {
    NEED_CONTEXT;
    (void)flags;
    counts.orders++;
    s = real(s);
    if (!e->on) return 0;
    if (s->capturing) return spoil(s, ISOLATION);
    if (e->captured) bug("a stream would be drawn into a capture");
    struct op o = {.kind = WAIT, .on = e->on, .ticket = e->ticket};
    struct context *was = current;
    current = s->context; /* events cross contexts */
    pthread_mutex_lock(&mutex);
    queue(s, o);
    pthread_mutex_unlock(&mutex);
    return current = was, 0;
}

int cuMemPoolCreate(int **out, const void *props) {
    NEED_CONTEXT;
    return (void)props, counts.pools++, *out = malloc(4), 0;
}
int cuMemPoolDestroy(int *pool) { return ended ? 4 : (counts.pools--, free(pool), 0); }
int cuMemPoolSetAttribute(int *pool, int attribute, void *value) { return (void)pool, attribute == 4 && *(uint64_t *)value == ~0ull ? 0 : INVALID; }
int cuMemPoolTrimTo(int *pool, size_t keep) {
    UNCAPTURED;
    return (void)pool, (void)keep, counts.trims++, 0;
}

static int allocate(uint64_t *out, size_t size, struct stream *s) {
    if (!real(s)->capturing) UNCAPTURED;
    long first = option("fail_alloc", 0), last = option("fail_alloc_until", first), calls = ++allocate_calls;
    if ((first && calls >= first && calls <= last) || (long)size > option("memory", 1l << 34)) return NO_MEMORY;
    struct memory *m = add(size, 0, current->device);
    struct op o = {.kind = ALLOC, .memory = m};
    m->of_graph = real(s)->capturing;
    counts.allocations++;
    return *out = (uint64_t)m->at, queue(s, o);
}
int cuMemAllocFromPoolAsync(uint64_t *out, size_t size, int *pool, struct stream *s) {
    NEED_CONTEXT;
    (void)pool;
    CALL(allocate(out, size, s));
}
static int release(uint64_t address, struct stream *s) {
    struct memory *m = find(address);
    if (!m || (uint64_t)m->at != address || m->host) bug("a free of what is no allocation");
    struct op o = {.kind = FREE, .memory = m};
    if (!real(s)->capturing) UNCAPTURED;
    if (real(s)->capturing && !m->of_graph) return spoil(real(s), INVALID); /* a graph frees what it allocated */
    counts.allocations--;
    return queue(s, o);
}
int cuMemFreeAsync(uint64_t address, struct stream *s) {
    NEED_CONTEXT;
    CALL(release(address, s));
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, struct stream *s) {
    NEED_CONTEXT;
    struct op o = {.kind = SET8, .to = to, .size = size, .value = value};
    CALL(queue(s, o));
}
int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, struct stream *s) {
    NEED_CONTEXT;
    struct op o = {.kind = SET16, .to = to, .size = count, .value = value};
    CALL(queue(s, o));
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, struct stream *s) {
    NEED_CONTEXT;
    struct op o = {.kind = SET32, .to = to, .size = count, .value = value};
    CALL(queue(s, o));
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, struct stream *s) {
    NEED_CONTEXT;
    if (to < from + size && from < to + size) bug("a copy between overlapping memory");
    struct op o = {.kind = COPY, .to = to, .from = from, .size = size};
    CALL(queue(s, o));
}
int cuMemcpyPeerAsync(uint64_t to, struct context *a, uint64_t from, struct context *b, size_t size, struct stream *s) {
    NEED_CONTEXT;
    if (find(to)->device != a->device || find(from)->device != b->device) bug("a copy between the wrong devices");
    struct op o = {.kind = COPY, .to = to, .from = from, .size = size};
    counts.peers++;
    CALL(queue(s, o));
}
static int to_device(uint64_t to, const void *from, size_t size, struct stream *s) {
    struct op o = {.kind = COPY, .to = to, .from = (uint64_t)from, .size = size};
    if (!find((uint64_t)from)) o.staged = memcpy(malloc(size), from, size); /* pageable memory is read at once */
    return queue(s, o);
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, struct stream *s) {
    NEED_CONTEXT;
    CALL(to_device(to, from, size, s));
}
static int to_host(void *to, uint64_t from, size_t size, struct stream *s) {
    if (!find((uint64_t)to)) { /* pageable memory is waited for */
        int code = synchronize(s);
        if (code) return code;
        touch(from, size, "copy to host");
        return memcpy(to, (void *)from, size), 0;
    }
    struct op o = {.kind = COPY, .to = (uint64_t)to, .from = from, .size = size};
    return queue(s, o);
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, struct stream *s) {
    NEED_CONTEXT;
    CALL(to_host(to, from, size, s));
}
int cuMemHostAlloc(void **out, size_t size, unsigned flags) {
    NEED_CONTEXT;
    UNCAPTURED;
    if (flags != 3) bug("pinned memory that is not portable and mapped");
    if (option("fail_pinned", 0)) return NO_MEMORY;
    pthread_mutex_lock(&mutex);
    struct memory *m = add(size, 1, -1);
    pthread_mutex_unlock(&mutex);
    m->state = LIVE, counts.pinned++;
    return *out = m->at, 0;
}
int cuMemHostGetDevicePointer_v2(uint64_t *out, void *host, unsigned flags) { return (void)flags, *out = (uint64_t)host, 0; }
int cuMemFreeHost(void *host) {
    if (ended) return 4;
    struct memory *m = find((uint64_t)host);
    if (!m || !m->host || m->state != LIVE) bug("a free of what is no pinned memory");
    return m->state = FREED, counts.pinned--, 0;
}
int cuPointerGetAttribute(void *out, int attribute, uint64_t address) {
    NEED_CONTEXT;
    struct memory *m = find(address);
    if (!m || m->state == FREED) return INVALID;
    switch (attribute) {
    case 2: *(unsigned *)out = m->host ? 1 : 2; return 0;
    case 3: *(uint64_t *)out = address; return 0;
    case 8: *(unsigned char *)out = 0; return 0;
    case 9: *(int *)out = m->device; return 0;
    case 11: *(uint64_t *)out = (uint64_t)m->at; return 0;
    case 12: *(size_t *)out = m->size; return 0;
    default: return INVALID;
    }
}

/* ---- code ---- */

static int is_ptx(const char *image) { return strncmp(image, "\177ELF", 4) && strstr(image, ".version"); }
int cuModuleLoadDataEx(struct module **out, const char *image, unsigned n, int *options, void **values) {
    NEED_CONTEXT;
    UNCAPTURED;
    int ptx = is_ptx(image);
    long meet = option("meet", 0); /* milliseconds in which another load must begin */
    for (__atomic_add_fetch(&loads, 1, __ATOMIC_SEQ_CST); meet && __atomic_load_n(&loads, __ATOMIC_SEQ_CST) < 2; usleep(1000))
        if (!--meet) return 999;
    if (ptx && option("reject_ptx", 0)) {
        for (unsigned i = 0; i < n; ++i)
            if (options[i] == 5) strcpy(values[i], "ptxas fatal: Unresolved extern function 'nothing'\n");
        return 218;
    }
    if (!ptx && (option("reject_cubin", 0) || ++cubin_loads <= option("reject_cubins", 0))) return 209;
    if (!ptx && strncmp(image, "\177ELF linked", 11) == 0 && !strstr(image, "end")) bug("half of the machine code");
    struct module *m = calloc(1, sizeof *m);
    m->own = strstr(image, "arraygpu_each") || strstr(image, "arraygpu_rows") || strstr(image, "arraygpu_structs");
    m->op = strstr(image, "atom.global.exch") ? 3 : !strstr(image, "ld.global") ? 1 : strstr(image, "setp.ne") ? 2 : 0;
    m->has_code = !!strstr(image, ".entry"), m->waits = !!strstr(image, "\tgriddepcontrol.wait;");
    m->size = strstr(image, "st.global.u8") ? 1 : strstr(image, "st.global.u16") ? 2 : strstr(image, "st.global.u32") ? 4 : 8;
    *out = m;
    CALL((counts.modules++, ptx ? counts.ptx++ : counts.cubins++, 0));
}
int cuModuleGetFunction(struct function **out, struct module *module, const char *name) {
    NEED_CONTEXT;
    if (option("no_entry", 0)) return NOT_FOUND;
    struct function *f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name), f->module = module;
    return counts.lookups++, *out = f, 0;
}
int cuFuncSetAttribute(struct function *f, int attribute, int value) {
    NEED_CONTEXT;
    if (attribute != 8 || value <= 48 << 10) bug("attribute %d of a function is %d", attribute, value);
    return f->shared = value, 0;
}
int cuModuleUnload(struct module *m) {
    if (ended) return 4;
    for (struct stream *s = streams; s; s = s->next)
        for (struct op *o = s->head; o; o = o->next)
            if (o->kind == LAUNCH && o->function->module == m) bug("code is unloaded that queued work uses");
    return free(m), counts.modules--, 0;
}

#include "linker.h"

static int enqueue_launch(struct function *f, unsigned grid, unsigned block, unsigned dependent, struct stream *s, void **params, void **extra) {
    if (++launch_calls == option("fail_launch", -1)) {
        int code = (int)option("launch_code", 700);
        return code >= 700 ? sticky = code : code;
    }
    struct op o = {.kind = LAUNCH, .function = f};
    fake_launch_record *r = &o.launch;
    snprintf(r->entry, sizeof r->entry, "%s", f->name);
    r->grid = grid, r->block = block, r->dependent = dependent;
    if (extra) {
        if ((uint64_t)extra[0] != 1 || (uint64_t)extra[2] != 2 || extra[4]) bug("launch parameters");
        r->count = (unsigned)(*(size_t *)extra[3] / 8);
        if (r->count > 64) bug("%u launch parameters", r->count);
        memcpy(r->words, extra[1], r->count * 8);
    } else {
        r->count = !strcmp(f->name, "arraygpu_structs") ? 14 : !strcmp(f->name, "arraygpu_rows") ? 11 : 5;
        for (unsigned i = 0; i < r->count; ++i) r->words[i] = *(uint64_t *)params[i];
    }
    if (logged == log_room) log_ = realloc(log_, (log_room = log_room * 2 + 64) * sizeof *log_);
    log_[logged++] = *r;
    return option("quiet", 0) ? 0 : queue(s, o);
}
static int launch_kernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, unsigned dependent,
                         struct stream *s, void **params, void **extra) {
    static int quiet = -1; /* 1: nothing is launched; 2: launches are logged only */
    if (quiet < 0) quiet = (int)option("quiet", 0);
    if (quiet == 1) return 0;
    NEED_CONTEXT;
    long paused = option("pause", 0); /* milliseconds before a launch is queued */
    if (paused) usleep((unsigned)paused * 1000);
    if (!gx || gy != 1 || gz != 1 || !bx || by != 1 || bz != 1 || shared != (unsigned)f->shared) bug("a launch of %u x %u x %u blocks", gx, gy, gz);
    CALL(enqueue_launch(f, gx, bx, dependent, s, params, extra));
}
int cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   struct stream *s, void **params, void **extra) {
    return launch_kernel(f, gx, gy, gz, bx, by, bz, shared, 0, s, params, extra);
}
struct attribute { int id; char pad[4]; union { int allowed; char room[64]; }; };
struct config { unsigned g[3], b[3], shared; struct stream *stream; struct attribute *attributes; unsigned count; };
int cuLaunchKernelEx(const struct config *c, struct function *f, void **params, void **extra) {
    if (c->count != 1 || c->attributes->id != 6 || c->attributes->allowed != 1) bug("the attributes of a launch");
    if (option("capability", 90) < 90) bug("a dependent launch on an older device");
    if (f->module->has_code && !f->module->waits) bug("%s does not wait for the launch before it", f->name);
    return launch_kernel(f, c->g[0], c->g[1], c->g[2], c->b[0], c->b[1], c->b[2], c->shared, 1, c->stream, params, extra);
}
