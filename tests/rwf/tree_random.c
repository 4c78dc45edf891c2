/* tree_random.c - random content of every kind, with set data, all members, odd numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_random.h"

#include <stdio.h>

static uint32_t below(struct tree_random *g, uint32_t limit)
{
    return md_prng_below(&g->prng, limit);
}

static bool chance(struct tree_random *g, unsigned percent)
{
    return below(g, 100) < percent;
}

/* Few numbers are plain random: most stand at a place where some length changes. */
static uint64_t number(struct tree_random *g, unsigned bits)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    unsigned shift = below(g, bits);
    uint64_t edge = UINT64_C(1) << shift;

    switch (below(g, 4)) {
    case 0:
        return md_prng_u64(&g->prng) & mask;
    case 1:
        return (edge - 1) & mask;
    case 2:
        return edge & mask;
    default:
        return below(g, 256) & mask;
    }
}

static int64_t signed_number(struct tree_random *g, unsigned bits)
{
    int64_t value = (int64_t)number(g, bits - 1);

    return chance(g, 50) ? -value - 1 : value;
}

static struct node *bytes_node(struct tree_random *g, size_t length_max)
{
    static const uint16_t edges[] = { 1, 127, 128, 253, 254, 255, 256 };
    size_t length = below(g, 12);

    if (chance(g, 4))
        length = edges[below(g, 7)];
    if (length > length_max)
        length = length_max;
    uint8_t *bytes = arena_take(g->arena, length + 1);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)below(g, 256);
    return node_bytes(g->arena, rwf_bytes(bytes, length));
}

static struct node *not_empty(struct tree_random *g, size_t length_max)
{
    struct node *node;

    do {
        node = bytes_node(g, length_max);
    } while (node->bytes.length == 0);
    return node;
}

static struct node *uint_node(struct tree_random *g, uint64_t value)
{
    return node_uint(g->arena, value);
}

static struct node *list(struct tree_random *g, const char *head)
{
    return node_list(g->arena, head);
}

static struct node *pair(struct tree_random *g, const char *head, uint64_t value)
{
    return node_add(list(g, head), uint_node(g, value));
}

static struct node *wrap(struct tree_random *g, const char *head, struct node *item)
{
    return node_add(list(g, head), item);
}

/* ---- primitives ---- */

static void add_date(struct tree_random *g, struct node *node)
{
    node_add(node, uint_node(g, number(g, 16)));
    node_add(node, uint_node(g, below(g, 13)));
    node_add(node, uint_node(g, 1 + below(g, 31)));
}

/* Parts up to `parts`; a time of fewer parts than its form has is written shorter. */
static void add_time(struct tree_random *g, struct node *node, unsigned parts)
{
    static const uint16_t limit[] = { 24, 60, 61, 1000, 1000, 1000 };

    for (unsigned i = 0; i < 6; i++)
        node_add(node, uint_node(g, i < parts ? below(g, limit[i]) : 0));
}

static struct node *hex_word(struct tree_random *g, int digits)
{
    char *text = arena_take(g->arena, 20);
    uint64_t bits = md_prng_u64(&g->prng);

    /* Infinities and not-a-numbers included: the codec carries bits. */
    snprintf(text, 20, "x%0*llx", digits,
             (unsigned long long)(digits == 8 ? bits & UINT32_MAX : bits));
    return node_word(g->arena, text);
}

static struct node *real_node(struct tree_random *g, unsigned bits)
{
    uint64_t hint = below(g, 31);
    struct node *node;

    if (bits == 64 && chance(g, 5))
        return node_add(pair(g, "r", 33 + below(g, 3)), uint_node(g, 0));
    node = pair(g, "r", hint);
    return node_add(node, node_int(g->arena, signed_number(g, bits)));
}

static struct node *qos_node(struct tree_random *g, const char *head)
{
    uint64_t timeliness = 1 + below(g, 3);
    uint64_t rate = 1 + below(g, 3);
    struct node *node = pair(g, head, timeliness);

