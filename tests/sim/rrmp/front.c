/* front.c - the consumers' front: what p2ps tells them is judged message by message. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "paces.h"
#include "runs.h"
#include "tests/unit/told.h"

#define KEPT_SHARE  8 /* of the output, for what may not be lost */
#define FULL_AFTER  5
#define CHECK_NS    (10 * MS) /* between two looks for what is late */
#define SAY_NS      (15 * SEC)
#define ACK_NS      (21 * SEC)
#define RETRY_NS    (5 * SEC) /* until an image is asked for again */
#define LAG_NS      (3 * SEC) /* recover time, verification, a heartbeat, and the ways */
#define LAG_LONG_NS (8 * SEC) /* when somebody has to be declared dead first */

#define FAIL(c, rule, s, ...)                                                                      \
    world_fail((c)->world, rule, "consumer %u stream %d item %u: " __VA_ARGS__)

/* ---- room ---- */

static bool has_room(const struct consumer *c, bool is_vital)
{
    return c->queued + (is_vital ? 0 : c->room / KEPT_SHARE) < c->room;
}

static void taken(struct consumer *c, const void *bytes, size_t length)
{
    struct world *world = c->world;

    c->queued++;
    world->hash = rrmp_key_hash(bytes, length) ^ (world->hash << 1 | world->hash >> 63) ^
                  world->now_ns ^ (uint64_t)c->number << 56;
}

static void fail(struct consumer *c, const struct stream *s, const char *rule, const char *what)
{
    world_fail(c->world, rule, "consumer %u stream %d item %u at %u: %s", c->number, s->id, s->item,
               s->counter, what);
}

static uint32_t service_of(const struct world *world, uint32_t item)
{
    return is_item(world, item) ? world->items[item].service : 0;
}

/* ---- states ---- */

static bool is_patient(const struct consumer *c)
{
    return c->single_open && c->allow_suspect;
}

static void ended(struct consumer *c, struct stream *s, const struct rwf_state *state)
{
    struct coverage *coverage = c->world->coverage;
    uint32_t service = service_of(c->world, s->item);
    bool is_recover = state->stream_state == RWF_STREAM_CLOSED_RECOVER;
    bool is_up = c->knows_service[service] && c->service_up[service];

    coverage->closed++;
    coverage->closed_recover += is_recover;
    coverage->not_entitled += state->code == RWF_CODE_NOT_ENTITLED;
    coverage->not_found += state->code == RWF_CODE_NOT_FOUND;
    coverage->snapshots += s->kind == STREAM_SNAPSHOT;
    if (is_recover && s->kind == STREAM_SHARED && !s->has_data && is_patient(c) && is_up &&
        service != SERVICES_MAX - 1)
        fail(c, s, "R18", "CLOSED_RECOVER answers a request while the service is up");
    if (state->code == RWF_CODE_NOT_ENTITLED && !c->is_low)
        fail(c, s, "R22", "not entitled, but it is");
    if (c->is_bystander)
        fail(c, s, "R16", "closed, though nothing concerns it");
    s->kind = STREAM_FREE;
}

static void state_take(struct consumer *c, struct stream *s, const struct rwf_state *state)
{
    s->was_told = true;
    paces_disturb(c->world, s->item);
    if (state->stream_state != RWF_STREAM_OPEN && state->stream_state != RWF_STREAM_NON_STREAMING) {
        ended(c, s, state);
        return;
    }
    if (state->data_state == RWF_DATA_NO_CHANGE)
        return;
    s->is_suspect = state->data_state == RWF_DATA_SUSPECT;
    s->may_jump = s->may_jump || s->is_suspect;
    c->world->coverage->suspects += s->is_suspect;
    c->world->told_suspect += s->is_suspect;
    if (s->is_suspect)
        experiment_told(c, s);
}

