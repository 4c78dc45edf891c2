/* connect.c - the handshake, both roles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/prng.h"
#include "channel_private.h"

#define SESSION_CLIENT_PINGS 0x01u
#define SESSION_SERVER_PINGS 0x02u
#define GENERATOR            5u /* as real servers do */
#define SECOND               1000000000ull

static struct rssl_text text_of(const char *string)
{
    size_t length = strnlen(string, 253);

    return (struct rssl_text){ .bytes = (const uint8_t *)string, .length = (uint8_t)length };
}

/* Numbers for a key exchange that protects nothing. */
static uint64_t next_random(struct rssl_channel *ch)
{
    return md_splitmix64(&ch->config.random) >> 1; /* Java cannot take the top bit */
}

static void queue(struct rssl_channel *ch, const uint8_t *bytes, size_t length)
{
    if (rssl_outq_raw(&ch->outq, bytes, length) != MD_OK)
        rssl_channel_fail(ch, RSSL_REASON_NO_MEMORY, false);
    ch->sent_ns = ch->now_ns;
}

void rssl_channel_start(struct rssl_channel *ch, uint64_t now_ns)
{
    uint8_t bytes[RSSL_HANDSHAKE_MAX];

    if (ch->state != RSSL_STATE_CONNECT)
        return;
    ch->now_ns = now_ns;
    ch->key_asked = ch->config.key_exchange && ch->config.version == RSSL_VERSION_14;
    struct rssl_request request = {
        .version = ch->config.version,
        .flags = ch->key_asked ? RSSL_REQUEST_KEY_FLAG : 0,
        .compression_bits = ch->config.compression_bits,
        .ping_timeout_s = ch->config.ping_timeout_s,
        .rwf_major = ch->config.rwf_major,
        .rwf_minor = ch->config.rwf_minor,
        .host = text_of(ch->host),
        .address = text_of(ch->address),
        .component = text_of(ch->component),
    };
    ch->state = RSSL_STATE_WAIT_ACK;
    queue(ch, bytes, rssl_request_encode(&request, bytes));
}

static enum rssl_compression choose_compression(const struct rssl_channel *ch, uint8_t offered)
{
    uint8_t allowed = ch->config.compression_bits;

    if (!ch->config.compression_forced)
        allowed &= offered;
    if (allowed & RSSL_COMPRESSION_BIT_ZLIB)
        return RSSL_COMPRESSION_ZLIB;
    return allowed & RSSL_COMPRESSION_BIT_LZ4 ? RSSL_COMPRESSION_LZ4 : RSSL_COMPRESSION_NONE;
}

static void take_smaller_rwf(struct rssl_info *info, uint8_t major, uint8_t minor)
{
    if (major > info->rwf_major || (major == info->rwf_major && minor >= info->rwf_minor))
        return;
    info->rwf_major = major;
    info->rwf_minor = minor;
}

static uint8_t clamp_ping(const struct rssl_config *config, uint8_t wanted)
{
    if (wanted > config->ping_timeout_s)
        wanted = config->ping_timeout_s;
    return wanted < config->ping_timeout_min_s ? config->ping_timeout_min_s : wanted;
}

static void send_ack(struct rssl_channel *ch, const struct rssl_request *request)
{
    uint8_t bytes[RSSL_HANDSHAKE_MAX];
    struct rssl_info *info = &ch->info;
    struct rssl_ack ack = {
        .protocol_version = rssl_protocol_version(request->version),
        .message_size_max = info->message_size_max,
        .session_flags = (uint8_t)((info->client_pings ? SESSION_CLIENT_PINGS : 0) |
                                   (info->server_pings ? SESSION_SERVER_PINGS : 0)),
        .ping_timeout_s = info->ping_timeout_s,
        .rwf_major = info->rwf_major,
        .rwf_minor = info->rwf_minor,
        .compression = (uint16_t)info->compression,
        .zlib_level = info->compression == RSSL_COMPRESSION_ZLIB ? ch->config.zlib_level : 0,
        .forced = ch->config.compression_forced && info->compression != RSSL_COMPRESSION_NONE,
        .has_key_block = ch->awaits_key,
        .key_type = 1,
        .component = text_of(ch->component),
    };

    if (ack.has_key_block) {
        ack.key_p = next_random(ch) | 3;
        ack.key_g = GENERATOR;
        ack.key_k = rssl_power_mod(GENERATOR, next_random(ch), ack.key_p);
    }
    queue(ch, bytes, rssl_ack_encode(&ack, request->version, bytes));
}

