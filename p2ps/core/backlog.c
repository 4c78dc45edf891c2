/* backlog.c - see backlog.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "backlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "base/slots.h"
#include "merge.h"

#define SEGMENT_BYTES 65536u
#define QUANTUM       4096u /* bytes of a stream, then the others have their turn */

/* Memory of records: given back when none of them is left. */
struct p2ps_segment {
    uint32_t size;
    uint32_t used;
    uint32_t live; /* records */
    uint64_t bytes[];
};

struct p2ps_kept {
    struct p2ps_kept *next;
    struct p2ps_segment *segment;
    uint64_t since_ns;
    uint32_t length;
    bool is_exempt;
    bool is_merged;
    uint8_t bytes[];
};

struct p2ps_backlog {
    struct p2ps_slow *slow; /* by client */
    struct md_slots entries;
    size_t memory;
    uint64_t map_bytes;
};

/* ---- memory ---- */

/* Of one client, when the others have left little. */
static bool has_room(const struct p2ps_core *core, const struct p2ps_slow *slow, size_t more)
{
    uint64_t max = core->config.backlog_bytes_max;
    uint64_t all = core->stats.backlog_bytes_now + more;

    return all <= max && (all <= max / 4 * 3 || slow->bytes + more <= max / 8);
}

static void count(struct p2ps_core *core, struct p2ps_slow *slow, size_t more)
{
    slow->bytes += more;
    core->stats.backlog_bytes_now += more;
}

static void uncount(struct p2ps_core *core, struct p2ps_slow *slow, size_t less)
{
    slow->bytes -= less;
    core->stats.backlog_bytes_now -= less;
}

static void free_segment(struct p2ps_core *core, struct p2ps_slow *slow,
                         struct p2ps_segment *segment)
{
    uncount(core, slow, segment->size);
    free(segment);
}

/* ---- life ---- */

int p2ps_backlog_create(struct p2ps_core *core)
{
    struct p2ps_backlog *backlog = calloc(1, sizeof(*backlog));

    core->backlog = backlog;
    if (!backlog)
        return MD_ERR_NOMEM;
    backlog->slow = calloc(core->client_room, sizeof(*backlog->slow));
    if (!backlog->slow)
        return MD_ERR_NOMEM;
    return md_slots_init(&backlog->entries, sizeof(struct p2ps_entry), UINT32_MAX / 64,
                         &backlog->memory);
}

struct p2ps_slow *p2ps_backlog_of(const struct p2ps_core *core, uint32_t client)
{
    return &core->backlog->slow[client];
}

struct p2ps_entry *p2ps_backlog_entry(const struct p2ps_core *core, uint32_t number)
{
    return md_slots_at(&core->backlog->entries, number);
}

uint32_t p2ps_backlog_find(const struct p2ps_core *core, uint32_t client, int32_t stream_id)
{
    uint32_t number = p2ps_idmap_get(&core->backlog->slow[client].map, stream_id);

    return number == P2PS_IDMAP_NONE ? MD_NIL : number;
}

void p2ps_backlog_reset(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_slow *slow = p2ps_backlog_of(core, client);

    p2ps_idmap_fini(&slow->map);
    if (slow->segment)
        free_segment(core, slow, slow->segment);
    *slow = (struct p2ps_slow){ .waiting = { MD_NIL, MD_NIL, 0 }, .idle = { MD_NIL, MD_NIL, 0 } };
    p2ps_idmap_init(&slow->map, &core->backlog->map_bytes, core->idmap_key);
}

void p2ps_backlog_begin(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    core->merging_now += !c->is_merging;
    core->stats.mounts_conflated_now = core->merging_now;
    c->is_merging = true;
}

void p2ps_backlog_end(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_slow *slow = p2ps_backlog_of(core, client);
    struct p2ps_client *c = &core->clients[client];

    core->merging_now -= c->is_merging;
    core->stats.mounts_conflated_now = core->merging_now;
    c->is_merging = false;
    if (!slow->segment || slow->segment->live > 0)
        return;
    free_segment(core, slow, slow->segment);
    slow->segment = NULL;
}

