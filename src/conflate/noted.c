/* noted.c - see noted.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "noted.h"

#include <string.h>

#include "fields.h"

#define CHAIN_MAX 64u
#define FEW_IDS   64u /* are searched as they stand */

/* In front of the ids, each two bytes. */
struct head {
    struct conflate_head of_run;
    uint16_t id_count;
};

static bool ripples(const struct rwf_msg *msg)
{
    return !(msg->flags & RWF_UPDATE_DO_NOT_RIPPLE);
}

static int16_t id_at(const uint8_t *ids, unsigned at)
{
    int16_t id;

    memcpy(&id, ids + at * sizeof(id), sizeof(id));
    return id;
}

/* The list of an update whose fields can be noted. False: it has none. */
static bool open_list(const struct rwf_msg *msg, struct rwf_field_list *list)
{
    return !(msg->flags & RWF_UPDATE_HAS_KEY) && msg->container == RWF_TYPE_FIELD_LIST &&
           rwf_field_list_decode(msg->payload, NULL, list) >= 0 && list->set_data.length == 0 &&
           list->count <= CONFLATE_FIELDS_MAX;
}

/* ---- in ---- */

/* Whether the pending ids have the field, and where: they mostly come in the same order again. The
 * table of the engine is filled when there are many. */
static bool find(struct conflate *c, const uint8_t *ids, unsigned count, int16_t id, unsigned *at,
                 bool *is_filled)
{
    if (*at < count && id_at(ids, *at) == id)
        return true;
    for (unsigned i = 0; count <= FEW_IDS && i < count; i++) {
        if (id_at(ids, i) == id) {
            *at = i;
            return true;
        }
    }
    if (count <= FEW_IDS)
        return false;
    if (!*is_filled) {
        conflate_table_clear(&c->now);
        for (unsigned i = 0; i < count; i++)
            conflate_table_put(&c->now, id_at(ids, i), rwf_bytes(NULL, 0));
    }
    *is_filled = true;
    unsigned place = c->now.index[(uint16_t)id];
    *at = place ? place - 1 : *at;
    return place > 0;
}

/* Ids of the fields of an update behind those that are there. False: no room, or one whose content
 * cannot be told. */
static bool note(struct conflate *c, struct conflate_pending *pending, struct head *head,
                 const struct rwf_msg *msg)
{
    uint8_t *ids = pending->bytes + sizeof(*head);
    unsigned room = (unsigned)((pending->room - sizeof(*head)) / sizeof(int16_t));
    struct rwf_field_list list;
    struct rwf_field field;
    bool is_filled = false;
    unsigned at = 0;
    int rc = 0;

    room = room < CONFLATE_FIELDS_MAX ? room : CONFLATE_FIELDS_MAX;
    if (!open_list(msg, &list))
        return false;
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (conflate_field_is_doubtful(c, field.id, field.content))
            return false;
        if (!find(c, ids, head->id_count, field.id, &at, &is_filled)) {
            if (head->id_count == room)
                return false;
            at = head->id_count++;
            memcpy(ids + at * sizeof(field.id), &field.id, sizeof(field.id));
            if (is_filled)
                conflate_table_put(&c->now, field.id, rwf_bytes(NULL, 0));
        }
        at++;
    }
    return rc == 0;
}

static void keep(struct conflate_pending *pending, const struct head *head)
{
    memcpy(pending->bytes, head, sizeof(*head));
    pending->length = (uint32_t)(sizeof(*head) + head->id_count * sizeof(int16_t));
    pending->is_noted = true;
}

/* The ids of the pending update take its place: its bytes are moved out of their way. */
static bool note_both(struct conflate *c, struct conflate_pending *pending, struct head *head,
                      const struct rwf_msg *old, const struct rwf_msg *fresh)
{
    struct conflate_pending made = *pending;

    made.bytes = c->noted;
    made.room = pending->room < sizeof(c->noted) ? pending->room : sizeof(c->noted);
    if (made.room < sizeof(*head) || !note(c, &made, head, old))
        return false;
    conflate_head_take(&head->of_run, fresh);
    if (!note(c, &made, head, fresh))
        return false;
    memcpy(pending->bytes + sizeof(*head), c->noted + sizeof(*head),
           head->id_count * sizeof(int16_t));
    return true;
}

bool conflate_noted_begin(struct conflate *c, struct conflate_pending *pending,
                          const struct rwf_msg *old, const struct rwf_msg *fresh, uint64_t now_ns)
{
    struct head head = { .of_run = conflate_head_of(old) };

    head.of_run.time_ms = conflate_head_time(pending, now_ns);
    if (old->domain != fresh->domain || !note_both(c, pending, &head, old, fresh))
        return false;
    keep(pending, &head);
    return true;
}

