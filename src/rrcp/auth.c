/* auth.c - tags, encryption and the replay windows: who sent a packet, and whether it is new. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "auth.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/siphash.h"
#include "base/writer.h"
#include "challenge.h"
#include "common.h"
#include "pass.h"

/*
 * Each session has a key of its own, made of the group's key and the session's number. Every packet
 * that leaves takes the next counter, whatever its type, on each path: with the session's key the
 * counter is the cipher's nonce, which must never come twice.
 */

#define WINDOW        1024
#define COUNTER_RENEW (1ull << 47)           /* time for a new session */
#define COUNTER_END   ((1ull << 48) - 65536) /* nothing is sealed any more */

static const struct rrcp_seal *seal_of(const struct rrcp *r)
{
    return r->env.seal;
}

static uint64_t counter_of(const struct packet_trailer *trailer)
{
    const uint8_t *p = trailer->counter;

    return (uint64_t)md_be16(p) << 32 | md_be32(p + 2);
}

static void *begin(const struct rrcp *r, void *state, const struct rrcp_key *key, uint64_t session,
                   uint32_t cipher, bool is_sender)
{
    struct rrcp_seal_id id = { .key = key,
                               .session = session,
                               .network_id = r->rules.network_id,
                               .cipher = (enum rrcp_cipher)cipher,
                               .is_sender = is_sender };

    return seal_of(r)->begin(seal_of(r)->context, state, &id);
}

static void end(const struct rrcp *r, void *state)
{
    if (state)
        seal_of(r)->end(seal_of(r)->context, state);
}

/* ---- sealing ------------------------------------------------------------------------------ */

static int take_sealer(struct rrcp *r)
{
    r->sealer = begin(r, NULL, &r->config.keys[0], r->session, r->config.cipher, true);
    if (!r->sealer)
        return MD_ERR_NOMEM;
    return rrcp_pass_keys(r, r->config.keys, r->config.key_count, r->pass_key);
}

int rrcp_auth_init(struct rrcp *r)
{
    if (r->config.key_count == 0)
        return MD_OK;
    r->auth_counter = r->config.first_counter;
    r->opened_size = (size_t)r->config.arrivals_max * (r->config.packet_bytes_max + 64u);
    r->opened = rrcp_take(r, r->opened_size);
    if (!r->opened)
        return MD_ERR_NOMEM;
    if (r->config.encrypts && !r->config.completes_late) {
        r->sealed = rrcp_take(r, (size_t)r->handed_max * r->pool.stride);
        if (!r->sealed)
            return MD_ERR_NOMEM;
    }
    return take_sealer(r);
}

bool rrcp_auth_is_exhausted(const struct rrcp *r)
{
    return r->config.key_count > 0 && (!r->sealer || r->auth_counter >= COUNTER_END);
}

void rrcp_auth_tick(struct rrcp *r)
{
    if (r->config.key_count > 0 && r->auth_counter >= COUNTER_RENEW)
        rrcp_note(r, RRCP_NOTE_COUNTER_EXHAUSTED, r->session, r->auth_counter);
}

void rrcp_auth_seal(struct rrcp *r, uint8_t *to, const uint8_t *from, uint32_t length)
{
    struct packet_trailer *trailer = (void *)(to + length);
    const struct packet_header *h = (const void *)from;
    uint32_t clear = h->flags & PACKET_FLAG_SEALED ? rrcp_packet_clear(h->type, length) : length;

    r->auth_counter++;
    seal_of(r)->seal(r->sealer, r->auth_counter, to, from, clear, length, trailer->tag);
    trailer->key_id = r->config.keys[0].id;
    trailer->algorithm = (uint8_t)r->config.cipher;
    md_put_be16(trailer->counter, (uint16_t)(r->auth_counter >> 32));
    md_put_be32(trailer->counter + 2, (uint32_t)r->auth_counter);
}

/* ---- opening ------------------------------------------------------------------------------ */

/* Anybody may forge packets in the name of a host that starts again. They come by unicast, if the
 * forger is not of its subnet, they echo no nonce, and have no pass. */
static enum key_class class_of(const struct rrcp *r, const struct packet_view *view, uint32_t key,
                               const struct rrcp_arrival *arrival)
{
    bool is_whole = view->type != PACKET_BEACON || rrcp_packet_body(view) < 0;

    if (view->type == PACKET_BEACON && is_whole &&
        rrcp_challenge_holds(r, view, arrival, STRANGER_ROUND))
        return KEY_PROOF;
    if (is_whole && rrcp_pass_holds(r, view, key, arrival->from))
        return KEY_MEMBER;
    return arrival->is_group ? KEY_GROUP : KEY_UNICAST;
}

