/* sink.c - see rrmp/sink.h: life of the engine, its input, its time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rrmp/sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"

#include "sink_follow.h"
#include "sink_mirror.h"
#include "sink_posts.h"
#include "sink_topics.h"

#define MS          1000000ull
#define SEC         1000000000ull

#define TRIES_MAX   3u
#define FETCH_AHEAD 4u /* records: some hundred nanoseconds */

static void config_defaults(struct rrmp_sink_config *config)
{
#define DEFAULT(name, value) config->name = config->name ? config->name : (value)
    DEFAULT(item_limit, SINK_ITEMS_MAX);
    DEFAULT(item_buckets, 4096u);
    DEFAULT(instance_limit, 256u);
    DEFAULT(service_limit, 1024u);
    DEFAULT(link_limit, 4096u);
    DEFAULT(post_limit, 10000u);
    DEFAULT(open_window_minimum, 100u);
    DEFAULT(hold_records, 256u);
    DEFAULT(hold_bytes_item, (size_t)1 << 20);
    DEFAULT(hold_bytes, (size_t)64 << 20);
    DEFAULT(instance_timeout_ns, 3500 * MS);
    DEFAULT(gap_verify_ns, 500 * MS);
    DEFAULT(move_rate, 100u);
    DEFAULT(request_retry_ns, 5 * SEC);
    DEFAULT(sum_interval_ns, 5 * SEC);
    DEFAULT(resume_hold_ns, 200 * MS);
#undef DEFAULT
}

static bool config_is_good(const struct rrmp_sink_config *config)
{
    return config->send.reserve && config->send.commit && config->send.fill &&
           config->item_limit <= SINK_ITEMS_MAX && config->instance_limit <= SINK_INSTANCES &&
           config->service_limit <= SINK_SERVICES_MAX && config->link_limit < MD_NIL;
}

static int tables_init(struct rrmp_sink *sink)
{
    const struct rrmp_sink_config *config = &sink->config;
    size_t *memory = &sink->stats.memory_now;
    int err;

    sink->services = calloc(config->service_limit, sizeof(*sink->services));
    sink->events = malloc(SINK_EVENTS * sizeof(*sink->events));
    if (!sink->services || !sink->events)
        return MD_ERR_NOMEM;
    *memory += sizeof(*sink) + config->service_limit * sizeof(*sink->services) +
               SINK_EVENTS * sizeof(*sink->events);
    if ((err = md_slots_init(&sink->instances, sizeof(struct sink_instance), config->instance_limit,
                             memory)) ||
        (err = md_slots_init(&sink->links, sizeof(struct sink_link), config->link_limit, memory)) ||
        (err = md_slots_init(&sink->items, sizeof(struct sink_item), config->item_limit, memory)) ||
        (err = md_slots_init(&sink->works, sizeof(struct sink_work), config->item_limit, memory)) ||
        (err =
             md_slots_init(&sink->places, sizeof(struct sink_place), config->item_limit, memory)) ||
        (err = md_strings_init(&sink->keys, config->item_limit, memory)) ||
        (err = md_slots_init(&sink->posts, sizeof(struct sink_post), config->post_limit, memory)) ||
        (err = md_map_init(&sink->instance_map, 64, memory)) ||
        (err = md_map_init(&sink->item_map, config->item_buckets, memory)) ||
        (err = md_map_init(&sink->request_map, config->item_buckets, memory)))
        return err;
    return rrmp_outbox_init(&sink->outbox, &config->send, sink->stats.records_out,
                            &sink->stats.backbone_refused, memory);
}

