/* batch.c - see rmds/backbone_batch.h: events of items in columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/backbone_batch.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "internal.h"
#include "rmds/rwf.h"

enum { ROWS_MIN = 16384, RAW_MIN = 1 << 20, ITEMS_AT_FIRST = 1024 };

struct batch_item {
    struct rmds_batch *batch;
    struct rmds_item *item;  /* NULL: it has ended */
    struct batch_item *next; /* of those that are owed a state */
    uint32_t number;
    uint16_t owed_flags; /* 0: it is closed, and nothing is owed any more */
    uint8_t owed_code;
    uint8_t data_state; /* the last one, told or owed */
    bool is_owed;       /* in the list */
    bool is_cut;        /* rows are missing: not to be trusted until the next image begins */
};

struct rmds_batch {
    struct rmds_backbone *backbone;
    struct rmds_batch_options options;
    struct batch_item **items; /* by number */
    uint32_t item_count, item_room;
    struct batch_item *owed_first, *owed_last; /* states that found no room */
    uint32_t count, raw_size, messages;
    uint64_t cut;
    bool is_full; /* something found no room: nothing may overtake it */
    uint32_t *item;
    int16_t *fid;
    uint16_t *flags;
    int8_t *exponent;
    double *value;
    uint64_t *time_ns;
    uint32_t *raw_begin, *raw_length;
    uint8_t *raw;
};

/* ---- rows ---- */

/* False: no room, and none for what follows in this batch. */
static bool put(struct rmds_batch *batch, uint32_t number, int16_t fid, uint16_t flags,
                struct rwf_bytes raw)
{
    uint32_t row = batch->count;

    if (batch->is_full || row == batch->options.rows ||
        raw.length > batch->options.raw_bytes - batch->raw_size) {
        batch->is_full = true;
        return false;
    }
    batch->count++;
    batch->item[row] = number;
    batch->fid[row] = fid;
    batch->flags[row] = flags;
    batch->exponent[row] = 0;
    batch->value[row] = 0;
    batch->time_ns[row] = batch->backbone->now_ns;
    batch->raw_begin[row] = batch->raw_size;
    batch->raw_length[row] = (uint32_t)raw.length;
    if (raw.length > 0)
        memcpy(batch->raw + batch->raw_size, raw.data, raw.length);
    batch->raw_size += (uint32_t)raw.length;
    return true;
}

static double seconds_of(const struct rwf_time *time)
{
    double seconds = time->hour * 3600.0;

    if (time->minute != RWF_MINUTE_BLANK)
        seconds += time->minute * 60.0;
    if (time->second != RWF_SECOND_BLANK)
        seconds += time->second;
    if (time->milli != RWF_MILLI_BLANK)
        seconds += time->milli / 1e3;
    if (time->micro != RWF_MICRO_BLANK)
        seconds += time->micro / 1e6;
    if (time->nano != RWF_NANO_BLANK)
        seconds += time->nano / 1e9;
    return seconds;
}

/* False: no number. */
static bool number_of(const struct rwf_value *value, double *out, int8_t *exponent)
{
    switch (value->type) {
    case RWF_TYPE_INT:
        *out = (double)value->i;
        return true;
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        *out = (double)value->u;
        return true;
    case RWF_TYPE_FLOAT:
        *out = (double)value->f;
        return true;
    case RWF_TYPE_DOUBLE:
        *out = value->d;
        return true;
    case RWF_TYPE_REAL:
        *out = rwf_real_to_double(&value->real);
        if (value->real.hint <= RWF_HINT_EXP_7)
            *exponent = (int8_t)(value->real.hint - RWF_HINT_EXP_0);
        return true;
    case RWF_TYPE_DATE:
        *out = value->date.year * 10000.0 + value->date.month * 100.0 + value->date.day;
        return !rwf_date_is_blank(&value->date);
    case RWF_TYPE_TIME:
        *out = seconds_of(&value->time);
        return value->time.hour != RWF_HOUR_BLANK;
    default:
        return false;
    }
}

