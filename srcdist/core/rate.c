/* rate.c - see rate.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rate.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/prng.h"
#include "base/slots.h"
#include "base/wheel.h"
#include "conflate/conflate.h"
#include "delayed.h"
#include "dictionary_table.h"
#include "image.h"
#include "itemkey/itemkey.h"
#include "rrmp/key.h"
#include "send.h"

#define MS            1000000ull
#define PENDING_BYTES (64u << 20) /* of all items, if the configuration does not say */
#define PENDING_MOST  2048u       /* of an item without an image that is kept */
#define RIPPLES_MORE  256u        /* old values that are written out */
#define SPELLED_MAX   131072u
#define RETRY_NS      MS /* no room on the backbone */

struct srcdist_rate {
    struct md_wheel_timer timer;
    uint32_t item;
    struct rates_choice choice;
    struct conflate_pending pending;
};

_Static_assert(sizeof(struct srcdist_rate) + 2 * sizeof(uint32_t) <= SRCDIST_RATE_BYTES,
               "memoryLimit counts on it");

struct srcdist_rates {
    struct rates *rules;
    struct rates *old; /* those before: items that are not looked at yet have them */
    struct conflate *engine;
    struct md_slots slots;
    struct md_wheel wheel;
    uint32_t *of; /* by item: its rate, or MD_NIL */
    uint32_t of_room;
    size_t memory;
    uint8_t *filtered; /* one message less some fields */
    size_t filtered_size;
    uint8_t spelled[SPELLED_MAX];
};

static struct srcdist_rate *rate_of(const struct srcdist_core *core, uint32_t item)
{
    const struct srcdist_rates *rates = core->rates;
    uint32_t number = rates && item < rates->of_room ? rates->of[item] : MD_NIL;

    return number == MD_NIL ? NULL : md_slots_at(&rates->slots, number);
}

/* ---- life ---- */

static int16_t ripples_to(void *context, int16_t id)
{
    const struct srcdist_core *core = context;

    return core->config.rules.ripples ? cache_ripples_target(core->ripples, id) : 0;
}

static struct srcdist_rates *create(struct srcdist_core *core)
{
    struct srcdist_rates *rates = calloc(1, sizeof(*rates));
    const struct conflate_config config = { .field_type = srcdist_dictionary_field_type,
                                            .ripples_to = ripples_to,
                                            .context = core,
                                            .random = core->secret };

    if (!rates)
        return NULL;
    rates->filtered_size = core->part_size + RATES_FILTER_MORE;
    rates->filtered = malloc(rates->filtered_size);
    if (rates->filtered && conflate_create(&config, &rates->engine) == MD_OK &&
        md_slots_init(&rates->slots, sizeof(struct srcdist_rate), UINT32_MAX / 64,
                      &rates->memory) == MD_OK) {
        md_wheel_init(&rates->wheel, &rates->slots, offsetof(struct srcdist_rate, timer));
        return rates;
    }
    conflate_destroy(rates->engine);
    free(rates->filtered);
    free(rates);
    return NULL;
}

int srcdist_rates_use(struct srcdist_core *core, struct rates *rules)
{
    if (!core->rates)
        core->rates = create(core);
    if (!core->rates)
        return MD_ERR_NOMEM;
    rates_destroy(core->rates->old);
    core->rates->old = core->rates->rules;
    core->rates->rules = rules;
    return MD_OK;
}

void srcdist_rates_destroy(struct srcdist_core *core)
{
    struct srcdist_rates *rates = core->rates;

    if (!rates)
        return;
    for (uint32_t i = 0; i < rates->of_room; i++) {
        struct srcdist_rate *rate = rate_of(core, i);
        if (rate)
            free(rate->pending.bytes);
    }
    rates_destroy(rates->rules);
    rates_destroy(rates->old);
    conflate_destroy(rates->engine);
    md_slots_fini(&rates->slots);
    free(rates->of);
    free(rates->filtered);
    free(rates);
    core->rates = NULL;
}

/* ---- what holds for an item ---- */

static struct rates_choice choice_of(struct srcdist_core *core, uint32_t service,
                                     struct rrmp_view key_bytes)
{
    struct rates_choice choice = { 0 };
    struct rwf_key key;
    struct rwf_qos qos;
    uint8_t domain;

