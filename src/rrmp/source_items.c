/* source_items.c - the source engine's items: keys, interest, handles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

/* ---- the table ---- */

/* Names come from outside, so the table's hash mixes in this process's seed. */
static uint64_t table_hash(const struct rrmp_source *source, uint16_t svc, uint64_t key_hash)
{
    uint64_t state = key_hash ^ source->seed ^ ((uint64_t)svc << 48);

    return rrmp_random(&state);
}

static bool key_equal(const struct source_item *item, uint16_t svc, struct rrmp_view key)
{
    return item->svc == svc && item->key_length == key.length &&
           memcmp(item->key, key.bytes, key.length) == 0;
}

uint32_t source_item_lookup(const struct rrmp_source *source, uint16_t svc, struct rrmp_view key,
                            uint64_t key_hash)
{
    uint64_t hash = table_hash(source, svc, key_hash);
    uint32_t cursor = (uint32_t)hash;
    uint32_t number;

    while ((number = rrmp_map_next(&source->item_map, hash, &cursor)) != RRMP_NIL) {
        const struct source_item *item = source_item_at(source, number);
        if (!item->is_private && key_equal(item, svc, key))
            return number;
    }
    return RRMP_NIL;
}

uint32_t source_item_create(struct rrmp_source *source, uint16_t svc, struct rrmp_view key,
                            uint64_t key_hash, bool is_private)
{
    uint8_t *copy = malloc(key.length);
    uint32_t number = copy ? rrmp_slots_take(&source->items) : RRMP_NIL;

    if (number == RRMP_NIL)
        goto fail;
    struct source_item *item = source_item_at(source, number);
    struct source_service *service = &source->services[svc];
    item->table_hash = table_hash(source, svc, key_hash);
    if (rrmp_map_put(&source->item_map, item->table_hash, number) != 0) {
        rrmp_slots_give(&source->items, number);
        goto fail;
    }
    memcpy(copy, key.bytes, key.length);
    source->stats.memory_now += key.length;
    source->stats.key_bytes_now += key.length;
    item->in_use = true;
    item->key = copy;
    item->key_length = (uint16_t)key.length;
    item->key_hash = key_hash;
    item->svc = svc;
    item->is_private = is_private;
    source->private_count += is_private;
    item->handle = RRMP_HANDLE_NONE;
    item->asks = RRMP_NIL;
    item->svc_prev = RRMP_NIL;
    item->svc_next = service->items;
    if (service->items != RRMP_NIL)
        source_item_at(source, service->items)->svc_prev = number;
    service->items = number;
    return number;
fail:
    free(copy);
    return RRMP_NIL;
}

static void list_unlink(struct rrmp_source *source, enum news_list list, uint32_t number)
{
    uint32_t prev = RRMP_NIL;

    for (uint32_t n = source->list_head[list]; n != number;
         n = source_item_at(source, n)->list_next[list])
        prev = n;
    uint32_t next = source_item_at(source, number)->list_next[list];
    if (prev == RRMP_NIL)
        source->list_head[list] = next;
    else
        source_item_at(source, prev)->list_next[list] = next;
    if (source->list_tail[list] == number)
        source->list_tail[list] = prev;
}

void source_item_free(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    MD_ASSERT(item->in_use && item->interest_count == 0);
    source_asks_drop_all(source, number);
    source->private_count -= item->is_private;
    if (item->handle != RRMP_HANDLE_NONE)
        source_handle_give(source, source->now_ns, number);
    if (item->news & NEWS_IMAGE)
        source->image_due_count--;
    for (int list = LIST_NEWS; list <= LIST_IMAGES; list++) {
        if (item->in_list[list])
            list_unlink(source, (enum news_list)list, number);
    }
    for (uint32_t i = source->event_head; i != source->event_tail; i++) {
        struct rrmp_source_event *event = &source->events[i % SOURCE_EVENTS];
        if (event->item == number)
            event->item = RRMP_ITEM_NONE;
    }
    rrmp_wheel_cancel(&source->wheel, number);
    rrmp_map_remove(&source->item_map, item->table_hash, number);
    if (item->svc_prev != RRMP_NIL)
        source_item_at(source, item->svc_prev)->svc_next = item->svc_next;
    else
        source->services[item->svc].items = item->svc_next;
    if (item->svc_next != RRMP_NIL)
        source_item_at(source, item->svc_next)->svc_prev = item->svc_prev;
    if (item->wide)
        source->stats.memory_now -= sizeof(*item->wide);
    source->stats.memory_now -= item->key_length;
    source->stats.key_bytes_now -= item->key_length;
    free(item->wide);
    free(item->key);
    rrmp_slots_give(&source->items, number);
}

