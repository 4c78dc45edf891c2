/* dictionary_store.h - how a dictionary is kept and filled; for src/rwf/dictionary*.c alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_DICTIONARY_STORE_H
#define RWF_DICTIONARY_STORE_H

#include "rmds/rwf_dictionary.h"

enum {
    FID_COUNT = 65536,
    FIELD_COUNT_MAX = 65535,
    TABLE_COUNT_MAX = 65535,
    NAME_LENGTH_MAX = 255,
};

/* Strings and tables live until the dictionary dies: carved off blocks, which are freed at once. */
struct store_block;

struct store_arena {
    struct store_block *blocks;
    size_t left;
};

struct rwf_dictionary {
    struct rwf_field_def *fields; /* in the order of arrival */
    uint32_t field_count;
    uint32_t field_room;
    struct rwf_enum_table **tables;
    uint32_t table_count;
    uint32_t table_room;
    uint16_t *field_of_fid;  /* [FID_COUNT], index + 1, by fid as uint16_t */
    uint16_t *table_of_fid;  /* likewise */
    uint16_t *field_of_name; /* open addressing, index + 1 */
    uint32_t name_mask;
    struct rwf_dictionary_info info;
    struct store_arena arena;
};

/* Some bytes of the caller's. */
struct store_view {
    const char *bytes;
    size_t length;
};

/* The state to which a failed load returns. */
struct store_mark {
    uint32_t field_count;
    uint32_t table_count;
    struct rwf_dictionary_info info;
};

struct store_mark store_mark(const struct rwf_dictionary *dictionary);
void store_rollback(struct rwf_dictionary *dictionary, const struct store_mark *mark);

/* Memory of the dictionary's own, aligned for anything; NULL when there is none. */
void *store_take(struct rwf_dictionary *dictionary, size_t size);
/* A terminated copy. */
char *store_string(struct rwf_dictionary *dictionary, const void *bytes, size_t length);

/*
 * Add a field; its name and long name are copied from the views. MD_ERR_EXISTS when the id is
 * taken, MD_ERR_RANGE for an id 0 or a name that is empty or too long.
 */
int store_add_field(struct rwf_dictionary *dictionary, const struct rwf_field_def *field,
                    struct store_view name, struct store_view long_name);

/* A table being collected. */
struct store_value {
    struct rwf_enum_value value; /* its strings are already the dictionary's */
    unsigned line;
};

struct store_table {
    int16_t *fids;
    uint32_t fid_count;
    uint32_t fid_room;
    struct store_value *values;
    uint32_t value_count;
    uint32_t value_room;
};

void store_table_fini(struct store_table *table);
void store_table_clear(struct store_table *table);
int store_table_add_fid(struct store_table *table, int16_t fid);
int store_table_add_value(struct store_table *table, struct rwf_enum_value value, unsigned line);

/*
 * Add what was collected as a table. MD_ERR_EXISTS when a value occurs twice (its second line in
 * *line, its number in *number) or when a field has a table already (*line 0, the id in *number).
 */
int store_add_table(struct rwf_dictionary *dictionary, struct store_table *table, unsigned *line,
                    int *number);

/* Point each field at its table; after every load. */
void store_link(struct rwf_dictionary *dictionary);

/* Room for one more element in a growing array; false when there is no memory. */
bool store_grow(void **array, uint32_t count, uint32_t *room, size_t size);

#endif
