/* fields.c - images that are field lists: changed where they stand, in their encoded form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "image.h"
#include "rmds/rwf_rmtes.h"

#define PARTIAL_ROOM_MAX 16384 /* a string that a command makes longer is refused */
#define FIELDS_MAX       65535

/* ---- where things stand in the list ---- */

static size_t info_size(const uint8_t *list)
{
    return list[0] & RWF_LIST_HAS_INFO ? 1u + list[1] : 0;
}

static size_t count_at(const struct cache_image *image)
{
    return image->payload_at + 1 + info_size(image->bytes + image->payload_at);
}

/* A content with its length in front, in the shortest form. */
static size_t packed_size(size_t length)
{
    return length + (length < CACHE_LENGTH_LONG ? 1 : 3);
}

/* The content that stands there, its length in whichever form. */
static struct rwf_bytes packed_at(const uint8_t *p)
{
    return p[0] < CACHE_LENGTH_LONG ? rwf_bytes(p + 1, p[0]) : rwf_bytes(p + 3, md_be16(p + 1));
}

static void pack(uint8_t *p, struct rwf_bytes content)
{
    if (content.length < CACHE_LENGTH_LONG) {
        *p++ = (uint8_t)content.length;
    } else {
        *p++ = CACHE_LENGTH_LONG;
        md_put_be16(p, (uint16_t)content.length);
        p += 2;
    }
    cache_copy(p, content.data, content.length);
}

/* ---- changing the image ---- */

#define ESC 0x1b

/* Of text in the sets that RMTES begins with, and no number that begins with its format. */
static bool may_be_text(struct rwf_bytes content)
{
    for (size_t i = 0; i < content.length; i++) {
        if (content.data[i] < ' ' && content.data[i] != ESC)
            return false;
    }
    return true;
}

bool cache_takes_partial(const struct cache *cache, int16_t id, struct rwf_bytes old,
                         struct rwf_bytes content)
{
    if (!rwf_rmtes_is_partial(content.data, content.length))
        return false;
    unsigned type =
        cache->config.field_type ? cache->config.field_type(cache->config.context, id) : 0;
    if (type != 0)
        return type == RWF_TYPE_RMTES;
    /* The bytes of a number may look like a command. Feeds begin with one, and it has a number. */
    return content.data[0] == ESC && content.data[2] >= '0' && content.data[2] <= '9' &&
           may_be_text(old);
}

/* A string update that says what to change in the string we have: *content becomes the result. */
static int apply_partial(struct cache *cache, struct rwf_bytes old, struct rwf_bytes *content)
{
    uint8_t *string = cache_scratch(cache);
    size_t length = old.length;

    if (!string)
        return MD_ERR_NOMEM;
    if (old.length)
        memcpy(string, old.data, old.length);
    int err = rwf_rmtes_apply(string, old.length > PARTIAL_ROOM_MAX ? old.length : PARTIAL_ROOM_MAX,
                              &length, content->data, content->length);
    *content = rwf_bytes(string, length);
    return err;
}

/* The content at `at`, number `place` of the list, becomes another one. */
static int put(struct cache *cache, struct cache_image **image, size_t at, unsigned place,
               int16_t id, struct rwf_bytes content)
{
    size_t old = cache_packed_end((*image)->bytes, at) - at;
    struct rwf_bytes now = packed_at((*image)->bytes + at);
    int err = MD_OK;

    if (cache->may_be_partial && cache_takes_partial(cache, id, now, content))
        err = apply_partial(cache, now, &content);
    cache_mark(cache, place);
    size_t fresh = packed_size(content.length);
    if (err == MD_OK && fresh != old)
        err = cache_resize(cache, image, at, old, fresh);
    if (err == MD_OK)
        pack((*image)->bytes + at, content);
    return err;
}

static int append(struct cache *cache, struct cache_image **image, int16_t id,
                  struct rwf_bytes content)
{
    size_t at = (*image)->length;
    uint16_t count = md_be16((*image)->bytes + count_at(*image));
    int err = count == FIELDS_MAX ? MD_ERR_RANGE : MD_OK;

