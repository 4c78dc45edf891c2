/* tree_decode.c - bytes to tree: what the iterators say, written down; see tree.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tree.h"

struct decoder {
    struct arena *arena;
    unsigned depth;
    int err;
};

static struct node *decode_any(struct decoder *d, unsigned type, struct rwf_bytes bytes,
                               const struct scope *scope);

static struct node *fail(struct decoder *d, int err)
{
    if (d->err == RWF_OK)
        d->err = err;
    return NULL;
}

/* (head number) */
static struct node *pair(struct decoder *d, const char *head, uint64_t number)
{
    return node_add(node_list(d->arena, head), node_uint(d->arena, number));
}

static struct node *pair_bytes(struct decoder *d, const char *head, struct rwf_bytes bytes)
{
    return node_add(node_list(d->arena, head), node_bytes(d->arena, bytes));
}

static void add_uint(struct decoder *d, struct node *list, uint64_t number)
{
    node_add(list, node_uint(d->arena, number));
}

/* ---- primitives ---- */

static void add_date(struct decoder *d, struct node *list, const struct rwf_date *date)
{
    add_uint(d, list, date->year);
    add_uint(d, list, date->month);
    add_uint(d, list, date->day);
}

static void add_time(struct decoder *d, struct node *list, const struct rwf_time *time)
{
    add_uint(d, list, time->hour);
    add_uint(d, list, time->minute);
    add_uint(d, list, time->second);
    add_uint(d, list, time->milli);
    add_uint(d, list, time->micro);
    add_uint(d, list, time->nano);
}

static void add_qos(struct decoder *d, struct node *list, const struct rwf_qos *qos)
{
    add_uint(d, list, qos->timeliness);
    add_uint(d, list, qos->rate);
    add_uint(d, list, qos->dynamic);
    add_uint(d, list, qos->time_info);
    add_uint(d, list, qos->rate_info);
}

static void add_state(struct decoder *d, struct node *list, const struct rwf_state *state)
{
    add_uint(d, list, state->stream_state);
    add_uint(d, list, state->data_state);
    add_uint(d, list, state->code);
    node_add(list, node_bytes(d->arena, state->text));
}

static struct node *bits_word(struct decoder *d, uint64_t bits, int digits)
{
    char *text = arena_take(d->arena, 20);

    snprintf(text, 20, "x%0*llx", digits, (unsigned long long)bits);
    return node_word(d->arena, text);
}

static struct node *decode_value(struct decoder *d, unsigned type, struct rwf_bytes content)
{
    struct rwf_value value;
    struct node *list;
    uint32_t bits4;
    uint64_t bits8;
    int rc = rwf_value_decode(type, content, &value);

    if (rc < 0)
        return fail(d, rc);
    if (content.length == 0)
        return node_word(d->arena, "blank");
    switch (value.type) {
    case RWF_TYPE_INT:
        return node_int(d->arena, value.i);
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        return node_uint(d->arena, value.u);
    case RWF_TYPE_FLOAT:
        memcpy(&bits4, &value.f, 4);
        return bits_word(d, bits4, 8);
    case RWF_TYPE_DOUBLE:
        memcpy(&bits8, &value.d, 8);
        return bits_word(d, bits8, 16);
    case RWF_TYPE_REAL:
        if (value.is_blank)
            return node_word(d->arena, "blank1");
        list = pair(d, "r", value.real.hint);
        return node_add(list, node_int(d->arena, value.real.value));
    case RWF_TYPE_DATE:
        add_date(d, list = node_list(d->arena, "d"), &value.date);
        return list;
    case RWF_TYPE_TIME:
        add_time(d, list = node_list(d->arena, "t"), &value.time);
        return list;
    case RWF_TYPE_DATETIME:
        add_date(d, list = node_list(d->arena, "dt"), &value.datetime.date);
        add_time(d, list, &value.datetime.time);
        return list;
    case RWF_TYPE_QOS:
        add_qos(d, list = node_list(d->arena, "q"), &value.qos);
        return list;
    case RWF_TYPE_STATE:
        add_state(d, list = node_list(d->arena, "s"), &value.state);
        return list;
    default:
        return node_bytes(d->arena, content);
    }
}