    if (core->rates && core->rates->rules &&
        itemkey_decode(key_bytes.bytes, key_bytes.length, &domain, &key, &qos) == RWF_OK)
        rates_choose(core->rates->rules, rwf_text(srcdist_delay_live_name(core, service)), key.name,
                     domain, &choice);
    return choice;
}

static bool is_any(const struct rates_choice *choice)
{
    return choice->fields || choice->types || choice->interval_ms;
}

/* NULL: no memory. The item goes out as it comes then. */
static struct srcdist_rate *make_rate(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_rates *rates = core->rates;
    uint32_t number = md_slots_map_grow(&rates->of, &rates->of_room, item)
                          ? md_slots_take(&rates->slots)
                          : MD_NIL;

    if (number == MD_NIL)
        return NULL;
    rates->of[item] = number;
    struct srcdist_rate *rate = md_slots_at(&rates->slots, number);
    rate->item = item;
    rate->pending.has_info = true; /* p2ps shows it to those that ask */
    core->items[item].is_rated = true;
    return rate;
}

bool srcdist_rate_choose(struct srcdist_core *core, uint32_t item)
{
    struct rates_choice choice = { 0 };
    struct rrmp_source_item info;
    struct srcdist_rate *rate = rate_of(core, item);

    if (!core->rates)
        return false;
    if (!core->items[item].is_private && rrmp_source_item_info(core->source, item, &info))
        choice = choice_of(core, core->items[item].service, info.key);
    if (!rate && is_any(&choice))
        rate = make_rate(core, item);
    if (!rate)
        return false;
    bool has_changed = !rates_choice_is_same(&rate->choice, &choice);
    rate->choice = choice;
    if (!is_any(&choice) && rate->pending.length == 0)
        srcdist_rate_forget(core, item);
    return has_changed;
}

static void clear_pending(struct srcdist_core *core, struct srcdist_rate *rate)
{
    core->stats.pending_updates_now -= rate->pending.length != 0;
    conflate_clear(&rate->pending);
    md_wheel_cancel(&core->rates->wheel, core->rates->of[rate->item]);
}

void srcdist_rate_forget(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_rate *rate = rate_of(core, item);

    if (!rate)
        return;
    clear_pending(core, rate);
    core->stats.pending_bytes_now -= rate->pending.room;
    free(rate->pending.bytes);
    md_slots_give(&core->rates->slots, core->rates->of[item]);
    core->rates->of[item] = MD_NIL;
    core->items[item].is_rated = false;
}

/* ---- fields ---- */

struct rwf_bytes srcdist_rate_filtered(struct srcdist_core *core, const struct rates_fields *fields,
                                       struct rwf_bytes message)
{
    struct srcdist_rates *rates = core->rates;
    size_t length = 0;

    if (!fields || message.length + RATES_FILTER_MORE > rates->filtered_size ||
        rates_filter(fields, message, rates->filtered, rates->filtered_size, &length) ==
            RATES_AS_IT_IS)
        return message;
    return rwf_bytes(rates->filtered, length);
}

struct rwf_bytes srcdist_rate_image_now(struct srcdist_core *core, uint32_t item,
                                        struct rwf_bytes message)
{
    return srcdist_rate_filtered(core, rate_of(core, item)->choice.fields, message);
}

const struct rates_fields *srcdist_rate_of_key(struct srcdist_core *core, uint32_t service,
                                               struct rrmp_view key)
{
    return choice_of(core, service, key).fields;
}

/* More than fields stands in it: consumers or the sequence need it even without them. */
static bool says_more(struct rwf_bytes message)
{
    struct rwf_peek peek;

    return rwf_peek(message, &peek) != RWF_OK ||
           peek.flags & (RWF_UPDATE_HAS_PERM_DATA | RWF_UPDATE_HAS_POST_USER_INFO |
                         RWF_UPDATE_HAS_EXT_HEADER | RWF_UPDATE_HAS_SEQ_NUM);
}

/* Sends it less the fields that are left out, or not at all when none is left. */
static int send(struct srcdist_core *core, const struct srcdist_rate *rate,
                struct rwf_bytes message)
{
    struct srcdist_rates *rates = core->rates;
    size_t length = 0;

