/* rwf_container.h - iterators over containers, in the caller's bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_CONTAINER_H
#define RMDS_RWF_CONTAINER_H

#include "rmds/rwf_types.h"

/*
 * Every container is read in the same way:
 *
 *     struct rwf_field_list list;
 *     struct rwf_field field;
 *     int rc = rwf_field_list_decode(msg.payload, NULL, &list);
 *     while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0)
 *         ... field.id, field.content ...
 *     if (rc < 0)
 *         the bytes are broken
 *
 * _decode() reads the head of the container, _next() returns 1 with an entry, 0 at the end, or an
 * error, which it then repeats. Nothing is allocated or copied; entries are views, so a nested
 * container is opened with the entry's bytes and an iterator of its own. An empty container (no
 * bytes) decodes as one without entries. How deep to follow the nesting is the caller's decision:
 * stop at RWF_DEPTH_MAX, as rwf_check() does.
 *
 * The structs may be copied; members from `pos` on are the iterator's own.
 */

/* ---- set definitions ---- */

/* One definition; its entries stay encoded: field id or name, then type, `count` times. */
struct rwf_set_def {
    uint16_t id;
    uint8_t count;
    struct rwf_bytes entries;
};

enum rwf_set_kind {
    RWF_SET_FIELDS = 0,   /* entries are i16 field id, u8 type */
    RWF_SET_ELEMENTS = 1, /* entries are buf15 name, u8 type */
};

#define RWF_SET_LOCAL_MAX 15 /* definitions in a local block */
#define RWF_SET_ID_LOCAL  15 /* highest local id; ids above are global */

/* The local definitions of a map, vector or series. */
struct rwf_set_db {
    uint8_t kind; /* enum rwf_set_kind */
    uint8_t count;
    struct rwf_set_def def[RWF_SET_LOCAL_MAX];
};

/* Global definitions, known from elsewhere: any number, owned by the caller, sorted by id. */
struct rwf_set_global {
    const struct rwf_set_def *def;
    size_t count;
};

/* The definitions in scope. Any of them may be NULL. */
struct rwf_sets {
    const struct rwf_set_db *local;
    const struct rwf_set_global *global_fields;
    const struct rwf_set_global *global_elements;
};

/* Reads and checks a definition block (set_defs of a map, vector, series). */
int rwf_set_db_decode(struct rwf_bytes bytes, enum rwf_set_kind kind, struct rwf_set_db *db);

/* The definition for set data of `kind` with that id, or NULL. */
const struct rwf_set_def *rwf_sets_find(const struct rwf_sets *sets, enum rwf_set_kind kind,
                                        uint16_t id);

/* One entry of a definition. */
struct rwf_set_entry {
    int16_t field_id;      /* fields */
    struct rwf_bytes name; /* elements */
    uint8_t type;          /* as defined, e.g. RWF_TYPE_INT_2 */
};

/* Walks the entries: *pos starts at 0. Returns 1, 0 at the end, or an error. */
int rwf_set_def_next(const struct rwf_set_def *def, enum rwf_set_kind kind, size_t *pos,
                     struct rwf_set_entry *entry);

/* ---- field list ---- */

enum rwf_list_flags { /* field list and element list */
                      RWF_LIST_HAS_INFO = 1,
                      RWF_LIST_HAS_SET_DATA = 2,
                      RWF_LIST_HAS_SET_ID = 4,
                      RWF_LIST_HAS_STANDARD_DATA = 8,
};

struct rwf_field_list_info {
    uint8_t flags;          /* enum rwf_list_flags */
    uint16_t dictionary_id; /* HAS_INFO */
    uint16_t list_num;      /* HAS_INFO: the template number */
    uint16_t set_id;
};

struct rwf_field_list {
    struct rwf_field_list_info info;
    uint16_t count;            /* standard entries announced */
    struct rwf_bytes set_data; /* still encoded; skipped when the definition is not known */
    bool set_is_known;
    const uint8_t *pos;
    const uint8_t *end;
    const uint8_t *set_pos;
    const struct rwf_set_def *set;
    size_t set_entry;
    uint32_t set_left;
    uint32_t left;
    int err;
};

struct rwf_field {
    int16_t id;
    uint8_t type; /* known only for set data; 0: look the id up in the dictionary */
    struct rwf_bytes content;
};

