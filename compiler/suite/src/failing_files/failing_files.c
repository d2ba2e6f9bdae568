/* Loaded before the C library (LD_PRELOAD): counts the file operations under a folder, and makes some of them fail.
 *
 * FAILING_FILES_UNDER is the folder, FAILING_FILES_STATE a file with a struct state, which all processes share: the
 * test says there what fails, and reads what happened. What does not go through the folder is left alone, so programs
 * start and load their libraries. Calls that the C library makes by itself (inside of dlopen and fopen) are not seen;
 * the functions that make them are. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* Errors that are no numbers of the C library: half of the bytes, and all files of the folder are removed. */
enum { SHORT = 1000, REMOVED = 1001 };

/* Who is counted: the process that the test starts, or those that it starts. */
enum { OWN = 1, TOOLS = 2 };

/* What fails: one operation, those that follow, too, or of these all of the same function. */
enum { ONE, ALL, ALIKE };

struct state {
    uint64_t count, first, span, error, kinds, who, struck, of_kind[8];
    char what[16], path[448];
};

static struct state *state;
static const char *under;
static uint64_t self = OWN;
/* Files whose bytes have been asked of the disk: nothing is lost when they are closed. */
static char synced[4096];

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("FAILING_FILES_STATE");
    under = getenv("FAILING_FILES_UNDER");
    int fd = file && under ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(0, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        abort();
    state = at;
    self = getenv("FAILING_FILES_TOOL") ? TOOLS : OWN;
    setenv("FAILING_FILES_TOOL", "1", 1);
    if (!(state->who & TOOLS))
        unsetenv("LD_PRELOAD");
}

/* What an operation does, and so which errors it may have: the test says which kinds fail. */
enum kind {
    LOOK = 1,   /* finds a file by its name */
    CREATE = 2, /* may make one */
    CHANGE = 4, /* changes a folder, or what is said of a file */
    REMOVE = 8, /* takes a name away */
    LIST = 16,  /* reads a folder, or what is said of a file */
    READ = 32,
    WRITE = 64,
    CLOSE = 128, /* where late errors come: of a remote disk, or a quota */
};

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about, (void)type;
    return where->level == 0 ? 0 : remove(path) * 0;
}