/* The row that was put last. */
static void set_value(struct rmds_batch *batch, uint8_t type, struct rwf_bytes content)
{
    uint32_t row = batch->count - 1;
    struct rwf_value value;

    if (content.length == 0) {
        batch->flags[row] |= RMDS_ROW_BLANK;
        return;
    }
    if (type == 0 || rwf_value_decode(type, content, &value) != RWF_OK)
        return;
    if (value.is_blank)
        batch->flags[row] |= RMDS_ROW_BLANK;
    else if (number_of(&value, &batch->value[row], &batch->exponent[row]))
        batch->flags[row] |= RMDS_ROW_VALUE;
    else
        batch->value[row] = 0;
}

static uint8_t type_of(const struct rmds_batch *batch, const struct rwf_field *field)
{
    const struct rwf_field_def *def;

    if (field->type != 0 || !batch->options.dictionary)
        return field->type;
    def = rwf_dictionary_field(batch->options.dictionary, field->id);
    return def ? def->rwf_type : 0;
}

/* ---- states ---- */

/* The state comes first in the next batch, without its text; a later one takes its place. */
static void owe(struct batch_item *item, uint8_t code, uint16_t flags)
{
    struct rmds_batch *batch = item->batch;

    item->owed_code = code;
    item->owed_flags = flags | RMDS_ROW_FIRST | RMDS_ROW_STATE | RMDS_ROW_CUT;
    if (item->is_owed)
        return;
    item->is_owed = true;
    item->next = NULL;
    if (batch->owed_last)
        batch->owed_last->next = item;
    else
        batch->owed_first = item;
    batch->owed_last = item;
}

static void put_owed(struct rmds_batch *batch)
{
    struct batch_item *item;

    while (batch->count < batch->options.rows && (item = batch->owed_first) != NULL) {
        batch->owed_first = item->next;
        if (!item->next)
            batch->owed_last = NULL;
        item->is_owed = false;
        if (item->owed_flags != 0 &&
            put(batch, item->number, item->owed_code, item->owed_flags, rwf_bytes(NULL, 0)))
            batch->value[batch->count - 1] = item->data_state;
    }
}

static void put_state(struct batch_item *item, const struct rwf_state *state, uint16_t flags)
{
    struct rmds_batch *batch = item->batch;

    if (state->data_state != RWF_DATA_NO_CHANGE)
        item->data_state = state->data_state;
    flags |= RMDS_ROW_FIRST | RMDS_ROW_STATE;
    if (put(batch, item->number, state->code, flags, state->text))
        batch->value[batch->count - 1] = state->data_state;
    else
        owe(item, state->code, flags);
}

/* Rows of the message are missing from `begin` on: a suspect state follows, then a new image. */
static void cut(struct batch_item *item, uint32_t begin)
{
    struct rmds_batch *batch = item->batch;

    if (batch->count > begin)
        batch->flags[batch->count - 1] |= RMDS_ROW_CUT;
    batch->cut++;
    item->is_cut = true;
    item->data_state = RWF_DATA_SUSPECT;
    owe(item, RWF_CODE_GAP_DETECTED, 0);
    library_item_again(item->item);
}

/* ---- messages ---- */

/* False: not all of its rows. */
static bool put_fields(struct rmds_batch *batch, uint32_t number, const struct rwf_msg *message,
                       uint16_t flags)
{
    struct rwf_field_list list;
    struct rwf_field field;
    uint16_t first = flags | RMDS_ROW_FIRST;
    bool is_first = true;
    int rc = message->container == RWF_TYPE_FIELD_LIST
                 ? rwf_field_list_decode(message->payload, NULL, &list)
                 : -1;

    batch->messages++;
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (!put(batch, number, field.id, is_first ? first : flags & RMDS_ROW_IMAGE, field.content))
            return false;
        set_value(batch, type_of(batch, &field), field.content);
        is_first = false;
    }
    if (is_first) /* no fields */
        return put(batch, number, 0, first | RMDS_ROW_OTHER, message->payload);
    return rc == 0;
}

/* The state that an image brings has a row when it is news, or not good. */
static bool tells_state(const struct batch_item *item, const struct rmds_item_event *event)
{
    uint8_t data_state = event->state.data_state;
    bool is_news = data_state != item->data_state;

    if (data_state == RWF_DATA_OK)
        return event->is_last && is_news;
    return data_state != RWF_DATA_NO_CHANGE && (event->is_last || is_news);
}

