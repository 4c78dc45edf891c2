/* marketfeed.c - Marketfeed records become field lists before anything else sees them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "marketfeed.h"

#include <stdlib.h>

#include "base/err.h"
#include "item.h"
#include "upstream.h"

/* A field is at most twice as long as its text: 9 milliseconds are one digit. */
#define GROWTH (2 * (size_t)MF_RECORD_MAX)

int srcdist_marketfeed_create(struct srcdist_core *core)
{
    struct srcdist_marketfeed *m = &core->marketfeed;

    if (!core->config.converts_marketfeed)
        return MD_OK;
    m->size = core->part_size + GROWTH;
    m->bytes = malloc(m->size);
    return m->bytes ? mf_table_create(NULL, &core->config.rules.marketfeed, &m->table)
                    : MD_ERR_NOMEM;
}

void srcdist_marketfeed_destroy(struct srcdist_core *core)
{
    mf_table_destroy(core->marketfeed.table);
    free(core->marketfeed.bytes);
}

/* ---- records that are not what they should be ---- */

static bool has_other_name(struct srcdist_core *core, uint32_t provider, uint32_t item,
                           struct rwf_bytes name)
{
    struct rwf_key key;
    struct rwf_qos qos;
    uint8_t domain;

    return item < core->item_room &&
           srcdist_item_upstream_key(core, item, provider, &domain, &key, &qos) &&
           !rwf_bytes_equal(key.name, name);
}

/* A snapshot ends, an item stays open and waits for its next image. */
static bool make_status(struct srcdist_core *core, uint32_t target, const struct rwf_msg *msg,
                        struct rwf_bytes *out)
{
    bool is_ask = target != SRCDIST_STREAM_NONE && target & SRCDIST_STREAM_ASK;
    const struct srcdist_item *it = is_ask ? NULL : srcdist_item_at(core, target);
    const struct omm_status status = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .state = omm_state(is_ask ? RWF_STREAM_CLOSED_RECOVER : RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                           RWF_CODE_NONE,
                           "A Marketfeed record of this item cannot be read: values may be "
                           "missing until its next image"),
    };
    struct rwf_encoder enc;

    if (it && it->suspect_sent)
        return false;
    rwf_encoder_init(&enc, core->marketfeed.bytes, core->marketfeed.size);
    if (omm_status_encode(&enc, &status) != RWF_OK)
        return false;
    *out = rwf_encoder_bytes(&enc);
    return true;
}

/* ---- all records ---- */

bool srcdist_marketfeed_convert(struct srcdist_core *core, uint32_t provider, uint32_t target,
                                struct rwf_bytes bytes, struct rwf_bytes *out)
{
    struct srcdist_marketfeed *m = &core->marketfeed;
    struct mf_counts *counts = &core->stats.marketfeed;
    struct mf_record record;
    struct rwf_encoder enc;
    struct rwf_msg msg;

    m->before = *counts;
    if (rwf_msg_decode(bytes, &msg) != RWF_OK) {
        core->stats.decode_errors++;
        return false;
    }
    rwf_encoder_init(&enc, m->bytes, m->size);
    int rc = mf_to_message(m->table, &msg, &enc, &counts->losses, &record);
    if (rc >= 0) {
        counts->in++;
        counts->other_name += has_other_name(core, provider, target, record.name);
        *out = rwf_encoder_bytes(&enc);
        return true;
    }
    if (rc == MD_ERR_UNSUPPORTED) {
        counts->control++;
        return msg.msg_class == RWF_CLASS_REFRESH && make_status(core, target, &msg, out);
    }
    counts->refused++;
    return make_status(core, target, &msg, out);
}

void srcdist_marketfeed_take_back(struct srcdist_core *core)
{
    core->stats.marketfeed = core->marketfeed.before;
}
