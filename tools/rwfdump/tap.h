/* tap.h - listens to both directions of an RSSL connection and gives the messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWFDUMP_TAP_H
#define RWFDUMP_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rssl/pool.h"

/*
 * A tap holds a channel engine for each direction, in the place of the end that receives it: so
 * packing, fragments and compression come out as for the real end. It learns version, frame limit
 * and compression from the handshake. Where the handshake was not captured it assumes version 14
 * without compression, if the bytes look like frames.
 */
struct tap;

enum tap_event {
    TAP_MESSAGE,
    TAP_PING,
    TAP_NOTE, /* bytes are a sentence: why nothing more comes of this direction */
};

/* `side` is that of tap_input(). The bytes are a view. */
typedef void (*tap_fn)(void *user, enum tap_event event, int side, const uint8_t *bytes,
                       size_t length);

int tap_create(struct rssl_pool *pool, tap_fn fn, void *user, struct tap **out);
void tap_destroy(struct tap *tap); /* NULL is allowed */

/* Bytes of the stream that side 0 or 1 sent. `from_start`: the capture holds its beginning. */
void tap_input(struct tap *tap, int side, const uint8_t *bytes, size_t length, bool from_start);

/* Some bytes of the side are missing here. */
void tap_gap(struct tap *tap, int side);

/* There is nothing more to come. MD_ERR_MALFORMED: nothing came of the bytes there were, as what
 * the other end sent first is missing; a TAP_NOTE has said so. `is_rssl`: no other protocol. */
int tap_finish(struct tap *tap, bool is_rssl);

/* ---- all that one end sent, without the other ---- */

enum tap_start {
    TAP_START_UNKNOWN,
    TAP_START_REQUEST,
    TAP_START_ACK,
    TAP_START_NAK,
    TAP_START_FRAMES,
};

enum tap_start tap_start(const uint8_t *bytes, size_t length);

/* How many of the bytes are whole frames, end to end from the first byte on; no handshake. */
size_t tap_frames(const uint8_t *bytes, size_t length);

/* Side 1 is the one that sent an ack or a nak. What the other end would have said of compression is
 * found by trying. MD_ERR_MALFORMED: a TAP_NOTE has said what is wrong. */
int tap_whole(struct tap *tap, const uint8_t *bytes, size_t length);

#endif
