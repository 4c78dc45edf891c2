/* form.c - forms: how some watches want their records; each record is made once per form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "form.h"
#include "private.h"
#include "tally.h"

/* A form to be found or made. */
struct wanted {
    uint8_t flags;
    uint8_t pace;
    bool is_paid; /* a view that the client asks for, or one made of that */
    const int16_t *fields;
    size_t field_count;
};

static bool is_form(const struct p2ps_form *form, const struct p2ps_front *front,
                    const struct wanted *want)
{
    return form->watch_count && !form->is_cut && form->front == front &&
           form->flags == want->flags && form->pace == want->pace &&
           form->field_count == want->field_count &&
           (want->field_count == 0 ||
            memcmp(form->fields, want->fields, want->field_count * sizeof(int16_t)) == 0);
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

static uint32_t new_form(struct p2ps_core *core, uint32_t client, const struct wanted *want)
{
    struct p2ps_client *c = &core->clients[client];
    uint32_t slot = want->is_paid && !may_have_view(core, c) ? P2PS_NONE : free_form(core);
    int16_t *copy = NULL;

    if (slot == P2PS_NONE)
        return P2PS_NONE;
    if (want->field_count) {
        copy = calloc(want->field_count, sizeof(copy[0]));
        if (!copy)
            return P2PS_NONE;
        memcpy(copy, want->fields, want->field_count * sizeof(copy[0]));
    }
    core->forms[slot] = (struct p2ps_form){
        .flags = want->flags,
        .pace = want->pace,
        .states_qos = core->config.pace_count > 0,
        .front = c->front,
        .field_count = (uint16_t)want->field_count,
        .fields = copy,
        .owner = client,
        .owner_serial = c->serial,
        .host = want->is_paid ? c->host : NULL,
        .party = want->is_paid ? c->party : NULL,
    };
    if (want->pace != P2PS_PACE_NONE)
        core->forms[slot].rate = core->config.paces[want->pace - 1];
    core->made_epoch[slot] = 0;
    if (slot == core->form_count)
        core->form_count++;
    if (want->is_paid)
        count_view(core, c, &core->forms[slot], 1);
    return slot;
}

static uint32_t take(struct p2ps_core *core, uint32_t client, const struct wanted *want)
{
    const struct p2ps_front *front = core->clients[client].front;
    uint32_t form = 0;

    while (form < core->form_count && !is_form(&core->forms[form], front, want))
        form++;
    p2ps_work_spend(core, form / 256, 0); /* many were looked at */
    if (form == core->form_count)
        form = new_form(core, client, want);
    if (form != P2PS_NONE)
        core->forms[form].watch_count++;
    return form;
}

uint32_t p2ps_form_take(struct p2ps_core *core, uint32_t client, uint8_t flags, uint8_t pace,
                        const int16_t *fields, size_t field_count)
{
    const struct wanted want = {
        .flags = flags,
        .pace = pace,
        .is_paid = (flags & P2PS_FORM_VIEW) != 0,
        .fields = fields,
        .field_count = field_count,
    };

    return take(core, client, &want);
}

static void give(struct p2ps_core *core, struct p2ps_form *f)
{
    if (--f->watch_count > 0)
        return;
    free(f->fields);
    f->fields = NULL;
    if (f->host)
        count_view(core, &core->clients[f->owner], f, -1);
}

void p2ps_form_give(struct p2ps_core *core, uint32_t form)
{
    struct p2ps_form *f = &core->forms[form];
    bool ends = f->watch_count == 1 && f->is_cut;

    give(core, f);
    if (!ends)
        return;
    f->is_cut = false;
    give(core, &core->forms[f->asked]);
    give(core, &core->forms[f->seen]);
}

/* ---- cut to what may be seen ---- */

/* The fields of `asked` that are among those that may be seen; `out` has room for all of either. */
static size_t cut_fields(const struct p2ps_form *asked, const struct entitle_answer *seen,
                         int16_t *out)
{
    size_t count = 0, at = 0;

    for (size_t i = 0; i < asked->field_count; i++) {
        while (at < seen->field_count && seen->fields[at] < asked->fields[i])
            at++;
        bool is_named = at < seen->field_count && seen->fields[at] == asked->fields[i];
        if (is_named != seen->are_fields_dropped)
            out[count++] = asked->fields[i];
    }
    return count;
}

/* The form that records are made in. P2PS_NONE: there are too many, or there is no memory. */
static uint32_t take_seen(struct p2ps_core *core, uint32_t client, const struct p2ps_form *asked,
                          const struct entitle_answer *seen)
{
    bool is_view = (asked->flags & P2PS_FORM_VIEW) != 0;
    int16_t *fields = is_view ? malloc((asked->field_count + 1u) * sizeof(fields[0])) : NULL;
    struct wanted want = {
        .flags = asked->flags | P2PS_FORM_VIEW | P2PS_FORM_IMPOSED,
        .pace = asked->pace,
        .is_paid = is_view,
        .fields = seen->fields,
        .field_count = seen->field_count,
    };

    if (is_view && !fields)
        return P2PS_NONE;
    if (is_view) {
        want.fields = fields;
        want.field_count = cut_fields(asked, seen, fields);
    } else if (seen->are_fields_dropped) {
        want.flags |= P2PS_FORM_DROP;
    }
    uint32_t form = take(core, client, &want);
    free(fields);
    return form;
}

static uint32_t find_cut(const struct p2ps_core *core, uint32_t asked, uint32_t seen)
{
    uint32_t form = 0;

    while (form < core->form_count &&
           !(core->forms[form].watch_count && core->forms[form].is_cut &&
             core->forms[form].asked == asked && core->forms[form].seen == seen))
        form++;
    return form < core->form_count ? form : P2PS_NONE;
}

/* Takes the caller's share of `seen`. */
static uint32_t take_cut(struct p2ps_core *core, uint32_t client, uint32_t asked, uint32_t seen)
{
    uint32_t form = find_cut(core, asked, seen);

    if (form != P2PS_NONE) {
        core->forms[seen].watch_count--; /* the form that was found has its own */
        core->forms[form].watch_count++;
        return form;
    }
    struct wanted want = { .flags = core->forms[seen].flags,
                           .pace = core->forms[seen].pace,
                           .is_paid = core->forms[seen].host != NULL };
    form = new_form(core, client, &want);
    if (form == P2PS_NONE) {
        give(core, &core->forms[seen]);
        return P2PS_NONE;
    }
    core->forms[form].watch_count = 1;
    core->forms[form].is_cut = true;
    core->forms[form].asked = (uint16_t)asked;
    core->forms[form].seen = (uint16_t)seen;
    core->forms[asked].watch_count++;
    return form;
}

uint32_t p2ps_form_impose(struct p2ps_core *core, uint32_t client, uint32_t form,
                          const struct entitle_answer *seen)
{
    const struct p2ps_form *f = &core->forms[form];
    uint32_t asked = f->is_cut ? f->asked : form;
    uint32_t cut = asked;

    if (!seen->has_fields && asked == form)
        return form;
    if (seen->has_fields) {
        uint32_t made = take_seen(core, client, &core->forms[asked], seen);
        cut = made == P2PS_NONE ? made : take_cut(core, client, asked, made);
    } else {
        core->forms[asked].watch_count++;
    }
    if (cut != P2PS_NONE)
        p2ps_form_give(core, form);
    return cut;
}
