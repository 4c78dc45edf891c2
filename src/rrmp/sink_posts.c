/* sink_posts.c - posts and their answers, generic messages, dictionaries. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_posts.h"

#include <string.h>

#include "base/err.h"

#define MS            1000000ull
#define SEC           1000000000ull

#define POST_NS       (20 * SEC)
#define DICT_RETRY_NS (5 * SEC)
#define DICT_TRIES    3u

/* ---- posts ---- */

static void post_free(struct rrmp_sink *sink, uint32_t number)
{
    md_wheel_cancel(&sink->post_wheel, number);
    md_slots_give(&sink->posts, number);
}

static struct sink_post *post_at(const struct rrmp_sink *sink, uint32_t number)
{
    return md_slots_at(&sink->posts, number);
}

/* A post id is a count times the limit, plus the slot: the answer finds its slot by a division, and
 * a late answer to an earlier post in it is seen as such. */
static uint32_t post_enter(struct rrmp_sink *sink, uint32_t instance, uint64_t cookie)
{
    uint32_t number = md_slots_take(&sink->posts);

    if (number == MD_NIL)
        return MD_NIL;
    struct sink_post *post = post_at(sink, number);
    post->in_use = true;
    post->instance = instance;
    uint32_t limit = sink->config.post_limit;
    sink->next_post = (sink->next_post + 1) % (UINT32_MAX / limit);
    post->id = sink->next_post * limit + number;
    post->cookie = cookie;
    md_wheel_set(&sink->post_wheel, number, sink->now_ns + POST_NS);
    return number;
}

int rrmp_sink_post(struct rrmp_sink *sink, uint64_t now_ns, uint32_t item_number, uint16_t service,
                   struct rrmp_view key, struct rrmp_view message, bool wants_ack, uint64_t cookie)
{
    uint32_t at = MD_NIL;
    uint32_t handle = RRMP_HANDLE_NONE;

    sink->now_ns = now_ns;
    if (key.length > RRMP_KEY_SIZE_MAX)
        return MD_ERR_RANGE;
    if (sink_item_exists(sink, item_number)) {
        const struct sink_item *item = sink_item_at(sink, item_number);
        at = item->link;
        handle = item->handle;
        key = sink_key(sink, item);
    } else if (service < sink->service_count) {
        uint8_t domain = key.length ? key.bytes[0] : 0;
        const struct sink_wish wish = { .service = service,
                                        .key_hash = rrmp_key_hash(key.bytes, key.length),
                                        .key = { .bytes = (uint8_t[8]){ domain }, .length = 8 },
                                        .work = &sink_work_none };
        at = sink_wish_choose(sink, &wish);
        for (uint32_t n = sink->services[service].links; at == MD_NIL && n != MD_NIL;
             n = sink_link_at(sink, n)->service_next) {
            if (sink_link_usable(sink, NULL, n))
                at = n; /* a post is not bound to capability or quality */
        }
    }
    if (at == MD_NIL)
        return MD_ERR_NOT_FOUND;
    const struct sink_link *link = sink_link_at(sink, at);
    if (!(link->description.features & RRMP_FEATURE_POSTS))
        return MD_ERR_UNSUPPORTED;
    uint32_t number = wants_ack ? post_enter(sink, link->instance, cookie) : MD_NIL;
    if (wants_ack && number == MD_NIL)
        return MD_ERR_FULL;
    const struct sink_instance *instance = sink_instance_at(sink, link->instance);
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = instance->session,
                                      .port = instance->port };
    struct rrmp_record record = {
        .header = { .type = RRMP_POST, .svc = link->svc },
        .u.post = { .id = wants_ack ? post_at(sink, number)->id : 0,
                    .handle = handle,
                    .flags = wants_ack ? RRMP_POST_ACK : 0,
                    .key_hash = rrmp_key_hash(key.bytes, key.length),
                    .key = key,
                    .message = message },
    };
    if (rrmp_outbox_try(&sink->outbox, &target, &record))
        return MD_OK;
    if (wants_ack)
        post_free(sink, number);
    return MD_ERR_AGAIN;
}