int rrmp_sink_create(const struct rrmp_sink_config *config, struct rrmp_sink **out)
{
    struct rrmp_sink_config full = *config;

    *out = NULL;
    config_defaults(&full);
    if (!config_is_good(&full))
        return MD_ERR_RANGE;
    struct rrmp_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return MD_ERR_NOMEM;
    sink->config = full;
    sink->random = full.random;
    sink->seed = md_splitmix64(&sink->random);
    sink->last_instance = MD_NIL;
    sink->dying = MD_NIL;
    sink->query_due_ns = RRMP_NEVER;
    sink->service_query_ns = RRMP_NEVER;
    sink->hold_ns = sink->gate_ns = RRMP_NEVER;
    sink->replay_cost = 1;
    int err = tables_init(sink);
    if (err) {
        rrmp_sink_destroy(sink);
        return err;
    }
    md_wheel_init(&sink->wheel, &sink->works, offsetof(struct sink_work, timer));
    md_wheel_init(&sink->post_wheel, &sink->posts, offsetof(struct sink_post, timer));
    *out = sink;
    return MD_OK;
}

static void instances_fini(struct rrmp_sink *sink)
{
    for (uint32_t n = 0; sink->instances.chunks && n < sink->instances.high; n++) {
        struct sink_instance *instance = sink_instance_at(sink, n);
        if (!instance->in_use)
            continue;
        for (uint32_t i = 0; instance->map && i < SINK_CHUNKS; i++)
            free(instance->map[i]);
        free(instance->map);
        free(instance->links);
        free(instance->name);
    }
    for (uint32_t n = 0; sink->links.chunks && n < sink->links.high; n++) {
        if (sink_link_at(sink, n)->in_use)
            free(sink_link_at(sink, n)->blob);
    }
}

void rrmp_sink_destroy(struct rrmp_sink *sink)
{
    if (!sink)
        return;
    for (uint32_t n = 0; sink->items.chunks && n < sink->items.high; n++) {
        if (sink_item_at(sink, n)->in_use)
            sink_item_give(sink, n);
    }
    for (uint32_t i = 0; i < sink->early_count; i++)
        sink_chain_free(sink, &sink->early[i].parts);
    for (uint16_t i = 0; sink->services && i < sink->service_count; i++)
        free((void *)(uintptr_t)sink->services[i].name.bytes);
    instances_fini(sink);
    sink_events_fini(sink);
    md_slots_fini(&sink->instances);
    md_slots_fini(&sink->links);
    md_slots_fini(&sink->items);
    md_slots_fini(&sink->works);
    md_slots_fini(&sink->places);
    md_strings_fini(&sink->keys);
    md_slots_fini(&sink->posts);
    md_map_fini(&sink->instance_map);
    md_map_fini(&sink->item_map);
    md_map_fini(&sink->request_map);
    rrmp_outbox_fini(&sink->outbox);
    free(sink->services);
    free(sink);
}

/* ---- sending ---- */

void sink_send(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record)
{
    const struct sink_instance *to = sink_instance_at(sink, instance);
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = to->session,
                                      .port = to->port };

    if (sink->session != 0)
        rrmp_outbox_put(&sink->outbox, &target, record);
}

static void query_send(struct rrmp_sink *sink, uint32_t what)
{
    static const struct backbone_target target = { .path = BACKBONE_PATH_MULTICAST,
                                                   .topic = RRMP_TOPIC_CONTROL };
    struct rrmp_record record = { .header = { .type = RRMP_QUERY, .svc = RRMP_SVC_NONE },
                                  .u.query = { .what = what } };

    if (sink->session != 0)
        rrmp_outbox_try(&sink->outbox, &target, &record);
}

void sink_query_later(struct rrmp_sink *sink, uint64_t spread_ns)
{
    if (sink->query_due_ns == RRMP_NEVER)
        sink->query_due_ns = sink->now_ns + md_splitmix64(&sink->random) % spread_ns;
}

static bool descriptions_missing(const struct rrmp_sink *sink)
{
    for (uint32_t n = 0; n < sink->links.high; n++) {
        const struct sink_link *link = sink_link_at(sink, n);
        if (link->in_use && link->version == 0)
            return true;
    }
    return false;
}

