/* delayed.c - see delayed.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delayed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dictionary_table.h"
#include "itemkey/itemkey.h"
#include "rrmp/key.h"
#include "tell.h"

#define KEY_HEAD 3 /* bytes in front of the quality in a key, see rrmp/key.h */
#define KEY_QOS  5

/* ---- life ---- */

static struct srcdist_delay *find(const struct srcdist_core *core, const char *name, bool is_live)
{
    for (unsigned i = 0; i < core->delay_count; i++) {
        struct srcdist_delay *d = core->delays[i];
        if (strcmp(is_live ? d->live_name : d->config->name, name) == 0)
            return d;
    }
    return NULL;
}

static void destroy(struct srcdist_delay *d)
{
    if (!d)
        return;
    delay_destroy(d->line);
    free(d->bytes);
    free(d->idle_ns);
    free(d);
}

static int make_line(struct srcdist_core *core, struct srcdist_delay *d)
{
    const struct delay_config config = {
        .delay_ns = d->config->delay_ns,
        .bytes_max = d->config->bytes_max,
        .message_max = core->part_size,
        .item_limit = d->config->item_limit,
        .takes_all = d->config->takes_all,
        .boot = d->config->boot,
        .identity = rrmp_key_hash(d->live_name, strlen(d->live_name)),
        .wall_ns = core->now_ns + core->wall_offset_ns,
        .disk = d->config->disk,
        .cache = {
            .bytes_max = d->config->image_bytes_max,
            .keeps_pages = core->config.rules.keeps_pages,
            .field_type = srcdist_dictionary_field_type,
            .context = core,
            .ripples = core->config.rules.ripples ? core->ripples : NULL,
        },
    };

    d->size = core->part_size + RRMP_KEY_SIZE_MAX + RWF_SPLICE_GROWTH;
    d->bytes = malloc(d->size);
    return d->bytes ? delay_create(&config, core->now_ns, &d->line) : MD_ERR_NOMEM;
}

static struct srcdist_delay *make(struct srcdist_core *core, uint32_t service)
{
    const struct srcdist_service *s = &core->services[service];
    struct srcdist_delay *d = core->delay_count < SRCDIST_DELAYS ? calloc(1, sizeof(*d)) : NULL;

    if (!d)
        return NULL;
    d->config = s->config.delayed;
    d->provider = SRCDIST_NONE;
    memcpy(d->live_name, s->name, sizeof(d->live_name));
    if (make_line(core, d) == MD_OK) {
        core->delays[core->delay_count++] = d;
        return d;
    }
    destroy(d);
    return NULL;
}

void srcdist_delay_begin(struct srcdist_core *core, uint32_t service)
{
    struct srcdist_service *s = &core->services[service];

    if (!s->config.delayed)
        return;
    struct srcdist_delay *d = find(core, s->name, true);
    if (!d && find(core, s->config.delayed->name, false)) {
        srcdist_tell(core, SRCDIST_TELLS_ERROR,
                     "service %s is not delayed: delayedService %s is that of another service",
                     s->name, s->config.delayed->name);
        return;
    }
    if (!d)
        d = make(core, service);
    if (!d) {
        srcdist_tell(core, SRCDIST_TELLS_ERROR,
                     "service %s is not delayed: no memory, too many delayed services, or "
                     "delayBytes is less than twice the longest message",
                     s->name);
        return;
    }
    d->live = service;
    s->delay = d;
}

void srcdist_delay_leave(struct srcdist_core *core, uint32_t service)
{
    struct srcdist_service *s = &core->services[service];

    if (s->delay)
        s->delay->live = SRCDIST_NONE;
    s->delay = NULL;
}

void srcdist_delays_destroy(struct srcdist_core *core)
{
    for (unsigned i = 0; i < core->delay_count; i++)
        destroy(core->delays[i]);
    core->delay_count = 0;
}

void srcdist_delays_wall_set(struct srcdist_core *core)
{
    for (unsigned i = 0; i < core->delay_count; i++)
        delay_wall_set(core->delays[i]->line, core->now_ns, core->now_ns + core->wall_offset_ns);
}

/* ---- names ---- */

