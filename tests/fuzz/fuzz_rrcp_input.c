/* fuzz_rrcp_input.c - any bytes may come from the network: the engine stays whole and bounded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/writer.h"
#include "rrcp/rrcp.h"
#include "seal/seal.h"

/*
 * The input is a list of steps: u8 kind, u8 length, bytes. A packet is taken as it stands, or its
 * header is put right first, so that the fuzzer gets past the outer checks: as one of four
 * sessions, to one of two networks' addresses, with the right length. Other steps let time pass
 * and let local users send. The first byte says whether there are keys (1: one, 3: two), whether
 * the engine encrypts (4), is one of a mesh (8), and wants one topic alone there (16). With keys a
 * packet put right is signed, too, unless its kind has bit 2; one taken as it stands only if it
 * has.
 */

#define MS         1000000ull
#define PEERS_MAX  4
#define POOL       256
#define MEMORY_MAX (16u << 20)
#define TRAILER    24u

/* I17: what came in, and what went out because of it. */
struct traffic {
    uint32_t key_count;
    uint32_t signed_count;
    uint64_t input_bytes, answer_bytes, repair_bytes, naks;
    /* The last challenge: the next step answers it, so that the four sessions become peers. */
    uint8_t nonce[8];
    uint64_t asked;
    uint8_t asked_home, asked_path;
    bool is_mesh;
};

static const struct rrcp_key keys[2] = { { .id = 1, .bytes = { 1, 2, 3 } },
                                         { .id = 2, .bytes = { 4, 5, 6 } } };

static struct rrcp_seal seal;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rrcp_address homes[2] = { { .length = 4, .bytes = { 1 } },
                                              { .length = 4, .bytes = { 2 } } };

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
    struct backbone_event events[8];
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

/* So much of a packet of this type stays readable when it is encrypted. */
static uint32_t clear_bytes(uint8_t type, uint32_t length)
{
    static const uint8_t clear[] = { 0, 24, 40, 32, 0, 32, 24, 24, 0, 32, 24, 32 };
    uint32_t bytes = type < sizeof(clear) && clear[type] ? clear[type] : length;

    return bytes < length ? bytes : length;
}

/* As a member of the group does, with the second key encrypted, too; returns the length with the
 * trailer. */
static uint32_t sign(uint8_t *packet, uint32_t length, const struct rrcp_key *key, uint32_t counter)
{
    uint8_t *trailer = packet + length;
    struct rrcp_seal_id id = { .key = key,
                               .session = md_be64(packet + 8),
                               .network_id = network_id("fuzz"),
                               .cipher = RRCP_CIPHER_AES_128_GCM,
                               .is_sender = true };
    void *state = seal.begin(seal.context, NULL, &id);
    uint32_t clear = key->id == 2 ? clear_bytes(packet[3], length) : length;

    MD_ASSERT(state);
    packet[4] |= clear < length ? 6 : 2;
    md_put_be16(packet + 6, (uint16_t)(length + TRAILER));
    trailer[0] = key->id;
    trailer[1] = RRCP_CIPHER_AES_128_GCM;
    md_put_be16(trailer + 2, 0);
    md_put_be32(trailer + 4, counter);
    seal.seal(state, counter, packet, packet, clear, length, trailer + 8);
    seal.end(seal.context, state);
    return length + TRAILER;
}