    cache_mark(cache, count);
    if (err == MD_OK && cache->may_be_partial &&
        cache_takes_partial(cache, id, rwf_bytes(NULL, 0), content))
        err = apply_partial(cache, rwf_bytes(NULL, 0), &content);
    if (err == MD_OK)
        err = cache_resize(cache, image, at, 0, 2 + packed_size(content.length));
    if (err != MD_OK)
        return err;
    md_put_be16((*image)->bytes + at, (uint16_t)id);
    pack((*image)->bytes + at + 2, content);
    md_put_be16((*image)->bytes + count_at(*image), (uint16_t)(count + 1));
    (*image)->ripple_epoch = 0; /* it may be a target */
    return MD_OK;
}

/* ---- an update whose fields stand in the order of the image ---- */

/* The field whose content stands at *at is changed, and what it was moves on. *at moves with it. */
static inline int change(struct cache *cache, const struct cache_ripples *ripples,
                         struct cache_image **image, size_t *at, unsigned place,
                         const struct rwf_field *field)
{
    if (ripples && cache_ripple_bit(ripples->sources, field->id)) {
        int err = cache_ripple(cache, ripples, image, at, place, field->id);
        if (err != MD_OK)
            return err;
    }
    return put(cache, image, *at, place, field->id, field->content);
}

/* Where a walk through the image is: a field begins at `at`, number `place` of the list. */
struct walk {
    size_t at;
    unsigned place;
};

static bool is_id_at(const uint8_t *p, const uint8_t *id)
{
    uint16_t there, wanted;

    memcpy(&there, p, sizeof(there));
    memcpy(&wanted, id, sizeof(wanted));
    return there == wanted;
}

/* Marks of 64 places in turn, noted at once: places only grow. */
struct marks {
    unsigned first; /* place, a multiple of 64 */
    uint64_t bits;
};

static void marks_put(struct cache *cache, const struct marks *marks)
{
    if (cache->changed && marks->first < CACHE_CHANGED_MAX)
        cache->changed->bits[marks->first / 64] |= marks->bits;
}

static inline void mark(struct cache *cache, struct marks *marks, unsigned place)
{
    if (place - marks->first >= 64) {
        marks_put(cache, marks);
        *marks = (struct marks){ .first = place / 64 * 64 };
    }
    marks->bits |= 1ull << place % 64;
}

/*
 * Nearly all fields of nearly all updates are standard data that stands in the order of the image,
 * is as long as what it replaces, and neither ripples nor is a part of a string. These are copied
 * without being decoded: the image does not move. What is left of the list begins with one that is
 * different.
 */
static void change_alike(struct cache *cache, const struct cache_ripples *ripples,
                         struct cache_image *image, struct rwf_field_list *list, struct walk *walk)
{
    const uint8_t *p = list->pos, *const last = list->end;
    const size_t end = image->length;
    uint8_t *const bytes = image->bytes;
    uint32_t left = list->left;
    struct marks marks = { .first = 0 };
    struct walk next = *walk;

    for (; left > 0 && last - p >= 3; left--) {
        size_t length = p[2];
        struct walk here = next;

        if (length >= CACHE_LENGTH_LONG || length > (size_t)(last - p - 3) ||
            (ripples && cache_ripple_bit(ripples->sources, (int16_t)md_be16(p))))
            break;
        for (; here.at < end && !is_id_at(bytes + here.at, p); here.place++)
            here.at = cache_packed_end(bytes, here.at + 2);
        MD_ASSERT(here.at <= end);
        if (here.at == end || bytes[here.at + 2] != length)
            break;
        cache_copy(bytes + here.at + 3, p + 3, length);
        mark(cache, &marks, here.place);
        next = (struct walk){ .at = here.at + 3 + length, .place = here.place + 1 };
        p += 3 + length;
    }
    marks_put(cache, &marks);
    list->pos = p;
    list->left = left;
    *walk = next;
}

/*
 * Most updates come in the order in which the fields of the image came, so that each is found
 * behind the one before. 1: `field` is the first one that is not; 0: that was all; or an error.
 */
static int change_in_order(struct cache *cache, const struct cache_ripples *ripples,
                           struct cache_image **image, struct rwf_field_list *list,
                           struct rwf_field *field)
{
    struct walk walk = { .at = count_at(*image) + 2 };
    int rc;

