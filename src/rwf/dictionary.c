/* dictionary.c - see rmds/rwf_dictionary.h: what is kept, and how it is found. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_dictionary.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "dictionary_store.h"
#include "rmds/rwf_rmtes.h"

enum {
    BLOCK_SIZE = 64 * 1024,
    NAME_SLOTS_FIRST = 256,
    MEMBER_ROOM = 48, /* 33 bytes of it are read at once, see rmds/rwf_dictionary.h */
    QUOTED_ROOM = 16, /* likewise 16 */
    DISPLAY_MAX = 64, /* longer ones are not kept in quotes */
};

struct store_block {
    struct store_block *next;
    size_t size;
    alignas(max_align_t) char bytes[];
};

/* ---- memory ---- */

void *store_take(struct rwf_dictionary *dictionary, size_t size)
{
    struct store_arena *arena = &dictionary->arena;
    struct store_block *block = arena->blocks;
    char *taken;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!block || size > arena->left) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

        block = malloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        block->size = room;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->left = room;
    }
    taken = block->bytes + (block->size - arena->left);
    arena->left -= size;
    return taken;
}

char *store_string(struct rwf_dictionary *dictionary, const void *bytes, size_t length)
{
    char *string = store_take(dictionary, length + 1);

    if (!string)
        return NULL;
    if (length)
        memcpy(string, bytes, length);
    string[length] = '\0';
    return string;
}

bool store_grow(void **array, uint32_t count, uint32_t *room, size_t size)
{
    uint32_t more;
    void *bigger;

    if (count < *room)
        return true;
    if (*room > UINT32_MAX / 2)
        return false;
    more = *room ? *room * 2 : 64;
    if (more > SIZE_MAX / size)
        return false;
    bigger = realloc(*array, more * size);
    if (!bigger)
        return false;
    *array = bigger;
    *room = more;
    return true;
}

int rwf_dictionary_create(struct rwf_dictionary **out)
{
    struct rwf_dictionary *dictionary = calloc(1, sizeof(*dictionary));

    *out = NULL;
    if (!dictionary)
        return MD_ERR_NOMEM;
    dictionary->field_of_fid = calloc(FID_COUNT, sizeof(*dictionary->field_of_fid));
    dictionary->table_of_fid = calloc(FID_COUNT, sizeof(*dictionary->table_of_fid));
    dictionary->field_of_name = calloc(NAME_SLOTS_FIRST, sizeof(*dictionary->field_of_name));
    dictionary->name_mask = NAME_SLOTS_FIRST - 1;
    dictionary->info = (struct rwf_dictionary_info){
        .field_version = "",
        .rt_version = "",
        .dt_version = "",
        .field_filename = "",
        .enum_filename = "",
    };
    if (!dictionary->field_of_fid || !dictionary->table_of_fid || !dictionary->field_of_name) {
        rwf_dictionary_destroy(dictionary);
        return MD_ERR_NOMEM;
    }
    *out = dictionary;
    return MD_OK;
}

void rwf_dictionary_destroy(struct rwf_dictionary *dictionary)
{
    if (!dictionary)
        return;
    for (struct store_block *block = dictionary->arena.blocks; block;) {
        struct store_block *next = block->next;

        free(block);
        block = next;
    }
    free(dictionary->fields);
    free(dictionary->tables);
    free(dictionary->field_of_fid);
    free(dictionary->table_of_fid);
    free(dictionary->field_of_name);
    free(dictionary);
}

/* ---- names ---- */

static uint32_t hash(const char *name, size_t length)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h;
}

/* The slot that holds the name, or the free one where it belongs. */
static uint16_t *name_slot(const struct rwf_dictionary *dictionary, const char *name, size_t length)
{
    uint32_t i = hash(name, length);

    for (;; i++) {
        uint16_t *slot = &dictionary->field_of_name[i & dictionary->name_mask];

        if (*slot == 0)
            return slot;
        const struct rwf_field_def *field = &dictionary->fields[*slot - 1];
        if (field->name_length == length && memcmp(field->name, name, length) == 0)
            return slot;
    }
}