    node_add(node, uint_node(g, rate));
    node_add(node, uint_node(g, below(g, 2)));
    node_add(node, uint_node(g, timeliness > 2 ? number(g, 16) : 0));
    return node_add(node, uint_node(g, rate > 2 ? number(g, 16) : 0));
}

static struct node *state_node(struct tree_random *g, const char *head)
{
    struct node *node = pair(g, head, 1 + below(g, 5));

    node_add(node, uint_node(g, below(g, 3)));
    node_add(node, uint_node(g, number(g, 8)));
    return node_add(node, bytes_node(g, 300));
}

/* `width`: bits of numbers, parts of times; 0: whatever the type can carry. */
static struct node *value_node(struct tree_random *g, unsigned type, unsigned width)
{
    struct node *node;

    if (width == 0 && chance(g, 8))
        return node_word(g->arena, "blank");
    switch (type) {
    case RWF_TYPE_INT:
        return node_int(g->arena, signed_number(g, width ? width : 64));
    case RWF_TYPE_UINT:
        return uint_node(g, number(g, width ? width : 64));
    case RWF_TYPE_FLOAT:
        return hex_word(g, 8);
    case RWF_TYPE_DOUBLE:
        return hex_word(g, 16);
    case RWF_TYPE_REAL:
        return real_node(g, width ? width : 64);
    case RWF_TYPE_DATE:
        add_date(g, node = list(g, "d"));
        return node;
    case RWF_TYPE_TIME:
        add_time(g, node = list(g, "t"), width ? width : 2 + below(g, 5));
        return node;
    case RWF_TYPE_DATETIME:
        add_date(g, node = list(g, "dt"));
        add_time(g, node, width ? width : 2 + below(g, 5));
        return node;
    case RWF_TYPE_QOS:
        return qos_node(g, "q");
    case RWF_TYPE_STATE:
        return state_node(g, "s");
    case RWF_TYPE_ENUM:
        return uint_node(g, number(g, width ? width : 16));
    default:
        return not_empty(g, 300);
    }
}

static unsigned primitive_type(struct tree_random *g)
{
    static const uint8_t types[] = { 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19 };

    return types[below(g, sizeof(types))];
}

static struct node *array_node(struct tree_random *g)
{
    unsigned type = primitive_type(g);
    unsigned length = 0;
    unsigned width = 0;
    struct node *node = list(g, "ARR");

    if ((type == RWF_TYPE_INT || type == RWF_TYPE_UINT) && chance(g, 50)) {
        length = 1u << below(g, 4);
        width = length * 8;
    }
    node_add(node, tree_type_node(g->arena, type));
    node_add(node, uint_node(g, length));
    for (unsigned i = below(g, 6); i > 0; i--)
        node_add(node, value_node(g, type, width));
    return node;
}

/* ---- set definitions ---- */

struct set_type {
    uint8_t type; /* in the definition */
    uint8_t base;
    uint8_t width; /* bits or parts, 0: any */
};

static const struct set_type set_types[] = {
    { 3, 3, 0 },   { 4, 4, 0 },   { 5, 5, 0 },   { 6, 6, 0 },   { 8, 8, 0 },   { 9, 9, 0 },
    { 10, 10, 0 }, { 11, 11, 0 }, { 12, 12, 0 }, { 14, 14, 0 }, { 16, 16, 0 }, { 17, 17, 0 },
    { 19, 19, 0 }, { 64, 3, 8 },  { 65, 4, 8 },  { 66, 3, 16 }, { 67, 4, 16 }, { 68, 3, 32 },
    { 69, 4, 32 }, { 70, 3, 64 }, { 71, 4, 64 }, { 72, 5, 1 },  { 73, 6, 1 },  { 74, 8, 32 },
    { 75, 8, 63 }, { 76, 9, 1 },  { 77, 10, 3 }, { 78, 10, 4 }, { 79, 11, 3 }, { 80, 11, 4 },
    { 81, 11, 5 }, { 82, 11, 6 }, { 83, 10, 5 }, { 84, 10, 6 },
};