static void refuse(struct rssl_channel *ch)
{
    uint8_t bytes[RSSL_HANDSHAKE_MAX];

    if (rssl_outq_raw(&ch->outq, bytes, rssl_nak_encode(ch->detail, bytes)) != MD_OK)
        ch->detail[0] = '\0';
    rssl_channel_fail(ch, RSSL_REASON_REFUSED_BY_US, true);
}

void rssl_channel_refuse(struct rssl_channel *ch, const char *text)
{
    if (ch->state != RSSL_STATE_WAIT_REQUEST)
        return;
    ch->refused = true;
    rssl_printable((const uint8_t *)text, strlen(text), ch->detail, sizeof(ch->detail));
}

static void handle_request(struct rssl_channel *ch, const uint8_t *bytes, size_t length)
{
    struct rssl_request request;
    int rc = rssl_request_decode(bytes, length, &request);

    if (rc == MD_ERR_UNSUPPORTED || (rc == MD_OK && request.version > ch->config.version)) {
        rssl_channel_detail(ch, "connection version ", request.version, "", 0, NULL);
        rssl_channel_fail(ch, RSSL_REASON_BAD_VERSION, false); /* without a byte: it falls back */
        return;
    }
    if (rc != MD_OK) {
        rssl_printable(bytes, length, ch->detail, 64);
        rssl_channel_fail(ch, RSSL_REASON_BAD_REQUEST, false);
        return;
    }
    struct rssl_info *info = &ch->info;
    info->version = (enum rssl_version)request.version;
    rssl_printable(request.host.bytes, request.host.length, info->peer_host,
                   sizeof(info->peer_host));
    rssl_printable(request.address.bytes, request.address.length, info->peer_address,
                   sizeof(info->peer_address));
    rssl_printable(request.component.bytes, request.component.length, info->component,
                   sizeof(info->component));
    if (!ch->refused && request.protocol_type != 0)
        rssl_channel_refuse(ch, "Protocol type is not RWF");
    if (ch->refused) {
        refuse(ch);
        return;
    }
    info->compression = choose_compression(ch, request.compression_bits);
    info->ping_timeout_s = clamp_ping(&ch->config, request.ping_timeout_s);
    info->message_size_max = ch->config.message_size_max;
    info->client_pings = ch->config.client_pings;
    info->server_pings = ch->config.server_pings;
    take_smaller_rwf(info, request.rwf_major, request.rwf_minor);
    ch->awaits_key =
        request.version == RSSL_VERSION_14 && (request.flags & RSSL_REQUEST_KEY_FLAG) != 0;
    ch->state = RSSL_STATE_WAIT_KEY;
    send_ack(ch, &request);
    /* Without a key to wait for, the client's first frame says that it has read the ack: what
     * comes in one segment with it, real clients lose. */
    if (!ch->awaits_key)
        ch->frame_max = info->message_size_max + RSSL_FRAME_HEADER;
}

static void send_key(struct rssl_channel *ch, const struct rssl_ack *ack)
{
    uint8_t bytes[RSSL_HANDSHAKE_MAX];
    bool has_key = ack->key_type == 1;
    uint64_t key = has_key ? rssl_power_mod(ack->key_g, next_random(ch), ack->key_p) : 0;

    queue(ch, bytes, rssl_key_encode(has_key, key, bytes));
}

static void handle_nak(struct rssl_channel *ch, const uint8_t *text, size_t length)
{
    while (length > 0 && text[length - 1] == 0)
        length--;
    rssl_printable(text, length, ch->detail, sizeof(ch->detail));
    rssl_channel_fail(ch, RSSL_REASON_REFUSED, false);
}

static void handle_answer(struct rssl_channel *ch, const uint8_t *bytes, size_t length)
{
    struct rssl_info *info = &ch->info;
    struct rssl_ack ack;
    const uint8_t *text;
    size_t text_length;

    if (rssl_nak_decode(bytes, length, &text, &text_length) == MD_OK) {
        handle_nak(ch, text, text_length);
        return;
    }
    uint32_t version = ch->config.version;
    if (rssl_ack_decode(bytes, length, version, ch->key_asked, &ack) != MD_OK ||
        ack.protocol_version != rssl_protocol_version(version) || ack.compression > 2 ||
        ack.message_size_max < 20 || ack.message_size_max + RSSL_FRAME_HEADER > RSSL_CHUNK_BYTES) {
        rssl_printable(bytes, length, ch->detail, 64);
        rssl_channel_fail(ch, RSSL_REASON_BAD_ACK, false);
        return;
    }
    info->version = ch->config.version;
    info->compression = (enum rssl_compression)ack.compression;
    if (ack.forced && info->compression == RSSL_COMPRESSION_NONE)
        info->compression = RSSL_COMPRESSION_ZLIB;
    info->message_size_max = ack.message_size_max;
    info->ping_timeout_s = ack.ping_timeout_s;
    info->client_pings = (ack.session_flags & SESSION_CLIENT_PINGS) != 0;
    info->server_pings = (ack.session_flags & SESSION_SERVER_PINGS) != 0;
    take_smaller_rwf(info, ack.rwf_major, ack.rwf_minor);
    rssl_printable(ack.component.bytes, ack.component.length, info->component,
                   sizeof(info->component));
    if (ch->config.zlib_level > 9)
        ch->config.zlib_level = ack.zlib_level <= 9 ? ack.zlib_level : 6;
    if (ch->key_asked)
        send_key(ch, &ack);
    if (ch->state != RSSL_STATE_CLOSED)
        rssl_channel_activate(ch);
}