int rrmp_sink_generic(struct rrmp_sink *sink, uint32_t number, struct rrmp_view message)
{
    if (!sink_item_exists(sink, number))
        return MD_ERR_NOT_FOUND;
    const struct sink_item *item = sink_item_at(sink, number);
    if (item->link == MD_NIL || item->handle == RRMP_HANDLE_NONE)
        return MD_ERR_STATE;
    const struct sink_link *link = sink_link_at(sink, item->link);
    const struct sink_instance *instance = sink_instance_at(sink, link->instance);
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = instance->session,
                                      .port = instance->port };
    struct rrmp_record record = {
        .header = { .type = RRMP_GENERICUP, .svc = link->svc },
        .u.tick = { .handle = item->handle, .message = message },
    };
    return rrmp_outbox_try(&sink->outbox, &target, &record) ? MD_OK : MD_ERR_AGAIN;
}

void sink_ack_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record)
{
    const struct rrmp_ack *ack = &record->u.ack;

    uint32_t number = ack->post_id % sink->config.post_limit;

    if (number >= sink->posts.high)
        return;
    const struct sink_post *post = post_at(sink, number);
    if (!post->in_use || post->id != ack->post_id || post->instance != instance)
        return; /* late, or never ours */
    struct rrmp_sink_event *event = sink_event_put(sink, RRMP_SINK_ACK);
    event->cookie = post->cookie;
    event->message = ack->message;
    post_free(sink, number);
}

/* No answer will come from there: the timers that say so are due now. */
void sink_posts_of_gone(struct rrmp_sink *sink, uint32_t instance)
{
    for (uint32_t n = 0; n < sink->posts.high; n++) {
        struct sink_post *post = post_at(sink, n);
        if (!post->in_use || post->instance != instance)
            continue;
        post->instance = MD_NIL;
        md_wheel_set(&sink->post_wheel, n, sink->now_ns);
    }
}

static void posts_expire(struct rrmp_sink *sink)
{
    uint32_t number;

    while (sink_event_room(sink) &&
           (number = md_wheel_expire(&sink->post_wheel, sink->now_ns)) != MD_NIL) {
        const struct sink_post *post = post_at(sink, number);
        struct rrmp_sink_event *event = sink_event_put(sink, RRMP_SINK_POST_LOST);
        event->cookie = post->cookie;
        event->code = post->instance == MD_NIL ? RRMP_NAK_GATEWAY_DOWN : RRMP_NAK_NO_RESPONSE;
        sink->stats.posts_lost++;
        post_free(sink, number);
    }
}

/* ---- dictionaries ---- */

int rrmp_sink_dictionary(struct rrmp_sink *sink, uint64_t now_ns, uint16_t service,
                         struct rrmp_view name, uint32_t filter, uint64_t cookie)
{
    sink->now_ns = now_ns;
    if (service >= sink->service_count || name.length > RRMP_NAME_MAX)
        return MD_ERR_NOT_FOUND;
    for (uint32_t i = 0; i < SINK_DICTS; i++) {
        struct sink_dict *dict = &sink->dicts[i];
        if (dict->in_use)
            continue;
        sink->dict_count++;
        *dict = (struct sink_dict){ .in_use = true,
                                    .service = service,
                                    .link = MD_NIL,
                                    .filter = filter,
                                    .name_length = (uint8_t)name.length,
                                    .cookie = cookie,
                                    .due_ns = now_ns };
        if (name.length)
            memcpy(dict->name, name.bytes, name.length);
        return MD_OK;
    }
    return MD_ERR_FULL;
}

static struct rrmp_view dict_name(const struct sink_dict *dict)
{
    return (struct rrmp_view){ .bytes = dict->name, .length = dict->name_length };
}

static bool provides(const struct sink_link *link, const struct sink_dict *dict)
{
    struct rrmp_view rest = link->description.tlvs;
    struct rrmp_view value;
    uint8_t type;

    while (rrmp_tlv_next(&rest, &type, &value)) {
        if (type == RRMP_TLV_DICT_PROVIDED && value.length > dict->name_length &&
            value.bytes[0] == dict->name_length &&
            memcmp(value.bytes + 1, dict->name, dict->name_length) == 0)
            return true;
    }
    return false;
}

