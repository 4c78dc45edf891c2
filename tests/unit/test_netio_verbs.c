/* test_netio_verbs.c - the verbs transport over a device of memory with the manners of UD. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "verbs_private.h"

/*
 * A hub of fake ports. A port drops without notice what finds no posted receive and what is larger
 * than its MTU; sends complete when the test says so, and only those that asked for it.
 */
enum { PORTS = 4, DEPTH = 64, RECEIVES = 512, QUEUE = 2048, EVENTS = 8 };

struct verbs_device {
    int index; /* its address is 10.88.0.(index + 1), its queue pair 100 + opens */
    uint32_t queue_pair;
    bool has_group;
    uint8_t *slots;
    uint32_t slot_bytes;
    uint32_t posted[QUEUE];
    int posted_first, posted_count;
    struct verbs_got done[QUEUE];
    int done_first, done_count;
    uint64_t sends[QUEUE]; /* numbers, and in the top bit: signalled */
    int sends_first, sends_count;
    struct verbs_event events[EVENTS];
    int event_count;
    int fd;
    bool is_armed;
    int handles;
};

struct fake_handle {
    struct rrcp_address to;
};

static struct {
    struct verbs_device *ports[PORTS];
    uint32_t mtu;
    int opens, joins, regions;
    bool refuses_open, refuses_join, refuses_memory, holds_sends, refuses_sends, is_infiniband;
    int arms, post_calls, send_calls, handle_calls, handles, handles_most;
    uint64_t overruns;
    const struct net_packet_io *checked;
} hub;

static char logged[4096];

static void log_text(int severity, const char *text)
{
    size_t used = strlen(logged);

    (void)severity;
    snprintf(logged + used, sizeof(logged) - used, "%s\n", text);
}

static void ring_bell(struct verbs_device *d)
{
    uint64_t one = 1;

    assert_int_equal(write(d->fd, &one, sizeof(one)), sizeof(one));
}

static void tell(struct verbs_device *d, struct verbs_event event)
{
    assert_true(d->event_count < EVENTS);
    d->events[d->event_count++] = event;
    ring_bell(d);
}

static void gid_of(int index, uint8_t gid[16])
{
    static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [13] = 88 };

    memcpy(gid, mapped, 16);
    gid[15] = (uint8_t)(index + 1);
}

static int fake_join(struct verbs_device *d)
{
    struct verbs_event event = { .kind = hub.refuses_join ? VERBS_JOIN_FAILED : VERBS_JOINED,
                                 .status = -EINVAL };
    uint8_t gid[16];

    gid_of(d->index, gid);
    verbs_address_make(gid, d->queue_pair, 0, &event.local);
    d->has_group = !hub.refuses_join;
    hub.joins++;
    tell(d, event);
    return 0;
}

static int fake_open(const struct verbs_device_config *config, struct verbs_device_info *info,
                     char *why, size_t why_size, struct verbs_device **out)
{
    *out = NULL;
    if (hub.refuses_open) {
        snprintf(why, why_size, "transport: verbs, and this host has no RDMA device");
        return MD_ERR_NOT_FOUND;
    }
    struct verbs_device *d = calloc(1, sizeof(*d));
    d->index = config->port;
    d->queue_pair = (uint32_t)(100 + hub.opens++);
    d->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_null(hub.ports[d->index]);
    hub.ports[d->index] = d;
    *info = (struct verbs_device_info){ .port = config->port,
                                        .mtu = hub.mtu,
                                        .send_depth = DEPTH,
                                        .receive_depth = RECEIVES,
                                        .is_infiniband = hub.is_infiniband };
    snprintf(info->name, sizeof(info->name), "fake%d", d->index);
    *out = d;
    return fake_join(d);
}

static void fake_close(struct verbs_device *d)
{
    assert_int_equal(d->handles, 0);
    hub.ports[d->index] = NULL;
    close(d->fd);
    free(d);
}

static int fake_ring(struct verbs_device *d, uint8_t *slots, uint32_t slot_bytes, uint32_t count,
                     char *why, size_t why_size)
{
    (void)why;
    (void)why_size;
    assert_int_equal(count, RECEIVES);
    assert_true(slot_bytes >= hub.mtu + VERBS_GRH_BYTES && slot_bytes % 64 == 0);
    d->slots = slots;
    d->slot_bytes = slot_bytes;
    return 0;
}

