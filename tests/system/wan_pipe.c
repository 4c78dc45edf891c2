/* wan_pipe.c - a long line between two network namespaces: delay, loss, a rate, and cuts.
 *
 * wan_pipe PID_A PID_B DEVICE DELAY_US LOSS_PPM BITS_A BITS_B QUEUE_BYTES
 *
 * Makes a tun device of that name in the network namespace of each process and carries packets
 * between them, so that the TCP of both sides is the kernel's own. BITS_A a second leave A, 0: as
 * fast as they come. What finds more than QUEUE_BYTES before it is dropped. Lines on the standard
 * input: "cut" and "heal", "loss PPM", "figures", which is answered with a line; at its end the
 * program ends. "ready" says that the devices are there, for others to give addresses to.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PACKETS_MAX 8192u
#define PACKET_MAX  2048u
#define READS       64 /* packets of one side, then the other has its turn */
#define NS_PER_S    1000000000ull

struct packet {
    uint64_t due_ns;
    uint32_t length;
    uint8_t bytes[PACKET_MAX];
};

struct way {
    int from, to;
    uint64_t bits;    /* a second, 0: no limit */
    uint64_t free_ns; /* the line is free then */
    uint64_t packets, bytes, lost, dropped;
    uint32_t first, count;
    struct packet *ring;
};

static struct {
    struct way ways[2];
    uint64_t delay_ns, queue_bytes, random;
    uint32_t loss_ppm;
    int is_cut;
} line;

static void die(const char *what)
{
    perror(what);
    exit(errno == EACCES || errno == EPERM || errno == ENOENT ? 77 : 1);
}

static uint64_t now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint32_t random_ppm(void)
{
    line.random ^= line.random << 13;
    line.random ^= line.random >> 7;
    line.random ^= line.random << 17;
    return (uint32_t)(line.random % 1000000);
}

/* A tun device in the namespace of a process. */
static int open_device(const char *pid, const char *name)
{
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    char path[64];

    snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        die(path);
    close(space);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0)
        die("/dev/net/tun");
    return fd;
}

static void take(struct way *way, const uint8_t *bytes, size_t length)
{
    uint64_t now_ns = now();
    uint64_t begins_ns = way->free_ns > now_ns ? way->free_ns : now_ns;

    if (line.is_cut || (line.loss_ppm && random_ppm() < line.loss_ppm)) {
        way->lost++;
        return;
    }
    if (way->count == PACKETS_MAX ||
        (way->bits && (begins_ns - now_ns) * way->bits / 8 / NS_PER_S > line.queue_bytes)) {
        way->dropped++;
        return;
    }
    way->free_ns = begins_ns + (way->bits ? length * 8 * NS_PER_S / way->bits : 0);
    struct packet *packet = &way->ring[(way->first + way->count++) % PACKETS_MAX];
    packet->due_ns = way->free_ns + line.delay_ns;
    packet->length = (uint32_t)length;
    memcpy(packet->bytes, bytes, length);
}

static void carry(struct way *way)
{
    uint8_t bytes[PACKET_MAX];

    for (int i = 0; i < READS; i++) {
        ssize_t got = read(way->from, bytes, sizeof(bytes));
        if (got <= 0)
            return;
        take(way, bytes, (size_t)got);
    }
}

static void deliver(struct way *way)
{
    uint64_t now_ns = now();

    for (; way->count > 0 && way->ring[way->first].due_ns <= now_ns; way->count--) {
        const struct packet *packet = &way->ring[way->first];

        way->first = (way->first + 1) % PACKETS_MAX;
        if (line.is_cut || write(way->to, packet->bytes, packet->length) < 0) {
            way->lost++;
            continue;
        }
        way->packets++;
        way->bytes += packet->length;
    }
}

/* False: the input has ended. */
static int obey(void)
{
    char word[128] = "";
    ssize_t got = read(STDIN_FILENO, word, sizeof(word) - 1);
    char *next = word;

    if (got <= 0)
        return got < 0 && errno == EAGAIN;
    for (char *order; (order = strsep(&next, "\n"));) {
        if (strcmp(order, "cut") == 0 || strcmp(order, "heal") == 0)
            line.is_cut = order[0] == 'c';
        else if (strncmp(order, "loss ", 5) == 0)
            line.loss_ppm = (uint32_t)strtoul(order + 5, NULL, 10);
        else if (strcmp(order, "figures") == 0)
            for (int i = 0; i < 2; i++)
                printf("%llu %llu %llu %llu%c", (unsigned long long)line.ways[i].packets,
                       (unsigned long long)line.ways[i].bytes,
                       (unsigned long long)line.ways[i].lost,
                       (unsigned long long)line.ways[i].dropped, i ? '\n' : ' ');
        fflush(stdout);
    }
    return 1;
}

static void wait_for_more(void)
{
    struct pollfd fds[] = { { .fd = line.ways[0].from, .events = POLLIN },
                            { .fd = line.ways[1].from, .events = POLLIN },
                            { .fd = STDIN_FILENO, .events = POLLIN } };
    uint64_t now_ns = now(), due_ns = now_ns + NS_PER_S;

    for (int i = 0; i < 2; i++) {
        const struct way *way = &line.ways[i];
        if (way->count && way->ring[way->first].due_ns < due_ns)
            due_ns = way->ring[way->first].due_ns;
    }
    uint64_t wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    ppoll(fds, 3, &(struct timespec){ .tv_nsec = (long)(wait_ns % NS_PER_S) }, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 9) {
        fprintf(stderr,
                "usage: wan_pipe PID_A PID_B DEVICE DELAY_US LOSS_PPM BITS_A BITS_B QUEUE\n");
        return 2;
    }
    int a = open_device(argv[1], argv[3]);
    int b = open_device(argv[2], argv[3]);
    line.delay_ns = strtoull(argv[4], NULL, 10) * 1000;
    line.loss_ppm = (uint32_t)strtoul(argv[5], NULL, 10);
    line.queue_bytes = strtoull(argv[8], NULL, 10);
    line.random = now() | 1;
    line.ways[0] = (struct way){ .from = a, .to = b, .bits = strtoull(argv[6], NULL, 10) };
    line.ways[1] = (struct way){ .from = b, .to = a, .bits = strtoull(argv[7], NULL, 10) };
    for (int i = 0; i < 2; i++) {
        line.ways[i].ring = calloc(PACKETS_MAX, sizeof(struct packet));
        if (!line.ways[i].ring)
            return 1;
    }
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    printf("ready\n");
    fflush(stdout);
    while (obey()) {
        for (int i = 0; i < 2; i++) {
            carry(&line.ways[i]);
            deliver(&line.ways[i]);
        }
        wait_for_more();
    }
    return 0;
}
