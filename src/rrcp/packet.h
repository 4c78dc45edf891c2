/* packet.h - the packets on the wire: layout, checks, and a walk over chunks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_PACKET_H
#define RRCP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/writer.h"

/*
 * Every field is big-endian and an array of bytes: the structs have no padding and need no
 * alignment, so a pointer to received bytes is a pointer to the packet. md_be64(view->data->seq)
 * reads, md_put_be64(packet->seq, seq) writes. docs/design/rrcp.md describes each field.
 */
#define PACKET_MAGIC         0x5252
#define PACKET_VERSION       0x11
#define PACKET_HEADER_BYTES  24
#define PACKET_TRAILER_BYTES 24
#define PACKET_DATA_BYTES    40
#define PACKET_UDATA_BYTES   52
#define PACKET_UACK_BYTES    56
#define PACKET_BEACON_BYTES  64
#define PACKET_NAK_BYTES     44
#define PACKET_NCF_BYTES     40
#define PACKET_BYE_BYTES     33
#define PACKET_SOLICIT_BYTES 148
#define PACKET_STATUS_BYTES  68
#define PACKET_HSM_BYTES     26
#define PACKET_SKIP_BYTES    48
#define PACKET_RANGES_MAX    64
#define PACKET_PASS_BYTES    8
#define PACKET_RANGE_TOTAL   65536

enum packet_type {
    PACKET_DATA = 1,
    PACKET_UDATA = 2,
    PACKET_UACK = 3,
    PACKET_BEACON = 4,
    PACKET_NAK = 5,
    PACKET_NCF = 6,
    PACKET_BYE = 7,
    PACKET_SOLICIT = 8,
    PACKET_STATUS = 9,
    PACKET_HSM = 10,
    PACKET_SKIP = 11,
};

#define PACKET_FLAG_RETRANS  0x01
#define PACKET_FLAG_AUTH     0x02
#define PACKET_FLAG_SEALED   0x04

#define BEACON_STATE_OVER    1
#define BEACON_STATE_LEAVING 2
#define BEACON_STATE_NO_DATA 4
#define BEACON_STATE_FLOW    8
#define BEACON_STATE_PROBE   16
#define BEACON_STATE_FILTERS 32
#define BEACON_STATE_LASTING (BEACON_STATE_FLOW | BEACON_STATE_FILTERS) /* never change */

#define BEACON_TLV_PADDING   4
#define BEACON_TLV_ECHO      5
#define BEACON_TLV_SELF      6
#define BEACON_TLV_MEMBERS   7
#define BEACON_TLV_PASS      8

#define NCF_REPAIR_COMING    1
#define NCF_NOT_HELD         2
#define NCF_BUSY             3

#define UACK_RESET           1

#define CHUNK_BEGIN          0x80
#define CHUNK_END            0x40
#define CHUNK_SAME           0x20
#define CHUNK_DIRECTED       0x10

struct packet_header {
    uint8_t magic[2];
    uint8_t version;
    uint8_t type;
    uint8_t flags;
    uint8_t path;
    uint8_t length[2]; /* with trailer */
    uint8_t session[8];
    uint8_t network_id[4]; /* FNV-1a-32 of the network's name */
    uint8_t tx_time[4];    /* sender's clock, microseconds */
};

struct packet_data { /* chunks follow */
    struct packet_header header;
    uint8_t seq[8];
    uint8_t held[4];
    uint8_t chunks[2];
    uint8_t first_begin[2];
};

/*
 * useq has the stream's incarnation in its upper 16 bits and counts from 1 in the lower 48. A reset
 * stream starts at 1 of the next incarnation, so that a receiver can drop packets of the one
 * before.
 */
struct packet_udata { /* chunks follow */
    struct packet_header header;
    uint8_t useq[8];
    uint8_t destination[8];
    uint8_t ack[8];
    uint8_t chunks[2];
    uint8_t first_begin[2];
};