/* Of fields that share a name, which no good file has, the first is found. */
static void enter_name(struct rwf_dictionary *dictionary, uint32_t index)
{
    const struct rwf_field_def *field = &dictionary->fields[index];
    uint16_t *slot = name_slot(dictionary, field->name, field->name_length);

    if (*slot == 0)
        *slot = (uint16_t)(index + 1);
}

static void enter_names(struct rwf_dictionary *dictionary)
{
    memset(dictionary->field_of_name, 0,
           ((size_t)dictionary->name_mask + 1) * sizeof(*dictionary->field_of_name));
    for (uint32_t i = 0; i < dictionary->field_count; i++)
        enter_name(dictionary, i);
}

/* At most half of the slots are taken, so that every search ends soon. */
static int grow_names(struct rwf_dictionary *dictionary)
{
    uint32_t slots = dictionary->name_mask + 1;
    uint16_t *bigger;

    if (dictionary->field_count < slots / 2)
        return MD_OK;
    bigger = realloc(dictionary->field_of_name, (size_t)slots * 2 * sizeof(*bigger));
    if (!bigger)
        return MD_ERR_NOMEM;
    dictionary->field_of_name = bigger;
    dictionary->name_mask = slots * 2 - 1;
    enter_names(dictionary);
    return MD_OK;
}

/* ---- filling ---- */

struct store_mark store_mark(const struct rwf_dictionary *dictionary)
{
    return (struct store_mark){
        .field_count = dictionary->field_count,
        .table_count = dictionary->table_count,
        .info = dictionary->info,
    };
}

void store_rollback(struct rwf_dictionary *dictionary, const struct store_mark *mark)
{
    for (uint32_t i = mark->field_count; i < dictionary->field_count; i++)
        dictionary->field_of_fid[(uint16_t)dictionary->fields[i].fid] = 0;
    for (uint32_t i = mark->table_count; i < dictionary->table_count; i++) {
        const struct rwf_enum_table *table = dictionary->tables[i];

        for (uint32_t j = 0; j < table->fid_count; j++)
            dictionary->table_of_fid[(uint16_t)table->fids[j]] = 0;
    }
    dictionary->field_count = mark->field_count;
    dictionary->table_count = mark->table_count;
    dictionary->info = mark->info;
    enter_names(dictionary);
    store_link(dictionary);
}

/* The acronym as a member of an object in JSON, which most messages write. */
static bool store_member(struct rwf_dictionary *dictionary, struct rwf_field_def *field,
                         struct store_view name)
{
    size_t length = name.length + 4;
    size_t size = length > MEMBER_ROOM ? length : MEMBER_ROOM;
    char *member = store_take(dictionary, size);

    if (!member)
        return false;
    memset(member, 0, size);
    member[0] = ',';
    member[1] = '"';
    memcpy(member + 2, name.bytes, name.length);
    member[length - 2] = '"';
    member[length - 1] = ':';
    field->member = member;
    field->member_length = (uint16_t)length;
    return true;
}

int store_add_field(struct rwf_dictionary *dictionary, const struct rwf_field_def *field,
                    struct store_view name, struct store_view long_name)
{
    uint16_t *by_fid = &dictionary->field_of_fid[(uint16_t)field->fid];
    struct rwf_field_def *added;

    if (field->fid == 0 || name.length == 0 || name.length > NAME_LENGTH_MAX ||
        long_name.length > NAME_LENGTH_MAX)
        return MD_ERR_RANGE;
    if (*by_fid)
        return MD_ERR_EXISTS;
    if (dictionary->field_count >= FIELD_COUNT_MAX || grow_names(dictionary) != MD_OK ||
        !store_grow((void **)&dictionary->fields, dictionary->field_count, &dictionary->field_room,
                    sizeof(*dictionary->fields)))
        return MD_ERR_NOMEM;
    added = &dictionary->fields[dictionary->field_count];
    *added = *field;
    added->name = store_string(dictionary, name.bytes, name.length);
    added->long_name = store_string(dictionary, long_name.bytes, long_name.length);
    if (!added->name || !added->long_name || !store_member(dictionary, added, name))
        return MD_ERR_NOMEM;
    added->name_length = (uint8_t)name.length;
    added->long_name_length = (uint8_t)long_name.length;
    added->enums = NULL;
    enter_name(dictionary, dictionary->field_count);
    dictionary->field_count++;
    *by_fid = (uint16_t)dictionary->field_count;
    return MD_OK;
}

