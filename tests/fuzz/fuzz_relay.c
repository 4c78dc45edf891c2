/* fuzz_relay.c - what relays say: nothing is read past the end, what decodes encodes again, and a
 * node that hears it keeps its tables whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "relay/far.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const uint8_t *data, size_t size)
{
    struct relay_message message, again;
    uint8_t head[RELAY_TO_BYTES];

    if (!relay_decode(data, size, &message))
        return;
    size_t length = relay_encode(&message, head);
    uint8_t *copy = malloc(length + message.length + 1);

    if (!copy)
        abort();
    memcpy(copy, head, length);
    if (message.length > 0)
        memcpy(copy + length, message.bytes, message.length);
    if (!relay_decode(copy, length + message.length, &again) || again.kind != message.kind ||
        again.hops != message.hops || again.origin != message.origin ||
        again.target != message.target || again.seq != message.seq || again.lost != message.lost ||
        again.number != message.number || again.port != message.port)
        abort();
    free(copy);
}

/* The input is events: session (of 4), type, length, bytes. */
static void hear(struct relay_far *far, const uint8_t *data, size_t size)
{
    struct relay_event out;

    while (size > 3) {
        size_t length = (size_t)data[1] << 1 | (data[2] & 1u);
        bool is_message = !(data[0] & 0x80u);

        data += 3;
        size -= 3;
        if (length > size)
            length = size;
        uint8_t *copy = malloc(length + 1);
        if (!copy)
            abort();
        memcpy(copy, data, length);
        struct backbone_event event = { .type = (uint8_t)(is_message ? BACKBONE_MESSAGE
                                                                     : 2 + (data[-3] >> 2) % 6),
                                        .session = 1u + (data[-3] & 3u),
                                        .src_port = RELAY_PORT,
                                        .dst_port = is_message ? 0 : RELAY_PORT,
                                        .reason = 1,
                                        .count = 1,
                                        .length = (uint32_t)length,
                                        .bytes = copy };
        for (bool more = relay_far_take(far, &event, &out); more;
             more = relay_far_take(far, NULL, &out))
            if (out.event.type == BACKBONE_MESSAGE && out.event.session == 0 &&
                out.kind != RELAY_RESET)
                abort();
        if (relay_far_check(far))
            abort();
        free(copy);
        data += length;
        size -= length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct relay_far *far;

    round_trip(data, size);
    for (int is_relay = 0; is_relay < 2; is_relay++) {
        if (relay_far_create(2, is_relay, &far) != 0)
            abort();
        hear(far, data, size);
        relay_far_destroy(far);
    }
    return 0;
}
