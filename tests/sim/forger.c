/* forger.c - a hostile node: forges every type of packet, replays what it heard, floods, and speaks
 * from anybody's address. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/writer.h"
#include "sim.h"

/*
 * It stands in the group: it hears all that goes to the group, and with keys in use all that goes
 * to one node, too. It knows every session, every address and how far each node has sent. It does
 * not have the key, and without one it does not hear the challenges that others get.
 */
#define HEARD_MAX    512
#define PACKET_MAX   4200
#define TYPE_MAX     10 /* and 11 in a mesh */
#define HEADER_BYTES 24

struct heard {
    uint8_t bytes[PACKET_MAX];
    uint32_t length;
    struct rrcp_address from;
    bool is_group;
};

struct sim_forger {
    struct md_prng prng;
    uint32_t network;
    uint64_t count;
    uint64_t *lead; /* by node: the seq it will send next */
    struct heard heard[HEARD_MAX];
};

/* A message of the forger's own begins with this. */
const char forger_mark[8] = "forged!";

struct sim_forger *forger_begin(const struct sim *sim)
{
    struct sim_forger *f = calloc(1, sizeof(*f));

    MD_ASSERT(f);
    f->prng = md_prng_init(sim->options.seed ^ 0xf0f0);
    f->lead = calloc((size_t)sim->options.nodes, sizeof(uint64_t));
    MD_ASSERT(f->lead);
    f->network = 2166136261u;
    for (const char *c = "sim"; *c; c++)
        f->network = (f->network ^ (uint8_t)*c) * 16777619u;
    return f;
}

void forger_end(struct sim_forger *f)
{
    if (f)
        free(f->lead);
    free(f);
}

static uint32_t below(struct sim_forger *f, uint32_t limit)
{
    return md_prng_below(&f->prng, limit);
}

void forger_hear(struct sim *sim, int node, const struct rrcp_packet *packet)
{
    struct sim_forger *f = sim->forger;
    bool is_group = packet->to == NULL;

    if (!f || packet->length > PACKET_MAX || (!is_group && sim->options.config.key_count == 0))
        return;
    if (packet->type == 1 && !(packet->bytes[4] & 4))
        f->lead[node] = md_be64(packet->bytes + 24) + 1;
    if (packet->type == 1 && below(f, 8))
        return; /* the others are fewer and tell more */
    struct heard *h = &f->heard[f->count++ % HEARD_MAX];

    memcpy(h->bytes, packet->bytes, packet->length);
    h->length = packet->length;
    h->is_group = is_group;
    simnet_address(sim->net, node, packet->path, &h->from);
}

/* ---- forging ------------------------------------------------------------------------------ */

/* A sequence number near what the node sends, beyond every window, or anywhere. */
static uint64_t some_seq(struct sim_forger *f, int node)
{
    uint64_t lead = f->lead[node] ? f->lead[node] : 1;

    switch (below(f, 8)) {
    case 0:
        return lead;
    case 1:
        return lead + below(f, 10);
    case 2:
        return lead > 20 ? lead - below(f, 20) : 1;
    case 3:
        return lead + below(f, 2000);
    case 4:
        return lead + 1000000 + below(f, 1000);
    case 5:
        return 1ull << below(f, 64);
    case 6:
        return 1;
    default:
        return UINT64_MAX - md_prng_u64(&f->prng) % (1ull << 34);
    }
}

/* One whole message with the forger's mark; returns the end of the packet. */
static uint32_t put_chunk(struct sim_forger *f, uint8_t *bytes, uint32_t at)
{
    uint32_t payload = 48 + below(f, 100);

    md_put_be16(bytes + 36 + (at == 52 ? 12 : 0), 1);
    md_put_be16(bytes + 38 + (at == 52 ? 12 : 0), (uint16_t)at);
    memset(bytes + at, 0, 12 + payload);
    md_put_be16(bytes + at, (uint16_t)payload);
    bytes[at + 2] = 0xc0;
    md_put_be32(bytes + at + 4, 0x101);
    memcpy(bytes + at + 12, forger_mark, sizeof(forger_mark));
    return at + 12 + payload;
}