#define SET_ENTRIES 6

struct set {
    bool fields;
    unsigned id;
    unsigned count;
    const struct set_type *type[SET_ENTRIES];
    struct node *key[SET_ENTRIES];
};

static struct node *set_def(struct tree_random *g, struct set *set)
{
    const char *head = set->fields ? "FDB" : "EDB";
    struct node *def = pair(g, "def", set->id);

    set->count = 1 + below(g, SET_ENTRIES);
    for (unsigned i = 0; i < set->count; i++) {
        struct node *entry = list(g, NULL);

        set->type[i] = &set_types[below(g, sizeof(set_types) / sizeof(set_types[0]))];
        set->key[i] = set->fields ? node_int(g->arena, 100 + (int)i) : not_empty(g, 8);
        node_add(entry, set->fields ? node_int(g->arena, 100 + (int)i)
                                    : node_bytes(g->arena, set->key[i]->bytes));
        node_add(entry, tree_type_node(g->arena, set->type[i]->type));
        node_add(def, entry);
    }
    return wrap(g, "setdefs", wrap(g, head, def));
}

/* ---- lists ---- */

static struct node *container(struct tree_random *g, unsigned type, unsigned depth,
                              const struct set *set);

static unsigned container_type(struct tree_random *g)
{
    static const uint8_t types[] = { 132, 132, 133, 135, 136, 137, 138, 141, 128, 130, 131, 142 };

    return types[below(g, sizeof(types))];
}

static bool is_raw(unsigned type)
{
    return type == RWF_TYPE_OPAQUE || type == RWF_TYPE_XML || type == RWF_TYPE_ANSI_PAGE ||
           type == RWF_TYPE_JSON;
}

/* Type and content of an entry; at the bottom only primitives. */
static void add_content(struct tree_random *g, struct node *entry, unsigned type, unsigned depth)
{
    node_add(entry, tree_type_node(g->arena, type));
    if (type == RWF_TYPE_ARRAY)
        node_add(entry, array_node(g));
    else if (rwf_type_is_container(type) && !is_raw(type))
        node_add(entry, container(g, type, depth - 1, NULL));
    else
        node_add(entry, value_node(g, type, 0));
}

static unsigned entry_type(struct tree_random *g, unsigned depth)
{
    unsigned type;

    if (chance(g, 10))
        return RWF_TYPE_ARRAY;
    if (depth < 2 || chance(g, 85))
        return primitive_type(g);
    do {
        type = container_type(g);
    } while (type == RWF_TYPE_NO_DATA);
    return type;
}

static struct node *set_data(struct tree_random *g, const struct set *set)
{
    struct node *node = list(g, "set");

    for (unsigned i = 0; i < set->count; i++) {
        struct node *entry = list(g, set->fields ? "f" : "e");
        const struct node *key = set->key[i];

        node_add(entry, set->fields ? node_int(g->arena, node_number(key))
                                    : node_bytes(g->arena, key->bytes));
        node_add(entry, tree_type_node(g->arena, set->type[i]->base));
        node_add(entry, value_node(g, set->type[i]->base, set->type[i]->width));
        node_add(node, entry);
    }
    return node;
}

static struct node *list_node(struct tree_random *g, bool fields, unsigned depth,
                              const struct set *set)
{
    struct node *node = list(g, fields ? "FL" : "EL");
    struct node *flags = pair(g, "fl", 0);
    bool has_std = chance(g, 90);
    uint64_t bits = has_std ? RWF_LIST_HAS_STANDARD_DATA : 0;

    node_add(node, flags);
    if (chance(g, 20)) {
        bits |= RWF_LIST_HAS_INFO;
        if (fields)
            node_add(node, node_add(pair(g, "info", number(g, 15)), uint_node(g, number(g, 16))));
        else
            node_add(node, pair(g, "num", number(g, 16)));
    }
    if (set && set->fields == fields && chance(g, 70)) {
        bits |= RWF_LIST_HAS_SET_DATA;
        if (set->id != 0 || chance(g, 30)) {
            bits |= RWF_LIST_HAS_SET_ID;
            node_add(node, pair(g, "setid", set->id));
        }
        node_add(node, set_data(g, set));
    }
    if (has_std) {
        struct node *std = list(g, "std");

        for (unsigned i = below(g, 8); i > 0; i--) {
            struct node *entry = list(g, fields ? "f" : "e");
            unsigned type = entry_type(g, depth);

            node_add(entry, fields ? node_int(g->arena, (int)(type * 100 + below(g, 100)))
                                   : bytes_node(g, 200));
            add_content(g, entry, type, depth);
            node_add(std, entry);
        }
        node_add(node, std);
    }
    flags->last->magnitude = bits;
    return node;
}