static void put_image(struct batch_item *item, const struct rmds_item_event *event)
{
    struct rmds_batch *batch = item->batch;
    uint32_t begin = batch->count;
    uint16_t flags = RMDS_ROW_IMAGE | (event->is_first ? RMDS_ROW_BEGIN : 0);

    if (event->is_first)
        item->is_cut = false;
    bool is_whole = put_fields(batch, item->number, event->message, flags);
    if (is_whole && tells_state(item, event)) {
        is_whole = put(batch, item->number, event->state.code, RMDS_ROW_IMAGE | RMDS_ROW_STATE,
                       event->state.text);
        if (is_whole) {
            batch->value[batch->count - 1] = event->state.data_state;
            item->data_state = event->state.data_state;
        }
    }
    if (!is_whole)
        cut(item, begin);
    else if (event->is_last)
        batch->flags[batch->count - 1] |= RMDS_ROW_END;
}

static void handle(const struct rmds_item_event *event)
{
    struct batch_item *item = event->user;
    uint32_t begin = item->batch->count;

    switch (event->kind) {
    case RMDS_ITEM_IMAGE:
        put_image(item, event);
        return;
    case RMDS_ITEM_UPDATE:
        if (!put_fields(item->batch, item->number, event->message, 0))
            cut(item, begin);
        return;
    case RMDS_ITEM_CLOSED:
        item->item = NULL;
        put_state(item, &event->state, RMDS_ROW_CLOSED);
        return;
    case RMDS_ITEM_STATE:
        if (!item->is_cut || event->state.data_state != RWF_DATA_OK)
            put_state(item, &event->state, 0); /* else its values are not good before the image */
        return;
    case RMDS_ITEM_GENERIC:
        return;
    }
}

/* ---- turns ---- */

/* A batch is given before it is full: some messages are always to come behind the last poll. */
static bool has_enough(const struct rmds_batch *batch)
{
    return batch->is_full || batch->count >= batch->options.rows / 2 ||
           batch->raw_size >= batch->options.raw_bytes / 2;
}

static void rest(const struct rmds_batch *batch, uint64_t until_ns)
{
    struct pollfd fd = { .fd = rmds_backbone_descriptor(batch->backbone), .events = POLLIN };
    uint64_t deadline_ns = rmds_backbone_deadline(batch->backbone);
    uint64_t now_ns = rmds_now();
    struct timespec wait;

    if (deadline_ns > until_ns)
        deadline_ns = until_ns;
    if (deadline_ns <= now_ns) {
        library_yield(batch->backbone);
        return;
    }
    wait = (struct timespec){ .tv_sec = (time_t)((deadline_ns - now_ns) / MD_NS_PER_S),
                              .tv_nsec = (long)((deadline_ns - now_ns) % MD_NS_PER_S) };
    (void)ppoll(&fd, 1, &wait, NULL);
}

int rmds_batch_turn(struct rmds_batch *batch, uint64_t wait_ns, struct rmds_batch_columns *out)
{
    uint64_t now_ns = rmds_now();
    uint64_t until_ns = wait_ns < RMDS_NEVER - now_ns ? now_ns + wait_ns : RMDS_NEVER;
    size_t size = out->size;

    if (size == 0)
        return MD_ERR_RANGE;
    batch->count = batch->raw_size = batch->messages = 0;
    batch->is_full = false;
    put_owed(batch);
    while (!has_enough(batch)) {
        size_t done = library_turn(batch->backbone, now_ns, 1);

        now_ns = rmds_now();
        if (now_ns >= until_ns || (done == 0 && batch->count > 0))
            break;
        if (done == 0)
            rest(batch, until_ns);
        now_ns = rmds_now();
    }
    const struct rmds_batch_columns columns = { .size = size,
                                                .count = batch->count,
                                                .item = batch->item,
                                                .fid = batch->fid,
                                                .flags = batch->flags,
                                                .exponent = batch->exponent,
                                                .value = batch->value,
                                                .time_ns = batch->time_ns,
                                                .raw_begin = batch->raw_begin,
                                                .raw_length = batch->raw_length,
                                                .raw = batch->raw,
                                                .raw_size = batch->raw_size,
                                                .messages = batch->messages,
                                                .cut = batch->cut };
    memcpy(out, &columns, size < sizeof(columns) ? size : sizeof(columns));
    return (int)batch->count;
}

/* ---- items ---- */

