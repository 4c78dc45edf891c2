/* fuzz_rrcp_input.c - any bytes may come from the network: the engine stays whole and bounded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/writer.h"
#include "rrcp/rrcp.h"

/*
 * The input is a list of steps: u8 kind, u8 length, bytes. A packet is taken as it stands, or its
 * header is put right first, so that the fuzzer gets past the outer checks: as one of four
 * sessions, to one of two networks' addresses, with the right length. Other steps let time pass
 * and let local users send.
 */

#define MS         1000000ull
#define PEERS_MAX  4
#define POOL       256
#define MEMORY_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *take(void *context, size_t bytes)
{
    size_t *used = context;

    if (*used + bytes > MEMORY_MAX)
        return NULL;
    *used += bytes;
    return calloc(1, bytes);
}

static void give(void *context, void *memory, size_t bytes)
{
    size_t *used = context;

    *used -= bytes;
    free(memory);
}

static void look_at_events(struct rrcp *r)
{
    struct rrcp_event events[8];
    volatile uint8_t sum = 0;
    int n;

    while ((n = rrcp_event(r, events, 8)) > 0)
        for (int i = 0; i < n; i++)
            for (uint32_t j = 0; j < events[i].length; j++)
                sum = (uint8_t)(sum + events[i].bytes[j]);
}

static uint32_t network_id(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

static void feed(struct rrcp *r, uint64_t now_ns, uint8_t kind, const uint8_t *bytes,
                 uint32_t length)
{
    static const struct rrcp_address homes[2] = { { .length = 4, .bytes = { 1 } },
                                                  { .length = 4, .bytes = { 2 } } };
    uint8_t *packet = malloc(length + 25u); /* exactly as long as it is: reads past it are seen */
    struct rrcp_arrival in = { .from = &homes[kind >> 4 & 1],
                               .path = kind >> 5 & 1,
                               .is_group = kind >> 6 & 1 };

    MD_ASSERT(packet);
    if (kind & 8) {
        memcpy(packet, bytes, length);
    } else {
        uint8_t type = (uint8_t)(length > 0 ? bytes[0] % 10 + 1 : 1);

        md_put_be16(packet, 0x5252);
        packet[2] = 0x10;
        packet[3] = type;
        packet[4] = length > 1 && bytes[1] < 64;
        packet[5] = 0;
        md_put_be16(packet + 6, (uint16_t)(length + 24));
        md_put_be64(packet + 8, 100u + (kind & 3));
        md_put_be32(packet + 16, network_id("fuzz"));
        md_put_be32(packet + 20, 7);
        if (length > 0)
            memcpy(packet + 24, bytes, length);
        length += 24;
    }
    uint8_t *exact = malloc(length ? length : 1);

    MD_ASSERT(exact);
    memcpy(exact, packet, length);
    in.bytes = exact;
    in.length = length;
    rrcp_input(r, now_ns, &in, 1);
    look_at_events(r);
    free(exact);
    free(packet);
}

static void step_time(struct rrcp *r, uint64_t now_ns)
{
    struct rrcp_packet out[16];
    int n;

    rrcp_input(r, now_ns, NULL, 0);
    rrcp_tick(r, now_ns);
    while ((n = rrcp_output(r, now_ns, out, 16)) > 0)
        for (int i = 0; i < n; i++)
            MD_ASSERT(out[i].length <= 1472 && md_be16(out[i].bytes + 6) == out[i].length);
    look_at_events(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t used = 0;
    struct rrcp_env env = { .context = &used, .take = take, .give = give, .seed = { 1, 2 } };
    struct rrcp_user user = { .receives = true };
    struct rrcp_config config;
    struct md_rd rd = md_rd_init(data, size);
    uint64_t now_ns = 1000 * MS;
    struct rrcp *r;

    rrcp_config_init(&config);
    config.network = "fuzz";
    config.node = "fuzz";
    config.session = 1;
    config.pool_packets = POOL;
    config.peers_max = PEERS_MAX;
    config.window_packets = 128;
    config.missing_max = 64;
    config.arrivals_max = 4;
    config.path_count = size & 1 ? 2 : 1;
    config.switch_reorder = size >> 1 & 1;
    config.flow_control = size >> 2 & 1 ? RRCP_FLOW_CONTROL_MIN : RRCP_FLOW_CONTROL_MAX;
    config.assembly_bytes_max = 1u << 20;
    if (rrcp_create(&config, &env, &r) != 0)
        abort();
    int port = rrcp_user_add(r, &user);

    for (int i = 0; i < 4; i++, now_ns += 50 * MS)
        step_time(r, now_ns);
    while (md_rd_left(&rd) >= 2) {
        uint8_t kind = md_rd_u8(&rd);
        uint32_t length = md_rd_u8(&rd) * 2u;

        if (length > md_rd_left(&rd))
            length = (uint32_t)md_rd_left(&rd);
        const uint8_t *bytes = md_rd_bytes(&rd, length);

        if (kind & 0x80) {
            struct rrcp_msg msg = { .bytes = bytes,
                                    .length = length,
                                    .topic = kind & 1,
                                    .session = kind & 2 ? 100u + (kind >> 2 & 3) : 0,
                                    .flags = (kind & 0x12) == 0x12 ? RRCP_MSG_UNICAST : 0 };

            rrcp_submit(r, now_ns, port, &msg);
            now_ns += (kind & 0x60) * MS / 4;
            step_time(r, now_ns);
        } else {
            feed(r, now_ns, kind, bytes, length);
        }
        const struct rrcp_counters *c = rrcp_counters(r);

        MD_ASSERT(c->peers_now <= PEERS_MAX && c->pool_use <= POOL);
        MD_ASSERT(used == c->memory_bytes);
    }
    step_time(r, now_ns + 5000 * MS);
    rrcp_destroy(r);
    MD_ASSERT(used == 0);
    return 0;
}