/* ---- lists ---- */

static void list_add(struct p2ps_core *core, struct p2ps_entries_list *list, uint32_t number)
{
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);

    entry->next = MD_NIL;
    entry->prev = list->last;
    if (list->last == MD_NIL)
        list->first = number;
    else
        p2ps_backlog_entry(core, list->last)->next = number;
    list->last = number;
    list->count++;
}

static void list_take(struct p2ps_core *core, struct p2ps_entries_list *list, uint32_t number)
{
    const struct p2ps_entry *entry = p2ps_backlog_entry(core, number);

    if (entry->prev == MD_NIL)
        list->first = entry->next;
    else
        p2ps_backlog_entry(core, entry->prev)->next = entry->next;
    if (entry->next == MD_NIL)
        list->last = entry->prev;
    else
        p2ps_backlog_entry(core, entry->next)->prev = entry->prev;
    list->count--;
}

/* ---- records ---- */

static struct p2ps_segment *segment_with(struct p2ps_core *core, struct p2ps_slow *slow,
                                         uint32_t need)
{
    uint32_t size = need > SEGMENT_BYTES ? need : SEGMENT_BYTES;
    struct p2ps_segment *segment = slow->segment;

    if (segment && segment->live == 0)
        segment->used = 0;
    if (segment && segment->size - segment->used >= need)
        return segment;
    if (!has_room(core, slow, size))
        return NULL;
    struct p2ps_segment *fresh = malloc(sizeof(*fresh) + size);
    if (!fresh)
        return NULL;
    if (segment && segment->live == 0)
        free_segment(core, slow, segment);
    count(core, slow, size);
    fresh->size = size;
    fresh->used = fresh->live = 0;
    slow->segment = fresh;
    return fresh;
}

static uint32_t record_size(size_t length)
{
    return (uint32_t)((sizeof(struct p2ps_kept) + length + 7) & ~(size_t)7);
}

/* False: no room. */
static bool keep(struct p2ps_core *core, struct p2ps_entry *entry, struct rwf_bytes update,
                 const struct p2ps_kept *what)
{
    struct p2ps_slow *slow = p2ps_backlog_of(core, entry->client);
    uint32_t need = record_size(update.length);
    struct p2ps_segment *segment = NULL;

    if (slow->record_bytes + need <= core->config.trade_backlog)
        segment = segment_with(core, slow, need);
    if (!segment)
        return false;
    struct p2ps_kept *kept = (struct p2ps_kept *)((uint8_t *)segment->bytes + segment->used);
    segment->used += need;
    segment->live++;
    slow->record_bytes += need;
    *kept = *what;
    kept->segment = segment;
    kept->length = (uint32_t)update.length;
    memcpy(kept->bytes, update.data, update.length);
    if (entry->last)
        entry->last->next = kept;
    else
        entry->first = kept;
    entry->last = kept;
    return true;
}

static void pop_record(struct p2ps_core *core, struct p2ps_entry *entry)
{
    struct p2ps_slow *slow = p2ps_backlog_of(core, entry->client);
    struct p2ps_kept *kept = entry->first;
    struct p2ps_segment *segment = kept->segment;

    entry->first = kept->next;
    if (!entry->first)
        entry->last = NULL;
    slow->record_bytes -= record_size(kept->length);
    if (--segment->live == 0 && segment != slow->segment)
        free_segment(core, slow, segment);
}

/* ---- the pending update ---- */

static void clear_pending(struct p2ps_core *core, struct p2ps_entry *entry)
{
    p2ps_backlog_of(core, entry->client)->pending_bytes -= entry->pending.length;
    conflate_clear(&entry->pending);
    entry->is_merged = false;
}

