/* (d) Crude six-process chain: P publisher -TCP-> S src_dist -shm-> A rrcpd -UDP multicast-> B rrcpd -shm-> D p2ps -TCP-> C client.
 * 74-byte bodies, batches as load permits, one-way latency from "message composed" to "message taken out of the receive buffer",
 * and from the instant the schedule wanted it (open loop, so a stalled publisher is not hidden).
 * pipe6 -r rate(0=max) -t secs -k tick_us -w spin_us(0=block at once) -y(yield in spins) -d dgram -g gso_segments -M(merge S+A and B+D: four processes) -Fpriority (SCHED_FIFO) -a cpus e.g. 010101 -K bytes per read -q bytes per publisher write
 * Socket buffers, 0 leaves them to the kernel: -R KB and -W KB what B receives and A sends into (UDP), -i bytes and -o bytes what S receives and D sends into (TCP)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include <linux/futex.h>
enum { RS = 4 << 20, RM = RS - 1, BODY = 74, REC = 88 };
typedef struct { _Alignas(64) _Atomic uint64_t head; _Alignas(64) _Atomic uint64_t tail; _Alignas(64) _Atomic uint32_t slp, wslp; _Alignas(64) char d[RS]; } ring_t;
typedef struct { ring_t r1, r2; _Atomic uint64_t agot; _Atomic int ready, up, prio[6]; int granted[4]; double cpu[6], wall; uint64_t wakes[6], reads[6]; } sh_t;
static sh_t *S; static int spin_us, yieldy = 1, dg = 8000, gso, merge, tick = 1000, maxread = 65536, fifo, udpin, udpout, tcpin, tcpout, chunk = 16000; static double rate = 1000, secs = 5; static const char *cpus; static int me; static uint64_t nwake;
static void fut(_Atomic uint32_t *a, int op, uint32_t v) { struct timespec t = {0, 200000000}; syscall(SYS_futex, a, op, v, op == FUTEX_WAIT ? &t : 0, 0, 0); }
/* ring: records of fixed REC bytes (power-of-two ring, REC does not divide it: handled by wrap copy of 8-byte words) */
static inline void put(ring_t *r, uint64_t at, const void *p) { uint32_t o = at & RM; if (o + REC <= RS) memcpy(r->d + o, p, BODY + 4); else { char t[REC]; memcpy(t, p, BODY + 4); memcpy(r->d + o, t, RS - o); memcpy(r->d, t + RS - o, REC - (RS - o)); } }
static inline const char *get(ring_t *r, uint64_t at, char *tmp) { uint32_t o = at & RM; if (o + REC <= RS) return r->d + o; memcpy(tmp, r->d + o, RS - o); memcpy(tmp + RS - o, r->d, REC - (RS - o)); return tmp; }
static void pub(ring_t *r, uint64_t h) { atomic_store(&r->head, h); if (atomic_load(&r->slp)) { atomic_store(&r->slp, 0); fut(&r->slp, FUTEX_WAKE, 1); } }
static void room(ring_t *r, uint64_t h) { while (h + REC - atomic_load_explicit(&r->tail, memory_order_acquire) > RS) { pub(r, h); sched_yield(); } }
static inline void relax(void) { if (yieldy) sched_yield(); else __builtin_ia32_pause(); }
static uint64_t avail(ring_t *r, uint64_t t) {
    uint64_t h = atomic_load_explicit(&r->head, memory_order_acquire);
    if (h != t) return h;
    if (spin_us) { uint64_t e = now_ns() + spin_us * 1000ull; do { relax(); h = atomic_load_explicit(&r->head, memory_order_acquire); if (h != t) return h; } while (now_ns() < e); }
    for (;;) {
        atomic_store(&r->slp, 1);
        h = atomic_load(&r->head);
        if (h != t) { atomic_store(&r->slp, 0); return h; }
        nwake++;
        fut(&r->slp, FUTEX_WAIT, 1);
        h = atomic_load(&r->head);
        if (h != t) return h;
    }
}
/* As src/netio sets them: beyond the limit of the system where the privilege is there (not for TCP), and what was granted. */
static int buffer(int fd, int force, int plain, int bytes) {
    int got = 0; socklen_t l = sizeof got;
    if (bytes && (!force || setsockopt(fd, SOL_SOCKET, force, &bytes, 4))) setsockopt(fd, SOL_SOCKET, plain, &bytes, 4);
    getsockopt(fd, SOL_SOCKET, plain, &got, &l);
    return got / 2;
}
static ssize_t rd(int fd, char *b, size_t n) {
    for (;;) {
        ssize_t g = recv(fd, b, n, MSG_DONTWAIT);
        if (g >= 0) return g;
        if (spin_us) { uint64_t e = now_ns() + spin_us * 1000ull; do { relax(); g = recv(fd, b, n, MSG_DONTWAIT); if (g >= 0) return g; } while (now_ns() < e); }
        struct pollfd p = {fd, POLLIN, 0}; nwake++; poll(&p, 1, -1);
    }
}
static void wr(int fd, const char *b, size_t n) { while (n) { ssize_t g = send(fd, b, n, 0); if (g < 0) { if (errno == EINTR) continue; die("send"); } b += g; n -= g; } }
typedef struct { int fd; char *b; size_t n, keep; } in_t; /* stream of [u16 length][body] */
/* A: datagram packer over a history of slots (that history is what a retransmission would be served from) */
enum { SLOTS = 4096 };
static int ufd; static char *hist; static uint32_t slot, first, fill, cnt; static uint64_t dseq; static uint32_t window; /* datagrams on their way, so few that B's buffer takes them */
static void usend(void) {
    if (slot == first) return;
    struct mmsghdr mm[64]; struct iovec iv[SLOTS]; int k = 0, per = gso ? gso : 1;
    while (first != slot) {
        int c = 0;
        memset(&mm[k], 0, sizeof mm[k]); mm[k].msg_hdr.msg_iov = &iv[k * per];
        while (c < per && first != slot) { char *s = hist + (size_t)(first % SLOTS) * dg; uint16_t l; memcpy(&l, s + 8, 2); iv[k * per + c] = (struct iovec){s, l}; c++; first++; if (l != dg && gso) break; }
        mm[k].msg_hdr.msg_iovlen = c; k++;
        if (k == 64 || k * per >= (int)window || first == slot || (k + 1) * per > SLOTS) { while (dseq - (slot - first) - atomic_load(&S->agot) > window) sched_yield(); /* stand-in for NAK-driven flow control */ int done = 0; while (done < k) { int g = sendmmsg(ufd, mm + done, k - done, 0); if (g < 0) die("sendmmsg"); done += g; } k = 0; }
    }
}
static void dclose(void) { if (!cnt) return; char *s = hist + (size_t)(slot % SLOTS) * dg; memcpy(s, &dseq, 8); uint16_t l = gso ? dg : fill; /* GSO wants equal sizes except the last */ uint16_t used = fill; if (gso) memset(s + fill, 0, dg - fill); memcpy(s + 8, &l, 2); memcpy(s + 10, &used, 2); memcpy(s + 12, &cnt, 4); dseq++; slot++; fill = 16; cnt = 0; }
static void dput(const char *rec) { char *s; uint16_t l = BODY; if (fill + BODY + 2 > (uint32_t)dg) { dclose(); if (slot - first >= 512) usend(); } s = hist + (size_t)(slot % SLOTS) * dg; memcpy(s + fill, &l, 2); memcpy(s + fill + 2, rec + 4, BODY); fill += BODY + 2; cnt++; }
static void dflush(void) { if (cnt && gso) { /* last one keeps its true size */ char *s = hist + (size_t)(slot % SLOTS) * dg; memcpy(s, &dseq, 8); uint16_t l = fill; memcpy(s + 8, &l, 2); memcpy(s + 10, &l, 2); memcpy(s + 12, &cnt, 4); dseq++; slot++; fill = 16; cnt = 0; } else dclose(); usend(); }
static void enter(int i) {
    me = i; prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (cpus) pin(cpus[i] - '0');
    if (fifo) { struct sched_param p = {.sched_priority = fifo}; sched_setscheduler(0, SCHED_FIFO, &p); }
    struct sched_param got = {0}; sched_getparam(0, &got); S->prio[i] = got.sched_priority;
    prctl(PR_SET_TIMERSLACK, 1);
}
static void leave(void) { S->cpu[me] = cpu_s(RUSAGE_SELF); S->wakes[me] = nwake; _exit(0); }
int main(int argc, char **argv) {
    int o;
    while ((o = getopt(argc, argv, "r:t:k:w:yYd:g:MF:a:K:q:R:W:i:o:")) != -1) switch (o) {
        case 'r': rate = atof(optarg); break; case 't': secs = atof(optarg); break; case 'k': tick = atoi(optarg); break; case 'w': spin_us = atoi(optarg); break;
        case 'y': yieldy = 1; break; case 'Y': yieldy = 0; break; case 'd': dg = atoi(optarg); break; case 'g': gso = atoi(optarg); break; case 'M': merge = 1; break; case 'F': fifo = atoi(optarg); break; case 'R': udpin = atoi(optarg) << 10; break; case 'W': udpout = atoi(optarg) << 10; break; case 'i': tcpin = atoi(optarg); break; case 'o': tcpout = atoi(optarg); break; case 'a': cpus = optarg; break; case 'K': maxread = atoi(optarg); break; case 'q': chunk = atoi(optarg); break; default: return 2; }
    private_net();
    S = shared(sizeof *S);
    int ls[2], port[2]; socklen_t al = sizeof(struct sockaddr_in);
    for (int i = 0; i < 2; i++) { struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}; ls[i] = socket(AF_INET, SOCK_STREAM, 0); if (!i) S->granted[2] = buffer(ls[0], 0, SO_RCVBUF, tcpin); if (bind(ls[i], (void *)&a, al) || listen(ls[i], 4)) die("listen"); getsockname(ls[i], (void *)&a, &al); port[i] = a.sin_port; }
    struct sockaddr_in mc = {.sin_family = AF_INET, .sin_port = htons(7777), .sin_addr.s_addr = inet_addr("239.9.9.9")};
    int one = 1; struct ip_mreqn mr = {.imr_multiaddr = mc.sin_addr, .imr_ifindex = 1};
    /* C */
    if (!fork()) {
        enter(5);
        int fd = accept(ls[1], 0, 0); char *b = malloc(1 << 20); size_t keep = 0; static hist_t hs, hp; uint64_t want = 0, gaps = 0, n = 0, t0 = 0, tl = 0;
        for (;;) {
            ssize_t g = rd(fd, b + keep, maxread);
            if (g <= 0) break;
            size_t e = keep + g, p = 0; 
            while (e - p >= 2) {
                uint16_t l; memcpy(&l, b + p, 2);
                if (e - p < 2u + l) break;
                uint64_t seq, ts, due; memcpy(&seq, b + p + 2 + 8, 8); memcpy(&ts, b + p + 2 + 16, 8); memcpy(&due, b + p + 2 + 24, 8);
                p += 2 + l;
                if (seq == ~0ull) goto end;
                if (seq != want) gaps++;
                want = seq + 1;
                uint64_t now = now_ns();
                if (!t0) t0 = now;
                if (now - t0 > 500000000ull) { hist_add(&hs, now - ts); hist_add(&hp, now - due); tl = now; n++; }
            }
            keep = e - p; if (keep) memmove(b, b + p, keep);
        }
    end:;
        char w[160]; snprintf(w, sizeof w, "pipe6%s rate=%.0f tick=%d spin=%d dg=%d gso=%d fifo=%d got=%.0f/s gaps=%lu sent->recv:", merge ? " merged" : "", rate, tick, spin_us, dg, gso, fifo, n / ((tl - t0 - 500000000ull) / 1e9), gaps);
        hist_line(&hs, w); hist_line(&hp, "      due->recv:");
        leave();
    }
    /* B and D */
    int mcfd = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(mcfd, SOL_SOCKET, SO_REUSEADDR, &one, 4); S->granted[0] = buffer(mcfd, SO_RCVBUFFORCE, SO_RCVBUF, udpin); window = (uint64_t)S->granted[0] * 3 / 8 / (dg + 800) + 1;
    if (bind(mcfd, (void *)&mc, sizeof mc) || setsockopt(mcfd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mr, sizeof mr)) die("mc");
    if (gso) setsockopt(mcfd, IPPROTO_UDP, UDP_GRO, &one, 4);
    if (!fork()) {
        enter(3);
        enum { V = 16 }; struct mmsghdr mm[V]; struct iovec iv[V]; char *b = malloc(V * 65536), *out = malloc(1 << 20); size_t on = 0; uint64_t h = 0, want = 0, lost = 0; int cfd = -1; uint32_t *sid = calloc(200000, 4);
        memset(b, 0, V * 65536);
        if (merge) { struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = port[1], .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}; cfd = socket(AF_INET, SOCK_STREAM, 0); S->granted[3] = buffer(cfd, 0, SO_SNDBUF, tcpout); if (connect(cfd, (void *)&a, al)) die("connect"); setsockopt(cfd, IPPROTO_TCP, TCP_NODELAY, &one, 4); }
        for (;;) {
            for (int i = 0; i < V; i++) { iv[i] = (struct iovec){b + i * 65536, 65536}; memset(&mm[i], 0, sizeof mm[i]); mm[i].msg_hdr.msg_iov = &iv[i]; mm[i].msg_hdr.msg_iovlen = 1; }
            int n = recvmmsg(mcfd, mm, V, MSG_DONTWAIT, 0);
            if (n < 0 && spin_us) { uint64_t e = now_ns() + spin_us * 1000ull; do { relax(); n = recvmmsg(mcfd, mm, V, MSG_DONTWAIT, 0); } while (n < 0 && now_ns() < e); }
            if (n < 0) { struct pollfd p = {mcfd, POLLIN, 0}; nwake++; poll(&p, 1, -1); continue; }
            int fin = 0;
            for (int i = 0; i < n; i++) for (uint32_t o = 0; o < mm[i].msg_len;) {
                char *s = b + i * 65536 + o; uint64_t sq; uint16_t l, used; memcpy(&sq, s, 8); memcpy(&l, s + 8, 2); memcpy(&used, s + 10, 2);
                if (sq != want) lost += sq - want;
                want = sq + 1; 
                for (uint32_t p = 16; p + 2 + BODY <= used; p += 2 + BODY) {
                    uint64_t seq; memcpy(&seq, s + p + 2 + 8, 8); if (seq == ~0ull) fin = 1;
                    if (merge) { uint32_t it; memcpy(&it, s + p + 2, 4); memcpy(out + on, s + p, 2 + BODY); uint32_t id = sid[it % 200000] + 5; memcpy(out + on + 2, &id, 4); on += 2 + BODY; if (on > 60000) { wr(cfd, out, on); on = 0; } }
                    else { room(&S->r2, h); put(&S->r2, h, s + p - 2); h += REC; }
                }
                o += l;
            }
            atomic_store(&S->agot, want);
            if (merge) { wr(cfd, out, on); on = 0; } else pub(&S->r2, h);
            if (fin) { if (lost) printf("B lost %lu datagrams\n", lost); leave(); }
        }
    }
    if (!merge && !fork()) {
        enter(4);
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = port[1], .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}; int cfd = socket(AF_INET, SOCK_STREAM, 0); S->granted[3] = buffer(cfd, 0, SO_SNDBUF, tcpout); if (connect(cfd, (void *)&a, al)) die("connect"); setsockopt(cfd, IPPROTO_TCP, TCP_NODELAY, &one, 4);
        char *out = malloc(1 << 20), tmp[REC]; size_t on = 0; uint64_t t = 0; uint32_t *sid = calloc(200000, 4); int fin = 0;
        while (!fin) {
            uint64_t h = avail(&S->r2, t);
            while (t < h) { const char *q = get(&S->r2, t, tmp) + 4; uint16_t l = BODY; uint32_t it; uint64_t seq; memcpy(&it, q, 4); memcpy(&seq, q + 8, 8); if (seq == ~0ull) fin = 1; memcpy(out + on, &l, 2); memcpy(out + on + 2, q, BODY); it = sid[it % 200000] + 5; memcpy(out + on + 2, &it, 4); on += 2 + BODY; t += REC; if (on > 60000) { atomic_store_explicit(&S->r2.tail, t, memory_order_release); wr(cfd, out, on); on = 0; } }
            atomic_store_explicit(&S->r2.tail, t, memory_order_release);
            wr(cfd, out, on); on = 0;
        }
        leave();
    }
    /* A and S */
    ufd = socket(AF_INET, SOCK_DGRAM, 0); mr.imr_multiaddr.s_addr = 0; setsockopt(ufd, IPPROTO_IP, IP_MULTICAST_IF, &mr, sizeof mr); S->granted[1] = buffer(ufd, SO_SNDBUFFORCE, SO_SNDBUF, udpout);
    if (connect(ufd, (void *)&mc, sizeof mc)) die("connect mc");
    if (gso && setsockopt(ufd, IPPROTO_UDP, UDP_SEGMENT, &dg, 4)) die("gso");
    hist = malloc((size_t)SLOTS * dg); fill = 16;
    if (!merge && !fork()) {
        enter(2); memset(hist, 0, (size_t)SLOTS * dg); char tmp[REC]; uint64_t t = 0; int fin = 0;
        while (!fin) { uint64_t h = avail(&S->r1, t); while (t < h) { const char *q = get(&S->r1, t, tmp); uint64_t seq; memcpy(&seq, q + 4 + 8, 8); if (seq == ~0ull) fin = 1; dput(q); t += REC; } atomic_store_explicit(&S->r1.tail, t, memory_order_release); dflush(); }
        leave();
    }
    if (!fork()) {
        enter(1); if (merge) memset(hist, 0, (size_t)SLOTS * dg);
        int fd = accept(ls[0], 0, 0), fin = 0; char *b = malloc(1 << 20); size_t keep = 0; uint64_t h = 0; uint32_t *state = calloc(200000, 4);
        while (!fin) {
            ssize_t g = rd(fd, b + keep, maxread); if (g <= 0) break; size_t e = keep + g, p = 0;
            while (e - p >= 2) { uint16_t l; memcpy(&l, b + p, 2); if (e - p < 2u + l) break; uint32_t it; uint64_t seq; memcpy(&it, b + p + 2, 4); state[it % 200000]++; memcpy(&seq, b + p + 2 + 8, 8); if (seq == ~0ull) fin = 1; if (merge) dput(b + p - 2); else { room(&S->r1, h); put(&S->r1, h, b + p - 2); h += REC; } p += 2 + l; }
            if (merge) dflush(); else pub(&S->r1, h);
            keep = e - p; if (keep) memmove(b, b + p, keep);
        }
        leave();
    }
    /* P */
    enter(0);
    usleep(100000);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = port[0], .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}; int fd = socket(AF_INET, SOCK_STREAM, 0); if (connect(fd, (void *)&a, al)) die("connect"); setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, 4);
    alarm(secs + 15);
    uint64_t t0 = now_ns() + 1000000, sent = 0, end = t0 + secs * 1e9, next = t0; char *b = calloc(1, 1 << 17); size_t n = 0; double c0 = cpu_s(RUSAGE_SELF);
    if (rate && rate * tick / 1e6 < 1) tick = 1e6 / rate;
    for (;;) {
        if (rate) { next += tick * 1000ull; sleep_until(next); }
        uint64_t now = now_ns();
        if (now > end) break;
        uint64_t due = rate ? (uint64_t)((now - t0) * rate / 1e9) : sent + 700;
        while (sent < due) {
            uint16_t l = BODY; uint32_t it = sent % 1000; uint64_t ts = now_ns(), d = rate ? next : ts; /* due: the burst's instant, as in ours */
            memcpy(b + n, &l, 2); memcpy(b + n + 2, &it, 4); memcpy(b + n + 10, &sent, 8); memcpy(b + n + 18, &ts, 8); memcpy(b + n + 26, &d, 8); n += 2 + BODY; sent++;
            if (n > (size_t)chunk) { wr(fd, b, n); n = 0; }
        }
        if (n) { wr(fd, b, n); n = 0; }
    }
    uint64_t last = ~0ull; uint16_t l = BODY; memcpy(b, &l, 2); memcpy(b + 10, &last, 8); wr(fd, b, 2 + BODY);
    double wall = (now_ns() - t0) / 1e9; S->cpu[0] = cpu_s(RUSAGE_SELF) - c0;
    int left = 60; while (left-- && waitpid(-1, 0, WNOHANG) >= 0) usleep(20000);
    printf("      cpu%%: P %.0f S %.0f A %.0f B %.0f D %.0f C %.0f total %.0f of 200; sleeps/s S %.0f A %.0f B %.0f D %.0f C %.0f; sent %.0f/s\n", 100 * S->cpu[0] / wall, 100 * S->cpu[1] / wall, 100 * S->cpu[2] / wall, 100 * S->cpu[3] / wall, 100 * S->cpu[4] / wall, 100 * S->cpu[5] / wall,
        100 * (S->cpu[0] + S->cpu[1] + S->cpu[2] + S->cpu[3] + S->cpu[4] + S->cpu[5]) / wall, S->wakes[1] / wall, S->wakes[2] / wall, S->wakes[3] / wall, S->wakes[4] / wall, S->wakes[5] / wall, sent / wall);
    printf("      buffers: B %d A %d S %d D %d; priorities: P %d S %d A %d B %d D %d C %d\n", S->granted[0], S->granted[1], S->granted[2], S->granted[3], S->prio[0], S->prio[1], S->prio[2], S->prio[3], S->prio[4], S->prio[5]);
    return 0;
}
