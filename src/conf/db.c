/* db.c - storage of entries, doubles, and the look-up by last component. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "db.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

/* One file can hold 200,000 mistakes; people do not read more than this. */
#define FINDINGS_SHOWN_MAX 1000

void report_say(struct report *report, enum md_conf_severity severity, const char *file,
                unsigned line, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (severity == MD_CONF_ERROR)
        report->db->errors++;
    else if (severity == MD_CONF_WARNING)
        report->db->warnings++;
    if (!report->sink || report->said > FINDINGS_SHOWN_MAX)
        return;
    if (report->said++ == FINDINGS_SHOWN_MAX) {
        report->sink(report->sink_arg, MD_CONF_WARNING, NULL, 0,
                     "more than 1000 findings; the rest is not shown");
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    report->sink(report->sink_arg, severity, file, line, text);
}

struct db *db_create(void)
{
    struct db *db = calloc(1, sizeof(*db));

    if (db)
        db->references = 1;
    return db;
}

void db_destroy(struct db *db)
{
    if (!db || --db->references > 0)
        return;
    for (unsigned i = 0; i < db->file_count; i++)
        free(db->files[i]);
    free(db->files);
    free(db->buckets);
    free(db->entries);
    free(db->arena);
    free(db);
}

int db_file_add(struct db *db, const char *name)
{
    if (db->file_count >= DB_FILES_MAX)
        return -1;
    char **files = realloc(db->files, (db->file_count + 1) * sizeof(*files));
    if (!files)
        return -1;
    db->files = files;
    db->files[db->file_count] = strdup(name);
    if (!db->files[db->file_count])
        return -1;
    return (int)db->file_count++;
}

static int arena_reserve(struct db *db, size_t length)
{
    if (length <= db->size - db->used)
        return MD_OK;
    size_t size = db->size + db->size / 2 + length + 256;
    char *arena = realloc(db->arena, size);
    if (!arena)
        return MD_ERR_NOMEM;
    db->arena = arena;
    db->size = size;
    return MD_OK;
}

static int entries_reserve(struct db *db)
{
    if (db->count < db->room)
        return MD_OK;
    uint32_t room = db->room + db->room / 2 + 16;
    struct db_entry *entries = realloc(db->entries, room * sizeof(*entries));
    if (!entries)
        return MD_ERR_NOMEM;
    db->entries = entries;
    db->room = room;
    return MD_OK;
}

int db_add(struct db *db, const char *name, size_t name_length, const char *value,
           size_t value_length, int file, unsigned line)
{
    if (db->count >= DB_ENTRIES_MAX)
        return MD_ERR_FULL;
    if (arena_reserve(db, name_length + value_length + 2) || entries_reserve(db))
        return MD_ERR_NOMEM;

    struct db_entry *entry = &db->entries[db->count++];
    *entry = (struct db_entry){
        .name = (uint32_t)db->used, .line = line, .next = DB_NONE, .file = (uint16_t)file
    };
    char *to = db->arena + db->used;
    memcpy(to, name, name_length);
    to[name_length] = '\0';
    if (value_length)
        memcpy(to + name_length + 1, value, value_length);
    to[name_length + 1 + value_length] = '\0';
    db->used += name_length + value_length + 2;
    return MD_OK;
}

const char *db_name(const struct db *db, const struct db_entry *entry)
{
    return db->arena + entry->name;
}

const char *db_value(const struct db *db, const struct db_entry *entry)
{
    const char *name = db_name(db, entry);

    return name + strlen(name) + 1;
}

/* FNV-1a; the file is the operator's own: no attacker aims at the buckets. */
static uint32_t hash(const char *text, size_t length, bool lower)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < length; i++)
        h = (h ^ (uint8_t)(lower ? ascii_lower(text[i]) : text[i])) * 16777619u;
    return h;
}

static uint32_t table_size(uint32_t count)
{
    uint32_t size = 16;

    while (size < count + count / 2)
        size *= 2;
    return size;
}

