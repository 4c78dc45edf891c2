/* fields.c - see fields.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <string.h>

#include "rmds/rwf_rmtes.h"

#define CHAIN_MAX 64

/* ---- tables ---- */

void conflate_table_clear(struct conflate_table *table)
{
    for (unsigned i = 0; i < table->count; i++)
        table->index[(uint16_t)table->list[i].id] = 0;
    table->count = 0;
}

static bool find(const struct conflate_table *table, int16_t id, struct rwf_bytes *content)
{
    unsigned at = table->index[(uint16_t)id];

    if (at)
        *content = table->list[at - 1].content;
    return at != 0;
}

bool conflate_table_put(struct conflate_table *table, int16_t id, struct rwf_bytes content)
{
    unsigned at = table->index[(uint16_t)id];

    if (!at && table->count == CONFLATE_FIELDS_MAX)
        return false;
    if (!at) {
        at = ++table->count;
        table->index[(uint16_t)id] = (uint16_t)at;
        table->list[at - 1].id = id;
    }
    table->list[at - 1].content = content;
    return true;
}

/* ---- what a consumer has ---- */

void conflate_fields_begin(struct conflate *c, struct rwf_bytes image, bool is_known)
{
    conflate_table_clear(&c->now);
    conflate_table_clear(&c->image);
    c->image_bytes = image;
    c->is_image_known = is_known;
    c->is_image_read = false;
    c->string_length = 0;
    c->sets = c->config.sets;
}

static void read_image(struct conflate *c)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(c->image_bytes, c->config.sets, &list);

    c->is_image_read = true;
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (!conflate_table_put(&c->image, field.id, field.content))
            rc = RWF_ERR_FULL;
    }
    if (rc < 0)
        c->is_image_known = false;
}

enum known {
    KNOWN,
    ABSENT,
    UNKNOWN,
};

static enum known in_image(struct conflate *c, int16_t id, struct rwf_bytes *content)
{
    if (c->is_image_known && !c->is_image_read)
        read_image(c);
    if (!c->is_image_known)
        return UNKNOWN;
    return find(&c->image, id, content) ? KNOWN : ABSENT;
}

static enum known value_of(struct conflate *c, int16_t id, struct rwf_bytes *content)
{
    return find(&c->now, id, content) ? KNOWN : in_image(c, id, content);
}

static int16_t target_of(const struct conflate *c, int16_t id)
{
    return c->config.ripples_to ? c->config.ripples_to(c->config.context, id) : 0;
}

/* ---- contents ---- */

enum content_kind {
    WHOLE,
    PARTIAL,
    DOUBTFUL, /* the bytes look like a command, and the type of the field is not known */
};

static enum content_kind kind_of(const struct conflate *c, int16_t id, struct rwf_bytes content)
{
    if (!rwf_rmtes_is_partial(content.data, content.length))
        return WHOLE;
    unsigned type = c->config.field_type ? c->config.field_type(c->config.context, id) : 0;
    if (type == 0)
        return DOUBTFUL;
    return type == RWF_TYPE_RMTES ? PARTIAL : WHOLE;
}

bool conflate_field_is_doubtful(const struct conflate *c, int16_t id, struct rwf_bytes content)
{
    return kind_of(c, id, content) == DOUBTFUL;
}

/* A reader of standard data cannot read these two forms of set data. */
static bool is_writable(const struct rwf_field *field)
{
    return field->type != RWF_TYPE_REAL_4RB && field->type != RWF_TYPE_REAL_8RB;
}

/* *content becomes the whole string. False: the one before is not known, or there is no room. */
static bool make_whole(struct conflate *c, int16_t id, struct rwf_bytes *content)
{
    uint8_t *string = c->strings + c->string_length;
    struct rwf_bytes old = { 0 };
    size_t room = sizeof(c->strings) - c->string_length;

    if (value_of(c, id, &old) == UNKNOWN || old.length > room)
        return false;
    size_t length = old.length;
    if (length)
        memcpy(string, old.data, length);
    if (rwf_rmtes_apply(string, room, &length, content->data, content->length) < 0)
        return false;
    c->string_length += length;
    *content = rwf_bytes(string, length);
    return true;
}

/* ---- ripples ---- */

/* The old value of the field goes to the next one of its chain, and so on, as far as consumers have
 * those fields. */
static bool ripple(struct conflate *c, int16_t id)
{
    int16_t to = target_of(c, id);
    struct rwf_bytes carry;
    struct rwf_bytes next;
    enum known known;

    if (to == 0)
        return true;
    if ((known = value_of(c, id, &carry)) != KNOWN)
        return known == ABSENT;
    for (unsigned steps = 0; to != 0 && to != id && steps < CHAIN_MAX; steps++) {
        if ((known = value_of(c, to, &next)) != KNOWN)
            return known == ABSENT;
        if (!conflate_table_put(&c->now, to, carry))
            return false;
        carry = next;
        to = target_of(c, to);
    }
    return true;
}

/* The run has moved old values along the chain of this field: they stand in the image. */
static bool touch_chain(struct conflate *c, int16_t id)
{
    int16_t to = target_of(c, id);
    struct rwf_bytes content;

    for (unsigned steps = 0; to != 0 && to != id && steps < CHAIN_MAX; steps++) {
        enum known known = in_image(c, to, &content);
        if (known != KNOWN)
            return known == ABSENT;
        if (!conflate_table_put(&c->now, to, content))
            return false;
        to = target_of(c, to);
    }
    return true;
}