/* The instance to ask: each try the next one that says it has it. */
static uint32_t dict_link(const struct rrmp_sink *sink, const struct sink_dict *dict)
{
    uint32_t skip = dict->tries;
    uint32_t first = MD_NIL;

    for (uint32_t n = sink->services[dict->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next) {
        const struct sink_link *link = sink_link_at(sink, n);
        if (!(link->row_state & RRMP_SERVICE_UP) || !provides(link, dict))
            continue;
        if (skip-- == 0)
            return n;
        first = first == MD_NIL ? n : first;
    }
    return first;
}

static void dict_fail(struct rrmp_sink *sink, struct sink_dict *dict)
{
    struct rrmp_sink_event *event = sink_event_put(sink, RRMP_SINK_DICTIONARY);

    event->cookie = dict->cookie;
    event->code = RRMP_CODE_NOT_FOUND;
    event->flags = RRMP_DICT_UNKNOWN | RRMP_DICT_LAST;
    event->service = dict->service;
    event->name = dict_name(dict); /* stays until the next fetch takes this place */
    dict->in_use = false;
    sink->dict_count--;
}

static void dict_ask(struct rrmp_sink *sink, struct sink_dict *dict)
{
    uint32_t at = dict_link(sink, dict);

    if (at == MD_NIL || dict->tries >= DICT_TRIES) {
        dict_fail(sink, dict);
        return;
    }
    const struct sink_link *link = sink_link_at(sink, at);
    dict->link = at;
    dict->instance = link->instance;
    dict->tries++;
    dict->part = 0;
    dict->request_id = ++sink->next_id ? sink->next_id : ++sink->next_id;
    dict->due_ns = sink->now_ns + DICT_RETRY_NS;
    struct rrmp_record record = {
        .header = { .type = RRMP_DICTREQ, .svc = link->svc },
        .u.dictreq = { .id = dict->request_id, .filter = dict->filter, .name = dict_name(dict) },
    };
    sink_send(sink, link->instance, &record);
}

/* From the instance that was asked, and from no other one. */
void sink_dictpart_in(struct rrmp_sink *sink, uint32_t instance, const struct rrmp_record *record)
{
    const struct rrmp_dictpart *part = &record->u.dictpart;

    for (uint32_t i = 0; i < SINK_DICTS; i++) {
        struct sink_dict *dict = &sink->dicts[i];
        if (!dict->in_use || dict->link == MD_NIL || dict->instance != instance ||
            dict->request_id != part->request_id)
            continue;
        if ((part->flags & RRMP_DICT_UNKNOWN) || part->part != dict->part) {
            dict->due_ns = sink->now_ns; /* ask the next one, from the start */
            return;
        }
        struct rrmp_sink_event *event = sink_event_put(sink, RRMP_SINK_DICTIONARY);
        event->cookie = dict->cookie;
        event->service = dict->service;
        event->flags = part->flags;
        event->part = part->part;
        event->name = part->name;
        event->version = part->version;
        event->message = part->message;
        dict->part++;
        dict->due_ns = sink->now_ns + DICT_RETRY_NS;
        if (part->flags & RRMP_DICT_LAST) {
            dict->in_use = false;
            sink->dict_count--;
        }
        return;
    }
}

void sink_posts_tick(struct rrmp_sink *sink)
{
    posts_expire(sink);
    for (uint32_t i = 0; sink->dict_count > 0 && i < SINK_DICTS; i++) {
        struct sink_dict *dict = &sink->dicts[i];
        if (dict->in_use && sink->now_ns >= dict->due_ns && sink_event_room(sink))
            dict_ask(sink, dict);
    }
}

uint64_t sink_dicts_deadline(const struct rrmp_sink *sink)
{
    uint64_t next = md_wheel_deadline(&sink->post_wheel);

    for (uint32_t i = 0; sink->dict_count > 0 && i < SINK_DICTS; i++) {
        if (sink->dicts[i].in_use && sink->dicts[i].due_ns < next)
            next = sink->dicts[i].due_ns;
    }
    return next;
}
