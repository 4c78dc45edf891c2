/* dictionary.c - dictionaries of providers: asked for, compared, waited for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dictionary_table.h"
#include "provider.h"
#include "rmds/rwf_dictionary.h"
#include "service.h"
#include "service_state.h"
#include "upstream.h"

/*
 * An interactive provider that lists dictionaries with a service is asked for them after its
 * directory, and its services come up when they are here: who sees the service can have its
 * dictionaries. The first version of a name stays; a provider that comes (again) with another one
 * is told about, no more. A provider that does not answer in time is used without, and what it
 * gives later is taken.
 *
 * Fields come first. The enumerations belong to them: they are asked of a provider whose fields are
 * those that are kept, and of no other.
 */

#define ANSWER_NS 5000000000ull  /* how long services wait for the next part */
#define LATE_NS   60000000000ull /* how long it is taken after that */

static struct rwf_bytes field_dictionary(void)
{
    return rwf_text("RWFFld");
}

static struct rwf_bytes enum_dictionary(void)
{
    return rwf_text("RWFEnum");
}

static void tell(const struct srcdist_core *core, bool is_error, const struct srcdist_dictionary *d,
                 const char *what, const char *more)
{
    char text[512];

    if (!core->config.tell)
        return;
    snprintf(text, sizeof(text), "dictionary %s %s%s", d->name, what, more);
    core->config.tell(core->config.service_owner,
                      is_error ? SRCDIST_TELLS_ERROR : SRCDIST_TELLS_NEWS, text);
}

/* ---- asking the provider ---- */

static int32_t ask(struct srcdist_core *core, uint32_t provider, uint16_t provider_id,
                   const struct srcdist_dictionary *d, uint32_t filter)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    uint32_t target = (uint32_t)(d - core->dictionaries) | SRCDIST_STREAM_DICTIONARY;
    struct rwf_encoder enc;
    struct omm_dictionary_request request = {
        .stream_id = srcdist_streams_take(&p->streams, target),
        .is_streaming = true, /* the provider sends new versions on it */
        .has_service_id = true,
        .service_id = provider_id,
        .name = rwf_text(d->name),
        .filter = filter,
    };

    if (request.stream_id == 0)
        return 0;
    srcdist_encoder(core, &enc);
    omm_dictionary_request_encode(&enc, &request);
    if (srcdist_provider_send(core, provider, &enc) == MD_OK)
        return request.stream_id;
    srcdist_streams_give(&p->streams, request.stream_id);
    return 0;
}

static void download(struct srcdist_core *core, uint32_t provider, uint16_t provider_id,
                     struct rwf_bytes name)
{
    struct srcdist_dictionary *d = core->dictionaries;

    while (d < core->dictionaries + SRCDIST_DICTIONARIES && d->state != SRCDIST_DICTIONARY_FREE)
        d++;
    if (d == core->dictionaries + SRCDIST_DICTIONARIES || name.length == 0 ||
        name.length >= sizeof(d->name))
        return;
    memcpy(d->name, name.data, name.length);
    d->stream_id = ask(core, provider, provider_id, d, RWF_DICTIONARY_NORMAL);
    if (d->stream_id == 0) {
        srcdist_dictionary_discard(core, d);
        return;
    }
    d->state = SRCDIST_DICTIONARY_LOADING;
    d->provider = provider;
    d->due_ns = core->now_ns + ANSWER_NS;
    snprintf(d->from, sizeof(d->from), "%s", srcdist_provider_at(core, provider)->name);
}

static bool was_asked(const struct srcdist_provider *p, const struct srcdist_core *core,
                      const struct srcdist_dictionary *d)
{
    return p->dictionaries_asked >> (d - core->dictionaries) & 1;
}

static bool is_listed(const struct omm_service *info, struct rwf_bytes name)
{
    for (unsigned i = 0; i < info->provided_count; i++) {
        if (rwf_bytes_equal(info->provided[i], name))
            return true;
    }
    return false;
}

/* Asks for all of a new dictionary, for the version only of a known one. */
static void ask_for_one(struct srcdist_core *core, uint32_t provider, uint16_t provider_id,
                        struct rwf_bytes name)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    struct srcdist_dictionary *d = srcdist_dictionary_find(core, name);

    if (!d)
        download(core, provider, provider_id, name);
    else if (d->state == SRCDIST_DICTIONARY_COMPLETE && !was_asked(p, core, d))
        ask(core, provider, provider_id, d, RWF_DICTIONARY_INFO);
    d = srcdist_dictionary_find(core, name);
    if (d)
        p->dictionaries_asked |= 1u << (d - core->dictionaries);
}