static void queries_tick(struct rrmp_sink *sink)
{
    if (sink->now_ns >= sink->query_due_ns) {
        sink->query_due_ns = RRMP_NEVER;
        query_send(sink, RRMP_QUERY_INSTANCE);
    }
    if (sink->now_ns < sink->service_query_ns)
        return;
    sink->service_query_ns = RRMP_NEVER;
    /* A changed description is said by its instance; only one never heard is asked for. */
    if (descriptions_missing(sink))
        query_send(sink, RRMP_QUERY_SERVICE);
}

/* ---- input ---- */

static void directory_events(struct rrmp_sink *sink)
{
    for (uint16_t i = 0; i < sink->service_count; i++) {
        if (!sink->services[i].is_event_due)
            continue;
        if (!sink_event_room(sink))
            return;
        sink->services[i].is_event_due = false;
        sink_event_put(sink, RRMP_SINK_DIRECTORY)->service = i;
    }
}

/* The instance and the handle of a tick that goes on where the last record came from. */
static const struct sink_instance *
tick_of_last(const struct rrmp_sink *sink, const struct backbone_event *message, uint32_t *handle)
{
    if (sink->last_instance == MD_NIL || message->length < RRMP_TICK_SIZE ||
        message->bytes[0] != RRMP_UPDATE)
        return NULL;
    const struct sink_instance *instance = sink_instance_at(sink, sink->last_instance);
    *handle = md_be32(message->bytes + 8);
    return instance->session == message->session && instance->port == message->src_port ? instance
                                                                                        : NULL;
}

/* The updates of a batch are of as many items, and no cache holds all items: what the next ones
 * need is fetched while this one is worked on. */
static void fetch_ahead(const struct rrmp_sink *sink, const struct backbone_event *next,
                        size_t left)
{
    const struct sink_instance *instance;
    uint32_t handle;

    if (left > 2 * FETCH_AHEAD &&
        (instance = tick_of_last(sink, &next[2 * FETCH_AHEAD], &handle)) != NULL)
        sink_slot_fetch(instance, handle);
    if (left > FETCH_AHEAD && (instance = tick_of_last(sink, &next[FETCH_AHEAD], &handle)) != NULL)
        sink_slot_item_fetch(sink, instance, handle);
}

/* ---- notices ---- */

static void instances_gone(struct rrmp_sink *sink, uint64_t session, uint16_t port)
{
    for (uint32_t n = 0; n < sink->instances.high; n++) {
        const struct sink_instance *instance = sink_instance_at(sink, n);
        bool is_meant =
            session == 0 || (instance->session == session && (port == 0 || instance->port == port));
        if (instance->in_use && is_meant)
            sink_instance_gone(sink, n);
    }
    directory_events(sink);
}

/* A lost record may have been a service that is up again: SERVICE records bear no number. */
static void links_unsure(struct rrmp_sink *sink, uint32_t instance)
{
    for (uint32_t n = 0; n < sink->links.high; n++) {
        struct sink_link *link = sink_link_at(sink, n);
        if (link->in_use && link->instance == instance && !(link->row_state & RRMP_SERVICE_UP))
            link->is_unsure = true;
    }
}

static void gap_of(struct rrmp_sink *sink, uint64_t session, bool is_reset)
{
    for (uint32_t n = 0; n < sink->instances.high; n++) {
        struct sink_instance *instance = sink_instance_at(sink, n);
        if (!instance->in_use || (session != 0 && instance->session != session))
            continue;
        links_unsure(sink, n);
        sink_topics_unsure(sink, n);
        sink_repeat_unanswered(sink, n, is_reset);
        if (is_reset && instance->newest_id) {
            instance->sum_due_ns = sink->now_ns;
            instance->sum_again = true;
        }
    }
    for (uint32_t i = 0; i < SINK_DICTS; i++) {
        if (sink->dicts[i].in_use && sink->dicts[i].link != MD_NIL)
            sink->dicts[i].due_ns = sink->now_ns;
    }
    sink_query_later(sink, 10 * MS);
}

static void detached(struct rrmp_sink *sink)
{
    sink->session = 0;
    rrmp_outbox_clear(&sink->outbox);
    instances_gone(sink, 0, 0);
}