static int fake_memory(struct verbs_device *d, void *base, size_t size, char *why, size_t why_size)
{
    (void)d;
    (void)base;
    (void)size;
    hub.regions++;
    snprintf(why, why_size, hub.refuses_memory ? "transport: the limit is 64 KB" : "");
    return hub.refuses_memory ? MD_ERR_SYS : 0;
}

static int fake_post_receive(struct verbs_device *d, const uint32_t slots[], int count)
{
    hub.post_calls++;
    for (int i = 0; i < count; i++) {
        assert_true(d->posted_count < RECEIVES);
        d->posted[(d->posted_first + d->posted_count++) % QUEUE] = slots[i];
    }
    return 0;
}

static int fake_poll_receive(struct verbs_device *d, struct verbs_got out[], int max)
{
    int count = 0;

    for (; count < max && d->done_count > 0; d->done_count--) {
        out[count++] = d->done[d->done_first];
        d->done_first = (d->done_first + 1) % QUEUE;
    }
    return count;
}

/* An adapter of RoCE v2 writes junk, then the header of IPv4. */
static void write_grh(uint8_t *grh, int from, const struct verbs_send *send)
{
    memset(grh, 0, VERBS_GRH_BYTES);
    grh[20] = 0x45;
    memcpy(grh + 32, (uint8_t[]){ 10, 88, 0, (uint8_t)(from + 1) }, 4);
    memcpy(grh + 36, (uint8_t[]){ send->handle ? 10 : 239, 255, 82, 82 }, 4);
}

static void deliver(struct verbs_device *to, const struct verbs_device *from,
                    const struct verbs_send *send)
{
    if (to->posted_count == 0 || send->length > hub.mtu) {
        hub.overruns++;
        return;
    }
    uint32_t slot = to->posted[to->posted_first];
    uint8_t *bytes = to->slots + (size_t)slot * to->slot_bytes;

    to->posted_first = (to->posted_first + 1) % QUEUE;
    to->posted_count--;
    write_grh(bytes, from->index, send);
    memcpy(bytes + VERBS_GRH_BYTES, send->bytes, send->length);
    to->done[(to->done_first + to->done_count++) % QUEUE] =
        (struct verbs_got){ .slot = slot,
                            .length = send->length + VERBS_GRH_BYTES,
                            .queue_pair = from->queue_pair,
                            .has_grh = true };
    if (to->is_armed)
        ring_bell(to);
    to->is_armed = false;
}

static bool is_for(const struct verbs_device *d, const struct verbs_send *send)
{
    const struct fake_handle *handle = send->handle;
    uint8_t gid[16];

    if (!handle)
        return d->has_group;
    gid_of(d->index, gid);
    return memcmp(handle->to.bytes, gid, 16) == 0 && send->queue_pair == d->queue_pair;
}

static int fake_send(struct verbs_device *d, const struct verbs_send sends[], int count)
{
    hub.send_calls++;
    if (hub.refuses_sends) {
        errno = EIO;
        return MD_ERR_SYS;
    }
    for (int i = 0; i < count; i++) {
        assert_true(d->sends_count < DEPTH); /* an adapter would answer ENOMEM */
        d->sends[(d->sends_first + d->sends_count++) % QUEUE] =
            sends[i].number | (uint64_t)sends[i].is_signalled << 63;
        for (int p = 0; p < PORTS; p++)
            if (hub.ports[p] && is_for(hub.ports[p], &sends[i]))
                deliver(hub.ports[p], d, &sends[i]);
    }
    /* A queue that fills without a signalled request at its end never empties. */
    assert_true(sends[count - 1].is_signalled);
    return count;
}

static int fake_poll_sent(struct verbs_device *d, uint64_t *number)
{
    if (hub.refuses_sends)
        return MD_ERR_SYS;
    while (!hub.holds_sends && d->sends_count > 0) {
        uint64_t send = d->sends[d->sends_first];

        d->sends_first = (d->sends_first + 1) % QUEUE;
        d->sends_count--;
        if (send >> 63) {
            *number = send & ~(1ull << 63);
            return 1;
        }
    }
    return 0;
}

static int fake_arm(struct verbs_device *d, bool sends)
{
    (void)sends;
    hub.arms++;
    d->is_armed = true;
    return 0;
}

static void fake_disarm(struct verbs_device *d)
{
    uint64_t value;

    (void)!read(d->fd, &value, sizeof(value));
}

