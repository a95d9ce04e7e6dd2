// A machine that sleeps: preloaded into the program (LD_PRELOAD), this library moves its clock and simulates a sleep
// during a call.
//
// SHIFTED_CLOCK_S    the wall clock is ahead by this many seconds
// SHIFTED_SLEEP_IN   commit (fdatasync, fsync) or connect: the kind of call in which the machine sleeps
// SHIFTED_SLEEP_AT   the number of that call. The machine sleeps SHIFTED_SLEEP_S seconds during it: the wall clock jumps,
//                    the timer does not, and the file SHIFTED_SLEPT is created, so that a server can jump too

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead, sleep_s, sleep_at;
static const char *slept;
static int in_connect;
static long calls;
static int has_slept;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("SHIFTED_CLOCK_S");
    ahead = text ? atol(text) : 0;
    text = getenv("SHIFTED_SLEEP_S");
    sleep_s = text ? atol(text) : 0;
    text = getenv("SHIFTED_SLEEP_AT");
    sleep_at = text ? atol(text) : 0;
    text = getenv("SHIFTED_SLEEP_IN");
    in_connect = text && !strcmp(text, "connect");
    slept = getenv("SHIFTED_SLEPT");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += __atomic_load_n(&ahead, __ATOMIC_SEQ_CST);
    if (clock == CLOCK_BOOTTIME && __atomic_load_n(&has_slept, __ATOMIC_SEQ_CST)) now->tv_sec += sleep_s;
    return result;
}

static void called(int is_connect) {
    if (!sleep_at || is_connect != in_connect) return;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != sleep_at) return;
    __atomic_add_fetch(&ahead, sleep_s, __ATOMIC_SEQ_CST);
    __atomic_store_n(&has_slept, 1, __ATOMIC_SEQ_CST);
    int file = open(slept, O_CREAT | O_WRONLY, 0600);
    if (file >= 0) close(file);
    usleep(50 * 1000);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    int result = real(file);
    called(0);
    return result;
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    int result = real(file);
    called(0);
    return result;
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (!real) real = dlsym(RTLD_NEXT, "connect");
    int result = real(socket, address, length);
    int fault = errno; // of a connect that is under way
    if (address->sa_family == AF_INET) called(1);
    errno = fault;
    return result;
}
