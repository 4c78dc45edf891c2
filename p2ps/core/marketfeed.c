/* marketfeed.c - records of Marketfeed as field lists for consumers of RWF, and the other way. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "marketfeed.h"
#include "base/err.h"
#include "item.h"
#include "private.h"

static const struct mf_table *table_of(const struct p2ps_core *core)
{
    return core->config.marketfeed ? core->config.marketfeed(core->config.field_context) : NULL;
}

/* The message at the end of what is made already stays there while the record lasts. */
static bool take_made(struct p2ps_core *core, const struct p2ps_record *record, size_t length,
                      struct p2ps_record *out)
{
    const uint8_t *bytes = core->make_buffer + core->make_used;

    *out = *record;
    out->message = rwf_bytes(bytes, length);
    if (rwf_peek(out->message, &out->peek) != RWF_OK)
        return false;
    core->make_used += length;
    return true;
}

static bool has_other_name(struct p2ps_core *core, const struct p2ps_record *record,
                           struct rwf_bytes name)
{
    const struct rwf_key *key = record->key;

    if (!key && p2ps_item_key(core, record->item, &core->record_key, &core->record_qos))
        key = &core->record_key;
    return key && !rwf_bytes_equal(key->name, name);
}

static bool make_fields(struct p2ps_core *core, const struct mf_table *table,
                        const struct p2ps_record *record, struct p2ps_record *out)
{
    struct mf_counts *counts = &core->stats.marketfeed;
    struct mf_record decoded;
    struct rwf_encoder enc;
    struct rwf_msg msg;

    if (rwf_msg_decode(record->message, &msg) != RWF_OK)
        return false;
    rwf_encoder_init(&enc, core->make_buffer + core->make_used, core->make_size - core->make_used);
    int rc = mf_to_message(table, &msg, &enc, &counts->losses, &decoded);
    if (rc == MD_ERR_UNSUPPORTED) {
        counts->control++;
        core->is_unreadable = msg.msg_class == RWF_CLASS_REFRESH; /* an image without data */
        return false;
    }
    if (rc >= 0 && take_made(core, record, rwf_encoder_bytes(&enc).length, out)) {
        counts->in++;
        counts->other_name += has_other_name(core, record, decoded.name);
        return true;
    }
    counts->refused++;
    core->is_unreadable = true;
    return false;
}

static bool make_record(struct p2ps_core *core, const struct mf_table *table,
                        const struct p2ps_record *record, struct p2ps_record *out)
{
    uint8_t *at = core->make_buffer + core->make_used;
    size_t room = core->make_size - core->make_used;
    struct rwf_encoder enc;
    struct mf_head head;
    struct rwf_msg msg;
    size_t length;

    if (rwf_msg_decode(record->message, &msg) != RWF_OK || !record->key ||
        mf_head_of(&msg, record->key->name, &head) != MD_OK || room < 2 * MF_RECORD_MAX)
        return false;
    /* Behind the room for the message, into which it is copied. */
    if (mf_from_fields(table, &head, msg.payload, NULL, at + room - MF_RECORD_MAX, MF_RECORD_MAX,
                       &length, &core->stats.marketfeed.losses) != MD_OK)
        return false;
    msg.container = MF_CONTAINER;
    msg.payload = rwf_bytes(at + room - MF_RECORD_MAX, length);
    rwf_encoder_init(&enc, at, room - MF_RECORD_MAX);
    if (rwf_msg_encode(&enc, &msg) < 0 ||
        !take_made(core, record, rwf_encoder_bytes(&enc).length, out))
        return false;
    core->stats.marketfeed.out++;
    return true;
}

/* One of the two conversions, made once for all forms of the record. */
static struct p2ps_record *converted(struct p2ps_core *core, const struct p2ps_record *record)
{
    struct p2ps_converted *c = &core->converted;
    const struct mf_table *table = table_of(core);

    if (c->epoch != core->epoch) {
        c->epoch = core->epoch;
        c->is_made = table && (record->peek.container == MF_CONTAINER
                                   ? make_fields(core, table, record, &c->record)
                                   : make_record(core, table, record, &c->record));
    }
    c->record.key = record->key;
    c->record.qos = record->qos;
    return c->is_made ? &c->record : NULL;
}

const struct p2ps_record *p2ps_marketfeed(struct p2ps_core *core, const struct p2ps_form *form,
                                          const struct p2ps_record *record)
{
    const struct p2ps_record *other;

    if (!core->config.marketfeed)
        return record;
    if (record->peek.container == MF_CONTAINER)
        return form->flags & (P2PS_FORM_NATIVE | P2PS_FORM_MARKETFEED) ? record
                                                                       : converted(core, record);
    if (!(form->flags & P2PS_FORM_MARKETFEED) || record->peek.container != RWF_TYPE_FIELD_LIST)
        return record;
    other = converted(core, record);
    return other ? other : record;
}
