/* ws_mount.c - WebSocket between a mount's byte stream and the core; pings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "livepage/livepage.h"
#include "work.h"
#include "worker.h"
#include "ws_front.h"

#define NO_CLIENT    UINT32_MAX
#define BUFFER       6147u /* the unit of maxOutputBuffers */
#define HANDSHAKE_NS 10000000000ull
#define REFUSED_NS   2000000000ull /* for who is refused anyway */
#define SLOW_NS      10000000000ull

static void on_opened(void *owner)
{
    struct p2ps_mount *mount = owner;
    struct p2ps_worker *worker = mount->worker;

    p2ps_mount_opened(mount, md_loop_now(worker->loop), &worker->ws->front, "WebSocket tr_json2");
}

static bool on_message(void *owner, const uint8_t *text, size_t length)
{
    struct p2ps_mount *mount = owner;

    if (mount->client == NO_CLIENT)
        return true;
    return p2ps_ws_requests(mount, md_loop_now(mount->worker->loop), rwf_bytes(text, length));
}

static const struct ws_owner_ops owner_ops = { .opened = on_opened, .message = on_message };

static bool is_loopback(const char *peer)
{
    return strncmp(peer, "127.", 4) == 0 || strncmp(peer, "[::1]", 5) == 0 ||
           strncmp(peer, "[::ffff:127.", 12) == 0;
}

static int open_ws(struct p2ps_mount *mount, const char *refusal)
{
    const struct p2ps_ws *ws = mount->worker->ws;
    uint64_t now_ns = md_loop_now(mount->worker->loop);
    const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2 rssl.json.v2",
        .allowed_origins = ws->config.allowed_origins,
        .refusal = refusal,
        .page = ws->config.has_page ? &live_page : NULL,
        .is_loopback = is_loopback(net_stream_peer(mount->stream)),
        .message_max = ws->config.message_max,
        .queue_max = ws->config.queue_max,
        .guaranteed = ws->config.guaranteed,
        .handshake_ns = refusal ? REFUSED_NS : HANDSHAKE_NS,
    };

    mount->ws = calloc(1, sizeof(*mount->ws));
    if (!mount->ws)
        return MD_ERR_NOMEM;
    return ws_create(&config, ws->pool, now_ns, &owner_ops, mount, &mount->ws->conn);
}

static void destroy(struct p2ps_mount *mount)
{
    if (mount->ws) {
        if (mount->ws->conn)
            p2ps_ws_requests_drop(mount);
        ws_destroy(mount->ws->conn);
    }
    free(mount->ws);
}

/* The connection ended by its own rules: a request refused, a frame that broke one, a close frame.
 * The bytes that are queued still go out. */
static void look_for_end(struct p2ps_mount *mount)
{
    const char *reason = ws_reason(mount->ws->conn);
    const char *origin = ws_origin(mount->ws->conn);

    if (!reason[0] || mount->is_closing || mount->is_dead)
        return;
    md_log(MD_LOG_INFO, "mount: host=%s ended: %s%s%s", p2ps_mount_label(mount), reason,
           origin[0] ? ", Origin " : "", origin);
    p2ps_mount_wind_up(mount, reason);
}

static bool input(struct p2ps_mount *mount, uint64_t now_ns, uint8_t *bytes, size_t length)
{
    ws_input(mount->ws->conn, now_ns, bytes, length);
    look_for_end(mount);
    return !ws_is_paused(mount->ws->conn) || mount->client == NO_CLIENT;
}

static bool resume(struct p2ps_mount *mount, uint64_t now_ns)
{
    if (mount->client == NO_CLIENT)
        return false;
    if (mount->ws->waiting.text && p2ps_ws_requests_more(mount, now_ns))
        return true;
    ws_resume(mount->ws->conn, now_ns);
    look_for_end(mount);
    return ws_is_paused(mount->ws->conn) && mount->client != NO_CLIENT;
}

static void input_end(struct p2ps_mount *mount, uint64_t now_ns, bool is_broken)
{
    (void)now_ns;
    if (!mount->is_closing)
        md_log(MD_LOG_INFO, "mount: host=%s ended: %s", p2ps_mount_label(mount),
               is_broken ? net_stream_error(mount->stream) : "the peer closed the connection");
}

static size_t output(struct p2ps_mount *mount, struct md_slice *slices, size_t max)
{
    return ws_output(mount->ws->conn, slices, max);
}

/* Like the queue of an RSSL channel: slow above the one mark, fine below the other. */
static void look_at_queue(struct p2ps_mount *mount)
{
    const struct p2ps_ws_config *config = &mount->worker->ws->config;
    uint64_t queued = (uint64_t)ws_queued(mount->ws->conn) * 100;

    if (queued > (uint64_t)config->queue_max * config->breach_percent)
        mount->ws->is_slow = true;
    else if (queued < (uint64_t)config->queue_max * config->ok_percent || queued == 0)
        mount->ws->is_slow = false;
}

