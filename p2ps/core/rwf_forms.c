/* rwf_forms.c - the forms of fronts that speak RWF: as it came, with the key, a view. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rwf_forms.h"

#include <string.h>

#include "base/err.h"

static bool has_field(const struct p2ps_form *form, int16_t id)
{
    size_t low = 0;
    size_t high = form->field_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (form->fields[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < form->field_count && form->fields[low] == id;
}

/* A refresh of its provider says so itself, or may say nothing; of a rate only p2ps can. */
static void state_qos(const struct p2ps_form *form, const struct p2ps_record *record,
                      struct rwf_splice *splice)
{
    bool has_rate = form->pace != P2PS_PACE_NONE;

    if (!record->qos || (record->peek.flags & RWF_REFRESH_HAS_QOS && !has_rate))
        return;
    splice->ops |= RWF_SPLICE_QOS;
    splice->qos = *record->qos;
    if (has_rate) {
        splice->qos.rate = form->rate.rate;
        splice->qos.rate_info = form->rate.interval_ms;
    }
}

/* The header changes that consumers need: key, service id, group, private flag, the rate that was
 * chosen, and nothing about conflation for who did not ask, nor about permissions for who said so.
 */
static struct rwf_splice splice_of(const struct p2ps_form *form, const struct p2ps_record *record)
{
    struct rwf_splice splice = { 0 };
    bool is_refresh = record->peek.msg_class == RWF_CLASS_REFRESH;
    unsigned has_perm_data = RWF_UPDATE_HAS_PERM_DATA;

    if (is_refresh || form->flags & P2PS_FORM_KEY) {
        splice.ops |= RWF_SPLICE_SET_KEY;
        splice.key = record->key;
    }
    if (record->peek.msg_class == RWF_CLASS_UPDATE && !(form->flags & P2PS_FORM_CONF) &&
        record->peek.flags & RWF_UPDATE_HAS_CONF_INFO)
        splice.ops |= RWF_SPLICE_STRIP_CONF_INFO;
    if (is_refresh)
        has_perm_data = RWF_REFRESH_HAS_PERM_DATA;
    if (form->flags & P2PS_FORM_BARE && record->peek.flags & has_perm_data)
        splice.ops |= RWF_SPLICE_STRIP_PERM_DATA;
    if (is_refresh) {
        splice.ops |= RWF_SPLICE_GROUP_ID | RWF_SPLICE_FLAGS;
        splice.group_id = rwf_bytes(record->group, sizeof(record->group));
        splice.flags_set = record->is_private ? RWF_REFRESH_PRIVATE_STREAM : 0;
        splice.flags_clear = RWF_REFRESH_SOLICITED;
    }
    if (is_refresh && form->states_qos)
        state_qos(form, record, &splice);
    return splice;
}

/* ---- views ---- */

/* A view of a payload. One that is imposed knows the sets that are defined in the payload: its rows
 * come out without them. */
struct view {
    const struct p2ps_form *form;
    struct rwf_sets sets;
    struct rwf_set_db defined;
};

static bool is_imposed(const struct view *view)
{
    return (view->form->flags & P2PS_FORM_IMPOSED) != 0;
}

static bool is_kept(const struct p2ps_form *form, int16_t id)
{
    return has_field(form, id) != ((form->flags & P2PS_FORM_DROP) != 0);
}

/* Set data may be shorter than the same as standard data. */
static void add_field(struct rwf_encoder *enc, const struct rwf_field *field)
{
    struct rwf_value value;

    if (field->type == 0 || field->content.length == 0 ||
        rwf_value_decode(field->type, field->content, &value) != RWF_OK ||
        rwf_field_add(enc, field->id, &value) != RWF_OK)
        rwf_field_add_bytes(enc, field->id, field->content);
}

static int filter_fields(const struct view *view, struct rwf_bytes bytes, struct rwf_encoder *enc,
                         bool *kept)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(bytes, &view->sets, &list);

    *kept = false;
    if (rc < 0 || (list.set_data.length && !(is_imposed(view) && list.set_is_known)))
        return rc < 0 ? rc : RWF_ERR_NOT_FOUND; /* set data: given whole, or not at all */
    struct rwf_field_list_info info = list.info;
    if (list.set_data.length)
        info.flags = (uint8_t)((info.flags & RWF_LIST_HAS_INFO) | RWF_LIST_HAS_STANDARD_DATA);
    rwf_field_list_start(enc, &info);
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        if (is_kept(view->form, field.id)) {
            add_field(enc, &field);
            *kept = true;
        }
    }
    rwf_field_list_finish(enc);
    return rc;
}

/* False: the rows are given whole, or not at all. Rows of fields whose sets are defined in front
 * of them are so, unless the view is imposed; *flags are those of what comes out. */