/* The run is over: it becomes a record. False: no room. */
static bool close_run(struct p2ps_core *core, struct p2ps_entry *entry)
{
    if (entry->pending.length == 0)
        return true;
    const struct p2ps_kept run = { .is_merged = entry->is_merged, .since_ns = entry->since_ns };
    if (!keep(core, entry, conflate_bytes(&entry->pending), &run))
        return false;
    clear_pending(core, entry);
    return true;
}

static void grow(struct p2ps_core *core, struct p2ps_entry *entry, size_t length)
{
    struct p2ps_slow *slow = p2ps_backlog_of(core, entry->client);
    size_t room = entry->pending.room;
    size_t wanted = p2ps_merge_room(&core->items[entry->item], &entry->pending, length);

    if (wanted <= room || !has_room(core, slow, wanted - room))
        return;
    uint8_t *bytes = realloc(entry->pending.bytes, wanted);
    if (!bytes)
        return;
    count(core, slow, wanted - room);
    entry->pending.bytes = bytes;
    entry->pending.room = (uint32_t)wanted;
}

static enum conflate_result merge(struct p2ps_core *core, struct p2ps_entry *entry,
                                  struct rwf_bytes update)
{
    uint32_t before = entry->pending.length;

    grow(core, entry, update.length);
    enum conflate_result result =
        conflate_add(core->merger, &entry->pending, update, rwf_bytes(NULL, 0), core->now_ns);
    if (result != CONFLATE_HELD)
        return result;
    struct p2ps_slow *slow = p2ps_backlog_of(core, entry->client);
    slow->pending_bytes += entry->pending.length;
    slow->pending_bytes -= before;
    slow->merged += before > 0;
    core->stats.slow_merged += before > 0;
    entry->is_merged = before > 0;
    entry->since_ns = before > 0 ? entry->since_ns : core->now_ns;
    return result;
}

/* False: it is not merged. */
static bool hold(struct p2ps_core *core, struct p2ps_entry *entry, struct rwf_bytes update)
{
    enum conflate_result result = merge(core, entry, update);

    if (result == CONFLATE_FLUSH && close_run(core, entry))
        result = merge(core, entry, update);
    return result == CONFLATE_HELD;
}

/* ---- entries ---- */

static uint32_t take_entry(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w)
{
    struct p2ps_slow *slow = p2ps_backlog_of(core, w->client);
    uint32_t number = p2ps_backlog_find(core, w->client, w->stream_id);

    if (number != MD_NIL)
        return number;
    if (!has_room(core, slow, sizeof(struct p2ps_entry)))
        return MD_NIL;
    number = md_slots_take(&core->backlog->entries);
    if (number == MD_NIL)
        return MD_NIL;
    if (p2ps_idmap_put(&slow->map, w->stream_id, number, 0) != MD_OK) {
        md_slots_give(&core->backlog->entries, number);
        return MD_NIL;
    }
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    *entry = (struct p2ps_entry){ .item = item, .client = w->client, .stream_id = w->stream_id };
    entry->pending.has_info = true; /* forms show it to those that ask */
    list_add(core, &slow->idle, number);
    count(core, slow, sizeof(struct p2ps_entry));
    return number;
}

static void set_waiting(struct p2ps_core *core, uint32_t number, bool waits)
{
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    struct p2ps_slow *slow = p2ps_backlog_of(core, entry->client);

    if (entry->waits == waits)
        return;
    list_take(core, waits ? &slow->idle : &slow->waiting, number);
    list_add(core, waits ? &slow->waiting : &slow->idle, number);
    entry->waits = waits;
    entry->credit = QUANTUM;
    core->stats.backlog_streams_now += waits;
    core->stats.backlog_streams_now -= !waits;
    if (waits || core->stats.backlog_bytes_now < core->config.backlog_bytes_max / 4 * 3)
        return;
    uncount(core, slow, entry->pending.room); /* others need the room */
    free(entry->pending.bytes);
    entry->pending.bytes = NULL;
    entry->pending.room = 0;
}

