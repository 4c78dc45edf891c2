/* core.c - the instance: create, feed, tick, destroy. See core.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <stdlib.h>

#include "ask.h"
#include "base/err.h"
#include "base/prng.h"
#include "delayed.h"
#include "delayed_out.h"
#include "delayed_want.h"
#include "description.h"
#include "dictionary.h"
#include "dictionary_table.h"
#include "grant.h"
#include "image_queue.h"
#include "login.h"
#include "marketfeed.h"
#include "mirror.h"
#include "pending.h"
#include "post.h"
#include "private.h"
#include "rate.h"
#include "rate_review.h"
#include "replay.h"
#include "request_data.h"
#include "resume.h"
#include "service.h"
#include "service_forget.h"
#include "service_state.h"
#include "turn.h"

#define SECOND_NS        1000000000ull
#define EVENTS_MAX       256
#define SWEEP_NS         100000000ull
#define PROVIDERS        64
#define POSTS            10000
#define OFFERS           64 /* of one publisher */
#define LOGIN_NS         (10 * SECOND_NS)
#define MESSAGE_BYTES    (4u << 20)
#define DICTIONARY_BYTES (64u << 20)
/* Of an item, its stream, its places in queues: arrays that double. */
#define ITEM_BYTES (3 * (sizeof(struct srcdist_item) + 40))

static void take_defaults(struct srcdist_core_config *config)
{
    if (config->open_window == 0)
        config->open_window = 500;
    if (config->provider_limit == 0)
        config->provider_limit = PROVIDERS;
    if (config->publisher_limit == 0)
        config->publisher_limit = config->provider_limit;
    if (config->source.service_limit == 0)
        config->source.service_limit = SRCDIST_SERVICES;
    if (config->provider_services_max == 0)
        config->provider_services_max = OFFERS;
    if (config->login_ns == 0)
        config->login_ns = LOGIN_NS;
    if (config->post_limit == 0)
        config->post_limit = POSTS;
    if (config->message_max == 0)
        config->message_max = MESSAGE_BYTES;
    if (config->republish_ns == 0)
        config->republish_ns = 60 * SECOND_NS;
    if (config->grace_ns == 0)
        config->grace_ns = 10 * SECOND_NS;
    if (config->dictionary_bytes_max == 0)
        config->dictionary_bytes_max = DICTIONARY_BYTES;
    if (!config->application_name)
        config->application_name = "src_dist";
    if (!config->user)
        config->user = "src_dist";
    if (!config->position)
        config->position = "127.0.0.1/net";
}

static void chain_free(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < SRCDIST_ASKS_MAX; i++)
        core->asks[i].next_free = i + 1 < SRCDIST_ASKS_MAX ? i + 1 : SRCDIST_NONE;
    for (uint32_t i = 0; i < core->post_room; i++)
        core->posts[i].next_free = i + 1 < core->post_room ? i + 1 : SRCDIST_NONE;
}

int srcdist_core_create(const struct srcdist_core_config *config, struct srcdist_core **out)
{
    struct srcdist_core *core = calloc(1, sizeof(*core));
    struct cache_config cache = {
        .bytes_max = config->image_bytes_max,
        .keeps_pages = config->rules.keeps_pages,
        .field_type = srcdist_dictionary_field_type,
        .context = core,
    };

    *out = NULL;
    if (!core)
        return MD_ERR_NOMEM;
    core->config = *config;
    take_defaults(&core->config);
    core->config.source.item_bytes_extra =
        ITEM_BYTES + (config->has_rates ? SRCDIST_RATE_BYTES : 0);
    uint64_t random = ~config->source.random;
    core->secret = md_splitmix64(&random);
    core->provider_room = core->config.provider_limit + SRCDIST_DELAYS;
    core->post_room = core->config.post_limit;
    core->part_size = (size_t)core->config.message_max + RWF_SPLICE_GROWTH;
    core->providers = calloc(core->provider_room, sizeof(*core->providers));
    core->posts = calloc(core->post_room, sizeof(*core->posts));
    core->part = malloc(core->part_size);
    int err = core->providers && core->posts && core->part ? MD_OK : MD_ERR_NOMEM;
    if (err == MD_OK)
        err = cache_ripples_create(&core->ripples);
    if (err == MD_OK)
        err = srcdist_marketfeed_create(core);
    cache.ripples = config->rules.ripples ? core->ripples : NULL;
    if (err == MD_OK)
        err = cache_create(&cache, &core->cache);
    if (err == MD_OK && config->fields)
        srcdist_fields_learn(core, config->fields);
    if (err == MD_OK)
        err = rrmp_source_create(&core->config.source, &core->source);
    if (err != MD_OK) {
        srcdist_core_destroy(core);
        return err;
    }
    chain_free(core);
    *out = core;
    return MD_OK;
}

void srcdist_core_destroy(struct srcdist_core *core)
{
    if (!core)
        return;
    for (uint32_t i = 0; core->providers && i < core->provider_room; i++) {
        if (!core->providers[i].is_used)
            continue;
        srcdist_streams_fini(&core->providers[i].streams);
        for (uint32_t k = 0; k < core->providers[i].offer_count; k++)
            srcdist_description_forget(&core->providers[i].offers[k]);
        free(core->providers[i].groups);
        srcdist_pending_fini(&core->providers[i]);
        free(core->providers[i].closes);
    }
    srcdist_delays_destroy(core);
    srcdist_services_destroy(core);
    entitle_rules_destroy(core->access);
    for (uint32_t i = 0; i < core->item_room; i++)
        cache_image_free(core->cache, core->items[i].image);
    srcdist_request_data_fini(core);
    srcdist_dictionaries_destroy(core);
    rrmp_source_destroy(core->source);
    srcdist_rates_review_fini(core);
    srcdist_rates_destroy(core);
    srcdist_replay_destroy(core);
    srcdist_resumes_destroy(core);
    cache_destroy(core->cache);
    cache_ripples_destroy(core->ripples);
    srcdist_marketfeed_destroy(core);
    free(core->providers);
    free(core->posts);
    free(core->part);
    free(core->items);
    free(core->image_queue);
    free(core);
}

