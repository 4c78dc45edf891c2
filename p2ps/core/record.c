/* record.c - a record of the backbone, made once for each form that watches want it in. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "item.h"
#include "marketfeed.h"
#include "network.h"
#include "private.h"

void p2ps_record_next(struct p2ps_core *core)
{
    core->epoch++;
    core->make_used = 0;
    core->is_unreadable = false;
    core->is_unmade = false;
}

bool p2ps_record_start(struct p2ps_core *core, const struct rrmp_sink_event *event,
                       struct p2ps_record *record)
{
    *record = (struct p2ps_record){
        .message = p2ps_bytes(event->message),
        .item = (uint32_t)event->user,
        .is_private = core->items[(uint32_t)event->user].is_private,
    };
    md_put_be16(record->group, event->instance);
    md_put_be16(record->group + 2, event->group);
    p2ps_record_next(core);
    if (rwf_peek(record->message, &record->peek) == RWF_OK)
        return true;
    core->stats.decode_errors++;
    return false;
}

/* In the form that the watches of this one see it in: others may, too. */
static const struct p2ps_made *make_seen(struct p2ps_core *core, uint32_t form,
                                         struct p2ps_record *record)
{
    uint32_t seen = core->forms[form].seen;
    const struct p2ps_made *made = p2ps_record_make(core, seen, record);

    core->made[form] = core->made[seen];
    return made;
}

const struct p2ps_made *p2ps_record_make(struct p2ps_core *core, uint32_t form,
                                         struct p2ps_record *record)
{
    struct p2ps_made *made = &core->made[form];
    const struct p2ps_form *f = &core->forms[form];

    if (core->made_epoch[form] == core->epoch)
        return made->bytes ? made : NULL;
    core->made_epoch[form] = core->epoch;
    *made = (struct p2ps_made){ 0 };
    if (f->is_cut)
        return make_seen(core, form, record);
    if (!record->key && (f->flags & (P2PS_FORM_KEY | P2PS_FORM_MARKETFEED) ||
                         record->peek.msg_class == RWF_CLASS_REFRESH)) {
        if (!p2ps_item_key(core, record->item, &core->record_key, &core->record_qos))
            return NULL;
        record->key = &core->record_key;
        record->qos = &core->record_qos;
    }
    const struct p2ps_record *given = p2ps_marketfeed(core, f, record);
    if (!given)
        return NULL;
    if (f->front->make(f, given, core->make_buffer + core->make_used,
                       core->make_size - core->make_used, made) != MD_OK) {
        core->stats.decode_errors++;
        core->is_unmade = true;
        *made = (struct p2ps_made){ .is_broken = true, .is_uncut = made->is_uncut };
        return NULL;
    }
    /* Bytes that were written to the buffer stay there while the record lasts. */
    if (made->bytes == core->make_buffer + core->make_used)
        core->make_used += made->length;
    return made;
}