int rwf_field_list_decode(struct rwf_bytes bytes, const struct rwf_sets *sets,
                          struct rwf_field_list *list);
int rwf_field_list_next(struct rwf_field_list *list, struct rwf_field *field);

/* Which fields a list is to lose: those whose bit (by uint16_t of the id) is not as `keeps`. */
struct rwf_field_choice {
    const uint64_t *bits; /* 1024 words */
    bool keeps;
};

#define RWF_CUT_IDS 16u
struct rwf_field_cut {
    size_t length;            /* of the list that is left */
    unsigned left;            /* fields */
    unsigned lost;            /* fields */
    int16_t ids[RWF_CUT_IDS]; /* the first that are lost */
};

/*
 * A list of standard data less the fields that are not chosen, byte for byte, in one pass. `out`
 * has bytes.length bytes and does not overlap; it may be NULL: only the fields are counted. When
 * none is lost, nothing is written. RWF_ERR_NOT_FOUND: the list has set data.
 */
int rwf_field_list_cut(struct rwf_bytes bytes, const struct rwf_field_choice *choice, uint8_t *out,
                       struct rwf_field_cut *cut);

/* ---- element list ---- */

struct rwf_element_list_info {
    uint8_t flags;     /* enum rwf_list_flags */
    uint16_t list_num; /* HAS_INFO */
    uint16_t set_id;
};

struct rwf_element_list {
    struct rwf_element_list_info info;
    uint16_t count;
    struct rwf_bytes set_data;
    bool set_is_known;
    const uint8_t *pos;
    const uint8_t *end;
    const uint8_t *set_pos;
    const struct rwf_set_def *set;
    size_t set_entry;
    uint32_t set_left;
    uint32_t left;
    int err;
};

struct rwf_element {
    struct rwf_bytes name;
    uint8_t type; /* RWF_TYPE_NO_DATA has no content */
    struct rwf_bytes content;
};

int rwf_element_list_decode(struct rwf_bytes bytes, const struct rwf_sets *sets,
                            struct rwf_element_list *list);
int rwf_element_list_next(struct rwf_element_list *list, struct rwf_element *element);

/* True when the element has this name: rwf_element_is(&element, ":ViewType"). */
static inline bool rwf_element_is(const struct rwf_element *element, const char *name)
{
    return rwf_bytes_equal(element->name, rwf_text(name));
}

/* ---- map ---- */

enum rwf_map_flags {
    RWF_MAP_HAS_SET_DEFS = 1,
    RWF_MAP_HAS_SUMMARY = 2,
    RWF_MAP_HAS_ENTRY_PERM = 4, /* the encoder sets it by itself */
    RWF_MAP_HAS_HINT = 8,
    RWF_MAP_HAS_KEY_FIELD_ID = 16,
};

enum rwf_map_action {
    RWF_MAP_UPDATE = 1,
    RWF_MAP_ADD = 2,
    RWF_MAP_DELETE = 3,
};

struct rwf_map_info {
    uint8_t flags;      /* enum rwf_map_flags */
    uint8_t key_type;   /* base primitive */
    uint16_t container; /* type of the entries and of the summary */
    int16_t key_field_id;
    uint32_t hint;             /* total count over all parts; advice */
    struct rwf_bytes set_defs; /* encoded block, for rwf_set_db_decode() */
    struct rwf_bytes summary;  /* encoded container */
};

struct rwf_map {
    struct rwf_map_info info;
    uint16_t count;
    const uint8_t *pos;
    const uint8_t *end;
    uint32_t left;
    int err;
};

struct rwf_map_entry {
    uint8_t action; /* enum rwf_map_action; others are passed through */
    bool has_perm;
    struct rwf_bytes perm;
    struct rwf_bytes key;  /* content of key_type */
    struct rwf_bytes data; /* empty for DELETE and NO_DATA */
};

int rwf_map_decode(struct rwf_bytes bytes, struct rwf_map *map);
int rwf_map_next(struct rwf_map *map, struct rwf_map_entry *entry);

/* ---- vector ---- */

enum rwf_vector_flags {
    RWF_VECTOR_HAS_SET_DEFS = 1,
    RWF_VECTOR_HAS_SUMMARY = 2,
    RWF_VECTOR_HAS_ENTRY_PERM = 4,
    RWF_VECTOR_HAS_HINT = 8,
    RWF_VECTOR_SUPPORTS_SORTING = 16,
};

