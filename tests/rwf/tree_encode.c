/* tree_encode.c - tree to bytes through the encoder, everything nested in place; see tree.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tree.h"

struct builder {
    struct arena *arena;
    struct rwf_encoder enc;
    int err; /* the tree itself is wrong */
};

static void encode_any(struct builder *b, const struct node *node, unsigned type,
                       const struct scope *scope);

static void wrong(struct builder *b)
{
    if (b->err == RWF_OK)
        b->err = RWF_ERR_MALFORMED;
}

/* The n-th item behind the head. */
static const struct node *item_of(const struct node *list, unsigned n)
{
    const struct node *item = list ? list->first : NULL;

    while (item && n-- > 0)
        item = item->next;
    return item;
}

static int64_t number_at(const struct node *list, unsigned n)
{
    return node_number(item_of(list, n));
}

/* The number behind `head` in the list, 0 when it is not there. */
static int64_t number_of(const struct node *list, const char *head)
{
    return number_at(node_find(list, head), 1);
}

static struct rwf_bytes bytes_of(const struct node *node)
{
    return node && node->kind == NODE_BYTES ? node->bytes : (struct rwf_bytes){ 0 };
}

/* Not NULL even when empty: for the encoder NULL means something else in places. */
static struct rwf_bytes given(const struct node *node)
{
    struct rwf_bytes bytes = bytes_of(node);

    return bytes.length > 0 ? bytes : rwf_bytes("", 0);
}

static unsigned type_of(struct builder *b, const struct node *word)
{
    int type = tree_type(word);

    if (type < 0)
        wrong(b);
    return type < 0 ? 0 : (unsigned)type;
}

/* ---- primitives ---- */

static struct rwf_date date_of(const struct node *list, unsigned from)
{
    return (struct rwf_date){ .year = (uint16_t)number_at(list, from),
                              .month = (uint8_t)number_at(list, from + 1),
                              .day = (uint8_t)number_at(list, from + 2) };
}

static struct rwf_time time_of(const struct node *list, unsigned from)
{
    return (struct rwf_time){ .hour = (uint8_t)number_at(list, from),
                              .minute = (uint8_t)number_at(list, from + 1),
                              .second = (uint8_t)number_at(list, from + 2),
                              .milli = (uint16_t)number_at(list, from + 3),
                              .micro = (uint16_t)number_at(list, from + 4),
                              .nano = (uint16_t)number_at(list, from + 5) };
}

static struct rwf_qos qos_of(const struct node *list)
{
    return (struct rwf_qos){ .timeliness = (uint8_t)number_at(list, 1),
                             .rate = (uint8_t)number_at(list, 2),
                             .dynamic = number_at(list, 3) != 0,
                             .time_info = (uint16_t)number_at(list, 4),
                             .rate_info = (uint16_t)number_at(list, 5) };
}

static struct rwf_state state_of(const struct node *list)
{
    return (struct rwf_state){ .stream_state = (uint8_t)number_at(list, 1),
                               .data_state = (uint8_t)number_at(list, 2),
                               .code = (uint8_t)number_at(list, 3),
                               .text = bytes_of(item_of(list, 4)) };
}

static uint64_t bits_of(struct builder *b, const struct node *word)
{
    char digits[20] = { 0 };

    if (!word || word->kind != NODE_WORD || word->bytes.length < 2 ||
        word->bytes.length > sizeof(digits)) {
        wrong(b);
        return 0;
    }
    memcpy(digits, word->bytes.data + 1, word->bytes.length - 1);
    return strtoull(digits, NULL, 16);
}

static struct rwf_value value_of(struct builder *b, const struct node *node, unsigned type)
{
    struct rwf_value value = { .type = (uint16_t)type };
    uint32_t bits4;
    uint64_t bits8;

