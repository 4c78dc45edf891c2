/* source_items.c - the source engine's items: keys, interest, handles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/siphash.h"

#include "state.h"

/* ---- the table ---- */

/* Providers and consumers choose names, and the hash on the wire has no key: names that share it
 * can be made. The table's own hash has this process's seed for its key. */
static uint64_t table_hash(const struct rrmp_source *source, uint16_t svc, struct rrmp_view key)
{
    const uint64_t secret[2] = { source->seed, ~source->seed ^ svc };

    return md_siphash(secret, key.bytes, key.length);
}

static bool key_equal(const struct rrmp_source *source, const struct source_item *item,
                      uint16_t svc, struct rrmp_view key)
{
    return item->svc == svc && item->key_length == key.length &&
           memcmp(source_key(source, item).bytes, key.bytes, key.length) == 0;
}

uint32_t source_item_lookup(const struct rrmp_source *source, uint16_t svc, struct rrmp_view key)
{
    uint64_t hash = table_hash(source, svc, key);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = md_map_next(&source->item_map, hash, &cursor)) != MD_NIL) {
        const struct source_item *item = source_item_at(source, number);
        if (!item->is_private && key_equal(source, item, svc, key))
            return number;
    }
    return MD_NIL;
}

uint32_t source_item_create(struct rrmp_source *source, uint16_t svc, struct rrmp_view key,
                            bool is_private)
{
    uint32_t string = md_strings_take(&source->keys, key.length);
    uint32_t number = string != MD_NIL ? md_slots_take(&source->items) : MD_NIL;

    if (number == MD_NIL || md_slots_reserve(&source->works, source->items.count) != 0 ||
        md_map_put(&source->item_map, table_hash(source, svc, key), number) != 0)
        goto fail;
    struct source_item *item = source_item_at(source, number);
    memcpy(md_strings_at(&source->keys, string, key.length), key.bytes, key.length);
    source->stats.key_bytes_now += key.length;
    item->in_use = true;
    item->key = string;
    item->key_length = (uint16_t)key.length;
    item->svc = svc;
    item->is_private = is_private;
    source->private_count += is_private;
    item->handle = RRMP_HANDLE_NONE;
    item->asks = MD_NIL;
    item->work = MD_NIL;
    item->wide = MD_NIL;
    return number;
fail:
    if (number != MD_NIL)
        md_slots_give(&source->items, number);
    if (string != MD_NIL)
        md_strings_give(&source->keys, string, key.length);
    return MD_NIL;
}

/* ---- what is under way ---- */

struct source_work *source_work_take(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    if (item->work == MD_NIL) {
        item->work = md_slots_take(&source->works);
        MD_ASSERT(item->work != MD_NIL); /* reserved with the item */
        source_work_of(source, item)->item = number;
    }
    return source_work_of(source, item);
}

void source_work_settle(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    if (item->work == MD_NIL)
        return;
    const struct source_work *work = source_work_of(source, item);
    bool is_image_open = item->image_mode == IMAGE_SOLICITED || item->image_mode == IMAGE_NEWS;
    if (item->lists || is_image_open || work->request || work->timer.is_set)
        return;
    md_slots_give(&source->works, item->work);
    item->work = MD_NIL;
}

static uint32_t *list_next(const struct rrmp_source *source, uint32_t number, enum news_list list)
{
    return &source_work_of(source, source_item_at(source, number))->list_next[list];
}

static void list_unlink(struct rrmp_source *source, enum news_list list, uint32_t number)
{
    uint32_t prev = MD_NIL;

    for (uint32_t n = source->list_head[list]; n != number; n = *list_next(source, n, list))
        prev = n;
    uint32_t next = *list_next(source, number, list);
    if (prev == MD_NIL)
        source->list_head[list] = next;
    else
        *list_next(source, prev, list) = next;
    if (source->list_tail[list] == number)
        source->list_tail[list] = prev;
}

void source_item_free(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    MD_ASSERT(item->in_use && source_interest_count(source, item) == 0);
    source_asks_drop_all(source, number);
    source->private_count -= item->is_private;
    if (item->handle != RRMP_HANDLE_NONE)
        source_handle_give(source, source->now_ns, number);
    if (item->news & NEWS_IMAGE)
        source->image_due_count--;
    for (int list = LIST_NEWS; list <= LIST_IMAGES; list++) {
        if (item->lists & 1u << list)
            list_unlink(source, (enum news_list)list, number);
    }
    for (uint32_t i = source->event_head; i != source->event_tail; i++) {
        struct rrmp_source_event *event = &source->events[i % SOURCE_EVENTS];
        if (event->item == number)
            event->item = RRMP_ITEM_NONE;
    }
    if (item->work != MD_NIL) {
        md_wheel_cancel(&source->wheel, item->work);
        md_slots_give(&source->works, item->work);
    }
    uint64_t hash = table_hash(source, item->svc, source_key(source, item));
    md_map_remove(&source->item_map, hash, number);
    if (item->wide != MD_NIL)
        md_slots_give(&source->wides, item->wide);
    source->stats.key_bytes_now -= item->key_length;
    md_strings_give(&source->keys, item->key, item->key_length);
    md_slots_give(&source->items, number);
}