enum rwf_vector_action {
    RWF_VECTOR_UPDATE = 1,
    RWF_VECTOR_SET = 2,
    RWF_VECTOR_CLEAR = 3,
    RWF_VECTOR_INSERT = 4,
    RWF_VECTOR_DELETE = 5,
};

struct rwf_vector_info {
    uint8_t flags;
    uint16_t container;
    uint32_t hint;
    struct rwf_bytes set_defs;
    struct rwf_bytes summary;
};

struct rwf_vector {
    struct rwf_vector_info info;
    uint16_t count;
    const uint8_t *pos;
    const uint8_t *end;
    uint32_t left;
    int err;
};

struct rwf_vector_entry {
    uint8_t action; /* enum rwf_vector_action */
    bool has_perm;
    uint32_t index; /* below 2^30 */
    struct rwf_bytes perm;
    struct rwf_bytes data; /* empty for CLEAR, DELETE and NO_DATA */
};

int rwf_vector_decode(struct rwf_bytes bytes, struct rwf_vector *vector);
int rwf_vector_next(struct rwf_vector *vector, struct rwf_vector_entry *entry);

/* ---- series ---- */

enum rwf_series_flags {
    RWF_SERIES_HAS_SET_DEFS = 1,
    RWF_SERIES_HAS_SUMMARY = 2,
    RWF_SERIES_HAS_HINT = 4,
};

struct rwf_series_info {
    uint8_t flags;
    uint16_t container;
    uint32_t hint;
    struct rwf_bytes set_defs;
    struct rwf_bytes summary;
};

struct rwf_series {
    struct rwf_series_info info;
    uint16_t count;
    const uint8_t *pos;
    const uint8_t *end;
    uint32_t left;
    int err;
};

int rwf_series_decode(struct rwf_bytes bytes, struct rwf_series *series);
int rwf_series_next(struct rwf_series *series, struct rwf_bytes *data);

/* ---- filter list ---- */

enum rwf_filter_flags {
    RWF_FILTER_HAS_ENTRY_PERM = 1,
    RWF_FILTER_HAS_HINT = 2,
};

enum rwf_filter_action {
    RWF_FILTER_UPDATE = 1,
    RWF_FILTER_SET = 2,
    RWF_FILTER_CLEAR = 3,
};

struct rwf_filter_list_info {
    uint8_t flags;
    uint16_t container;
    uint8_t hint;
};

struct rwf_filter_list {
    struct rwf_filter_list_info info;
    uint8_t count;
    const uint8_t *pos;
    const uint8_t *end;
    uint32_t left;
    int err;
};

struct rwf_filter_entry {
    uint8_t action; /* enum rwf_filter_action */
    uint8_t id;
    bool has_perm;
    bool has_container; /* the entry names its own type on the wire */
    uint16_t container; /* the type of data: the entry's own or the list's */
    struct rwf_bytes perm;
    struct rwf_bytes data; /* empty for CLEAR and NO_DATA */
};

int rwf_filter_list_decode(struct rwf_bytes bytes, struct rwf_filter_list *list);
int rwf_filter_list_next(struct rwf_filter_list *list, struct rwf_filter_entry *entry);

/* ---- array (a primitive, but read like a container) ---- */

struct rwf_array {
    uint8_t item_type;    /* base primitive */
    uint16_t item_length; /* 0: each item has its own length */
    uint16_t count;
    const uint8_t *pos;
    const uint8_t *end;
    uint32_t left;
    int err;
};

int rwf_array_decode(struct rwf_bytes bytes, struct rwf_array *array);
int rwf_array_next(struct rwf_array *array, struct rwf_bytes *item);

/* ---- everything at once ---- */

struct rwf_check {
    const struct rwf_sets *sets;
    /* The type of a standard field entry, 0 if not known; NULL: fields are not looked into. */
    unsigned (*field_type)(void *context, int16_t field_id);
    void *context;
};

/*
 * Decodes everything below `bytes`, depth first, every primitive included, and returns the first
 * error, RWF_ERR_DEPTH when nested deeper than RWF_DEPTH_MAX. `type` is a container, a primitive
 * or RWF_TYPE_MSG. `check` may be NULL.
 */
int rwf_check(unsigned type, struct rwf_bytes bytes, const struct rwf_check *check);

#endif