void source_item_news(struct rrmp_source *source, uint32_t number, enum item_news news)
{
    struct source_item *item = source_item_at(source, number);

    if (news == NEWS_IMAGE) {
        if (item->image_told || (item->news & NEWS_IMAGE))
            return;
        item->image_due_ns = source->now_ns;
        source->image_due_count++;
    }
    item->news |= (uint8_t)news;
    enum news_list list = news == NEWS_IMAGE ? LIST_IMAGES : LIST_NEWS;
    if (item->in_list[list])
        return;
    item->in_list[list] = true;
    item->list_next[list] = RRMP_NIL;
    if (source->list_tail[list] != RRMP_NIL)
        source_item_at(source, source->list_tail[list])->list_next[list] = number;
    else
        source->list_head[list] = number;
    source->list_tail[list] = number;
}

/* ---- interest ---- */

static uint64_t *interest_word(struct source_item *item, uint32_t requester, bool is_active)
{
    if (requester < 64)
        return is_active ? &item->active : &item->standby;
    if (!item->wide)
        return NULL;
    uint32_t word = requester / 64 - 1;
    return is_active ? &item->wide->active[word] : &item->wide->standby[word];
}

bool source_interest_get(const struct source_item *item, uint32_t requester, bool *is_active)
{
    uint64_t bit = 1ull << requester % 64;
    uint64_t active = item->active;
    uint64_t standby = item->standby;

    if (requester >= 64) {
        active = item->wide ? item->wide->active[requester / 64 - 1] : 0;
        standby = item->wide ? item->wide->standby[requester / 64 - 1] : 0;
    }
    *is_active = (active & bit) != 0;
    return ((active | standby) & bit) != 0;
}

bool source_interest_set(struct rrmp_source *source, uint32_t number, uint32_t requester,
                         bool is_active)
{
    struct source_item *item = source_item_at(source, number);
    bool was_active;

    if (source_interest_get(item, requester, &was_active)) {
        if (was_active == is_active)
            return true;
        source_interest_clear(source, number, requester);
    }
    if (requester >= 64 && !item->wide) {
        item->wide = calloc(1, sizeof(*item->wide));
        if (!item->wide)
            return false;
        source->stats.memory_now += sizeof(*item->wide);
    }
    *interest_word(item, requester, is_active) |= 1ull << requester % 64;
    item->interest_count++;
    item->active_count += is_active;
    if (!item->is_private && is_active) {
        struct source_requester *who = source_requester_at(source, requester);
        who->sum_count++;
        who->sum_xor ^= item->key_hash;
    }
    return true;
}

void source_interest_clear(struct rrmp_source *source, uint32_t number, uint32_t requester)
{
    struct source_item *item = source_item_at(source, number);
    bool was_active;

    if (!source_interest_get(item, requester, &was_active))
        return;
    *interest_word(item, requester, was_active) &= ~(1ull << requester % 64);
    item->interest_count--;
    item->active_count -= was_active;
    if (!item->is_private && was_active) {
        struct source_requester *who = source_requester_at(source, requester);
        who->sum_count--;
        who->sum_xor ^= item->key_hash;
    }
}

void source_unbind(struct rrmp_source *source, uint64_t now_ns, uint32_t number, uint8_t reason)
{
    struct source_item *item = source_item_at(source, number);

    if (item->handle == RRMP_HANDLE_NONE)
        return;
    if (!item->is_private) {
        struct rrmp_record record = {
            .header = { .type = RRMP_UNBIND },
            .u.unbind = { .handle = item->handle, .item_seq = ++item->item_seq, .reason = reason },
        };
        source_multicast(source, item->svc, item->handle, &record);
    }
    source_handle_give(source, now_ns, number);
    item->image_mode = IMAGE_NONE;
}