/* ---- map, vector, series, filter list ---- */

static struct node *slot(struct tree_random *g, const char *head, unsigned type, unsigned depth,
                         const struct set *set)
{
    if (chance(g, 8) || (depth < 2 && !is_raw(type)))
        return wrap(g, head, node_bytes(g->arena, rwf_bytes("", 0)));
    if (is_raw(type))
        return wrap(g, head, bytes_node(g, 400));
    return wrap(g, head, container(g, type, depth - 1, set));
}

/* Definitions, summary and hint, with the flags 1, 2 and `hint_flag`. */
static uint64_t add_head(struct tree_random *g, struct node *node, unsigned type, unsigned depth,
                         struct set *set, uint64_t hint_flag)
{
    uint64_t bits = 0;

    set->count = 0;
    if ((type == RWF_TYPE_FIELD_LIST || type == RWF_TYPE_ELEMENT_LIST) && chance(g, 30)) {
        bits |= 1;
        set->fields = type == RWF_TYPE_FIELD_LIST;
        set->id = below(g, 16);
        node_add(node, set_def(g, set));
    }
    if (type != RWF_TYPE_NO_DATA && chance(g, 30)) {
        bits |= 2;
        node_add(node, slot(g, "summary", type, depth, set->count ? set : NULL));
    }
    if (chance(g, 30)) {
        bits |= hint_flag;
        node_add(node, pair(g, "hint", number(g, 30)));
    }
    return bits;
}

static bool add_perm(struct tree_random *g, struct node *entry)
{
    if (!chance(g, 20))
        return false;
    node_add(entry, wrap(g, "perm", bytes_node(g, 200)));
    return true;
}

static struct node *type_pair(struct tree_random *g, const char *head, unsigned type)
{
    return wrap(g, head, tree_type_node(g->arena, type));
}

static struct node *map_node(struct tree_random *g, unsigned depth)
{
    static const char *const actions[] = { "UPDATE", "ADD", "DELETE" };
    struct node *node = list(g, "MAP");
    struct node *flags = pair(g, "fl", 0);
    unsigned key_type = primitive_type(g);
    unsigned type = container_type(g);
    struct set set = { 0 };
    uint64_t bits = 0;

    node_add(node_add(node, flags), type_pair(g, "ktype", key_type));
    node_add(node, type_pair(g, "ct", type));
    if (chance(g, 20)) {
        bits |= RWF_MAP_HAS_KEY_FIELD_ID;
        node_add(node, wrap(g, "keyfid", node_int(g->arena, signed_number(g, 16))));
    }
    bits |= add_head(g, node, type, depth, &set, RWF_MAP_HAS_HINT);
    for (unsigned i = below(g, 5); i > 0; i--) {
        unsigned action = below(g, 3);
        struct node *entry = wrap(g, "me", node_word(g->arena, actions[action]));
        struct node *key;

        bits |= add_perm(g, entry) ? RWF_MAP_HAS_ENTRY_PERM : 0;
        do {
            key = value_node(g, key_type, 0);
        } while (node_is_word(key, "blank"));
        node_add(entry, wrap(g, "key", key));
        if (action != 2 && type != RWF_TYPE_NO_DATA)
            node_add(entry, slot(g, "data", type, depth, set.count ? &set : NULL));
        node_add(node, entry);
    }
    flags->last->magnitude = bits;
    return node;
}

