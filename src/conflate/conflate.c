/* conflate.c - see conflate.h: which updates may be merged, and the head of a merged one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/prng.h"
#include "fields.h"
#include "maps.h"
#include "noted.h"

int conflate_create(const struct conflate_config *config, struct conflate **out)
{
    struct conflate *c = calloc(1, sizeof(*c));

    *out = c;
    if (!c)
        return MD_ERR_NOMEM;
    c->config = *config;
    c->key[0] = md_mix64(config->random);
    c->key[1] = md_mix64(config->random + 1);
    return MD_OK;
}

void conflate_destroy(struct conflate *c)
{
    free(c);
}

/* ---- may it be merged ---- */

static bool is_whole_list(struct rwf_bytes payload)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    if (rc < 0 || list.count > CONFLATE_FIELDS_MAX)
        return false;
    while ((rc = rwf_field_list_next(&list, &field)) > 0)
        continue;
    return rc == 0;
}

static bool may_merge(const struct rwf_msg *msg)
{
    if (msg->container == RWF_TYPE_FIELD_LIST)
        return is_whole_list(msg->payload);
    return msg->container == RWF_TYPE_MAP && conflate_map_is_plain(msg->payload);
}

static bool ripples(const struct rwf_msg *msg)
{
    return !(msg->flags & RWF_UPDATE_DO_NOT_RIPPLE);
}

/* ---- the head ---- */

/* The time that the pending run has taken so far. */
static uint64_t time_of(const struct conflate_pending *pending, uint64_t now_ns)
{
    return now_ns > pending->first_ns ? (now_ns - pending->first_ns) / 1000000 : 0;
}

/* The head of a run that `fresh` ends. */
static struct rwf_msg head_of(const struct rwf_msg *old, const struct rwf_msg *fresh,
                              const struct conflate_pending *pending, uint64_t now_ns)
{
    struct rwf_msg head = *fresh;

    head.flags &= (uint16_t) ~(unsigned)(RWF_UPDATE_HAS_CONF_INFO | RWF_UPDATE_DISCARDABLE);
    head.flags |= old->flags & fresh->flags & RWF_UPDATE_DISCARDABLE;
    if (fresh->container == RWF_TYPE_FIELD_LIST)
        head.flags |= RWF_UPDATE_DO_NOT_RIPPLE;
    if (!(fresh->flags & RWF_UPDATE_HAS_SEQ_NUM) && old->flags & RWF_UPDATE_HAS_SEQ_NUM) {
        head.flags |= RWF_UPDATE_HAS_SEQ_NUM;
        head.seq_num = old->seq_num;
    }
    if (!(fresh->flags & RWF_UPDATE_HAS_KEY) && old->flags & RWF_UPDATE_HAS_KEY) {
        head.flags |= RWF_UPDATE_HAS_KEY;
        head.key = old->key;
    }
    if (old->update_type != fresh->update_type)
        head.update_type = RWF_UPDATE_MULTIPLE;
    struct conflate_pending run = *pending;
    run.count = conflate_count_sum(run.count, conflate_count_of(fresh));
    conflate_head_info(&run, time_of(pending, now_ns), &head);
    return head;
}

/* ---- merging ---- */

static bool merge_fields(struct conflate *c, struct rwf_encoder *enc, const struct rwf_msg *old,
                         const struct rwf_msg *fresh, struct rwf_bytes image)
{
    conflate_fields_begin(c, image, image.data != NULL);
    return conflate_fields_touch(c, old->payload, ripples(old)) &&
           conflate_fields_fold(c, fresh->payload, ripples(fresh)) &&
           conflate_fields_write(c, enc, old->payload, fresh->payload) == RWF_OK;
}

static bool merge_payload(struct conflate *c, struct rwf_encoder *enc, const struct rwf_msg *head,
                          const struct rwf_msg *old, const struct rwf_msg *fresh,
                          struct rwf_bytes image)
{
    bool is_map = fresh->container == RWF_TYPE_MAP;

    rwf_msg_start(enc, head);
    return (is_map ? conflate_map_merge(c, enc, old->payload, fresh->payload)
                   : merge_fields(c, enc, old, fresh, image)) &&
           rwf_msg_finish(enc) == RWF_OK;
}