static void notice_in(struct rrmp_sink *sink, const struct backbone_event *notice)
{
    switch ((enum backbone_event_type)notice->type) {
    case BACKBONE_ATTACHED:
        if (sink->session != 0)
            detached(sink);
        sink->session = notice->session;
        sink->port = notice->dst_port;
        sink_topics_begin(sink, notice->flags & BACKBONE_FLAG_FILTERS);
        sink_query_later(sink, 20 * MS);
        break;
    case BACKBONE_DETACHED:
        detached(sink);
        break;
    case BACKBONE_PEER_UP:
        sink_query_later(sink, 20 * MS);
        break;
    case BACKBONE_PEER_DOWN:
        instances_gone(sink, notice->session, 0);
        break;
    case BACKBONE_USER_DOWN:
        if (notice->src_port != 0)
            instances_gone(sink, notice->session, notice->src_port);
        break;
    case BACKBONE_GAP:
        gap_of(sink, notice->session, notice->reason == BACKBONE_GAP_UNICAST_RESET);
        break;
    case BACKBONE_OVERRUN:
        gap_of(sink, 0, false);
        break;
    case BACKBONE_TX_DROPPED:
        gap_of(sink, notice->session, true);
        break;
    case BACKBONE_MESSAGE:
    case BACKBONE_PEER_INFO:
    case BACKBONE_DENIED:
    case BACKBONE_TX_READY:
        break;
    }
}

/* The number of messages taken, up to the first other event. */
static size_t messages_in(struct rrmp_sink *sink, const struct backbone_event *events, size_t count)
{
    size_t i;

    for (i = 0; i < count && sink_event_room(sink) && !sink->has_scoped; i++) {
        uint8_t type = events[i].length ? events[i].bytes[0] : 0;
        if (events[i].type != BACKBONE_MESSAGE)
            break;
        fetch_ahead(sink, &events[i], count - i);
        sink_record_in(sink, &events[i]);
        if (type <= RRMP_GROUP)
            directory_events(sink);
    }
    return i;
}

size_t rrmp_sink_input(struct rrmp_sink *sink, uint64_t now_ns, const struct backbone_event *events,
                       size_t count)
{
    size_t taken = 1;

    sink->now_ns = now_ns;
    sink_dying_free(sink);
    if (count > 0 && events[0].type != BACKBONE_MESSAGE)
        notice_in(sink, &events[0]);
    else
        taken = messages_in(sink, events, count);
    sink_queues_serve(sink);
    return taken;
}

/* ---- time ---- */

/* To another instance, if there is one that may know more. */
static bool unanswered_move(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    uint32_t here = item->link;

    sink_item_refuse_at(sink, number, here, SINK_REFUSED_NS);
    if (sink_link_choose(sink, item) != MD_NIL) {
        if (item->is_follower)
            sink_list_begin(sink, here); /* silence does not say that it is not bound there */
        sink_item_leave(sink, number, RRMP_CLOSE_MOVED);
        sink_item_place(sink, number, QUEUE_RECOVERY);
        return true;
    }
    sink_refusals_forgive(&sink_work_take(sink, number)->refused,
                          sink_link_at(sink, here)->instance);
    return false;
}

/* No answer in time: ask again, at another instance after the third time. */
static void item_unanswered(struct rrmp_sink *sink, uint32_t number)
{
    static const char text[] = "no answer from the source yet";
    static const struct rrmp_view none;
    struct sink_item *item = sink_item_at(sink, number);

    sink->stats.requests_repeated++;
    uint8_t tries = ++sink_work_take(sink, number)->tries;
    if (item->is_private) {
        sink_private_end(sink, number, RRMP_CLOSE_NOBODY);
        return;
    }
    if (tries == 1 && !item->had_image)
        sink_item_tell(
            sink, number, RRMP_STATE_OPEN_SUSPECT, RRMP_CODE_TIMEOUT,
            (struct rrmp_view){ .bytes = (const uint8_t *)text, .length = sizeof(text) - 1 });
    if (tries >= TRIES_MAX && item->state != RRMP_SINK_LIVE) {
        if (unanswered_move(sink, number))
            return;
        tries = TRIES_MAX - 1;
    }
    sink_work_take(sink, number)->tries = tries;
    if (tries > 1)
        sink_window_leave(sink, item);
    if (item->state == RRMP_SINK_LIVE) {
        sink_queue_remove(sink, number);
        sink_queue_put(sink, number, QUEUE_NEW);
        return;
    }
    if (item->had_image && !item->suspect_sent && item->is_image_open) {
        item->suspect_sent = true; /* the image stopped in the middle */
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, RRMP_CODE_GAP_DETECTED, none);
    }
    sink_item_requeue(sink, number, QUEUE_RECOVERY);
}