void source_item_news(struct rrmp_source *source, uint32_t number, enum item_news news)
{
    struct source_item *item = source_item_at(source, number);
    enum news_list list = news == NEWS_IMAGE ? LIST_IMAGES : LIST_NEWS;

    if (news == NEWS_IMAGE && (item->image_told || item->news & NEWS_IMAGE))
        return;
    struct source_work *work = source_work_take(source, number);
    if (news == NEWS_IMAGE) {
        work->image_due_ns = source->now_ns;
        source->image_due_count++;
    }
    item->news |= (uint8_t)news;
    if (item->lists & 1u << list)
        return;
    item->lists |= (uint8_t)(1u << list);
    work->list_next[list] = MD_NIL;
    if (source->list_tail[list] != MD_NIL)
        *list_next(source, source->list_tail[list], list) = number;
    else
        source->list_head[list] = number;
    source->list_tail[list] = number;
}

/* ---- interest ---- */

static struct source_wide *wide_of(struct rrmp_source *source, const struct source_item *item)
{
    return md_slots_at(&source->wides, item->wide);
}

static uint64_t *interest_word(struct rrmp_source *source, struct source_item *item,
                               uint32_t requester, bool is_active)
{
    if (requester < 64)
        return is_active ? &item->active : &item->standby;
    struct source_wide *wide = wide_of(source, item);
    uint32_t word = requester / 64 - 1;
    return is_active ? &wide->active[word] : &wide->standby[word];
}

bool source_interest_get(const struct rrmp_source *source, const struct source_item *item,
                         uint32_t requester, bool *is_active)
{
    uint64_t bit = 1ull << requester % 64;
    uint64_t active = item->active;
    uint64_t standby = item->standby;

    if (requester >= 64) {
        const struct source_wide *wide = item->wide != MD_NIL ? source_wide_of(source, item) : NULL;
        active = wide ? wide->active[requester / 64 - 1] : 0;
        standby = wide ? wide->standby[requester / 64 - 1] : 0;
    }
    *is_active = (active & bit) != 0;
    return ((active | standby) & bit) != 0;
}

/* The interest of a requester begins or ends: in the digest are those of active, shared items. */
static void interest_count(struct rrmp_source *source, struct source_item *item, uint32_t requester,
                           bool is_active, bool begins)
{
    uint32_t one = begins ? 1 : UINT32_MAX;

    if (requester >= 64) {
        struct source_wide *wide = wide_of(source, item);
        wide->count += one;
        wide->active_count += is_active ? one : 0;
    }
    if (is_active && !item->is_private) {
        struct source_requester *who = source_requester_at(source, requester);
        who->sum_count += one;
        who->sum_xor ^= source_key_hash(source, item);
    }
}

bool source_interest_set(struct rrmp_source *source, uint32_t number, uint32_t requester,
                         bool is_active)
{
    struct source_item *item = source_item_at(source, number);
    bool was_active;

    if (source_interest_get(source, item, requester, &was_active)) {
        if (was_active == is_active)
            return true;
        source_interest_clear(source, number, requester);
    }
    if (requester >= 64 && item->wide == MD_NIL) {
        item->wide = md_slots_take(&source->wides);
        if (item->wide == MD_NIL)
            return false;
    }
    *interest_word(source, item, requester, is_active) |= 1ull << requester % 64;
    interest_count(source, item, requester, is_active, true);
    return true;
}

void source_interest_clear(struct rrmp_source *source, uint32_t number, uint32_t requester)
{
    struct source_item *item = source_item_at(source, number);
    bool was_active;

    if (!source_interest_get(source, item, requester, &was_active))
        return;
    *interest_word(source, item, requester, was_active) &= ~(1ull << requester % 64);
    interest_count(source, item, requester, was_active, false);
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
    source_work_settle(source, number);
}

static void linger_begin(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);
    const struct rrmp_linger *linger = &source->services[item->svc].linger;
    uint64_t wait_ns = source->session == 0 ? linger->orphan_ns : linger->close_ns;

    item->is_lingering = true;
    source_work_take(source, number);
    md_wheel_set(&source->wheel, item->work, now_ns + (item->is_private ? 0 : wait_ns));
}

static void linger_end(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    item->is_lingering = false;
    item->news &= (uint8_t)~NEWS_UNWANTED;
    if (item->work != MD_NIL)
        md_wheel_cancel(&source->wheel, item->work);
    source_work_settle(source, number);
}