/* Whether this operation fails; errno says why. */
static int struck(enum kind kind, const char *what, const char *path)
{
    if (!state || !(state->who & self) || strncmp(path, under, strlen(under)))
        return 0;
    for (int i = 0; i < 8; i++)
        __atomic_fetch_add(&state->of_kind[i], kind >> i & 1, __ATOMIC_SEQ_CST);
    if (!(kind & state->kinds))
        return 0;
    uint64_t n = __atomic_fetch_add(&state->count, 1, __ATOMIC_SEQ_CST);
    int follows = state->span == ALL || (state->span == ALIKE && !strcmp(what, state->what));
    if (n < state->first || (n > state->first && !follows))
        return 0;
    if (__atomic_fetch_add(&state->struck, 1, __ATOMIC_SEQ_CST) == 0) {
        snprintf(state->what, sizeof state->what, "%s", what);
        snprintf(state->path, sizeof state->path, "%s", path);
    }
    if (state->error == REMOVED) {
        nftw(under, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        return 0;
    }
    errno = (int)state->error;
    return 1;
}

/* The path behind a file descriptor, "" if there is none. */
static const char *path_of(int fd, char out[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    out[n < 0 ? 0 : n] = 0;
    return out;
}

static int struck_at(enum kind kind, const char *what, int folder, const char *path)
{
    char whole[2 * PATH_MAX] = "";
    if (!path || !*path)
        return struck(kind, what, path_of(folder, whole));
    if (*path == '/')
        return struck(kind, what, path);
    if (folder != AT_FDCWD)
        path_of(folder, whole);
    else if (!getcwd(whole, PATH_MAX))
        return 0;
    strcat(strcat(whole, "/"), path);
    return struck(kind, what, whole);
}

static int struck_fd(enum kind kind, const char *what, int fd)
{
    char path[PATH_MAX];
    return state ? struck(kind, what, path_of(fd, path)) : 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static enum kind of_flags(int flags)
{
    return flags & (O_CREAT | O_TMPFILE) ? CREATE : (flags & O_ACCMODE) == O_RDONLY ? LOOK : CHANGE;
}

static int opened(int fd)
{
    if (fd >= 0 && fd < (int)sizeof synced)
        synced[fd] = 0;
    return fd;
}

#define MODE(last)                                                                                                     \
    mode_t mode = 0;                                                                                                   \
    va_list list;                                                                                                      \
    va_start(list, last);                                                                                              \
    if (last & (O_CREAT | O_TMPFILE))                                                                                  \
        mode = va_arg(list, mode_t);                                                                                   \
    va_end(list)

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        MODE(flags);                                                                                                   \
        return struck_at(of_flags(flags), #name, AT_FDCWD, path) ? -1 : opened(NEXT(name)(path, flags, mode));         \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int folder, const char *path, int flags, ...)                                                             \
    {                                                                                                                  \
        MODE(flags);                                                                                                   \
        return struck_at(of_flags(flags), #name, folder, path) ? -1 : opened(NEXT(name)(folder, path, flags, mode));   \
    }
OPENAT(openat)
OPENAT(openat64)

/* A function whose first argument is a path, or a file descriptor; what it gives where it fails. */
#define OF_PATH(kind, result, fail, name, declared, ...)                                                               \
    result name declared { return struck_at(kind, #name, AT_FDCWD, path) ? fail : NEXT(name)(__VA_ARGS__); }
#define OF_FD(kind, result, fail, name, declared, ...)                                                                 \
    result name declared { return struck_fd(kind, #name, fd) ? fail : NEXT(name)(__VA_ARGS__); }
#define AT(kind, name, declared, ...)                                                                                  \
    int name declared { return struck_at(kind, #name, fd, path) ? -1 : NEXT(name)(__VA_ARGS__); }

OF_PATH(CREATE, int, -1, creat, (const char *path, mode_t mode), path, mode)
OF_PATH(CREATE, int, -1, creat64, (const char *path, mode_t mode), path, mode)
OF_PATH(LOOK, int, -1, stat, (const char *path, struct stat *s), path, s)
OF_PATH(LOOK, int, -1, stat64, (const char *path, struct stat64 *s), path, s)
OF_PATH(LOOK, int, -1, lstat, (const char *path, struct stat *s), path, s)
OF_PATH(LOOK, int, -1, lstat64, (const char *path, struct stat64 *s), path, s)
OF_PATH(LOOK, int, -1, access, (const char *path, int mode), path, mode)
OF_PATH(LOOK, DIR *, NULL, opendir, (const char *path), path)
OF_PATH(CHANGE, int, -1, mkdir, (const char *path, mode_t mode), path, mode)
OF_PATH(CHANGE, int, -1, chmod, (const char *path, mode_t mode), path, mode)
OF_PATH(CHANGE, int, -1, rename, (const char *path, const char *to), path, to)
OF_PATH(REMOVE, int, -1, unlink, (const char *path), path)
OF_PATH(REMOVE, int, -1, rmdir, (const char *path), path)
OF_PATH(CREATE, int, -1, mkstemp, (char *path), path)
OF_PATH(CREATE, int, -1, mkstemps, (char *path, int suffix), path, suffix)
OF_PATH(CREATE, int, -1, mkstemp64, (char *path), path)
OF_PATH(CREATE, int, -1, mkstemps64, (char *path, int suffix), path, suffix)
OF_FD(LIST, int, -1, fstat, (int fd, struct stat *s), fd, s)
OF_FD(LIST, int, -1, fstat64, (int fd, struct stat64 *s), fd, s)
OF_FD(CHANGE, int, -1, fchmod, (int fd, mode_t mode), fd, mode)
OF_FD(WRITE, int, -1, ftruncate, (int fd, off_t size), fd, size)
OF_FD(WRITE, int, -1, ftruncate64, (int fd, off64_t size), fd, size)
OF_FD(CHANGE, int, -1, futimens, (int fd, const struct timespec t[2]), fd, t)
OF_FD(LIST, DIR *, NULL, fdopendir, (int fd), fd)
AT(LOOK, statx, (int fd, const char *path, int flags, unsigned mask, struct statx *s), fd, path, flags, mask, s)
AT(LOOK, fstatat, (int fd, const char *path, struct stat *s, int flags), fd, path, s, flags)
AT(LOOK, fstatat64, (int fd, const char *path, struct stat64 *s, int flags), fd, path, s, flags)
AT(CHANGE, mkdirat, (int fd, const char *path, mode_t mode), fd, path, mode)
AT(REMOVE, unlinkat, (int fd, const char *path, int flags), fd, path, flags)

/* Where bytes move, fewer may. */
#define MOVE(kind, name, declared, ...)                                                                                \
    ssize_t name declared                                                                                              \
    {                                                                                                                  \
        if (struck_fd(kind, #name, fd)) {                                                                              \
            if (state->error != SHORT)                                                                                 \
                return -1;                                                                                             \
            n = n > 1 ? n / 2 : n;                                                                                     \
        }                                                                                                              \
        return NEXT(name)(__VA_ARGS__);                                                                                \
    }
MOVE(READ, read, (int fd, void *to, size_t n), fd, to, n)
MOVE(READ, pread, (int fd, void *to, size_t n, off_t at), fd, to, n, at)
MOVE(READ, pread64, (int fd, void *to, size_t n, off64_t at), fd, to, n, at)
MOVE(WRITE, write, (int fd, const void *from, size_t n), fd, from, n)
MOVE(WRITE, pwrite, (int fd, const void *from, size_t n, off_t at), fd, from, n, at)
MOVE(WRITE, pwrite64, (int fd, const void *from, size_t n, off64_t at), fd, from, n, at)
MOVE(WRITE, sendfile, (int fd, int from, off_t *at, size_t n), fd, from, at, n)
MOVE(WRITE, sendfile64, (int fd, int from, off64_t *at, size_t n), fd, from, at, n)
MOVE(READ, copy_file_range, (int fd, off64_t *a, int to, off64_t *b, size_t n, unsigned f), fd, a, to, b, n, f)

#define SYNC(name)                                                                                                     \
    int name(int fd)                                                                                                   \
    {                                                                                                                  \
        int done = struck_fd(WRITE, #name, fd) ? -1 : NEXT(name)(fd);                                                  \
        if (done == 0 && fd < (int)sizeof synced)                                                                      \
            synced[fd] = 1;                                                                                            \
        return done;                                                                                                   \
    }
SYNC(fsync)
SYNC(fdatasync)

/* What was written, and not asked of the disk, is lost by half where closing fails. */
int close(int fd)
{
    struct stat about;
    int failed = struck_fd(CLOSE, "close", fd), why = errno;
    if (failed && self == OWN && fd < (int)sizeof synced && !synced[fd] && !NEXT(fstat)(fd, &about)
        && S_ISREG(about.st_mode) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) {
        int lost = NEXT(ftruncate)(fd, about.st_size / 2);
        (void)lost;
    }
    int done = NEXT(close)(fd);
    errno = failed ? why : errno;
    return failed ? -1 : done;
}

#define READDIR(name, type)                                                                                            \
    struct type *name(DIR *d) { return struck_fd(LIST, #name, dirfd(d)) ? NULL : NEXT(name)(d); }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

#define FOPEN(name)                                                                                                    \
    FILE *name(const char *path, const char *mode)                                                                     \
    {                                                                                                                  \
        enum kind kind = *mode == 'r' && !strchr(mode, '+') ? LOOK : CREATE;                                           \
        return struck_at(kind, #name, AT_FDCWD, path) ? NULL : NEXT(name)(path, mode);                                 \
    }
FOPEN(fopen)
FOPEN(fopen64)

size_t fwrite(const void *from, size_t size, size_t n, FILE *file)
{
    return struck_fd(WRITE, "fwrite", fileno(file)) && state->error != SHORT ? 0 : NEXT(fwrite)(from, size, n, file);
}

size_t fread(void *to, size_t size, size_t n, FILE *file)
{
    return struck_fd(READ, "fread", fileno(file)) && state->error != SHORT ? 0 : NEXT(fread)(to, size, n, file);
}

int fclose(FILE *file)
{
    int failed = struck_fd(CLOSE, "fclose", fileno(file)), why = errno, done = NEXT(fclose)(file);
    errno = failed ? why : errno;
    return failed ? EOF : done;
}

/* The loader opens the file by itself: it gets a name that cannot be opened. */
void *dlopen(const char *path, int flags)
{
    char no_folder[PATH_MAX];
    if (path && strlen(path) + 3 < sizeof no_folder && struck_at(LOOK, "dlopen", AT_FDCWD, path))
        path = strcat(strcpy(no_folder, path), "/.");
    return NEXT(dlopen)(path, flags);
}