static struct node *decode_array(struct decoder *d, struct rwf_bytes bytes)
{
    struct node *list = node_list(d->arena, "ARR");
    struct rwf_array array;
    struct rwf_bytes item;
    int rc = rwf_array_decode(bytes, &array);

    if (rc == RWF_OK) {
        node_add(list, tree_type_node(d->arena, array.item_type));
        add_uint(d, list, array.item_length);
    }
    while (rc >= 0 && (rc = rwf_array_next(&array, &item)) > 0) {
        struct node *node = decode_value(d, array.item_type, item);

        if (!node)
            return NULL;
        node_add(list, node);
    }
    return rc < 0 ? fail(d, rc) : list;
}

/* ---- lists ---- */

/* The content of an entry: never in the scope of local definitions. */
static bool add_content(struct decoder *d, struct node *entry, unsigned type,
                        struct rwf_bytes content, const struct scope *scope)
{
    struct scope global = scope_global(scope);
    struct node *node =
        content.length == 0 ? node_word(d->arena, "blank") : decode_any(d, type, content, &global);

    if (!node)
        return false;
    node_add(entry, tree_type_node(d->arena, type));
    node_add(entry, node);
    return true;
}

static struct node *decode_field_list(struct decoder *d, struct rwf_bytes bytes,
                                      const struct scope *scope)
{
    struct node *root = node_list(d->arena, "FL");
    struct node *set = node_list(d->arena, "set");
    struct node *std = node_list(d->arena, "std");
    struct rwf_sets sets = scope_sets(scope, RWF_SET_FIELDS);
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(bytes, &sets, &list);

    if (rc < 0)
        return fail(d, rc);
    node_add(root, pair(d, "fl", list.info.flags));
    if (list.info.flags & RWF_LIST_HAS_INFO)
        node_add(root, node_add(pair(d, "info", list.info.dictionary_id),
                                node_uint(d->arena, list.info.list_num)));
    if (list.info.flags & RWF_LIST_HAS_SET_ID)
        node_add(root, pair(d, "setid", list.info.set_id));
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        struct node *entry = node_list(d->arena, "f");
        unsigned type = field.type ? field.type : tree_field_type(NULL, field.id);

        node_add(entry, node_int(d->arena, field.id));
        if (!add_content(d, entry, type, field.content, scope))
            return NULL;
        node_add(field.type ? set : std, entry);
    }
    if (rc < 0)
        return fail(d, rc);
    if (list.info.flags & RWF_LIST_HAS_SET_DATA)
        node_add(root, list.set_is_known ? set : pair_bytes(d, "setraw", list.set_data));
    if (list.info.flags & RWF_LIST_HAS_STANDARD_DATA)
        node_add(root, std);
    return root;
}

static struct node *decode_element_list(struct decoder *d, struct rwf_bytes bytes,
                                        const struct scope *scope)
{
    struct node *root = node_list(d->arena, "EL");
    struct node *set = node_list(d->arena, "set");
    struct node *std = node_list(d->arena, "std");
    struct rwf_sets sets = scope_sets(scope, RWF_SET_ELEMENTS);
    struct rwf_element_list list;
    struct rwf_element element;
    int rc = rwf_element_list_decode(bytes, &sets, &list);

    if (rc < 0)
        return fail(d, rc);
    node_add(root, pair(d, "fl", list.info.flags));
    if (list.info.flags & RWF_LIST_HAS_INFO)
        node_add(root, pair(d, "num", list.info.list_num));
    if (list.info.flags & RWF_LIST_HAS_SET_ID)
        node_add(root, pair(d, "setid", list.info.set_id));
    for (;;) {
        uint32_t set_left = list.set_left;

        rc = rwf_element_list_next(&list, &element);
        if (rc <= 0)
            break;
        struct node *entry = node_list(d->arena, "e");
        node_add(entry, node_bytes(d->arena, element.name));
        if (element.type == RWF_TYPE_NO_DATA)
            node_add(entry, tree_type_node(d->arena, element.type));
        else if (!add_content(d, entry, element.type, element.content, scope))
            return NULL;
        node_add(set_left > 0 ? set : std, entry);
    }
    if (rc < 0)
        return fail(d, rc);
    if (list.info.flags & RWF_LIST_HAS_SET_DATA)
        node_add(root, list.set_is_known ? set : pair_bytes(d, "setraw", list.set_data));
    if (list.info.flags & RWF_LIST_HAS_STANDARD_DATA)
        node_add(root, std);
    return root;
}