static void said_twice(struct db *db, struct report *report, struct db_entry *first,
                       const struct db_entry *later)
{
    first->replaced = 1;
    if (strcmp(db_value(db, first), db_value(db, later)) == 0)
        return;
    if (db->files[later->file][0] == '-')
        return; /* -set is there to replace */
    if (first->file < db->first_files && later->file >= db->first_files)
        return; /* and so is a second -c */
    const char *file = db->files[first->file];
    if (first->file == later->file)
        report_say(report, MD_CONF_WARNING, db->files[later->file], later->line,
                   "%s: already set in line %u to \"%s\"; \"%s\" is used", db_name(db, later),
                   first->line, db_value(db, first), db_value(db, later));
    else
        report_say(report, MD_CONF_WARNING, db->files[later->file], later->line,
                   "%s: already set at %s:%u to \"%s\"; \"%s\" is used", db_name(db, later), file,
                   first->line, db_value(db, first), db_value(db, later));
}

/* The later of two lines with the same name replaces the first. */
static int find_doubles(struct db *db, struct report *report)
{
    uint32_t size = table_size(db->count);
    uint32_t *slots = malloc(size * sizeof(*slots));

    if (!slots)
        return MD_ERR_NOMEM;
    memset(slots, 0xff, size * sizeof(*slots));
    for (uint32_t i = 0; i < db->count; i++) {
        const char *name = db_name(db, &db->entries[i]);
        uint32_t at = hash(name, strlen(name), false) & (size - 1);

        while (slots[at] != DB_NONE && strcmp(db_name(db, &db->entries[slots[at]]), name) != 0)
            at = (at + 1) & (size - 1);
        if (slots[at] != DB_NONE)
            said_twice(db, report, &db->entries[slots[at]], &db->entries[i]);
        slots[at] = i;
    }
    free(slots);
    return MD_OK;
}

/* The component by which an entry is found: its last. */
static const char *key_of(const char *name, size_t *length)
{
    const char *end = name + strlen(name);
    const char *start = end;

    while (start > name && start[-1] != '.' && start[-1] != '*')
        start--;
    *length = (size_t)(end - start);
    return start;
}

int db_index(struct db *db, struct report *report)
{
    uint32_t size = table_size(db->count);

    if (find_doubles(db, report))
        return MD_ERR_NOMEM;
    db->buckets = malloc(size * sizeof(*db->buckets));
    if (!db->buckets)
        return MD_ERR_NOMEM;
    memset(db->buckets, 0xff, size * sizeof(*db->buckets));
    db->mask = size - 1;
    for (uint32_t i = 0; i < db->count; i++) {
        struct db_entry *entry = &db->entries[i];
        size_t length;
        const char *key = key_of(db_name(db, entry), &length);
        uint32_t *bucket = &db->buckets[hash(key, length, true) & db->mask];

        if (entry->replaced || entry->undefined)
            continue;
        entry->next = *bucket;
        *bucket = i;
    }
    return MD_OK;
}

uint32_t db_chain(const struct db *db, const char *key, size_t length)
{
    return db->buckets ? db->buckets[hash(key, length, true) & db->mask] : DB_NONE;
}

/* Chains run from the latest line to the first, so of equals the first met is the one to keep. */
static const struct db_entry *best_of(const struct db *db, uint32_t chain,
                                      const struct path *instance, const struct path *class_path,
                                      const struct db_entry *best, uint64_t *best_score)
{
    struct path name;

    for (uint32_t i = chain; i != DB_NONE; i = db->entries[i].next) {
        const struct db_entry *entry = &db->entries[i];

        if (!path_split(&name, db_name(db, entry)))
            continue;
        uint64_t score = path_score(&name, instance, class_path);
        if (score > *best_score) {
            *best_score = score;
            best = entry;
        }
    }
    return best;
}

const struct db_entry *db_find(const struct db *db, const struct path *instance,
                               const struct path *class_path)
{
    const struct db_entry *best = NULL;
    uint64_t score = 0;
    int last = instance->count - 1;

    MD_ASSERT(instance->count == class_path->count);
    if (last < 0)
        return NULL;
    const char *key = instance->at[last].text;
    size_t length = instance->at[last].length;
    best = best_of(db, db_chain(db, key, length), instance, class_path, best, &score);
    if (!text_same(key, length, class_path->at[last].text, class_path->at[last].length))
        best = best_of(db, db_chain(db, class_path->at[last].text, class_path->at[last].length),
                       instance, class_path, best, &score);
    return best;
}