static bool has_room(struct rmds_batch *batch)
{
    struct batch_item **more;
    uint32_t room = batch->item_room ? batch->item_room * 2 : ITEMS_AT_FIRST;

    if (batch->item_count < batch->item_room)
        return true;
    more = realloc(batch->items, room * sizeof(struct batch_item *));
    if (!more)
        return false;
    batch->items = more;
    batch->item_room = room;
    return true;
}

int rmds_batch_open(struct rmds_batch *batch, const char *service, const char *name, uint8_t domain,
                    uint32_t *number)
{
    struct rmds_item_request request;
    struct batch_item *item;

    if (batch->item_count == batch->options.item_limit)
        return MD_ERR_FULL;
    item = has_room(batch) ? calloc(1, sizeof(*item)) : NULL;
    if (!item)
        return MD_ERR_NOMEM;
    *item = (struct batch_item){ .batch = batch,
                                 .number = batch->item_count,
                                 .data_state = RWF_DATA_OK };
    rmds_item_request_init(&request, sizeof(request));
    request.service = service;
    request.name = name;
    request.domain = domain;
    request.handle = handle;
    request.user = item;
    int err = rmds_item_open(batch->backbone, &request, &item->item);
    if (err != MD_OK) {
        free(item);
        return err;
    }
    batch->items[batch->item_count++] = item;
    *number = item->number;
    return MD_OK;
}

int rmds_batch_close_item(struct rmds_batch *batch, uint32_t number)
{
    if (number >= batch->item_count)
        return MD_ERR_RANGE;
    rmds_item_close(batch->items[number]->item);
    batch->items[number]->item = NULL;
    batch->items[number]->owed_flags = 0;
    return MD_OK;
}

/* ---- life ---- */

void rmds_batch_options_init(struct rmds_batch_options *options, size_t size)
{
    const struct rmds_batch_options usual = {
        .size = size, .rows = 262144, .raw_bytes = 16 << 20, .item_limit = 1000000
    };

    memset(options, 0, size);
    memcpy(options, &usual, size < sizeof(usual) ? size : sizeof(usual));
}

static bool make_columns(struct rmds_batch *batch)
{
    size_t rows = batch->options.rows;

    batch->item = calloc(rows, sizeof(*batch->item));
    batch->fid = calloc(rows, sizeof(*batch->fid));
    batch->flags = calloc(rows, sizeof(*batch->flags));
    batch->exponent = calloc(rows, sizeof(*batch->exponent));
    batch->value = calloc(rows, sizeof(*batch->value));
    batch->time_ns = calloc(rows, sizeof(*batch->time_ns));
    batch->raw_begin = calloc(rows, sizeof(*batch->raw_begin));
    batch->raw_length = calloc(rows, sizeof(*batch->raw_length));
    batch->raw = malloc(batch->options.raw_bytes);
    return batch->item && batch->fid && batch->flags && batch->exponent && batch->value &&
           batch->time_ns && batch->raw_begin && batch->raw_length && batch->raw;
}

int rmds_batch_create(struct rmds_backbone *backbone, const struct rmds_batch_options *options,
                      struct rmds_batch **out)
{
    struct rmds_batch *batch = calloc(1, sizeof(*batch));
    struct rmds_batch_options *own;

    *out = NULL;
    if (!batch)
        return MD_ERR_NOMEM;
    own = &batch->options;
    rmds_batch_options_init(own, sizeof(*own));
    memcpy(own, options, options->size < sizeof(*own) ? options->size : sizeof(*own));
    batch->backbone = backbone;
    bool is_good = own->rows >= ROWS_MIN && own->rows <= INT32_MAX && own->raw_bytes >= RAW_MIN &&
                   own->item_limit > 0 && own->item_limit <= 16000000;
    if (!is_good || !make_columns(batch)) {
        rmds_batch_destroy(batch);
        return is_good ? MD_ERR_NOMEM : MD_ERR_RANGE;
    }
    *out = batch;
    return MD_OK;
}

void rmds_batch_destroy(struct rmds_batch *batch)
{
    if (!batch)
        return;
    for (uint32_t i = 0; i < batch->item_count; i++) {
        rmds_item_close(batch->items[i]->item);
        free(batch->items[i]);
    }
    free(batch->items);
    free(batch->item);
    free(batch->fid);
    free(batch->flags);
    free(batch->exponent);
    free(batch->value);
    free(batch->time_ns);
    free(batch->raw_begin);
    free(batch->raw_length);
    free(batch->raw);
    free(batch);
}