static uint32_t put_beacon(struct sim *sim, struct sim_forger *f, uint8_t *bytes, int as)
{
    uint32_t pos;
    int name = below(f, 8) ? as : (int)below(f, (uint32_t)sim->options.nodes);

    md_put_be64(bytes + 24, some_seq(f, as));
    md_put_be64(bytes + 32, below(f, 2) ? md_be64(bytes + 24) : 1);
    md_put_be16(bytes + 54, (uint16_t)below(f, sim_is_mesh(sim) ? 64 : 16));
    md_put_be32(bytes + 56, 2000);
    md_put_be16(bytes + 60, 1000);
    bytes[62] = (uint8_t)snprintf((char *)bytes + 64, 24, "node%d.1.rrcpd", name);
    pos = 64 + ((bytes[62] + 3u) & ~3u);
    if (below(f, 2)) { /* a guess at somebody's nonce */
        bytes[63] = 1;
        bytes[pos] = 5;
        bytes[pos + 1] = 16;
        md_put_be64(bytes + pos + 2, sim->check.lives[below(f, sim->check.life_count)].session);
        md_put_be64(bytes + pos + 10, md_prng_u64(&f->prng));
        pos += 18;
    }
    return pos;
}

static uint32_t put_ranges(struct sim_forger *f, uint8_t *bytes, uint32_t at)
{
    uint32_t offset = 0;
    uint32_t count = 1 + below(f, 8);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = 1 + below(f, below(f, 4) ? 4 : 5000);

        md_put_be32(bytes + at, offset);
        md_put_be32(bytes + at + 4, length);
        offset += length + below(f, 100);
        at += 8;
    }
    return count;
}

static uint64_t some_useq(struct sim_forger *f)
{
    uint64_t incarnation = below(f, 4) ? below(f, 3) : below(f, 0x10000);

    return incarnation << 48 | (1 + below(f, below(f, 2) ? 4 : 300));
}

/* Writes the packet behind its header; returns its length. */
static uint32_t put_body(struct sim *sim, struct sim_forger *f, uint8_t *bytes, int as,
                         uint64_t to_session)
{
    uint32_t count;

    switch (bytes[3]) {
    case 1:
        md_put_be64(bytes + 24, some_seq(f, as));
        md_put_be32(bytes + 32, below(f, 3) ? 0 : below(f, 1000));
        return put_chunk(f, bytes, 40);
    case 2:
        md_put_be64(bytes + 24, some_useq(f));
        md_put_be64(bytes + 32, to_session);
        md_put_be64(bytes + 40, some_useq(f));
        return put_chunk(f, bytes, 52);
    case 3:
        md_put_be64(bytes + 24, to_session);
        md_put_be64(bytes + 32, below(f, 4) ? some_useq(f) : 0);
        md_put_be64(bytes + 40, md_prng_u64(&f->prng));
        md_put_be16(bytes + 52, (uint16_t)below(f, 300));
        md_put_be16(bytes + 54, (uint16_t)below(f, 2));
        return 56;
    case 4:
        return put_beacon(sim, f, bytes, as);
    case 5:
        md_put_be64(bytes + 24, to_session);
        md_put_be64(bytes + 32, some_seq(f, as) / 2 + 1);
        count = put_ranges(f, bytes, 44);
        md_put_be16(bytes + 40, (uint16_t)count);
        md_put_be16(bytes + 42, 1);
        return 44 + 8 * count;
    case 6:
        md_put_be64(bytes + 24, some_seq(f, as));
        count = put_ranges(f, bytes, 40);
        md_put_be16(bytes + 32, (uint16_t)count);
        bytes[34] = (uint8_t)(1 + below(f, 3));
        md_put_be16(bytes + 36, (uint16_t)below(f, 300));
        return 40 + 8 * count;
    case 7:
        md_put_be64(bytes + 24, some_seq(f, as));
        bytes[32] = 1;
        return 33;
    case 8:
        md_put_be64(bytes + 24, to_session);
        md_put_be64(bytes + 32, md_prng_u64(&f->prng));
        return 148;
    case 9:
        md_put_be64(bytes + 24, to_session);
        md_put_be64(bytes + 32, some_seq(f, as));
        md_put_be64(bytes + 40, some_seq(f, as));
        md_put_be32(bytes + 48, below(f, 1000));
        return 68;
    case 11: /* a guess at the version */
        md_put_be64(bytes + 24, to_session);
        md_put_be64(bytes + 32, some_seq(f, as));
        md_put_be32(bytes + 40, md_prng_u32(&f->prng));
        count = put_ranges(f, bytes, 48);
        md_put_be16(bytes + 44, (uint16_t)count);
        return 48 + 8 * count;
    default:
        return 26;
    }
}