void store_table_fini(struct store_table *table)
{
    free(table->fids);
    free(table->values);
    *table = (struct store_table){ .fids = NULL };
}

void store_table_clear(struct store_table *table)
{
    table->fid_count = 0;
    table->value_count = 0;
}

int store_table_add_fid(struct store_table *table, int16_t fid)
{
    if (!store_grow((void **)&table->fids, table->fid_count, &table->fid_room, sizeof(fid)))
        return MD_ERR_NOMEM;
    table->fids[table->fid_count++] = fid;
    return MD_OK;
}

int store_table_add_value(struct store_table *table, struct rwf_enum_value value, unsigned line)
{
    if (!store_grow((void **)&table->values, table->value_count, &table->value_room,
                    sizeof(*table->values)))
        return MD_ERR_NOMEM;
    table->values[table->value_count++] = (struct store_value){ .value = value, .line = line };
    return MD_OK;
}

static int compare_values(const void *a, const void *b)
{
    const struct store_value *x = a;
    const struct store_value *y = b;

    if (x->value.value != y->value.value)
        return x->value.value < y->value.value ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/*
 * Values are found at the slot of their low bits, or soon after it: tables are mostly dense from
 * 0, where that is an index, and sparse ones cost a few steps. A slot holds value index + 1.
 */
static uint32_t *make_slots(struct rwf_dictionary *dictionary, const struct rwf_enum_value *values,
                            uint32_t count, uint32_t *mask)
{
    uint32_t size = 4;
    uint32_t *slots;

    while (size < count * 2)
        size *= 2;
    slots = store_take(dictionary, size * sizeof(*slots));
    if (!slots)
        return NULL;
    memset(slots, 0, size * sizeof(*slots));
    *mask = size - 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = values[i].value;

        while (slots[at & *mask])
            at++;
        slots[at & *mask] = i + 1;
    }
    return slots;
}

static int check_table(const struct rwf_dictionary *dictionary, struct store_table *table,
                       unsigned *line, int *number)
{
    *line = 0;
    *number = 0;
    if (table->value_count)
        qsort(table->values, table->value_count, sizeof(*table->values), compare_values);
    for (uint32_t i = 1; i < table->value_count; i++) {
        if (table->values[i].value.value != table->values[i - 1].value.value)
            continue;
        *line = table->values[i].line;
        *number = table->values[i].value.value;
        return MD_ERR_EXISTS;
    }
    for (uint32_t i = 0; i < table->fid_count; i++) {
        if (!dictionary->table_of_fid[(uint16_t)table->fids[i]])
            continue;
        *number = table->fids[i];
        return MD_ERR_EXISTS;
    }
    return MD_OK;
}

/* The text of a display in UTF-8; false when it cannot stand in quotes as it is. */
static bool text_of_display(const struct rwf_enum_value *value, char *text, size_t *length)
{
    const uint8_t *display = value->display;
    size_t ascii = 0;

    if (value->display_length > DISPLAY_MAX)
        return false;
    while (ascii < value->display_length && display[ascii] >= 0x20 && display[ascii] < 0x7F)
        ascii++;
    *length = ascii;
    if (ascii == value->display_length)
        memcpy(text, display, ascii);
    else if (rwf_rmtes_to_utf8(display, value->display_length, text, 3 * (size_t)DISPLAY_MAX,
                               length) != RWF_OK)
        return false;
    for (size_t i = 0; i < *length; i++) {
        if ((uint8_t)text[i] < 0x20 || text[i] == 0x7F || text[i] == '"' || text[i] == '\\')
            return false;
    }
    return true;
}

static bool store_quoted(struct rwf_dictionary *dictionary, struct rwf_enum_value *value)
{
    char text[3 * DISPLAY_MAX];
    size_t length = 0;

    value->quoted = NULL;
    value->quoted_length = 0;
    if (!text_of_display(value, text, &length))
        return true;
    uint8_t *quoted = store_take(dictionary, length + 2 + QUOTED_ROOM);
    if (!quoted)
        return false;
    memset(quoted, 0, length + 2 + QUOTED_ROOM);
    quoted[0] = '"';
    memcpy(quoted + 1, text, length);
    quoted[1 + length] = '"';
    value->quoted = quoted;
    value->quoted_length = (uint16_t)(length + 2);
    return true;
}

