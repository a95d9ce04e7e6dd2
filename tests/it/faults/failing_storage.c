// Storage that fails below the program: preloaded into it (LD_PRELOAD), this library counts the calls that touch files
// in one folder and makes the nth call of a kind fail, whether the program, the Parquet writer or SQLite makes it. It
// decides which call fails; all other calls pass unchanged.
//
// FAILING_STORAGE       the folder as an absolute path, spelled as the program spells it
// FAILING_STORAGE_PLAN  kind:number:how:error, like write:7:once:eio; without it calls are only counted
//
//   once     that call fails, the next succeeds: a write error, or space that was freed meanwhile
//   forever  that call fails, and so do all later calls that change anything: a disk that is gone or full
//   short    that write writes half of its bytes and returns their number, and the next write fails: the disk fills up
//
// When the process ends it prints one line: `storage calls: write=9 sync=4 … failed=1 sent=8 sent-after=0
// sent-unsynced=0 renamed-unsynced=0 at=ledger.sqlite-wal`: how often each kind was called, how many of these calls
// failed, how many checks were sent, how many of them after the first failure, how many while a finished commit was not
// on disk, how many files were renamed with writes that were not on disk, and the file that failed first. A sync of a
// log with nothing new in it is a checkpoint and not a commit: `at` then says `checkpoint`.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE, SYNC, TRUNCATE, RENAME, REMOVE, CREATE, MKDIR, OPEN, READ, KINDS };
static const char *const NAMES[KINDS] = {"write",  "sync",  "truncate", "rename", "remove",
                                         "create", "mkdir", "open",     "read"};
enum how { ONCE, FOREVER, SHORT };

static const char *folder;
static size_t folder_length;
static enum kind planned = KINDS; // KINDS: nothing is planned
static long planned_number;
static enum how planned_how;
static int planned_error = EIO;

static long counts[KINDS];
static long failed;
static long half_written; // 1 between a short write and the failure of the write after it
static long log_unsynced; // writes of SQLite's log since its last fsync
static long sent, sent_after;
static char failed_at[64] = "-";

// What is not on disk yet. Guarded by the lock.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define UNSYNCED_MAX 64
static struct {
    dev_t device;
    ino_t number;
} unsynced[UNSYNCED_MAX]; // files written since their last fsync
static int unsynced_count;
// The log's last commit is not synced yet: it is under way, or was reported without a sync.
static int commit_unsynced;
// A commit was not synced when the next transaction started: it was reported without a sync.
static int finished_unsynced;
// Checks sent since the last commit was written. The next call on the log shows if that was allowed.
static long sent_meanwhile;
static long sent_unsynced, renamed_unsynced;

__attribute__((constructor)) static void begin(void) {
    folder = getenv("FAILING_STORAGE");
    folder_length = folder ? strlen(folder) : 0;
    const char *plan = getenv("FAILING_STORAGE_PLAN");
    char kind[16], how[16], error[16];
    if (!plan) return;
    if (sscanf(plan, "%15[^:]:%ld:%15[^:]:%15s", kind, &planned_number, how, error) != 4) {
        dprintf(2, "FAILING_STORAGE_PLAN: expected a fault like write:7:once:eio, found `%s`\n", plan);
        _exit(99);
    }
    for (int at = 0; at < KINDS; at++)
        if (!strcmp(kind, NAMES[at])) planned = at;
    planned_how = !strcmp(how, "forever") ? FOREVER : !strcmp(how, "short") ? SHORT : ONCE;
    planned_error = !strcmp(error, "enospc") ? ENOSPC : EIO;
}

__attribute__((destructor)) static void end(void) {
    if (!folder) return;
    char line[400] = "storage calls:";
    for (int at = 0; at < KINDS; at++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " %s=%ld", NAMES[at], counts[at]);
    dprintf(2, "%s failed=%ld sent=%ld sent-after=%ld sent-unsynced=%ld renamed-unsynced=%ld at=%s\n", line, failed, sent,
            sent_after, sent_unsynced, renamed_unsynced, failed_at);
}

static int is_inside(const char *path) {
    return folder && !strncmp(path, folder, folder_length) && (path[folder_length] == '/' || !path[folder_length]);
}

static int ends_in(const char *path, const char *end) {
    size_t length = strlen(path), end_length = strlen(end);
    return length >= end_length && !strcmp(path + length - end_length, end);
}

enum verdict { PASSES, FAILS, WRITES_HALF };

