/* rssl_front.c - RSSL consumers: RWF messages in, RWF messages out. See core/front.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl_front.h"
#include "base/copy.h"
#include "base/err.h"
#include "mount.h"
#include "rwf_forms.h"
#include "worker.h"

/* This share of the output is kept for what may not be lost. */
#define KEPT_SHARE 8

static struct rssl_outq *outq_of(const void *self)
{
    const struct p2ps_mount *mount = self;

    return rssl_channel_outq(mount->channel);
}

/* ---- items ---- */

/* Anything but an ordinary message for which the open frame has room. */
static __attribute__((noinline)) int put_slow(const struct p2ps_mount *mount,
                                              const struct p2ps_made *made, int32_t stream_id,
                                              bool solicited, bool snapshot)
{
    struct rssl_outq *outq = outq_of(mount);
    uint64_t queue_max = p2ps_ceiling_queue(&mount->ceiling);

    /* An open frame is accounted for in full already: no need to look at more of the queue. */
    if (!rssl_outq_fits_frame(outq, made->length) && !made->is_vital &&
        (outq->queued_bytes + outq->max_bytes / KEPT_SHARE > outq->max_bytes ||
         outq->queued_bytes > queue_max))
        return MD_ERR_FULL;
    uint8_t *room = rssl_outq_reserve(outq, made->length);
    if (!room)
        return MD_ERR_FULL;
    p2ps_rwf_write(room, made, stream_id, solicited, snapshot);
    rssl_outq_commit(outq, made->length);
    return MD_OK;
}

static int put(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
               bool snapshot)
{
    struct rssl_outq *outq = outq_of(self);

    if (__builtin_expect(!rssl_outq_fits_frame(outq, made->length) || !md_copy_can(made->length) ||
                             solicited || snapshot,
                         0))
        return put_slow(self, made, stream_id, solicited, snapshot);
    uint8_t *room = rssl_outq_reserve(outq, made->length);
    md_copy(room, made->bytes, made->length);
    rwf_patch_stream_id(room, stream_id);
    rssl_outq_commit(outq, made->length);
    rssl_outq_fetch(outq, made->length);
    return MD_OK;
}

/* ---- administrative messages ---- */

static int message(void *self, struct rwf_bytes bytes)
{
    return rssl_outq_write(outq_of(self), bytes.data, bytes.length);
}

static int login_refresh(void *self, const struct omm_login_refresh *given)
{
    struct omm_login_refresh refresh = *given;
    uint8_t scratch[4096];
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, scratch, sizeof(scratch));
    refresh.output_rate = ((const struct p2ps_mount *)self)->ceiling.rate;
    if (omm_login_refresh_encode(&enc, &refresh) != RWF_OK)
        return MD_ERR_FULL;
    return message(self, rwf_encoder_bytes(&enc));
}

/* ---- the connection ---- */

static bool is_full(const void *self)
{
    return rssl_outq_depth(outq_of(self)) > 1;
}

static unsigned fill(const void *self)
{
    const struct p2ps_mount *mount = self;
    const struct rssl_outq *outq = outq_of(self);
    const char *why;

    return p2ps_output_fill(outq->queued_bytes, p2ps_mount_full(mount, &why),
                            rssl_outq_depth(outq) * 100 / outq->config.max_buffers);
}

static const char *queue(const void *self, uint64_t *used, uint64_t *max)
{
    const struct p2ps_mount *mount = self;
    const struct rssl_outq *outq = outq_of(self);
    const char *why;

    *used = outq->queued_bytes;
    *max = p2ps_mount_full(mount, &why);
    if (*max < outq->max_bytes)
        return why;
    *used = rssl_outq_depth(outq);
    *max = outq->config.max_buffers;
    return "output buffers";
}

const struct p2ps_front p2ps_rssl_front = {
    .name = "rssl",
    .make = p2ps_rwf_make,
    .put = put,
    .login_refresh = login_refresh,
    .message = message,
    .flush = p2ps_mount_send,
    .is_full = is_full,
    .fill = fill,
    .queue = queue,
    .has_ceiling = p2ps_mount_has_ceiling,
    .close = p2ps_mount_cut,
    .resume = p2ps_mount_resume,
    .user = p2ps_mount_user,
    .certificate = p2ps_mount_certificate,
    .serial = p2ps_mount_serial,
};

/* ---- what a client says ---- */

void p2ps_rwf_request(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      const struct rwf_msg *msg)
{
    struct omm_login_request login;
    struct omm_directory_request directory_request;
    struct omm_dictionary_request dictionary;
    struct omm_item_request item;
    int rc;

    switch (msg->domain) {
    case RWF_DOMAIN_LOGIN:
        rc = omm_login_request_decode(msg, &login);
        if (rc == RWF_OK || rc == RWF_ERR_NOT_FOUND) /* that: its name is empty */
            p2ps_client_login(core, now_ns, client, &login);
        else
            p2ps_client_bad_request(core, client, msg->stream_id, msg->domain,
                                    "The login request cannot be read");
        break;
    case RWF_DOMAIN_SOURCE:
        omm_directory_request_decode(msg, &directory_request);
        p2ps_client_directory(core, now_ns, client, &directory_request);
        break;
    case RWF_DOMAIN_DICTIONARY:
        if (omm_dictionary_request_decode(msg, &dictionary) == RWF_OK)
            p2ps_client_dictionary(core, now_ns, client, &dictionary);
        else
            p2ps_client_bad_request(core, client, msg->stream_id, msg->domain,
                                    "The request names no dictionary");
        break;
    default:
        omm_item_request_decode(msg, &item);
        p2ps_client_item(core, now_ns, client, &item);
        break;
    }
}

int p2ps_rssl_message(struct p2ps_core *core, uint64_t now_ns, uint32_t client,
                      struct rwf_bytes bytes)
{
    struct rwf_msg msg;
    int rc = rwf_msg_decode(bytes, &msg);

    if (rc != RWF_OK)
        return rc;
    switch (msg.msg_class) {
    case RWF_CLASS_REQUEST:
        p2ps_rwf_request(core, now_ns, client, &msg);
        break;
    case RWF_CLASS_CLOSE:
        p2ps_client_close(core, now_ns, client, msg.stream_id);
        break;
    case RWF_CLASS_POST:
        p2ps_client_post(core, now_ns, client, &msg, bytes);
        break;
    case RWF_CLASS_GENERIC:
        p2ps_client_generic(core, now_ns, client, &msg, bytes);
        break;
    default:
        break; /* not for a server; ignored as real ones do */
    }
    return RWF_OK;
}