struct packet_uack {
    struct packet_header header;
    uint8_t destination[8];
    uint8_t next[8];
    uint8_t bitmap[8];
    uint8_t clock[4]; /* echoed */
    uint8_t window[2];
    uint8_t flags[2];
};

struct packet_beacon { /* the name follows, padded to 4, then TLVs {u8 type, u8 length, bytes} */
    struct packet_header header;
    uint8_t next_seq[8];
    uint8_t trail[8];
    uint8_t start_ms[8];
    uint8_t counter[4];
    uint8_t port[2];
    uint8_t state[2];
    uint8_t hold_ms[4];
    uint8_t interval_ms[2];
    uint8_t name_length;
    uint8_t tlv_count;
};

struct packet_range {
    uint8_t offset[4]; /* from the base */
    uint8_t count[4];
};

struct packet_nak {
    struct packet_header header;
    uint8_t target[8];
    uint8_t base[8];
    uint8_t ranges[2];
    uint8_t attempt[2];
    struct packet_range list[];
};

struct packet_ncf {
    struct packet_header header;
    uint8_t base[8];
    uint8_t ranges[2];
    uint8_t reason;
    uint8_t zero;
    uint8_t wait_ms[2];
    uint8_t zeros[2];
    struct packet_range list[];
};

struct packet_bye {
    struct packet_header header;
    uint8_t next_seq[8];
    uint8_t reason;
};

/* A challenge: padded to the length of the longest answer, so that nobody is used as an amplifier.
 * In a mesh MESH_NAME_MAX makes room for the address in the answer. */
struct packet_solicit {
    struct packet_header header;
    uint8_t target[8];
    uint8_t nonce[8];
    uint8_t pass[PACKET_PASS_BYTES]; /* 0 but in a mesh with keys */
    uint8_t zeros[100];
};

/* Value of BEACON_TLV_ECHO, as often as its length says. */
struct packet_echo {
    uint8_t session[8]; /* of the receiver that asked */
    uint8_t nonce[8];
};

/* The longest name with which an answer, which has an echo and our address, is no longer than the
 * challenge. */
#define MESH_NAME_MAX(address)                                                                     \
    ((PACKET_SOLICIT_BYTES - PACKET_BEACON_BYTES - 2 - sizeof(struct packet_echo) - 2 -            \
      (address)) &                                                                                 \
     ~(size_t)3)

struct packet_status {
    struct packet_header header;
    uint8_t target[8];
    uint8_t next[8];
    uint8_t highest[8];
    uint8_t lost[4];
    uint8_t repaired[4];
    uint8_t clock[4]; /* echoed */
    uint8_t delay_us[4];
    uint8_t pool_percent[2];
    uint8_t zeros[2];
};

struct packet_hsm {
    struct packet_header header;
    uint8_t count[2];
    struct {
        uint8_t id[2];
        uint8_t value[8];
    } list[];
};

struct packet_skip {
    struct packet_header header;
    uint8_t target[8]; /* session of the receiver */
    uint8_t base[8];
    uint8_t version[4]; /* of the receiver's interest */
    uint8_t ranges[2];
    uint8_t zeros[2];
    struct packet_range list[];
};

/* A message of the unicast stream, to the reserved topic from port 0. */
struct packet_interest {
    uint8_t kind;
    uint8_t is_all;
    uint8_t count[2];
    uint8_t version[4];
    uint8_t topics[][4];
};

#define INTEREST_KIND 1

struct packet_trailer {
    uint8_t key_id;
    uint8_t algorithm;
    uint8_t counter[6];
    uint8_t tag[16];
};

