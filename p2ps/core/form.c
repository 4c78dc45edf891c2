/* form.c - forms: how some watches want their records; each record is made once per form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "form.h"
#include "private.h"

static bool is_form(const struct p2ps_form *form, const struct p2ps_front *front, uint8_t flags,
                    const int16_t *fields, size_t field_count)
{
    return form->watch_count && form->front == front && form->flags == flags &&
           form->field_count == field_count &&
           (field_count == 0 || memcmp(form->fields, fields, field_count * sizeof(fields[0])) == 0);
}

/* ---- shares ---- */

#define VIEWS_MAX (P2PS_FORMS_MAX - P2PS_FORMS_PLAIN)

/* Views that clients of this host were the first to ask for. */
static uint32_t views_of_host(const struct p2ps_core *core, const struct p2ps_client *c)
{
    uint32_t views = 0;

    for (uint32_t i = 0; i < core->client_room; i++) {
        const struct p2ps_client *other = &core->clients[i];

        if (other->is_used && other->views > 0 && p2ps_client_same_host(c, other))
            views += other->views;
    }
    return views;
}

/* The last quarter of the table is for hosts that have not an eighth of it yet. */
static bool may_have_view(struct p2ps_core *core, const struct p2ps_client *c)
{
    uint32_t most = core->config.views_max;

    if ((most && c->views >= most) || core->view_count >= VIEWS_MAX)
        return false;
    if (core->view_count < VIEWS_MAX / 4 * 3)
        return true;
    p2ps_work_spend(core, core->client_room / 256, 0);
    return views_of_host(core, c) < VIEWS_MAX / 8;
}

static uint32_t free_form(const struct p2ps_core *core)
{
    uint32_t slot = 0;

    while (slot < core->form_count && core->forms[slot].watch_count)
        slot++;
    return slot < P2PS_FORMS_MAX ? slot : P2PS_NONE;
}

static uint32_t new_form(struct p2ps_core *core, uint32_t client, uint8_t flags,
                         const int16_t *fields, size_t field_count)
{
    struct p2ps_client *c = &core->clients[client];
    bool is_view = (flags & P2PS_FORM_VIEW) != 0;
    uint32_t slot = is_view && !may_have_view(core, c) ? P2PS_NONE : free_form(core);
    int16_t *copy = NULL;

    if (slot == P2PS_NONE)
        return P2PS_NONE;
    if (field_count) {
        copy = calloc(field_count, sizeof(fields[0]));
        if (!copy)
            return P2PS_NONE;
        memcpy(copy, fields, field_count * sizeof(fields[0]));
    }
    core->forms[slot] = (struct p2ps_form){
        .flags = flags,
        .front = c->front,
        .field_count = (uint16_t)field_count,
        .fields = copy,
        .owner = client,
        .owner_serial = c->serial,
    };
    core->made_epoch[slot] = 0;
    if (slot == core->form_count)
        core->form_count++;
    core->view_count += is_view;
    c->views += is_view;
    return slot;
}

uint32_t p2ps_form_take(struct p2ps_core *core, uint32_t client, uint8_t flags,
                        const int16_t *fields, size_t field_count)
{
    const struct p2ps_front *front = core->clients[client].front;
    uint32_t form = 0;

    while (form < core->form_count &&
           !is_form(&core->forms[form], front, flags, fields, field_count))
        form++;
    p2ps_work_spend(core, form / 256, 0); /* many were looked at */
    if (form == core->form_count)
        form = new_form(core, client, flags, fields, field_count);
    if (form != P2PS_NONE)
        core->forms[form].watch_count++;
    return form;
}

void p2ps_form_give(struct p2ps_core *core, uint32_t form)
{
    struct p2ps_form *f = &core->forms[form];

    if (--f->watch_count > 0)
        return;
    free(f->fields);
    f->fields = NULL;
    if (!(f->flags & P2PS_FORM_VIEW))
        return;
    core->view_count--;
    if (core->clients[f->owner].serial == f->owner_serial)
        core->clients[f->owner].views--;
}
