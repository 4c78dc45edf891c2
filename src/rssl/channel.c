/* channel.c - see rssl/channel.h: creation, time, output, end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl/channel.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "channel_private.h"

#define SECOND       1000000000ull
#define LINGER_NS    (5 * SECOND)
#define DEFAULT_NAME "openrmds " RMDS_VERSION

static const char *const reason_texts[] = {
    [RSSL_REASON_NONE] = "open",
    [RSSL_REASON_LOCAL] = "closed by us",
    [RSSL_REASON_PEER_CLOSED] = "closed by the peer",
    [RSSL_REASON_STREAM_FAILED] = "the connection broke",
    [RSSL_REASON_REFUSED] = "refused by the server",
    [RSSL_REASON_REFUSED_BY_US] = "refused",
    [RSSL_REASON_HANDSHAKE_TIMEOUT] = "handshake not completed in time",
    [RSSL_REASON_PING_TIMEOUT] = "nothing heard for the ping timeout",
    [RSSL_REASON_STALLED] = "the peer does not read",
    [RSSL_REASON_NOT_RSSL] = "the first bytes are not an RSSL connection request",
    [RSSL_REASON_BAD_REQUEST] = "malformed connection request",
    [RSSL_REASON_BAD_VERSION] = "connection version not supported",
    [RSSL_REASON_BAD_ACK] = "malformed answer to the connection request",
    [RSSL_REASON_BAD_KEY] = "malformed key message",
    [RSSL_REASON_BAD_LENGTH] = "illegal frame length",
    [RSSL_REASON_BAD_OPCODE] = "illegal frame flags",
    [RSSL_REASON_BAD_PACKING] = "illegal packed frame",
    [RSSL_REASON_BAD_FRAGMENT] = "illegal fragment",
    [RSSL_REASON_TOO_BIG] = "message too big",
    [RSSL_REASON_BAD_COMPRESSION] = "illegal compressed frame",
    [RSSL_REASON_NO_MEMORY] = "out of memory",
};

const char *rssl_reason_text(enum rssl_reason reason)
{
    return reason_texts[reason];
}

const char *rssl_state_name(enum rssl_state state)
{
    static const char *const names[] = {
        [RSSL_STATE_CONNECT] = "connect",   [RSSL_STATE_WAIT_REQUEST] = "wait-request",
        [RSSL_STATE_WAIT_ACK] = "wait-ack", [RSSL_STATE_WAIT_KEY] = "wait-key",
        [RSSL_STATE_ACTIVE] = "active",     [RSSL_STATE_CLOSED] = "closed",
    };

    return names[state];
}

void rssl_printable(const uint8_t *bytes, size_t length, char *out, size_t size)
{
    size_t n = length < size - 1 ? length : size - 1;

    for (size_t i = 0; i < n; i++)
        out[i] = (char)(bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i] : '.');
    out[n] = '\0';
}

static char *put_text(char *at, const char *end, const char *text)
{
    while (*text && at < end)
        *at++ = *text++;
    return at;
}

static char *put_number(char *at, const char *end, uint64_t number)
{
    char digits[24];
    char *p = digits + sizeof(digits) - 1;

    *p = '\0';
    do
        *--p = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return put_text(at, end, p);
}

void rssl_channel_detail(struct rssl_channel *ch, const char *before, uint64_t a,
                         const char *between, uint64_t b, const char *after)
{
    char *at = ch->detail, *end = ch->detail + sizeof(ch->detail) - 1;

    at = put_number(put_text(at, end, before), end, a);
    at = put_text(at, end, between);
    if (after)
        at = put_text(put_number(at, end, b), end, after);
    *at = '\0';
}

void rssl_channel_fail(struct rssl_channel *ch, enum rssl_reason reason, bool flush)
{
    if (ch->state == RSSL_STATE_CLOSED)
        return;
    ch->state = RSSL_STATE_CLOSED;
    ch->reason = reason;
    ch->closed_pending = true;
    ch->opened_pending = false;
    ch->input = md_rd_init(NULL, 0);
    ch->packed = ch->input;
    ch->reread = NULL;
    ch->linger_due_ns = ch->now_ns + LINGER_NS;
    rssl_outq_shut(&ch->outq);
    if (!flush)
        rssl_outq_clear(&ch->outq);
}

struct rssl_config rssl_config_default(enum rssl_role role)
{
    bool is_server = role == RSSL_ROLE_SERVER;

    return (struct rssl_config){
        .role = role,
        .version = RSSL_VERSION_14,
        .message_size_max = 6144,
        .ping_timeout_s = 60,
        .ping_timeout_min_s = 20,
        .client_pings = true,
        .server_pings = true,
        .zlib_level = 6,
        .rwf_major = 14,
        .rwf_minor = 1,
        .key_exchange = true,
        .packing = true,
        .guaranteed_buffers = 100,
        .max_buffers = 400,
        .breach_percent = 30,
        .ok_percent = 10,
        .message_max = 4u << 20,
        .handshake_timeout_ns = is_server ? 60 * SECOND : 5 * SECOND,
        .stall_timeout_ns = 60 * SECOND,
    };
}

size_t rssl_read_size(uint32_t input_buffers, uint16_t message_size_max, size_t least)
{
    size_t size = (size_t)input_buffers * (message_size_max + RSSL_FRAME_HEADER);

    if (size > RSSL_READ_MAX)
        size = RSSL_READ_MAX;
    return size > least ? size : least;
}

static bool config_fits(const struct rssl_config *config)
{
    return config->version >= RSSL_VERSION_11 && config->version <= RSSL_VERSION_14 &&
           config->message_size_max >= 20 && config->message_size_max <= 63000 &&
           (config->role == RSSL_ROLE_CLIENT ||
            config->ping_timeout_min_s <= config->ping_timeout_s) &&
           config->ping_timeout_s >= 1 && config->zlib_level <= 10 &&
           config->guaranteed_buffers >= 1 && config->max_buffers >= config->guaranteed_buffers &&
           config->breach_percent <= 100 && config->ok_percent <= config->breach_percent &&
           config->message_max >= config->message_size_max && config->message_max <= INT32_MAX &&
           config->handshake_timeout_ns > 0;
}

static void copy_text(char *to, size_t size, const char *from)
{
    if (from)
        rssl_printable((const uint8_t *)from, strlen(from), to, size);
}

int rssl_channel_create(const struct rssl_config *config, struct rssl_pool *pool, uint64_t now_ns,
                        struct rssl_channel **out)
{
    *out = NULL;
    if (!config_fits(config))
        return MD_ERR_RANGE;

    struct rssl_channel *ch = aligned_alloc(_Alignof(struct rssl_channel), sizeof(*ch));
    if (!ch)
        return MD_ERR_NOMEM;
    memset(ch, 0, sizeof(*ch));
    bool is_server = config->role == RSSL_ROLE_SERVER;
    ch->config = *config;
    if (is_server && ch->config.zlib_level > 9)
        ch->config.zlib_level = 6;
    ch->pool = pool;
    ch->state = is_server ? RSSL_STATE_WAIT_REQUEST : RSSL_STATE_CONNECT;
    ch->frame = ch->small;
    ch->frame_max = RSSL_HANDSHAKE_MAX;
    ch->now_ns = ch->received_ns = ch->sent_ns = now_ns;
    ch->handshake_due_ns = now_ns + config->handshake_timeout_ns;
    ch->blocked_ns = RSSL_NEVER;
    ch->ping_timeout_ns = ch->ping_interval_ns = RSSL_NEVER;
    ch->info.rwf_major = config->rwf_major;
    ch->info.rwf_minor = config->rwf_minor;
    copy_text(ch->component, sizeof(ch->component),
              config->component ? config->component : DEFAULT_NAME);
    copy_text(ch->host, sizeof(ch->host), config->host);
    copy_text(ch->address, sizeof(ch->address), config->address);
    rssl_outq_init(&ch->outq, pool);
    *out = ch;
    return MD_OK;
}

void rssl_channel_destroy(struct rssl_channel *ch)
{
    if (!ch)
        return;
    rssl_channel_drop_partials(ch);
    rssl_outq_fini(&ch->outq);
    rssl_codec_destroy(ch->codec);
    free(ch);
}

void rssl_channel_input(struct rssl_channel *ch, uint64_t now_ns, const uint8_t *bytes,
                        size_t length)
{
    MD_ASSERT(md_rd_left(&ch->input) == 0); /* events() was asked until it said 0 */
    ch->now_ns = now_ns;
    if (ch->state == RSSL_STATE_CLOSED || length == 0)
        return;
    ch->input = md_rd_init(bytes, length);
    ch->received_ns = now_ns;
    ch->stats.bytes_in += length;
}