static struct node *vector_node(struct tree_random *g, unsigned depth)
{
    static const char *const actions[] = { "UPDATE", "SET", "CLEAR", "INSERT", "DELETE" };
    struct node *node = list(g, "VEC");
    struct node *flags = pair(g, "fl", 0);
    unsigned type = container_type(g);
    struct set set = { 0 };
    uint64_t bits = 0;

    node_add(node_add(node, flags), type_pair(g, "ct", type));
    if (chance(g, 30)) {
        bits |= RWF_VECTOR_SUPPORTS_SORTING;
        node_add(node, list(g, "sort"));
    }
    bits |= add_head(g, node, type, depth, &set, RWF_VECTOR_HAS_HINT);
    for (unsigned i = below(g, 5); i > 0; i--) {
        unsigned action = below(g, 5);
        struct node *entry = wrap(g, "ve", node_word(g->arena, actions[action]));

        node_add(entry, uint_node(g, number(g, 30)));
        bits |= add_perm(g, entry) ? RWF_VECTOR_HAS_ENTRY_PERM : 0;
        if (action != 2 && action != 4 && type != RWF_TYPE_NO_DATA)
            node_add(entry, slot(g, "data", type, depth, set.count ? &set : NULL));
        node_add(node, entry);
    }
    flags->last->magnitude = bits;
    return node;
}

static struct node *series_node(struct tree_random *g, unsigned depth)
{
    struct node *node = list(g, "SER");
    struct node *flags = pair(g, "fl", 0);
    unsigned type = container_type(g);
    struct set set = { 0 };

    node_add(node_add(node, flags), type_pair(g, "ct", type));
    flags->last->magnitude = add_head(g, node, type, depth, &set, RWF_SERIES_HAS_HINT);
    for (unsigned i = below(g, 5); i > 0; i--) {
        struct node *entry = list(g, "se");

        if (type != RWF_TYPE_NO_DATA)
            node_add(entry, slot(g, "data", type, depth, set.count ? &set : NULL));
        node_add(node, entry);
    }
    return node;
}

static struct node *filter_node(struct tree_random *g, unsigned depth)
{
    static const char *const actions[] = { "UPDATE", "SET", "CLEAR" };
    struct node *node = list(g, "FLT");
    struct node *flags = pair(g, "fl", 0);
    unsigned list_type = container_type(g);
    uint64_t bits = 0;

    node_add(node_add(node, flags), type_pair(g, "ct", list_type));
    if (chance(g, 30)) {
        bits |= RWF_FILTER_HAS_HINT;
        node_add(node, pair(g, "hint", number(g, 8)));
    }
    for (unsigned i = below(g, 5); i > 0; i--) {
        unsigned action = below(g, 3);
        unsigned type = list_type;
        struct node *entry = wrap(g, "fe", node_word(g->arena, actions[action]));

        node_add(entry, uint_node(g, number(g, 8)));
        if (chance(g, 30)) {
            type = container_type(g);
            node_add(entry, type_pair(g, "ct", type));
        }
        bits |= add_perm(g, entry) ? RWF_FILTER_HAS_ENTRY_PERM : 0;
        if (action != 2 && type != RWF_TYPE_NO_DATA)
            node_add(entry, slot(g, "data", type, depth, NULL));
        node_add(node, entry);
    }
    flags->last->magnitude = bits;
    return node;
}

/* ---- messages ---- */

static struct node *key_node(struct tree_random *g, unsigned depth)
{
    struct node *node = list(g, "key");
    struct node *flags = pair(g, "fl", 0);
    uint64_t bits = 0;