    if (node_is_word(node, "blank"))
        return rwf_value_blank(type);
    switch (type) {
    case RWF_TYPE_INT:
        value.i = node_number(node);
        break;
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        value.u = (uint64_t)node_number(node);
        break;
    case RWF_TYPE_FLOAT:
        bits4 = (uint32_t)bits_of(b, node);
        memcpy(&value.f, &bits4, 4);
        break;
    case RWF_TYPE_DOUBLE:
        bits8 = bits_of(b, node);
        memcpy(&value.d, &bits8, 8);
        break;
    case RWF_TYPE_REAL:
        value.real.hint = (uint8_t)number_at(node, 1);
        value.real.value = number_at(node, 2);
        break;
    case RWF_TYPE_DATE:
        value.date = date_of(node, 1);
        break;
    case RWF_TYPE_TIME:
        value.time = time_of(node, 1);
        break;
    case RWF_TYPE_DATETIME:
        value.datetime.date = date_of(node, 1);
        value.datetime.time = time_of(node, 4);
        break;
    case RWF_TYPE_QOS:
        value.qos = qos_of(node);
        break;
    case RWF_TYPE_STATE:
        value.state = state_of(node);
        break;
    default:
        if (!node || node->kind != NODE_BYTES)
            wrong(b);
        value.bytes = bytes_of(node);
        break;
    }
    return value;
}

static void encode_array(struct builder *b, const struct node *node)
{
    const struct node *type_word = item_of(node, 1);
    unsigned type = type_of(b, type_word);

    rwf_array_start(&b->enc, type, (uint16_t)number_at(node, 2));
    for (const struct node *item = item_of(node, 3); item; item = item->next) {
        struct rwf_value value = value_of(b, item, type);

        rwf_array_add(&b->enc, &value);
    }
    rwf_array_finish(&b->enc);
}

/* ---- lists ---- */

/* Containers and arrays given as a tree are encoded in place, everything else is a value. */
static bool is_nested(const struct node *content)
{
    static const char *const heads[] = { "ARR",    "FL",    "EL",      "MAP",     "VEC",
                                         "SER",    "FLT",   "request", "refresh", "status",
                                         "update", "close", "ack",     "generic", "post" };

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (node_is_list(content, heads[i]))
            return true;
    }
    return false;
}

static void encode_field(struct builder *b, const struct node *field, const struct scope *scope)
{
    struct scope global = scope_global(scope);
    int16_t id = (int16_t)number_at(field, 1);
    unsigned type = type_of(b, item_of(field, 2));
    const struct node *content = item_of(field, 3);

    if (is_nested(content)) {
        rwf_field_start(&b->enc, id, type);
        encode_any(b, content, type, &global);
        rwf_field_finish(&b->enc);
        return;
    }
    struct rwf_value value = value_of(b, content, type);
    rwf_field_add(&b->enc, id, &value);
}

static void encode_element(struct builder *b, const struct node *element, const struct scope *scope)
{
    struct scope global = scope_global(scope);
    struct rwf_bytes name = bytes_of(item_of(element, 1));
    unsigned type = type_of(b, item_of(element, 2));
    const struct node *content = item_of(element, 3);

    if (type == RWF_TYPE_NO_DATA) {
        rwf_element_add_bytes(&b->enc, name, type, (struct rwf_bytes){ 0 });
        return;
    }
    if (is_nested(content)) {
        rwf_element_start(&b->enc, name, type);
        encode_any(b, content, type, &global);
        rwf_element_finish(&b->enc);
        return;
    }
    struct rwf_value value = value_of(b, content, type);
    rwf_element_add(&b->enc, name, &value);
}

/* Flags follow from the members. */
static uint8_t list_flags(const struct node *node, const char *info)
{
    return (
        uint8_t)((node_find(node, info) ? RWF_LIST_HAS_INFO : 0) |
                 (node_find(node, "set") || node_find(node, "setraw") ? RWF_LIST_HAS_SET_DATA : 0) |
                 (node_find(node, "setid") ? RWF_LIST_HAS_SET_ID : 0) |
                 (node_find(node, "std") ? RWF_LIST_HAS_STANDARD_DATA : 0));
}