/* ---- map, vector, series, filter list ---- */

/* (data X) or (summary X) or (body X) */
static bool add_container(struct decoder *d, struct node *list, const char *head, unsigned type,
                          struct rwf_bytes bytes, const struct scope *scope)
{
    struct node *node =
        bytes.length == 0 ? node_bytes(d->arena, bytes) : decode_any(d, type, bytes, scope);

    if (!node)
        return false;
    node_add(list, node_add(node_list(d->arena, head), node));
    return true;
}

static struct node *describe_def(struct decoder *d, const struct rwf_set_def *def,
                                 enum rwf_set_kind kind)
{
    struct node *node = pair(d, "def", def->id);
    struct rwf_set_entry entry;
    size_t pos = 0;

    while (rwf_set_def_next(def, kind, &pos, &entry) > 0) {
        struct node *item = node_list(d->arena, NULL);

        node_add(item, kind == RWF_SET_FIELDS ? node_int(d->arena, entry.field_id)
                                              : node_bytes(d->arena, entry.name));
        node_add(item, tree_type_node(d->arena, entry.type));
        node_add(node, item);
    }
    return node;
}

/* The definitions, as text and in the scope. */
static bool add_set_defs(struct decoder *d, struct node *root, unsigned container,
                         struct rwf_bytes defs, struct scope *scope)
{
    bool fields = container == RWF_TYPE_FIELD_LIST;
    enum rwf_set_kind kind = fields ? RWF_SET_FIELDS : RWF_SET_ELEMENTS;
    struct rwf_set_db *db = arena_take(d->arena, sizeof(*db));
    struct node *node;

    if (!fields && container != RWF_TYPE_ELEMENT_LIST) {
        node_add(root, pair_bytes(d, "setdefs", defs));
        return true;
    }
    int rc = rwf_set_db_decode(defs, kind, db);
    if (rc < 0) {
        fail(d, rc);
        return false;
    }
    if (fields)
        scope->fields = db;
    else
        scope->elements = db;
    if (db->count == 0) {
        node_add(root, pair_bytes(d, "setdefs", defs));
        return true;
    }
    node = node_list(d->arena, fields ? "FDB" : "EDB");
    for (unsigned i = 0; i < db->count; i++)
        node_add(node, describe_def(d, &db->def[i], kind));
    node_add(root, node_add(node_list(d->arena, "setdefs"), node));
    return true;
}

static void add_action(struct decoder *d, struct node *entry, unsigned action,
                       const char *const *names, unsigned count)
{
    node_add(entry, action < count && names[action] ? node_word(d->arena, names[action])
                                                    : node_uint(d->arena, action));
}

static struct node *decode_map(struct decoder *d, struct rwf_bytes bytes, const struct scope *outer)
{
    static const char *const actions[] = { NULL, "UPDATE", "ADD", "DELETE" };
    struct node *root = node_list(d->arena, "MAP");
    struct scope scope = *outer;
    struct rwf_map map;
    struct rwf_map_entry entry;
    int rc = rwf_map_decode(bytes, &map);

    if (rc < 0)
        return fail(d, rc);
    node_add(root, pair(d, "fl", map.info.flags));
    node_add(root,
             node_add(node_list(d->arena, "ktype"), tree_type_node(d->arena, map.info.key_type)));
    node_add(root,
             node_add(node_list(d->arena, "ct"), tree_type_node(d->arena, map.info.container)));
    if (map.info.flags & RWF_MAP_HAS_KEY_FIELD_ID)
        node_add(root, node_add(node_list(d->arena, "keyfid"),
                                node_int(d->arena, map.info.key_field_id)));
    if ((map.info.flags & RWF_MAP_HAS_SET_DEFS) &&
        !add_set_defs(d, root, map.info.container, map.info.set_defs, &scope))
        return NULL;
    if ((map.info.flags & RWF_MAP_HAS_SUMMARY) &&
        !add_container(d, root, "summary", map.info.container, map.info.summary, &scope))
        return NULL;
    if (map.info.flags & RWF_MAP_HAS_HINT)
        node_add(root, pair(d, "hint", map.info.hint));
    while ((rc = rwf_map_next(&map, &entry)) > 0) {
        struct node *node = node_list(d->arena, "me");
        struct node *key = decode_value(d, map.info.key_type, entry.key);

        if (!key)
            return NULL;
        add_action(d, node, entry.action, actions, 4);
        if (entry.has_perm)
            node_add(node, pair_bytes(d, "perm", entry.perm));
        node_add(node, node_add(node_list(d->arena, "key"), key));
        if (entry.action != RWF_MAP_DELETE && map.info.container != RWF_TYPE_NO_DATA &&
            !add_container(d, node, "data", map.info.container, entry.data, &scope))
            return NULL;
        node_add(root, node);
    }
    return rc < 0 ? fail(d, rc) : root;
}