void source_item_settle(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);
    bool is_active = item->active_count > 0;

    source->now_ns = now_ns;
    if (!is_active)
        source_unbind(source, now_ns, number, RRMP_UNBIND_IDLE);
    if (item->told_active != is_active)
        source_item_news(source, number, NEWS_ACTIVE);
    bool is_idle = item->interest_count == 0 && !item->is_kept;
    if (is_idle && !item->is_lingering) {
        item->is_lingering = true;
        const struct rrmp_linger *linger = &source->services[item->svc].linger;
        uint64_t wait_ns = source->session == 0 ? linger->orphan_ns : linger->close_ns;
        rrmp_wheel_set(&source->wheel, number, now_ns + (item->is_private ? 0 : wait_ns));
    } else if (!is_idle && item->is_lingering) {
        item->is_lingering = false;
        item->news &= (uint8_t)~NEWS_UNWANTED;
        rrmp_wheel_cancel(&source->wheel, number);
    }
}

/* ---- handles ---- */

static struct source_handle *handle_at(const struct rrmp_source *source, uint32_t index)
{
    return rrmp_slots_at(&source->handles, index);
}

/* Handles that have rested come back; the lowest of all free ones is given first. */
static void handles_wake(struct rrmp_source *source, uint64_t now_ns)
{
    while (source->rest_head != source->rest_tail) {
        const struct source_rest *rest = &source->rest[source->rest_head & (source->rest_size - 1)];
        if (rest->until_ns > now_ns)
            return;
        source->handle_free[rest->index / 64] |= 1ull << rest->index % 64;
        if (rest->index / 64 < source->handle_hint)
            source->handle_hint = rest->index / 64;
        source->rest_head++;
    }
}

bool source_handle_take(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    uint32_t index = RRMP_NIL;

    handles_wake(source, now_ns);
    while (source->handle_hint < source->handle_words) {
        uint64_t word = source->handle_free[source->handle_hint];
        if (word) {
            index = source->handle_hint * 64 + (uint32_t)__builtin_ctzll(word);
            source->handle_free[source->handle_hint] &= word - 1;
            break;
        }
        if (source->handle_hint * 64 >= source->handles.high)
            break;
        source->handle_hint++;
    }
    if (index == RRMP_NIL)
        index = rrmp_slots_take(&source->handles);
    if (index == RRMP_NIL)
        return false;
    struct source_handle *handle = handle_at(source, index);
    struct source_item *item = source_item_at(source, number);
    handle->generation++;
    handle->item = number;
    item->handle = (uint32_t)handle->generation << 24 | index;
    item->item_seq = 0;
    source->stats.bound_now++;
    return true;
}

/* The queue of resting handles grows with the handles ever used, never past their limit. */
static void rest_grow(struct rrmp_source *source)
{
    uint32_t size = source->rest_size;

    if (source->rest_tail - source->rest_head < size)
        return;
    struct source_rest *bigger = malloc(2 * (size_t)size * sizeof(*bigger));
    MD_ASSERT(bigger); /* a handle that cannot rest could be mistaken for another */
    for (uint32_t i = 0; i < size; i++)
        bigger[(source->rest_head + i) & (2 * size - 1)] =
            source->rest[(source->rest_head + i) & (size - 1)];
    free(source->rest);
    source->rest = bigger;
    source->rest_size = 2 * size;
    source->stats.memory_now += (size_t)size * sizeof(*bigger);
}

void source_handle_give(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);
    uint32_t index = item->handle & 0xFFFFFF;

    handle_at(source, index)->item = RRMP_NIL;
    item->handle = RRMP_HANDLE_NONE;
    source->stats.bound_now--;
    rest_grow(source);
    source->rest[source->rest_tail & (source->rest_size - 1)] = (struct source_rest){
        .index = index,
        .until_ns = now_ns + source->config.handle_rest_ns,
    };
    source->rest_tail++;
}

uint32_t source_handle_item(const struct rrmp_source *source, uint32_t value)
{
    uint32_t index = value & 0xFFFFFF;

    if (index >= source->handles.high)
        return RRMP_NIL;
    const struct source_handle *handle = handle_at(source, index);
    return handle->generation == value >> 24 ? handle->item : RRMP_NIL;
}

/* ---- the caller's side ---- */

