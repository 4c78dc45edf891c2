/* json_sink - N WebSocket consumers of the same items in one process: they count updates and look at nothing else.
 * json_sink -p port -n consumers -f items -t secs -i (idle: log in, open the items, wait for the end of stdin)
 * All log in, then each opens all items of the file in one batch from a place of its own, a few at a time, and reads: else those that ask
 * first would not read until the last one has logged in. When all images are there it prints "open",
 * after secs "measured"; then it reads on until half a second is silent, and prints one line of JSON: what came in the measured time, what
 * came in all. Updates are found by their Type, which no text of a value can contain; every 5 s each consumer says Pong. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
enum { BUF = 1 << 18, KEEP = 14, SKIP = 100, ASKED_MAX = 50 };
typedef struct { int fd; uint32_t keep; char tail[KEEP]; uint64_t updates, images; } con_t;
static const char UPDATE[] = "\"Type\":\"Update\"", REFRESH[] = "\"Type\":\"Refresh";
static void say(int fd, const char *text, size_t n) { /* one masked text frame; the mask is zero */
    uint8_t h[14] = {0x81}; int k = 2;
    if (n < 126) h[1] = 0x80 | n; else if (n < 65536) { h[1] = 0x80 | 126; h[2] = n >> 8; h[3] = n; k = 4; } else die("a batch of more than 64 KB");
    struct iovec v[2] = {{h, k + 4}, {(void *)text, n}};
    if (writev(fd, v, 2) != (ssize_t)(k + 4 + n)) die("write");
}
static uint64_t count(const char *p, const char *end, const char *what, size_t n) {
    uint64_t found = 0;
    while (p < end && (p = memmem(p, end - p, what, n))) { found++; p += SKIP; }
    return found;
}
static int shake(int port) {
    static const char ask[] = "GET /WebSocket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tr_json2\r\n\r\n", login[] = "{\"ID\":1,\"Domain\":\"Login\",\"Key\":{\"Name\":\"sink\"}}";
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0); char b[4096]; size_t n = 0;
    if (connect(fd, (void *)&a, sizeof a)) die("connect");
    if (write(fd, ask, sizeof ask - 1) < 0) die("write");
    say(fd, login, sizeof login - 1);
    while (!memmem(b, n, "\"Login\"", 7)) { ssize_t g = recv(fd, b + n, sizeof b - n, 0); if (g <= 0 || (n += g) == sizeof b) die("no login"); }
    return fd;
}
static void ask(con_t *x, int i, char **names, int items, char *text) {
    size_t at = sprintf(text, "{\"ID\":10,\"Key\":{\"Name\":[");
    for (int k = 0; k < items; k++) at += sprintf(text + at, "%s\"%s\"", k ? "," : "", names[(k + i * 7) % items]);
    at += sprintf(text + at, "]}}");
    say(x->fd, text, at);
}
int main(int argc, char **argv) {
    int n = 50, port = 15000, o, items = 0, idle = 0; double secs = 10; const char *file = 0;
    while ((o = getopt(argc, argv, "n:p:f:t:i")) != -1) switch (o) {
        case 'n': n = atoi(optarg); break; case 'p': port = atoi(optarg); break; case 'f': file = optarg; break; case 't': secs = atof(optarg); break; case 'i': idle = 1; break; default: return 2; }
    char **names = calloc(1 << 16, sizeof *names), line[256]; FILE *in = file ? fopen(file, "re") : 0;
    if (file && !in) die("%s", file);
    while (in && items < 1 << 16 && fgets(line, sizeof line, in)) { line[strcspn(line, "\n")] = 0; names[items++] = strdup(line); }
    con_t *c = calloc(n, sizeof *c); int ep = epoll_create1(0); char *text = malloc(1 << 20), *buf = malloc(BUF + KEEP);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < n; i++) {
        c[i].fd = shake(port);
        fcntl(c[i].fd, F_SETFL, O_NONBLOCK);
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = i}; epoll_ctl(ep, EPOLL_CTL_ADD, c[i].fd, &e);
    }
    struct epoll_event ev[256], e = {.events = EPOLLIN, .data.u32 = n}; if (idle) epoll_ctl(ep, EPOLL_CTL_ADD, 0, &e);
    uint64_t updates = 0, images = 0, bytes = 0, start = 0, measured = 0, said = now_ns(), last = now_ns(), quiet = 0; double took = 0, cpu = 0; int phase = 0, asked = 0;
    for (;;) {
        for (; items && asked < n && (uint64_t)asked * items < images + (uint64_t)ASKED_MAX * items; asked++) ask(&c[asked], asked, names, items, text);
        int k = epoll_wait(ep, ev, 256, 50); uint64_t now = now_ns();
        for (int i = 0; i < k; i++) {
            if ((int)ev[i].data.u32 == n) return 0;
            con_t *x = &c[ev[i].data.u32]; memcpy(buf, x->tail, x->keep);
            ssize_t g = recv(x->fd, buf + x->keep, BUF, 0);
            if (g < 0 && errno == EAGAIN) continue;
            if (g <= 0) die("a connection has ended");
            size_t all = x->keep + g; uint64_t u = count(buf, buf + all, UPDATE, sizeof UPDATE - 1);
            updates += u; x->updates += u; bytes += g;
            if (phase == 0) images += count(buf, buf + all, REFRESH, sizeof REFRESH - 1);
            x->keep = all < KEEP ? all : KEEP; memcpy(x->tail, buf + all - x->keep, x->keep); last = now;
        }
        if (phase == 0 && images >= (uint64_t)n * items) { phase = 1; start = now; cpu = cpu_s(RUSAGE_SELF); measured = updates; printf("open\n"); fflush(stdout); }
        if (phase == 1 && !idle && now - start >= secs * 1e9) { phase = 2; took = (now - start) / 1e9; measured = updates - measured; cpu = cpu_s(RUSAGE_SELF) - cpu; quiet = now; printf("measured\n"); fflush(stdout); }
        if (phase == 2 && now - last > 500000000ull && now - quiet > 1000000000ull) break;
        if (now - said > 5000000000ull) { said = now; for (int i = 0; i < n; i++) say(c[i].fd, "{\"Type\":\"Pong\"}", 15); }
    }
    uint64_t least = UINT64_MAX, most = 0;
    for (int i = 0; i < n; i++) { if (c[i].updates < least) least = c[i].updates; if (c[i].updates > most) most = c[i].updates; }
    printf("{\"updates\":%llu,\"images\":%llu,\"measured\":%llu,\"seconds\":%.3f,\"bytes\":%llu,\"least\":%llu,\"most\":%llu,\"cpu_pct\":%.1f,\"drain_s\":%.3f}\n", (unsigned long long)updates, (unsigned long long)images,
           (unsigned long long)measured, took, (unsigned long long)bytes, (unsigned long long)least, (unsigned long long)most, 100 * cpu / took, last > quiet ? (last - quiet) / 1e9 : 0.0);
    return 0;
}