/* The last active interest has gone: what followers wait for does not come. */
static void followers_refuse(struct rrmp_source *source, uint32_t number)
{
    static const struct rrmp_ending ending = { .state = RRMP_STATE_CLOSED_RECOVER,
                                               .code = RRMP_CODE_NOT_FOUND,
                                               .scope = RRMP_REFUSE_NOT_HERE };
    struct source_item *item = source_item_at(source, number);
    uint32_t next;

    for (uint32_t n = item->asks; n != MD_NIL; n = next) {
        const struct source_ask *ask = source_ask_at(source, n);
        bool is_active;
        next = ask->next;
        if (source_interest_get(source, item, ask->requester, &is_active))
            continue;
        source_refuse(source, ask->requester, item->svc, ask->id, source_key_hash(source, item),
                      &ending);
        source_ask_free(source, n);
    }
}

void source_item_settle(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);
    bool is_active = source_item_is_active(source, item);

    source->now_ns = now_ns;
    if (!is_active) {
        source_unbind(source, now_ns, number, RRMP_UNBIND_IDLE);
        followers_refuse(source, number);
    }
    if (item->told_active != is_active)
        source_item_news(source, number, NEWS_ACTIVE);
    bool is_idle = source_interest_count(source, item) == 0 && !item->is_kept;
    if (is_idle && !item->is_lingering) {
        linger_begin(source, now_ns, number);
    } else if (!is_idle && item->is_lingering) {
        linger_end(source, number);
        source_item_news(source, number, NEWS_ACTIVE); /* a standby, too, ends it */
    }
    source_room_note(source, number);
}

/* ---- handles ---- */

static struct source_handle *handle_at(const struct rrmp_source *source, uint32_t index)
{
    return md_slots_at(&source->handles, index);
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
    uint32_t index = MD_NIL;

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
    if (index == MD_NIL)
        index = md_slots_take(&source->handles);
    if (index == MD_NIL)
        return false;
    struct source_handle *handle = handle_at(source, index);
    struct source_item *item = source_item_at(source, number);
    item->handle = ((handle->word + 1) & 0xFF) << 24 | index;
    handle->word = number;
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

    handle_at(source, index)->word = HANDLE_FREE | item->handle >> 24;
    item->handle = RRMP_HANDLE_NONE;
    item->is_bind_due = false;
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
        return MD_NIL;
    uint32_t word = handle_at(source, index)->word;
    bool is_it = word < HANDLE_FREE && source_item_at(source, word)->handle == value;
    return is_it ? word : MD_NIL;
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
    *out = source_item_lookup(source, svc, key);
    if (*out != RRMP_ITEM_NONE) {
        source_item_at(source, *out)->is_kept = true;
        source_item_settle(source, source->now_ns, *out);
        return MD_ERR_EXISTS;
    }
    if (rrmp_source_is_full(source))
        return MD_ERR_FULL;
    *out = source_item_create(source, svc, key, false);
    if (*out == RRMP_ITEM_NONE)
        return MD_ERR_FULL;
    source_item_at(source, *out)->is_kept = true;
    return MD_OK;
}

void rrmp_source_item_drop(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    if (!source_item_exists(source, number))
        return;
    source_item_at(source, number)->is_kept = false;
    source_item_settle(source, now_ns, number);
}

uint32_t rrmp_source_item_find(const struct rrmp_source *source, uint16_t svc, struct rrmp_view key)
{
    if (svc >= source->service_count || key.length == 0)
        return RRMP_ITEM_NONE;
    return source_item_lookup(source, svc, key);
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
        .is_active = source_item_is_active(source, item),
        .is_bound = item->handle != RRMP_HANDLE_NONE,
        .is_private = item->is_private,
        .is_image_due = source_asks_wait(source, item),
        .is_kept = item->is_kept,
        .priority_class = item->priority_class,
        .priority_count = item->priority_count,
        .handle = item->handle,
        .item_seq = item->item_seq,
        .requester_count = source_interest_count(source, item),
        .key_hash = source_key_hash(source, item),
        .key = source_key(source, item),
    };
    return true;
}

static void interest_clear_all(struct rrmp_source *source, uint32_t number)
{
    for (uint32_t r = 0; r < source->requesters.high; r++)
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
        source_farewell_keep(source, item);
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
    for (uint32_t n = item->asks; n != MD_NIL; n = source_ask_at(source, n)->next) {
        const struct source_ask *ask = source_ask_at(source, n);
        source_refuse(source, ask->requester, item->svc, ask->id, source_key_hash(source, item),
                      ending);
    }
    if (item->handle != RRMP_HANDLE_NONE && source_item_is_active(source, item))
        say_final(source, number, ending);
    interest_clear_all(source, number);
    item->is_kept = false;
    if (source->ending == number)
        source->ending = MD_NIL;
    source_item_free(source, number);
    return MD_OK;
}