static bool can_filter(struct view *view, unsigned container, struct rwf_bytes set_defs,
                       uint8_t *flags, uint8_t has_set_defs)
{
    view->sets = (struct rwf_sets){ 0 };
    if (container != RWF_TYPE_FIELD_LIST)
        return is_imposed(view) && container == RWF_TYPE_NO_DATA;
    if (!(*flags & has_set_defs))
        return true;
    if (!is_imposed(view) || rwf_set_db_decode(set_defs, RWF_SET_FIELDS, &view->defined) != RWF_OK)
        return false;
    view->sets.local = &view->defined;
    *flags &= (uint8_t)~has_set_defs;
    return true;
}

static int filter_row(const struct view *view, struct rwf_bytes bytes, struct rwf_encoder *enc)
{
    bool kept;

    return filter_fields(view, bytes, enc, &kept);
}

static int filter_summary(const struct view *view, struct rwf_bytes bytes, struct rwf_encoder *enc)
{
    int rc = bytes.length ? filter_row(view, bytes, enc) : RWF_OK;

    rwf_summary_finish(enc);
    return rc;
}

/* Rows come and go even when no field of them is seen: those without data stay as they are. */
static int filter_map(struct view *view, struct rwf_bytes bytes, struct rwf_encoder *enc)
{
    struct rwf_map map = { 0 };
    struct rwf_map_entry entry;
    int rc = rwf_map_decode(bytes, &map);
    struct rwf_map_info info = map.info;

    if (rc < 0 ||
        !can_filter(view, info.container, info.set_defs, &info.flags, RWF_MAP_HAS_SET_DEFS))
        return rc < 0 ? rc : RWF_ERR_NOT_FOUND;
    info.summary = rwf_bytes(NULL, 0);
    rwf_map_start(enc, &info);
    if (info.flags & RWF_MAP_HAS_SUMMARY)
        rc = filter_summary(view, map.info.summary, enc);
    while (rc >= 0 && (rc = rwf_map_next(&map, &entry)) > 0) {
        if (entry.action == RWF_MAP_DELETE || entry.data.length == 0) {
            rwf_map_add(enc, &entry);
            continue;
        }
        rwf_map_entry_start(enc, &entry);
        rc = filter_row(view, entry.data, enc);
        rwf_map_entry_finish(enc);
    }
    rwf_map_finish(enc);
    return rc;
}

static int filter_vector(struct view *view, struct rwf_bytes bytes, struct rwf_encoder *enc)
{
    struct rwf_vector vector = { 0 };
    struct rwf_vector_entry entry;
    int rc = rwf_vector_decode(bytes, &vector);
    struct rwf_vector_info info = vector.info;

    if (rc < 0 ||
        !can_filter(view, info.container, info.set_defs, &info.flags, RWF_VECTOR_HAS_SET_DEFS))
        return rc < 0 ? rc : RWF_ERR_NOT_FOUND;
    info.summary = rwf_bytes(NULL, 0);
    rwf_vector_start(enc, &info);
    if (info.flags & RWF_VECTOR_HAS_SUMMARY)
        rc = filter_summary(view, vector.info.summary, enc);
    while (rc >= 0 && (rc = rwf_vector_next(&vector, &entry)) > 0) {
        if (entry.action == RWF_VECTOR_CLEAR || entry.action == RWF_VECTOR_DELETE ||
            entry.data.length == 0) {
            rwf_vector_add(enc, &entry);
            continue;
        }
        rwf_vector_entry_start(enc, &entry);
        rc = filter_row(view, entry.data, enc);
        rwf_vector_entry_finish(enc);
    }
    rwf_vector_finish(enc);
    return rc;
}

static int filter_series(struct view *view, struct rwf_bytes bytes, struct rwf_encoder *enc)
{
    struct rwf_series series = { 0 };
    struct rwf_bytes row;
    int rc = rwf_series_decode(bytes, &series);
    struct rwf_series_info info = series.info;

    if (rc < 0 ||
        !can_filter(view, info.container, info.set_defs, &info.flags, RWF_SERIES_HAS_SET_DEFS))
        return rc < 0 ? rc : RWF_ERR_NOT_FOUND;
    info.summary = rwf_bytes(NULL, 0);
    rwf_series_start(enc, &info);
    if (info.flags & RWF_SERIES_HAS_SUMMARY)
        rc = filter_summary(view, series.info.summary, enc);
    while (rc >= 0 && (rc = rwf_series_next(&series, &row)) > 0) {
        if (row.length == 0) {
            rwf_series_add(enc, row);
            continue;
        }
        rwf_series_entry_start(enc);
        rc = filter_row(view, row, enc);
        rwf_series_entry_finish(enc);
    }
    rwf_series_finish(enc);
    return rc;
}

/* RWF_ERR_NOT_FOUND: of this payload no view is made. */
static int filter_rows(struct view *view, unsigned container, struct rwf_bytes bytes,
                       struct rwf_encoder *enc, bool *kept)
{
    switch (container) {
    case RWF_TYPE_FIELD_LIST:
        return filter_fields(view, bytes, enc, kept);
    case RWF_TYPE_MAP:
        return filter_map(view, bytes, enc);
    case RWF_TYPE_VECTOR:
        return filter_vector(view, bytes, enc);
    case RWF_TYPE_SERIES:
        return filter_series(view, bytes, enc);
    default:
        return RWF_ERR_NOT_FOUND;
    }
}

