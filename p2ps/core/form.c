/* form.c - forms: how some watches want their records; each record is made once per form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "form.h"
#include "private.h"
#include "tally.h"

static bool is_form(const struct p2ps_form *form, const struct p2ps_front *front, uint8_t flags,
                    const int16_t *fields, size_t field_count)
{
    return form->watch_count && form->front == front && form->flags == flags &&
           form->field_count == field_count &&
           (field_count == 0 || memcmp(form->fields, fields, field_count * sizeof(fields[0])) == 0);
}

/* ---- shares ---- */

#define VIEWS_MAX (P2PS_FORMS_MAX - P2PS_FORMS_PLAIN)

static uint32_t views_of(const struct p2ps_party *party)
{
    return atomic_load_explicit(&party->views, memory_order_relaxed);
}

static bool may_have_view(struct p2ps_core *core, const struct p2ps_client *c)
{
    uint32_t most = core->config.views_max;

    if ((most && c->views >= most) || core->view_count >= VIEWS_MAX)
        return false;
    return p2ps_tally_may_have(c, core->view_count, VIEWS_MAX, views_of);
}

static uint32_t free_form(const struct p2ps_core *core)
{
    uint32_t slot = 0;

    while (slot < core->form_count && core->forms[slot].watch_count)
        slot++;
    return slot < P2PS_FORMS_MAX ? slot : P2PS_NONE;
}

/* The client that asked for it first has paid for it, wherever it is by now. */
static void count_view(struct p2ps_core *core, struct p2ps_client *c, const struct p2ps_form *form,
                       int by)
{
    core->view_count += (uint32_t)by;
    if (c->serial == form->owner_serial)
        c->views += (uint32_t)by;
    atomic_fetch_add_explicit(&form->party->views, (uint32_t)by, memory_order_release);
    atomic_fetch_add_explicit(&form->host->views, (uint32_t)by, memory_order_release);
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
        .host = is_view ? c->host : NULL,
        .party = is_view ? c->party : NULL,
    };
    core->made_epoch[slot] = 0;
    if (slot == core->form_count)
        core->form_count++;
    if (is_view)
        count_view(core, c, &core->forms[slot], 1);
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
    if (f->flags & P2PS_FORM_VIEW)
        count_view(core, &core->clients[f->owner], f, -1);
}