/* A session without a peer: its key stays in a small table, and making one has a price. */
static void *stranger_opener(struct rrcp *r, const struct packet_view *view, uint32_t key,
                             const struct rrcp_arrival *arrival)
{
    struct rrcp_strangers *s = &r->strangers;
    uint64_t at = md_siphash(r->hash_key, &view->session, sizeof(view->session));
    uint8_t cipher = view->trailer->algorithm;

    at = (at + key) % OPENER_SLOTS;
    if (s->openers[at].opener && s->openers[at].session == view->session &&
        s->openers[at].key == key && s->openers[at].cipher == cipher)
        return s->openers[at].opener;
    if (!rrcp_key_pay(r, arrival->from, class_of(r, view, key, arrival)))
        return NULL;
    s->openers[at].session = view->session;
    s->openers[at].key = (uint8_t)key;
    s->openers[at].cipher = cipher;
    s->openers[at].opener =
        begin(r, s->openers[at].opener, &r->config.keys[key], view->session, cipher, false);
    return s->openers[at].opener;
}

static void *opener(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                    uint32_t key, const struct rrcp_arrival *arrival)
{
    uint8_t cipher = view->trailer->algorithm;

    if (!peer)
        return stranger_opener(r, view, key, arrival);

    void **place = &peer->openers[key][cipher - RRCP_CIPHER_AES_128_GCM];

    if (!*place)
        *place = begin(r, NULL, &r->config.keys[key], peer->session, cipher, false);
    return *place;
}

/* Room for an encrypted packet until the next rrcp_input(). NULL: the packet is too long. */
static uint8_t *take_opened(struct rrcp *r, uint32_t length)
{
    size_t room = (length + 63u) & ~(size_t)63;

    if (r->opened_size - r->opened_use < room)
        return NULL;
    r->opened_use += room;
    return r->opened + r->opened_use - room;
}

/* -1: the tag is right. Else an enum rrcp_drop. */
static int opens(struct rrcp *r, void *state, struct packet_view *view)
{
    bool is_sealed = view->flags & PACKET_FLAG_SEALED;
    uint32_t clear = is_sealed ? rrcp_packet_clear(view->type, view->end) : view->end;
    size_t use = r->opened_use;
    uint8_t *to = NULL;

    if (clear < view->end) {
        to = take_opened(r, view->end);
        if (!to)
            return RRCP_DROP_WINDOW;
    }
    if (!seal_of(r)->open(state, counter_of(view->trailer), to, view->bytes, clear, view->end,
                          view->trailer->tag)) {
        r->opened_use = use;
        return RRCP_DROP_AUTH_TAG;
    }
    if (to)
        view->bytes = to;
    return -1;
}

int rrcp_auth_open(struct rrcp *r, struct rrcp_peer *peer, struct packet_view *view,
                   const struct rrcp_arrival *arrival)
{
    uint8_t cipher = view->trailer->algorithm;
    int drop = RRCP_DROP_AUTH_TAG;

    if (cipher != RRCP_CIPHER_AES_128_GCM && cipher != RRCP_CIPHER_AES_256_GCM)
        return RRCP_DROP_AUTH_TAG;
    for (uint32_t i = 0; i < r->config.key_count && drop >= 0; i++) {
        if (r->config.keys[i].id != view->trailer->key_id)
            continue;
        void *state = opener(r, peer, view, i, arrival);

        if (state)
            drop = opens(r, state, view);
        else
            return RRCP_DROP_UNKNOWN;
    }
    return drop;
}

/* ---- repetitions -------------------------------------------------------------------------- */

static int window_check(struct rrcp_replay *replay, uint64_t counter)
{
    uint64_t bit = 1ull << (counter % 64);

    if (counter + WINDOW <= replay->highest)
        return RRCP_DROP_REPLAY;
    if (counter > replay->highest + WINDOW) {
        memset(replay->seen, 0, sizeof(replay->seen));
        replay->highest = counter;
    }
    for (; replay->highest < counter; replay->highest++) {
        uint64_t next = (replay->highest + 1) % WINDOW;

        replay->seen[next / 64] &= ~(1ull << (next % 64));
    }
    if (replay->seen[counter % WINDOW / 64] & bit)
        return RRCP_DROP_REPLAY;
    replay->seen[counter % WINDOW / 64] |= bit;
    return -1;
}