static int status(void *self, const struct omm_status *told)
{
    struct consumer *c = self;
    struct coverage *coverage = c->world->coverage;

    if (!has_room(c, true))
        return MD_ERR_FULL;
    const int32_t words[3] = { told->stream_id,
                               told->state.stream_state << 8 | told->state.data_state,
                               told->state.code };
    taken(c, words, sizeof(words));
    world_trace(c->world, "consumer %u stream %d status %u/%u/%u %.*s", c->number, told->stream_id,
                told->state.stream_state, told->state.data_state, told->state.code,
                (int)told->state.text.length, (const char *)told->state.text.data);
    struct stream *s = consumer_stream(c, told->stream_id);
    bool is_open = told->state.stream_state == RWF_STREAM_OPEN;
    if (!s) {
        /* The login is told why it is cut. */
        if (is_open && told->stream_id < CROWD_STREAM && told->stream_id != LOGIN_STREAM)
            world_fail(c->world, "R1", "consumer %u: a status on stream %d, which is not open",
                       c->number, told->stream_id);
        return MD_OK;
    }
    coverage->statuses++;
    if (is_open && told->state.code == RWF_CODE_JIT_CONFLATION_STARTED) {
        coverage->conflations++;
        s->is_conflated = s->may_jump = true;
        if (c->is_bystander)
            fail(c, s, "R16", "conflated, though it reads");
    } else if (is_open && told->state.code == RWF_CODE_REALTIME_RESUMED) {
        coverage->resumptions++;
        s->is_conflated = false;
    }
    state_take(c, s, &told->state);
    return MD_OK;
}

/* ---- images and updates ---- */

static void content_judge(struct consumer *c, struct stream *s, const struct rwf_msg *msg,
                          struct content *content, bool is_image)
{
    const struct world *world = c->world;

    content_read(msg, content);
    const char *wrong = run_fields_judge(c, s, content, is_image);
    if (wrong)
        fail(c, s, "R1", wrong);
    if (content->item != s->item)
        FAIL(c, "R11", s, "a record of item %u came", c->number, s->id, s->item, content->item);
    if (content->permission == 1 && c->is_low && !world->plan.core.authority_is_late)
        fail(c, s, "R22", "it may not see this");
    /* Updates that a slow consumer waits for come when their source may be gone. */
    bool is_late = !is_image && content->maker == s->maker;
    bool is_current = (!is_image && !is_late) || (is_image && msg->state.data_state == RWF_DATA_OK);
    const struct proc *proc = &world->procs[c->proc];
    /* A pending update goes out before the state that the end of its src_dist brings. */
    bool was_pending = !is_image && s->pace && proc->end_heard_ns == world->now_ns;
    if (is_current && !was_pending && !world->plan.core.is_mirrored &&
        !proc_hears(world, proc, content->maker))
        FAIL(c, "R12", s, "of src_dist life %u, whose INSTANCE was not heard or whose end was",
             c->number, s->id, s->item, content->maker);
    experiment_data(c, s, content->counter);
}

/* Which parts it holds follow those that came before; from a cache all are in one. */
static void parts_judge(struct consumer *c, struct stream *s, const struct content *content,
                        bool is_first, bool is_last)
{
    uint32_t all = is_item(c->world, s->item) ? (1u << c->world->items[s->item].parts) - 1 : 1;

    if (is_first) {
        s->parts = 0;
        s->part_count = 0;
    } else if (!s->is_filling) {
        fail(c, s, "R3", "an image without its first part");
    }
    s->part_count++;
    s->parts |= content->parts;
    s->is_filling = !is_last;
    if (s->has_view)
        return;
    uint32_t parts = run_parts(c->world, s->item, s->parts);
    if (parts & (parts + 1))
        fail(c, s, "R3", "a part of the image before another");
    if (is_last && parts != run_parts(c->world, s->item, all))
        fail(c, s, "R3", "a part of the image is missing");
}

/* Updates of permission 1 are not for those who may not see it; they get the ones around it. */
static bool may_lack_updates(const struct consumer *c, const struct stream *s)
{
    return c->is_low && GUARDED(s->item) && s->kind != STREAM_PRIVATE;
}