void rssl_channel_heard(struct rssl_channel *ch, uint64_t now_ns)
{
    ch->received_ns = now_ns;
}

void rssl_channel_input_end(struct rssl_channel *ch, bool failed)
{
    rssl_channel_fail(ch, failed ? RSSL_REASON_STREAM_FAILED : RSSL_REASON_PEER_CLOSED, false);
}

/* `from` + `span`, where RSSL_NEVER is for ever. */
static uint64_t after(uint64_t from, uint64_t span)
{
    return from == RSSL_NEVER || span == RSSL_NEVER ? RSSL_NEVER : from + span;
}

static uint64_t stall_due(const struct rssl_channel *ch)
{
    return ch->config.stall_timeout_ns ? after(ch->blocked_ns, ch->config.stall_timeout_ns)
                                       : RSSL_NEVER;
}

static uint64_t min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t rssl_channel_deadline(const struct rssl_channel *ch)
{
    if (ch->state == RSSL_STATE_CLOSED)
        return rssl_outq_is_empty(&ch->outq) ? RSSL_NEVER : ch->linger_due_ns;
    if (ch->state != RSSL_STATE_ACTIVE)
        return ch->handshake_due_ns;
    uint64_t due = after(ch->sent_ns, ch->ping_interval_ns);
    due = min64(due, after(ch->received_ns, ch->ping_timeout_ns));
    return min64(due, stall_due(ch));
}

