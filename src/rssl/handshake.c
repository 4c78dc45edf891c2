/* handshake.c - see rssl/handshake.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl/handshake.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "rssl/channel.h"

#define FLAG_EXT    0x01u
#define FLAG_FORCE  0x80u
#define EXT_ACK     0x01u
#define EXT_NAK     0x02u
#define FLAG_KEY    0x08u
#define KEY_BLOCK   0x08u
#define KEY_TYPE_DH 1u

__extension__ typedef unsigned __int128 wide;

uint32_t rssl_protocol_version(uint32_t version)
{
    if (version < RSSL_VERSION_11 || version > RSSL_VERSION_14)
        return 0;
    return version - RSSL_VERSION_11 + 6;
}

bool rssl_version_has_component(uint32_t version)
{
    return version >= RSSL_VERSION_13;
}

uint8_t rssl_version_fragment_id_size(uint32_t version)
{
    return version >= RSSL_VERSION_13 ? 2 : 1;
}

static struct rssl_text read_text(struct md_rd *rd)
{
    struct rssl_text text = { .length = md_rd_u8(rd) };

    text.bytes = md_rd_bytes(rd, text.length);
    if (!text.bytes)
        text.length = 0;
    return text;
}

/* u8 L, then in those L bytes a text with a length of its own, which is the one to go by. */
static struct rssl_text read_component(struct md_rd *rd)
{
    struct md_rd container = md_rd_sub(rd, md_rd_u8(rd));
    struct rssl_text text = { 0 };

    if (md_rd_left(&container) > 0)
        text = read_text(&container);
    if (!md_rd_ok(&container))
        rd->failed = true;
    return text;
}

static void write_text(struct md_wr *wr, struct rssl_text text)
{
    md_wr_u8(wr, text.length);
    md_wr_bytes(wr, text.bytes, text.length);
}

static void write_component(struct md_wr *wr, struct rssl_text text)
{
    if (text.length > 253)
        text.length = 253;
    if (text.length == 0) {
        md_wr_u8(wr, 0);
        return;
    }
    md_wr_u8(wr, (uint8_t)(text.length + 1));
    write_text(wr, text);
}

int rssl_request_decode(const uint8_t *bytes, size_t length, struct rssl_request *out)
{
    struct md_rd rd = md_rd_init(bytes, length);

    memset(out, 0, sizeof(*out));
    size_t announced = md_rd_u16(&rd);
    (void)md_rd_u8(&rd); /* the opcode, which real servers do not check either */
    out->version = md_rd_u32(&rd);
    if (!md_rd_ok(&rd) || announced != length)
        return MD_ERR_MALFORMED;
    if (rssl_protocol_version(out->version) == 0)
        return MD_ERR_UNSUPPORTED;

    out->flags = md_rd_u8(&rd);
    size_t header = md_rd_u8(&rd);
    struct md_rd bitmap = md_rd_sub(&rd, md_rd_u8(&rd));
    out->compression_bits = md_rd_left(&bitmap) ? md_rd_u8(&bitmap) : 0;
    out->ping_timeout_s = md_rd_u8(&rd);
    out->session_flags = md_rd_u8(&rd);
    out->protocol_type = out->version >= RSSL_VERSION_12 ? md_rd_u8(&rd) : 0;
    out->rwf_major = md_rd_u8(&rd);
    out->rwf_minor = md_rd_u8(&rd);
    out->host = read_text(&rd);
    out->address = read_text(&rd);
    if (!md_rd_ok(&rd) || (size_t)(rd.pos - bytes) != header)
        return MD_ERR_MALFORMED;
    if (rssl_version_has_component(out->version))
        out->component = read_component(&rd);

    size_t left = md_rd_left(&rd);
    if (!md_rd_ok(&rd) || (left != 0 && (left != 2 || memcmp(rd.pos, "\r\n", 2) != 0)))
        return MD_ERR_MALFORMED;
    return MD_OK;
}

size_t rssl_request_encode(const struct rssl_request *request, uint8_t *bytes)
{
    struct md_wr wr = md_wr_init(bytes, RSSL_HANDSHAKE_MAX);

    md_wr_u16(&wr, 0);
    md_wr_u8(&wr, 0);
    md_wr_u32(&wr, request->version);
    md_wr_u8(&wr, request->flags);
    md_wr_u8(&wr, 0);
    md_wr_u8(&wr, request->compression_bits ? 1 : 0);
    if (request->compression_bits)
        md_wr_u8(&wr, request->compression_bits);
    md_wr_u8(&wr, request->ping_timeout_s);
    md_wr_u8(&wr, request->session_flags);
    if (request->version >= RSSL_VERSION_12)
        md_wr_u8(&wr, request->protocol_type);
    md_wr_u8(&wr, request->rwf_major);
    md_wr_u8(&wr, request->rwf_minor);
    /* The header length is one byte, so the two texts share what it leaves. */
    struct rssl_text host = request->host, address = request->address;
    if (host.length > 128)
        host.length = 128;
    if (address.length > 64)
        address.length = 64;
    write_text(&wr, host);
    write_text(&wr, address);
    bytes[8] = (uint8_t)md_wr_length(&wr);
    if (rssl_version_has_component(request->version))
        write_component(&wr, request->component);
    md_put_be16(bytes, (uint16_t)md_wr_length(&wr));
    return md_wr_length(&wr);
}

static void read_key_block(struct md_rd *rd, struct rssl_ack *out)
{
    if (md_rd_u8(rd) != KEY_BLOCK)
        rd->failed = true;
    out->key_type = md_rd_u8(rd);
    struct md_rd block = md_rd_sub(rd, md_rd_u8(rd));
    if (out->key_type != KEY_TYPE_DH)
        return;
    out->key_p = md_rd_u64(&block);
    out->key_g = md_rd_u64(&block);
    out->key_k = md_rd_u64(&block);
    if (!md_rd_ok(&block))
        rd->failed = true;
}