static void encode_field_list(struct builder *b, const struct node *node, const struct scope *scope)
{
    struct rwf_sets sets = scope_sets(scope, RWF_SET_FIELDS);
    const struct node *raw = node_find(node, "setraw");
    struct rwf_bytes set_data = raw ? given(item_of(raw, 1)) : (struct rwf_bytes){ 0 };
    struct rwf_field_list_info info = {
        .flags = list_flags(node, "info"),
        .dictionary_id = (uint16_t)number_of(node, "info"),
        .list_num = (uint16_t)number_at(node_find(node, "info"), 2),
        .set_id = (uint16_t)number_of(node, "setid"),
    };

    rwf_field_list_start_set(&b->enc, &info, &sets, &set_data);
    const struct node *set = node_find(node, "set");
    for (const struct node *item = item_of(set, 1); item; item = item->next)
        encode_field(b, item, scope);
    const struct node *std = node_find(node, "std");
    for (const struct node *item = item_of(std, 1); item; item = item->next)
        encode_field(b, item, scope);
    rwf_field_list_finish(&b->enc);
}

static void encode_element_list(struct builder *b, const struct node *node,
                                const struct scope *scope)
{
    struct rwf_sets sets = scope_sets(scope, RWF_SET_ELEMENTS);
    const struct node *raw = node_find(node, "setraw");
    struct rwf_bytes set_data = raw ? given(item_of(raw, 1)) : (struct rwf_bytes){ 0 };
    struct rwf_element_list_info info = {
        .flags = list_flags(node, "num"),
        .list_num = (uint16_t)number_of(node, "num"),
        .set_id = (uint16_t)number_of(node, "setid"),
    };

    rwf_element_list_start_set(&b->enc, &info, &sets, &set_data);
    const struct node *set = node_find(node, "set");
    for (const struct node *item = item_of(set, 1); item; item = item->next)
        encode_element(b, item, scope);
    const struct node *std = node_find(node, "std");
    for (const struct node *item = item_of(std, 1); item; item = item->next)
        encode_element(b, item, scope);
    rwf_element_list_finish(&b->enc);
}

/* ---- map, vector, series, filter list ---- */

static unsigned action_of(const struct node *word, const char *const *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (names[i] && node_is_word(word, names[i]))
            return i;
    }
    return (unsigned)node_number(word);
}

/* What stands in (data X), (summary X), (body X). */
static void encode_slot(struct builder *b, const struct node *slot, unsigned type,
                        const struct scope *scope)
{
    const struct node *content = item_of(slot, 1);

    if (!content)
        return;
    if (content->kind == NODE_BYTES)
        rwf_raw_add(&b->enc, content->bytes);
    else
        encode_any(b, content, type, scope);
}

/* (setdefs DB): the block, and the definitions in the scope of what follows. */
static struct rwf_bytes set_defs_of(struct builder *b, const struct node *node, struct scope *scope)
{
    const struct node *db = item_of(node_find(node, "setdefs"), 1);
    struct rwf_bytes block = { 0 };

    if (!db)
        return block;
    if (db->kind == NODE_BYTES) { /* no definitions: those around do not reach in here */
        *scope = scope_global(scope);
        return db->bytes;
    }
    if (scope_add(scope, b->arena, db) < 0 || scope_block(b->arena, db, &block) < 0)
        wrong(b);
    return block;
}

static void encode_summary(struct builder *b, const struct node *node, unsigned container,
                           const struct scope *scope)
{
    const struct node *summary = node_find(node, "summary");

    if (!summary)
        return;
    encode_slot(b, summary, container, scope);
    rwf_summary_finish(&b->enc);
}

