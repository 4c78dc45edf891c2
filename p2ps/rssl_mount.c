/* rssl_mount.c - RSSL between a mount's byte stream and the core. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/log.h"
#include "mount.h"
#include "rssl_front.h"
#include "worker.h"

#define NO_CLIENT UINT32_MAX

/* ---- input ---- */

static void log_end(const struct p2ps_mount *mount)
{
    enum rssl_reason reason = rssl_channel_reason(mount->channel);
    const char *detail = rssl_channel_reason_detail(mount->channel);

    if (mount->is_closing)
        return; /* said when it was decided */
    if (reason == RSSL_REASON_STREAM_FAILED)
        detail = net_stream_error(mount->stream);
    md_log(reason == RSSL_REASON_PEER_CLOSED ? MD_LOG_INFO : MD_LOG_WARNING,
           "mount: host=%s ended: %s%s%s", p2ps_mount_label(mount), rssl_reason_text(reason),
           detail[0] ? ": " : "", detail);
}

static void message(struct p2ps_mount *mount, uint64_t now_ns, const struct rssl_event *event)
{
    if (mount->client == NO_CLIENT)
        return;
    if (p2ps_rssl_message(mount->worker->core, now_ns, mount->client,
                          rwf_bytes(event->bytes, event->length)) != RWF_OK)
        p2ps_mount_close(mount, "a message cannot be decoded");
}

static void take_event(struct p2ps_mount *mount, uint64_t now_ns, const struct rssl_event *event)
{
    switch (event->kind) {
    case RSSL_EVENT_OPENED:
        p2ps_mount_opened(mount, now_ns, &p2ps_rssl_front,
                          rssl_channel_info(mount->channel)->component);
        break;
    case RSSL_EVENT_MESSAGE:
        message(mount, now_ns, event);
        break;
    case RSSL_EVENT_PING:
        break;
    case RSSL_EVENT_CLOSED:
        log_end(mount);
        if (rssl_channel_is_finished(mount->channel)) /* else it has last words to send */
            p2ps_mount_bury(mount);
        break;
    }
}

static bool take_one(struct p2ps_mount *mount, uint64_t now_ns)
{
    struct rssl_event event;

    if (mount->is_dead || rssl_channel_events(mount->channel, &event, 1) == 0)
        return false;
    take_event(mount, now_ns, &event);
    return true;
}

/* One by one: each may be the last of the consumer's turn. */
static bool take_events(struct p2ps_mount *mount, uint64_t now_ns)
{
    do {
        if (mount->client != NO_CLIENT && !p2ps_client_takes(mount->worker->core, mount->client))
            return false;
    } while (take_one(mount, now_ns));
    return true;
}

/* ---- what mount.c asks ---- */

static int open_channel(struct p2ps_mount *mount, const char *refusal)
{
    struct p2ps_worker *worker = mount->worker;
    int err = rssl_channel_create(&worker->config.channel, worker->pool, md_loop_now(worker->loop),
                                  &mount->channel);

    if (err == MD_OK && refusal)
        rssl_channel_refuse(mount->channel, refusal);
    return err;
}

static void destroy(struct p2ps_mount *mount)
{
    rssl_channel_destroy(mount->channel);
}

static bool input(struct p2ps_mount *mount, uint64_t now_ns, uint8_t *bytes, size_t length)
{
    rssl_channel_input(mount->channel, now_ns, bytes, length);
    return take_events(mount, now_ns);
}

static void input_end(struct p2ps_mount *mount, uint64_t now_ns, bool is_broken)
{
    rssl_channel_input_end(mount->channel, is_broken);
    take_one(mount, now_ns); /* that it has ended */
}

static size_t output(struct p2ps_mount *mount, struct md_slice *slices, size_t max)
{
    return rssl_channel_output(mount->channel, slices, max);
}

static void sent(struct p2ps_mount *mount, uint64_t now_ns, size_t length)
{
    rssl_channel_sent(mount->channel, now_ns, length);
}

static bool has_output(const struct p2ps_mount *mount)
{
    return !rssl_outq_is_empty(rssl_channel_outq(mount->channel));
}

static void close_channel(struct p2ps_mount *mount, bool is_leaving)
{
    (void)is_leaving;
    rssl_channel_close(mount->channel);
}

static bool is_finished(const struct p2ps_mount *mount)
{
    return rssl_channel_is_finished(mount->channel);
}

static void tick(struct p2ps_mount *mount, uint64_t now_ns)
{
    if (mount->held)
        rssl_channel_heard(mount->channel, now_ns);
    rssl_channel_tick(mount->channel, now_ns);
    take_events(mount, now_ns);
}

static uint64_t deadline(const struct p2ps_mount *mount)
{
    return rssl_channel_deadline(mount->channel);
}

static void figures(const struct p2ps_mount *mount, struct p2ps_mount_figures *out)
{
    const struct rssl_outq *outq = rssl_channel_outq(mount->channel);
    const struct rssl_channel_stats *in = rssl_channel_stats(mount->channel);
    struct rssl_outq_stats stats;

    rssl_outq_stats(outq, &stats);
    *out = (struct p2ps_mount_figures){
        .buffers = rssl_outq_depth(outq),
        .buffers_max = outq->config.max_buffers,
        .is_slow = outq->is_slow,
        .messages_in = in->message_count,
        .bytes_in = in->bytes_in,
        .messages_out = stats.message_count,
        .bytes_out = stats.wire_bytes,
    };
}

static void share(struct p2ps_mount *mount, size_t at, struct p2ps_party *party)
{
    rssl_channel_share_set(mount->channel, at, party ? &party->output : NULL);
}

const struct p2ps_protocol p2ps_rssl_protocol = {
    .name = "RSSL",
    .open = open_channel,
    .destroy = destroy,
    .input = input,
    .resume = take_one,
    .input_end = input_end,
    .output = output,
    .sent = sent,
    .has_output = has_output,
    .close = close_channel,
    .is_finished = is_finished,
    .tick = tick,
    .deadline = deadline,
    .figures = figures,
    .share = share,
};