static struct node *decode_vector(struct decoder *d, struct rwf_bytes bytes,
                                  const struct scope *outer)
{
    static const char *const actions[] = { NULL, "UPDATE", "SET", "CLEAR", "INSERT", "DELETE" };
    struct node *root = node_list(d->arena, "VEC");
    struct scope scope = *outer;
    struct rwf_vector vector;
    struct rwf_vector_entry entry;
    int rc = rwf_vector_decode(bytes, &vector);

    if (rc < 0)
        return fail(d, rc);
    node_add(root, pair(d, "fl", vector.info.flags));
    node_add(root,
             node_add(node_list(d->arena, "ct"), tree_type_node(d->arena, vector.info.container)));
    if (vector.info.flags & RWF_VECTOR_SUPPORTS_SORTING)
        node_add(root, node_list(d->arena, "sort"));
    if ((vector.info.flags & RWF_VECTOR_HAS_SET_DEFS) &&
        !add_set_defs(d, root, vector.info.container, vector.info.set_defs, &scope))
        return NULL;
    if ((vector.info.flags & RWF_VECTOR_HAS_SUMMARY) &&
        !add_container(d, root, "summary", vector.info.container, vector.info.summary, &scope))
        return NULL;
    if (vector.info.flags & RWF_VECTOR_HAS_HINT)
        node_add(root, pair(d, "hint", vector.info.hint));
    while ((rc = rwf_vector_next(&vector, &entry)) > 0) {
        struct node *node = node_list(d->arena, "ve");

        add_action(d, node, entry.action, actions, 6);
        add_uint(d, node, entry.index);
        if (entry.has_perm)
            node_add(node, pair_bytes(d, "perm", entry.perm));
        if (entry.action != RWF_VECTOR_CLEAR && entry.action != RWF_VECTOR_DELETE &&
            vector.info.container != RWF_TYPE_NO_DATA &&
            !add_container(d, node, "data", vector.info.container, entry.data, &scope))
            return NULL;
        node_add(root, node);
    }
    return rc < 0 ? fail(d, rc) : root;
}

static struct node *decode_series(struct decoder *d, struct rwf_bytes bytes,
                                  const struct scope *outer)
{
    struct node *root = node_list(d->arena, "SER");
    struct scope scope = *outer;
    struct rwf_series series;
    struct rwf_bytes data;
    int rc = rwf_series_decode(bytes, &series);

    if (rc < 0)
        return fail(d, rc);
    node_add(root, pair(d, "fl", series.info.flags));
    node_add(root,
             node_add(node_list(d->arena, "ct"), tree_type_node(d->arena, series.info.container)));
    if ((series.info.flags & RWF_SERIES_HAS_SET_DEFS) &&
        !add_set_defs(d, root, series.info.container, series.info.set_defs, &scope))
        return NULL;
    if ((series.info.flags & RWF_SERIES_HAS_SUMMARY) &&
        !add_container(d, root, "summary", series.info.container, series.info.summary, &scope))
        return NULL;
    if (series.info.flags & RWF_SERIES_HAS_HINT)
        node_add(root, pair(d, "hint", series.info.hint));
    while ((rc = rwf_series_next(&series, &data)) > 0) {
        struct node *node = node_list(d->arena, "se");

        if (series.info.container != RWF_TYPE_NO_DATA &&
            !add_container(d, node, "data", series.info.container, data, &scope))
            return NULL;
        node_add(root, node);
    }
    return rc < 0 ? fail(d, rc) : root;
}