static void order_judge(struct consumer *c, struct stream *s, uint32_t counter, bool is_first)
{
    bool may_jump = s->may_jump || s->is_conflated || c->pause_all || s->is_paused ||
                    (may_lack_updates(c, s) && counter > s->counter);
    bool is_paused = s->is_paused || c->pause_all; /* what lies between the parts is left out */
    bool is_here = counter >= s->counter && run_is_empty(c->world, s->item, s->counter, counter);
    if (!is_first && !is_here && !(is_paused && counter > s->counter))
        FAIL(c, "R3", s, "part at %u of an image at %u", c->number, s->id, s->item, counter,
             s->counter);
    /* It may be what the provider says instead of the next update. */
    bool is_next = counter > s->counter && run_is_empty(c->world, s->item, s->counter, counter - 1);
    if (is_first && s->has_data && !may_jump && counter != s->counter && !is_next)
        FAIL(c, "R2", s, "image %u after %u and no SUSPECT between", c->number, s->id, s->item,
             counter, s->counter);
}

static void image_take(struct consumer *c, struct stream *s, const struct rwf_msg *msg)
{
    struct coverage *coverage = c->world->coverage;
    struct content content;
    uint32_t service = service_of(c->world, s->item);
    bool is_first = msg->flags & RWF_REFRESH_CLEAR_CACHE;
    bool is_last = msg->flags & RWF_REFRESH_COMPLETE;
    bool is_solicited = msg->flags & RWF_REFRESH_SOLICITED;
    bool is_private = msg->flags & RWF_REFRESH_PRIVATE_STREAM;

    content_judge(c, s, msg, &content, true);
    paces_disturb(c->world, s->item);
    const char *wrong = paces_refresh_judge(c->world, s, msg);
    if (wrong)
        fail(c, s, "R3", wrong);
    parts_judge(c, s, &content, is_first, is_last);
    order_judge(c, s, content.counter, is_first);
    if (is_solicited && !s->wants)
        fail(c, s, "R3", "a solicited refresh that was not asked for");
    if (!is_solicited && !s->has_data)
        fail(c, s, "R3", "the first refresh is not the one that was asked for");
    if (is_private != (s->kind == STREAM_PRIVATE))
        fail(c, s, "R21", "the private flag is wrong");
    if (s->kind == STREAM_PRIVATE && s->has_data && !s->may_jump)
        fail(c, s, "R21", "a private stream was given an image that nobody asked for");
    if (msg->state.data_state == RWF_DATA_OK && c->knows_service[service] &&
        !c->service_up[service])
        fail(c, s, "R17", "a refresh while the directory says the service is down");
    if (!is_solicited && is_first)
        experiment_news(c, s);
    coverage->images++;
    coverage->images_unsolicited += !is_solicited;
    coverage->images_of_parts += is_last && s->part_count > 1;
    s->counter = content.counter;
    s->maker = content.maker;
    s->eighth = content.eighth;
    if (is_first) {
        s->may_jump = true; /* until it is whole it may begin again */
    }
    s->has_data = s->was_told = true;
    s->has_group = msg->group_id.length == sizeof(s->group);
    if (s->has_group)
        memcpy(s->group, msg->group_id.data, sizeof(s->group));
    if (!is_last)
        return;
    s->wants = s->wants && !is_solicited;
    s->may_jump = s->wants || s->is_paused || c->pause_all;
    s->is_suspect = msg->state.data_state == RWF_DATA_SUSPECT;
    s->may_jump = s->may_jump || s->is_suspect;
    if (s->kind == STREAM_SNAPSHOT) {
        if (msg->state.stream_state != RWF_STREAM_NON_STREAMING)
            fail(c, s, "R3", "a snapshot that streams");
        coverage->snapshots++;
        s->kind = STREAM_FREE;
    }
}

