/* rrcp_introduce.h - makes an engine take an invented node for a peer: it answers the challenge. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_INTRODUCE_H
#define RRCP_INTRODUCE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/writer.h"
#include "rrcp/rrcp.h"

#define INTRODUCE_BEACON  4
#define INTRODUCE_SOLICIT 8

/* Writes a beacon of `session` without an echo; returns its length. */
static inline uint32_t introduce_beacon(uint8_t *bytes, const char *network, uint64_t session,
                                        uint64_t next_seq)
{
    uint32_t id = 2166136261u;

    memset(bytes, 0, 120);
    for (; *network; network++)
        id = (id ^ (uint8_t)*network) * 16777619u;
    md_put_be16(bytes, 0x5252);
    bytes[2] = 0x11;
    bytes[3] = INTRODUCE_BEACON;
    md_put_be64(bytes + 8, session);
    md_put_be32(bytes + 16, id);
    md_put_be64(bytes + 24, next_seq);
    md_put_be64(bytes + 32, 1);
    bytes[62] = (uint8_t)snprintf((char *)bytes + 64, 17, "%016llx", (unsigned long long)session);
    md_put_be16(bytes + 6, 80);
    return 80;
}

static inline void introduce_feed(struct rrcp *r, uint64_t now_ns, const uint8_t *bytes,
                                  uint32_t length, const struct rrcp_address *from, bool is_group)
{
    struct rrcp_arrival in = {
        .bytes = bytes, .length = length, .is_group = is_group, .from = from
    };

    rrcp_input(r, now_ns, &in, 1);
}

/* True: *nonce is what the engine asked `session`; packets of other kinds are lost. */
static inline bool introduce_asked(struct rrcp *r, uint64_t now_ns, uint64_t session,
                                   uint8_t nonce[8])
{
    struct rrcp_packet out[64];
    bool is_asked = false;
    int n;

    while ((n = rrcp_output(r, now_ns, out, 64)) > 0)
        for (int i = 0; i < n; i++)
            if (out[i].type == INTRODUCE_SOLICIT && md_be64(out[i].bytes + 24) == session) {
                memcpy(nonce, out[i].bytes + 32, 8);
                is_asked = true;
            }
    return is_asked;
}

/* Adds the echo; returns the length. */
static inline uint32_t introduce_echo(const struct rrcp *r, uint8_t *bytes, const uint8_t nonce[8])
{
    bytes[63] = 1;
    bytes[80] = 5;
    bytes[81] = 16;
    md_put_be64(bytes + 82, rrcp_session(r));
    memcpy(bytes + 90, nonce, 8);
    md_put_be16(bytes + 6, 98);
    return 98;
}

/* The events of this are the caller's to take. False: the engine did not ask. */
static inline bool introduce(struct rrcp *r, uint64_t now_ns, const char *network, uint64_t session,
                             uint64_t next_seq, const struct rrcp_address *from)
{
    uint8_t bytes[128];
    uint8_t nonce[8];

    introduce_feed(r, now_ns, bytes, introduce_beacon(bytes, network, session, next_seq), from,
                   true);
    if (!introduce_asked(r, now_ns, session, nonce))
        return false;
    introduce_feed(r, now_ns, bytes, introduce_echo(r, bytes, nonce), from, false);
    return true;
}

#endif