static void encode_map(struct builder *b, const struct node *node, const struct scope *outer)
{
    static const char *const actions[] = { NULL, "UPDATE", "ADD", "DELETE" };
    struct scope scope = *outer;
    struct rwf_map_info info = {
        .key_type = (uint8_t)type_of(b, item_of(node_find(node, "ktype"), 1)),
        .container = (uint16_t)type_of(b, item_of(node_find(node, "ct"), 1)),
        .key_field_id = (int16_t)number_of(node, "keyfid"),
        .hint = (uint32_t)number_of(node, "hint"),
        .set_defs = set_defs_of(b, node, &scope),
        .flags = (uint8_t)((node_find(node, "setdefs") ? RWF_MAP_HAS_SET_DEFS : 0) |
                           (node_find(node, "summary") ? RWF_MAP_HAS_SUMMARY : 0) |
                           (node_find(node, "hint") ? RWF_MAP_HAS_HINT : 0) |
                           (node_find(node, "keyfid") ? RWF_MAP_HAS_KEY_FIELD_ID : 0)),
    };

    rwf_map_start(&b->enc, &info);
    encode_summary(b, node, info.container, &scope);
    for (const struct node *item = node->first; item; item = item->next) {
        const struct node *perm = item->kind == NODE_LIST ? node_find(item, "perm") : NULL;
        struct rwf_map_entry entry = { .has_perm = perm, .perm = bytes_of(item_of(perm, 1)) };
        uint8_t *key = arena_take(b->arena, 70000);
        size_t length;

        if (!node_is_list(item, "me"))
            continue;
        struct rwf_value value =
            value_of(b, item_of(node_find(item, "key"), 1), rwf_type_base(info.key_type));
        if (rwf_value_encode(&value, key, 70000, &length) < 0)
            wrong(b);
        entry.action = (uint8_t)action_of(item_of(item, 1), actions, 4);
        entry.key = rwf_bytes(key, length);
        rwf_map_entry_start(&b->enc, &entry);
        encode_slot(b, node_find(item, "data"), info.container, &scope);
        rwf_map_entry_finish(&b->enc);
    }
    rwf_map_finish(&b->enc);
}

static void encode_vector(struct builder *b, const struct node *node, const struct scope *outer)
{
    static const char *const actions[] = { NULL, "UPDATE", "SET", "CLEAR", "INSERT", "DELETE" };
    struct scope scope = *outer;
    struct rwf_vector_info info = {
        .container = (uint16_t)type_of(b, item_of(node_find(node, "ct"), 1)),
        .hint = (uint32_t)number_of(node, "hint"),
        .set_defs = set_defs_of(b, node, &scope),
        .flags = (uint8_t)((node_find(node, "setdefs") ? RWF_VECTOR_HAS_SET_DEFS : 0) |
                           (node_find(node, "summary") ? RWF_VECTOR_HAS_SUMMARY : 0) |
                           (node_find(node, "hint") ? RWF_VECTOR_HAS_HINT : 0) |
                           (node_find(node, "sort") ? RWF_VECTOR_SUPPORTS_SORTING : 0)),
    };

    rwf_vector_start(&b->enc, &info);
    encode_summary(b, node, info.container, &scope);
    for (const struct node *item = node->first; item; item = item->next) {
        const struct node *perm = item->kind == NODE_LIST ? node_find(item, "perm") : NULL;
        struct rwf_vector_entry entry = {
            .action = (uint8_t)action_of(item_of(item, 1), actions, 6),
            .has_perm = perm,
            .index = (uint32_t)number_at(item, 2),
            .perm = bytes_of(item_of(perm, 1)),
        };

        if (!node_is_list(item, "ve"))
            continue;
        rwf_vector_entry_start(&b->enc, &entry);
        encode_slot(b, node_find(item, "data"), info.container, &scope);
        rwf_vector_entry_finish(&b->enc);
    }
    rwf_vector_finish(&b->enc);
}

static void encode_series(struct builder *b, const struct node *node, const struct scope *outer)
{
    struct scope scope = *outer;
    struct rwf_series_info info = {
        .container = (uint16_t)type_of(b, item_of(node_find(node, "ct"), 1)),
        .hint = (uint32_t)number_of(node, "hint"),
        .set_defs = set_defs_of(b, node, &scope),
        .flags = (uint8_t)((node_find(node, "setdefs") ? RWF_SERIES_HAS_SET_DEFS : 0) |
                           (node_find(node, "summary") ? RWF_SERIES_HAS_SUMMARY : 0) |
                           (node_find(node, "hint") ? RWF_SERIES_HAS_HINT : 0)),
    };

    rwf_series_start(&b->enc, &info);
    encode_summary(b, node, info.container, &scope);
    for (const struct node *item = node->first; item; item = item->next) {
        if (!node_is_list(item, "se"))
            continue;
        rwf_series_entry_start(&b->enc);
        encode_slot(b, node_find(item, "data"), info.container, &scope);
        rwf_series_entry_finish(&b->enc);
    }
    rwf_series_finish(&b->enc);
}