static struct node *decode_filter_list(struct decoder *d, struct rwf_bytes bytes,
                                       const struct scope *outer)
{
    static const char *const actions[] = { NULL, "UPDATE", "SET", "CLEAR" };
    struct node *root = node_list(d->arena, "FLT");
    struct scope scope = scope_global(outer);
    struct rwf_filter_list list;
    struct rwf_filter_entry entry;
    int rc = rwf_filter_list_decode(bytes, &list);

    if (rc < 0)
        return fail(d, rc);
    node_add(root, pair(d, "fl", list.info.flags));
    node_add(root,
             node_add(node_list(d->arena, "ct"), tree_type_node(d->arena, list.info.container)));
    if (list.info.flags & RWF_FILTER_HAS_HINT)
        node_add(root, pair(d, "hint", list.info.hint));
    while ((rc = rwf_filter_list_next(&list, &entry)) > 0) {
        struct node *node = node_list(d->arena, "fe");

        add_action(d, node, entry.action, actions, 4);
        add_uint(d, node, entry.id);
        if (entry.has_container)
            node_add(node, node_add(node_list(d->arena, "ct"),
                                    tree_type_node(d->arena, entry.container)));
        if (entry.has_perm)
            node_add(node, pair_bytes(d, "perm", entry.perm));
        if (entry.action != RWF_FILTER_CLEAR && entry.container != RWF_TYPE_NO_DATA &&
            !add_container(d, node, "data", entry.container, entry.data, &scope))
            return NULL;
        node_add(root, node);
    }
    return rc < 0 ? fail(d, rc) : root;
}

/* ---- messages ---- */

static bool add_key(struct decoder *d, struct node *root, const struct rwf_key *key,
                    const struct scope *scope)
{
    struct scope global = scope_global(scope);
    struct node *node = node_list(d->arena, "key");

    node_add(node, pair(d, "fl", key->flags));
    if (key->flags & RWF_KEY_HAS_SERVICE_ID)
        node_add(node, pair(d, "svc", key->service_id));
    if (key->flags & RWF_KEY_HAS_NAME)
        node_add(node, pair_bytes(d, "name", key->name));
    if ((key->flags & RWF_KEY_HAS_NAME_TYPE) && (key->flags & RWF_KEY_HAS_NAME))
        node_add(node, pair(d, "ntype", key->name_type));
    if (key->flags & RWF_KEY_HAS_FILTER)
        node_add(node, pair(d, "filter", key->filter));
    if (key->flags & RWF_KEY_HAS_IDENTIFIER)
        node_add(node, node_add(node_list(d->arena, "ident"), node_int(d->arena, key->identifier)));
    if (key->flags & RWF_KEY_HAS_ATTRIB) {
        struct node *attrib = node_list(d->arena, "attrib");
        struct node *content = node_bytes(d->arena, key->attrib);

        if (key->attrib.length > 0)
            content = decode_any(d, key->attrib_type, key->attrib, &global);
        if (!content)
            return false;
        node_add(attrib, tree_type_node(d->arena, key->attrib_type));
        node_add(attrib, content);
        node_add(node, attrib);
    }
    node_add(root, node);
    return true;
}

/* Which members a class shows, in the order of the notation. */
struct shown {
    uint16_t seq, seq2, state, group, perm, qos, worst_qos, key, ext, pui, part;
};