    if (rate->choice.fields && message.length + RATES_FILTER_MORE <= rates->filtered_size) {
        enum rates_verdict verdict = rates_filter(rate->choice.fields, message, rates->filtered,
                                                  rates->filtered_size, &length);
        if (verdict == RATES_NOTHING && !says_more(message)) {
            core->stats.updates_filtered++;
            return MD_OK;
        }
        if (verdict != RATES_AS_IT_IS)
            message = rwf_bytes(rates->filtered, length);
    }
    return srcdist_update_send(core, rate->item, message);
}

/* A field that lines leave out may give its old value to another one. */
static bool may_break_chain(struct srcdist_core *core, const struct rates_fields *fields)
{
    int16_t ids[RATES_IDS];

    if (!fields || !core->config.rules.ripples)
        return false;
    unsigned count = rates_fields_dropped(fields, ids);
    for (unsigned i = 0; i < count && count <= RATES_IDS; i++) {
        if (ripples_to(core, ids[i]) != 0)
            return true;
    }
    return count > RATES_IDS;
}

/* True: a field of it is left out, and its old value goes to another one; or so many are left out
 * that it is cheaper to write all of them out. */
static bool breaks_chain(struct srcdist_core *core, const struct srcdist_rate *rate,
                         const struct rwf_msg *msg)
{
    struct rwf_field_cut cut;

    if (msg->flags & RWF_UPDATE_DO_NOT_RIPPLE || msg->container != RWF_TYPE_FIELD_LIST ||
        !may_break_chain(core, rate->choice.fields) ||
        rates_fields_lost(rate->choice.fields, msg->payload, &cut) < 0)
        return false;
    for (unsigned i = 0; i < cut.lost && i < RWF_CUT_IDS; i++) {
        if (ripples_to(core, cut.ids[i]) != 0)
            return true;
    }
    return cut.lost > RWF_CUT_IDS;
}

/* Old values that a field would have moved on are written out before it is left out. */
static struct rwf_bytes spell(struct srcdist_core *core, const struct rwf_msg *msg,
                              const struct srcdist_rate *rate, struct rwf_bytes message)
{
    struct rwf_bytes out;

    if (!breaks_chain(core, rate, msg) ||
        !conflate_spell(core->rates->engine, message,
                        cache_image_fields(core->items[rate->item].image), &out) ||
        out.length > sizeof(core->rates->spelled))
        return message;
    memcpy(core->rates->spelled, out.data, out.length); /* the engine's bytes are scratch */
    return rwf_bytes(core->rates->spelled, out.length);
}

/* ---- merging ---- */

/* The item's next turn: items have their places in the interval by number, so that they do not all
 * send at once. */
static uint64_t next_turn(const struct srcdist_core *core, const struct srcdist_rate *rate)
{
    uint64_t interval_ns = rate->choice.interval_ms * MS;
    uint64_t phase_ns = md_mix64(rate->item) % interval_ns;
    uint64_t since_ns = (core->now_ns + interval_ns - phase_ns) % interval_ns;

    return core->now_ns + interval_ns - since_ns;
}

/* Room for one update more of the item, as far as its image and memory allow. */
static void grow(struct srcdist_core *core, struct srcdist_rate *rate, size_t length)
{
    const struct cache_image *image = core->items[rate->item].image;
    size_t most = image ? conflate_room(cache_image_bytes(image)) : PENDING_MOST;
    size_t wanted = rate->pending.length + length + RIPPLES_MORE;
    size_t room = rate->pending.room;
    uint64_t limit =
        core->config.pending_bytes_max ? core->config.pending_bytes_max : PENDING_BYTES;

    if (wanted <= room || room >= most)
        return;
    wanted = wanted > room * 2 ? wanted : room * 2;
    wanted = wanted < most ? wanted : most;
    if (wanted > UINT32_MAX || core->stats.pending_bytes_now - room + wanted > limit)
        return;
    uint8_t *bytes = realloc(rate->pending.bytes, wanted);
    if (!bytes)
        return;
    core->stats.pending_bytes_now += wanted - room;
    rate->pending.bytes = bytes;
    rate->pending.room = (uint32_t)wanted;
}

static int flush(struct srcdist_core *core, struct srcdist_rate *rate)
{
    if (rate->pending.length == 0)
        return MD_OK;
    int err = send(core, rate, conflate_bytes(&rate->pending));
    if (err == MD_ERR_FULL)
        return err;
    clear_pending(core, rate);
    return MD_OK;
}

