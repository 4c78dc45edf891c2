/* Small helpers shared by the limit prototypes: clock, pinning, latency histogram, network namespace. */
/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#ifndef COMMON_H
#define COMMON_H
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define die(...) do { fprintf(stderr, __VA_ARGS__); fprintf(stderr, ": %s\n", strerror(errno)); _exit(1); } while (0)

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + t.tv_nsec;
}
static inline void pin(int cpu) {
    if (cpu < 0) return;
    cpu_set_t s;
    CPU_ZERO(&s);
    CPU_SET(cpu, &s);
    sched_setaffinity(0, sizeof s, &s);
}
/* A fresh network namespace with a working, multicast-capable loopback (needs root). */
static inline void private_net(void) {
    if (unshare(CLONE_NEWNET)) { perror("unshare(CLONE_NEWNET)"); return; }
    if (system("ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo")) fprintf(stderr, "lo setup failed\n");
}
static inline double cpu_s(int who) {
    struct rusage r;
    getrusage(who, &r);
    return r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}
static inline void *shared(size_t n) {
    void *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) die("mmap");
    return p;
}
static inline void sleep_until(uint64_t ns) {
    struct timespec t = {ns / 1000000000ull, ns % 1000000000ull};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR) {}
}

/* log-linear histogram of nanoseconds, 64 steps per power of two (about 1.6 % resolution) */
typedef struct {
    uint64_t n, max, min, c[64 * 40];
    double sum, sq;
} hist_t;
static inline void hist_add(hist_t *h, uint64_t v) {
    int e = v < 64 ? 0 : 63 - __builtin_clzll(v) - 5;
    int i = v < 64 ? (int)v : e * 64 + (int)((v >> (e - 1)) & 63) ;
    /* values >=64: e>=1; mantissa bits below the top bit */
    if (v >= 64) i = e * 64 + (int)((v >> (e - 1)) - 64);
    if (i >= 64 * 40) i = 64 * 40 - 1;
    h->c[i]++;
    if (!h->n || v < h->min) h->min = v;
    if (v > h->max) h->max = v;
    h->n++;
    h->sum += v;
    h->sq += (double)v * v;
}
static inline uint64_t hist_q(const hist_t *h, double q) {
    uint64_t want = (uint64_t)(q * h->n), got = 0;
    if (want >= h->n) want = h->n ? h->n - 1 : 0;
    for (int i = 0; i < 64 * 40; i++) {
        got += h->c[i];
        if (got > want) return i < 64 ? (uint64_t)i : ((uint64_t)(i % 64 + 64)) << (i / 64 - 1);
    }
    return h->max;
}
static inline void hist_line(const hist_t *h, const char *what) {
    double m = h->n ? h->sum / h->n : 0, sd = h->n ? sqrt(fmax(0, h->sq / h->n - m * m)) : 0;
    printf("%s n=%lu min=%.1f mean=%.1f p50=%.1f p99=%.1f p99.9=%.1f max=%.1f stddev=%.1f us\n", what, h->n,
           h->min / 1e3, m / 1e3, hist_q(h, .5) / 1e3, hist_q(h, .99) / 1e3, hist_q(h, .999) / 1e3, h->max / 1e3, sd / 1e3);
    fflush(stdout);
}
#endif