static void feed(struct rrcp *r, uint64_t now_ns, uint8_t kind, struct traffic *traffic,
                 const uint8_t *bytes, uint32_t length)
{
    uint8_t *packet =
        malloc(length + 24u + TRAILER + 1u); /* exactly as long as it is: reads past it are seen */
    struct rrcp_arrival in = { .from = &homes[kind >> 4 & 1],
                               .path = kind >> 5 & 1,
                               .is_group = kind >> 6 & 1 };

    MD_ASSERT(packet);
    if (kind & 8) {
        memcpy(packet, bytes, length);
    } else {
        uint8_t type = (uint8_t)(length > 0 ? bytes[0] % 10 + 1 : 1);

        md_put_be16(packet, 0x5252);
        packet[2] = 0x11;
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
    if (traffic->key_count > 0 && length >= 24 && (kind >> 2 & 1) == (kind >> 3 & 1))
        length =
            sign(packet, length, &keys[(kind >> 1) % traffic->key_count], ++traffic->signed_count);
    uint8_t *exact = malloc(length ? length : 1);

    MD_ASSERT(exact);
    memcpy(exact, packet, length);
    in.bytes = exact;
    in.length = length;
    rrcp_input(r, now_ns, &in, 1);
    look_at_events(r);
    free(exact);
    free(packet);
    traffic->input_bytes += length;
}

static void answer(struct rrcp *r, uint64_t now_ns, struct traffic *traffic)
{
    uint8_t bytes[92 + TRAILER] = { 0 };
    struct rrcp_arrival in = { .bytes = bytes,
                               .from = &homes[traffic->asked_home],
                               .path = traffic->asked_path };

    md_put_be16(bytes, 0x5252);
    bytes[2] = 0x11;
    bytes[3] = 4;
    bytes[5] = traffic->asked_path;
    in.length = traffic->is_mesh ? 92 : 86;
    md_put_be16(bytes + 6, (uint16_t)in.length);
    md_put_be64(bytes + 8, traffic->asked);
    md_put_be32(bytes + 16, network_id("fuzz"));
    md_put_be64(bytes + 24, 1);
    md_put_be64(bytes + 32, 1);
    bytes[55] = traffic->is_mesh ? 32 : 0;
    bytes[62] = 1;
    bytes[63] = traffic->is_mesh ? 2 : 1;
    bytes[64] = (uint8_t)traffic->asked;
    bytes[68] = 5;
    bytes[69] = 16;
    md_put_be64(bytes + 70, 1);
    memcpy(bytes + 78, traffic->nonce, 8);
    bytes[86] = 6;
    bytes[87] = 4;
    memcpy(bytes + 88, in.from->bytes, 4);
    if (traffic->key_count > 0)
        in.length = sign(bytes, in.length, &keys[0], ++traffic->signed_count);
    traffic->asked = 0;
    traffic->input_bytes += in.length;
    rrcp_input(r, now_ns, &in, 1);
    look_at_events(r);
}

static void count_output(struct traffic *traffic, const struct rrcp_packet *p)
{
    switch (p->type) {
    case 1: /* DATA, if it is a repair */
        traffic->repair_bytes += p->bytes[4] & 1 ? p->length : 0;
        break;
    case 3: /* UACK */
    case 6: /* NCF */
        traffic->answer_bytes += p->length;
        break;
    case 5: /* NAK */
        traffic->naks++;
        break;
    case 8: /* SOLICIT, which has a budget */
        traffic->asked = md_be64(p->bytes + 24);
        traffic->asked_home = p->to->bytes[0] == 2;
        traffic->asked_path = p->path;
        memcpy(traffic->nonce, p->bytes + 32, 8);
        break;
    default: /* its users' messages, and what keeps time: beacons, reports */
        break;
    }
}

static void step_time(struct rrcp *r, uint64_t now_ns, struct traffic *traffic)
{
    struct rrcp_packet out[16];
    int n;

    rrcp_input(r, now_ns, NULL, 0);
    rrcp_tick(r, now_ns);
    while ((n = rrcp_output(r, now_ns, out, 16)) > 0)
        for (int i = 0; i < n; i++) {
            MD_ASSERT(out[i].length <= 1472 && md_be16(out[i].bytes + 6) == out[i].length);
            count_output(traffic, &out[i]);
        }
    look_at_events(r);
    if (traffic->asked >= 100 && traffic->asked <= 103)
        answer(r, now_ns, traffic);
}

/* In all, since the beginning: answers in proportion to what came in, the rest within budgets. */
static void check_output(const struct traffic *traffic, const struct rrcp_config *config,
                         uint64_t for_ns)
{
    uint64_t rate = config->interface_bits_per_s / 8 / 5;
    uint64_t repairs = rate * (for_ns / MS + 20) / 1000 + rate / 100 + 5ull * 1472;

    MD_ASSERT(traffic->answer_bytes <= 2 * traffic->input_bytes);
    MD_ASSERT(traffic->repair_bytes <= config->path_count * repairs);
    MD_ASSERT(traffic->naks <= 4 * config->nak_rate * (for_ns / MS + 1) / 1000 + 101);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t used = 0;
    struct rrcp_env env = {
        .context = &used, .take = take, .give = give, .seed = { 1, 2 }, .seal = &seal
    };
    struct rrcp_user user = { .receives = true };
    struct rrcp_config config;
    struct md_rd rd = md_rd_init(data, size);
    uint64_t now_ns = 1000 * MS;
    struct traffic traffic = { 0 };
    struct rrcp *r;

    if (!seal.context && seal_open(&seal) != 0)
        abort();
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
    config.packet_bytes_max = size >> 3 & 1 ? 256 : 1472; /* input may be longer */
    config.switch_reorder = size >> 1 & 1;
    config.flow_control = size >> 2 & 1 ? RRCP_FLOW_CONTROL_MIN : RRCP_FLOW_CONTROL_MAX;
    config.assembly_bytes_max = 1u << 20;
    uint8_t options = md_rd_u8(&rd);
    config.key_count = (options & 1) * (1u + (options >> 1 & 1));
    config.encrypts = options >> 2 & 1;
    traffic.key_count = config.key_count;
    traffic.is_mesh = options >> 3 & 1;
    if (traffic.is_mesh) {
        config.path_count = 1;
        config.mesh = (struct rrcp_mesh_config){ .is_on = true,
                                                 .seed_count = 2,
                                                 .self = { .length = 4, .bytes = { 9 } },
                                                 .seeds = { homes[0], homes[1] } };
    }
    memcpy(config.keys, keys, config.key_count * sizeof(keys[0]));
    if (rrcp_create(&config, &env, &r) != 0)
        abort();
    int port = rrcp_user_add(r, &user);

    if (options >> 4 & 1)
        rrcp_interest_set(r, now_ns, (const uint32_t[]){ 1 }, 1);
    for (int i = 0; i < 4; i++, now_ns += 50 * MS)
        step_time(r, now_ns, &traffic);
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
            step_time(r, now_ns, &traffic);
        } else {
            feed(r, now_ns, kind, &traffic, bytes, length);
        }
        const struct rrcp_counters *c = rrcp_counters(r);

        MD_ASSERT(c->peers_now <= PEERS_MAX && c->pool_use <= POOL);
        MD_ASSERT(used == c->memory_bytes);
        MD_ASSERT(!rrcp_check(r));
        check_output(&traffic, &config, now_ns - 1000 * MS);
    }
    step_time(r, now_ns + 5000 * MS, &traffic);
    rrcp_destroy(r);
    MD_ASSERT(used == 0);
    return 0;
}
