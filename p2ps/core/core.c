/* core.c - the worker's decisions: create, feed, tick, destroy. See core.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <stdlib.h>

#include "backlog.h"
#include "base/err.h"
#include "base/prng.h"
#include "base/trace.h"
#include "client.h"
#include "core.h"
#include "deliver.h"
#include "dictionary.h"
#include "drop.h"
#include "entitle.h"
#include "gone.h"
#include "item.h"
#include "lag.h"
#include "login.h"
#include "merge.h"
#include "network.h"
#include "pace.h"
#include "private.h"
#include "session.h"
#include "slice.h"
#include "tally.h"
#include "trail.h"
#include "turn.h"

#define SECOND_NS             1000000000ull
#define CLIENTS_DEFAULT       1000
#define CLIENTS_MAX           65535 /* they are 16 bits of a ticket */
#define POSTS_DEFAULT         10000
#define PART_MAX              60000 /* of an image out of the cache */
#define MESSAGE_DEFAULT       (4u << 20)
#define PENDING_DEFAULT       (64u << 20)
#define TRADE_BACKLOG_DEFAULT (16u << 20)
#define BACKLOG_DEFAULT       (256u << 20)
#define MAKE_FORMS_AT_ONCE    4 /* forms of one record that may each need a whole message */

static void take_defaults(struct p2ps_core_config *config)
{
    if (config->client_limit == 0)
        config->client_limit = CLIENTS_DEFAULT;
    if (config->client_limit > CLIENTS_MAX)
        config->client_limit = CLIENTS_MAX;
    if (config->message_max == 0)
        config->message_max = MESSAGE_DEFAULT;
    if (config->login_timeout_ns == 0)
        config->login_timeout_ns = 60 * SECOND_NS;
    if (config->slow_timeout_ns == 0)
        config->slow_timeout_ns = 10 * SECOND_NS;
    if (config->conflate_max == 0)
        config->conflate_max = 100000;
    if (config->owed_fill_percent == 0)
        config->owed_fill_percent = 30;
    if (config->slow_time_ns == 0)
        config->slow_time_ns = SECOND_NS / 10;
    if (config->trade_backlog == 0)
        config->trade_backlog = TRADE_BACKLOG_DEFAULT;
    if (config->backlog_bytes_max == 0)
        config->backlog_bytes_max = BACKLOG_DEFAULT;
    if (config->pending_bytes_max == 0)
        config->pending_bytes_max = PENDING_DEFAULT;
    if (!config->application_name)
        config->application_name = "openrmds p2ps";
}

static void chain_posts(struct p2ps_core *core)
{
    core->post_free = 0;
    for (uint32_t i = 0; i < core->post_room; i++)
        core->posts[i].next_free = i + 1 < core->post_room ? i + 1 : P2PS_NONE;
}

static bool take_tables(struct p2ps_core *core)
{
    /* As many again may have hung up, and their streams are still being let go. */
    core->client_room =
        core->config.client_limit < CLIENTS_MAX / 2 ? 2 * core->config.client_limit : CLIENTS_MAX;
    core->post_room = core->config.sink.post_limit ? core->config.sink.post_limit : POSTS_DEFAULT;
    core->make_size = (size_t)core->config.message_max * MAKE_FORMS_AT_ONCE;
    core->clients = calloc(core->client_room, sizeof(*core->clients));
    core->touched = calloc(core->client_room, sizeof(*core->touched));
    core->held = calloc(core->client_room, sizeof(*core->held));
    core->held_ns = UINT64_MAX;
    core->slow = calloc(core->client_room, sizeof(*core->slow));
    core->parked = calloc(core->client_room, sizeof(*core->parked));
    core->parked_ns = UINT64_MAX;
    core->posts = calloc(core->post_room, sizeof(*core->posts));
    core->forms = calloc(P2PS_FORMS_MAX, sizeof(*core->forms));
    core->made = calloc(P2PS_FORMS_MAX, sizeof(*core->made));
    core->made_epoch = calloc(P2PS_FORMS_MAX, sizeof(*core->made_epoch));
    core->make_buffer = malloc(core->make_size);
    core->part_size = core->config.message_max < PART_MAX ? core->config.message_max : PART_MAX;
    core->part = malloc(core->part_size);
    core->entry_size = core->config.message_max;
    core->entry_buffer = malloc(core->entry_size);
    core->directory_scratch = calloc(P2PS_SERVICES_MAX + 1, sizeof(*core->directory_scratch));
    core->waits = calloc(P2PS_DICTIONARY_WAITS, sizeof(*core->waits));
    core->spell_buffer = malloc(P2PS_SPELL_MAX);
    return core->spell_buffer && core->waits && core->clients && core->touched && core->held &&
           core->slow && core->parked && core->posts && core->forms && core->made &&
           core->made_epoch && core->make_buffer && core->part && core->entry_buffer &&
           core->directory_scratch;
}