/* The pending update and this one as one, in c->out. False: that is not possible. */
static bool merge(struct conflate *c, const struct conflate_pending *pending,
                  const struct rwf_msg *fresh, struct rwf_bytes image, uint64_t now_ns,
                  struct rwf_bytes *out)
{
    size_t size = pending->room < sizeof(c->out) ? pending->room : sizeof(c->out);
    struct rwf_encoder enc;
    struct rwf_msg old;
    bool is_made;

    if (rwf_msg_decode(conflate_bytes(pending), &old) != RWF_OK || old.domain != fresh->domain ||
        old.container != fresh->container)
        return false;
    struct rwf_msg head = head_of(&old, fresh, pending, now_ns);
    rwf_encoder_init(&enc, c->out, size);
    if (fresh->container == RWF_TYPE_FIELD_LIST &&
        conflate_fields_replace(c, old.payload, fresh->payload, ripples(&old) || ripples(fresh)))
        is_made = rwf_msg_encode(&enc, &head) == RWF_OK;
    else
        is_made = merge_payload(c, &enc, &head, &old, fresh, image);
    *out = rwf_encoder_bytes(&enc);
    return is_made;
}

/* The run goes on by the ids of its fields. False: not so. */
static bool add_noted(struct conflate *c, struct conflate_pending *pending,
                      const struct rwf_msg *fresh, struct rwf_bytes image, uint64_t now_ns)
{
    struct rwf_msg old;

    if (!pending->takes_image || !image.data)
        return false;
    if (pending->is_noted)
        return conflate_noted_add(c, pending, fresh, now_ns);
    return !pending->is_merged && rwf_msg_decode(conflate_bytes(pending), &old) == RWF_OK &&
           conflate_noted_begin(c, pending, &old, fresh, now_ns);
}

static void keep(struct conflate_pending *pending, struct rwf_bytes bytes)
{
    memcpy(pending->bytes, bytes.data, bytes.length);
    pending->length = (uint32_t)bytes.length;
}

enum conflate_result conflate_add(struct conflate *c, struct conflate_pending *pending,
                                  struct rwf_bytes update, struct rwf_bytes image, uint64_t now_ns)
{
    struct rwf_bytes merged;
    struct rwf_msg fresh;

    if (rwf_msg_decode(update, &fresh) != RWF_OK || !conflate_may_try(&fresh))
        return CONFLATE_PASS;
    if (pending->length > 0 && add_noted(c, pending, &fresh, image, now_ns)) {
        pending->count = conflate_count_sum(pending->count, conflate_count_of(&fresh));
        return CONFLATE_HELD;
    }
    if (!may_merge(&fresh))
        return CONFLATE_PASS;
    if (pending->length == 0) {
        if (update.length > pending->room)
            return CONFLATE_PASS;
        keep(pending, update);
        pending->count = conflate_count_of(&fresh);
        pending->first_ns = conflate_begin_of(&fresh, now_ns);
        return CONFLATE_HELD;
    }
    if (pending->is_noted || !merge(c, pending, &fresh, image, now_ns, &merged))
        return CONFLATE_FLUSH;
    keep(pending, merged);
    pending->is_merged = true;
    pending->count = conflate_count_sum(pending->count, conflate_count_of(&fresh));
    return CONFLATE_HELD;
}

bool conflate_out(struct conflate *c, const struct conflate_pending *pending,
                  struct rwf_bytes image, struct rwf_bytes *out)
{
    *out = conflate_bytes(pending);
    return !pending->is_noted || (image.data && conflate_noted_write(c, pending, image, out));
}

bool conflate_spell(struct conflate *c, struct rwf_bytes update, struct rwf_bytes image,
                    struct rwf_bytes *out)
{
    struct rwf_encoder enc;
    struct rwf_msg msg;

    if (rwf_msg_decode(update, &msg) != RWF_OK || msg.msg_class != RWF_CLASS_UPDATE ||
        msg.container != RWF_TYPE_FIELD_LIST || !ripples(&msg))
        return false;
    conflate_fields_begin(c, image, image.data != NULL);
    rwf_encoder_init(&enc, c->out, sizeof(c->out));
    msg.flags |= RWF_UPDATE_DO_NOT_RIPPLE;
    rwf_msg_start(&enc, &msg);
    if (!conflate_fields_fold(c, msg.payload, true) ||
        conflate_fields_write(c, &enc, rwf_bytes(NULL, 0), msg.payload) != RWF_OK ||
        rwf_msg_finish(&enc) != RWF_OK)
        return false;
    *out = rwf_encoder_bytes(&enc);
    return true;
}