/* MD_ERR_UNSUPPORTED: it is not merged. MD_ERR_FULL: what is pending finds no room. */
static int hold(struct srcdist_core *core, struct srcdist_rate *rate, struct rwf_bytes message)
{
    struct rwf_bytes image = cache_image_fields(core->items[rate->item].image);
    struct srcdist_rates *rates = core->rates;

    grow(core, rate, message.length);
    bool was_empty = rate->pending.length == 0;
    enum conflate_result result =
        conflate_add(rates->engine, &rate->pending, message, image, core->now_ns);
    if (result == CONFLATE_FLUSH) {
        int err = flush(core, rate);
        if (err != MD_OK)
            return err;
        was_empty = true;
        result = conflate_add(rates->engine, &rate->pending, message, image, core->now_ns);
    }
    if (result != CONFLATE_HELD)
        return MD_ERR_UNSUPPORTED;
    core->stats.updates_merged += !was_empty;
    if (was_empty) {
        core->stats.pending_updates_now++;
        md_wheel_set(&rates->wheel, rates->of[rate->item], next_turn(core, rate));
    }
    return MD_OK;
}

static int pass(struct srcdist_core *core, struct srcdist_rate *rate, struct rwf_bytes message)
{
    int err = flush(core, rate);

    return err != MD_OK ? err : send(core, rate, message);
}

int srcdist_rate_update(struct srcdist_core *core, uint32_t item, struct rwf_bytes message,
                        bool has_permission_data)
{
    struct srcdist_rate *rate = rate_of(core, item);
    const struct rates_choice *choice = &rate->choice;
    struct srcdist_item *it = &core->items[item];
    int err = MD_ERR_UNSUPPORTED;
    struct rwf_msg msg;

    /* Where only fields are left out, an update needs no look at its head. */
    if (choice->types || choice->interval_ms || may_break_chain(core, choice->fields)) {
        if (rwf_msg_decode(message, &msg) != RWF_OK) {
            core->stats.decode_errors++;
            return MD_OK;
        }
        if (choice->types && !rates_types_have(choice->types, msg.update_type) &&
            !has_permission_data) {
            core->stats.updates_filtered++;
            return MD_OK;
        }
        message = spell(core, &msg, rate, message);
        if (choice->interval_ms && !rates_exempts(choice->exempt, &msg))
            err = hold(core, rate, message);
    }
    if (err == MD_ERR_UNSUPPORTED)
        err = pass(core, rate, message);
    if (err == MD_OK && it->image)
        srcdist_image_update(core, it, message, has_permission_data);
    return err;
}

int srcdist_rate_flush_now(struct srcdist_core *core, uint32_t item)
{
    return flush(core, rate_of(core, item));
}

void srcdist_rates_flush(struct srcdist_core *core)
{
    for (uint32_t i = 0; core->stats.pending_updates_now && i < core->rates->of_room; i++) {
        struct srcdist_rate *rate = rate_of(core, i);
        if (rate && flush(core, rate) != MD_OK)
            return;
    }
}

void srcdist_rates_tick(struct srcdist_core *core)
{
    struct srcdist_rates *rates = core->rates;
    uint32_t number;

    if (!rates)
        return;
    while ((number = md_wheel_expire(&rates->wheel, core->now_ns)) != MD_NIL) {
        struct srcdist_rate *rate = md_slots_at(&rates->slots, number);
        if (flush(core, rate) == MD_OK)
            continue;
        md_wheel_set(&rates->wheel, number, core->now_ns + RETRY_NS);
        return;
    }
}

uint64_t srcdist_rates_deadline(const struct srcdist_core *core)
{
    return core->rates ? md_wheel_deadline(&core->rates->wheel) : UINT64_MAX;
}

uint64_t srcdist_rates_bytes(const struct srcdist_core *core)
{
    return core->rates ? core->rates->memory + core->rates->of_room * sizeof(uint32_t) : 0;
}

void srcdist_rates_sum(const struct srcdist_core *core, uint64_t *pending, uint64_t *bytes)
{
    *pending = 0;
    *bytes = 0;
    for (uint32_t i = 0; core->rates && i < core->rates->of_room; i++) {
        const struct srcdist_rate *rate = rate_of(core, i);

        if (!rate)
            continue;
        MD_ASSERT(rate->item == i && rate->timer.is_set == (rate->pending.length != 0));
        *pending += rate->pending.length != 0;
        *bytes += rate->pending.room;
    }
}