void srcdist_core_rules_set(struct srcdist_core *core, const struct srcdist_rules *rules)
{
    core->config.rules = *rules;
    cache_rules_set(core->cache, rules->ripples ? core->ripples : NULL, rules->keeps_pages);
    if (core->marketfeed.table)
        mf_table_options_set(core->marketfeed.table, &rules->marketfeed);
}

void srcdist_core_access_set(struct srcdist_core *core, uint64_t now_ns,
                             struct entitle_rules *access)
{
    core->now_ns = now_ns;
    entitle_rules_destroy(core->access);
    core->access = access;
    srcdist_grants_review(core);
}

int srcdist_core_rates_set(struct srcdist_core *core, uint64_t now_ns, struct rates *rules)
{
    core->now_ns = now_ns;
    return srcdist_rates_begin(core, rules);
}

void srcdist_core_wall_set(struct srcdist_core *core, uint64_t now_ns, uint64_t wall_ns)
{
    core->now_ns = now_ns;
    core->wall_offset_ns = wall_ns - now_ns;
    srcdist_delays_wall_set(core);
}

static void take_events(struct srcdist_core *core)
{
    struct rrmp_source_event events[EVENTS_MAX];
    size_t count;

    while ((count = rrmp_source_event(core->source, events, EVENTS_MAX)) > 0) {
        for (size_t i = 0; i < count; i++)
            srcdist_turn_event(core, &events[i]);
    }
}

void srcdist_core_backbone(struct srcdist_core *core, uint64_t now_ns,
                           const struct backbone_event *events, size_t count)
{
    core->now_ns = now_ns;
    while (count > 0) {
        size_t taken = rrmp_source_input(core->source, now_ns, events, count);

        take_events(core);
        events += taken;
        count -= taken;
    }
}

static void count_memory(struct srcdist_core *core)
{
    cache_stats(core->cache, &core->stats.cache);
    core->stats.items_preempted = rrmp_source_stats(core->source)->preempted;
    core->stats.item_bytes_now = rrmp_source_stats(core->source)->memory_now +
                                 (uint64_t)core->item_room * sizeof(*core->items) +
                                 srcdist_rates_bytes(core);
    srcdist_delays_count(core);
    for (uint32_t i = 0; i < core->provider_room; i++) {
        if (core->providers[i].is_used)
            core->stats.item_bytes_now += srcdist_streams_bytes(&core->providers[i].streams) +
                                          srcdist_pending_bytes(&core->providers[i]);
    }
}

void srcdist_core_tick(struct srcdist_core *core, uint64_t now_ns, bool input_is_empty)
{
    core->now_ns = now_ns;
    rrmp_source_tick(core->source, now_ns, input_is_empty);
    take_events(core);
    srcdist_rates_tick(core);
    srcdist_rates_review_tick(core);
    srcdist_delays_tick(core);
    if (now_ns >= core->sweep_ns) {
        core->sweep_ns = now_ns + SWEEP_NS;
        srcdist_providers_tick(core);
        srcdist_services_tick(core);
        srcdist_services_forget_tick(core);
        srcdist_mirror_tick(core);
        srcdist_items_tick(core);
        srcdist_replay_tick(core);
        srcdist_asks_tick(core);
        srcdist_dictionaries_tick(core);
        srcdist_posts_tick(core);
        srcdist_delays_want_tick(core);
        count_memory(core);
    }
    srcdist_resumes_pump(core);
    srcdist_delays_pump(core);
    srcdist_images_pump(core);
    srcdist_dictionaries_pump(core);
}

uint64_t srcdist_core_deadline(const struct srcdist_core *core)
{
    uint64_t deadline = rrmp_source_deadline(core->source);
    uint64_t rates = srcdist_rates_deadline(core);

    uint64_t delays = srcdist_delays_deadline(core);
    uint64_t resumes = srcdist_resumes_deadline(core);

    if (resumes < deadline)
        deadline = resumes;
    if (rates < deadline)
        deadline = rates;
    if (delays < deadline)
        deadline = delays;
    if (core->image_queue_count > 0 || core->review.is_on)
        return core->now_ns;
    if (core->dictionary_ask_count > 0 && core->dictionary_due_ns < deadline)
        deadline = core->dictionary_due_ns;
    return deadline < core->sweep_ns ? deadline : core->sweep_ns;
}

void srcdist_core_settle(struct srcdist_core *core, uint64_t now_ns)
{
    core->now_ns = now_ns;
    take_events(core);
    srcdist_resumes_pump(core);
    srcdist_delays_pump(core);
    srcdist_images_pump(core);
    srcdist_dictionaries_pump(core);
}

void srcdist_core_leave(struct srcdist_core *core, uint64_t now_ns)
{
    core->now_ns = now_ns;
    srcdist_rates_flush(core);
    rrmp_source_leave(core->source, now_ns);
    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];

        if (p->is_used && !p->must_go && p->login_stream != 0)
            srcdist_login_leave(core, i);
    }
}

const struct srcdist_core_stats *srcdist_core_stats(const struct srcdist_core *core)
{
    return &core->stats;
}

const struct rrmp_source *srcdist_core_source(const struct srcdist_core *core)
{
    return core->source;
}