bool p2ps_backlog_add(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w,
                      struct rwf_bytes given, struct rwf_bytes spelled, bool is_exempt)
{
    uint32_t number = take_entry(core, item, w);

    if (number == MD_NIL)
        return false;
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    const struct p2ps_kept alone = { .is_exempt = is_exempt, .since_ns = core->now_ns };
    bool is_held = !is_exempt && hold(core, entry, spelled.length ? spelled : given);
    if (!is_held && (!close_run(core, entry) || !keep(core, entry, given, &alone)))
        return false;
    set_waiting(core, number, true);
    w->flags |= P2PS_WATCH_BEHIND;
    return true;
}

struct rwf_bytes p2ps_backlog_head(const struct p2ps_entry *entry, bool *is_merged)
{
    const struct p2ps_kept *kept = entry->first;

    *is_merged = kept ? kept->is_merged : entry->is_merged;
    return kept ? rwf_bytes(kept->bytes, kept->length) : conflate_bytes(&entry->pending);
}

void p2ps_backlog_pop(struct p2ps_core *core, uint32_t number)
{
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    struct p2ps_slow *slow = p2ps_backlog_of(core, entry->client);
    uint64_t lag_ns = core->now_ns - (entry->first ? entry->first->since_ns : entry->since_ns);

    slow->lag_ns = lag_ns > slow->lag_ns ? lag_ns : slow->lag_ns;
    slow->worst_lag_ns = lag_ns > slow->worst_lag_ns ? lag_ns : slow->worst_lag_ns;
    if (entry->first)
        pop_record(core, entry);
    else
        clear_pending(core, entry);
    if (!entry->first && entry->pending.length == 0)
        set_waiting(core, number, false);
}

void p2ps_backlog_rotate(struct p2ps_core *core, uint32_t number)
{
    struct p2ps_entries_list *waiting =
        &p2ps_backlog_of(core, p2ps_backlog_entry(core, number)->client)->waiting;

    list_take(core, waiting, number);
    list_add(core, waiting, number);
    p2ps_backlog_entry(core, number)->credit += QUANTUM;
}

void p2ps_backlog_drop(struct p2ps_core *core, struct p2ps_watch *w, bool is_lost)
{
    uint32_t number = p2ps_backlog_find(core, w->client, w->stream_id);
    struct p2ps_slow *slow = p2ps_backlog_of(core, w->client);
    uint32_t lost = 0;

    w->flags &= (uint16_t)~P2PS_WATCH_BEHIND;
    if (number == MD_NIL)
        return;
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    while (entry->first) {
        lost += is_lost && entry->first->is_exempt;
        pop_record(core, entry);
    }
    clear_pending(core, entry);
    set_waiting(core, number, false);
    entry->lost += lost;
    slow->lost += lost;
    core->stats.backlog_lost += lost;
}

void p2ps_backlog_lose(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w)
{
    uint32_t number = take_entry(core, item, w);

    p2ps_backlog_of(core, w->client)->lost++;
    core->stats.backlog_lost++;
    if (number != MD_NIL)
        p2ps_backlog_entry(core, number)->lost++;
}

uint32_t *p2ps_backlog_lost(struct p2ps_core *core, const struct p2ps_watch *w)
{
    uint32_t number = p2ps_backlog_find(core, w->client, w->stream_id);
    uint32_t *lost = number == MD_NIL ? NULL : &p2ps_backlog_entry(core, number)->lost;

    return lost && *lost > 0 ? lost : NULL;
}

void p2ps_backlog_forget(struct p2ps_core *core, struct p2ps_watch *w)
{
    uint32_t number = p2ps_backlog_find(core, w->client, w->stream_id);
    struct p2ps_slow *slow = p2ps_backlog_of(core, w->client);

    if (number == MD_NIL)
        return;
    p2ps_backlog_drop(core, w, false);
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    list_take(core, &slow->idle, number);
    p2ps_idmap_take(&slow->map, w->stream_id);
    uncount(core, slow, entry->pending.room + sizeof(*entry));
    free(entry->pending.bytes);
    md_slots_give(&core->backlog->entries, number);
}

