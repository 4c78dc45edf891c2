/* tcp.h - puts TCP streams together from segments. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWFDUMP_TCP_H
#define RWFDUMP_TCP_H

#include "packet.h"
#include "tap.h"

/*
 * Segments may come out of order, twice, overlapping, or not at all. What lies behind a hole is
 * kept, up to a bound; then, or at the end, the hole is told as a gap and reading goes on.
 */
struct tcp;

/* Of the direction that a message came in; the message is in bytes. */
struct tcp_message {
    enum tap_event event;
    const struct packet_address *from;
    const struct packet_address *to;
    const uint8_t *bytes;
    size_t length;
};

typedef void (*tcp_fn)(void *user, const struct tcp_message *message);

int tcp_create(tcp_fn fn, void *user, struct tcp **out);
void tcp_destroy(struct tcp *tcp); /* NULL is allowed */
void tcp_input(struct tcp *tcp, const struct packet_segment *segment);

/* No more segments: tell what is kept behind holes. */
void tcp_finish(struct tcp *tcp);

#endif
