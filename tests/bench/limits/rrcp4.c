/* (3) Reliable-multicast level: K publishers -> (shm) -> A -> UDP multicast -> B -> (shm) -> K subscribers; or -l "library" form: publisher packs and sends itself, subscriber receives itself.
 * rrcp4 -s body_size -K pairs -r rate per publisher (0 = max) -t secs -k tick_us -d dgram -g gso segments -w spin_us -l */
/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include "common.h"
#include <linux/futex.h>
enum { RS = 4 << 20, RM = RS - 1 };
typedef struct { _Alignas(64) _Atomic uint64_t head; _Alignas(64) _Atomic uint64_t tail; _Alignas(64) _Atomic uint32_t *bell; char d[RS]; } ring_t;
typedef struct { ring_t in[4], out[4]; _Alignas(64) _Atomic uint32_t bell_a, bell_b[4]; _Alignas(64) _Atomic uint64_t agot[4]; _Atomic int stop; double cpu[16]; uint64_t n[4]; double el[4]; hist_t h[4]; uint64_t gaps[4], sent[4], dgs; } sh_t;
static sh_t *S; static int size = 64, K = 1, dg = 8000, gso, spin_us, tick = 1000, lib, REC; static double rate, secs = 3;
static void fut(_Atomic uint32_t *a, int op, uint32_t v) { struct timespec t = {0, 100000000}; syscall(SYS_futex, a, op, v, op == FUTEX_WAIT ? &t : 0, 0, 0); }
static void ring_bell(_Atomic uint32_t *b) { atomic_thread_fence(memory_order_seq_cst); if (atomic_load(b)) { atomic_store(b, 0); fut(b, FUTEX_WAKE, 1); } }
static inline void cpin(ring_t *r, uint64_t at, const char *p, uint32_t n) { uint32_t o = at & RM; if (o + n <= RS) memcpy(r->d + o, p, n); else { memcpy(r->d + o, p, RS - o); memcpy(r->d, p + RS - o, n - (RS - o)); } }
static inline void cpout(ring_t *r, uint64_t at, char *p, uint32_t n) { uint32_t o = at & RM; if (o + n <= RS) memcpy(p, r->d + o, n); else { memcpy(p, r->d + o, RS - o); memcpy(p + RS - o, r->d, n - (RS - o)); } }
typedef struct { int fd; char *hist; uint32_t slots, slot, first, fill; uint64_t seq; int ch; } tx_t;
static void tx_open(tx_t *t, int ch) {
    memset(t, 0, sizeof *t); t->ch = ch; t->fd = socket(AF_INET, SOCK_DGRAM, 0); struct ip_mreqn m = {.imr_ifindex = 1}; setsockopt(t->fd, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof m); int big = 16 << 20; setsockopt(t->fd, SOL_SOCKET, SO_SNDBUFFORCE, &big, 4);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(7800 + ch), .sin_addr.s_addr = htonl(0xEF020202 + ch)}; if (connect(t->fd, (void *)&a, sizeof a)) die("connect"); if (gso && setsockopt(t->fd, IPPROTO_UDP, UDP_SEGMENT, &dg, 4)) die("gso");
    t->slots = 1024; t->hist = malloc((size_t)t->slots * dg); memset(t->hist, 0, (size_t)t->slots * dg); t->fill = 16;
}
static void tx_send(tx_t *t) {
    while (t->seq - atomic_load(&S->agot[t->ch]) > (uint64_t)(24 << 20) / (dg + 800) && !S->stop) sched_yield();
    static struct mmsghdr mm[64]; static struct iovec iv[64 * 64]; int per = gso ? gso : 1;
    while (t->first != t->slot) { int k = 0; while (k < 64 && t->first != t->slot) { int c = 0; memset(&mm[k], 0, sizeof mm[k]); mm[k].msg_hdr.msg_iov = &iv[k * per]; while (c < per && t->first != t->slot) { char *s = t->hist + (size_t)(t->first % t->slots) * dg; uint16_t l; memcpy(&l, s + 8, 2); iv[k * per + c++] = (struct iovec){s, l}; t->first++; if (l != dg) break; } mm[k].msg_hdr.msg_iovlen = c; k++; } for (int d = 0; d < k;) { int g = sendmmsg(t->fd, mm + d, k - d, 0); if (g < 0) die("sendmmsg"); d += g; } }
}
static void tx_close(tx_t *t, int last) { if (t->fill == 16) return; char *s = t->hist + (size_t)(t->slot % t->slots) * dg; memcpy(s, &t->seq, 8); uint16_t l = gso && !last ? dg : t->fill, u = t->fill; memcpy(s + 8, &l, 2); memcpy(s + 10, &u, 2); t->seq++; t->slot++; t->fill = 16; if (t->slot - t->first >= 128) tx_send(t); }
static inline char *tx_put(tx_t *t, uint16_t tag) { if (t->fill + size + 4 > dg) tx_close(t, 0); char *d = t->hist + (size_t)(t->slot % t->slots) * dg + t->fill; uint16_t l = size; memcpy(d, &l, 2); memcpy(d + 2, &tag, 2); t->fill += size + 4; return d + 4; }
static void tx_flush(tx_t *t) { tx_close(t, 1); tx_send(t); }
typedef void msg_fn(uint16_t tag, const char *b);
static int rx_open(int ch) { int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1, big = 64 << 20; setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, 4); struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(7800 + ch), .sin_addr.s_addr = htonl(0xEF020202 + ch)}; struct ip_mreqn m = {.imr_multiaddr = a.sin_addr, .imr_ifindex = 1}; if (bind(fd, (void *)&a, sizeof a) || setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof m)) die("rx"); if (gso) setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, 4); return fd; }
static void rx_loop(int fd, int ch, msg_fn *on, void (*after)(void)) {
    enum { V = 16 }; static struct mmsghdr mm[V]; static struct iovec iv[V]; char *b = malloc(V * 65536); memset(b, 0, V * 65536); uint64_t want = 0;
    while (!S->stop) {
        for (int i = 0; i < V; i++) { iv[i] = (struct iovec){b + i * 65536, 65536}; memset(&mm[i], 0, sizeof mm[i]); mm[i].msg_hdr.msg_iov = &iv[i]; mm[i].msg_hdr.msg_iovlen = 1; }
        int n = recvmmsg(fd, mm, V, MSG_DONTWAIT, 0);
        if (n < 0 && spin_us) { uint64_t e = now_ns() + spin_us * 1000ull; do { sched_yield(); n = recvmmsg(fd, mm, V, MSG_DONTWAIT, 0); } while (n < 0 && now_ns() < e); }
        if (n < 0) { struct pollfd p = {fd, POLLIN, 0}; poll(&p, 1, 50); continue; }
        for (int i = 0; i < n; i++) for (uint32_t o = 0; o < mm[i].msg_len;) { char *s = b + i * 65536 + o; uint64_t sq; uint16_t l, u; memcpy(&sq, s, 8); memcpy(&l, s + 8, 2); memcpy(&u, s + 10, 2); if (sq != want) S->gaps[ch]++; want = sq + 1; for (uint32_t p = 16; p < u;) { uint16_t ml, tag; memcpy(&ml, s + p, 2); memcpy(&tag, s + p + 2, 2); on(tag, s + p + 4); p += 4 + ml; } o += l; }
        atomic_store(&S->agot[ch], want); after();
    }
}
static uint64_t bh[4];
static void b_on(uint16_t tag, const char *b) { ring_t *r = &S->out[tag]; while (bh[tag] + REC - atomic_load_explicit(&r->tail, memory_order_acquire) > RS && !S->stop) { atomic_store(&r->head, bh[tag]); ring_bell(&S->bell_b[tag]); sched_yield(); } cpin(r, bh[tag], b, size); bh[tag] += REC; }
static void b_after(void) { for (int k = 0; k < K; k++) if (bh[k] != atomic_load_explicit(&S->out[k].head, memory_order_relaxed)) { atomic_store(&S->out[k].head, bh[k]); ring_bell(&S->bell_b[k]); } }
static int me; static uint64_t c_t0, c_n, c_want, c_gap;
static void c_on(uint16_t tag, const char *b) { uint64_t sq, ts, now = now_ns(); (void)tag; memcpy(&sq, b, 8); memcpy(&ts, b + 8, 8); if (sq != c_want) c_gap++; c_want = sq + 1; if (!c_t0) c_t0 = now; if (now - c_t0 > 500000000ull) { hist_add(&S->h[me], now - ts); c_n++; S->n[me] = c_n; S->el[me] = (now - c_t0 - 500000000ull) / 1e9; } }
static void nop(void) {}
int main(int argc, char **argv) {
    int o; while ((o = getopt(argc, argv, "s:K:r:t:k:d:g:w:l")) != -1) switch (o) { case 's': size = atoi(optarg); break; case 'K': K = atoi(optarg); break; case 'r': rate = atof(optarg); break; case 't': secs = atof(optarg); break; case 'k': tick = atoi(optarg); break; case 'd': dg = atoi(optarg); break; case 'g': gso = atoi(optarg); break; case 'w': spin_us = atoi(optarg); break; case 'l': lib = 1; break; default: return 2; }
    REC = (size + 7) & ~7; private_net(); S = shared(sizeof *S);
    for (int k = 0; k < (lib ? K : 1); k++) { int fd = rx_open(k); if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGKILL); me = k; rx_loop(fd, k, lib ? c_on : b_on, lib ? nop : b_after); S->cpu[lib ? 8 + k : 1] = cpu_s(RUSAGE_SELF); if (lib) S->gaps[k] += c_gap; _exit(0); } close(fd); }
    if (!lib) {
        for (int k = 0; k < K; k++) if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGKILL); me = k; ring_t *r = &S->out[k]; uint64_t t = 0; char b[2048];
            while (!S->stop) { uint64_t h = atomic_load_explicit(&r->head, memory_order_acquire); if (h == t) { if (spin_us) { uint64_t e = now_ns() + spin_us * 1000ull; do { sched_yield(); h = atomic_load_explicit(&r->head, memory_order_acquire); } while (h == t && now_ns() < e); } if (h == t) { atomic_store(&S->bell_b[k], 1); if (atomic_load(&r->head) == t) fut(&S->bell_b[k], FUTEX_WAIT, 1); continue; } }
                while (t < h) { cpout(r, t, b, size); c_on(k, b); t += REC; if (!(t & 0x1ffff)) atomic_store_explicit(&r->tail, t, memory_order_release); } atomic_store_explicit(&r->tail, t, memory_order_release); }
            S->cpu[8 + k] = cpu_s(RUSAGE_SELF); S->gaps[k] += c_gap; _exit(0); }
        if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGKILL); tx_t t; tx_open(&t, 0); uint64_t tl[4] = {0};
            while (!S->stop) { int any = 0; for (int k = 0; k < K; k++) { ring_t *r = &S->in[k]; uint64_t h = atomic_load_explicit(&r->head, memory_order_acquire); if (h == tl[k]) continue; any = 1; if (h - tl[k] > 65536 / REC * REC) h = tl[k] + 65536 / REC * REC; while (tl[k] < h) { cpout(r, tl[k], tx_put(&t, k), size); tl[k] += REC; } atomic_store_explicit(&r->tail, tl[k], memory_order_release); }
                if (any) { tx_flush(&t); continue; }
                if (spin_us) { uint64_t e = now_ns() + spin_us * 1000ull; do { sched_yield(); for (int k = 0; k < K; k++) any |= atomic_load_explicit(&S->in[k].head, memory_order_acquire) != tl[k]; } while (!any && now_ns() < e); if (any) continue; }
                atomic_store(&S->bell_a, 1); atomic_thread_fence(memory_order_seq_cst); for (int k = 0; k < K; k++) any |= atomic_load(&S->in[k].head) != tl[k]; if (!any) fut(&S->bell_a, FUTEX_WAIT, 1); else atomic_store(&S->bell_a, 0); }
            S->cpu[0] = cpu_s(RUSAGE_SELF); S->dgs = t.seq; _exit(0); }
    }
    usleep(100000);
    for (int k = 0; k < K; k++) if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGKILL); prctl(PR_SET_TIMERSLACK, 1); tx_t t; if (lib) tx_open(&t, k); ring_t *r = &S->in[k]; uint64_t h = 0, sent = 0, st = now_ns(), next = st; char b[2048] = {0};
        int tk = tick; if (rate && rate * tk / 1e6 < 1) tk = 1e6 / rate;
        while (!S->stop) { uint64_t due = sent + 256; if (rate) { next += tk * 1000ull; sleep_until(next); due = (now_ns() - st) * rate / 1e9; }
            while (sent < due && !S->stop) { uint64_t ts = now_ns(); if (lib) { char *d = tx_put(&t, k); memcpy(d + 16, b, size - 16); memcpy(d, &sent, 8); memcpy(d + 8, &ts, 8); } else { while (h + REC - atomic_load_explicit(&r->tail, memory_order_acquire) > (rate ? RS : 256 * 1024) && !S->stop) { atomic_store(&r->head, h); ring_bell(&S->bell_a); sched_yield(); } memcpy(b, &sent, 8); memcpy(b + 8, &ts, 8); cpin(r, h, b, size); h += REC; } sent++; }
            if (lib) tx_flush(&t); else { atomic_store(&r->head, h); ring_bell(&S->bell_a); }
            S->sent[k] = sent; }
        S->cpu[4 + k] = cpu_s(RUSAGE_SELF); _exit(0); }
    usleep(secs * 1e6 + 600000); S->stop = 1; for (int i = 0; i < 100 && waitpid(-1, 0, WNOHANG) >= 0; i++) usleep(10000);
    hist_t *h = calloc(1, sizeof *h); double tot = 0, cpu = 0; uint64_t gaps = 0; for (int k = 0; k < K; k++) { tot += S->n[k] / S->el[k]; gaps += S->gaps[k]; h->n += S->h[k].n; h->sum += S->h[k].sum; h->sq += S->h[k].sq; if (!k || S->h[k].min < h->min) h->min = S->h[k].min; if (S->h[k].max > h->max) h->max = S->h[k].max; for (int i = 0; i < 64 * 40; i++) h->c[i] += S->h[k].c[i]; } for (int i = 0; i < 16; i++) cpu += S->cpu[i];
    char w[200]; snprintf(w, sizeof w, "rrcp4%s %d:%d size=%d rate=%.0f tick=%d dg=%d gso=%d spin=%d got=%.0f msg/s %.0f MB/s gaps=%lu cpu%%=%.0f of 200:", lib ? " lib" : "", K, K, size, rate, tick, dg, gso, spin_us, tot, tot * size / 1e6, gaps, 100 * cpu / (secs + .6)); hist_line(h, w);
    return 0;
}