/* Asks for the dictionaries that the provider lists with one service. */
static void ask_for_service(struct srcdist_core *core, uint32_t provider,
                            const struct srcdist_offer *offer)
{
    const struct srcdist_provider *p = srcdist_provider_at(core, provider);
    const struct srcdist_service *s = &core->services[offer->service];
    const struct omm_service *info = &s->info;

    if (!s->config.takes_dictionaries ||
        !memchr(info->capabilities, RWF_DOMAIN_DICTIONARY, info->capability_count))
        return;
    if (is_listed(info, field_dictionary()))
        ask_for_one(core, provider, offer->provider_id, field_dictionary());
    if (is_listed(info, enum_dictionary()) && p->has_fields)
        ask_for_one(core, provider, offer->provider_id, enum_dictionary());
    for (unsigned i = 0; i < info->provided_count; i++) {
        if (!rwf_bytes_equal(info->provided[i], field_dictionary()) &&
            !rwf_bytes_equal(info->provided[i], enum_dictionary()))
            ask_for_one(core, provider, offer->provider_id, info->provided[i]);
    }
}

static bool is_waiting(struct srcdist_core *core, const struct srcdist_provider *p)
{
    for (uint32_t i = 0; i < p->offer_count; i++) {
        const struct srcdist_service *s = &core->services[p->offers[i].service];

        for (unsigned k = 0; s->config.takes_dictionaries && k < s->info.provided_count; k++) {
            const struct srcdist_dictionary *d = srcdist_dictionary_find(core, s->info.provided[k]);
            if (d && d->state == SRCDIST_DICTIONARY_LOADING && !d->is_late)
                return true;
        }
    }
    return false;
}

static void make_ready(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    srcdist_provider_set_state(core, provider, SRCDIST_PROVIDER_READY);
    for (uint32_t i = 0; i < p->offer_count; i++) {
        srcdist_service_describe_anew(core, p->offers[i].service);
        srcdist_service_refresh_state(core, p->offers[i].service);
    }
}

void srcdist_dictionaries_ask(struct srcdist_core *core, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    for (uint32_t i = 0; i < p->offer_count; i++)
        ask_for_service(core, provider, &p->offers[i]);
    if (p->state == SRCDIST_PROVIDER_DICTIONARY && !is_waiting(core, p))
        make_ready(core, provider);
}

/* A dictionary has come or failed: providers that waited for it become ready. */
static void go_on(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];

        if (p->is_used && !p->must_go && p->state == SRCDIST_PROVIDER_DICTIONARY &&
            !is_waiting(core, p))
            make_ready(core, i);
    }
}

/* ---- the provider's answer ---- */

/* Services that are up without this dictionary announce it now. */
static void announce_again(struct srcdist_core *core, const struct srcdist_dictionary *d)
{
    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++) {
        const struct srcdist_service *s = &core->services[i];

        for (unsigned k = 0; s->is_used && s->is_up && k < s->info.provided_count; k++) {
            if (rwf_bytes_equal(s->info.provided[k], rwf_text(d->name)))
                srcdist_service_refresh_state(core, i);
        }
    }
}

static void fail(struct srcdist_core *core, struct srcdist_dictionary *d, const char *why)
{
    core->stats.dictionaries_failed += !d->is_late; /* counted when it became late */
    tell(core, true, d, why, "; the services of its provider go without");
    srcdist_dictionary_discard(core, d);
    go_on(core);
}

/* Closes the stream, so that nothing more comes on it. */
static void give_up(struct srcdist_core *core, struct srcdist_dictionary *d, const char *why)
{
    srcdist_stream_close(core, d->provider, d->stream_id, RWF_DOMAIN_DICTIONARY);
    srcdist_streams_give(&srcdist_provider_at(core, d->provider)->streams, d->stream_id);
    fail(core, d, why);
}

static void become_late(struct srcdist_core *core, struct srcdist_dictionary *d)
{
    core->stats.dictionaries_failed++;
    tell(core, true, d, "was not given by its provider in time",
         "; its services go without until it comes");
    d->is_late = true;
    d->due_ns = core->now_ns + LATE_NS;
    go_on(core);
}

/* The fields that are kept are this provider's: its enumerations may stand beside them. */
static void note_fields(struct srcdist_core *core, uint32_t provider,
                        const struct srcdist_dictionary *d)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    if (p->has_fields || !rwf_bytes_equal(rwf_text(d->name), field_dictionary()))
        return;
    p->has_fields = true;
    if (!p->must_go)
        srcdist_dictionaries_ask(core, provider);
}

/* Keeps the message without stream id and key: these belong to the connection. */
static bool keep_part(struct srcdist_core *core, struct srcdist_dictionary *d,
                      struct rwf_bytes bytes)
{
    struct rwf_splice splice = { .ops = RWF_SPLICE_STREAM_ID | RWF_SPLICE_STRIP_KEY };
    struct srcdist_dictionary_part *parts =
        realloc(d->parts, (d->part_count + 1) * sizeof(*d->parts));
    size_t length;