int rrmp_source_item_add(struct rrmp_source *source, uint16_t svc, struct rrmp_view key,
                         uint32_t *out)
{
    struct rrmp_key decoded;

    *out = RRMP_ITEM_NONE;
    if (svc >= source->service_count || source->services[svc].is_withdrawn)
        return MD_ERR_NOT_FOUND;
    if (key.length > RRMP_KEY_SIZE_MAX || rrmp_key_decode(key.bytes, key.length, &decoded) != 0)
        return MD_ERR_MALFORMED;
    uint64_t hash = rrmp_key_hash(key.bytes, key.length);
    *out = source_item_lookup(source, svc, key, hash);
    if (*out != RRMP_ITEM_NONE) {
        source_item_at(source, *out)->is_kept = true;
        source_item_settle(source, source->now_ns, *out);
        return MD_ERR_EXISTS;
    }
    if (rrmp_source_is_full(source))
        return MD_ERR_FULL;
    *out = source_item_create(source, svc, key, hash, false);
    if (*out == RRMP_ITEM_NONE)
        return MD_ERR_FULL;
    source_item_at(source, *out)->is_kept = true;
    return MD_OK;
}

uint32_t rrmp_source_item_find(const struct rrmp_source *source, uint16_t svc, struct rrmp_view key)
{
    if (svc >= source->service_count || key.length == 0)
        return RRMP_ITEM_NONE;
    return source_item_lookup(source, svc, key, rrmp_key_hash(key.bytes, key.length));
}

bool rrmp_source_item_info(const struct rrmp_source *source, uint32_t number,
                           struct rrmp_source_item *out)
{
    if (!source_item_exists(source, number)) {
        memset(out, 0, sizeof(*out));
        return false;
    }
    const struct source_item *item = source_item_at(source, number);
    *out = (struct rrmp_source_item){
        .svc = item->svc,
        .group = item->group,
        .is_active = item->active_count > 0,
        .is_bound = item->handle != RRMP_HANDLE_NONE,
        .is_private = item->is_private,
        .is_image_due = source_asks_wait(source, item),
        .is_kept = item->is_kept,
        .priority_class = item->priority_class,
        .priority_count = item->priority_count,
        .handle = item->handle,
        .item_seq = item->item_seq,
        .requester_count = item->interest_count,
        .key_hash = item->key_hash,
        .key = { .bytes = item->key, .length = item->key_length },
    };
    return true;
}

void rrmp_source_item_set_user(struct rrmp_source *source, uint32_t item, uint64_t user)
{
    if (source_item_exists(source, item))
        source_item_at(source, item)->user = user;
}

uint64_t rrmp_source_item_user(const struct rrmp_source *source, uint32_t item)
{
    return source_item_exists(source, item) ? source_item_at(source, item)->user : 0;
}

static void interest_clear_all(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    for (uint32_t r = 0; r < source->requesters.high && item->interest_count > 0; r++)
        source_interest_clear(source, number, r);
}

/* A final STATUS to all who are bound. */
static int say_final(struct rrmp_source *source, uint32_t number, const struct rrmp_ending *ending)
{
    struct source_item *item = source_item_at(source, number);
    struct rrmp_record record = {
        .header = { .type = RRMP_STATUS, .flags = RRMP_FLAG_FINAL, .svc = item->svc },
        .u.tick = { .handle = item->handle,
                    .item_seq = item->item_seq + 1,
                    .message = ending->message },
    };

    item->item_seq++;
    if (item->is_private) {
        const struct source_requester *owner = source_requester_at(source, item->owner);
        record.header.flags |= RRMP_FLAG_PRIVATE;
        source_unicast(source, owner->session, owner->port, &record);
    } else {
        source_multicast(source, item->svc, item->handle, &record);
    }
    return MD_OK;
}

int rrmp_source_item_close(struct rrmp_source *source, uint64_t now_ns, uint32_t number,
                           const struct rrmp_ending *ending)
{
    if (!source_item_exists(source, number))
        return MD_ERR_NOT_FOUND;
    struct source_item *item = source_item_at(source, number);
    source->now_ns = now_ns;
    for (uint32_t n = item->asks; n != RRMP_NIL; n = source_ask_at(source, n)->next) {
        const struct source_ask *ask = source_ask_at(source, n);
        source_refuse(source, ask->requester, item->svc, ask->id, item->key_hash, ending);
    }
    if (item->handle != RRMP_HANDLE_NONE && item->active_count > 0)
        say_final(source, number, ending);
    interest_clear_all(source, number);
    item->is_kept = false;
    if (source->ending == number)
        source->ending = RRMP_NIL;
    source_item_free(source, number);
    return MD_OK;
}

void rrmp_source_item_release(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    if (!source_item_exists(source, number))
        return;
    source_item_at(source, number)->is_kept = false;
    source_item_settle(source, now_ns, number);
}
