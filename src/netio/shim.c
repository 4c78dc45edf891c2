/* shim.c - a worse network in front of a real one: seeded loss, bursts, delay, duplication. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/prng.h"
#include "netio/udp.h"

/*
 * Faults are applied where packets are received, so every receiver loses its own. Most packets
 * pass as views of the inner transport; one that is held back is copied. What is due is handed out
 * before anything new is received.
 */
enum { HELD_MAX = 4096, HELD_BYTES = 9216 };

struct held {
    uint64_t due_ns;
    uint32_t length;
    uint8_t path;
    bool is_group, is_invited;
    struct rrcp_address from;
    uint8_t *bytes;
};

struct shim {
    struct net_packet_io io;
    struct net_packet_io *inner;
    struct net_shim_config config;
    struct md_prng prng;
    uint32_t burst_left;
    struct held held[HELD_MAX]; /* a heap by due_ns */
    int held_count;
    struct held due[256]; /* handed out, good until the next receive */
    int due_count;
};

static struct shim *shim_of(struct net_packet_io *io)
{
    return (struct shim *)io;
}

static const struct shim *shim_of_const(const struct net_packet_io *io)
{
    return (const struct shim *)io;
}

/* ---- the heap ------------------------------------------------------------------------------- */

static void swap(struct held *a, struct held *b)
{
    struct held t = *a;

    *a = *b;
    *b = t;
}

