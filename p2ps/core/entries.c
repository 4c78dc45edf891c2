/* entries.c - rows of maps, vectors and filter lists with permission data of their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"

#include <string.h>

#include "ask.h"
#include "base/table.h"
#include "record.h"

#define MORE ((uint64_t)1 << P2PS_ENTRY_LOCKS)
/* No lock begins like this: the rules say what becomes of one that cannot be read. */
#define UNREADABLE rwf_bytes((const uint8_t *)"\xff", 1)

/* ---- any of the three containers ---- */

struct walk {
    unsigned container;
    struct rwf_map map;
    struct rwf_vector vector;
    struct rwf_filter_list list;
    struct rwf_map_entry row;
    struct rwf_vector_entry line;
    struct rwf_filter_entry filter;
};

static struct rwf_bytes payload_of(const struct p2ps_record *record)
{
    return rwf_bytes(record->message.data + record->peek.payload_at, record->peek.payload_length);
}

static int walk_start(struct walk *walk, const struct p2ps_record *record)
{
    struct rwf_bytes payload = payload_of(record);

    walk->container = record->peek.container;
    if (walk->container == RWF_TYPE_MAP)
        return rwf_map_decode(payload, &walk->map);
    if (walk->container == RWF_TYPE_VECTOR)
        return rwf_vector_decode(payload, &walk->vector);
    return rwf_filter_list_decode(payload, &walk->list);
}

/* 1, or 0 behind the last, or an error. *lock has no data: the entry has none. */
static int walk_next(struct walk *walk, struct rwf_bytes *lock)
{
    int rc;
    bool has_lock;

    if (walk->container == RWF_TYPE_MAP) {
        rc = rwf_map_next(&walk->map, &walk->row);
        has_lock = walk->row.has_perm;
        *lock = walk->row.perm;
    } else if (walk->container == RWF_TYPE_VECTOR) {
        rc = rwf_vector_next(&walk->vector, &walk->line);
        has_lock = walk->line.has_perm;
        *lock = walk->line.perm;
    } else {
        rc = rwf_filter_list_next(&walk->list, &walk->filter);
        has_lock = walk->filter.has_perm;
        *lock = walk->filter.perm;
    }
    if (!has_lock)
        *lock = rwf_bytes(NULL, 0);
    else if (!lock->data)
        *lock = rwf_text("");
    return rc;
}

/* True: something is left even if no entry is. */
static bool write_start(const struct walk *walk, struct rwf_encoder *enc)
{
    if (walk->container == RWF_TYPE_MAP) {
        struct rwf_map_info info = walk->map.info;
        info.flags &= (uint8_t)~RWF_MAP_HAS_ENTRY_PERM;
        rwf_map_start(enc, &info);
        return (info.flags & RWF_MAP_HAS_SUMMARY) != 0;
    }
    if (walk->container == RWF_TYPE_VECTOR) {
        struct rwf_vector_info info = walk->vector.info;
        info.flags &= (uint8_t)~RWF_VECTOR_HAS_ENTRY_PERM;
        rwf_vector_start(enc, &info);
        return (info.flags & RWF_VECTOR_HAS_SUMMARY) != 0;
    }
    struct rwf_filter_list_info info = walk->list.info;
    info.flags &= (uint8_t)~RWF_FILTER_HAS_ENTRY_PERM;
    rwf_filter_list_start(enc, &info);
    return false;
}

static void write_entry(const struct walk *walk, struct rwf_encoder *enc)
{
    if (walk->container == RWF_TYPE_MAP)
        rwf_map_add(enc, &walk->row);
    else if (walk->container == RWF_TYPE_VECTOR)
        rwf_vector_add(enc, &walk->line);
    else
        rwf_filter_add(enc, &walk->filter);
}

static void write_finish(const struct walk *walk, struct rwf_encoder *enc)
{
    if (walk->container == RWF_TYPE_MAP)
        rwf_map_finish(enc);
    else if (walk->container == RWF_TYPE_VECTOR)
        rwf_vector_finish(enc);
    else
        rwf_filter_list_finish(enc);
}

/* ---- the locks of a message ---- */

bool p2ps_entries_are_locked(const struct p2ps_core *core, const struct p2ps_record *record)
{
    if (!core->needs_locks || record->peek.payload_length == 0 ||
        core->config.entry_locks == P2PS_ENTRY_LOCKS_PASS)
        return false;
    uint8_t flags = *payload_of(record).data;

    switch (record->peek.container) {
    case RWF_TYPE_MAP:
        return (flags & RWF_MAP_HAS_ENTRY_PERM) != 0;
    case RWF_TYPE_VECTOR:
        return (flags & RWF_VECTOR_HAS_ENTRY_PERM) != 0;
    case RWF_TYPE_FILTER_LIST:
        return (flags & RWF_FILTER_HAS_ENTRY_PERM) != 0;
    default:
        return false;
    }
}

static uint64_t bit_of(const struct p2ps_entries *entries, struct rwf_bytes lock)
{
    for (unsigned i = 0; i < entries->lock_count; i++) {
        if (rwf_bytes_equal(entries->locks[i], lock))
            return (uint64_t)1 << i;
    }
    return MORE;
}

void p2ps_entries_read(const struct p2ps_record *record, struct p2ps_entries *entries)
{
    struct walk walk;
    struct rwf_bytes lock;
    int rc = walk_start(&walk, record);

    memset(entries, 0, sizeof(*entries));
    while (rc >= 0 && (rc = walk_next(&walk, &lock)) > 0) {
        if (!lock.data || bit_of(entries, lock) != MORE)
            continue;
        if (entries->lock_count < P2PS_ENTRY_LOCKS)
            entries->locks[entries->lock_count++] = lock;
        else
            entries->has_more = true;
    }
    entries->is_broken = rc < 0;
}