/*
 * The peer's session may be an old one that comes back after its tombstone has gone, and others may
 * have recorded its packets. Its proof is new: it echoes our nonce. So each packet that it sealed
 * before the proof passes for a repetition. One that is merely late is lost by that, and repaired.
 */
bool rrcp_auth_meet(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *proof)
{
    if (r->config.key_count == 0)
        return true;
    uint64_t counter = counter_of(proof->trailer);

    peer->replay = rrcp_take(r, REPLAY_count * sizeof(*peer->replay));
    if (!peer->replay)
        return false;
    for (int i = 0; i < REPLAY_count; i++) {
        memset(peer->replay[i].seen, 0xff, sizeof(peer->replay[i].seen));
        peer->replay[i].highest = counter ? counter - 1 : 0; /* the proof itself is to pass */
    }
    peer->data_counter[0] = peer->data_counter[1] = counter;
    return true;
}

/*
 * Sequence numbers find repeated DATA, which may come late. Only DATA with a counter beyond all
 * earlier ones shows that its sender lives. Each other packet passes once, by its counter.
 */
int rrcp_auth_replay(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    bool is_unicast = view->type == PACKET_UDATA || view->type == PACKET_UACK ||
                      view->type == PACKET_NAK || view->type == PACKET_STATUS ||
                      view->type == PACKET_SKIP;
    int drop = -1;

    r->is_fresh_arrival = true;
    if (r->config.key_count == 0)
        return -1;
    uint64_t counter = counter_of(view->trailer);

    if (view->type == PACKET_DATA) {
        r->is_fresh_arrival = counter > peer->data_counter[view->path];
        if (r->is_fresh_arrival)
            peer->data_counter[view->path] = counter;
    } else {
        drop = window_check(&peer->replay[is_unicast ? REPLAY_UNICAST : REPLAY_GROUP], counter);
    }
    if (drop < 0 && r->is_fresh_arrival)
        peer->key_id = view->trailer->key_id;
    return drop;
}

/* ---- keys --------------------------------------------------------------------------------- */

void rrcp_auth_forget(struct rrcp *r, struct rrcp_peer *peer)
{
    for (int i = 0; i < RRCP_KEY_MAX; i++)
        for (int j = 0; j < CIPHER_count; j++) {
            end(r, peer->openers[i][j]);
            peer->openers[i][j] = NULL;
        }
}

static void forget_all(struct rrcp *r)
{
    for (uint32_t i = 0; r->peers && i < r->peer_slots && r->peers[i]; i++)
        rrcp_auth_forget(r, r->peers[i]);
    for (int i = 0; i < OPENER_SLOTS; i++) {
        end(r, r->strangers.openers[i].opener);
        r->strangers.openers[i].opener = NULL;
    }
}

void rrcp_auth_fini(struct rrcp *r)
{
    forget_all(r);
    end(r, r->sealer);
    rrcp_give(r, r->opened, r->opened_size);
    rrcp_give(r, r->sealed, (size_t)r->handed_max * r->pool.stride);
    memset(r->config.keys, 0, sizeof(r->config.keys));
}

int rrcp_keys_set(struct rrcp *r, const struct rrcp_key keys[], uint32_t count)
{
    if (count > RRCP_KEY_MAX)
        return MD_ERR_RANGE;
    if ((count == 0) != (r->config.key_count == 0))
        return MD_ERR_STATE;
    if (count == 0)
        return MD_OK;
    void *sealer = begin(r, NULL, &keys[0], r->session, r->config.cipher, true);

    uint64_t pass_key[RRCP_KEY_MAX][2];

    if (!sealer)
        return MD_ERR_NOMEM;
    if (rrcp_pass_keys(r, keys, count, pass_key) != MD_OK) {
        end(r, sealer);
        return MD_ERR_NOMEM;
    }
    memcpy(r->pass_key, pass_key, sizeof(pass_key));
    end(r, r->sealer);
    r->sealer = sealer;
    memset(r->config.keys, 0, sizeof(r->config.keys));
    memcpy(r->config.keys, keys, count * sizeof(keys[0]));
    r->config.key_count = count;
    forget_all(r);
    return MD_OK;
}
