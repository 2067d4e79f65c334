/*
 * Makes the n-th call of one function of the C library fail, or give less than was asked for.
 *
 * A library to preload; campaigns.failing_calls builds it and says which call by the environment:
 *
 *   FAILING_CALL   open read pread stat fstat opendir readdir fork mmap malloc write rename fsync close copy
 *                  mkdir unlink lseek readlink pipe dup poll ask, or sector
 *   FAILING_AT     the number of the call, from 1; 0 only counts
 *   FAILING_HOW    an errno, "short" for half of what was asked for, "end" for the end of the file, or "wait": the call waits until
 *                  the campaign has changed something, and then does as it was asked
 *   FAILING_LEAST  only allocations of as many bytes (4,096 if not set)
 *   FAILING_ALL    if set: all calls from that one on
 *   FAILING_UNDER  only calls for files below this directory; those without a file count once one of them was touched
 *   FAILING_COUNT  a file that all processes share, with four uint64: how many calls there were, how many failed, whether a file was
 *                  touched, and what the campaign sets for a call that waits
 *
 * A sector is a block of 4 KiB that cannot be read: FAILING_AT is its number, from 1, in every file that is so long. Reads of it by
 * position fail, and those that come to it from before end there.
 *
 * A write counts if it is to standard output or to a file below the directory. Writes to pipes between processes are left alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

enum { AS_ASKED, FAILS, SHORT, END, WAITS };

struct counters {
    _Atomic uint64_t calls, failed, touched, resumed;
};

enum { LONGEST_WAIT = 60000 }; /* milliseconds; a campaign that has died resumes nothing */

static struct counters own, *counters = &own;
static char call[32], under[512];
static size_t under_size;
static uint64_t wanted;
static int all, how = FAILS, error = EIO, least = 4096;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Takes what the environment says; a process that was forked calls it again. */
__attribute__((constructor)) void failing_begin(void) {
    const char *value;
    call[0] = 0;
    if ((value = getenv("FAILING_UNDER")))
        under_size = strlen(strncpy(under, value, sizeof under - 1));
    if ((value = getenv("FAILING_AT")))
        wanted = strtoull(value, NULL, 10);
    all = getenv("FAILING_ALL") != NULL;
    if ((value = getenv("FAILING_HOW"))) {
        how = !strcmp(value, "short") ? SHORT : !strcmp(value, "end") ? END : !strcmp(value, "wait") ? WAITS : FAILS;
        error = atoi(value);
    }
    if ((value = getenv("FAILING_LEAST")))
        least = atoi(value);
    if ((value = getenv("FAILING_COUNT"))) {
        int file = REAL(open)(value, O_RDWR | O_CLOEXEC);
        void *shared = REAL(mmap)(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file < 0 || shared == MAP_FAILED)
            abort();
        counters = shared;
        REAL(close)(file);
    }
    if ((value = getenv("FAILING_CALL"))) /* last: from here on calls count */
        strncpy(call, value, sizeof call - 1);
}

/* What becomes of this call. */
static int outcome(const char *name) {
    if (strcmp(name, call))
        return AS_ASKED;
    uint64_t number = atomic_fetch_add(&counters->calls, 1) + 1;
    if (!wanted || (all ? number < wanted : number != wanted))
        return AS_ASKED;
    atomic_fetch_add(&counters->failed, 1);
    if (how == FAILS)
        errno = error;
    if (how == WAITS) {
        for (int tries = 0; !atomic_load(&counters->resumed) && tries < LONGEST_WAIT; tries++)
            usleep(1000);
        return AS_ASKED;
    }
    return how;
}

static int is_below(const char *path) {
    if (!under_size || !path || strncmp(path, under, under_size))
        return 0;
    atomic_store(&counters->touched, 1);
    return 1;
}