void p2ps_backlog_destroy(struct p2ps_core *core)
{
    struct p2ps_backlog *backlog = core->backlog;

    if (!backlog)
        return;
    for (uint32_t i = 0; backlog->slow && i < core->client_room; i++) {
        struct p2ps_slow *slow = &backlog->slow[i];

        while (slow->waiting.count + slow->idle.count > 0) {
            const struct p2ps_entry *entry = p2ps_backlog_entry(
                core, slow->waiting.count ? slow->waiting.first : slow->idle.first);
            struct p2ps_watch w = { .stream_id = entry->stream_id, .client = (uint16_t)i };
            p2ps_backlog_forget(core, &w);
        }
        p2ps_idmap_fini(&slow->map);
        free(slow->segment);
    }
    md_slots_fini(&backlog->entries);
    free(backlog->slow);
    free(backlog);
    core->backlog = NULL;
}

/* ---- what must hold ---- */

static const char *check_entry(const struct p2ps_core *core, uint32_t client, uint32_t number,
                               bool waits)
{
    const struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    const struct p2ps_client *c = &core->clients[client];

    MD_REQUIRE(entry->client == client && entry->waits == waits);
    MD_REQUIRE(waits == (entry->first || entry->pending.length > 0));
    MD_REQUIRE(p2ps_backlog_find(core, client, entry->stream_id) == number);
    if (c->is_dropping)
        return NULL;
    MD_REQUIRE(p2ps_idmap_get(&c->streams, entry->stream_id) == entry->item);
    uint32_t place = p2ps_idmap_place(&c->streams, entry->stream_id);
    const struct p2ps_watch *w = &core->items[entry->item].watches[place];
    MD_REQUIRE(waits == ((w->flags & P2PS_WATCH_BEHIND) != 0));
    MD_REQUIRE(!waits || w->state == P2PS_WATCH_STEP);
    MD_REQUIRE(!waits || c->is_slow || c->is_gone);
    return NULL;
}

static const char *check_list(const struct p2ps_core *core, uint32_t client,
                              const struct p2ps_entries_list *list, bool waits)
{
    uint32_t count = 0;

    for (uint32_t n = list->first; n != MD_NIL; n = p2ps_backlog_entry(core, n)->next) {
        MD_REQUIRE_ALL(check_entry(core, client, n, waits));
        MD_REQUIRE(++count <= list->count);
    }
    MD_REQUIRE(count == list->count);
    return NULL;
}

const char *p2ps_backlog_check(const struct p2ps_core *core)
{
    uint32_t waiting = 0, all = 0, merging = 0;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < core->client_room; i++) {
        const struct p2ps_slow *slow = p2ps_backlog_of(core, i);

        bytes += slow->bytes;
        if (!core->clients[i].is_used)
            continue;
        MD_REQUIRE_ALL(check_list(core, i, &slow->waiting, true));
        MD_REQUIRE_ALL(check_list(core, i, &slow->idle, false));
        MD_REQUIRE(slow->map.count == slow->waiting.count + slow->idle.count);
        MD_REQUIRE(slow->record_bytes <= core->config.trade_backlog);
        waiting += slow->waiting.count;
        all += slow->map.count;
        merging += core->clients[i].is_merging;
    }
    MD_REQUIRE(core->backlog->entries.count == all);
    MD_REQUIRE(core->stats.backlog_streams_now == waiting);
    MD_REQUIRE(core->merging_now == merging);
    MD_REQUIRE(core->stats.backlog_bytes_now <= core->config.backlog_bytes_max);
    MD_REQUIRE(core->stats.backlog_bytes_now == bytes);
    return NULL;
}