static void handle_key(struct rssl_channel *ch, const uint8_t *bytes, size_t length)
{
    if (length < 3 || bytes[2] != 0x08) {
        rssl_printable(bytes, length, ch->detail, 64);
        rssl_channel_fail(ch, RSSL_REASON_BAD_KEY, false);
        return;
    }
    rssl_channel_activate(ch);
}

void rssl_channel_handshake(struct rssl_channel *ch, const uint8_t *bytes, size_t length)
{
    switch (ch->state) {
    case RSSL_STATE_WAIT_REQUEST:
        handle_request(ch, bytes, length);
        break;
    case RSSL_STATE_WAIT_ACK:
        handle_answer(ch, bytes, length);
        break;
    case RSSL_STATE_WAIT_KEY:
        handle_key(ch, bytes, length);
        break;
    case RSSL_STATE_CONNECT:
        rssl_channel_fail(ch, RSSL_REASON_BAD_ACK, false); /* it speaks before it is asked */
        break;
    case RSSL_STATE_ACTIVE:
    case RSSL_STATE_CLOSED:
        break;
    }
}

void rssl_channel_not_rssl(struct rssl_channel *ch, const uint8_t *bytes, size_t length)
{
    static const char not_implemented[] = "HTTP/1.1 501 Not Implemented\r\n"
                                          "Content-Length: 0\r\nConnection: close\r\n\r\n";
    static const char digits[] = "0123456789abcdef";
    char *out = ch->detail;

    for (size_t i = 0; i < length && i < 16; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
    /* HTTP (a tunnel, a browser) gets an answer in its own words. */
    bool is_http = length >= 2 && (memcmp(bytes, "PO", 2) == 0 || memcmp(bytes, "GE", 2) == 0);
    if (is_http)
        (void)rssl_outq_raw(&ch->outq, (const uint8_t *)not_implemented,
                            sizeof(not_implemented) - 1);
    rssl_channel_fail(ch, RSSL_REASON_NOT_RSSL, is_http);
}

void rssl_channel_activate(struct rssl_channel *ch)
{
    const struct rssl_info *info = &ch->info;
    bool is_client = ch->config.role == RSSL_ROLE_CLIENT;
    uint64_t timeout = info->ping_timeout_s * SECOND;
    uint64_t interval = timeout / 3;

    ch->frame_max = (uint32_t)info->message_size_max + RSSL_FRAME_HEADER;
    if (info->compression != RSSL_COMPRESSION_NONE &&
        rssl_codec_create(info->compression, ch->config.zlib_level, ch->frame_max, &ch->codec) !=
            MD_OK) {
        rssl_channel_fail(ch, RSSL_REASON_NO_MEMORY, false);
        return;
    }
    struct rssl_outq_config config = {
        .frame_max = ch->frame_max,
        .guaranteed_buffers = ch->config.guaranteed_buffers,
        .max_buffers = ch->config.max_buffers,
        .message_max = ch->config.message_max,
        .breach_percent = ch->config.breach_percent,
        .ok_percent = ch->config.ok_percent,
        .fragment_id_size = rssl_version_fragment_id_size(info->version),
        .packing = ch->config.packing,
        .pressure = ch->config.pressure,
        .pressure_user = ch->config.pressure_user,
    };
    rssl_outq_open(&ch->outq, &config, ch->codec);
    if (ch->config.ping_interval_s && ch->config.ping_interval_s * SECOND < interval)
        interval = ch->config.ping_interval_s * SECOND;
    bool we_ping = is_client ? info->client_pings : info->server_pings;
    bool peer_pings = is_client ? info->server_pings : info->client_pings;
    ch->ping_interval_ns = we_ping && interval ? interval : RSSL_NEVER;
    ch->ping_timeout_ns = peer_pings && timeout ? timeout : RSSL_NEVER;
    ch->received_ns = ch->now_ns;
    ch->state = RSSL_STATE_ACTIVE;
    ch->opened_pending = true;
}