static void held_push(struct shim *shim, struct held packet)
{
    int i = shim->held_count++;

    shim->held[i] = packet;
    while (i > 0 && shim->held[i].due_ns < shim->held[(i - 1) / 2].due_ns) {
        swap(&shim->held[i], &shim->held[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static struct held held_pop(struct shim *shim)
{
    struct held top = shim->held[0];
    int i = 0;

    shim->held[0] = shim->held[--shim->held_count];
    for (;;) {
        int least = i;

        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < shim->held_count; child++)
            if (shim->held[child].due_ns < shim->held[least].due_ns)
                least = child;
        if (least == i)
            return top;
        swap(&shim->held[i], &shim->held[least]);
        i = least;
    }
}

/* Keep a copy until `due_ns`; false when there is no room, and it must pass at once. */
static bool hold(struct shim *shim, const struct rrcp_arrival *in, uint64_t due_ns)
{
    struct held packet = { .due_ns = due_ns,
                           .length = in->length,
                           .path = in->path,
                           .is_group = in->is_group,
                           .is_invited = in->is_invited,
                           .from = *in->from };

    if (shim->held_count == HELD_MAX || in->length > HELD_BYTES)
        return false;
    packet.bytes = malloc(in->length ? in->length : 1);
    if (!packet.bytes)
        return false;
    memcpy(packet.bytes, in->bytes, in->length);
    held_push(shim, packet);
    return true;
}

/* ---- faults --------------------------------------------------------------------------------- */

static bool is_lost(struct shim *shim)
{
    if (shim->burst_left > 0) {
        shim->burst_left--;
        return true;
    }
    if (shim->config.burst_ppm && md_prng_chance(&shim->prng, shim->config.burst_ppm)) {
        shim->burst_left = md_prng_below(&shim->prng, 2 * shim->config.burst_length);
        return true;
    }
    return md_prng_chance(&shim->prng, shim->config.loss_ppm);
}

/* May this packet pass now? Else it was dropped or is kept for later. */
static bool passes(struct shim *shim, const struct rrcp_arrival *in, uint64_t now_ns)
{
    const struct net_shim_config *config = &shim->config;

    if (is_lost(shim)) {
        shim->io.counters.shim_dropped++;
        return false;
    }
    if (md_prng_chance(&shim->prng, config->duplicate_ppm) && hold(shim, in, now_ns + 50000))
        shim->io.counters.shim_duplicated++;
    if (!md_prng_chance(&shim->prng, config->delay_ppm))
        return true;
    uint64_t delay = 1000ull * (1 + md_prng_below(&shim->prng, config->delay_us));
    if (!hold(shim, in, now_ns + delay))
        return true;
    shim->io.counters.shim_delayed++;
    return false;
}

static int take_due(struct shim *shim, struct rrcp_arrival out[], int max, uint64_t now_ns)
{
    int count = 0;

    while (shim->due_count > 0)
        free(shim->due[--shim->due_count].bytes);
    while (count < max && count < 256 && shim->held_count > 0 && shim->held[0].due_ns <= now_ns) {
        struct held *packet = &shim->due[shim->due_count++];

        *packet = held_pop(shim);
        out[count++] = (struct rrcp_arrival){ .bytes = packet->bytes,
                                              .length = packet->length,
                                              .path = packet->path,
                                              .is_group = packet->is_group,
                                              .is_invited = packet->is_invited,
                                              .from = &packet->from };
    }
    return count;
}

static int shim_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max)
{
    struct shim *shim = shim_of(io);
    uint64_t now_ns = md_clock_mono_ns();
    int count = take_due(shim, out, max, now_ns);

    while (count == 0) {
        int got = net_packet_receive(shim->inner, out, max);

        if (got <= 0)
            break;
        for (int i = 0; i < got; i++)
            if (passes(shim, &out[i], now_ns))
                out[count++] = out[i];
    }
    struct net_packet_counters *mine = &io->counters;
    struct net_packet_counters counters = shim->inner->counters;
    counters.shim_dropped = mine->shim_dropped;
    counters.shim_delayed = mine->shim_delayed;
    counters.shim_duplicated = mine->shim_duplicated;
    *mine = counters;
    return count;
}

/* ---- all else is the inner transport's ------------------------------------------------------ */

static void shim_limits(const struct net_packet_io *io, struct net_packet_limits *out)
{
    net_packet_limits(shim_of_const(io)->inner, out);
}

static int shim_memory(struct net_packet_io *io, void *base, size_t size)
{
    return net_packet_memory(shim_of(io)->inner, base, size);
}

static int shim_send(struct net_packet_io *io, const struct net_packet packets[], int count)
{
    return net_packet_send(shim_of(io)->inner, packets, count);
}

static int shim_complete(struct net_packet_io *io, uint32_t cookies[], int max)
{
    return net_packet_complete(shim_of(io)->inner, cookies, max);
}

static int shim_fd(const struct net_packet_io *io, int index)
{
    return net_packet_fd(shim_of_const(io)->inner, index);
}

static bool shim_readable(struct net_packet_io *io)
{
    return net_packet_readable(shim_of(io)->inner);
}

static void shim_quiet(struct net_packet_io *io, int index)
{
    net_packet_quiet(shim_of(io)->inner, index);
}

static uint64_t shim_deadline(const struct net_packet_io *io)
{
    const struct shim *shim = shim_of_const(io);
    uint64_t inner = net_packet_deadline(shim->inner);
    uint64_t own = shim->held_count ? shim->held[0].due_ns : UINT64_MAX;

    return own < inner ? own : inner;
}

static void shim_local(const struct net_packet_io *io, int path, struct rrcp_address *out)
{
    net_packet_local(shim_of_const(io)->inner, path, out);
}

static void shim_close(struct net_packet_io *io)
{
    struct shim *shim = shim_of(io);

    while (shim->due_count > 0)
        free(shim->due[--shim->due_count].bytes);
    while (shim->held_count > 0)
        free(shim->held[--shim->held_count].bytes);
    net_packet_close(shim->inner);
    free(shim);
}

static const struct net_packet_table shim_table = {
    .name = "shim",
    .limits = shim_limits,
    .memory = shim_memory,
    .send = shim_send,
    .complete = shim_complete,
    .receive = shim_receive,
    .fd = shim_fd,
    .readable = shim_readable,
    .quiet = shim_quiet,
    .deadline = shim_deadline,
    .local = shim_local,
    .close = shim_close,
};

bool net_shim_wanted(const struct net_shim_config *config)
{
    return config->seed || config->loss_ppm || config->burst_ppm || config->duplicate_ppm ||
           config->delay_ppm;
}

int net_shim_open(const struct net_shim_config *config, struct net_packet_io *inner,
                  struct net_packet_io **out)
{
    struct shim *shim = calloc(1, sizeof(*shim));

    *out = NULL;
    if (!shim) {
        net_packet_close(inner);
        return MD_ERR_NOMEM;
    }
    shim->io.table = &shim_table;
    shim->inner = inner;
    shim->config = *config;
    shim->prng = md_prng_init(config->seed);
    *out = &shim->io;
    return 0;
}

int net_shim_set(struct net_packet_io *io, const struct net_shim_config *config)
{
    if (io->table != &shim_table)
        return MD_ERR_STATE;
    shim_of(io)->config = *config;
    return 0;
}