/* The entries of a filter list have a type each. A view that the client asked for is of none. */
static int filter_list(struct view *view, struct rwf_bytes bytes, struct rwf_encoder *enc)
{
    struct rwf_filter_list list;
    struct rwf_filter_entry entry;
    bool kept;
    int rc = rwf_filter_list_decode(bytes, &list);

    if (rc < 0)
        return rc;
    rwf_filter_list_start(enc, &list.info);
    while (rc >= 0 && (rc = rwf_filter_list_next(&list, &entry)) > 0) {
        if (entry.action == RWF_FILTER_CLEAR || entry.data.length == 0) {
            rwf_filter_add(enc, &entry);
            continue;
        }
        view->sets = (struct rwf_sets){ 0 };
        rwf_filter_entry_start(enc, &entry);
        rc = filter_rows(view, entry.container, entry.data, enc, &kept);
        rwf_filter_entry_finish(enc);
    }
    rwf_filter_list_finish(enc);
    return rc;
}

static int filter_payload(const struct p2ps_form *form, unsigned container, struct rwf_bytes bytes,
                          struct rwf_encoder *enc, bool *kept)
{
    struct view view = { .form = form };

    if (is_imposed(&view) && container == RWF_TYPE_FILTER_LIST)
        return filter_list(&view, bytes, enc);
    return filter_rows(&view, container, bytes, enc, kept);
}

/* The record with only the fields of the view; RWF_ERR_NOT_FOUND: give it whole. */
static int make_view(const struct p2ps_form *form, const struct p2ps_record *record, uint8_t *out,
                     size_t size, struct p2ps_made *made)
{
    struct rwf_splice splice = splice_of(form, record);
    struct rwf_encoder enc;
    size_t head;
    size_t payload_at;
    bool kept = true;
    int rc = rwf_splice_head(record->message, &splice, out, size, &head, &payload_at);

    if (rc != RWF_OK)
        return rc;
    struct rwf_bytes payload =
        rwf_bytes(record->message.data + payload_at, record->message.length - payload_at);
    rwf_encoder_init(&enc, out + head, size - head);
    rc = filter_payload(form, record->peek.container, payload, &enc, &kept);
    if (rc < 0 || rwf_encoder_error(&enc) < 0)
        return rc < 0 ? rc : rwf_encoder_error(&enc);
    made->bytes = out;
    made->length = head + rwf_encoder_bytes(&enc).length;
    if (!kept && record->peek.msg_class == RWF_CLASS_UPDATE)
        made->length = 0;
    return RWF_OK;
}

/* ---- the whole record ---- */

static int make_whole(const struct p2ps_form *form, const struct p2ps_record *record, uint8_t *out,
                      size_t size, struct p2ps_made *made)
{
    struct rwf_splice splice = splice_of(form, record);

    made->bytes = record->message.data;
    made->length = record->message.length;
    if (splice.ops == 0)
        return RWF_OK;
    made->bytes = out;
    return rwf_splice(record->message, &splice, out, size, &made->length);
}

static bool has_nothing(const struct p2ps_record *record)
{
    return record->peek.container == RWF_TYPE_NO_DATA && record->peek.payload_length == 0;
}

int p2ps_rwf_make(const struct p2ps_form *form, const struct p2ps_record *record, uint8_t *out,
                  size_t size, struct p2ps_made *made)
{
    struct rwf_layout layout;
    int rc = RWF_ERR_NOT_FOUND;

    *made = (struct p2ps_made){ 0 };
    if (form->flags & P2PS_FORM_VIEW)
        rc = make_view(form, record, out, size, made);
    if (form->flags & P2PS_FORM_IMPOSED && rc != RWF_OK && !has_nothing(record)) {
        made->is_uncut = rc != RWF_ERR_FULL;
        return rc == RWF_ERR_NOT_FOUND ? MD_ERR_UNSUPPORTED : rc;
    }
    if (rc == RWF_ERR_NOT_FOUND)
        rc = make_whole(form, record, out, size, made);
    if (rc != RWF_OK)
        return rc;
    if (record->peek.msg_class == RWF_CLASS_REFRESH && made->length &&
        rwf_layout_decode(rwf_bytes(made->bytes, made->length), &layout) == RWF_OK)
        made->state_at = layout.state.at;
    return RWF_OK;
}

void p2ps_rwf_write(uint8_t *room, const struct p2ps_made *made, int32_t stream_id, bool solicited,
                    bool snapshot)
{
    memcpy(room, made->bytes, made->length);
    rwf_patch_stream_id(room, stream_id);
    if (solicited)
        rwf_patch_flags(room, made->length, RWF_REFRESH_SOLICITED, 0);
    if (snapshot && made->state_at)
        room[made->state_at] = rwf_state_byte(RWF_STREAM_NON_STREAMING, room[made->state_at] & 7);
}