    node_add(node, flags);
    if (chance(g, 60)) {
        bits |= RWF_KEY_HAS_SERVICE_ID;
        node_add(node, pair(g, "svc", number(g, 16)));
    }
    if (chance(g, 70)) {
        bits |= RWF_KEY_HAS_NAME;
        node_add(node, wrap(g, "name", not_empty(g, 255)));
        if (chance(g, 50)) {
            bits |= RWF_KEY_HAS_NAME_TYPE;
            node_add(node, pair(g, "ntype", number(g, 8)));
        }
    }
    if (chance(g, 20)) {
        bits |= RWF_KEY_HAS_FILTER;
        node_add(node, pair(g, "filter", number(g, 32)));
    }
    if (chance(g, 20)) {
        bits |= RWF_KEY_HAS_IDENTIFIER;
        node_add(node, wrap(g, "ident", node_int(g->arena, signed_number(g, 32))));
    }
    if (chance(g, 20) && depth > 1) {
        bits |= RWF_KEY_HAS_ATTRIB;
        node_add(node, node_add(type_pair(g, "attrib", RWF_TYPE_ELEMENT_LIST),
                                container(g, RWF_TYPE_ELEMENT_LIST, depth - 1, NULL)));
    }
    flags->last->magnitude = bits;
    return node;
}

enum part {
    PART_PRIO,
    PART_QOS,
    PART_WQOS,
    PART_KEY,
    PART_EXT,
    PART_SEQ,
    PART_SEQ2,
    PART_STATE,
    PART_GROUP,
    PART_PERM,
    PART_PUI,
    PART_PART,
    PART_UTYPE,
    PART_CONF,
    PART_ACKID,
    PART_NAK,
    PART_TEXT,
    PART_POSTID,
    PART_RIGHTS,
    PART_END,
};

/* In the order of the notation; flag 0: always. */
struct part_of_class {
    uint8_t part;
    uint16_t flag;
};

#define PARTS_MAX 11

static const struct part_of_class parts[9][PARTS_MAX] = {
    [1] = { { PART_PRIO, 2 },
            { PART_QOS, 0x40 },
            { PART_WQOS, 0x80 },
            { PART_KEY, 0 },
            { PART_EXT, 1 },
            { PART_END, 0 } },
    [2] = { { PART_SEQ, 0x10 },
            { PART_STATE, 0 },
            { PART_GROUP, 0 },
            { PART_PERM, 2 },
            { PART_QOS, 0x80 },
            { PART_KEY, 8 },
            { PART_EXT, 1 },
            { PART_PUI, 0x800 },
            { PART_PART, 0x1000 },
            { PART_END, 0 } },
    [3] = { { PART_STATE, 0x20 },
            { PART_GROUP, 0x10 },
            { PART_PERM, 2 },
            { PART_KEY, 8 },
            { PART_EXT, 1 },
            { PART_PUI, 0x100 },
            { PART_END, 0 } },
    [4] = { { PART_UTYPE, 0 },
            { PART_SEQ, 0x10 },
            { PART_CONF, 0x20 },
            { PART_PERM, 2 },
            { PART_KEY, 8 },
            { PART_EXT, 1 },
            { PART_PUI, 0x200 },
            { PART_END, 0 } },
    [5] = { { PART_EXT, 1 }, { PART_END, 0 } },
    [6] = { { PART_ACKID, 0 },
            { PART_NAK, 0x20 },
            { PART_TEXT, 2 },
            { PART_SEQ, 8 },
            { PART_KEY, 0x10 },
            { PART_EXT, 1 },
            { PART_END, 0 } },
    [7] = { { PART_SEQ, 8 },
            { PART_SEQ2, 0x20 },
            { PART_PERM, 2 },
            { PART_KEY, 4 },
            { PART_EXT, 1 },
            { PART_PART, 0x40 },
            { PART_END, 0 } },
    [8] = { { PART_PUI, 0 },
            { PART_SEQ, 8 },
            { PART_POSTID, 2 },
            { PART_PERM, 0x80 },
            { PART_KEY, 4 },
            { PART_EXT, 1 },
            { PART_PART, 0x100 },
            { PART_RIGHTS, 0x200 },
            { PART_END, 0 } },
};