static int is_file_below(int descriptor) {
    char name[64], path[512];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t size = REAL(readlink)(name, path, sizeof path - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    return is_below(path);
}

/* Whether standard output leads to a file: a command that gave it up after a failure leads it to /dev/null, which takes everything. */
static int is_stdout(int descriptor) {
    struct stat status;
    return descriptor == 1 && !REAL(fstat)(1, &status) && !S_ISCHR(status.st_mode);
}

/* Whether standard output leads to the file of the campaign, which stands for a pipe, and not to one of the command. */
static int is_pipe(int descriptor) {
    char path[512];
    ssize_t size = is_stdout(descriptor) ? REAL(readlink)("/proc/self/fd/1", path, sizeof path) : 0;
    return size > 7 && !memcmp(path + size - 7, "/stdout", 7);
}

/* Only a pipe is closed by its reader: EPIPE is for standard output alone. */
static int is_output(int descriptor) {
    return (error == EPIPE ? is_pipe(descriptor) : is_stdout(descriptor)) || (descriptor != 2 && error != EPIPE && is_file_below(descriptor));
}

static int of_path(const char *name, const char *path) { return is_below(path) ? outcome(name) : AS_ASKED; }

static int of_file(const char *name, int descriptor) {
    return !strcmp(name, call) && is_file_below(descriptor) ? outcome(name) : AS_ASKED;
}

/* A call without a file. */
static int of_process(const char *name) { return atomic_load(&counters->touched) ? outcome(name) : AS_ASKED; }

#define OPEN(name)                                                                                                             \
    int name(const char *path, int flags, ...) {                                                                               \
        __builtin_va_list rest;                                                                                                \
        __builtin_va_start(rest, flags);                                                                                       \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? __builtin_va_arg(rest, mode_t) : 0;                                      \
        __builtin_va_end(rest);                                                                                                \
        return of_path("open", path) ? -1 : REAL(name)(path, flags, mode);                                                     \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                           \
    int name(int directory, const char *path, int flags, ...) {                                                                \
        __builtin_va_list rest;                                                                                                \
        __builtin_va_start(rest, flags);                                                                                       \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? __builtin_va_arg(rest, mode_t) : 0;                                      \
        __builtin_va_end(rest);                                                                                                \
        return of_path("open", path) ? -1 : REAL(name)(directory, path, flags, mode);                                          \
    }
OPENAT(openat)
OPENAT(openat64)

enum { SECTOR = 4096 };

/* What becomes of a read by position; `count` may shrink to what can be read. */
static int of_place(int descriptor, size_t *count, int64_t place) {
    if (strcmp("sector", call))
        return of_file("pread", descriptor);
    int64_t bad = ((int64_t)wanted - 1) * SECTOR;
    if (!wanted || !is_file_below(descriptor) || place >= bad + SECTOR || place + (int64_t)*count <= bad)
        return AS_ASKED;
    atomic_fetch_add(&counters->failed, 1);
    errno = error;
    if (place >= bad)
        return FAILS;
    *count = (size_t)(bad - place);
    return AS_ASKED;
}

#define READ(found)                                                                                                            \
    switch (found) {                                                                                                           \
    case FAILS:                                                                                                                \
        return -1;                                                                                                             \
    case END:                                                                                                                  \
        return 0;                                                                                                              \
    case SHORT:                                                                                                                \
        count = count > 1 ? count / 2 : count;                                                                                 \
    }

ssize_t read(int descriptor, void *bytes, size_t count) {
    READ(of_file("read", descriptor))
    return REAL(read)(descriptor, bytes, count);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t place) {
    READ(of_place(descriptor, &count, place))
    return REAL(pread)(descriptor, bytes, count, place);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t place) {
    READ(of_place(descriptor, &count, place))
    return REAL(pread64)(descriptor, bytes, count, place);
}

/* The first buffer of many, for half of what was asked for. */
static int first_half(const struct iovec *buffers, int many, struct iovec *half) {
    for (int at = 0; at < many; at++)
        if (buffers[at].iov_len > 1) {
            *half = (struct iovec){buffers[at].iov_base, buffers[at].iov_len / 2};
            return 1;
        }
    return 0;
}

/* Of many buffers only the first is read into, which a read may always do. */
#define PREADV(name, type)                                                                                                     \
    ssize_t name(int descriptor, const struct iovec *buffers, int many, type place) {                                          \
        size_t count = many ? buffers[0].iov_len : 0;                                                                          \
        READ(of_place(descriptor, &count, place))                                                                              \
        struct iovec part = {many ? buffers[0].iov_base : NULL, count};                                                        \
        return REAL(name)(descriptor, &part, many ? 1 : 0, place);                                                             \
    }
PREADV(preadv, off_t)
PREADV(preadv64, off64_t)

#define PREADV2(name, old, type)                                                                                               \
    ssize_t name(int descriptor, const struct iovec *buffers, int many, type place, int flags) {                               \
        return flags ? REAL(name)(descriptor, buffers, many, place, flags) : old(descriptor, buffers, many, place);            \
    }
PREADV2(preadv2, preadv, off_t)
PREADV2(preadv64v2, preadv64, off64_t)

#define STAT(name, type)                                                                                                       \
    int name(const char *path, struct type *status) { return of_path("stat", path) ? -1 : REAL(name)(path, status); }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define STATAT(name, type)                                                                                                     \
    int name(int directory, const char *path, struct type *status, int flags) {                                                \
        return of_path("stat", path) ? -1 : REAL(name)(directory, path, status, flags);                                        \
    }
STATAT(fstatat, stat)
STATAT(fstatat64, stat64)

#define FSTAT(name, type)                                                                                                      \
    int name(int descriptor, struct type *status) { return of_file("fstat", descriptor) ? -1 : REAL(name)(descriptor, status); }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

DIR *opendir(const char *path) { return of_path("opendir", path) ? NULL : REAL(opendir)(path); }

#define READDIR(name, type)                                                                                                    \
    struct type *name(DIR *directory) {                                                                                        \
        return of_file("readdir", dirfd(directory)) ? NULL : REAL(name)(directory);                                            \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

pid_t fork(void) { return of_process("fork") ? -1 : REAL(fork)(); }

#define MMAP(name, type)                                                                                                       \
    void *name(void *address, size_t size, int protection, int flags, int descriptor, type place) {                            \
        return of_process("mmap") ? MAP_FAILED : REAL(name)(address, size, protection, flags, descriptor, place);              \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static int lacks_memory(size_t size) { return size >= (size_t)least && of_process("malloc"); }

void *malloc(size_t size) { return lacks_memory(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t many, size_t size) { return lacks_memory(many * size) ? NULL : __libc_calloc(many, size); }
void *realloc(void *block, size_t size) { return lacks_memory(size) ? NULL : __libc_realloc(block, size); }

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (!strcmp("write", call) && is_output(descriptor))
        switch (outcome("write")) {
        case FAILS:
            return -1;
        case SHORT:
            count = count > 1 ? count / 2 : count;
        }
    return REAL(write)(descriptor, bytes, count);
}

ssize_t writev(int descriptor, const struct iovec *buffers, int many) {
    struct iovec half;
    if (!strcmp("write", call) && is_output(descriptor))
        switch (outcome("write")) {
        case FAILS:
            return -1;
        case SHORT:
            if (first_half(buffers, many, &half))
                return REAL(writev)(descriptor, &half, 1);
        }
    return REAL(writev)(descriptor, buffers, many);
}

/* Writes to files, by position or within the system. */
static int of_output(int descriptor, size_t *count) {
    if (strcmp("write", call) || !is_output(descriptor))
        return AS_ASKED;
    int found = outcome("write");
    if (found == SHORT)
        *count = *count > 1 ? *count / 2 : *count;
    return found == FAILS ? FAILS : AS_ASKED;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t place) {
    return of_output(descriptor, &count) ? -1 : REAL(pwrite)(descriptor, bytes, count, place);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t place) {
    return of_output(descriptor, &count) ? -1 : REAL(pwrite64)(descriptor, bytes, count, place);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *place, size_t count, unsigned flags) {
    READ(of_file("copy", to))
    return of_output(to, &count) ? -1 : REAL(copy_file_range)(from, at, to, place, count, flags);
}

/* A file that was written is closed in any case; a file server may say only then that its disk is full. */
int close(int descriptor) {
    int fails = 0;
    if (!strcmp("close", call) && is_output(descriptor))
        fails = (REAL(fcntl)(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY && outcome("close") == FAILS;
    int closed = REAL(close)(descriptor);
    if (fails)
        errno = error;
    return fails ? -1 : closed;
}

/* Calls that make, place or remove something. */
int rename(const char *from, const char *to) { return of_path("rename", to) ? -1 : REAL(rename)(from, to); }
int link(const char *from, const char *to) { return of_path("rename", to) ? -1 : REAL(link)(from, to); }
int mkdir(const char *path, mode_t mode) { return of_path("mkdir", path) ? -1 : REAL(mkdir)(path, mode); }
int unlink(const char *path) { return of_path("unlink", path) ? -1 : REAL(unlink)(path); }
int rmdir(const char *path) { return of_path("unlink", path) ? -1 : REAL(rmdir)(path); }
int unlinkat(int directory, const char *path, int flags) {
    int below = *path == '/' ? is_below(path) : !strcmp("unlink", call) && is_file_below(directory);
    return below && outcome("unlink") ? -1 : REAL(unlinkat)(directory, path, flags);
}
int fsync(int descriptor) { return of_file("fsync", descriptor) ? -1 : REAL(fsync)(descriptor); }

/* Calls about positions and names. */
off_t lseek(int descriptor, off_t place, int from) {
    return of_file("lseek", descriptor) ? -1 : REAL(lseek)(descriptor, place, from);
}
off64_t lseek64(int descriptor, off64_t place, int from) {
    return of_file("lseek", descriptor) ? -1 : REAL(lseek64)(descriptor, place, from);
}
ssize_t readlink(const char *path, char *target, size_t size) {
    return of_path("readlink", path) ? -1 : REAL(readlink)(path, target, size);
}

/* Pipes and sockets between processes, second descriptors, temporary memory, what a process is asked: none is for a file. */
int pipe2(int ends[2], int flags) { return of_process("pipe") ? -1 : REAL(pipe2)(ends, flags); }
int pipe(int ends[2]) { return of_process("pipe") ? -1 : REAL(pipe)(ends); }
int dup(int descriptor) { return of_process("dup") ? -1 : REAL(dup)(descriptor); }
int dup2(int descriptor, int other) { return of_process("dup") ? -1 : REAL(dup2)(descriptor, other); }
int poll(struct pollfd *asked, nfds_t many, int patience) { return of_process("poll") ? -1 : REAL(poll)(asked, many, patience); }
int select(int many, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *patience) {
    return of_process("poll") ? -1 : REAL(select)(many, reads, writes, others, patience);
}
int getloadavg(double *averages, int many) { return of_process("ask") ? -1 : REAL(getloadavg)(averages, many); }
int statvfs(const char *path, struct statvfs *found) { return of_process("ask") ? -1 : REAL(statvfs)(path, found); }
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *cores) {
    return of_process("ask") ? -1 : REAL(sched_getaffinity)(process, size, cores);
}