static void update_take(struct consumer *c, struct stream *s, const struct rwf_msg *msg)
{
    struct content content;

    content_judge(c, s, msg, &content, false);
    if (!s->has_data)
        fail(c, s, "R3", "an update before any image");
    if (s->is_paused || c->pause_all)
        fail(c, s, "R3", "an update while it is paused");
    if (s->kind == STREAM_SNAPSHOT && !s->is_filling) /* between its parts it belongs to it */
        fail(c, s, "R3", "an update of a snapshot");
    if (rwf_msg_has_key(msg) != s->has_key)
        fail(c, s, "R3", s->has_key ? "an update without its key" : "an update with a key");
    const char *wrong = run_judge(c, s, msg, &content);
    if (wrong && may_lack_updates(c, s) && content.counter > s->counter)
        c->world->coverage->updates_withheld++;
    else if (wrong)
        FAIL(c, s->kind == STREAM_PRIVATE ? "R21" : "R2", s, "update %u after %u%s: %s", c->number,
             s->id, s->item, content.counter, s->counter, s->is_suspect ? " (suspect)" : "", wrong);
    s->counter = content.counter;
    s->maker = content.maker;
    s->eighth = content.has_eighth ? content.eighth : s->eighth;
    c->world->coverage->updates++;
    c->world->coverage->private_updates += s->kind == STREAM_PRIVATE;
}

static void message_take(struct consumer *c, struct stream *s, const struct rwf_msg *msg)
{
    struct content content;

    switch (msg->msg_class) {
    case RWF_CLASS_REFRESH:
        image_take(c, s, msg);
        break;
    case RWF_CLASS_UPDATE:
        update_take(c, s, msg);
        break;
    case RWF_CLASS_GENERIC:
        c->world->coverage->generics_down++;
        paces_disturb(c->world, s->item);
        if (!content_read(msg, &content) || content.item != s->item)
            fail(c, s, "R11", "a generic message of another item");
        break;
    default:
        fail(c, s, "R1", "a message of a strange class");
        break;
    }
}

static int put(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
               bool snapshot)
{
    struct consumer *c = self;
    uint8_t bytes[4096 + 512];
    struct rwf_msg msg;

    struct stream *s = consumer_stream(c, stream_id);

    if (!has_room(c, made->is_vital)) {
        paces_disturb(c->world, s ? s->item : ITEMS_MAX);
        return MD_ERR_FULL;
    }
    if (made->length > sizeof(bytes)) {
        world_fail(c->world, "R1", "a message of %zu bytes", made->length);
        return MD_OK;
    }
    p2ps_rwf_write(bytes, made, stream_id, solicited, snapshot);
    taken(c, bytes, made->length);
    if (stream_id >= CROWD_STREAM) {
        experiment_crowd_answered(c, stream_id);
        return MD_OK;
    }
    if (rwf_msg_decode(rwf_bytes(bytes, made->length), &msg) != RWF_OK)
        world_fail(c->world, "R22", "consumer %u: a message that cannot be read", c->number);
    else if (!s)
        world_fail(c->world, "R1", "consumer %u: a message on stream %d, which is not open",
                   c->number, stream_id);
    else
        message_take(c, s, &msg);
    if (s && c->world->options.is_traced)
        world_trace(c->world, "consumer %u stream %d item %u class %u at %u flags %x state %u",
                    c->number, stream_id, s->item, msg.msg_class, s->counter, msg.flags,
                    msg.state.data_state);
    return MD_OK;
}

/* ---- the directory ---- */

static void service_state(struct consumer *c, uint32_t service, const struct rwf_state *state)
{
    c->world->coverage->states_by_directory++;
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        struct stream *s = &c->streams[i];
        if (s->kind != STREAM_FREE && service_of(c->world, s->item) == service)
            state_take(c, s, state);
    }
}

/* serviceForget: its streams are closed before, and it comes again under the same id. */
static void service_deleted(struct consumer *c, uint32_t service)
{
    c->world->coverage->services_deleted++;
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        const struct stream *s = &c->streams[i];
        if (s->kind != STREAM_FREE && service_of(c->world, s->item) == service)
            fail(c, s, "R17", "its service is deleted while it is open");
    }
    if (c->knows_service[service] && c->service_up[service])
        world_fail(c->world, "R17", "consumer %u: service %u is deleted while it is up", c->number,
                   service);
    c->knows_service[service] = c->service_up[service] = false;
}

/* An update of its state alone has no name. */
static uint32_t service_meant(const struct outside *outside, const struct omm_service *told)
{
    if (told->filters & OMM_FILTER_INFO)
        return service_number(told->name);
    for (uint32_t i = 0; i < SERVICES_MAX; i++) {
        if (outside->service_id[i] == told->id)
            return i;
    }
    return SERVICES_MAX;
}