static struct node *part_node(struct tree_random *g, enum part part, unsigned depth)
{
    switch (part) {
    case PART_PRIO:
        return node_add(pair(g, "prio", number(g, 8)), uint_node(g, number(g, 16)));
    case PART_QOS:
        return qos_node(g, "qos");
    case PART_WQOS:
        return qos_node(g, "wqos");
    case PART_KEY:
        return key_node(g, depth);
    case PART_EXT:
        return wrap(g, "ext", bytes_node(g, 255));
    case PART_SEQ:
        return pair(g, "seq", number(g, 32));
    case PART_SEQ2:
        return pair(g, "seq2", number(g, 32));
    case PART_STATE:
        return state_node(g, "state");
    case PART_GROUP:
        return wrap(g, "group", not_empty(g, 255));
    case PART_PERM:
        return wrap(g, "perm", not_empty(g, 1000));
    case PART_PUI:
        return node_add(pair(g, "pui", number(g, 32)), uint_node(g, number(g, 32)));
    case PART_PART:
        return pair(g, "part", number(g, 15));
    case PART_UTYPE:
        return pair(g, "utype", number(g, 8));
    case PART_CONF:
        return node_add(pair(g, "conf", 1 + number(g, 14)), uint_node(g, number(g, 16)));
    case PART_ACKID:
        return pair(g, "ackid", number(g, 32));
    case PART_NAK:
        return pair(g, "nak", 1 + number(g, 7));
    case PART_TEXT:
        return wrap(g, "text", not_empty(g, 300));
    case PART_POSTID:
        return pair(g, "postid", number(g, 32));
    case PART_RIGHTS:
        return pair(g, "rights", number(g, 15));
    case PART_END:
        break;
    }
    return NULL;
}

/* Bits that stand for no member: any of them may be set. */
static const uint16_t free_bits[] = { 0,     0x1f3c, 0x4760, 0x04c0, 0x05c0,
                                      0x002, 0x0044, 0x4010, 0x0060 };

static struct node *msg_node(struct tree_random *g, unsigned depth)
{
    static const char *const heads[] = { NULL,    "request", "refresh", "status", "update",
                                         "close", "ack",     "generic", "post" };
    unsigned msg_class = 1 + below(g, 8);
    unsigned type = container_type(g);
    struct node *node = list(g, heads[msg_class]);
    struct node *flags = pair(g, "fl", 0);
    uint64_t bits = chance(g, 50) ? number(g, 15) & free_bits[msg_class] : 0;

    node_add(node, pair(g, "dom", number(g, 8)));
    node_add(node, wrap(g, "sid", node_int(g->arena, signed_number(g, 32))));
    node_add(node, flags);
    node_add(node, type_pair(g, "ct", type));
    for (const struct part_of_class *p = parts[msg_class]; p->part != PART_END; p++) {
        if (p->flag != 0 && !chance(g, 40))
            continue;
        bits |= p->flag;
        node_add(node, part_node(g, p->part, depth));
    }
    flags->last->magnitude = bits;
    if (type == RWF_TYPE_NO_DATA || depth < 2 || chance(g, 10))
        return node;
    if (is_raw(type))
        return node_add(node, wrap(g, "body", not_empty(g, 400)));
    return node_add(node, wrap(g, "body", container(g, type, depth - 1, NULL)));
}

static struct node *container(struct tree_random *g, unsigned type, unsigned depth,
                              const struct set *set)
{
    switch (type) {
    case RWF_TYPE_FIELD_LIST:
        return list_node(g, true, depth, set);
    case RWF_TYPE_ELEMENT_LIST:
        return list_node(g, false, depth, set);
    case RWF_TYPE_FILTER_LIST:
        return filter_node(g, depth);
    case RWF_TYPE_VECTOR:
        return vector_node(g, depth);
    case RWF_TYPE_MAP:
        return map_node(g, depth);
    case RWF_TYPE_SERIES:
        return series_node(g, depth);
    default:
        return msg_node(g, depth);
    }
}

struct node *tree_random_msg(struct tree_random *g)
{
    return msg_node(g, 2 + below(g, 5));
}