int store_add_table(struct rwf_dictionary *dictionary, struct store_table *collected,
                    unsigned *line, int *number)
{
    int err = check_table(dictionary, collected, line, number);

    if (err != MD_OK)
        return err;
    if (dictionary->table_count >= TABLE_COUNT_MAX ||
        !store_grow((void **)&dictionary->tables, dictionary->table_count, &dictionary->table_room,
                    sizeof(struct rwf_enum_table *)))
        return MD_ERR_NOMEM;

    struct rwf_enum_table *table = store_take(dictionary, sizeof(*table));
    int16_t *fids = store_take(dictionary, collected->fid_count * sizeof(*fids));
    struct rwf_enum_value *values =
        store_take(dictionary, collected->value_count * sizeof(*values));
    if (!table || !fids || !values)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < collected->value_count; i++) {
        values[i] = collected->values[i].value;
        if (!store_quoted(dictionary, &values[i]))
            return MD_ERR_NOMEM;
    }
    if (collected->fid_count)
        memcpy(fids, collected->fids, collected->fid_count * sizeof(*fids));
    *table = (struct rwf_enum_table){
        .values = values,
        .fids = fids,
        .value_count = collected->value_count,
        .fid_count = collected->fid_count,
    };
    table->slots = make_slots(dictionary, values, table->value_count, &table->slot_mask);
    if (!table->slots)
        return MD_ERR_NOMEM;
    dictionary->tables[dictionary->table_count++] = table;
    for (uint32_t i = 0; i < table->fid_count; i++)
        dictionary->table_of_fid[(uint16_t)fids[i]] = (uint16_t)dictionary->table_count;
    return MD_OK;
}

void store_link(struct rwf_dictionary *dictionary)
{
    for (uint32_t i = 0; i < dictionary->field_count; i++) {
        struct rwf_field_def *field = &dictionary->fields[i];
        uint16_t table = dictionary->table_of_fid[(uint16_t)field->fid];

        field->enums = table ? dictionary->tables[table - 1] : NULL;
    }
}

/* ---- looking up ---- */

const struct rwf_dictionary_info *rwf_dictionary_info(const struct rwf_dictionary *dictionary)
{
    return &dictionary->info;
}

const struct rwf_field_def *rwf_dictionary_field(const struct rwf_dictionary *dictionary, int fid)
{
    uint16_t index;

    if (fid < INT16_MIN || fid > INT16_MAX)
        return NULL;
    index = dictionary->field_of_fid[(uint16_t)fid];
    return index ? &dictionary->fields[index - 1] : NULL;
}

const struct rwf_field_def *rwf_dictionary_field_named(const struct rwf_dictionary *dictionary,
                                                       const char *name, size_t length)
{
    uint16_t index = *name_slot(dictionary, name, length);

    return index ? &dictionary->fields[index - 1] : NULL;
}

const struct rwf_field_def *rwf_dictionary_next(const struct rwf_dictionary *dictionary, int fid)
{
    const struct rwf_field_def *field = NULL;

    while (!field && ++fid <= INT16_MAX)
        field = rwf_dictionary_field(dictionary, fid);
    return field;
}

uint32_t rwf_dictionary_field_count(const struct rwf_dictionary *dictionary)
{
    return dictionary->field_count;
}

uint32_t rwf_dictionary_table_count(const struct rwf_dictionary *dictionary)
{
    return dictionary->table_count;
}

const struct rwf_enum_table *rwf_dictionary_table(const struct rwf_dictionary *dictionary,
                                                  uint32_t index)
{
    MD_ASSERT(index < dictionary->table_count);
    return dictionary->tables[index];
}

const struct rwf_enum_value *rwf_enum_find(const struct rwf_enum_table *table, unsigned value)
{
    if (!table)
        return NULL;
    for (uint32_t at = value;; at++) {
        uint32_t slot = table->slots[at & table->slot_mask];

        if (slot == 0)
            return NULL;
        if (table->values[slot - 1].value == value)
            return &table->values[slot - 1];
    }
}
