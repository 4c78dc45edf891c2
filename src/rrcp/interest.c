/* interest.c - see interest.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "interest.h"

#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "common.h"
#include "peer_table.h"

/*
 * A peer says which topics its users want in the unicast stream to this node. What its users ask of
 * ours afterwards comes behind it in that stream, so whatever they ask for is not left out. A
 * message is judged when it is packed, all its pieces at once; a packet goes to a peer if one of
 * its messages does. A message whose beginning shares a packet with another goes wherever that one
 * goes, so that nobody gets a part of it and waits for the rest.
 *
 * Peers are bits. A bit is used again by another peer, which must not be taken for the one before:
 * `since` says from which packet on the bit is its own.
 */

#define VERSIONS_BACK 65536u /* an older interest of ours is not believed to be the reason */

static struct interest_peer *of_place(const struct rrcp *r, int place)
{
    return &r->interest->peers[place];
}

static size_t slots_of(const struct rrcp *r)
{
    return (size_t)r->sender.slot_mask + 1;
}

size_t rrcp_interest_bytes(const struct rrcp *r)
{
    return r->interest ? sizeof(*r->interest) + slots_of(r) * sizeof(r->interest->skipped[0]) : 0;
}

int rrcp_interest_init(struct rrcp *r)
{
    if (!r->config.mesh.is_on)
        return MD_OK;
    r->interest =
        rrcp_take(r, sizeof(*r->interest) + slots_of(r) * sizeof(r->interest->skipped[0]));
    if (!r->interest)
        return MD_ERR_NOMEM;
    r->interest->is_all = true;
    r->interest->first_version = (uint32_t)r->hash_key[0]; /* no stranger knows it */
    r->interest->version = r->interest->first_version;
    r->interest->due_ns = RRCP_NEVER;
    return MD_OK;
}

void rrcp_interest_fini(struct rrcp *r)
{
    rrcp_give(r, r->interest, rrcp_interest_bytes(r));
    r->interest = NULL;
}

/* ---- topics ------------------------------------------------------------------------------- */

static struct interest_topic *look(const struct rrcp *r, uint32_t topic)
{
    struct interest_topic *table = r->interest->table;
    uint32_t at = (uint32_t)((topic + 1ull) * (r->hash_key[1] | 1) >> 32) % INTEREST_SLOTS;

    while (table[at].is_used && table[at].topic != topic)
        at = (at + 1) % INTEREST_SLOTS;
    return &table[at];
}

static void add(struct rrcp *r, uint32_t topic, uint64_t bit)
{
    struct interest_topic *entry = look(r, topic);

    if (!entry->is_used) {
        *entry = (struct interest_topic){ .topic = topic, .is_used = true };
        r->interest->used++;
    }
    entry->peers |= bit;
}

/* Without the topics that nobody wants any more. */
static void rebuild(struct rrcp *r)
{
    struct rrcp_interest *i = r->interest;

    memset(i->table, 0, sizeof(i->table));
    i->used = 0;
    for (int place = 0; place < RRCP_MESH_PEERS_MAX; place++)
        for (uint32_t t = 0; t < i->peers[place].count; t++)
            add(r, i->peers[place].topics[t], 1ull << place);
}

/* The open packet may have messages that were judged before. */
static void judge_anew(struct rrcp *r, uint64_t bit)
{
    r->sender.open.wanted |= bit;
}

static void want_nothing(struct rrcp *r, int place)
{
    struct interest_peer *p = of_place(r, place);

    for (uint32_t t = 0; t < p->count; t++)
        look(r, p->topics[t])->peers &= ~(1ull << place);
    p->count = 0;
}

static void want_all(struct rrcp *r, int place)
{
    want_nothing(r, place);
    r->interest->filtered &= ~(1ull << place);
    judge_anew(r, 1ull << place);
}

/* ---- peers -------------------------------------------------------------------------------- */