struct srcdist_delay *srcdist_delay_of(const struct srcdist_core *core, uint32_t service)
{
    return core->delay_count ? find(core, core->services[service].name, false) : NULL;
}

const char *srcdist_delay_live_name(const struct srcdist_core *core, uint32_t service)
{
    const struct srcdist_delay *d = srcdist_delay_of(core, service);

    return d ? d->live_name : core->services[service].name;
}

struct rwf_bytes srcdist_delay_key(struct rrmp_view key, const struct rwf_qos *qos, uint8_t *out)
{
    if (key.length < KEY_HEAD + KEY_QOS || key.length > RRMP_KEY_SIZE_MAX)
        return rwf_bytes(NULL, 0);
    memcpy(out, key.bytes, key.length);
    itemkey_qos_pack(qos, out + KEY_HEAD);
    return rwf_bytes(out, key.length);
}

/* ---- into the line ---- */

/* The key of an item that the line may have: of a service with several qualities only the first is
 * delayed, since two items would have one name. */
static bool key_of(const struct srcdist_core *core, uint32_t item, struct rwf_bytes *key)
{
    const struct srcdist_service *s = &core->services[core->items[item].service];
    struct rrmp_source_item info;
    uint8_t qos[KEY_QOS];

    if (core->items[item].is_private || !rrmp_source_item_info(core->source, item, &info) ||
        info.key.length < KEY_HEAD + KEY_QOS)
        return false;
    *key = rwf_bytes(info.key.bytes, info.key.length);
    itemkey_qos_pack(&s->delay->live_qos, qos);
    return memcmp(key->data + KEY_HEAD, qos, sizeof(qos)) == 0;
}

void srcdist_delay_take(struct srcdist_core *core, uint32_t item, enum delay_kind kind,
                        bool is_first, bool is_last, struct rwf_bytes message)
{
    struct srcdist_delay *d = core->services[core->items[item].service].delay;
    struct rwf_bytes key;

    if (key_of(core, item, &key))
        delay_put(d->line, core->now_ns, key, kind, is_first, is_last, message);
}

void srcdist_delay_end(struct srcdist_core *core, uint32_t item, uint8_t stream_state, uint8_t code)
{
    struct srcdist_delay *d = core->services[core->items[item].service].delay;
    struct rwf_bytes key;

    if (!key_of(core, item, &key))
        return;
    uint32_t number = delay_find(d->line, key);
    if (number != DELAY_NONE)
        delay_end(d->line, core->now_ns, number, stream_state, code);
}

void srcdist_delay_state(struct srcdist_core *core, uint32_t item, uint8_t data_state, uint8_t code,
                         const char *text)
{
    uint8_t bytes[512];
    struct rrmp_source_item info;
    struct rwf_encoder enc;
    struct omm_status status = { .state = omm_state(RWF_STREAM_OPEN, data_state, code, text) };

    if (!core->services[core->items[item].service].delay ||
        !rrmp_source_item_info(core->source, item, &info) || info.key.length == 0)
        return;
    status.domain = info.key.bytes[0];
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    if (omm_status_encode(&enc, &status) == RWF_OK)
        srcdist_delay_take(core, item, DELAY_STATUS, true, true, rwf_encoder_bytes(&enc));
}

void srcdist_delay_states(struct srcdist_core *core, uint32_t provider, uint32_t service,
                          const struct rwf_state *state)
{
    char text[256];
    int length = (int)(state->text.length < sizeof(text) ? state->text.length : sizeof(text) - 1);

    if (!core->services[service].delay || state->data_state == RWF_DATA_NO_CHANGE)
        return;
    snprintf(text, sizeof(text), "%.*s", length, length ? (const char *)state->text.data : "");
    for (uint32_t i = 0; i < core->item_room; i++) {
        if (core->items[i].state != SRCDIST_ITEM_FREE && core->items[i].provider == provider &&
            core->items[i].service == service)
            srcdist_delay_state(core, i, state->data_state, state->code, text);
    }
}

bool srcdist_delay_has(const struct srcdist_core *core, uint32_t item)
{
    const struct srcdist_delay *d = core->services[core->items[item].service].delay;
    struct rwf_bytes key;

    return d && key_of(core, item, &key) && delay_find(d->line, key) != DELAY_NONE;
}