static const struct shown shown_of[] = {
    [RWF_CLASS_REQUEST] = { .qos = RWF_REQUEST_HAS_QOS,
                            .worst_qos = RWF_REQUEST_HAS_WORST_QOS,
                            .ext = RWF_REQUEST_HAS_EXT_HEADER },
    [RWF_CLASS_REFRESH] = { .seq = RWF_REFRESH_HAS_SEQ_NUM,
                            .perm = RWF_REFRESH_HAS_PERM_DATA,
                            .qos = RWF_REFRESH_HAS_QOS,
                            .key = RWF_REFRESH_HAS_KEY,
                            .ext = RWF_REFRESH_HAS_EXT_HEADER,
                            .pui = RWF_REFRESH_HAS_POST_USER_INFO,
                            .part = RWF_REFRESH_HAS_PART_NUM },
    [RWF_CLASS_STATUS] = { .state = RWF_STATUS_HAS_STATE,
                           .group = RWF_STATUS_HAS_GROUP_ID,
                           .perm = RWF_STATUS_HAS_PERM_DATA,
                           .key = RWF_STATUS_HAS_KEY,
                           .ext = RWF_STATUS_HAS_EXT_HEADER,
                           .pui = RWF_STATUS_HAS_POST_USER_INFO },
    [RWF_CLASS_UPDATE] = { .seq = RWF_UPDATE_HAS_SEQ_NUM,
                           .perm = RWF_UPDATE_HAS_PERM_DATA,
                           .key = RWF_UPDATE_HAS_KEY,
                           .ext = RWF_UPDATE_HAS_EXT_HEADER,
                           .pui = RWF_UPDATE_HAS_POST_USER_INFO },
    [RWF_CLASS_CLOSE] = { .ext = RWF_CLOSE_HAS_EXT_HEADER },
    [RWF_CLASS_ACK] = { .seq = RWF_ACK_HAS_SEQ_NUM,
                        .key = RWF_ACK_HAS_KEY,
                        .ext = RWF_ACK_HAS_EXT_HEADER },
    [RWF_CLASS_GENERIC] = { .seq = RWF_GENERIC_HAS_SEQ_NUM,
                            .seq2 = RWF_GENERIC_HAS_SECONDARY_SEQ_NUM,
                            .perm = RWF_GENERIC_HAS_PERM_DATA,
                            .key = RWF_GENERIC_HAS_KEY,
                            .ext = RWF_GENERIC_HAS_EXT_HEADER,
                            .part = RWF_GENERIC_HAS_PART_NUM },
    [RWF_CLASS_POST] = { .seq = RWF_POST_HAS_SEQ_NUM,
                         .perm = RWF_POST_HAS_PERM_DATA,
                         .key = RWF_POST_HAS_KEY,
                         .ext = RWF_POST_HAS_EXT_HEADER,
                         .part = RWF_POST_HAS_PART_NUM },
};

static struct node *state_node(struct decoder *d, const struct rwf_state *state)
{
    struct node *node = node_list(d->arena, "state");

    add_state(d, node, state);
    return node;
}

static struct node *qos_node(struct decoder *d, const char *head, const struct rwf_qos *qos)
{
    struct node *node = node_list(d->arena, head);

    add_qos(d, node, qos);
    return node;
}

static struct node *pui_node(struct decoder *d, const struct rwf_msg *msg)
{
    return node_add(pair(d, "pui", msg->post_user_addr), node_uint(d->arena, msg->post_user_id));
}

/* What stands before the members all classes share. */
static void add_own_members(struct decoder *d, struct node *root, const struct rwf_msg *msg)
{
    switch (msg->msg_class) {
    case RWF_CLASS_REQUEST:
        if (msg->flags & RWF_REQUEST_HAS_PRIORITY)
            node_add(root, node_add(pair(d, "prio", msg->priority_class),
                                    node_uint(d->arena, msg->priority_count)));
        break;
    case RWF_CLASS_UPDATE:
        node_add(root, pair(d, "utype", msg->update_type));
        break;
    case RWF_CLASS_ACK:
        node_add(root, pair(d, "ackid", msg->ack_id));
        if (msg->flags & RWF_ACK_HAS_NAK_CODE)
            node_add(root, pair(d, "nak", msg->nak_code));
        if (msg->flags & RWF_ACK_HAS_TEXT)
            node_add(root, pair_bytes(d, "text", msg->text));
        break;
    case RWF_CLASS_POST:
        node_add(root, pui_node(d, msg));
        break;
    default:
        break;
    }
}