/* It has read: a quarter of its queue is free again, and what it asked for waits its turn. */
static void unchoke(struct p2ps_mount *mount, uint64_t now_ns)
{
    uint32_t max = ws_queue_max(mount->ws->conn);

    mount->ws->choked_ns = now_ns;
    if (mount->client == NO_CLIENT || ws_queued(mount->ws->conn) > max - max / 4)
        return;
    mount->is_choked = false;
    p2ps_work_wait(mount->worker->core, mount->client);
}

static void sent(struct p2ps_mount *mount, uint64_t now_ns, size_t length)
{
    ws_sent(mount->ws->conn, length);
    look_at_queue(mount);
    if (mount->is_choked && length > 0)
        unchoke(mount, now_ns);
}

static bool has_output(const struct p2ps_mount *mount)
{
    return ws_has_output(mount->ws->conn);
}

static void close_ws(struct p2ps_mount *mount, bool is_leaving)
{
    ws_close(mount->ws->conn, is_leaving ? WS_CLOSE_GOING_AWAY : WS_CLOSE_NORMAL,
             is_leaving ? "Going Away" : "Normal Closure");
}

static bool is_finished(const struct p2ps_mount *mount)
{
    return ws_is_finished(mount->ws->conn);
}

/* ---- time ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Silence for a third of wsPingTimeout asks for a sign of life; for the whole of it, it ends. */
static uint64_t ping_due(const struct p2ps_mount *mount)
{
    const struct p2ps_ws_mount *ws = mount->ws;
    uint64_t third = mount->worker->ws->config.ping_ns / 3;

    return later(ws_heard_ns(ws->conn), ws->pinged_ns) + third;
}

static uint64_t silence_ends(const struct p2ps_mount *mount)
{
    return ws_heard_ns(mount->ws->conn) + mount->worker->ws->config.ping_ns;
}

/* slowTimeout is for who reads nothing of its answers, too. */
static uint64_t choke_ends(const struct p2ps_mount *mount)
{
    uint64_t timeout_ns = mount->worker->config.core.slow_timeout_ns;

    return mount->ws->choked_ns + (timeout_ns ? timeout_ns : SLOW_NS);
}

static void tick(struct p2ps_mount *mount, uint64_t now_ns)
{
    static const char ping[] = "{\"Type\":\"Ping\"}";
    struct p2ps_ws_mount *ws = mount->ws;

    ws_tick(ws->conn, now_ns);
    look_for_end(mount);
    if (mount->is_choked && mount->client != NO_CLIENT && !mount->is_closing &&
        now_ns >= choke_ends(mount)) {
        p2ps_client_unread(mount->worker->core, now_ns, mount->client);
        return;
    }
    /* Before its login it is the core that ends it, after loginTimeout. */
    if (!ws_is_open(ws->conn) || mount->is_closing || mount->held || !p2ps_mount_is_in(mount))
        return;
    if (now_ns >= silence_ends(mount)) {
        p2ps_mount_close(mount, "no sign of life (wsPingTimeout)");
        return;
    }
    if (now_ns < ping_due(mount))
        return;
    ws->pinged_ns = now_ns;
    p2ps_ws_send_text(mount, ping, sizeof(ping) - 1);
}

static uint64_t deadline(const struct p2ps_mount *mount)
{
    uint64_t result = ws_deadline(mount->ws->conn);

    if (mount->is_choked)
        return choke_ends(mount);
    if (!ws_is_open(mount->ws->conn) || !p2ps_mount_is_in(mount))
        return result;
    result = silence_ends(mount);
    return ping_due(mount) < result ? ping_due(mount) : result;
}

static void figures(const struct p2ps_mount *mount, struct p2ps_mount_figures *out)
{
    const struct ws_conn *conn = mount->ws->conn;
    const struct ws_stats *stats = ws_conn_stats(conn);

    *out = (struct p2ps_mount_figures){
        .buffers = (ws_queued(conn) + BUFFER - 1) / BUFFER,
        .buffers_max = ws_queue_max(conn) / BUFFER,
        .is_slow = mount->ws->is_slow,
        .messages_in = stats->messages_in,
        .bytes_in = stats->bytes_in,
        .messages_out = stats->messages_out,
        .bytes_out = stats->bytes_out,
    };
}

static void share(struct p2ps_mount *mount, size_t at, struct p2ps_party *party)
{
    ws_share_set(mount->ws->conn, at, party ? &party->output : NULL, party ? &party->input : NULL);
}

const struct p2ps_protocol p2ps_ws_protocol = {
    .name = "JSON",
    .open = open_ws,
    .destroy = destroy,
    .input = input,
    .resume = resume,
    .input_end = input_end,
    .output = output,
    .sent = sent,
    .has_output = has_output,
    .close = close_ws,
    .is_finished = is_finished,
    .tick = tick,
    .deadline = deadline,
    .figures = figures,
    .share = share,
};