    for (;;) {
        if (!cache->may_be_partial && list->set_left == 0)
            change_alike(cache, ripples, *image, list, &walk);
        rc = rwf_field_list_next(list, field);
        if (rc <= 0)
            return rc < 0 ? MD_ERR_MALFORMED : 0;
        walk.at = cache_seek(*image, walk.at, (*image)->length, field->id, &walk.place);
        if (walk.at == (*image)->length)
            return 1;
        walk.at += 2;
        int err = change(cache, ripples, image, &walk.at, walk.place, field);
        if (err != MD_OK)
            return err;
        walk.at = cache_packed_end((*image)->bytes, walk.at);
        walk.place++;
    }
}

/* ---- fields in any order ---- */

#define CHANGES_MAX 64u
#define BUCKETS     64u

/*
 * Some fields of the update, found by id, so that one walk over the image serves all of them. A
 * field of a ripple chain is not among them: of these the order matters.
 */
struct changes {
    const struct cache_ripples *ripples; /* NULL: no field is in a chain */
    struct change {
        const uint8_t *data; /* its content */
        uint16_t length;
        int16_t id;
        uint8_t next; /* in its bucket, number + 1 */
        bool is_done;
    } change[CHANGES_MAX];
    unsigned count;
    bool has_ahead;
    struct rwf_field ahead; /* the first one of the next lot */
    uint8_t buckets[BUCKETS];
};

static struct change *find(struct changes *c, int16_t id)
{
    unsigned n = c->buckets[(uint16_t)id % BUCKETS];

    while (n && c->change[n - 1].id != id)
        n = c->change[n - 1].next;
    return n ? &c->change[n - 1] : NULL;
}

static bool add(struct changes *c, const struct rwf_field *field)
{
    uint8_t *bucket = &c->buckets[(uint16_t)field->id % BUCKETS];

    if (c->count == CHANGES_MAX || (*bucket && find(c, field->id)))
        return false;
    struct change *change = &c->change[c->count];
    change->data = field->content.data;
    change->length = (uint16_t)field->content.length;
    change->id = field->id;
    change->next = *bucket;
    change->is_done = false;
    *bucket = (uint8_t)++c->count;
    return true;
}

static bool is_in_chain(const struct changes *c, int16_t id)
{
    return c->ripples &&
           (cache_ripple_bit(c->ripples->sources, id) || cache_ripple_bit(c->ripples->targets, id));
}

/* A field of a chain, apart from the others. */
static int change_one(struct cache *cache, const struct cache_ripples *ripples,
                      struct cache_image **image, const struct rwf_field *field)
{
    unsigned place = 0;
    size_t at = cache_seek(*image, cache_first_field(*image), (*image)->length, field->id, &place);

    if (at == (*image)->length)
        return append(cache, image, field->id, field->content);
    at += 2;
    return change(cache, ripples, image, &at, place, field);
}

/* The next lot: until it is full, or an id comes again. An error of the list; 0 at its end. */
static int next_changes(struct changes *c, struct cache *cache, struct cache_image **image,
                        struct rwf_field_list *list)
{
    int rc = 1;

    c->count = 0;
    memset(c->buckets, 0, sizeof(c->buckets));
    for (;;) {
        if (!c->has_ahead && (rc = rwf_field_list_next(list, &c->ahead)) <= 0)
            return rc < 0 ? rc : c->count > 0;
        if (is_in_chain(c, c->ahead.id)) {
            c->has_ahead = false;
            rc = change_one(cache, c->ripples, image, &c->ahead);
            if (rc != MD_OK)
                return rc;
            continue;
        }
        c->has_ahead = !add(c, &c->ahead);
        if (c->has_ahead)
            return 1;
    }
}

static int change_present(struct cache *cache, struct cache_image **image, struct changes *c)
{
    size_t at = count_at(*image) + 2;
    unsigned left = c->count;

    for (unsigned place = 0; left > 0 && at < (*image)->length; place++) {
        struct change *change = find(c, (int16_t)md_be16((*image)->bytes + at));

        at += 2;
        if (change) {
            int err =
                put(cache, image, at, place, change->id, rwf_bytes(change->data, change->length));
            if (err != MD_OK)
                return err;
            change->is_done = true;
            left--;
        }
        at = cache_packed_end((*image)->bytes, at);
    }
    return MD_OK;
}

