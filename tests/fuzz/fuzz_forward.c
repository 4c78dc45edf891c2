/* fuzz_forward.c - two networks say what they like to a relay: its tables stay whole, and all that
 * it says itself decodes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "forward/forward.h"
#include "rrmp/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OWN = 1, HEAD = 4, BYTES_MAX = 4096 };

static struct forward *open_relay(void)
{
    static const struct forward_name services[] = { { "IDN", 3 } };
    static const struct forward_name topics[] = { { "risk.*", 6 } };
    struct forward_config config = { .session = { OWN, OWN + 8 },
                                     .id = 50,
                                     .services = services,
                                     .service_count = 1,
                                     .topics = topics,
                                     .topic_count = 1,
                                     .queue_bytes = 1,
                                     .message_bytes_max = { BYTES_MAX, BYTES_MAX } };
    struct forward *f;

    if (forward_create(&config, &f) != 0)
        abort();
    return f;
}

static void drain(struct forward *f, bool is_refused)
{
    struct relay_message message;
    struct rrcp_msg msg;

    for (int side = 0; side < FORWARD_SIDES; side++)
        for (int i = 0; i < 1000 && forward_peek(f, side, &msg); i++) {
            if (msg.length > BYTES_MAX || (msg.session != 0 && msg.session == OWN) ||
                !relay_decode(msg.bytes, msg.length, &message))
                abort();
            forward_take(f, side, is_refused && (msg.flags & RRCP_MSG_UNICAST));
        }
    if (forward_check(f))
        abort();
}

/* The input is events: side, session (of 4), type; length; flags, topic; time that has passed. */
static size_t hear(struct forward *f, uint64_t now_ns, const uint8_t *data, size_t size)
{
    size_t length = data[1] < size - HEAD ? data[1] : size - HEAD;
    bool is_message = !(data[0] & 0x80u);
    uint8_t *copy = malloc(length + 1);
    struct backbone_event event = {
        .type = (uint8_t)(is_message ? BACKBONE_MESSAGE : 2 + (data[0] >> 3) % 6),
        .reason = 1 + data[2] % 7,
        .flags = data[2] >> 4 & 3u,
        .session = 2u + (data[0] & 3u),
        .src_port = data[2] & 8u ? 3 : RELAY_PORT,
        .dst_port = data[2] & 4u ? 3 : 0,
        .topic = data[2] & 2u ? RRMP_TOPIC_CONTROL : rrmp_topic("IDN", 3),
        .seq = data[3],
        .last = data[3],
        .count = 1,
        .length = (uint32_t)length,
        .bytes = copy
    };

    if (!copy)
        abort();
    memcpy(copy, data + HEAD, length);
    forward_input(f, now_ns, data[0] >> 2 & 1, &event);
    free(copy);
    return HEAD + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct forward *f = open_relay();
    uint64_t now_ns = MD_NS_PER_S;

    while (size > HEAD) {
        bool is_refused = data[3] & 0x80u;

        now_ns += (data[3] & 15u) * 100 * MD_NS_PER_MS;
        size_t used = hear(f, now_ns, data, size);
        forward_tick(f, now_ns);
        drain(f, is_refused);
        data += used;
        size -= used;
    }
    forward_destroy(f);
    return 0;
}