#define PACKET_SIZE(name, bytes)                                                                   \
    _Static_assert(sizeof(struct packet_##name) == (bytes), "struct packet_" #name)

PACKET_SIZE(header, PACKET_HEADER_BYTES);
PACKET_SIZE(data, PACKET_DATA_BYTES);
PACKET_SIZE(udata, PACKET_UDATA_BYTES);
PACKET_SIZE(uack, PACKET_UACK_BYTES);
PACKET_SIZE(beacon, PACKET_BEACON_BYTES);
PACKET_SIZE(nak, PACKET_NAK_BYTES);
PACKET_SIZE(ncf, PACKET_NCF_BYTES);
PACKET_SIZE(bye, PACKET_BYE_BYTES);
PACKET_SIZE(solicit, PACKET_SOLICIT_BYTES);
PACKET_SIZE(status, PACKET_STATUS_BYTES);
PACKET_SIZE(hsm, PACKET_HSM_BYTES);
PACKET_SIZE(skip, PACKET_SKIP_BYTES);
PACKET_SIZE(trailer, PACKET_TRAILER_BYTES);

/* u16 payload length - u8 flags - u8 0 - unless SAME: u32 topic, u16 source port, u16 destination
 * port - if DIRECTED: u64 session - if BEGIN without END: u32 length of the message - payload */
struct packet_chunk {
    uint8_t flags;
    uint16_t source_port;
    uint16_t destination_port;
    uint32_t topic;
    uint64_t session; /* if DIRECTED */
    uint32_t length;  /* of `bytes` */
    uint32_t total;   /* of the message, if BEGIN without END */
    const uint8_t *bytes;
};

/* A packet that passed the checks. */
struct packet_view {
    const struct packet_trailer *trailer; /* where it arrived; NULL: it has none */
    union {
        const uint8_t *bytes;
        const struct packet_header *header;
        const struct packet_data *data;
        const struct packet_udata *udata;
        const struct packet_uack *uack;
        const struct packet_beacon *beacon;
        const struct packet_nak *nak;
        const struct packet_ncf *ncf;
        const struct packet_bye *bye;
        const struct packet_solicit *solicit;
        const struct packet_status *status;
        const struct packet_hsm *hsm;
        const struct packet_skip *skip;
    };
    uint32_t end; /* without the trailer */
    uint8_t type;
    uint8_t flags;
    uint8_t path;
    uint64_t session;
    uint32_t tx_time;
};

struct packet_rules {
    uint32_t network_id;
    uint64_t own_session;
    bool auth; /* a trailer is required */
};

/*
 * -1: the header is good, and *out is set. Else an enum rrcp_drop. With keys rrcp_auth_open() comes
 * next: nothing behind the header is read before.
 */
int rrcp_packet_head(const struct packet_rules *rules, const uint8_t *bytes, size_t length,
                     struct packet_view *out);
/* -1: the rest is good, too. Else an enum rrcp_drop. */
int rrcp_packet_body(const struct packet_view *view);

/* So many bytes stay readable in a sealed packet: the header, and for whom the packet is. */
uint32_t rrcp_packet_clear(uint8_t type, uint32_t length);

/* Reads the chunk at *pos of checked bytes. `chunk` is the one before, to which SAME refers. */
void rrcp_chunk_next(const uint8_t *bytes, uint32_t *pos, struct packet_chunk *chunk);

/* Writes the header of a chunk. Returns where its payload goes. */
static inline uint8_t *rrcp_chunk_put(uint8_t *p, const struct packet_chunk *chunk)
{
    md_put_be16(p, (uint16_t)chunk->length);
    p[2] = chunk->flags;
    p[3] = 0;
    p += 4;
    if (!(chunk->flags & CHUNK_SAME)) {
        md_put_be32(p, chunk->topic);
        md_put_be16(p + 4, chunk->source_port);
        md_put_be16(p + 6, chunk->destination_port);
        p += 8;
    }
    if (chunk->flags & CHUNK_DIRECTED) {
        md_put_be64(p, chunk->session);
        p += 8;
    }
    if ((chunk->flags & (CHUNK_BEGIN | CHUNK_END)) == CHUNK_BEGIN) {
        md_put_be32(p, chunk->total);
        p += 4;
    }
    return p;
}

uint32_t rrcp_network_id(const char *name);

/* Writes the common header. output.c fills in length and tx time when the packet leaves. */
void rrcp_packet_header(struct packet_header *h, enum packet_type type, uint64_t session,
                        uint32_t network_id);

#endif
