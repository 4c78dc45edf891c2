/* (e) Fan-out prototype: F feeder -(TCP)-> P "p2ps-like" forwarder -> N TCP clients, all read by R reader processes that only walk the frame headers.
 * 74-byte bodies (90 bytes on the wire per client in the default packing: 3-byte frame header per packed buffer, 2-byte length per message + 14 bytes of message header stand-in).
 * fanout -n clients -r inbound_rate(0=max) -f flush_bytes -m shared|copy|item -q client queue bytes -R readers -t secs -B packed buffer size
 *   shared: one packed byte stream, written to every client as is (possible only if all clients' stream ids agree);
 *   copy:   batch-major: for each client walk the input batch, copy each message into that client's buffer, patch its stream id;
 *   item:   message-major: for each message walk the item's subscriber list (client, stream id), append to that client's buffer, patch the id.
 * -w send|uring|fixed: a system call a client; one io_uring_enter for all clients; the same from registered buffers without a copy (SEND_ZC).
 * -M bytes: the loopback's MTU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
enum { BODY = 88, REC = 90 };
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <sys/uio.h>
typedef struct { int fd; _Atomic uint32_t *st, *ch, *ct; uint32_t *sa, sm, cm; struct io_uring_sqe *sq; struct io_uring_cqe *cq; } ring_t;
static void ring_open(ring_t *r, uint32_t entries) {
    struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN};
    if ((r->fd = syscall(SYS_io_uring_setup, entries, &p)) < 0) die("io_uring_setup");
    size_t s = p.sq_off.array + p.sq_entries * 4, c = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    char *m = mmap(0, s > c ? s : c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQ_RING);
    r->sq = mmap(0, p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
    if (m == MAP_FAILED || r->sq == MAP_FAILED) die("ring");
    r->st = (void *)(m + p.sq_off.tail); r->sm = p.sq_entries - 1; r->sa = (void *)(m + p.sq_off.array);
    r->ch = (void *)(m + p.cq_off.head); r->ct = (void *)(m + p.cq_off.tail); r->cm = p.cq_entries - 1; r->cq = (void *)(m + p.cq_off.cqes);
}
typedef struct { char *b; uint32_t n, sent; int fd, pend; } cl_t;
int main(int argc, char **argv) {
    int n = 50, o, flush = 32768, readers = 1, items = 200, sb = 0, edge = 0, rdb = 262144, mtu = 0; double rate = 0, secs = 3; char mode = 's', way = 's';
    while ((o = getopt(argc, argv, "n:r:f:m:R:t:i:S:eb:w:M:")) != -1) switch (o) {
        case 'n': n = atoi(optarg); break; case 'r': rate = atof(optarg); break; case 'f': flush = atoi(optarg); break; case 'm': mode = *optarg; break; case 'w': way = *optarg; break; case 'M': mtu = atoi(optarg); break; case 'R': readers = atoi(optarg); break; case 't': secs = atof(optarg); break; case 'i': items = atoi(optarg); break; case 'S': sb = atoi(optarg); break; case 'e': edge = 1; break; case 'b': rdb = atoi(optarg); break; default: return 2; }
    signal(SIGPIPE, SIG_IGN); private_net();
    if (mtu) { char w[64]; snprintf(w, sizeof w, "ip link set lo mtu %d", mtu); if (system(w)) die("mtu"); }
    struct { _Atomic uint64_t in, rx[8], rxb[8], bad; _Atomic int stop; double cpu[12]; uint64_t writes, reads[8]; } *S = shared(65536);
    int ls[2]; struct sockaddr_in a[2]; socklen_t al = sizeof a[0];
    for (int i = 0; i < 2; i++) { memset(&a[i], 0, al); a[i].sin_family = AF_INET; a[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK); ls[i] = socket(AF_INET, SOCK_STREAM, 0); if (bind(ls[i], (void *)&a[i], al) || listen(ls[i], 1024)) die("listen"); getsockname(ls[i], (void *)&a[i], &al); }
    for (int r = 0; r < readers; r++) if (!fork()) { /* readers */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct { int fd; uint32_t keep; char part[128]; uint32_t want; } *c = calloc(n, sizeof *c); int ep = epoll_create1(0), cnt = 0;
        for (int i = r; i < n; i += readers, cnt++) { c[cnt].fd = socket(AF_INET, SOCK_STREAM, 0); if (connect(c[cnt].fd, (void *)&a[1], al)) die("connect"); fcntl(c[cnt].fd, F_SETFL, O_NONBLOCK); struct epoll_event e = {.events = EPOLLIN, .data.u32 = cnt}; epoll_ctl(ep, EPOLL_CTL_ADD, c[cnt].fd, &e); }
        char *buf = malloc(rdb + 256); struct epoll_event ev[256]; uint64_t rx = 0, rxb = 0, bad = 0, reads = 0;
        while (!S->stop) {
            int k = epoll_wait(ep, ev, 256, 50);
            for (int i = 0; i < k; i++) {
                typeof(*c) *x = &c[ev[i].data.u32];
                memcpy(buf, x->part, x->keep);
                ssize_t g = recv(x->fd, buf + x->keep, rdb, 0); reads++;
                if (g <= 0) continue;
                rxb += g; uint32_t e = x->keep + g, p = 0; uint16_t l;
                while (e - p >= 2) { memcpy(&l, buf + p, 2); if (e - p < 2u + l) break; uint32_t sq; memcpy(&sq, buf + p + 6, 4); if (sq != x->want) bad++; x->want = sq + 1; p += 2 + l; rx++; }
                x->keep = e - p; memcpy(x->part, buf + p, x->keep);
            }
            S->rx[r] = rx; S->rxb[r] = rxb;
        }
        S->bad += bad; S->cpu[2 + r] = cpu_s(RUSAGE_SELF); S->reads[r] = reads; _exit(0);
    }
    if (!fork()) { /* forwarder */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        cl_t *c = calloc(n, sizeof *c); int ep = epoll_create1(0), CAP = flush * 4 + 400000;
        for (int i = 0; i < n; i++) { c[i].fd = accept(ls[1], 0, 0); fcntl(c[i].fd, F_SETFL, O_NONBLOCK); int one = 1; setsockopt(c[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, 4); if (sb) setsockopt(c[i].fd, SOL_SOCKET, SO_SNDBUFFORCE, &sb, 4); if (mode != 's') { c[i].b = malloc(CAP); memset(c[i].b, 0, CAP); } struct epoll_event e = {.events = EPOLLOUT | EPOLLET, .data.u32 = i}; epoll_ctl(ep, EPOLL_CTL_ADD, c[i].fd, &e); }
        /* item table: subscriber list of (client, stream id), and per-client stream id by item */
        struct sub { uint32_t cl, id; } *subs = malloc(sizeof(struct sub) * n * items); uint32_t *sid = malloc(4ul * n * items);
        for (int i = 0; i < items; i++) for (int k = 0; k < n; k++) { subs[i * n + k] = (struct sub){k, 5 + i + k}; sid[k * items + i] = 5 + i + k; }
        int in = accept(ls[0], 0, 0), big = 1 << 20; setsockopt(in, SOL_SOCKET, SO_RCVBUFFORCE, &big, 4);
        char *b = malloc(flush + 256); uint32_t keep = 0; uint64_t writes = 0; ring_t ring = {0}; if (way != 's') ring_open(&ring, 1024);
        if (way == 'f') { struct iovec v[n]; for (int k = 0; k < n; k++) v[k] = (struct iovec){mode == 's' ? b : c[k].b, mode == 's' ? flush + 256 : CAP}; if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, v, n)) die("register"); }
        struct epoll_event ev[256];
        while (!S->stop) {
            /* backpressure: take new input only when every client's queue is below the flush size */
            ssize_t g = recv(in, b + keep, flush - keep, 0);
            if (g <= 0) break;
            uint32_t e = keep + g, full = e / REC * REC, cntm = full / REC;
            if (mode == 's') { for (int k = 0; k < n; k++) c[k].sent = 0; }
            else if (mode == 'c') for (int k = 0; k < n; k++) { cl_t *x = &c[k]; x->n = x->sent = 0; uint32_t *si = sid + k * items; for (uint32_t p = 0; p < full; p += REC) { uint32_t it; memcpy(&it, b + p + 2, 4); char *d = x->b + x->n; memcpy(d, b + p, REC); it = si[it]; memcpy(d + 2, &it, 4); x->n += REC; } }
            else { for (int k = 0; k < n; k++) c[k].n = c[k].sent = 0; for (uint32_t p = 0; p < full; p += REC) { uint32_t it; memcpy(&it, b + p + 2, 4); struct sub *s = subs + it * n; for (int k = 0; k < n; k++) { cl_t *x = &c[s[k].cl]; char *d = x->b + x->n; memcpy(d, b + p, REC); memcpy(d + 2, &s[k].id, 4); x->n += REC; } } }
            int left = n;
            while (left && !S->stop) {
                left = 0; int any = 0;
                if (way != 's') { /* all that is left, in one call; a buffer is ours again when its notification has come */
                    uint32_t t = *ring.st, asked = 0, wait;
                    for (int k = 0; k < n; k++) {
                        cl_t *x = &c[k]; uint32_t len = mode == 's' ? full : x->n; if (x->sent == len) continue;
                        struct io_uring_sqe *q = &ring.sq[t & ring.sm]; memset(q, 0, sizeof *q);
                        q->opcode = way == 'f' ? IORING_OP_SEND_ZC : IORING_OP_SEND; q->fd = x->fd; q->addr = (uintptr_t)((mode == 's' ? b : x->b) + x->sent); q->len = len - x->sent; q->msg_flags = MSG_DONTWAIT; q->user_data = k;
                        if (way == 'f') { q->ioprio = IORING_RECVSEND_FIXED_BUF; q->buf_index = k; }
                        ring.sa[t & ring.sm] = t & ring.sm; t++; asked++;
                    }
                    *ring.st = t; wait = asked;
                    for (uint32_t unsent = asked; wait; unsent = 0) {
                        if (syscall(SYS_io_uring_enter, ring.fd, unsent, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0 && errno != EINTR) die("enter");
                        uint32_t h = *ring.ch; for (; h != *ring.ct; h++) { struct io_uring_cqe *q = &ring.cq[h & ring.cm]; wait -= !(q->flags & IORING_CQE_F_MORE); if (q->res > 0 && !(q->flags & IORING_CQE_F_NOTIF)) { c[q->user_data].sent += q->res; any = 1; } } *ring.ch = h;
                        writes += unsent != 0;
                    }
                    for (int k = 0; k < n; k++) left += c[k].sent < (mode == 's' ? full : c[k].n);
                }
                else
                for (int k = 0; k < n; k++) {
                    cl_t *x = &c[k]; uint32_t len = mode == 's' ? full : x->n; const char *src = mode == 's' ? b : x->b;
                    if (x->sent == len) continue;
                    ssize_t w = send(x->fd, src + x->sent, len - x->sent, 0); writes++;
                    if (w > 0) { x->sent += w; any = 1; }
                    if (x->sent < len) left++;
                }
                if (left && !any) epoll_wait(ep, ev, 256, 20);
            }
            S->in += cntm;
            keep = e - full; memmove(b, b + full, keep);
        }
        S->writes = writes; S->cpu[1] = cpu_s(RUSAGE_SELF); _exit(0);
    }
    if (!fork()) { /* feeder */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = socket(AF_INET, SOCK_STREAM, 0); if (connect(fd, (void *)&a[0], al)) die("connect"); usleep(200000);
        char *b = calloc(1, 64 * 1024); uint32_t seq = 0, nb = 0; uint64_t t0 = now_ns(), next = t0;
        while (!S->stop) {
            uint64_t due = rate ? (uint64_t)((now_ns() - t0) * rate / 1e9) : seq + 700ull; if (due > seq + 700ull) due = seq + 700;
            while (seq < due) { uint16_t l = BODY; uint32_t it = seq % items; memcpy(b + nb, &l, 2); memcpy(b + nb + 2, &it, 4); memcpy(b + nb + 6, &seq, 4); seq++; nb += REC; }
            for (uint32_t p = 0; p < nb && !S->stop;) { ssize_t w = send(fd, b + p, nb - p, 0); if (w > 0) p += w; }
            nb = 0;
            if (rate) { next += 1000000; sleep_until(next); }
        }
        S->cpu[0] = cpu_s(RUSAGE_SELF); _exit(0);
    }
    usleep(1000000);
    uint64_t i0 = S->in, r0 = 0, r1 = 0, t0 = now_ns(), b0 = 0, b1 = 0; for (int r = 0; r < readers; r++) { r0 += S->rx[r]; b0 += S->rxb[r]; }
    usleep(secs * 1e6);
    uint64_t i1 = S->in; for (int r = 0; r < readers; r++) { r1 += S->rx[r]; b1 += S->rxb[r]; }
    double el = (now_ns() - t0) / 1e9; S->stop = 1;
    int st; for (int i = 0; i < 100 && waitpid(-1, &st, WNOHANG) >= 0; i++) usleep(10000);
    uint64_t tot = 0, rd = 0; double rc = 0; for (int r = 0; r < readers; r++) { tot += S->rx[r]; rd += S->reads[r]; rc += S->cpu[2 + r]; }
    printf("fanout mode=%c clients=%d flush=%d readers=%d items=%d in %.0f/s out %.2f M msg/s %.2f GB/s bad=%lu; cpu%% of one core: forwarder %.0f readers %.0f feeder %.0f; forwarder %.1f ns/out-msg, reader %.1f ns/msg; bytes/write %.0f\n", mode, n, flush, readers, items, (i1 - i0) / el, (r1 - r0) / el / 1e6, (b1 - b0) / el / 1e9, (uint64_t)S->bad,
        100 * S->cpu[1] / (el + 1), 100 * rc / (el + 1), 100 * S->cpu[0] / (el + 1), S->cpu[1] / tot * 1e9, rc / tot * 1e9, (double)tot * REC / (S->writes ? S->writes : 1));
    (void)edge; (void)rd;
    return 0;
}