int p2ps_core_create(const struct p2ps_core_config *config, struct p2ps_core **out)
{
    struct p2ps_core *core = calloc(1, sizeof(*core));

    *out = NULL;
    if (!core)
        return MD_ERR_NOMEM;
    core->config = *config;
    take_defaults(&core->config);
    core->item_free = P2PS_NONE;
    core->ended_item = P2PS_NONE;
    core->empty_item = P2PS_NONE;
    core->forget_ns = UINT64_MAX;
    core->epoch = 1;
    uint64_t secret = config->random;
    core->idmap_key[0] = md_splitmix64(&secret);
    core->idmap_key[1] = md_splitmix64(&secret);
    p2ps_work_start(core);
    struct cache_config cache = {
        .bytes_max = config->image_bytes_max,
        .field_type = config->field_type,
        .context = config->field_context,
        .ripples = config->rules.ripples,
        .keeps_pages = config->rules.keeps_pages,
    };
    int err = take_tables(core) ? p2ps_tally_create(core) : MD_ERR_NOMEM;
    if (err == MD_OK)
        err = p2ps_trail_create(core);
    if (err == MD_OK)
        err = p2ps_networks_create(core);
    if (err == MD_OK && config->keeps_images)
        err = cache_create(&cache, &core->cache);
    if (err == MD_OK)
        err = p2ps_merge_create(core);
    if (err == MD_OK)
        err = p2ps_backlog_create(core);
    if (err == MD_OK)
        err = p2ps_paces_create(core);
    if (err != MD_OK) {
        p2ps_core_destroy(core);
        return err;
    }
    chain_posts(core);
    *out = core;
    return MD_OK;
}

void p2ps_core_destroy(struct p2ps_core *core)
{
    if (!core)
        return;
    for (uint32_t i = 0; core->clients && i < core->client_room; i++) {
        if (!core->clients[i].is_used)
            continue;
        p2ps_tally_items(&core->clients[i], -(int64_t)core->clients[i].item_streams);
        p2ps_tally_leave(core, i);
        p2ps_batch_forget(&core->clients[i]);
        p2ps_idmap_fini(&core->clients[i].streams);
        free(core->clients[i].roles);
        free(core->clients[i].shown);
    }
    for (uint32_t i = 0; i < core->item_room; i++) {
        cache_image_free(core->cache, core->items[i].image);
        if (core->items[i].watch_step > 0) /* else a free slot, perhaps */
            free(core->items[i].watches);
        free(core->items[i].perm_data);
    }
    for (uint32_t i = 0; i < core->form_count; i++)
        free(core->forms[i].fields);
    p2ps_networks_destroy(core);
    free(core->clients);
    free(core->touched);
    free(core->held);
    free(core->slow);
    free(core->parked);
    free(core->posts);
    free(core->forms);
    free(core->made);
    free(core->made_epoch);
    free(core->make_buffer);
    free(core->part);
    free(core->entry_buffer);
    free(core->entry_sets);
    cache_destroy(core->cache);
    free(core->directory_scratch);
    free(core->waits);
    p2ps_backlog_destroy(core);
    p2ps_paces_destroy(core);
    p2ps_merge_destroy(core);
    free(core->spell_buffer);
    p2ps_trail_destroy(core);
    free(core->items);
    p2ps_tally_destroy(core);
    free(core);
}

static void take_answers(struct p2ps_core *core)
{
    struct entitle_answer answers[ENTITLE_ANSWERS_MAX];
    unsigned news =
        core->config.authority.news ? core->config.authority.news(core->config.authority.self) : 0;
    int count;

    if (news)
        p2ps_slice_news(core, news);
    do {
        count = core->config.authority.answers(core->config.authority.self, answers,
                                               ENTITLE_ANSWERS_MAX);
        for (int i = 0; i < count; i++) {
            if (answers[i].ticket & P2PS_TICKET_ITEM)
                p2ps_entitle_item_answer(core, &answers[i]);
            else
                p2ps_login_late_answer(core, &answers[i]);
        }
    } while (count == ENTITLE_ANSWERS_MAX);
}

void p2ps_core_answers(struct p2ps_core *core, uint64_t now_ns)
{
    core->now_ns = now_ns;
    take_answers(core);
    p2ps_turn_sweep(core);
}

void p2ps_core_backbone(struct p2ps_core *core, unsigned network, uint64_t now_ns,
                        const struct backbone_event *events, size_t count)
{
    core->now_ns = now_ns;
    while (count > 0) {
        size_t taken = rrmp_sink_input(core->sinks[network], now_ns, events, count);

        md_trace_reach(MD_TRACE_EVENT);
        p2ps_deliver_events(core);
        md_trace_reach(MD_TRACE_DELIVERED);
        events += taken;
        count -= taken;
    }
    p2ps_turn_sweep(core);
}

void p2ps_core_rates_set(struct p2ps_core *core, const struct p2ps_rate_limits *rates)
{
    core->config.rates = *rates;
    core->parked_ns = 0; /* clients that wait are looked at again */
}

void p2ps_core_rules_set(struct p2ps_core *core, const struct p2ps_rules *rules)
{
    core->config.rules = *rules;
    if (core->cache)
        cache_rules_set(core->cache, rules->ripples, rules->keeps_pages);
}

void p2ps_core_record_level_set(struct p2ps_core *core, enum entitle_level level)
{
    core->config.recorder.level = level;
}