static int change_all(struct cache *cache, struct cache_image **image, struct changes *c)
{
    int err = change_present(cache, image, c);

    for (unsigned i = 0; err == MD_OK && i < c->count; i++) {
        const struct change *change = &c->change[i];
        if (!change->is_done)
            err = append(cache, image, change->id, rwf_bytes(change->data, change->length));
    }
    return err;
}

/* Whether a field among them, not in the image perhaps, becomes the target of another one. */
static bool names_target(const struct cache_ripples *ripples, struct rwf_field_list list,
                         const struct rwf_field *first)
{
    struct rwf_field field = *first;

    do {
        if (cache_ripple_bit(ripples->targets, field.id))
            return true;
    } while (rwf_field_list_next(&list, &field) > 0);
    return false;
}

/* `first` and what is left of the list. */
static int change_in_lots(struct cache *cache, const struct cache_ripples *ripples,
                          struct cache_image **image, struct rwf_field_list *list,
                          const struct rwf_field *first)
{
    struct changes changes;
    int err = MD_OK;
    int rc;

    changes.ripples = ripples;
    changes.has_ahead = true;
    changes.ahead = *first;
    while (err == MD_OK && (rc = next_changes(&changes, cache, image, list)) != 0)
        err = rc < 0 ? rc : change_all(cache, image, &changes);
    return err;
}

/* ---- the list as a whole ---- */

/* Dictionary and template number of the list become those of `payload`. */
static int put_info(struct cache *cache, struct cache_image **image, struct rwf_bytes payload)
{
    size_t at = (*image)->payload_at + 1;
    size_t size = info_size(payload.data);

    int err = cache_resize(cache, image, at, info_size((*image)->bytes + at - 1), size);
    if (err != MD_OK)
        return err;
    memcpy((*image)->bytes + at, payload.data + 1, size);
    (*image)->bytes[at - 1] |= RWF_LIST_HAS_INFO;
    return MD_OK;
}

static int put_empty_list(struct cache *cache, struct cache_image **image)
{
    size_t at = (*image)->payload_at;
    int err = cache_resize(cache, image, at, 0, 3);

    if (err != MD_OK)
        return err;
    (*image)->bytes[at] = RWF_LIST_HAS_STANDARD_DATA;
    md_put_be16((*image)->bytes + at + 1, 0);
    return MD_OK;
}

int cache_fields_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload,
                        bool ripples)
{
    const struct cache_ripples *table = NULL;
    struct rwf_field_list list;
    struct rwf_field field;
    int err = MD_OK;

    if (rwf_field_list_decode(payload, NULL, &list) < 0)
        return MD_ERR_MALFORMED;
    if (list.info.flags & RWF_LIST_HAS_SET_DATA)
        return MD_ERR_UNSUPPORTED; /* its definitions are not in the message */
    cache->may_be_partial = payload.length && memchr(payload.data, ESC, payload.length);
    if ((*image)->length == (*image)->payload_at)
        err = put_empty_list(cache, image);
    if (err == MD_OK && list.info.flags & RWF_LIST_HAS_INFO)
        err = put_info(cache, image, payload);
    if (err == MD_OK && ripples)
        table = cache_ripples_for(cache, *image);
    if (err == MD_OK)
        err = change_in_order(cache, table, image, &list, &field);
    if (err <= 0)
        return err;
    if (ripples && !table && cache->config.ripples &&
        names_target(cache->config.ripples, list, &field))
        table = cache->config.ripples;
    return change_in_lots(cache, table, image, &list, &field);
}

/* ---- the first part of a refresh ---- */

static void forget_seen(struct cache *cache, struct rwf_bytes payload)
{
    struct rwf_field_list list;
    struct rwf_field field;

    rwf_field_list_decode(payload, NULL, &list);
    while (rwf_field_list_next(&list, &field) > 0)
        cache->seen[(uint16_t)field.id / 64] = 0;
}

