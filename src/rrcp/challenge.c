/* challenge.c - see challenge.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "challenge.h"

#include <string.h>

#include "base/cursor.h"
#include "base/siphash.h"
#include "base/writer.h"
#include "budget.h"
#include "common.h"
#include "control.h"
#include "pass.h"

/*
 * A nonce is a keyed hash of what it is to prove, so a challenge leaves nothing behind: no packet
 * of a stranger takes memory. It goes by unicast to the address that the stranger claims, and never
 * to the group, where everybody could read it.
 */

#define EPOCH_NS       (10 * RRCP_S) /* a nonce is good for one to two of them */
#define IN_ALL_RATE    16000         /* challenges a second, and answers */
#define IN_ALL_BURST   2048
#define ADDRESS_RATE   256
#define ADDRESS_BURST  512
#define KEY_UNITS      2 /* two classes of packets that can be forged share what there is */
#define CREATION_RATE  50
#define CREATION_BURST 512
#define RECENT_NS      (5 * RRCP_MS) /* a session is not challenged again sooner */
#define ROUND_NS_MIN   (5 * RRCP_MS)

void rrcp_challenge_init(struct rrcp *r)
{
    r->nonce_key[0] = md_siphash(r->env.seed, "nonce 0", 7);
    r->nonce_key[1] = md_siphash(r->env.seed, "nonce 1", 7);
}

static uint64_t nonce(const struct rrcp *r, uint64_t session, uint8_t path,
                      const struct rrcp_address *address, uint32_t round, uint64_t epoch)
{
    struct {
        uint64_t session;
        uint64_t epoch;
        uint32_t round;
        uint8_t path;
        uint8_t length;
        uint8_t zeros[2];
        uint8_t bytes[RRCP_ADDRESS_BYTES_MAX];
    } proof = { session, epoch, round, path, address->length, { 0 }, { 0 } };

    memcpy(proof.bytes, address->bytes, address->length);
    return md_siphash(r->nonce_key, &proof, sizeof(proof));
}

void rrcp_challenge_send(struct rrcp *r, uint64_t session, uint8_t path,
                         const struct rrcp_address *address, uint32_t round)
{
    uint32_t buffer;
    struct packet_solicit *p = rrcp_control_make(r, PACKET_SOLICIT, &buffer);

    if (!p)
        return;
    md_put_be64(p->target, session);
    md_put_be64(p->nonce, nonce(r, session, path, address, round, r->now_ns / EPOCH_NS));
    memset(p->pass, 0, sizeof(p->pass));
    if (rrcp_pass_is_used(r))
        rrcp_pass_write(r, p->pass);
    memset(p->zeros, 0, sizeof(p->zeros));
    rrcp_control_send_to(r, buffer, PACKET_SOLICIT_BYTES, path, address);
    r->counters.solicits_sent++;
}

/* Several addresses may share a bucket; strangers cannot choose which. */
static uint32_t bucket_of(const struct rrcp *r, const struct rrcp_address *address)
{
    uint8_t length = address->host_length ? address->host_length : address->length;

    return (uint32_t)(md_siphash(r->hash_key, address->bytes, length) % ADDRESS_BUCKETS);
}

static bool pay(struct rrcp *r, struct rrcp_budget *by, struct rrcp_budget *all,
                const struct rrcp_address *address, uint32_t units)
{
    struct rrcp_budget *one = &by[bucket_of(r, address)];

    return rrcp_budget_take(one, r->now_ns, units, ADDRESS_RATE, ADDRESS_BURST) &&
           rrcp_budget_take(all, r->now_ns, units, IN_ALL_RATE, IN_ALL_BURST);
}

void rrcp_challenge_stranger(struct rrcp *r, uint64_t session, const struct rrcp_arrival *arrival)
{
    struct rrcp_strangers *s = &r->strangers;
    uint8_t path = arrival->path & 1;
    uint64_t at = md_siphash(r->hash_key, &session, sizeof(session)) + path;

    at %= RECENT_SLOTS;
    if (s->recent[at].session == session && s->recent[at].path == path &&
        r->now_ns - s->recent[at].sent_ns < RECENT_NS)
        return;
    if (!pay(r, s->challenge_by, &s->challenge_budget, arrival->from, 1)) {
        r->counters.challenges_refused++;
        return;
    }
    s->recent[at].session = session;
    s->recent[at].path = path;
    s->recent[at].sent_ns = r->now_ns;
    rrcp_challenge_send(r, session, path, arrival->from, STRANGER_ROUND);
}

bool rrcp_answer_pay(struct rrcp *r, const struct rrcp_address *from)
{
    if (pay(r, r->strangers.answer_by, &r->strangers.answer_budget, from, 1))
        return true;
    r->counters.answers_refused++;
    return false;
}

bool rrcp_key_pay(struct rrcp *r, const struct rrcp_address *from, enum key_class class)
{
    if (pay(r, r->strangers.key_by[class], &r->strangers.key_budget[class], from, KEY_UNITS))
        return true;
    r->counters.keys_refused++;
    return false;
}

bool rrcp_creation_pay(struct rrcp *r, const struct rrcp_address *from)
{
    return rrcp_budget_take(&r->strangers.creation_by[bucket_of(r, from)], r->now_ns, 1,
                            CREATION_RATE, CREATION_BURST);
}

static bool is_nonce(const struct rrcp *r, const struct packet_view *view,
                     const struct rrcp_arrival *arrival, uint32_t round, uint64_t echoed)
{
    uint64_t epoch = r->now_ns / EPOCH_NS;
    uint8_t path = arrival->path & 1;

    return echoed == nonce(r, view->session, path, arrival->from, round, epoch) ||
           (epoch > 0 && echoed == nonce(r, view->session, path, arrival->from, round, epoch - 1));
}

bool rrcp_challenge_holds(const struct rrcp *r, const struct packet_view *view,
                          const struct rrcp_arrival *arrival, uint32_t round)
{
    const uint8_t *p = view->bytes + PACKET_BEACON_BYTES + ((view->beacon->name_length + 3) & ~3u);

    for (int tlvs = view->beacon->tlv_count; tlvs > 0; tlvs--, p += 2 + p[1]) {
        const struct packet_echo *echo = (const void *)(p + 2);

        if (p[0] != BEACON_TLV_ECHO)
            continue;
        for (size_t i = 0; i < p[1] / sizeof(*echo); i++)
            if (md_be64(echo[i].session) == r->session)
                return is_nonce(r, view, arrival, round, md_be64(echo[i].nonce));
    }
    return false;
}

/* The first challenge of a round leaves at the next tick. */
void rrcp_doubt_raise(struct rrcp *r, struct rrcp_peer *peer, enum doubt_why why)
{
    struct rrcp_doubt *d = &peer->doubt;

    if (d->why & why)
        return;
    if (d->why == 0) {
        d->round++;
        d->begun_ns = d->begun_ns && r->now_ns < d->begun_ns + ROUND_NS_MIN
                          ? d->begun_ns + ROUND_NS_MIN
                          : r->now_ns;
        d->due_ns = d->begun_ns;
        d->sent = 0;
        r->counters.doubts++;
    } else if (why & (DOUBT_BYE | DOUBT_RIVAL)) { /* its silence must last a whole round */
        d->due_ns = r->now_ns;
        d->sent = 0;
    }
    d->why |= (uint8_t)why;
}