static void count_memory(struct p2ps_core *core)
{
    core->stats.item_bytes_now = (uint64_t)core->item_room * sizeof(*core->items);
    core->stats.items_moved = core->stats.items_resumed = core->stats.items_preempted = 0;
    core->stats.wrong_topic = 0;
    for (unsigned i = 0; i < core->config.network_count; i++) {
        const struct rrmp_sink_stats *sink = rrmp_sink_stats(core->sinks[i]);
        core->stats.item_bytes_now += sink->memory_now;
        core->stats.items_moved += sink->moved;
        core->stats.items_resumed += sink->resumed;
        core->stats.items_preempted += sink->preempted;
        core->stats.wrong_topic += sink->wrong_topic;
    }
    if (core->cache)
        cache_stats(core->cache, &core->stats.cache);
}

void p2ps_core_tick(struct p2ps_core *core, uint64_t now_ns, uint32_t empty_networks)
{
    core->now_ns = now_ns;
    for (unsigned i = 0; i < core->config.network_count; i++)
        rrmp_sink_tick(core->sinks[i], now_ns, empty_networks >> i & 1);
    p2ps_deliver_events(core);
    take_answers(core);
    p2ps_deliver_events(core);
    p2ps_dictionaries_tick(core);
    p2ps_gone_tick(core);
    p2ps_clients_tick(core);
    p2ps_trail_tick(core);
    p2ps_turn_sweep(core);
    count_memory(core);
    p2ps_core_count_work(core);
}

void p2ps_core_settle(struct p2ps_core *core, uint64_t now_ns)
{
    core->now_ns = now_ns;
    p2ps_slice_turn(core);
    p2ps_deliver_events(core);
    p2ps_deliver_paced(core);
    p2ps_lag_turn(core);
    p2ps_turn_sweep(core);
}

uint64_t p2ps_core_tick_deadline(const struct p2ps_core *core)
{
    bool is_busy = p2ps_core_has_work(core) || p2ps_lag_has_work(core);
    uint64_t deadline = is_busy ? 0 : core->sweep_ns;

    if (core->wait_count && core->wait_due_ns < deadline)
        deadline = core->wait_due_ns;
    if (core->parked_ns < deadline)
        deadline = core->parked_ns;
    if (core->held_ns < deadline)
        deadline = core->held_ns;
    if (core->forget_ns < deadline)
        deadline = core->forget_ns;
    if (p2ps_lag_deadline(core) < deadline)
        deadline = p2ps_lag_deadline(core);
    for (unsigned i = 0; i < core->config.network_count; i++) {
        uint64_t sink = rrmp_sink_deadline(core->sinks[i]);
        deadline = sink < deadline ? sink : deadline;
    }
    return deadline;
}

uint64_t p2ps_core_deadline(const struct p2ps_core *core)
{
    uint64_t tick = p2ps_core_tick_deadline(core), pace = p2ps_pace_deadline(core);

    return pace < tick ? pace : tick;
}

void p2ps_core_entitle_again(struct p2ps_core *core, uint64_t now_ns)
{
    core->now_ns = now_ns;
    p2ps_slice_check(core);
    p2ps_turn_sweep(core);
}

static void logout(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    if (c->login_state == P2PS_LOGIN_OPEN)
        p2ps_session_end(core, client, 0, "the consumer has logged out");
    p2ps_drop_streams(core, client);
    p2ps_tally_unmount(core, client);
    p2ps_client_login_set(core, c, P2PS_LOGIN_REFUSED);
    c->opened_ns = core->now_ns;
}

void p2ps_client_close(struct p2ps_core *core, uint64_t now_ns, uint32_t client, int32_t stream_id)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t index = p2ps_idmap_get(&c->streams, stream_id);

    core->now_ns = now_ns;
    core->stats.closes_in++;
    p2ps_work_spend(core, 1, 0);
    p2ps_tally_ask(core, c);
    switch (index) {
    case P2PS_IDMAP_NONE:
        return;
    case P2PS_STREAM_LOGIN:
        logout(core, client);
        return;
    case P2PS_STREAM_DIRECTORY:
        c->directory_stream = 0;
        p2ps_idmap_take(&c->streams, stream_id);
        return;
    case P2PS_STREAM_DICTIONARY:
        p2ps_dictionary_closed(core, client, stream_id);
        p2ps_idmap_take(&c->streams, stream_id);
        return;
    default:
        break;
    }
    uint32_t watch = p2ps_item_watch_find(core, index, client, stream_id);
    if (watch != P2PS_NONE)
        p2ps_item_watch_end(core, index, watch);
    p2ps_items_sweep(core); /* what it held counts against no limit any more */
}

struct p2ps_parties *p2ps_core_parties(const struct p2ps_core *core)
{
    return core->parties;
}

uint32_t p2ps_core_long_logins(const struct p2ps_core *core)
{
    return core->long_logins_now;
}

const struct p2ps_core_stats *p2ps_core_stats(const struct p2ps_core *core)
{
    return &core->stats;
}

const struct rrmp_sink *p2ps_core_sink(const struct p2ps_core *core, unsigned network)
{
    return core->sinks[network];
}
