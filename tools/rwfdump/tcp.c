/* tcp.c - see tcp.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
    CONNECTIONS_MAX = 4096,
    PENDING_BYTES_MAX = 4 << 20, /* of one direction, behind a hole */
};

struct pending {
    struct pending *next;
    uint32_t seq;
    size_t length;
    uint8_t bytes[];
};

struct direction {
    uint32_t next_seq;
    bool is_known;           /* next_seq is */
    bool from_start;         /* the SYN was captured */
    struct pending *pending; /* ascending */
    size_t pending_bytes;
};

struct connection {
    struct connection *next;
    struct tcp *tcp;
    struct packet_address end[2];
    struct direction direction[2]; /* [i]: what end[i] sends */
    struct tap *tap;
};

struct tcp {
    tcp_fn fn;
    void *user;
    struct rssl_pool *pool;
    struct connection *connections; /* the last used first */
    unsigned connection_count;
};

int tcp_create(tcp_fn fn, void *user, struct tcp **out)
{
    struct tcp *tcp = calloc(1, sizeof(*tcp));

    *out = NULL;
    if (!tcp)
        return MD_ERR_NOMEM;
    tcp->fn = fn;
    tcp->user = user;
    if (rssl_pool_create(NULL, &tcp->pool) != MD_OK) {
        free(tcp);
        return MD_ERR_NOMEM;
    }
    *out = tcp;
    return MD_OK;
}

static void forget_pending(struct direction *d)
{
    while (d->pending) {
        struct pending *next = d->pending->next;

        free(d->pending);
        d->pending = next;
    }
    d->pending_bytes = 0;
}

static void destroy_connection(struct connection *c)
{
    forget_pending(&c->direction[0]);
    forget_pending(&c->direction[1]);
    tap_destroy(c->tap);
    free(c);
}

void tcp_destroy(struct tcp *tcp)
{
    if (!tcp)
        return;
    while (tcp->connections) {
        struct connection *next = tcp->connections->next;

        destroy_connection(tcp->connections);
        tcp->connections = next;
    }
    rssl_pool_destroy(tcp->pool);
    free(tcp);
}

static void on_tap(void *user, enum tap_event event, int side, const uint8_t *bytes, size_t length)
{
    const struct connection *c = user;
    const struct tcp_message message = {
        .event = event,
        .from = &c->end[side],
        .to = &c->end[1 - side],
        .bytes = bytes,
        .length = length,
    };

    c->tcp->fn(c->tcp->user, &message);
}

static bool same(const struct packet_address *a, const struct packet_address *b)
{
    return a->port == b->port && a->ip_length == b->ip_length &&
           memcmp(a->ip, b->ip, a->ip_length) == 0;
}

static struct connection *add(struct tcp *tcp, const struct packet_segment *segment)
{
    struct connection *c;

    if (tcp->connection_count == CONNECTIONS_MAX &&
        tcp->connections) { /* the one not heard of for longest goes */
        struct connection **last = &tcp->connections;

        while ((*last)->next)
            last = &(*last)->next;
        destroy_connection(*last);
        *last = NULL;
        tcp->connection_count--;
    }
    c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->tcp = tcp;
    c->end[0] = segment->from;
    c->end[1] = segment->to;
    if (tap_create(tcp->pool, on_tap, c, &c->tap) != MD_OK) {
        free(c);
        return NULL;
    }
    c->next = tcp->connections;
    tcp->connections = c;
    tcp->connection_count++;
    return c;
}

/* The connection of the segment, moved to the front, and which end sent it. */
static struct connection *find(struct tcp *tcp, const struct packet_segment *segment, int *side)
{
    for (struct connection **at = &tcp->connections; *at; at = &(*at)->next) {
        struct connection *c = *at;

        if (same(&c->end[0], &segment->from) && same(&c->end[1], &segment->to))
            *side = 0;
        else if (same(&c->end[1], &segment->from) && same(&c->end[0], &segment->to))
            *side = 1;
        else
            continue;
        *at = c->next;
        c->next = tcp->connections;
        tcp->connections = c;
        return c;
    }
    return NULL;
}

/* Keep a segment for later, in order; of two with the same start the longer one. */
static void keep(struct direction *d, uint32_t seq, const uint8_t *bytes, size_t length)
{
    struct pending **at = &d->pending;
    struct pending *p;

    while (*at && (int32_t)((*at)->seq - seq) < 0)
        at = &(*at)->next;
    if (*at && (*at)->seq == seq && (*at)->length >= length)
        return;
    p = malloc(sizeof(*p) + length);
    if (!p)
        return;
    p->seq = seq;
    p->length = length;
    memcpy(p->bytes, bytes, length);
    p->next = *at;
    *at = p;
    d->pending_bytes += length;
}

/* Bytes that start at or before what is expected: hand on what is new. */
static void deliver(struct connection *c, int side, uint32_t seq, const uint8_t *bytes,
                    size_t length)
{
    struct direction *d = &c->direction[side];
    uint32_t old = d->next_seq - seq;

    if (old >= length)
        return;
    d->next_seq += (uint32_t)(length - old);
    tap_input(c->tap, side, bytes + old, length - old, d->from_start);
}

static void deliver_pending(struct connection *c, int side)
{
    struct direction *d = &c->direction[side];

    while (d->pending && (int32_t)(d->pending->seq - d->next_seq) <= 0) {
        struct pending *p = d->pending;

        d->pending = p->next;
        d->pending_bytes -= p->length;
        deliver(c, side, p->seq, p->bytes, p->length);
        free(p);
    }
}

/* Give up the hole before what is kept. */
static void skip_hole(struct connection *c, int side)
{
    struct direction *d = &c->direction[side];

    if (!d->pending)
        return;
    tap_gap(c->tap, side);
    d->from_start = false;
    d->next_seq = d->pending->seq;
    deliver_pending(c, side);
}

void tcp_input(struct tcp *tcp, const struct packet_segment *segment)
{
    int side = 0;
    struct connection *c = find(tcp, segment, &side);
    struct direction *d;
    uint32_t seq = segment->seq;

    if (c && segment->syn && !segment->ack && c->direction[side].is_known) {
        tcp->connections = c->next; /* the ports are used again */
        tcp->connection_count--;
        destroy_connection(c);
        c = NULL;
        side = 0;
    }
    if (!c)
        c = add(tcp, segment);
    if (!c)
        return;
    d = &c->direction[side];
    if (segment->syn) {
        seq++;
        d->next_seq = seq;
        d->is_known = true;
        d->from_start = true;
    }
    if (segment->length == 0)
        return;
    if (!d->is_known) {
        d->is_known = true;
        d->next_seq = seq;
    }
    if ((int32_t)(seq - d->next_seq) > 0) {
        keep(d, seq, segment->bytes, segment->length);
        if (d->pending_bytes > PENDING_BYTES_MAX)
            skip_hole(c, side);
        return;
    }
    deliver(c, side, seq, segment->bytes, segment->length);
    deliver_pending(c, side);
}

void tcp_finish(struct tcp *tcp)
{
    for (struct connection *c = tcp->connections; c; c = c->next) {
        for (int side = 0; side < 2; side++)
            while (c->direction[side].pending)
                skip_hole(c, side);
        (void)tap_finish(c->tap, false);
    }
}