static void encode_filter_list(struct builder *b, const struct node *node,
                               const struct scope *outer)
{
    static const char *const actions[] = { NULL, "UPDATE", "SET", "CLEAR" };
    struct scope scope = scope_global(outer);
    struct rwf_filter_list_info info = {
        .container = (uint16_t)type_of(b, item_of(node_find(node, "ct"), 1)),
        .hint = (uint8_t)number_of(node, "hint"),
        .flags = node_find(node, "hint") ? RWF_FILTER_HAS_HINT : 0,
    };

    rwf_filter_list_start(&b->enc, &info);
    for (const struct node *item = node->first; item; item = item->next) {
        if (!node_is_list(item, "fe"))
            continue;
        const struct node *perm = node_find(item, "perm");
        const struct node *ct = node_find(item, "ct");
        struct rwf_filter_entry entry = {
            .action = (uint8_t)action_of(item_of(item, 1), actions, 4),
            .id = (uint8_t)number_at(item, 2),
            .has_perm = perm,
            .has_container = ct,
            .container = ct ? (uint16_t)type_of(b, item_of(ct, 1)) : info.container,
            .perm = bytes_of(item_of(perm, 1)),
        };

        rwf_filter_entry_start(&b->enc, &entry);
        encode_slot(b, node_find(item, "data"), entry.container, &scope);
        rwf_filter_entry_finish(&b->enc);
    }
    rwf_filter_list_finish(&b->enc);
}

/* ---- messages ---- */

static struct rwf_key key_of(struct builder *b, const struct node *node)
{
    const struct node *attrib = node_find(node, "attrib");
    struct rwf_key key = {
        .flags = (uint16_t)number_of(node, "fl"),
        .service_id = (uint16_t)number_of(node, "svc"),
        .name = bytes_of(item_of(node_find(node, "name"), 1)),
        .name_type = (uint8_t)number_of(node, "ntype"),
        .filter = (uint32_t)number_of(node, "filter"),
        .identifier = (int32_t)number_of(node, "ident"),
        .attrib_type = RWF_TYPE_NO_DATA,
    };

    if (attrib) {
        key.attrib_type = (uint16_t)type_of(b, item_of(attrib, 1));
        key.attrib = bytes_of(item_of(attrib, 2));
    }
    return key;
}

static unsigned class_of(const struct node *node)
{
    static const char *const heads[] = { NULL,    "request", "refresh", "status", "update",
                                         "close", "ack",     "generic", "post" };

    for (unsigned i = 1; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (node_is_list(node, heads[i]))
            return i;
    }
    return 0;
}