// Counts a call inside the folder and decides whether it fails; sets errno if it does.
static enum verdict judge_path(enum kind kind, const char *path) {
    if (!is_inside(path)) return PASSES;
    long number = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_SEQ_CST);
    int is_it = kind == planned && number == planned_number;
    int is_change = kind != OPEN && kind != READ;
    int keeps_failing = planned_how == FOREVER && (is_change || kind == planned) && __atomic_load_n(&failed, __ATOMIC_SEQ_CST);
    if (is_it && planned_how == SHORT) {
        __atomic_store_n(&half_written, 1, __ATOMIC_SEQ_CST);
        return WRITES_HALF;
    }
    int after_half = kind == WRITE && __atomic_exchange_n(&half_written, 0, __ATOMIC_SEQ_CST);
    int is_log = ends_in(path, "-wal");
    if (!is_it && !keeps_failing && !after_half) {
        if (is_log && kind == WRITE) __atomic_add_fetch(&log_unsynced, 1, __ATOMIC_SEQ_CST);
        return PASSES;
    }
    if (__atomic_add_fetch(&failed, 1, __ATOMIC_SEQ_CST) == 1) {
        int is_checkpoint = is_log && kind == SYNC && !__atomic_load_n(&log_unsynced, __ATOMIC_SEQ_CST);
        const char *name = is_checkpoint ? "/checkpoint" : strrchr(path, '/');
        snprintf(failed_at, sizeof failed_at, "%.63s", name ? name + 1 : path);
    }
    errno = planned_error;
    return FAILS;
}

// Whether the descriptor belongs to a file in the folder; fills in its path.
static int is_file(int fd, char path[4096]) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, 4095);
    if (length < 0) return 0;
    path[length] = 0;
    return is_inside(path);
}

static enum verdict judge(enum kind kind, int fd) {
    char path[4096];
    return is_file(fd, path) ? judge_path(kind, path) : PASSES;
}

// The index of the file among those with unsynced writes, or their count. Call it under the lock.
static int unsynced_at(const struct stat *file) {
    int at = 0;
    while (at < unsynced_count && (unsynced[at].device != file->st_dev || unsynced[at].number != file->st_ino)) at++;
    return at;
}

static void forget_unsynced(const struct stat *file) {
    int at = unsynced_at(file);
    if (at < unsynced_count) unsynced[at] = unsynced[--unsynced_count];
}

// A frame of the log starts with 24 bytes; in the last frame of a commit, bytes 4 to 8 are the size of the database.
static void note_frame(const unsigned char *header) {
    static const unsigned char none[4];
    if (commit_unsynced) {
        finished_unsynced = 1;
        sent_unsynced += sent_meanwhile;
        sent_meanwhile = 0;
    }
    commit_unsynced = !!memcmp(header + 4, none, 4);
}

// Bytes are written to a file of the folder.
static void note_written(int fd, const void *bytes, size_t count) {
    char path[4096];
    struct stat file;
    if (!is_file(fd, path) || fstat(fd, &file)) return;
    pthread_mutex_lock(&lock);
    if (unsynced_at(&file) == unsynced_count) {
        if (unsynced_count == UNSYNCED_MAX) {
            dprintf(2, "failing_storage: more than %d files with writes that were not synced\n", UNSYNCED_MAX);
            _exit(99);
        }
        unsynced[unsynced_count].device = file.st_dev;
        unsynced[unsynced_count++].number = file.st_ino;
    }
    if (ends_in(path, "-wal") && count == 24) note_frame(bytes);
    pthread_mutex_unlock(&lock);
}

// All writes to a file are on disk.
static void note_synced(int fd) {
    char path[4096];
    struct stat file;
    if (!is_file(fd, path) || fstat(fd, &file)) return;
    pthread_mutex_lock(&lock);
    forget_unsynced(&file);
    if (ends_in(path, "-wal")) {
        __atomic_store_n(&log_unsynced, 0, __ATOMIC_SEQ_CST);
        commit_unsynced = finished_unsynced = 0;
        sent_meanwhile = 0; // sent during a commit that was not reported yet
    }
    pthread_mutex_unlock(&lock);
}

static void note_name(enum kind kind, const char *path) {
    struct stat file;
    if (lstat(path, &file)) return;
    pthread_mutex_lock(&lock);
    if (kind == RENAME && unsynced_at(&file) < unsynced_count) renamed_unsynced++;
    if (kind == REMOVE) forget_unsynced(&file);
    pthread_mutex_unlock(&lock);
}

