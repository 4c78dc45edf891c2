/* rssl/handshake.h - the messages that open a connection, byte by byte. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_HANDSHAKE_H
#define RSSL_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Connection request, client to server
 *
 *     0  u16  length of the message
 *     2  u8   0
 *     3  u32  connection version, 0x14..0x17
 *     7  u8   flags: 0x08 do key exchange (0x17 only)
 *     8  u8   H: bytes from offset 0 up to and including the address
 *     9  u8   B: bytes of compression bitmap
 *    10  B    bitmap; first byte 0x01 zlib, 0x02 LZ4
 *        u8   ping timeout proposed, seconds
 *        u8   session flags, 0
 *        u8   protocol type, 0 = RWF (not in 0x14)
 *        u8 u8      RWF major, minor
 *        u8 n       host name
 *        u8 n       address as text
 *        u8   L: bytes of component container that follow (0x16, 0x17)
 *        u8 n       component text, n <= L - 1
 *    and perhaps CR LF.
 *
 * Ack, server to client
 *
 *     0  u16  length          10  u16  maxUserMsgSize
 *     2  u8   0x01 | 0x80     12  u8   session flags: 1 client pings, 2 server pings
 *     3  u8   0x01            13  u8   ping timeout
 *     4  u8   10              14  u8 u8  RWF major, minor
 *     5  u8   0               16  u16  compression type
 *     6  u32  protocol version  18  u8   zlib level
 *    19  key block, only if asked for with 0x17: u8 8, u8 type, u8 n, n bytes: u64 P, G, K
 *        component container as above (0x16, 0x17)
 *
 * Nak:  u16 length, 0x01, 0x02, u8 8, u8 0, u16 n, n bytes of text
 * Key:  u16 length, 0x08, u8 n, n bytes: u64 G^y mod P
 */
#define RSSL_HANDSHAKE_MAX    1024u /* longer than any legal one of these messages */
#define RSSL_REQUEST_KEY_FLAG 0x08u

struct rssl_text { /* a view */
    const uint8_t *bytes;
    uint8_t length;
};

struct rssl_request {
    uint32_t version;
    uint8_t flags;
    uint8_t compression_bits;
    uint8_t ping_timeout_s;
    uint8_t session_flags;
    uint8_t protocol_type;
    uint8_t rwf_major;
    uint8_t rwf_minor;
    struct rssl_text host;
    struct rssl_text address;
    struct rssl_text component;
};

struct rssl_ack {
    uint32_t protocol_version;
    uint16_t message_size_max;
    uint8_t session_flags;
    uint8_t ping_timeout_s;
    uint8_t rwf_major;
    uint8_t rwf_minor;
    uint16_t compression;
    uint8_t zlib_level;
    bool forced;
    bool has_key_block; /* encoding: write one; decoding: expect one */
    uint8_t key_type;   /* 1: p, g, k are given */
    uint64_t key_p;
    uint64_t key_g;
    uint64_t key_k;
    struct rssl_text component;
};

/* The protocol version that answers a connection version; 0 if we do not know it. */
uint32_t rssl_protocol_version(uint32_t version);
bool rssl_version_has_component(uint32_t version);
uint8_t rssl_version_fragment_id_size(uint32_t version);

/*
 * Decode one whole message of `length` bytes. MD_ERR_UNSUPPORTED: a version we do not know (out
 * holds it). MD_ERR_MALFORMED: not what the table above says. Views point into `bytes`.
 */
int rssl_request_decode(const uint8_t *bytes, size_t length, struct rssl_request *out);
int rssl_ack_decode(const uint8_t *bytes, size_t length, uint32_t version, bool key_asked,
                    struct rssl_ack *out);
/* MD_ERR_MALFORMED if it is not a nak. The text may be up to the message's own length. */
int rssl_nak_decode(const uint8_t *bytes, size_t length, const uint8_t **text, size_t *text_length);

/* Encode into RSSL_HANDSHAKE_MAX bytes; the length written. */
size_t rssl_request_encode(const struct rssl_request *request, uint8_t *bytes);
size_t rssl_ack_encode(const struct rssl_ack *ack, uint32_t version, uint8_t *bytes);
size_t rssl_nak_encode(const char *text, uint8_t *bytes);
/* `has_key` false: "no key", for a block of another type than 1. */
size_t rssl_key_encode(bool has_key, uint64_t key, uint8_t *bytes);

/* base^exponent mod modulus; 0 for a modulus of 0 or 1. */
uint64_t rssl_power_mod(uint64_t base, uint64_t exponent, uint64_t modulus);

#endif