static void service_take(struct consumer *c, const struct omm_service *told)
{
    struct outside *outside = c->world->outside;
    struct coverage *coverage = c->world->coverage;
    uint32_t service = service_meant(outside, told);
    const char *wrong = paces_service_judge(c->world, told);

    if (service >= SERVICES_MAX)
        return;
    if (told->action == RWF_MAP_DELETE) {
        service_deleted(c, service);
        return;
    }
    if (wrong)
        world_fail(c->world, "R17", "consumer %u: service %u: %s", c->number, service, wrong);
    if (outside->service_id[service] == 0)
        outside->service_id[service] = told->id;
    if (outside->service_id[service] != told->id)
        world_fail(c->world, "R17", "service %u is %u here and %u elsewhere", service, told->id,
                   outside->service_id[service]);
    if (!(told->filters & OMM_FILTER_STATE))
        return;
    bool was_up = c->knows_service[service] && c->service_up[service];
    bool was_down = c->knows_service[service] && !c->service_up[service];
    if (was_up && !told->is_up && !told->has_status)
        world_fail(c->world, "R17", "consumer %u: service %u goes down without a status", c->number,
                   service);
    coverage->service_downs_told += was_up && !told->is_up;
    coverage->service_ups_told += was_down && told->is_up;
    c->knows_service[service] = true;
    c->service_up[service] = told->is_up;
    if (told->has_status)
        service_state(c, service, &told->status);
}

static int directory(void *self, const struct omm_directory_head *head,
                     const struct omm_service services[], size_t count)
{
    struct consumer *c = self;

    if (!has_room(c, true))
        return MD_ERR_FULL;
    c->world->coverage->directory++;
    taken(c, &head->stream_id, sizeof(head->stream_id));
    for (size_t i = 0; i < count; i++) {
        world_trace(c->world, "consumer %u directory %s: service %u %s%s", c->number,
                    head->is_update ? "update" : "refresh", services[i].id,
                    services[i].is_up ? "up" : "down",
                    !services[i].has_status                             ? ""
                    : services[i].status.data_state == RWF_DATA_SUSPECT ? ", suspect"
                                                                        : ", ok");
        service_take(c, &services[i]);
    }
    return MD_OK;
}

static int group(void *self, int32_t stream_id, uint16_t service_id, const struct omm_group *change)
{
    struct consumer *c = self;
    const struct outside *outside = c->world->outside;

    if (!has_room(c, true))
        return MD_ERR_FULL;
    taken(c, &stream_id, sizeof(stream_id));
    world_trace(c->world, "consumer %u group %02x%02x of service %u: %u/%u", c->number,
                change->group.data[1], change->group.data[3], service_id,
                change->status.stream_state, change->status.data_state);
    c->world->coverage->states_by_group++;
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        struct stream *s = &c->streams[i];
        if (s->kind != STREAM_FREE && s->has_group && change->has_status &&
            outside->service_id[service_of(c->world, s->item)] == service_id &&
            rwf_bytes_equal(change->group, rwf_bytes(s->group, sizeof(s->group))))
            state_take(c, s, &change->status);
    }
    return MD_OK;
}

/* ---- the rest ---- */

static int login_refresh(void *self, const struct omm_login_refresh *refresh)
{
    struct consumer *c = self;

    if (!has_room(c, true))
        return MD_ERR_FULL;
    taken(c, &refresh->stream_id, sizeof(refresh->stream_id));
    c->is_in = true;
    return MD_OK;
}