// A check is sent to the service.
static void note_sent(const void *bytes, size_t count) {
    if (count <= 5 || memcmp(bytes, "POST ", 5)) return;
    if (__atomic_load_n(&failed, __ATOMIC_SEQ_CST)) __atomic_add_fetch(&sent_after, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    sent++;
    if (finished_unsynced) sent_unsynced++;
    else if (commit_unsynced) sent_meanwhile++;
    pthread_mutex_unlock(&lock);
}

// The original function.
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OF_DESCRIPTOR(kind, name, parameters, fd, arguments)                                                           \
    int name parameters {                                                                                              \
        if (judge(kind, fd) != PASSES) return -1;                                                                      \
        return NEXT(name) arguments;                                                                                   \
    }
OF_DESCRIPTOR(TRUNCATE, ftruncate, (int fd, off_t length), fd, (fd, length))
OF_DESCRIPTOR(TRUNCATE, ftruncate64, (int fd, off64_t length), fd, (fd, length))

#define OF_SYNC(name)                                                                                                  \
    int name(int fd) {                                                                                                 \
        if (judge(SYNC, fd) != PASSES) return -1;                                                                      \
        int result = NEXT(name)(fd);                                                                                   \
        if (!result) note_synced(fd);                                                                                  \
        return result;                                                                                                 \
    }
OF_SYNC(fsync)
OF_SYNC(fdatasync)

#define OF_PATH(kind, name, parameters, path, source, arguments)                                                       \
    int name parameters {                                                                                              \
        if (judge_path(kind, path) != PASSES) return -1;                                                               \
        if (kind != MKDIR && is_inside(path)) note_name(kind, source);                                                 \
        return NEXT(name) arguments;                                                                                   \
    }
OF_PATH(RENAME, rename, (const char *from, const char *to), to, from, (from, to))
// Assumes that both folders are the working folder, or that the paths are absolute.
OF_PATH(RENAME, renameat2, (int from_fd, const char *from, int to_fd, const char *to, unsigned int flags), to, from,
        (from_fd, from, to_fd, to, flags))
OF_PATH(REMOVE, unlink, (const char *path), path, path, (path))
OF_PATH(MKDIR, mkdir, (const char *path, mode_t mode), path, path, (path, mode))

#define OF_BYTES(kind, name, parameters, bytes, arguments, half_arguments)                                             \
    ssize_t name parameters {                                                                                          \
        enum verdict verdict = judge(kind, fd);                                                                        \
        if (verdict == FAILS) return -1;                                                                               \
        if (kind == WRITE) note_written(fd, bytes, count);                                                             \
        if (verdict == WRITES_HALF) return NEXT(name) half_arguments;                                                  \
        return NEXT(name) arguments;                                                                                   \
    }
#define HALF ((count + 1) / 2)
OF_BYTES(WRITE, write, (int fd, const void *from, size_t count), from, (fd, from, count), (fd, from, HALF))
OF_BYTES(WRITE, pwrite, (int fd, const void *from, size_t count, off_t at), from, (fd, from, count, at),
         (fd, from, HALF, at))
OF_BYTES(WRITE, pwrite64, (int fd, const void *from, size_t count, off64_t at), from, (fd, from, count, at),
         (fd, from, HALF, at))
OF_BYTES(READ, read, (int fd, void *to, size_t count), to, (fd, to, count), (fd, to, HALF))
OF_BYTES(READ, pread, (int fd, void *to, size_t count, off_t at), to, (fd, to, count, at), (fd, to, HALF, at))
OF_BYTES(READ, pread64, (int fd, void *to, size_t count, off64_t at), to, (fd, to, count, at), (fd, to, HALF, at))

#define OPENING(name, parameters, arguments)                                                                           \
    int name parameters {                                                                                              \
        mode_t mode = 0;                                                                                               \
        if (flags & O_CREAT) {                                                                                         \
            va_list rest;                                                                                              \
            va_start(rest, flags);                                                                                     \
            mode = va_arg(rest, mode_t);                                                                               \
            va_end(rest);                                                                                              \
        }                                                                                                              \
        if (judge_path(flags & O_CREAT ? CREATE : OPEN, path) != PASSES) return -1;                                    \
        return NEXT(name) arguments;                                                                                   \
    }
OPENING(open, (const char *path, int flags, ...), (path, flags, mode))
OPENING(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENING(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPENING(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

// A request may be sent by these; files are written by writev too.
ssize_t send(int fd, const void *from, size_t count, int flags) {
    note_sent(from, count);
    return NEXT(send)(fd, from, count, flags);
}

ssize_t writev(int fd, const struct iovec *from, int count) {
    enum verdict verdict = judge(WRITE, fd);
    if (verdict == FAILS) return -1;
    if (count > 0) {
        note_written(fd, from->iov_base, from->iov_len);
        note_sent(from->iov_base, from->iov_len);
    }
    return NEXT(writev)(fd, from, verdict == WRITES_HALF ? HALF : count);
}