    if (!parts)
        return false;
    d->parts = parts;
    if (rwf_splice(bytes, &splice, core->part, core->part_size, &length) != RWF_OK ||
        core->stats.dictionary_bytes + length > core->config.dictionary_bytes_max)
        return false;
    uint8_t *copy = malloc(length);
    if (!copy)
        return false;
    memcpy(copy, core->part, length);
    d->parts[d->part_count++] = (struct srcdist_dictionary_part){ copy, length };
    core->stats.dictionary_bytes += length;
    return true;
}

static void read_version(const struct rwf_msg *msg, char *version, size_t size)
{
    struct rwf_dictionary_summary summary;

    if (msg->container == RWF_TYPE_SERIES &&
        rwf_dictionary_summary_decode(msg->payload, &summary) == RWF_OK &&
        summary.type != RWF_DICTIONARY_TYPE_NONE)
        snprintf(version, size, "%.*s", (int)summary.version.length,
                 (const char *)summary.version.data);
}

static void take_part(struct srcdist_core *core, struct srcdist_dictionary *d,
                      const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    d->due_ns = core->now_ns + (d->is_late ? LATE_NS : ANSWER_NS);
    if (!d->version[0])
        read_version(msg, d->version, sizeof(d->version));
    if (!keep_part(core, d, bytes)) {
        give_up(core, d, "is longer than dictionaryLimit or there is no memory for it");
        return;
    }
    if (!(msg->flags & RWF_REFRESH_COMPLETE))
        return;
    d->state = SRCDIST_DICTIONARY_COMPLETE;
    core->stats.dictionaries_now++;
    srcdist_dictionary_learn(core, d);
    tell(core, false, d, "came from its provider, version ", d->version);
    note_fields(core, d->provider, d);
    announce_again(core, d);
    go_on(core);
}

static void compare_version(struct srcdist_core *core, uint32_t provider,
                            const struct srcdist_dictionary *d, const struct rwf_msg *msg)
{
    char version[sizeof(d->version)] = "";

    read_version(msg, version, sizeof(version));
    bool is_same = strcmp(version, d->version) == 0;
    /* Two that say no version are one when they have the same provider. */
    if (is_same && (version[0] || strcmp(d->from, srcdist_provider_at(core, provider)->name) == 0))
        note_fields(core, provider, d);
    if (!version[0] || is_same)
        return;
    core->stats.dictionary_conflicts++;
    tell(core, true, d,
         "has another version at a provider and is kept as it is until a restart: ", version);
}

void srcdist_dictionary_message(struct srcdist_core *core, uint32_t provider,
                                const struct rwf_msg *msg, struct rwf_bytes bytes)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);
    uint32_t target = srcdist_streams_find(&p->streams, msg->stream_id);

    if (target == SRCDIST_STREAM_NONE || target & SRCDIST_STREAM_ASK ||
        !(target & SRCDIST_STREAM_DICTIONARY)) {
        core->stats.unknown_streams++;
        return;
    }
    struct srcdist_dictionary *d = &core->dictionaries[target & ~SRCDIST_STREAM_DICTIONARY];
    bool is_loading = d->state == SRCDIST_DICTIONARY_LOADING && d->provider == provider &&
                      d->stream_id == msg->stream_id;
    bool is_over = (msg->msg_class == RWF_CLASS_STATUS && msg->flags & RWF_STATUS_HAS_STATE &&
                    msg->state.stream_state != RWF_STREAM_OPEN) ||
                   msg->msg_class == RWF_CLASS_CLOSE;

    if (msg->msg_class == RWF_CLASS_REFRESH && is_loading)
        take_part(core, d, msg, bytes);
    else if (msg->msg_class == RWF_CLASS_REFRESH && d->state == SRCDIST_DICTIONARY_COMPLETE)
        compare_version(core, provider, d, msg);
    if (!is_over)
        return;
    srcdist_streams_give(&p->streams, msg->stream_id);
    if (is_loading)
        fail(core, d, "was refused by its provider");
}

void srcdist_dictionaries_lost(struct srcdist_core *core, uint32_t provider)
{
    bool any = false;

    for (unsigned i = 0; i < SRCDIST_DICTIONARIES; i++) {
        struct srcdist_dictionary *d = &core->dictionaries[i];
        if (d->state != SRCDIST_DICTIONARY_LOADING || d->provider != provider)
            continue;
        srcdist_dictionary_discard(core, d);
        any = true;
    }
    for (uint32_t i = 0; any && i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];
        if (p->is_used && !p->must_go && p->state == SRCDIST_PROVIDER_DICTIONARY)
            srcdist_dictionaries_ask(core, i);
    }
}

void srcdist_dictionaries_tick(struct srcdist_core *core)
{
    for (unsigned i = 0; i < SRCDIST_DICTIONARIES; i++) {
        struct srcdist_dictionary *d = &core->dictionaries[i];
        if (d->state != SRCDIST_DICTIONARY_LOADING || core->now_ns < d->due_ns)
            continue;
        if (d->is_late)
            give_up(core, d, "was not given by its provider at all");
        else
            become_late(core, d);
    }
}