void rrcp_interest_met(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_interest *i = r->interest;

    if (!i)
        return;
    MD_ASSERT(i->live != UINT64_MAX);
    int place = __builtin_ctzll(~i->live);
    uint64_t bit = 1ull << place;

    i->live |= bit;
    i->pending &= ~bit;
    peer->place = (uint8_t)(place + 1);
    i->peers[place] = (struct interest_peer){ .session = peer->session,
                                              .since = r->sender.next_seq,
                                              .due_ns = RRCP_NEVER };
    judge_anew(r, bit);
    for (uint64_t seq = r->sender.send_next; seq < r->sender.next_seq; seq++)
        i->skipped[seq & r->sender.slot_mask] &= ~bit;
}

void rrcp_interest_lost(struct rrcp *r, struct rrcp_peer *peer)
{
    if (!r->interest)
        return;
    want_all(r, peer->place - 1);
    r->interest->live &= ~(1ull << (peer->place - 1));
    r->interest->pending &= ~(1ull << (peer->place - 1));
    peer->place = 0;
}

void rrcp_interest_doubt(struct rrcp *r, const struct rrcp_peer *peer)
{
    if (r->interest && peer->state == PEER_LIVE)
        want_all(r, peer->place - 1);
}

void rrcp_interest_input(struct rrcp *r, struct rrcp_peer *peer, const uint8_t *bytes,
                         uint32_t length)
{
    const struct packet_interest *said = (const void *)bytes;

    if (!r->interest || peer->state != PEER_LIVE)
        return;
    uint32_t count = length < sizeof(*said) ? UINT32_MAX : md_be16(said->count);

    r->counters.interests_rcvd++;
    want_all(r, peer->place - 1);
    if (count > RRCP_INTEREST_MAX || length != sizeof(*said) + 4 * count ||
        said->kind != INTEREST_KIND || said->is_all)
        return; /* what is not understood is everything, too */
    struct interest_peer *p = of_place(r, peer->place - 1);

    if (r->interest->used + count > INTEREST_SLOTS / 4 * 3)
        rebuild(r);
    p->version = md_be32(said->version);
    p->count = count;
    for (uint32_t t = 0; t < count; t++) {
        p->topics[t] = md_be32(said->topics[t]);
        add(r, p->topics[t], 1ull << (peer->place - 1));
    }
    r->interest->filtered |= 1ull << (peer->place - 1);
}

/* ---- packets ------------------------------------------------------------------------------ */

uint64_t rrcp_interest_look(struct rrcp *r, const struct rrcp_msg *msg)
{
    const struct rrcp_interest *i = r->interest;

    if (msg->topic >= RRCP_TOPIC_USER_DOWN)
        return UINT64_MAX;
    if (msg->session == 0)
        return ~i->filtered | look(r, msg->topic)->peers;
    const struct rrcp_peer *peer = rrcp_peer_find(r, msg->session);

    return ~i->filtered | (peer ? 1ull << (peer->place - 1) : 0);
}

/* ---- our own ------------------------------------------------------------------------------ */

uint32_t rrcp_interest_write(const struct rrcp *r, uint8_t *out)
{
    const struct rrcp_interest *i = r->interest;
    struct packet_interest *say = (void *)out;

    say->kind = INTEREST_KIND;
    say->is_all = i->is_all;
    md_put_be16(say->count, (uint16_t)i->count);
    md_put_be32(say->version, i->version);
    for (uint32_t t = 0; t < i->count; t++)
        md_put_be32(say->topics[t], i->topics[t]);
    return (uint32_t)sizeof(*say) + 4 * i->count;
}

bool rrcp_interest_was_less(const struct rrcp *r)
{
    return r->interest->version != r->interest->first_version;
}

bool rrcp_interest_holds(const struct rrcp *r, uint32_t version)
{
    const struct rrcp_interest *i = r->interest;

    if (!i || i->version - version >= VERSIONS_BACK || version == i->first_version ||
        version - i->first_version > i->version - i->first_version)
        return false;
    return version != i->version || !i->is_all;
}