int rssl_ack_decode(const uint8_t *bytes, size_t length, uint32_t version, bool key_asked,
                    struct rssl_ack *out)
{
    struct md_rd rd = md_rd_init(bytes, length);

    memset(out, 0, sizeof(*out));
    size_t announced = md_rd_u16(&rd);
    uint8_t flags = md_rd_u8(&rd);
    uint8_t extended = md_rd_u8(&rd);
    (void)md_rd_u16(&rd);
    out->protocol_version = md_rd_u32(&rd);
    out->message_size_max = md_rd_u16(&rd);
    out->session_flags = md_rd_u8(&rd);
    out->ping_timeout_s = md_rd_u8(&rd);
    out->rwf_major = md_rd_u8(&rd);
    out->rwf_minor = md_rd_u8(&rd);
    out->compression = md_rd_u16(&rd);
    out->zlib_level = md_rd_u8(&rd);
    if (!md_rd_ok(&rd) || announced != length || !(flags & FLAG_EXT) || extended != EXT_ACK)
        return MD_ERR_MALFORMED;
    out->forced = (flags & FLAG_FORCE) != 0;
    out->has_key_block = key_asked;
    if (key_asked)
        read_key_block(&rd, out);
    /* Servers disagree on the container's length (n + 1, n + 2); the text has its own. */
    if (rssl_version_has_component(version) && md_rd_left(&rd) > 1) {
        (void)md_rd_u8(&rd);
        out->component = read_text(&rd);
    }
    return md_rd_ok(&rd) ? MD_OK : MD_ERR_MALFORMED;
}

size_t rssl_ack_encode(const struct rssl_ack *ack, uint32_t version, uint8_t *bytes)
{
    struct md_wr wr = md_wr_init(bytes, RSSL_HANDSHAKE_MAX);

    md_wr_u16(&wr, 0);
    md_wr_u8(&wr, (uint8_t)(FLAG_EXT | (ack->forced ? FLAG_FORCE : 0)));
    md_wr_u8(&wr, EXT_ACK);
    md_wr_u8(&wr, 10);
    md_wr_u8(&wr, 0);
    md_wr_u32(&wr, ack->protocol_version);
    md_wr_u16(&wr, ack->message_size_max);
    md_wr_u8(&wr, ack->session_flags);
    md_wr_u8(&wr, ack->ping_timeout_s);
    md_wr_u8(&wr, ack->rwf_major);
    md_wr_u8(&wr, ack->rwf_minor);
    md_wr_u16(&wr, ack->compression);
    md_wr_u8(&wr, ack->zlib_level);
    if (ack->has_key_block) {
        md_wr_u8(&wr, KEY_BLOCK);
        md_wr_u8(&wr, ack->key_type);
        md_wr_u8(&wr, ack->key_type == KEY_TYPE_DH ? 24 : 0);
        if (ack->key_type == KEY_TYPE_DH) {
            md_wr_u64(&wr, ack->key_p);
            md_wr_u64(&wr, ack->key_g);
            md_wr_u64(&wr, ack->key_k);
        }
    }
    if (rssl_version_has_component(version))
        write_component(&wr, ack->component);
    md_put_be16(bytes, (uint16_t)md_wr_length(&wr));
    return md_wr_length(&wr);
}

int rssl_nak_decode(const uint8_t *bytes, size_t length, const uint8_t **text, size_t *text_length)
{
    struct md_rd rd = md_rd_init(bytes, length);

    *text = NULL;
    *text_length = 0;
    size_t announced = md_rd_u16(&rd);
    uint8_t flags = md_rd_u8(&rd);
    uint8_t extended = md_rd_u8(&rd);
    (void)md_rd_u16(&rd);
    size_t n = md_rd_u16(&rd);
    if (!md_rd_ok(&rd) || announced != length || !(flags & FLAG_EXT) || extended != EXT_NAK)
        return MD_ERR_MALFORMED;
    *text = rd.pos;
    *text_length = n < md_rd_left(&rd) ? n : md_rd_left(&rd);
    return MD_OK;
}

size_t rssl_nak_encode(const char *text, uint8_t *bytes)
{
    struct md_wr wr = md_wr_init(bytes, RSSL_HANDSHAKE_MAX);
    size_t n = strnlen(text, 255);

    md_wr_u16(&wr, (uint16_t)(8 + n + 1));
    md_wr_u8(&wr, FLAG_EXT);
    md_wr_u8(&wr, EXT_NAK);
    md_wr_u8(&wr, 8);
    md_wr_u8(&wr, 0);
    md_wr_u16(&wr, (uint16_t)(n + 1));
    md_wr_bytes(&wr, text, n);
    md_wr_u8(&wr, 0);
    return md_wr_length(&wr);
}

size_t rssl_key_encode(bool has_key, uint64_t key, uint8_t *bytes)
{
    struct md_wr wr = md_wr_init(bytes, RSSL_HANDSHAKE_MAX);

    md_wr_u16(&wr, has_key ? 12 : 4);
    md_wr_u8(&wr, FLAG_KEY);
    md_wr_u8(&wr, has_key ? 8 : 0);
    if (has_key)
        md_wr_u64(&wr, key);
    return md_wr_length(&wr);
}

uint64_t rssl_power_mod(uint64_t base, uint64_t exponent, uint64_t modulus)
{
    if (modulus <= 1)
        return 0;

    wide result = 1, factor = base % modulus;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = result * factor % modulus;
        factor = factor * factor % modulus;
    }
    return (uint64_t)result;
}