static void item_timer(struct rrmp_sink *sink, uint32_t number)
{
    static const struct rrmp_view none;
    struct sink_item *item = sink_item_at(sink, number);

    if (item->is_ending) {
        sink_item_end(sink, number, RRMP_STATE_CLOSED_RECOVER, RRMP_CODE_NONE, 0, none);
        return;
    }
    switch ((enum rrmp_sink_item_state)item->state) {
    case RRMP_SINK_PARKED:
        return;
    case RRMP_SINK_QUEUED: /* refused "later" */
        if (item->queue == QUEUE_NONE)
            sink_queue_put(sink, number, item->had_image ? QUEUE_RECOVERY : QUEUE_NEW);
        return;
    case RRMP_SINK_ASKED:
    case RRMP_SINK_FILLING:
        if (!sink_replay_goes_on(sink, number))
            item_unanswered(sink, number);
        return;
    case RRMP_SINK_LIVE:
        if (item->is_image_open) {
            sink_item_lost(sink, number, RRMP_CODE_GAP_DETECTED); /* its image stopped */
        } else if (item->wants_image) {
            item_unanswered(sink, number);
        } else {
            if (!item->is_asked && !item->is_follower && item->queue == QUEUE_NONE)
                sink_queue_put(sink, number, QUEUE_BACKGROUND);
            sink_item_check(sink, number);
        }
        return;
    }
}

/* An instance that is silent for its time hangs; when it wakes, it hears that we have moved. */
static void instances_check(struct rrmp_sink *sink)
{
    for (uint32_t n = 0; n < sink->instances.high; n++) {
        struct sink_instance *instance = sink_instance_at(sink, n);
        if (!instance->in_use ||
            sink->now_ns - instance->heard_ns < sink->config.instance_timeout_ns)
            continue;
        instance->was_silent = true;
        sink_instance_gone(sink, n);
    }
}

void rrmp_sink_tick(struct rrmp_sink *sink, uint64_t now_ns, bool input_is_empty)
{
    uint32_t number;

    sink->now_ns = now_ns;
    sink_dying_free(sink);
    rrmp_outbox_flush(&sink->outbox);
    if (input_is_empty)
        instances_check(sink);
    sink_resume_tick(sink, input_is_empty);
    directory_events(sink);
    sink_loss_tick(sink);
    sink_parked_check(sink);
    sink_topics_tick(sink);
    sink_mirror_tick(sink);
    sink_lists_tick(sink);
    while (sink_event_room(sink) && (number = md_wheel_expire(&sink->wheel, now_ns)) != MD_NIL) {
        const struct sink_work *work = md_slots_at(&sink->works, number);
        item_timer(sink, work->item);
    }
    sink_early_expire(sink, MD_NIL, false);
    sink_posts_tick(sink);
    queries_tick(sink);
    sink_sums(sink, false);
    sink_queues_serve(sink);
}

static void sooner(uint64_t *deadline, uint64_t due)
{
    if (due < *deadline)
        *deadline = due;
}