/* ---- lists ---- */

static bool open_list(const struct conflate *c, struct rwf_bytes bytes, struct rwf_field_list *list)
{
    return rwf_field_list_decode(bytes, c->sets, list) >= 0 &&
           (list->set_data.length == 0 || list->set_is_known);
}

/* The image is asked for what the run does not say in full: to read one costs more than to merge.
 */
static bool touch(struct conflate *c, const struct rwf_field *field, bool ripples)
{
    struct rwf_bytes content = field->content;
    bool is_whole = kind_of(c, field->id, content) == WHOLE && is_writable(field);

    if (!is_whole && in_image(c, field->id, &content) != KNOWN)
        return false;
    return conflate_table_put(&c->now, field->id, content) &&
           (!ripples || touch_chain(c, field->id));
}

bool conflate_fields_touch(struct conflate *c, struct rwf_bytes bytes, bool ripples)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = 0;

    if (!open_list(c, bytes, &list))
        return false;
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (!touch(c, &field, ripples))
            return false;
    }
    return rc == 0;
}

static bool fold(struct conflate *c, const struct rwf_field *field, bool ripples)
{
    struct rwf_bytes content = field->content;
    enum content_kind kind = kind_of(c, field->id, content);

    if (kind == DOUBTFUL || !is_writable(field))
        return false;
    if (kind == PARTIAL && !make_whole(c, field->id, &content))
        return false;
    return (!ripples || ripple(c, field->id)) && conflate_table_put(&c->now, field->id, content);
}

bool conflate_fields_fold(struct conflate *c, struct rwf_bytes bytes, bool ripples)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = 0;

    if (!open_list(c, bytes, &list))
        return false;
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (!fold(c, &field, ripples))
            return false;
    }
    return rc == 0;
}

static bool is_plain(const struct rwf_field_list *list)
{
    return list->set_data.length == 0;
}

bool conflate_fields_replace(const struct conflate *c, struct rwf_bytes old, struct rwf_bytes fresh,
                             bool ripples)
{
    struct rwf_field_list before, now;
    struct rwf_field was, is;

    if (rwf_field_list_decode(old, NULL, &before) < 0 ||
        rwf_field_list_decode(fresh, NULL, &now) < 0 || before.count != now.count ||
        !is_plain(&before) || !is_plain(&now) ||
        (before.info.flags & ~now.info.flags & RWF_LIST_HAS_INFO))
        return false;
    while (rwf_field_list_next(&before, &was) > 0) {
        if (rwf_field_list_next(&now, &is) <= 0 || was.id != is.id ||
            (ripples && target_of(c, is.id) != 0) || kind_of(c, is.id, is.content) != WHOLE)
            return false;
    }
    return true;
}

static struct rwf_field_list_info info_of(struct rwf_bytes old, struct rwf_bytes fresh)
{
    struct rwf_field_list list;

    if (rwf_field_list_decode(fresh, NULL, &list) >= 0 && list.info.flags & RWF_LIST_HAS_INFO)
        return list.info;
    if (rwf_field_list_decode(old, NULL, &list) >= 0 && list.info.flags & RWF_LIST_HAS_INFO)
        return list.info;
    return (struct rwf_field_list_info){ 0 };
}

int conflate_fields_write(const struct conflate *c, struct rwf_encoder *enc, struct rwf_bytes old,
                          struct rwf_bytes fresh)
{
    struct rwf_field_list_info info = info_of(old, fresh);

    info.flags = (uint8_t)((info.flags & RWF_LIST_HAS_INFO) | RWF_LIST_HAS_STANDARD_DATA);
    rwf_field_list_start(enc, &info);
    for (unsigned i = 0; i < c->now.count; i++)
        rwf_field_add_bytes(enc, c->now.list[i].id, c->now.list[i].content);
    return rwf_field_list_finish(enc);
}

bool conflate_fields_merge(struct conflate *c, struct rwf_encoder *enc, struct conflate_list old,
                           bool old_is_whole, struct conflate_list fresh)
{
    conflate_fields_begin(c, rwf_bytes(NULL, 0), false);
    c->sets = old.sets;
    if (!conflate_fields_touch(c, old.bytes, false))
        return false;
    c->is_image_known = old_is_whole; /* an added row has no other fields */
    c->sets = fresh.sets;
    return conflate_fields_fold(c, fresh.bytes, false) &&
           conflate_fields_write(c, enc, old.bytes, fresh.bytes) == RWF_OK;
}

bool conflate_fields_copy(struct conflate *c, struct rwf_encoder *enc, struct conflate_list from)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = 0;

    c->sets = from.sets;
    if (!open_list(c, from.bytes, &list))
        return false;
    struct rwf_field_list_info info = list.info;
    info.flags = (uint8_t)((info.flags & RWF_LIST_HAS_INFO) | RWF_LIST_HAS_STANDARD_DATA);
    rwf_field_list_start(enc, &info);
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (!is_writable(&field) || rwf_field_add_bytes(enc, field.id, field.content) != RWF_OK)
            return false;
    }
    return rc == 0 && rwf_field_list_finish(enc) == RWF_OK;
}
