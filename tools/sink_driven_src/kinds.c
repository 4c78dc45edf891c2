/* kinds.c - items of every kind of data: their names, their images, what is posted to them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kind *const all[] = {
    &kinds_quote,  &kinds_chain,   &kinds_member,       &kinds_orders, &kinds_prices,
    &kinds_makers, &kinds_symbols, &kinds_curve,        &kinds_sales,  &kinds_news,
    &kinds_story,  &kinds_page,    &kinds_contribution,
};

enum { KINDS = sizeof(all) / sizeof(all[0]), NAME_MAX_LENGTH = 64 };

uint32_t kinds_mix(uint32_t a, uint32_t b)
{
    uint64_t z = ((uint64_t)a << 32 | b) + 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

void kinds_price(struct rwf_encoder *enc, int16_t id, int64_t hundredths)
{
    const struct rwf_value value = rwf_value_real(hundredths, RWF_HINT_EXP_0 - 2);

    rwf_field_add_real(enc, id, &value.real);
}

void kinds_number(struct rwf_encoder *enc, int16_t id, int64_t value)
{
    const struct rwf_value real = rwf_value_real(value, RWF_HINT_EXP_0);

    rwf_field_add_real(enc, id, &real.real);
}

void kinds_text(struct rwf_encoder *enc, int16_t id, const char *text)
{
    rwf_field_add_bytes(enc, id, rwf_text(text));
}

void kinds_time(struct rwf_encoder *enc, int16_t id, uint32_t seconds)
{
    const struct rwf_time time = { .hour = (uint8_t)(seconds / 3600 % 24),
                                   .minute = (uint8_t)(seconds / 60 % 60),
                                   .second = (uint8_t)(seconds % 60) };

    rwf_field_add_time(enc, id, &time);
}

static void make_name(const struct kind *kind, unsigned number, char text[NAME_MAX_LENGTH])
{
    if (kind->digits > 0)
        snprintf(text, NAME_MAX_LENGTH, "%s%0*u%s", kind->name, kind->digits, number, kind->suffix);
    else
        snprintf(text, NAME_MAX_LENGTH, "%s", kind->name);
}

/* True with the number of the item in *arg. */
static bool is_named(const struct kind *kind, const char *name, unsigned *arg)
{
    char text[NAME_MAX_LENGTH];

    for (unsigned i = 0; i < kind->count; i++) {
        make_name(kind, kind->first + i, text);
        *arg = kind->first + i;
        if (strcmp(text, name) == 0)
            return true;
    }
    return false;
}

void kinds_take(struct sds *sds, struct item *item)
{
    unsigned arg = 0;

    if (!sds->kinds)
        return;
    for (size_t i = 0; i < KINDS; i++) {
        if (all[i]->domain != item->domain || !is_named(all[i], item->name, &arg))
            continue;
        struct kind_slot *slot = calloc(1, sizeof(*slot));
        if (!slot)
            return;
        *slot = (struct kind_slot){
            .next = sds->kinds->slots, .kind = all[i], .item = item, .state = { .arg = arg }
        };
        sds->kinds->slots = slot;
        item->kind = slot;
        item->is_silent = true; /* the ticker leaves it alone: it has updates of its own */
        return;
    }
}

struct rwf_bytes kinds_image(struct sds *sds, const struct item *item, uint16_t *container)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, sds->kinds->payload, sizeof(sds->kinds->payload));
    item->kind->kind->image(&item->kind->state, &enc);
    if (rwf_encoder_error(&enc) != RWF_OK)
        sds->stats.errors++;
    *container = item->kind->kind->container;
    return rwf_encoder_bytes(&enc);
}

bool kinds_post(struct sds *sds, struct item *item, const struct rwf_msg *msg)
{
    struct kind_slot *slot = item->kind;

    if (!slot || !slot->kind->post || msg->container != RWF_TYPE_FIELD_LIST)
        return true;
    if (!slot->kind->post(&slot->state, msg->payload))
        return false;
    slot->is_due = true;
    (void)md_loop_timer_after(sds->kinds->post_timer, 0);
    return true;
}

void kinds_list(FILE *out)
{
    for (size_t i = 0; i < KINDS; i++) {
        char name[NAME_MAX_LENGTH];

        make_name(all[i], all[i]->first, name);
        fprintf(out, "%-13s %-15s %s\n", name, rwf_domain_name(all[i]->domain), all[i]->what);
    }
}