static void ping(struct rssl_channel *ch)
{
    static const uint8_t frame[] = { 0, 3, 2 };

    ch->sent_ns = ch->now_ns;
    if (!rssl_outq_is_empty(&ch->outq))
        return; /* what is queued is as good a sign of life */
    if (rssl_outq_raw(&ch->outq, frame, sizeof(frame)) != MD_OK)
        rssl_channel_fail(ch, RSSL_REASON_NO_MEMORY, false);
    ch->stats.ping_out_count++;
}

void rssl_channel_tick(struct rssl_channel *ch, uint64_t now_ns)
{
    ch->now_ns = now_ns;
    if (ch->outq.broken)
        rssl_channel_fail(ch, RSSL_REASON_NO_MEMORY, false);
    if (ch->state == RSSL_STATE_CLOSED) {
        if (now_ns >= ch->linger_due_ns)
            rssl_outq_clear(&ch->outq);
        return;
    }
    if (ch->state != RSSL_STATE_ACTIVE) {
        if (now_ns >= ch->handshake_due_ns) {
            copy_text(ch->detail, sizeof(ch->detail), rssl_state_name(ch->state));
            rssl_channel_fail(ch, RSSL_REASON_HANDSHAKE_TIMEOUT, false);
        }
        return;
    }
    if (now_ns >= after(ch->received_ns, ch->ping_timeout_ns)) {
        rssl_channel_detail(ch, "", ch->info.ping_timeout_s, " s", 0, NULL);
        rssl_channel_fail(ch, RSSL_REASON_PING_TIMEOUT, false);
    } else if (now_ns >= stall_due(ch)) {
        rssl_channel_detail(ch, "", ch->outq.queued_bytes, " bytes wait", 0, NULL);
        rssl_channel_fail(ch, RSSL_REASON_STALLED, false);
    } else if (now_ns >= after(ch->sent_ns, ch->ping_interval_ns)) {
        ping(ch);
    }
}

void rssl_channel_share_set(struct rssl_channel *ch, size_t at, struct md_share *share)
{
    md_shares_set(&ch->outq.shares, at, share, ch->outq.shared_bytes);
}

struct rssl_outq *rssl_channel_outq(struct rssl_channel *ch)
{
    return &ch->outq;
}

size_t rssl_channel_output(struct rssl_channel *ch, struct md_slice *slices, size_t max)
{
    size_t count = rssl_outq_gather(&ch->outq, slices, max);

    return ch->outq.broken ? 0 : count;
}

void rssl_channel_sent(struct rssl_channel *ch, uint64_t now_ns, size_t length)
{
    ch->now_ns = now_ns;
    rssl_outq_sent(&ch->outq, length);
    if (rssl_outq_is_empty(&ch->outq))
        ch->blocked_ns = RSSL_NEVER;
    else if (length > 0 || ch->blocked_ns == RSSL_NEVER)
        ch->blocked_ns = now_ns;
    if (length > 0) {
        ch->sent_ns = now_ns;
        ch->request_sent = true;
    }
}

void rssl_channel_close(struct rssl_channel *ch)
{
    rssl_channel_fail(ch, RSSL_REASON_LOCAL, true);
}

bool rssl_channel_is_finished(const struct rssl_channel *ch)
{
    return ch->state == RSSL_STATE_CLOSED && rssl_outq_is_empty(&ch->outq);
}

enum rssl_state rssl_channel_state(const struct rssl_channel *ch)
{
    return ch->state;
}

enum rssl_reason rssl_channel_reason(const struct rssl_channel *ch)
{
    return ch->reason;
}

const char *rssl_channel_reason_detail(const struct rssl_channel *ch)
{
    return ch->reason == RSSL_REASON_NONE ? "" : ch->detail;
}

enum rssl_version rssl_channel_older_version(const struct rssl_channel *ch)
{
    bool dropped = ch->reason == RSSL_REASON_PEER_CLOSED ||
                   (ch->reason == RSSL_REASON_STREAM_FAILED && ch->request_sent);

    if (ch->config.role != RSSL_ROLE_CLIENT || !dropped || ch->info.version != 0 ||
        ch->config.version == RSSL_VERSION_11)
        return (enum rssl_version)0;
    return (enum rssl_version)(ch->config.version - 1);
}

const struct rssl_info *rssl_channel_info(const struct rssl_channel *ch)
{
    return &ch->info;
}

const struct rssl_channel_stats *rssl_channel_stats(const struct rssl_channel *ch)
{
    return &ch->stats;
}