/* Whether it can stand as it is: standard data alone, whole contents, every id once. */
static bool is_plain(struct cache *cache, struct rwf_bytes *payload)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(*payload, NULL, &list);

    if (rc < 0 || (list.info.flags & ~RWF_LIST_HAS_INFO) != RWF_LIST_HAS_STANDARD_DATA)
        return false;
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        uint64_t *word = &cache->seen[(uint16_t)field.id / 64];
        uint64_t bit = 1ull << (uint16_t)field.id % 64;

        if (*word & bit || cache_takes_partial(cache, field.id, rwf_bytes(NULL, 0), field.content))
            break;
        *word |= bit;
    }
    forget_seen(cache, *payload);
    payload->length = (size_t)(list.pos - payload->data); /* less what stands behind the list */
    return rc == 0;
}

int cache_fields_start(struct cache *cache, struct cache_image **image, struct rwf_bytes payload)
{
    struct rwf_bytes plain = payload;

    if (!is_plain(cache, &plain))
        return cache_fields_update(cache, image, payload, false);
    int err = cache_resize(cache, image, (*image)->payload_at, 0, plain.length);
    if (err != MD_OK)
        return err;
    memcpy((*image)->bytes + (*image)->payload_at, plain.data, plain.length);
    cache_ripples_for(cache, *image); /* looks now, while the image is at hand */
    return MD_OK;
}

/* ---- giving out ---- */

bool cache_image_can_note(const struct cache_image *image, size_t more)
{
    return cache_image_is_valid(image) && image->kind == CACHE_KIND_FIELDS &&
           image->length > image->payload_at &&
           md_be16(image->bytes + count_at(image)) + more <= CACHE_CHANGED_MAX;
}

/* The next place that is noted, at or behind `place`; CACHE_CHANGED_MAX: none. */
static unsigned next_changed(const struct cache_changed *changed, unsigned place)
{
    while (place < CACHE_CHANGED_MAX) {
        uint64_t word = changed->bits[place / 64] >> place % 64;
        if (word)
            return place + (unsigned)__builtin_ctzll(word);
        place = (place / 64 + 1) * 64;
    }
    return CACHE_CHANGED_MAX;
}

int cache_image_changed(const struct cache_image *image, const struct cache_changed *changed,
                        uint8_t *out, size_t size, size_t *length)
{
    const uint8_t *bytes = image->bytes;
    size_t at = cache_first_field(image), used = at - image->payload_at;
    unsigned place = 0, wanted;
    uint16_t count = 0;

    if (used > size)
        return MD_ERR_FULL;
    memcpy(out, bytes + image->payload_at, used);
    while ((wanted = next_changed(changed, place)) < CACHE_CHANGED_MAX) {
        for (; place < wanted && at < image->length; place++)
            at = cache_packed_end(bytes, at + 2);
        if (at >= image->length)
            return MD_ERR_STATE;
        size_t end = cache_packed_end(bytes, at + 2);
        if (end - at > size - used)
            return MD_ERR_FULL;
        cache_copy(out + used, bytes + at, end - at);
        used += end - at;
        at = end;
        place++;
        count++;
    }
    md_put_be16(out + count_at(image) - image->payload_at, count);
    *length = used;
    return MD_OK;
}

int cache_fields_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last)
{
    struct rwf_field_list list;
    struct rwf_field field;
    uint32_t first = cursor->next;
    uint32_t at = 0;
    int err = rwf_field_list_decode(cache_payload(image), NULL, &list);

    if (err < 0)
        return err;
    *is_last = true;
    list.info.flags |= RWF_LIST_HAS_STANDARD_DATA;
    rwf_field_list_start(enc, &list.info);
    while (rwf_field_list_next(&list, &field) > 0) {
        struct rwf_mark mark = rwf_encoder_mark(enc);

        if (at++ < first)
            continue;
        if (rwf_field_add_bytes(enc, field.id, field.content) < 0) {
            rwf_encoder_rollback(enc, &mark);
            *is_last = false;
            break;
        }
        cursor->next++;
    }
    if (!*is_last && cursor->next == first)
        return MD_ERR_FULL;
    return rwf_field_list_finish(enc);
}
