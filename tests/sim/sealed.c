/* sealed.c - the cipher of the simulated nodes, watched: no nonce of a session's key is used twice.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/siphash.h"
#include "seal/seal.h"
#include "sim.h"

/*
 * All engines of a run share it. It notes each (session key, counter) that seals a packet, over
 * restarts and changes of keys; and it keeps the last plaintexts, so that the checkers see what an
 * encrypted packet says.
 */
#define RECENT     256
#define PACKET_MAX 4200

struct nonce {
    uint64_t key; /* a hash of all that the session's key is made of */
    uint64_t counter;
};

struct plain {
    const uint8_t *to;
    uint8_t bytes[PACKET_MAX];
};

struct sim_cipher {
    struct sim *sim;
    struct rrcp_seal real;
    struct nonce *nonces;
    size_t size, count;
    struct plain recent[RECENT];
    uint32_t recent_next;
};

struct state {
    struct sim_cipher *cipher;
    void *real;
    uint64_t key;
};

static const uint64_t hash_key[2] = { 1, 2 };

/* False: it is in the table. */
static bool put(struct nonce *nonces, size_t size, struct nonce nonce)
{
    size_t at = md_siphash(hash_key, &nonce, sizeof(nonce)) & (size - 1);

    for (; nonces[at].key != 0; at = (at + 1) & (size - 1))
        if (nonces[at].key == nonce.key && nonces[at].counter == nonce.counter)
            return false;
    nonces[at] = nonce;
    return true;
}

static void grow(struct sim_cipher *c)
{
    size_t size = c->size ? 2 * c->size : 4096;
    struct nonce *nonces = calloc(size, sizeof(*nonces));

    MD_ASSERT(nonces);
    for (size_t i = 0; i < c->size; i++)
        if (c->nonces[i].key != 0)
            (void)put(nonces, size, c->nonces[i]);
    free(c->nonces);
    c->nonces = nonces;
    c->size = size;
}

static uint64_t hash_of(const struct rrcp_seal_id *id)
{
    struct {
        uint8_t key[32];
        uint64_t session;
        uint32_t network_id;
        uint32_t cipher;
        uint64_t key_id;
    } whole = { .session = id->session,
                .network_id = id->network_id,
                .cipher = (uint32_t)id->cipher,
                .key_id = id->key->id };

    memcpy(whole.key, id->key->bytes, sizeof(whole.key));
    return md_siphash(hash_key, &whole, sizeof(whole)) | 1;
}

static void end(void *context, void *state)
{
    struct sim_cipher *c = context;
    struct state *s = state;

    c->real.end(c->real.context, s->real);
    free(s);
}

static void *begin(void *context, void *old, const struct rrcp_seal_id *id)
{
    struct sim_cipher *c = context;
    struct state *s = old ? old : calloc(1, sizeof(*s));

    MD_ASSERT(s);
    s->cipher = c;
    s->key = id->session != 0 ? hash_of(id) : 0;
    s->real = c->real.begin(c->real.context, s->real, id);
    MD_ASSERT(s->real);
    return s;
}

static void seal(void *state, uint64_t counter, uint8_t *to, const uint8_t *from, uint32_t clear,
                 uint32_t length, uint8_t tag[RRCP_TAG_BYTES])
{
    struct state *s = state;
    struct sim_cipher *c = s->cipher;
    struct plain *plain;

    if (s->key == 0) { /* no packet: the same bytes always (passes) */
        c->real.seal(s->real, counter, to, from, clear, length, tag);
        return;
    }
    plain = &c->recent[c->recent_next++ % RECENT];
    if (2 * ++c->count > c->size)
        grow(c);
    if (!put(c->nonces, c->size, (struct nonce){ s->key, counter }))
        sim_fail(c->sim, "nonce %llu of a session's key is used twice",
                 (unsigned long long)counter);
    MD_ASSERT(length <= PACKET_MAX);
    memcpy(plain->bytes, from, length);
    plain->to = to;
    c->real.seal(s->real, counter, to, from, clear, length, tag);
}

static bool open(void *state, uint64_t counter, uint8_t *to, const uint8_t *from, uint32_t clear,
                 uint32_t length, const uint8_t tag[RRCP_TAG_BYTES])
{
    struct state *s = state;

    return s->cipher->real.open(s->real, counter, to, from, clear, length, tag);
}

struct sim_cipher *sealed_begin(struct sim *sim, struct rrcp_seal *out)
{
    struct sim_cipher *c = calloc(1, sizeof(*c));

    MD_ASSERT(c && seal_open(&c->real) == 0);
    c->sim = sim;
    *out =
        (struct rrcp_seal){ .context = c, .begin = begin, .end = end, .seal = seal, .open = open };
    return c;
}

void sealed_end(struct sim_cipher *c)
{
    if (!c)
        return;
    seal_close(&c->real);
    free(c->nonces);
    free(c);
}

uint8_t *sealed_plain(struct sim_cipher *c, const struct rrcp_packet *packet)
{
    if (!c || !(packet->bytes[4] & 4))
        return packet->bytes;
    for (uint32_t i = 1; i <= RECENT; i++) {
        struct plain *plain = &c->recent[(c->recent_next - i) % RECENT];

        if (plain->to == packet->bytes)
            return plain->bytes;
    }
    sim_fail(c->sim, "an encrypted packet that was never sealed");
    return packet->bytes;
}
