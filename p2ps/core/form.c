/* form.c - forms: how some watches want their records; each record is made once per form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "form.h"
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
