/* reader.c - one frame of JSON, message after message. See json/read.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "reader.h"

#define NAMES_MAX 10000

int json_reader_create(size_t text_max, struct json_reader **out)
{
    struct json_reader *r = calloc(1, sizeof(*r));

    *out = NULL;
    if (!r)
        return MD_ERR_NOMEM;
    r->message = json_read_message;
    r->parse.room = json_tokens_max(text_max);
    /* A blank value of three bytes is one of two to four; a field, its id and a length. */
    r->out_size = text_max * 2 + 256;
    r->scratch_size = text_max * 2 + 256;
    r->parse.tokens = malloc(r->parse.room * sizeof(r->parse.tokens[0]));
    r->out = malloc(r->out_size);
    r->scratch = malloc(r->scratch_size);
    if (!r->parse.tokens || !r->out || !r->scratch) {
        json_reader_destroy(r);
        return MD_ERR_NOMEM;
    }
    *out = r;
    return MD_OK;
}

void json_reader_destroy(struct json_reader *r)
{
    if (!r)
        return;
    free(r->parse.tokens);
    free(r->out);
    free(r->scratch);
    free(r);
}

static void start_message(struct json_reader *r)
{
    r->line = 0;
    r->offset = SIZE_MAX;
    r->scratch_used = 0;
    r->list = NO_TOKEN;
    r->entry = NO_TOKEN;
    r->depth = 0;
    rwf_encoder_init(&r->enc, r->out, r->out_size);
}

void json_reader_start(struct json_reader *r, const struct json_read_context *context,
                       struct rwf_bytes text)
{
    r->context = *context;
    r->parse.text = text.data;
    r->parse.length = text.length;
    start_message(r);
    r->next = 0;
    r->behind = 0;
    if (!json_parse(&r->parse)) {
        FAIL(r, r->parse.at, "JSON Parser Error: %s at offset %zu", r->parse.what, r->parse.at);
        r->next = NO_TOKEN;
    } else if (json_at(r, 0)->kind == JSON_ARRAY) {
        r->next = 1;
    }
    if (r->next != NO_TOKEN)
        r->behind = json_at(r, 0)->next;
}

/* The ID is known even when what stands around it cannot be used. */
static int64_t id_of(struct json_reader *r, uint32_t object)
{
    uint32_t token =
        json_at(r, object)->kind == JSON_OBJECT ? json_find(r, object, "ID") : NO_TOKEN;
    int64_t id = 0;

    if (token == NO_TOKEN || json_at(r, token)->kind != JSON_PRIMITIVE ||
        !json_to_int(r, token, "ID", INT32_MIN, INT32_MAX, &id)) {
        r->line = 0; /* the reader of the message says what is wrong with it */
        return 0;
    }
    return id;
}

static void tell_error(struct json_reader *r, size_t from, size_t to, struct json_read *read)
{
    read->kind = JSON_READ_BAD;
    read->error = (struct json_error){
        .file = r->file,
        .line = r->line,
        .offset = r->offset >= from && r->offset != SIZE_MAX ? r->offset - from : SIZE_MAX,
        .text = rwf_text(r->error),
        .message = rwf_bytes(r->parse.text + from, to - from),
    };
}

/* The peer could not use a message of ours, and says why. */
static void note_error(struct json_reader *r, uint32_t object, struct json_read *read)
{
    uint32_t text = json_find(r, object, "Text");

    read->error.text = text != NO_TOKEN && json_at(r, text)->kind == JSON_STRING
                           ? json_text(r, text)
                           : rwf_text("an error without a text");
}

static enum json_read_kind kind_without_id(struct json_reader *r, uint32_t object,
                                           struct json_read *read)
{
    uint32_t type = json_find(r, object, "Type");

    if (type == NO_TOKEN || json_at(r, type)->kind != JSON_STRING)
        return JSON_READ_MESSAGE;
    if (json_is(r, type, "Ping"))
        return JSON_READ_PING;
    if (json_is(r, type, "Error"))
        note_error(r, object, read);
    if (json_is(r, type, "Pong") || json_is(r, type, "Error"))
        return JSON_READ_NOTHING;
    return JSON_READ_MESSAGE;
}

static size_t count_list(struct json_reader *r)
{
    size_t count = 0;

    for (uint32_t i = r->list + 1; i < json_at(r, r->list)->next; i = json_at(r, i)->next)
        count++;
    return count;
}

static bool read_one(struct json_reader *r, uint32_t object, struct json_read *read)
{
    const struct json_token *t = json_at(r, object);

    if (t->kind != JSON_OBJECT)
        return FAIL(r, t->at, "JSON Converter Token Type error: Expected 'OBJECT' Received '%s'",
                    t->kind == JSON_ARRAY    ? "ARRAY"
                    : t->kind == JSON_STRING ? "STRING"
                                             : "PRIMITIVE");
    read->kind = kind_without_id(r, object, read);
    if (read->kind != JSON_READ_MESSAGE)
        return true;
    read->id = id_of(r, object);
    if (!json_read_message(r, object, false, read))
        return false;
    read->message = rwf_encoder_bytes(&r->enc);
    if (r->list == NO_TOKEN)
        return true;
    read->kind = read->message.length ? JSON_READ_BATCH : JSON_READ_CLOSES;
    read->count = count_list(r);
    return read->count <= NAMES_MAX
               ? true
               : FAIL(r, json_at(r, r->list)->at, "JSON Unexpected Value. More than %d entries",
                      NAMES_MAX);
}

bool json_reader_next(struct json_reader *r, struct json_read *read)
{
    *read = (struct json_read){ 0 };
    if (r->next == NO_TOKEN && r->line) { /* not JSON at all: once */
        tell_error(r, 0, r->parse.length, read);
        r->line = 0;
        return true;
    }
    if (r->next == NO_TOKEN || r->next >= r->behind)
        return false;
    uint32_t object = r->next;
    start_message(r);
    r->next = json_at(r, object)->next;
    if (!read_one(r, object, read)) {
        const struct json_token *t = json_at(r, object);
        size_t quote = t->kind == JSON_STRING;
        tell_error(r, t->at - quote, t->end + quote, read);
    }
    return true;
}

void json_reader_skip(struct json_reader *r, size_t count)
{
    if (count > 0 && r->next == NO_TOKEN)
        r->line = 0; /* what is wrong with the frame was said */
    while (count-- > 0 && r->next != NO_TOKEN && r->next < r->behind)
        r->next = json_at(r, r->next)->next;
}

/* Entries are asked for one after the other: the next one is behind the last one. */
static uint32_t list_at(struct json_reader *r, size_t index)
{
    if (r->entry == NO_TOKEN || index < r->entry_index) {
        r->entry = r->list + 1;
        r->entry_index = 0;
    }
    for (; r->entry_index < index; r->entry_index++)
        r->entry = json_at(r, r->entry)->next;
    return r->entry;
}

struct rwf_bytes json_reader_name(struct json_reader *r, size_t index)
{
    return json_text(r, list_at(r, index));
}

int64_t json_reader_id(struct json_reader *r, size_t index)
{
    int64_t id = 0;

    json_to_int(r, list_at(r, index), "ID", INT32_MIN, INT32_MAX, &id);
    return id;
}
