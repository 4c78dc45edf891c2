/* auth.c - the authentication trailer, which proves that a member of the group sent a packet. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "auth.h"

#include <string.h>

#include "base/blake2s.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"

#define ALGORITHM_BLAKE2S 1
#define TAG_BYTES         16
#define WINDOW            1024

static const struct packet_trailer *trailer_of(const struct packet_view *view)
{
    return (const void *)(view->bytes + view->end);
}

static uint64_t counter_of(const struct packet_view *view)
{
    const uint8_t *p = trailer_of(view)->counter;

    return (uint64_t)md_be16(p) << 32 | md_be32(p + 2);
}

/* `length` counts the packet without its trailer; the buffer has room for the trailer behind. */
void rrcp_auth_sign(struct rrcp *r, uint8_t *bytes, uint32_t length)
{
    const struct rrcp_key *key = &r->config.keys[0];
    struct packet_trailer *trailer = (void *)(bytes + length);

    r->auth_counter++;
    trailer->key_id = key->id;
    trailer->algorithm = ALGORITHM_BLAKE2S;
    md_put_be16(trailer->counter, (uint16_t)(r->auth_counter >> 32));
    md_put_be32(trailer->counter + 2, (uint32_t)r->auth_counter);
    md_blake2s(trailer->tag, TAG_BYTES, key->bytes, sizeof(key->bytes), bytes, length + 8);
}

int rrcp_auth_verify(struct rrcp *r, const struct packet_view *view)
{
    const struct packet_trailer *trailer = trailer_of(view);
    uint8_t tag[TAG_BYTES];

    if (r->config.key_count == 0 || trailer->algorithm != ALGORITHM_BLAKE2S)
        return r->config.key_count == 0 ? -1 : RRCP_DROP_AUTH_TAG;
    for (uint32_t i = 0; i < r->config.key_count; i++) {
        const struct rrcp_key *key = &r->config.keys[i];

        if (key->id != trailer->key_id)
            continue;
        md_blake2s(tag, TAG_BYTES, key->bytes, sizeof(key->bytes), view->bytes, view->end + 8);
        if (md_equal_constant_time(tag, trailer->tag, TAG_BYTES))
            return -1;
    }
    return RRCP_DROP_AUTH_TAG;
}

/* Sequence numbers find repeated data packets. Each other packet passes once, by its counter. */
int rrcp_auth_replay(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    bool is_unicast =
        view->type == PACKET_UACK || view->type == PACKET_NAK || view->type == PACKET_STATUS;
    struct rrcp_replay *replay;
    uint64_t counter;
    uint64_t bit;

    if (!peer->replay || r->config.key_count == 0 || view->type == PACKET_DATA ||
        view->type == PACKET_UDATA)
        return -1;
    replay = &peer->replay[is_unicast ? REPLAY_UNICAST : REPLAY_GROUP];
    counter = counter_of(view);
    if (replay->is_begun && counter + WINDOW <= replay->highest)
        return RRCP_DROP_REPLAY;
    if (!replay->is_begun || counter > replay->highest + WINDOW) {
        memset(replay->seen, 0, sizeof(replay->seen));
        replay->highest = counter;
        replay->is_begun = true;
    }
    for (; replay->highest < counter; replay->highest++) {
        uint64_t next = (replay->highest + 1) % WINDOW;

        replay->seen[next / 64] &= ~(1ull << (next % 64));
    }
    bit = 1ull << (counter % 64);
    if (replay->seen[counter % WINDOW / 64] & bit)
        return RRCP_DROP_REPLAY;
    replay->seen[counter % WINDOW / 64] |= bit;
    return -1;
}

int rrcp_keys_set(struct rrcp *r, const struct rrcp_key keys[], uint32_t count)
{
    if (count > RRCP_KEY_MAX)
        return MD_ERR_RANGE;
    if ((count == 0) != (r->config.key_count == 0))
        return MD_ERR_STATE;
    memset(r->config.keys, 0, sizeof(r->config.keys));
    memcpy(r->config.keys, keys, count * sizeof(keys[0]));
    r->config.key_count = count;
    return 0;
}