/* ---- the set of a watch ---- */

static bool is_same_user(const struct p2ps_client *a, const struct p2ps_client *b)
{
    return strcmp(a->user, b->user) == 0 &&
           strcmp(a->roles ? a->roles : "", b->roles ? b->roles : "") == 0;
}

static uint8_t number_of(struct p2ps_entries *entries, uint64_t denied)
{
    unsigned set = 0;

    while (set < entries->set_count && entries->sets[set] != denied)
        set++;
    if (set == P2PS_ENTRY_SETS)
        denied = UINT64_MAX; /* no locked entry at all */
    if (set == entries->set_count || set == P2PS_ENTRY_SETS) {
        entries->sets[set] = denied;
        entries->set_count = set + 1;
    }
    return (uint8_t)set;
}

/* False: a verdict is not there yet. */
static bool ask(struct p2ps_core *core, const struct p2ps_entries *entries, uint32_t item,
                const struct p2ps_watch *w, uint64_t *denied)
{
    bool has_more = entries->has_more || entries->is_broken;

    *denied = 0;
    for (unsigned i = 0; i < entries->lock_count + has_more; i++) {
        bool is_more = i == entries->lock_count;
        enum entitle_verdict verdict =
            p2ps_ask_hears(core, item, w, is_more ? UNREADABLE : entries->locks[i]);

        if (verdict == ENTITLE_PENDING)
            return false;
        if (verdict == ENTITLE_DENY)
            *denied |= is_more ? MORE : (uint64_t)1 << i;
    }
    return true;
}

static uint8_t decide(const struct p2ps_core *core, struct p2ps_entries *entries, uint64_t denied)
{
    if (denied && core->config.entry_locks == P2PS_ENTRY_LOCKS_CLOSE)
        return P2PS_ENTRY_CLOSES;
    return denied && entries->is_broken ? P2PS_ENTRY_NONE : number_of(entries, denied);
}

uint8_t p2ps_entries_set(struct p2ps_core *core, struct p2ps_entries *entries, uint32_t item,
                         uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    const struct p2ps_client *c = &core->clients[w->client];
    unsigned slot = (unsigned)(md_hash_bytes(c->user, strlen(c->user)) & 255);
    uint64_t denied;

    if (entries->known[slot].client &&
        is_same_user(c, &core->clients[entries->known[slot].client - 1]))
        return entries->known[slot].set;
    if (!ask(core, entries, item, w, &denied))
        return P2PS_ENTRY_WAITS;
    uint8_t set = decide(core, entries, denied);
    if (w->client < UINT16_MAX) {
        entries->known[slot].client = (uint16_t)(w->client + 1);
        entries->known[slot].set = set;
    }
    return set;
}

/* ---- the message of a set ---- */

/* Copies what is not denied. False: it cannot be. */
static bool copy(struct rwf_encoder *enc, const struct p2ps_entries *entries, uint64_t denied,
                 const struct p2ps_record *whole, uint32_t *removed, bool *is_empty)
{
    struct walk walk;
    struct rwf_bytes lock;
    int rc = walk_start(&walk, whole);

    if (rc < 0)
        return false;
    *is_empty = !write_start(&walk, enc);
    while ((rc = walk_next(&walk, &lock)) > 0) {
        if (lock.data && bit_of(entries, lock) & denied) {
            ++*removed;
            continue;
        }
        write_entry(&walk, enc);
        *is_empty = false;
    }
    write_finish(&walk, enc);
    return rc == 0 && rwf_encoder_error(enc) == RWF_OK;
}

bool p2ps_entries_make(struct p2ps_core *core, const struct p2ps_entries *entries, unsigned set,
                       const struct p2ps_record *whole, struct p2ps_record *out, uint32_t *removed)
{
    size_t head = whole->peek.payload_at;
    struct rwf_encoder enc;
    bool is_empty = false;

    *out = *whole;
    *removed = 0;
    p2ps_record_next(core);
    if (entries->sets[set] == 0)
        return true;
    if (head > core->entry_size)
        return false;
    memcpy(core->entry_buffer, whole->message.data, head);
    /* A container stands in a message: the encoder begins with one, whose head this takes over. */
    rwf_encoder_init(&enc, core->entry_buffer + head, core->entry_size - head);
    if (!copy(&enc, entries, entries->sets[set], whole, removed, &is_empty))
        return false;
    out->message = rwf_bytes(core->entry_buffer, head + rwf_encoder_bytes(&enc).length);
    if (is_empty && whole->peek.msg_class == RWF_CLASS_UPDATE)
        out->message.length = 0;
    else if (rwf_peek(out->message, &out->peek) != RWF_OK)
        return false;
    return true;
}

bool p2ps_entries_cut(struct p2ps_core *core, uint32_t item, uint32_t watch,
                      struct p2ps_record *record)
{
    struct p2ps_entries entries;
    struct p2ps_record whole = *record;
    uint64_t denied;
    uint32_t removed;

    p2ps_entries_read(record, &entries);
    if (!ask(core, &entries, item, &core->items[item].watches[watch], &denied) ||
        (denied && (entries.is_broken || core->config.entry_locks == P2PS_ENTRY_LOCKS_CLOSE)))
        return false;
    if (!p2ps_entries_make(core, &entries, number_of(&entries, denied), &whole, record, &removed))
        return false;
    core->stats.entries_removed += removed;
    return true;
}