static uint32_t make(struct sim *sim, struct sim_forger *f, uint8_t *bytes, int as, int to,
                     uint8_t type)
{
    bool is_invented = below(f, 8) == 0 || !sim->nodes[as].r;
    uint64_t session =
        is_invented ? md_prng_u64(&f->prng) | 0xffff : rrcp_session(sim->nodes[as].r);
    uint64_t to_session = sim->nodes[to].r ? rrcp_session(sim->nodes[to].r) : 7;
    uint32_t length;

    memset(bytes, 0, PACKET_MAX);
    md_put_be16(bytes, 0x5252);
    bytes[2] = 0x11;
    bytes[3] = type;
    bytes[4] = below(f, 4) ? 0 : 1;
    md_put_be64(bytes + 8, session);
    md_put_be32(bytes + 16, f->network);
    md_put_be32(bytes + 20, md_prng_u32(&f->prng));
    length = put_body(sim, f, bytes, as, to_session);
    if (sim->options.config.key_count > 0 && below(f, 4)) { /* a guess at the tag */
        bytes[4] |= 2;
        for (uint32_t i = 0; i < 24; i++)
            bytes[length + i] = (uint8_t)md_prng_u32(&f->prng);
        bytes[length] = sim->options.config.keys[0].id;
        length += 24;
    }
    md_put_be16(bytes + 6, (uint16_t)length);
    return length;
}

static void replay(struct sim *sim, struct sim_forger *f, int to)
{
    uint64_t most = f->count < HEARD_MAX ? f->count : HEARD_MAX;
    const struct heard *h;
    struct rrcp_address from = { .length = 6, .bytes = { 99, 1 } };

    if (most == 0)
        return;
    h = &f->heard[below(f, (uint32_t)most)];
    if (below(f, 4))
        from = h->from;
    simnet_hostile(sim->net, SIMNET_REPLAYED);
    simnet_inject(sim->net, to, &from, h->bytes, h->length, below(f, 4) ? h->is_group : true);
    simnet_hostile(sim->net, SIMNET_HONEST);
}

/* `type` 0: any. */
void sim_forge(struct sim *sim, int packets, int type)
{
    struct sim_forger *f = sim->forger;
    uint8_t bytes[PACKET_MAX];
    uint32_t types = sim_is_mesh(sim) ? TYPE_MAX + 1 : TYPE_MAX;

    for (int i = 0; i < packets; i++) {
        int to = (int)below(f, (uint32_t)sim->options.nodes);
        int as = (int)below(f, (uint32_t)sim->options.nodes);
        struct rrcp_address from = { .length = 6 };
        uint8_t of = (uint8_t)(type ? (uint32_t)type : 1 + below(f, types));

        if (!sim->nodes[to].r)
            continue;
        sim->coverage->forged++;
        if (type == 0 && below(f, 4) == 0) {
            replay(sim, f, to);
            continue;
        }
        uint32_t length = make(sim, f, bytes, as, to, of);

        simnet_address(sim->net, as, 0, &from);
        if (below(f, 8) == 0) { /* an address of nobody */
            from.bytes[0] = 99;
            from.bytes[1] = (uint8_t)below(f, 256);
        }
        simnet_hostile(sim->net, SIMNET_FORGED);
        simnet_inject(sim->net, to, &from, bytes, length, below(f, 2));
        simnet_hostile(sim->net, SIMNET_HONEST);
    }
}