/* R19: one answer, with the consumer's own numbers. */
static int ack(void *self, const struct omm_ack *told)
{
    struct consumer *c = self;

    if (!has_room(c, true))
        return MD_ERR_FULL;
    taken(c, &told->ack_id, sizeof(told->ack_id));
    c->world->coverage->acks += told->nak_code == 0;
    c->world->coverage->naks += told->nak_code != 0;
    for (uint32_t i = 0; i < POSTS_MAX; i++) {
        struct consumer_post *post = &c->posts[i];
        if (!post->is_open || post->id != told->ack_id || post->stream_id != told->stream_id)
            continue;
        if (!told->has_seq_num || told->seq_num != post->seq)
            world_fail(c->world, "R19", "consumer %u: the answer to post %u has another number",
                       c->number, post->id);
        post->is_open = false;
        return MD_OK;
    }
    world_fail(c->world, "R19", "consumer %u: an answer to no post, id %u stream %d", c->number,
               told->ack_id, told->stream_id);
    return MD_OK;
}

static int rtt(void *self, int32_t stream_id, const struct omm_rtt *told)
{
    (void)told;
    taken(self, &stream_id, sizeof(stream_id));
    return MD_OK;
}

static int part(void *self, struct rwf_bytes bytes)
{
    taken(self, bytes.data, bytes.length);
    return MD_OK;
}

static int message(void *self, struct rwf_bytes bytes)
{
    static const struct told told = {
        .status = status,
        .ack = ack,
        .rtt = rtt,
        .directory = directory,
        .group = group,
        .other = part,
    };

    return told_take(self, &told, bytes);
}

static bool reads(const struct consumer *c)
{
    return c->world->now_ns >= c->stopped_until_ns;
}

static void flush(void *self)
{
    struct consumer *c = self;

    if (!c->is_slow && reads(c))
        c->queued = 0;
}

static bool is_full(const void *self)
{
    const struct consumer *c = self;

    return c->queued >= FULL_AFTER;
}

static unsigned fill(const void *self)
{
    const struct consumer *c = self;

    return c->queued * 100 / c->room;
}

static void close_consumer(void *self, const char *reason)
{
    struct consumer *c = self;

    world_trace(c->world, "consumer %u is cut: %s", c->number, reason);
    c->world->coverage->consumer_cuts++;
    if (!c->is_slow && reads(c))
        world_fail(c->world, "R16", "consumer %u reads and is cut: %s", c->number, reason);
    consumer_end(c);
}

const struct p2ps_front consumer_front = {
    .name = "model",
    .make = p2ps_rwf_make,
    .put = put,
    .login_refresh = login_refresh,
    .message = message,
    .flush = flush,
    .is_full = is_full,
    .fill = fill,
    .close = close_consumer,
};

/* ---- what must hold all the time ---- */

/* Nobody was away within that time: processes, providers, the consumer himself. */
static bool all_well(const struct world *world, const struct consumer *c, uint64_t time_ns)
{
    if (world->now_ns < time_ns || world->outside->trouble_ns + time_ns > world->now_ns ||
        c->stopped_until_ns + time_ns > world->now_ns)
        return false;
    for (uint32_t p = 0; p < world->proc_count; p++) {
        const struct proc *proc = &world->procs[p];
        if ((proc->is_source || p == c->proc) &&
            (!proc->is_alive || proc->hung_until_ns + time_ns > world->now_ns ||
             proc->woke_ns + time_ns > world->now_ns))
            return false;
    }
    return true;
}

/* R4: a missing update is told or healed in time. */
static void lag_check(struct consumer *c, const struct stream *s, uint64_t bound)
{
    const struct world *world = c->world;
    const struct world_item *item = &world->items[s->item];
    uint32_t first = run_first(world, s->item, s->counter, item->counter);
    uint32_t missing = item->counter + 1 - first;
    /* A stream that goes on awaits its image; the request for it may be lost, and is repeated. */
    uint64_t patience = bound + (world->plan.unicast_loss_ppm ? RETRY_NS : 0);

    if (missing == 0 || may_lack_updates(c, s) || !s->has_data || s->is_suspect ||
        s->is_conflated || s->is_paused || s->wants || c->pause_all || c->is_slow ||
        world->now_ns - s->resumed_ns < patience)
        return;
    first = missing < 64 ? first : item->counter - 63;
    bound += (lines_of(world, s->item)->interval + paces_interval(world, s)) * MS;
    if (world->now_ns - item->changed_ns[first % 64] > bound)
        FAIL(c, "R4", s, "%u of %u for %.3f s and not told", c->number, s->id, s->item, s->counter,
             item->counter, (double)(world->now_ns - item->changed_ns[first % 64]) / 1e9);
}