static int fake_fd(const struct verbs_device *d, int index)
{
    return index == 0 ? d->fd : -1;
}

static void fake_event(struct verbs_device *d, struct verbs_event *out)
{
    *out = (struct verbs_event){ .kind = VERBS_NOTHING };
    if (d->event_count == 0)
        return;
    *out = d->events[0];
    memmove(d->events, d->events + 1, sizeof(d->events[0]) * (size_t)--d->event_count);
}

static void *fake_handle(struct verbs_device *d, const struct rrcp_address *to)
{
    struct fake_handle *handle = malloc(sizeof(*handle));

    handle->to = *to;
    d->handles++;
    hub.handle_calls++;
    hub.handles_most = ++hub.handles > hub.handles_most ? hub.handles : hub.handles_most;
    return handle;
}

static void fake_handle_free(struct verbs_device *d, void *handle)
{
    d->handles--;
    hub.handles--;
    free(handle);
}

static const struct verbs_device_table fake_table = {
    fake_open,         fake_close,        fake_join,  fake_ring,      fake_memory,
    fake_post_receive, fake_poll_receive, fake_send,  fake_poll_sent, fake_arm,
    fake_disarm,       fake_fd,           fake_event, fake_handle,    fake_handle_free
};

/* ---- helpers --------------------------------------------------------------------------------- */

static int fresh(void **state)
{
    (void)state;
    memset(&hub, 0, sizeof(hub));
    hub.mtu = 1024;
    logged[0] = '\0';
    return 0;
}

static struct verbs_config config_of(int first, int count)
{
    struct verbs_config config = {
        .path_count = count, .any_source = true, .retry_ns = 1000000, .log = log_text
    };

    for (int i = 0; i < count; i++)
        config.paths[i].port = (uint8_t)(first + i);
    return config;
}

static int try_open(const struct verbs_config *config, char why[256], struct net_packet_io **out)
{
    struct verbs_report report;

    return verbs_open_on(&fake_table, config, &report, why, 256, out);
}

static struct net_packet_io *open_end(int port)
{
    struct verbs_config config = config_of(port, 1);
    struct net_packet_io *io;
    char why[256];

    assert_int_equal(try_open(&config, why, &io), 0);
    return io;
}

static uint8_t memory[256][2048];

static struct net_packet packet_of(uint32_t cookie, uint32_t length, const struct rrcp_address *to)
{
    memset(memory[cookie % 256], (int)cookie, sizeof(memory[0]));
    return (struct net_packet){
        .bytes = memory[cookie % 256], .length = length, .to = to, .cookie = cookie
    };
}

static int send_one(struct net_packet_io *io, uint32_t cookie, uint32_t length,
                    const struct rrcp_address *to)
{
    struct net_packet packet = packet_of(cookie, length, to);

    return net_packet_send(io, &packet, 1);
}

static int completed(struct net_packet_io *io)
{
    uint32_t cookies[256];

    return net_packet_complete(io, cookies, 256);
}