void sim_forge_as(struct sim *sim, int to, int as, int packets, int type)
{
    struct sim_forger *f = sim->forger;
    struct rrcp_address from = { .length = 6 };
    uint8_t bytes[PACKET_MAX];

    simnet_address(sim->net, as, 0, &from);
    simnet_hostile(sim->net, SIMNET_FORGED);
    for (int i = 0; i < packets && sim->nodes[to].r && sim->nodes[as].r; i++) {
        uint32_t length = make(sim, f, bytes, as, to, (uint8_t)type);

        md_put_be64(bytes + 8, rrcp_session(sim->nodes[as].r));
        bytes[4] &= 0xfe;
        simnet_inject(sim->net, to, &from, bytes, length, type == 7);
        sim->coverage->forged++;
    }
    simnet_hostile(sim->net, SIMNET_HONEST);
}

void sim_forge_crowd(struct sim *sim, int packets)
{
    struct sim_forger *f = sim->forger;
    uint8_t bytes[PACKET_MAX];

    simnet_hostile(sim->net, SIMNET_FORGED);
    for (int i = 0; i < packets; i++) {
        struct rrcp_address from = { .length = 6, .bytes = { 99 } };
        uint32_t length = make(sim, f, bytes, 0, 0, 4);

        md_put_be64(bytes + 8, md_prng_u64(&f->prng) | 0xffff);
        md_put_be32(from.bytes + 1, md_prng_u32(&f->prng));
        for (int to = 0; to < sim->options.nodes; to++)
            simnet_inject(sim->net, to, &from, bytes, length, true);
        sim->coverage->forged++;
    }
    simnet_hostile(sim->net, SIMNET_HONEST);
}

int sim_strangers(const struct sim *sim)
{
    int count = 0;

    for (int i = 0; i < sim->options.nodes; i++)
        for (int j = 0; j < sim->options.nodes; j++)
            count += i != j && !check_is_up(&sim->check, i, sim->nodes[j].life);
    return count;
}

/* ---- what is promised --------------------------------------------------------------------- */

void sim_forger_begin(struct sim *sim)
{
    sim->forger = forger_begin(sim);
    sim->is_forged = sim->options.config.key_count == 0;
    sim->has_hostile |= sim->is_forged;
}

/* I9: 3 s after the last forged packet everybody sees everybody, and from then on all is kept. */
void sim_forger_over(struct sim *sim)
{
    if (!sim->is_forged)
        return;
    sim->is_forged = false;
    for (int i = 0; i < sim->options.nodes; i++)
        for (int j = 0; j < sim->options.nodes; j++)
            if (i != j && sim->nodes[i].r && sim->nodes[j].r &&
                !check_is_up(&sim->check, i, sim->nodes[j].life))
                sim_fail(sim, "I9: after the last forged packet node %d does not see node %d", i,
                         j);
    check_calm(&sim->check);
}

void sim_forger_heard(struct sim *sim)
{
    for (int i = 0; i < sim->options.nodes; i++)
        for (int j = 0; j < sim->options.nodes; j++)
            if (i != j && sim->nodes[i].r && sim->nodes[j].r && sim->nodes[j].load.per_s &&
                !check_has_heard(&sim->check, i, sim->nodes[j].life))
                sim_fail(sim, "I9: after the last forged packet node %d gets no message of node %d",
                         i, j);
    for (int i = 0; i < sim->options.nodes; i++)
        for (int j = 0; j < sim->options.nodes; j++)
            if (i != j && sim->nodes[i].r && sim->nodes[j].r &&
                sim->nodes[j].load.unicast_ppm >= SIM_UNICAST_HEARD &&
                !check_has_unicast(&sim->check, i, sim->nodes[j].life))
                sim_fail(sim, "I9: after the last forged packet node %d gets no unicast of node %d",
                         i, j);
}
