/* packet.h - the packets on the wire: sizes, offsets, checks, and a walk over chunks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_PACKET_H
#define RRCP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All numbers are big-endian. Every packet begins with the common header:
 *
 *      0  u16 magic 0x5252          8  u64 session of the sender
 *      2  u8  version 0x10         16  u32 network id: FNV-1a-32 of the network's name
 *      3  u8  type                 20  u32 sender's clock, microseconds
 *      4  u8  flags
 *      5  u8  path
 *      6  u16 length, with trailer
 *
 *      DATA    24 u64 seq · 32 u32 held · 36 u16 chunks · 38 u16 first begin · 40 chunks
 *      UDATA   24 u64 useq · 32 u64 destination · 40 u64 cumulative ack · 48 u16 chunks
 *              50 u16 first begin · 52 chunks
 *      UACK    24 u64 destination · 32 u64 next expected · 40 u64 bitmap · 48 u32 clock echoed
 *              52 u16 free window · 54 u16 flags
 *      BEACON  24 u64 next seq · 32 u64 trail · 40 u64 start ms · 48 u32 counter · 52 u16 port
 *              54 u16 state · 56 u32 hold ms · 60 u16 interval ms · 62 u8 name length
 *              63 u8 TLV count · 64 name, padded to 4 · TLVs {u8 type, u8 length, bytes}
 *      NAK     24 u64 target · 32 u64 base · 40 u16 ranges · 42 u16 attempt
 *              44 {u32 offset, u32 count}
 *      NCF     24 u64 base · 32 u16 ranges · 34 u8 reason · 35 u8 0 · 36 u16 wait ms · 38 u16 0
 *              40 {u32 offset, u32 count}
 *      BYE     24 u64 next seq · 32 u8 reason
 *      SOLICIT 24 u64 target, 0 = all
 *      STATUS  24 u64 target · 32 u64 next expected · 40 u64 highest seen · 48 u32 lost
 *              52 u32 repaired · 56 u32 clock echoed · 60 u32 delay us · 64 u16 pool % · 66 u16 0
 *      HSM     24 u16 count · 26 {u16 id, u64 value}
 *
 *      trailer 0 u8 key id · 1 u8 algorithm 1 · 2 u48 counter · 8 tag, over all before it
 *
 *      chunk   0 u16 payload length · 2 u8 flags · 3 u8 0 · unless SAME: u32 topic,
 *              u16 source port, u16 destination port · if DIRECTED: u64 destination session
 *              · if BEGIN without END: u32 length of the whole message · payload
 *
 * useq carries the stream's incarnation in its upper 16 bits and counts from 1 in the lower 48: a
 * stream that was reset starts at 1 of the next incarnation, so that packets still under way from
 * the one before can be told from it.
 */
#define PACKET_MAGIC         0x5252
#define PACKET_VERSION       0x10
#define PACKET_HEADER_BYTES  24
#define PACKET_TRAILER_BYTES 24
#define PACKET_DATA_BYTES    40
#define PACKET_UDATA_BYTES   52
#define PACKET_UACK_BYTES    56
#define PACKET_BEACON_BYTES  64
#define PACKET_NAK_BYTES     44
#define PACKET_NCF_BYTES     40
#define PACKET_BYE_BYTES     33
#define PACKET_SOLICIT_BYTES 32
#define PACKET_STATUS_BYTES  68
#define PACKET_HSM_BYTES     26
#define PACKET_RANGES_MAX    64
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
};

#define PACKET_FLAG_RETRANS  0x01
#define PACKET_FLAG_AUTH     0x02

#define BEACON_STATE_OVER    1
#define BEACON_STATE_LEAVING 2
#define BEACON_STATE_NO_DATA 4
#define BEACON_STATE_FLOW    8

#define BEACON_TLV_VERSION   1
#define BEACON_TLV_PATH      2
#define BEACON_TLV_MESSAGE   3
#define BEACON_TLV_PADDING   4

#define NCF_REPAIR_COMING    1
#define NCF_NOT_HELD         2
#define NCF_BUSY             3

#define UACK_RESET           1

#define CHUNK_BEGIN          0x80
#define CHUNK_END            0x40
#define CHUNK_SAME           0x20
#define CHUNK_DIRECTED       0x10

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

/* A packet that passed all checks. */
struct packet_view {
    const uint8_t *bytes;
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

/* What is wrong with the packet (enum rrcp_drop), or -1: nothing, and *out is set. Tags are not
 * verified here. */
int rrcp_packet_check(const struct packet_rules *rules, const uint8_t *bytes, size_t length,
                      struct packet_view *out);

/* Read the chunk at *pos of checked bytes; `chunk` carries what SAME refers to. */
void rrcp_chunk_next(const uint8_t *bytes, uint32_t *pos, struct packet_chunk *chunk);

uint32_t rrcp_network_id(const char *name);

/* The common header; length and tx time are filled in when the packet is sent. */
void rrcp_packet_header(uint8_t *bytes, enum packet_type type, uint64_t session,
                        uint32_t network_id);

#endif