bool conflate_noted_add(struct conflate *c, struct conflate_pending *pending,
                        const struct rwf_msg *fresh, uint64_t now_ns)
{
    struct head head;

    memcpy(&head, pending->bytes, sizeof(head));
    if (head.of_run.domain != fresh->domain || !note(c, pending, &head, fresh))
        return false;
    conflate_head_take(&head.of_run, fresh);
    head.of_run.time_ms = conflate_head_time(pending, now_ns);
    keep(pending, &head);
    return true;
}

/* ---- out ---- */

/* False: there are too many. */
static bool add_chain(struct conflate *c, int16_t id)
{
    for (unsigned steps = 0; steps < CHAIN_MAX; steps++) {
        int16_t to = c->config.ripples_to(c->config.context, id);

        if (to == 0 || c->now.index[(uint16_t)to])
            return true; /* that one's chain is there, too, or will be */
        if (!conflate_table_put(&c->now, to, rwf_bytes(NULL, 0)))
            return false;
        id = to;
    }
    return true;
}

/* The fields of the run, and those that have taken over old values, in c->now. */
static bool read_ids(struct conflate *c, const struct head *head, const uint8_t *ids)
{
    bool is_all = true;

    conflate_table_clear(&c->now);
    for (unsigned i = 0; i < head->id_count; i++)
        is_all = conflate_table_put(&c->now, id_at(ids, i), rwf_bytes(NULL, 0)) && is_all;
    for (unsigned i = 0; i < head->id_count && head->of_run.ripples && c->config.ripples_to; i++)
        is_all = add_chain(c, id_at(ids, i)) && is_all;
    return is_all;
}

/* False: not all of the run are there. */
static bool write_fields(struct conflate *c, struct rwf_encoder *enc, struct rwf_bytes image,
                         unsigned count)
{
    struct rwf_field_list list;
    struct rwf_field field;
    unsigned found = 0, left = c->now.count;
    int rc = rwf_field_list_decode(image, NULL, &list);

    if (rc < 0)
        return false;
    struct rwf_field_list_info info = list.info;
    info.flags = (uint8_t)((info.flags & RWF_LIST_HAS_INFO) | RWF_LIST_HAS_STANDARD_DATA);
    rwf_field_list_start(enc, &info);
    while (left > 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        unsigned place = c->now.index[(uint16_t)field.id];

        if (!place)
            continue;
        rwf_field_add_bytes(enc, field.id, field.content);
        found += place <= count;
        left--;
    }
    return rc >= 0 && found == count && rwf_field_list_finish(enc) == RWF_OK;
}

static bool write_update(struct conflate *c, const struct rwf_msg *msg, struct rwf_bytes image,
                         unsigned count, struct rwf_bytes *out)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, c->noted, sizeof(c->noted));
    rwf_msg_start(&enc, msg);
    if (!write_fields(c, &enc, image, count) || rwf_msg_finish(&enc) != RWF_OK)
        return false;
    *out = rwf_encoder_bytes(&enc);
    return true;
}

bool conflate_noted_write(struct conflate *c, const struct conflate_pending *pending,
                          struct rwf_bytes image, struct rwf_bytes *out)
{
    const uint8_t *ids = pending->bytes + sizeof(struct head);
    struct head head;

    memcpy(&head, pending->bytes, sizeof(head));
    const struct rwf_msg msg = conflate_head_msg(pending, &head.of_run);

    return read_ids(c, &head, ids) && write_update(c, &msg, image, head.id_count, out);
}

bool conflate_spell_after(struct conflate *c, struct rwf_bytes update, struct rwf_bytes image,
                          struct rwf_bytes *out)
{
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_msg msg;
    int rc = 0;

    if (!image.data || rwf_msg_decode(update, &msg) != RWF_OK ||
        msg.msg_class != RWF_CLASS_UPDATE || !ripples(&msg) || !open_list(&msg, &list))
        return false;
    conflate_table_clear(&c->now);
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (conflate_field_is_doubtful(c, field.id, field.content) ||
            !conflate_table_put(&c->now, field.id, rwf_bytes(NULL, 0)))
            return false;
    }
    unsigned count = c->now.count;
    for (unsigned i = 0; i < count && c->config.ripples_to; i++) {
        if (!add_chain(c, c->now.list[i].id))
            return false;
    }
    msg.flags |= RWF_UPDATE_DO_NOT_RIPPLE;
    return rc == 0 && write_update(c, &msg, image, count, out);
}
