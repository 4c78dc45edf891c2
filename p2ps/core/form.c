/* form.c - forms: how some watches want their records; each record is made once per form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "private.h"

static bool is_form(const struct p2ps_form *form, const struct p2ps_front *front, uint8_t flags,
                    const int16_t *fields, size_t field_count)
{
    return form->watch_count && form->front == front && form->flags == flags &&
           form->field_count == field_count &&
           (field_count == 0 || memcmp(form->fields, fields, field_count * sizeof(fields[0])) == 0);
}

static uint32_t new_form(struct p2ps_core *core, const struct p2ps_front *front, uint8_t flags,
                         const int16_t *fields, size_t field_count)
{
    uint32_t slot = 0;
    int16_t *copy = NULL;

    while (slot < core->form_count && core->forms[slot].watch_count)
        slot++;
    if (slot == P2PS_FORMS_MAX)
        return P2PS_NONE;
    if (field_count) {
        copy = malloc(field_count * sizeof(fields[0]));
        if (!copy)
            return P2PS_NONE;
        memcpy(copy, fields, field_count * sizeof(fields[0]));
    }
    core->forms[slot] = (struct p2ps_form){
        .flags = flags,
        .front = front,
        .field_count = (uint16_t)field_count,
        .fields = copy,
    };
    core->made_epoch[slot] = 0;
    if (slot == core->form_count)
        core->form_count++;
    return slot;
}

uint32_t p2ps_form_take(struct p2ps_core *core, const struct p2ps_front *front, uint8_t flags,
                        const int16_t *fields, size_t field_count)
{
    uint32_t form = 0;

    while (form < core->form_count &&
           !is_form(&core->forms[form], front, flags, fields, field_count))
        form++;
    if (form == core->form_count)
        form = new_form(core, front, flags, fields, field_count);
    if (form != P2PS_NONE)
        core->forms[form].watch_count++;
    return form;
}

void p2ps_form_give(struct p2ps_core *core, uint32_t form)
{
    struct p2ps_form *f = &core->forms[form];

    if (--f->watch_count == 0) {
        free(f->fields);
        f->fields = NULL;
    }
}

void p2ps_form_next_record(struct p2ps_core *core)
{
    core->epoch++;
    core->make_used = 0;
    core->is_unreadable = false;
}

const struct p2ps_made *p2ps_form_make(struct p2ps_core *core, uint32_t form,
                                       struct p2ps_record *record)
{
    struct p2ps_made *made = &core->made[form];
    const struct p2ps_form *f = &core->forms[form];

    if (core->made_epoch[form] == core->epoch)
        return made->bytes ? made : NULL;
    core->made_epoch[form] = core->epoch;
    made->bytes = NULL;
    if (!record->key && (f->flags & (P2PS_FORM_KEY | P2PS_FORM_MARKETFEED) ||
                         record->peek.msg_class == RWF_CLASS_REFRESH)) {
        if (!p2ps_item_key(core, record->item, &core->record_key, &core->record_qos))
            return NULL;
        record->key = &core->record_key;
    }
    const struct p2ps_record *given = p2ps_marketfeed(core, f, record);
    if (!given)
        return NULL;
    if (f->front->make(f, given, core->make_buffer + core->make_used,
                       core->make_size - core->make_used, made) != MD_OK) {
        core->stats.decode_errors++;
        made->bytes = NULL;
        return NULL;
    }
    /* Bytes that were written to the buffer stay there while the record lasts. */
    if (made->bytes == core->make_buffer + core->make_used)
        core->make_used += made->length;
    return made;
}