static bool add_members(struct decoder *d, struct node *root, const struct rwf_msg *msg,
                        const struct scope *scope)
{
    const struct shown *s = &shown_of[msg->msg_class];
    bool refresh = msg->msg_class == RWF_CLASS_REFRESH;

    add_own_members(d, root, msg);
    if (msg->flags & s->seq)
        node_add(root, pair(d, "seq", msg->seq_num));
    if (msg->flags & s->seq2)
        node_add(root, pair(d, "seq2", msg->secondary_seq_num));
    if (msg->msg_class == RWF_CLASS_UPDATE && (msg->flags & RWF_UPDATE_HAS_CONF_INFO))
        node_add(root, node_add(pair(d, "conf", msg->conf_count),
                                node_uint(d->arena, msg->conf_time_ms)));
    if (msg->msg_class == RWF_CLASS_POST && (msg->flags & RWF_POST_HAS_POST_ID))
        node_add(root, pair(d, "postid", msg->post_id));
    if (refresh || (msg->flags & s->state))
        node_add(root, state_node(d, &msg->state));
    if (refresh || (msg->flags & s->group))
        node_add(root, pair_bytes(d, "group", msg->group_id));
    if (msg->flags & s->perm)
        node_add(root, pair_bytes(d, "perm", msg->perm_data));
    if (msg->flags & s->qos)
        node_add(root, qos_node(d, "qos", &msg->qos));
    if (msg->flags & s->worst_qos)
        node_add(root, qos_node(d, "wqos", &msg->worst_qos));
    if ((msg->msg_class == RWF_CLASS_REQUEST || (msg->flags & s->key)) &&
        !add_key(d, root, &msg->key, scope))
        return false;
    if (msg->flags & s->ext)
        node_add(root, pair_bytes(d, "ext", msg->ext_header));
    if (msg->flags & s->pui)
        node_add(root, pui_node(d, msg));
    if (msg->flags & s->part)
        node_add(root, pair(d, "part", msg->part_num));
    if (msg->msg_class == RWF_CLASS_POST && (msg->flags & RWF_POST_HAS_POST_USER_RIGHTS))
        node_add(root, pair(d, "rights", msg->post_rights));
    return true;
}

static struct node *decode_msg(struct decoder *d, struct rwf_bytes bytes, const struct scope *scope)
{
    static const char *const heads[] = { NULL,    "request", "refresh", "status", "update",
                                         "close", "ack",     "generic", "post" };
    struct rwf_msg msg;
    int rc = rwf_msg_decode(bytes, &msg);

    if (rc < 0)
        return fail(d, rc);
    struct node *root = node_list(d->arena, heads[msg.msg_class]);
    node_add(root, pair(d, "dom", msg.domain));
    node_add(root, node_add(node_list(d->arena, "sid"), node_int(d->arena, msg.stream_id)));
    node_add(root, pair(d, "fl", msg.flags));
    node_add(root, node_add(node_list(d->arena, "ct"), tree_type_node(d->arena, msg.container)));
    if (!add_members(d, root, &msg, scope))
        return NULL;
    if (msg.payload.length > 0 &&
        !add_container(d, root, "body", msg.container, msg.payload, scope))
        return NULL;
    return root;
}

/* ---- any ---- */

typedef struct node *(*decode_fn)(struct decoder *d, struct rwf_bytes bytes,
                                  const struct scope *scope);

static decode_fn container_decoder(unsigned type)
{
    switch (type) {
    case RWF_TYPE_FIELD_LIST:
        return decode_field_list;
    case RWF_TYPE_ELEMENT_LIST:
        return decode_element_list;
    case RWF_TYPE_FILTER_LIST:
        return decode_filter_list;
    case RWF_TYPE_VECTOR:
        return decode_vector;
    case RWF_TYPE_MAP:
        return decode_map;
    case RWF_TYPE_SERIES:
        return decode_series;
    case RWF_TYPE_MSG:
        return decode_msg;
    default:
        return NULL;
    }
}

static struct node *decode_any(struct decoder *d, unsigned type, struct rwf_bytes bytes,
                               const struct scope *scope)
{
    decode_fn decode = container_decoder(type);

    if (type == RWF_TYPE_ARRAY && bytes.length > 0)
        return decode_array(d, bytes);
    if (!decode)
        return decode_value(d, type, bytes);
    if (d->depth >= RWF_DEPTH_MAX)
        return fail(d, RWF_ERR_DEPTH);
    d->depth++;
    struct node *node = decode(d, bytes, scope);
    d->depth--;
    return node;
}

struct node *tree_decode(struct arena *arena, unsigned type, struct rwf_bytes bytes,
                         const struct scope *scope, int *err)
{
    struct decoder d = { .arena = arena };
    struct node *node = decode_any(&d, type, bytes, scope);

    *err = d.err;
    return node;
}