/* Receives until `is_done`, for a minute at most. */
static bool wait_until(struct net_packet_io *io, bool (*is_done)(struct net_packet_io *io))
{
    uint64_t end_ns = md_clock_mono_ns() + 60 * MD_NS_PER_S;
    struct rrcp_arrival in[4];

    while (!is_done(io) && md_clock_mono_ns() < end_ns) {
        (void)net_packet_receive(io, in, 4);
        (void)completed(io);
    }
    return is_done(io);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void group_and_single(void **state)
{
    struct net_packet_io *a = open_end(0), *b = open_end(1), *c = open_end(2);
    struct rrcp_arrival in[8];
    struct rrcp_address to, own;
    struct net_packet_limits limits;
    char text[80];

    (void)state;
    net_packet_limits(a, &limits);
    assert_int_equal(limits.payload_max, 1024);
    assert_int_equal(limits.send_depth, DEPTH);
    assert_int_equal(limits.headroom, 0);
    assert_int_equal(send_one(a, 7, 100, NULL), 1);
    assert_int_equal(net_packet_receive(a, in, 8), 0); /* its own copy is dropped */
    assert_int_equal(net_packet_receive(b, in, 8), 1);
    assert_true(in[0].is_group);
    assert_int_equal(in[0].length, 100);
    assert_int_equal(in[0].bytes[99], 7);
    net_packet_local(a, 0, &own);
    assert_memory_equal(in[0].from->bytes, own.bytes, VERBS_ADDRESS_BYTES);
    net_packet_address_text(in[0].from, text, sizeof(text));
    assert_string_equal(text, "10.88.0.1 queue pair 100");
    to = *in[0].from;
    assert_int_equal(net_packet_receive(c, in, 8), 1);
    assert_int_equal(send_one(b, 8, 1024, &to), 1);
    assert_int_equal(net_packet_receive(c, in, 8), 0);
    assert_int_equal(net_packet_receive(a, in, 8), 1);
    assert_false(in[0].is_group);
    assert_int_equal(in[0].length, 1024);
    assert_int_equal(in[0].from->host_length, 16);
    net_packet_close(a);
    net_packet_close(b);
    net_packet_close(c);
}

static void too_large_is_said(void **state)
{
    struct net_packet_io *a = open_end(0);

    (void)state;
    assert_int_equal(send_one(a, 1, 1025, NULL), 1); /* the device would say "sent" */
    assert_int_equal(a->counters.send_too_big, 1);
    assert_int_equal(hub.send_calls, 0);
    assert_int_equal(completed(a), 1);
    net_packet_close(a);

    struct verbs_config config = config_of(0, 1);
    char why[256];
    config.payload_max = 2044;
    assert_int_equal(try_open(&config, why, &a), MD_ERR_RANGE);
    assert_non_null(strstr(why, "maxPacketSize: packets of 2044 bytes, and port 0 of fake0 "
                                "carries 1024"));
}

/* Cookies come back once each, in whatever portions the device completes. */
static void sends_complete(void **state)
{
    struct net_packet_io *a = open_end(0);
    struct net_packet packets[200];
    uint8_t seen[200] = { 0 };
    uint32_t cookies[16];
    int taken, count, total = 0;

    (void)state;
    for (uint32_t i = 0; i < 200; i++)
        packets[i] = packet_of(i, 64, NULL);
    hub.holds_sends = true;
    taken = net_packet_send(a, packets, 200);
    assert_int_equal(taken, DEPTH);
    assert_int_equal(a->counters.send_full, 1);
    assert_int_equal(net_packet_send(a, packets + taken, 200 - taken), 0);
    assert_int_equal(net_packet_complete(a, cookies, 16), 0);
    hub.holds_sends = false;
    while (taken < 200 || total < 200) {
        taken += net_packet_send(a, packets + taken, 200 - taken);
        while ((count = net_packet_complete(a, cookies, 16)) > 0)
            for (int i = 0; i < count; i++, total++)
                assert_int_equal(seen[cookies[i]]++, 0);
    }
    assert_int_equal(total, 200);
    assert_int_equal(a->counters.packets_sent, 200);
    net_packet_close(a);
}

/* A ring that nobody empties drops without notice, and works on when it is read. */
static void overrun_is_silent(void **state)
{
    struct net_packet_io *a = open_end(0), *b = open_end(1);
    struct rrcp_arrival in[64];
    int count, total = 0;

    (void)state;
    for (uint32_t i = 0; i < 2 * RECEIVES; i++) {
        while (send_one(a, i, 32, NULL) == 0)
            (void)completed(a);
        (void)net_packet_receive(a, in, 64);
    }
    while ((count = net_packet_receive(b, in, 64)) > 0)
        total += count;
    assert_int_equal(total, RECEIVES);
    assert_int_equal(hub.overruns, RECEIVES);
    while (send_one(a, 1, 32, NULL) == 0)
        (void)completed(a);
    assert_int_equal(net_packet_receive(b, in, 64), 1);
    net_packet_close(a);
    net_packet_close(b);
}

/* An owner that polls pays no descriptor and no handle for a message, but a share of a batch. */
static void polling_asks_nobody(void **state)
{
    enum { MESSAGES = 100000, BATCH = 32 };
    struct net_packet_io *a = open_end(0), *b = open_end(1);
    struct net_packet packets[BATCH];
    struct rrcp_arrival in[BATCH];
    struct rrcp_address to;
    uint64_t received = 0;

    (void)state;
    net_packet_local(b, 0, &to);
    (void)net_packet_receive(b, in, BATCH);
    for (uint32_t i = 0; i < BATCH; i++)
        packets[i] = packet_of(i, 200, i % 2 ? &to : NULL);
    hub.post_calls = hub.send_calls = 0;
    for (int sent = 0; sent < MESSAGES; sent += BATCH) {
        assert_int_equal(net_packet_send(a, packets, BATCH), BATCH);
        assert_int_equal(completed(a), BATCH);
        received += (uint64_t)net_packet_receive(b, in, BATCH);
        assert_int_equal(net_packet_receive(a, in, BATCH), 0);
    }
    assert_int_equal(received, MESSAGES);
    assert_int_equal(hub.arms, 0);
    assert_int_equal(hub.handle_calls, 1);
    assert_int_equal(hub.send_calls, MESSAGES / BATCH);
    assert_true(hub.post_calls <= 2 * MESSAGES / BATCH);
    net_packet_close(a);
    net_packet_close(b);
}

static bool is_readable(const struct net_packet_io *io)
{
    struct pollfd fd = { .fd = net_packet_fd(io, 0), .events = POLLIN };

    return poll(&fd, 1, 0) == 1;
}

/* What comes between the last look and the arming is found by arming; what comes later wakes. */
static void sleeps_and_wakes(void **state)
{
    struct net_packet_io *a = open_end(0), *b = open_end(1);
    struct rrcp_arrival in[4];

    (void)state;
    assert_int_equal(net_packet_fd(b, 1), -1);
    for (int round = 0; round < 3; round++) {
        while (net_packet_receive(b, in, 4) > 0)
            ;
        send_one(a, 1, 10, NULL);
        assert_false(net_packet_arm(b));
        assert_true(net_packet_readable(b));
        assert_int_equal(net_packet_receive(b, in, 4), 1);
        assert_int_equal(net_packet_receive(b, in, 4), 0);
        assert_true(net_packet_arm(b));
        send_one(a, 2, 10, NULL);
        assert_true(is_readable(b));
        assert_int_equal(net_packet_receive(b, in, 4), 1);
        assert_int_equal(in[0].bytes[0], 2);
        (void)completed(a);
    }
    net_packet_close(a);
    net_packet_close(b);
}

static bool is_up(struct net_packet_io *io)
{
    return verbs_of(io)->paths[0].state == VERBS_UP;
}

/* The device goes under load: what was under way comes back, and so does the device. */
static void device_goes_and_comes(void **state)
{
    struct net_packet_io *a = open_end(0), *b = open_end(1);
    struct net_packet packets[50];
    struct rrcp_arrival in[4];
    struct rrcp_address before, after;

    (void)state;
    assert_int_equal(net_packet_memory(a, memory, sizeof(memory)), 0);
    net_packet_local(a, 0, &before);
    for (uint32_t i = 0; i < 50; i++)
        packets[i] = packet_of(i, 64, NULL);
    hub.holds_sends = true;
    assert_int_equal(net_packet_send(a, packets, 50), 50);
    hub.refuses_open = true;
    tell(hub.ports[0],
         (struct verbs_event){ .kind = VERBS_GONE, .what = "the device was removed" });
    verbs_of(a)->has_slept = true;
    (void)net_packet_receive(a, in, 4);
    assert_null(hub.ports[0]);
    assert_int_equal(completed(a), 50);
    assert_int_equal(send_one(a, 1, 64, NULL), 1); /* lost, and told */
    assert_int_equal(completed(a), 1);
    assert_int_equal(a->counters.send_errors, 1);
    assert_int_equal(a->counters.send_errno, ENETDOWN);
    assert_true(net_packet_deadline(a) != UINT64_MAX);
    hub.refuses_open = hub.holds_sends = false;
    int regions = hub.regions;
    assert_true(wait_until(a, is_up));
    assert_int_equal(hub.regions, regions + 1);
    net_packet_local(a, 0, &after);
    assert_memory_equal(before.bytes, after.bytes, before.host_length);
    assert_memory_not_equal(before.bytes, after.bytes, before.length);
    while (net_packet_receive(b, in, 4) > 0)
        ;
    send_one(a, 3, 64, NULL);
    assert_int_equal(net_packet_receive(b, in, 4), 1);
    assert_non_null(strstr(logged, "the device was removed; nothing is sent or heard"));
    net_packet_close(a);
    net_packet_close(b);
}

/* A refused post says that the queue pair is broken: it is made anew. */
static void broken_queue_is_made_anew(void **state)
{
    struct net_packet_io *a = open_end(0);

    (void)state;
    hub.refuses_sends = true;
    assert_int_equal(send_one(a, 1, 64, NULL), 1);
    assert_int_equal(a->counters.send_errors, 1);
    assert_int_equal(net_packet_deadline(a), 0);
    hub.refuses_sends = false;
    int opens = hub.opens;
    struct rrcp_arrival in[4];
    (void)net_packet_receive(a, in, 4);
    assert_int_equal(completed(a), 1);
    assert_true(wait_until(a, is_up));
    assert_int_equal(hub.opens, opens + 1);
    net_packet_close(a);
}

static void group_is_joined_again(void **state)
{
    struct net_packet_io *a = open_end(0);
    struct rrcp_arrival in[4];
    int joins = hub.joins;

    (void)state;
    hub.refuses_join = true;
    tell(hub.ports[0], (struct verbs_event){ .kind = VERBS_LEFT, .what = "SM change" });
    verbs_of(a)->has_slept = true;
    (void)net_packet_receive(a, in, 4);
    assert_false(is_up(a));
    while (hub.joins < joins + 3)
        (void)net_packet_receive(a, in, 4);
    hub.refuses_join = false;
    assert_true(wait_until(a, is_up));
    assert_non_null(strstr(logged, "SM change; joining the group again"));
    char *refused = strstr(logged, "the group is refused: Invalid argument");
    assert_non_null(refused);
    assert_null(strstr(refused + 1, "the group is refused")); /* said once */
    tell(hub.ports[0], (struct verbs_event){ .kind = VERBS_PORT_DOWN });
    tell(hub.ports[0], (struct verbs_event){ .kind = VERBS_PORT_UP });
    verbs_of(a)->has_slept = true;
    (void)net_packet_receive(a, in, 4);
    assert_non_null(strstr(logged, "fake0 port 0 is down: look at the cable"));
    assert_non_null(strstr(logged, "fake0 port 0 is up"));
    net_packet_close(a);
}

static void refusals_at_the_start(void **state)
{
    struct verbs_config config = config_of(0, 1);
    struct net_packet_io *io;
    char why[256];

    (void)state;
    hub.refuses_open = true;
    assert_int_equal(try_open(&config, why, &io), MD_ERR_NOT_FOUND);
    assert_non_null(strstr(why, "no RDMA device"));
    hub.refuses_open = false;
    hub.refuses_join = true;
    assert_int_equal(try_open(&config, why, &io), MD_ERR_NOT_FOUND);
    assert_non_null(strstr(why, "multicastAddress: fake0 port 0: the group is refused"));
    assert_null(hub.ports[0]);
    hub.refuses_join = false;
    hub.refuses_memory = true;
    io = open_end(0);
    assert_int_equal(net_packet_memory(io, memory, sizeof(memory)), MD_ERR_SYS);
    assert_string_equal(net_packet_why(io), "transport: the limit is 64 KB");
    net_packet_close(io);
    assert_string_equal(logged, "fake0 port 0: group joined, packets of 1024 bytes\n");
}

/* Any number of strangers is answered with a bounded number of handles; none goes while in use. */
static void handles_are_bounded(void **state)
{
    enum { STRANGERS = 20000 };
    struct net_packet_io *a = open_end(0);
    struct rrcp_address to;
    uint8_t gid[16];

    (void)state;
    gid_of(0, gid);
    for (uint32_t i = 0; i < STRANGERS; i++) {
        memcpy(gid + 12, &i, 4);
        verbs_address_make(gid, 17, 0, &to);
        while (send_one(a, i, 64, &to) == 0)
            (void)completed(a);
        if (i % 32 == 0)
            (void)completed(a);
    }
    assert_true(hub.handles_most <= VERBS_HANDLE_SETS * VERBS_HANDLE_WAYS);
    to.length = 6; /* of another transport */
    assert_int_equal(send_one(a, 1, 64, &to), 1);
    assert_int_equal(a->counters.send_errno, EHOSTUNREACH);
    net_packet_close(a);
    assert_int_equal(hub.handles, 0);
}

static void two_ports(void **state)
{
    struct verbs_config config = config_of(0, 2);
    struct net_packet_io *a, *b = open_end(2);
    struct net_packet packet = packet_of(1, 64, NULL);
    struct rrcp_arrival in[4];
    char why[256];

    (void)state;
    assert_int_equal(try_open(&config, why, &a), 0);
    packet.path = NET_PATH_ALL;
    hub.holds_sends = true;
    assert_int_equal(net_packet_send(a, &packet, 1), 1);
    assert_int_equal(net_packet_receive(b, in, 4), 2);
    assert_int_equal(net_packet_receive(a, in, 4), 2); /* each port hears the other */
    assert_int_equal(in[0].path, 0);
    assert_int_equal(in[1].path, 1);
    assert_int_equal(completed(a), 0);
    hub.refuses_open = true;
    tell(hub.ports[1], (struct verbs_event){ .kind = VERBS_GONE, .what = "removed" });
    verbs_of(a)->has_slept = true;
    (void)net_packet_receive(a, in, 4);
    assert_int_equal(completed(a), 0); /* the other port still has it */
    hub.holds_sends = false;
    assert_int_equal(completed(a), 1);
    assert_int_equal(net_packet_send(a, &packet, 1), 1);
    assert_int_equal(net_packet_receive(b, in, 4), 1);
    assert_int_equal(completed(a), 1);
    net_packet_close(a);
    net_packet_close(b);
}

static void headers_are_judged(void **state)
{
    struct verbs_got got = { .length = 100, .queue_pair = 5, .lid = 3, .has_grh = true };
    uint8_t grh[VERBS_GRH_BYTES] = { 0 };
    struct rrcp_address from;
    bool is_group;

    (void)state;
    assert_false(verbs_address_read(grh, &got, &from, &is_group));
    grh[0] = 0x60;
    memset(grh + 8, 0xab, 16);
    grh[24] = 0xff;
    assert_true(verbs_address_read(grh, &got, &from, &is_group));
    assert_true(is_group);
    assert_int_equal(from.bytes[0], 0xab);
    assert_int_equal(verbs_address_queue_pair(&from), 5);
    assert_int_equal(from.bytes[21], 3);
    grh[24] = 0xfe;
    assert_true(verbs_address_read(grh, &got, &from, &is_group));
    assert_false(is_group);
    grh[20] = 0x45; /* the last byte but three of the sender's GID, no header of IPv4 */
    assert_true(verbs_address_read(grh, &got, &from, &is_group));
    assert_int_equal(from.bytes[0], 0xab);
    got.has_grh = false;
    assert_false(verbs_address_read(grh, &got, &from, &is_group));
}

static void strangers_are_dropped(void **state)
{
    struct verbs_config config = config_of(1, 1);
    struct net_packet_io *a = open_end(0), *b;
    struct rrcp_arrival in[4];
    char why[256];

    (void)state;
    config.any_source = false;
    assert_int_equal(udp_sources_list(&config.sources[0], "10.88.0.2", why, sizeof(why)), 0);
    assert_int_equal(try_open(&config, why, &b), 0);
    send_one(a, 1, 64, NULL);
    assert_int_equal(net_packet_receive(b, in, 4), 0);
    assert_int_equal(b->counters.outside, 1);
    net_packet_close(b);
    assert_int_equal(udp_sources_list(&config.sources[0], "10.88.0.0/24", why, sizeof(why)), 0);
    assert_int_equal(try_open(&config, why, &b), 0);
    send_one(a, 1, 64, NULL);
    assert_int_equal(net_packet_receive(b, in, 4), 1);
    net_packet_close(a);
    net_packet_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(group_and_single, fresh),
        cmocka_unit_test_setup(too_large_is_said, fresh),
        cmocka_unit_test_setup(sends_complete, fresh),
        cmocka_unit_test_setup(overrun_is_silent, fresh),
        cmocka_unit_test_setup(polling_asks_nobody, fresh),
        cmocka_unit_test_setup(sleeps_and_wakes, fresh),
        cmocka_unit_test_setup(device_goes_and_comes, fresh),
        cmocka_unit_test_setup(broken_queue_is_made_anew, fresh),
        cmocka_unit_test_setup(group_is_joined_again, fresh),
        cmocka_unit_test_setup(refusals_at_the_start, fresh),
        cmocka_unit_test_setup(handles_are_bounded, fresh),
        cmocka_unit_test_setup(two_ports, fresh),
        cmocka_unit_test_setup(headers_are_judged, fresh),
        cmocka_unit_test_setup(strangers_are_dropped, fresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