uint64_t rrmp_sink_deadline(const struct rrmp_sink *sink)
{
    uint64_t deadline = md_wheel_deadline(&sink->wheel);

    sooner(&deadline, sink_dicts_deadline(sink));
    sooner(&deadline, sink->query_due_ns);
    sooner(&deadline, sink->service_query_ns);
    sooner(&deadline, sink_mirror_deadline(sink));
    sooner(&deadline, sink_resume_deadline(sink));
    sooner(&deadline, sink_topics_deadline(sink));
    for (uint32_t n = 0; n < sink->instances.high; n++) {
        const struct sink_instance *instance = sink_instance_at(sink, n);
        if (!instance->in_use)
            continue;
        sooner(&deadline, instance->heard_ns + sink->config.instance_timeout_ns);
        if (instance->newest_id || instance->sums_idle < SINK_SUMS_IDLE)
            sooner(&deadline, instance->sum_due_ns);
        if (instance->audit_id)
            sooner(&deadline, instance->audit_due_ns);
    }
    for (uint32_t n = 0; n < sink->links.high; n++) {
        const struct sink_link *link = sink_link_at(sink, n);
        if (link->in_use && link->is_in_doubt)
            sooner(&deadline, link->verify_due_ns);
        if (link->in_use && link->paused_until_ns)
            sooner(&deadline, link->paused_until_ns);
        if (link->in_use && sink->session != 0)
            sooner(&deadline, link->list_ns);
    }
    for (uint16_t i = 0; i < sink->service_count; i++) {
        if (sink->services[i].parked_count > 0 && sink->services[i].links != MD_NIL)
            sooner(&deadline, sink->parked_check_ns);
    }
    for (uint32_t i = 0; i < sink->early_count; i++)
        sooner(&deadline, sink->early[i].since_ns + SINK_EARLY_NS);
    if (sink->session == 0)
        return deadline;
    bool has_work = rrmp_outbox_waits(&sink->outbox);
    for (uint32_t n = 0; n < sink->links.high && sink->may_send && !has_work; n++) {
        const struct sink_link *link = sink_link_at(sink, n);
        has_work = link->in_use && sink_link_sendable(sink, link);
    }
    if (has_work)
        sooner(&deadline, sink->now_ns + MS / 10);
    return deadline;
}

const struct rrmp_sink_stats *rrmp_sink_stats(const struct rrmp_sink *sink)
{
    struct rrmp_sink_stats *stats = &((struct rrmp_sink *)(uintptr_t)sink)->stats;

    stats->items_now = sink->items.count;
    stats->instances_now = sink->instances.count;
    stats->posts_now = sink->posts.count;
    return stats;
}

size_t rrmp_sink_memory_max(const struct rrmp_sink *sink)
{
    const struct rrmp_sink_config *config = &sink->config;
    size_t instance_max = SINK_CHUNKS * sizeof(struct sink_slot *) +
                          SINK_CHUNKS * (size_t)SINK_CHUNK * sizeof(struct sink_slot) +
                          4112 * sizeof(uint32_t) + RRMP_NAME_MAX + 1;

    return sizeof(*sink) + RRMP_OUTBOX_SIZE + config->hold_bytes +
           md_slots_memory_max(&sink->instances) + md_slots_memory_max(&sink->links) +
           md_slots_memory_max(&sink->items) + md_slots_memory_max(&sink->works) +
           md_slots_memory_max(&sink->places) + md_strings_memory_max(&sink->keys) +
           md_slots_memory_max(&sink->posts) + config->instance_limit * instance_max +
           (size_t)config->link_limit * SINK_DESCRIPTION_MAX +
           (size_t)config->item_limit * (RRMP_KEY_SIZE_MAX + 65535u) +
           config->service_limit * (sizeof(*sink->services) + RRMP_NAME_MAX) +
           ((size_t)config->item_limit + config->item_buckets + 1024) * 8 *
               sizeof(struct md_map_cell) +
           SINK_EVENTS * sizeof(*sink->events);
}

size_t rrmp_sink_item_bytes(void)
{
    return sizeof(struct sink_item) + sizeof(struct sink_work) + sizeof(struct sink_place) +
           sizeof(struct sink_slot) + 2 * MD_MAP_ENTRY_BYTES;
}