static bool is_simple(const struct plan *plan)
{
    const struct core_plan *core = &plan->core;

    return !plan->kills && !plan->hangs && !plan->node_kills && !plan->partitions && !plan->laps &&
           !plan->provider_losses && !core->service_downs && !core->silences && !core->jams &&
           !core->item_ends && !core->has_broadcast;
}

static void stream_check(struct consumer *c, const struct stream *s)
{
    const struct world *world = c->world;
    bool has_time = world->plan.ring_bytes >= 1 << 20;
    uint64_t bound = is_simple(&world->plan) ? LAG_NS : LAG_LONG_NS;

    if (s->kind == STREAM_FREE)
        return;
    if (!paces_are_kept(world, s))
        FAIL(c, "R2", s, "two merged updates in one interval, the second at %.6f s", c->number,
             s->id, s->item, (double)s->early_ns / 1e9);
    if (s->kind == STREAM_SHARED && is_item(world, s->item) && has_time &&
        all_well(world, c, bound))
        lag_check(c, s, bound);
    /* A window of a few requests is blocked by those whose answers were lost. */
    bool is_fair = has_time && (world->plan.window >= 100 || !world->plan.unicast_loss_ppm);
    if (is_fair && !s->was_told && s->wants && world->now_ns - s->asked_ns > SAY_NS &&
        !c->is_slow && all_well(world, c, SAY_NS))
        FAIL(c, "R18", s, "nothing was said since %.3f s", c->number, s->id, s->item,
             (double)s->asked_ns / 1e9);
}

void consumers_check(struct world *world, const struct proc *proc)
{
    if (world->now_ns - world->outside->checked_ns[proc->number] < CHECK_NS)
        return;
    world->outside->checked_ns[proc->number] = world->now_ns;
    for (uint32_t i = 0; i < world->outside->consumer_count && proc->is_alive; i++) {
        struct consumer *c = &world->outside->consumers[i];
        if (!c->is_connected || c->proc != proc->number)
            continue;
        for (uint32_t k = 0; k < STREAMS_MAX; k++)
            stream_check(c, &c->streams[k]);
        for (uint32_t k = 0; k < POSTS_MAX; k++) {
            if (c->posts[k].is_open && world->now_ns - c->posts[k].at_ns > ACK_NS &&
                all_well(world, c, ACK_NS) && !c->is_slow)
                world_fail(world, "R19", "consumer %u: post %u has no answer", i, c->posts[k].id);
        }
    }
}

/* R5: every open stream is OPEN, OK, and equal to the provider's. */
void consumers_check_end(struct world *world)
{
    for (uint32_t i = 0; i < world->outside->consumer_count; i++) {
        struct consumer *c = &world->outside->consumers[i];
        for (uint32_t k = 0; k < STREAMS_MAX; k++) {
            struct stream *s = &c->streams[k];
            if (s->kind == STREAM_FREE)
                continue;
            if (s->kind == STREAM_SNAPSHOT)
                fail(c, s, "R6", "a snapshot without an answer");
            else if (!s->has_data || s->is_suspect || s->is_conflated || s->is_filling || s->wants)
                FAIL(c, "R5", s, "%s%s%s%s%sat the end", c->number, s->id, s->item,
                     s->has_data ? "" : "no image ", s->is_suspect ? "suspect " : "",
                     s->is_conflated ? "conflated " : "", s->is_filling ? "filling " : "",
                     s->wants ? "waiting " : "");
            else if (s->kind == STREAM_SHARED && !may_lack_updates(c, s) &&
                     !run_is_empty(world, s->item, s->counter, world->items[s->item].counter))
                FAIL(c, "R5", s, "%u of %u at the end", c->number, s->id, s->item, s->counter,
                     world->items[s->item].counter);
        }
        for (uint32_t k = 0; k < POSTS_MAX; k++) {
            if (c->posts[k].is_open)
                world_fail(world, "R19", "consumer %u: post %u without answer", i, c->posts[k].id);
        }
    }
}