static struct rwf_msg msg_of(struct builder *b, const struct node *node)
{
    const struct node *key = node_find(node, "key");
    struct rwf_msg msg = {
        .msg_class = (uint8_t)class_of(node),
        .domain = (uint8_t)number_of(node, "dom"),
        .flags = (uint16_t)number_of(node, "fl"),
        .stream_id = (int32_t)number_of(node, "sid"),
        .container = (uint16_t)type_of(b, item_of(node_find(node, "ct"), 1)),
        .update_type = (uint8_t)number_of(node, "utype"),
        .nak_code = (uint8_t)number_of(node, "nak"),
        .seq_num = (uint32_t)number_of(node, "seq"),
        .secondary_seq_num = (uint32_t)number_of(node, "seq2"),
        .part_num = (uint16_t)number_of(node, "part"),
        .conf_count = (uint16_t)number_of(node, "conf"),
        .conf_time_ms = (uint16_t)number_at(node_find(node, "conf"), 2),
        .priority_class = (uint8_t)number_of(node, "prio"),
        .priority_count = (uint16_t)number_at(node_find(node, "prio"), 2),
        .post_rights = (uint16_t)number_of(node, "rights"),
        .post_id = (uint32_t)number_of(node, "postid"),
        .ack_id = (uint32_t)number_of(node, "ackid"),
        .post_user_addr = (uint32_t)number_of(node, "pui"),
        .post_user_id = (uint32_t)number_at(node_find(node, "pui"), 2),
        .qos = qos_of(node_find(node, "qos")),
        .worst_qos = qos_of(node_find(node, "wqos")),
        .state = state_of(node_find(node, "state")),
        .group_id = bytes_of(item_of(node_find(node, "group"), 1)),
        .perm_data = bytes_of(item_of(node_find(node, "perm"), 1)),
        .text = bytes_of(item_of(node_find(node, "text"), 1)),
        .ext_header = bytes_of(item_of(node_find(node, "ext"), 1)),
    };

    if (key)
        msg.key = key_of(b, key);
    return msg;
}

static void encode_msg(struct builder *b, const struct node *node, const struct scope *scope)
{
    struct rwf_msg msg = msg_of(b, node);
    struct scope global = scope_global(scope);
    const struct node *key = node_find(node, "key");
    const struct node *attrib = key ? item_of(node_find(key, "attrib"), 2) : NULL;

    if (attrib && msg.key.attrib_type != RWF_TYPE_NO_DATA) {
        rwf_msg_attrib_start(&b->enc, &msg);
        if (attrib->kind == NODE_BYTES)
            rwf_raw_add(&b->enc, attrib->bytes);
        else
            encode_any(b, attrib, msg.key.attrib_type, &global);
        rwf_msg_attrib_finish(&b->enc);
    } else {
        rwf_msg_start(&b->enc, &msg);
    }
    encode_slot(b, node_find(node, "body"), msg.container, scope);
    rwf_msg_finish(&b->enc);
}

/* ---- any ---- */

static void encode_any(struct builder *b, const struct node *node, unsigned type,
                       const struct scope *scope)
{
    switch (type) {
    case RWF_TYPE_ARRAY:
        encode_array(b, node);
        break;
    case RWF_TYPE_FIELD_LIST:
        encode_field_list(b, node, scope);
        break;
    case RWF_TYPE_ELEMENT_LIST:
        encode_element_list(b, node, scope);
        break;
    case RWF_TYPE_FILTER_LIST:
        encode_filter_list(b, node, scope);
        break;
    case RWF_TYPE_VECTOR:
        encode_vector(b, node, scope);
        break;
    case RWF_TYPE_MAP:
        encode_map(b, node, scope);
        break;
    case RWF_TYPE_SERIES:
        encode_series(b, node, scope);
        break;
    case RWF_TYPE_MSG:
        encode_msg(b, node, scope);
        break;
    default:
        rwf_raw_add(&b->enc, bytes_of(node));
        break;
    }
}

static int encode_primitive(struct builder *b, const struct node *node, unsigned type, uint8_t *out,
                            size_t size, size_t *length)
{
    struct rwf_value value = value_of(b, node, type);

    *length = 0;
    return b->err < 0 ? b->err : rwf_value_encode(&value, out, size, length);
}

int tree_encode(const struct node *node, unsigned type, const struct scope *scope,
                enum rwf_lengths lengths, struct arena *arena, uint8_t *out, size_t size,
                size_t *length)
{
    struct builder b = { .arena = arena };

    if (type != RWF_TYPE_ARRAY && !rwf_type_is_container(type))
        return encode_primitive(&b, node, type, out, size, length);
    rwf_encoder_init(&b.enc, out, size);
    b.enc.lengths = (uint8_t)lengths;
    encode_any(&b, node, type, scope);
    *length = rwf_encoder_bytes(&b.enc).length;
    return b.err < 0 ? b.err : rwf_encoder_error(&b.enc);
}
