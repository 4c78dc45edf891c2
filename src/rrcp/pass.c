/* pass.c - see pass.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pass.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/siphash.h"
#include "base/writer.h"

/*
 * To check a stranger's tag its session key must be made, which has a price and so a limit for each
 * address. Anybody can send packets in the name of a seed and use that limit up. A pass is cheap to
 * check, and who has no key cannot make one: packets with a pass have a limit of their own. It says
 * no more than that; the tag and the echo decide.
 */

/* One engine and one message make the key, so its nonce seals the same bytes always. */
static const uint8_t purpose[] = "rrcp1 introduction";

#define PURPOSE_BYTES (sizeof(purpose) - 1)

bool rrcp_pass_is_used(const struct rrcp *r)
{
    return r->config.mesh.is_on && r->config.key_count > 0;
}

int rrcp_pass_keys(const struct rrcp *r, const struct rrcp_key keys[], uint32_t count,
                   uint64_t out[RRCP_KEY_MAX][2])
{
    const struct rrcp_seal *seal = r->env.seal;

    memset(out, 0, RRCP_KEY_MAX * sizeof(out[0]));
    for (uint32_t i = 0; r->config.mesh.is_on && i < count; i++) {
        struct rrcp_seal_id id = { .key = &keys[i],
                                   .network_id = r->rules.network_id,
                                   .cipher = RRCP_CIPHER_AES_256_GCM,
                                   .is_sender = true };
        uint8_t bytes[PURPOSE_BYTES];
        uint8_t tag[RRCP_TAG_BYTES];
        void *state = seal->begin(seal->context, NULL, &id);

        if (!state)
            return MD_ERR_NOMEM;
        seal->seal(state, 0, bytes, purpose, PURPOSE_BYTES, PURPOSE_BYTES, tag);
        seal->end(seal->context, state);
        out[i][0] = md_be64(tag);
        out[i][1] = md_be64(tag + 8);
    }
    return MD_OK;
}

static uint64_t pass_of(const struct rrcp *r, uint64_t session, uint32_t key,
                        const struct rrcp_address *address)
{
    uint8_t bytes[8 + RRCP_ADDRESS_BYTES_MAX];

    md_put_be64(bytes, session);
    memcpy(bytes + 8, address->bytes, address->length);
    return md_siphash(r->pass_key[key], bytes, 8u + address->length);
}

void rrcp_pass_write(const struct rrcp *r, uint8_t out[PACKET_PASS_BYTES])
{
    md_put_be64(out, pass_of(r, r->session, 0, &r->config.mesh.self));
}

static const uint8_t *find(const struct packet_view *view)
{
    if (view->type == PACKET_SOLICIT)
        return view->solicit->pass;
    if (view->type != PACKET_BEACON)
        return NULL;
    const uint8_t *p = view->bytes + PACKET_BEACON_BYTES + ((view->beacon->name_length + 3) & ~3u);

    for (int tlvs = view->beacon->tlv_count; tlvs > 0; tlvs--, p += 2 + p[1])
        if (p[0] == BEACON_TLV_PASS && p[1] == PACKET_PASS_BYTES)
            return p + 2;
    return NULL;
}

bool rrcp_pass_holds(const struct rrcp *r, const struct packet_view *view, uint32_t key,
                     const struct rrcp_address *from)
{
    const uint8_t *pass = rrcp_pass_is_used(r) ? find(view) : NULL;

    return pass && md_be64(pass) == pass_of(r, view->session, key, from);
}
