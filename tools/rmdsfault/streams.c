/* streams.c - items: what a request is answered, images in parts, updates and their faults. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "inside.h"
#include "rmds/rwf_types.h"

#define SECOND_NS 1000000000ull

/* ---- the table ---- */

struct stream *fault_stream_find(const struct fault_engine *engine, unsigned client, int32_t id)
{
    struct stream probe = { .key = { .client = client, .id = id } };

    return md_table_get(engine->table, &probe.key, sizeof(probe.key));
}

static void set_due(struct fault_engine *engine, struct stream *stream, uint64_t due_ns)
{
    if (stream->due_ns != FAULT_NEVER)
        engine->due_count--;
    stream->due_ns = due_ns;
    if (due_ns != FAULT_NEVER)
        engine->due_count++;
}

static struct stream *add(struct fault_engine *engine, const struct fault_event *event)
{
    if (engine->open_count == FAULT_STREAMS_MAX)
        return NULL;
    struct stream *stream = engine->open[engine->open_count];
    *stream = (struct stream){
        .key = { .client = event->client, .id = event->stream_id },
        .at = engine->open_count,
        .due_ns = FAULT_NEVER,
        .service_id = event->service_id,
        .domain = event->domain,
        .is_streaming = event->is_streaming,
        .is_private = event->is_private,
        .wants_info = event->wants_info,
    };
    (void)snprintf(stream->name, sizeof(stream->name), "%s", event->name);
    if (md_table_put(engine->table, &stream->key, sizeof(stream->key), stream) != MD_OK)
        return NULL;
    engine->open_count++;
    return stream;
}

void fault_stream_remove(struct fault_engine *engine, struct stream *stream)
{
    struct stream *last = engine->open[--engine->open_count];

    set_due(engine, stream, FAULT_NEVER);
    (void)md_table_remove(engine->table, &stream->key, sizeof(stream->key));
    engine->open[stream->at] = last;
    last->at = stream->at;
    engine->open[engine->open_count] = stream;
}

/* ---- states ---- */

/* The states by which an answer closes a stream; false: it does not. */
static bool closes(enum fault_answer answer, struct fault_action *action)
{
    action->stream_state = RWF_STREAM_CLOSED;
    action->data_state = RWF_DATA_SUSPECT;
    switch (answer) {
    case FAULT_CLOSED:
        action->text = "closed by the scenario";
        return true;
    case FAULT_RECOVER:
        action->stream_state = RWF_STREAM_CLOSED_RECOVER;
        action->text = "closed for now by the scenario";
        return true;
    case FAULT_NOT_FOUND:
        action->code = RWF_CODE_NOT_FOUND;
        action->text = "not found, by the scenario";
        return true;
    case FAULT_NOT_ENTITLED:
        action->code = RWF_CODE_NOT_ENTITLED;
        action->text = "not entitled, by the scenario";
        return true;
    case FAULT_REDIRECT:
        action->stream_state = RWF_STREAM_REDIRECTED;
        action->data_state = RWF_DATA_OK;
        action->text = "redirected by the scenario";
        return true;
    default:
        return false;
    }
}

static struct fault_action about(const struct stream *stream, enum fault_act kind)
{
    return (struct fault_action){
        .kind = kind,
        .client = stream->key.client,
        .stream_id = stream->key.id,
        .domain = stream->domain,
        .service_id = stream->service_id,
        .is_private = stream->is_private,
        .is_streaming = stream->is_streaming,
        .count = stream->count,
        .name = stream->name,
    };
}

/* ---- images ---- */

/* The parts that are due; false: the stream is gone. */
static bool run_image(struct fault_engine *engine, uint64_t now_ns, struct stream *stream)
{
    while (stream->due_ns <= now_ns) {
        struct fault_action action = about(stream, FAULT_ACT_IMAGE);
        unsigned client = stream->key.client;
        action.part = stream->part++;
        action.parts = stream->parts;
        action.is_solicited = stream->is_solicited;
        action.data_state = RWF_DATA_OK;
        bool is_last = stream->part == stream->parts;
        bool is_half = stream->is_half;
        set_due(engine, stream, is_last ? FAULT_NEVER : stream->due_ns + engine->gap_ns);
        stream->has_image = is_last;
        if (is_last && !stream->is_streaming)
            fault_stream_remove(engine, stream);
        fault_must(engine, &action); /* it may end the client */
        if (is_half)
            fault_drop(engine, client);
        if (is_half || !engine->clients[client].is_there)
            return false;
        if (is_last)
            return stream->is_streaming;
    }
    return true;
}

static void start_image(struct fault_engine *engine, uint64_t now_ns, struct stream *stream,
                        bool is_solicited, bool is_half)
{
    stream->part = 0;
    stream->parts = is_half && engine->parts < 2 ? 2 : engine->parts;
    stream->is_half = is_half;
    stream->is_solicited = is_solicited;
    stream->has_image = false;
    set_due(engine, stream, now_ns + (is_solicited ? engine->delay_ns[FAULT_DELAY_IMAGE] : 0));
    (void)run_image(engine, now_ns, stream);
}

void fault_images_run(struct fault_engine *engine, uint64_t now_ns)
{
    /* From the end: a stream or a client that ends takes nothing away that is still to come. */
    for (size_t i = engine->open_count; i-- > 0 && engine->due_count > 0;) {
        if (i < engine->open_count)
            (void)run_image(engine, now_ns, engine->open[i]);
    }
}

/* ---- requests ---- */

static const struct rule *rule_of(const struct fault_engine *engine, const char *name)
{
    for (size_t i = engine->rule_count; i-- > 0;) {
        if (fault_pattern_matches(engine->rules[i].pattern, name))
            return &engine->rules[i];
    }
    return NULL;
}

/* Why no item of this service can be had; NULL: it can. */
static const char *service_trouble(const struct fault_engine *engine, uint16_t id)
{
    for (size_t i = 0; i < engine->service_count; i++) {
        const struct fault_service_state *service = &engine->services[i];
        if (service->id != id || !service->is_there)
            continue;
        if (service->is_busy)
            return "the service accepts no requests";
        return service->is_up ? NULL : "the service is down";
    }
    return "there is no such service";
}

static void refuse(struct fault_engine *engine, const struct fault_event *event, uint8_t code,
                   const char *text)
{
    const struct fault_action action = {
        .kind = FAULT_ACT_STATUS,
        .client = event->client,
        .stream_id = event->stream_id,
        .domain = event->domain,
        .service_id = event->service_id,
        .is_private = event->is_private,
        .stream_state = RWF_STREAM_CLOSED_RECOVER,
        .data_state = RWF_DATA_SUSPECT,
        .code = code,
        .text = text,
    };

    fault_must(engine, &action);
}

static void answer(struct fault_engine *engine, uint64_t now_ns, const struct fault_event *event,
                   const struct rule *rule)
{
    struct stream *stream = add(engine, event);

    if (!stream) {
        engine->stats.refused++;
        refuse(engine, event, RWF_CODE_NO_RESOURCES, "too many items");
        return;
    }
    struct fault_action action = about(stream, FAULT_ACT_STATUS);
    enum fault_answer answer = rule ? (enum fault_answer)rule->answer : FAULT_IMAGE;
    if (closes(answer, &action)) {
        action.to = rule->to;
        fault_must(engine, &action);
        if ((stream = fault_stream_find(engine, event->client, event->stream_id)) != NULL)
            fault_stream_remove(engine, stream);
        return;
    }
    if (answer == FAULT_IGNORE || event->no_refresh)
        return;
    start_image(engine, now_ns, stream, true, answer == FAULT_HALF);
    stream = fault_stream_find(engine, event->client, event->stream_id);
    if (answer == FAULT_STALE && stream) {
        action.stream_state = RWF_STREAM_OPEN;
        action.text = "stale by the scenario";
        fault_must(engine, &action);
    }
}

void fault_stream_request(struct fault_engine *engine, uint64_t now_ns,
                          const struct fault_event *event)
{
    struct stream *stream = fault_stream_find(engine, event->client, event->stream_id);

    if (stream) { /* a reissue */
        stream->is_streaming = event->is_streaming;
        if (!event->no_refresh)
            start_image(engine, now_ns, stream, true, false);
        return;
    }
    if (!engine->clients[event->client].is_logged_in) {
        refuse(engine, event, RWF_CODE_USAGE_ERROR, "not logged in");
        return;
    }
    const char *trouble = service_trouble(engine, event->service_id);
    if (trouble)
        refuse(engine, event, RWF_CODE_NONE, trouble);
    else
        answer(engine, now_ns, event, rule_of(engine, event->name));
}

/* ---- orders of the script ---- */

void fault_item_order(struct fault_engine *engine, const struct fault_step *step)
{
    if (strcmp(step->name, "*") == 0)
        engine->rule_count = 0;
    if (engine->rule_count == FAULT_RULES_MAX) {
        engine->stats.refused++;
        return;
    }
    struct rule *rule = &engine->rules[engine->rule_count++];
    memcpy(rule->pattern, step->name, sizeof(rule->pattern));
    memcpy(rule->to, step->text, sizeof(rule->to));
    rule->answer = step->choice;
}

static bool send_update(struct fault_engine *engine, struct stream *stream);

static void send_to(struct fault_engine *engine, uint64_t now_ns, struct stream *stream,
                    const struct fault_step *step)
{
    struct fault_action action = about(stream, FAULT_ACT_STATUS);

    action.to = step->text;
    if (closes((enum fault_answer)step->choice, &action)) {
        unsigned client = stream->key.client;
        int32_t id = stream->key.id;
        fault_must(engine, &action);
        if ((stream = fault_stream_find(engine, client, id)) != NULL)
            fault_stream_remove(engine, stream);
        return;
    }
    action.stream_state = RWF_STREAM_OPEN;
    switch (step->choice) {
    case FAULT_IMAGE:
        start_image(engine, now_ns, stream, !stream->has_image, false);
        break;
    case FAULT_UPDATE:
        (void)send_update(engine, stream);
        break;
    case FAULT_BROKEN:
        action.kind = FAULT_ACT_BROKEN;
        action.choice = step->kind;
        fault_must(engine, &action);
        break;
    default: /* stale, ok */
        if (step->choice == FAULT_OK)
            action.data_state = RWF_DATA_OK;
        action.text =
            step->choice == FAULT_OK ? "good again, by the scenario" : "stale by the scenario";
        fault_must(engine, &action);
        break;
    }
}

void fault_send_order(struct fault_engine *engine, uint64_t now_ns, const struct fault_step *step)
{
    for (size_t i = engine->open_count; i-- > 0;) {
        if (i < engine->open_count && fault_pattern_matches(step->name, engine->open[i]->name))
            send_to(engine, now_ns, engine->open[i], step);
    }
}

/* ---- updates ---- */

/* One in `n` of a stream's updates, the n-th first; 0: none. */
static bool is_one_in(uint32_t n, uint32_t count)
{
    return n > 0 && count % n == 0;
}

/* A stream is told when its updates begin to be merged, and when no more. False: it is gone. */
static bool tell_merging(struct fault_engine *engine, struct stream *stream, bool is_merged)
{
    struct fault_action action = about(stream, FAULT_ACT_STATUS);

    if (stream->is_merged == is_merged)
        return true;
    stream->is_merged = is_merged;
    action.stream_state = RWF_STREAM_OPEN;
    action.data_state = RWF_DATA_OK;
    action.code = is_merged ? RWF_CODE_JIT_CONFLATION_STARTED : RWF_CODE_REALTIME_RESUMED;
    action.text =
        is_merged ? "updates are merged, by the scenario" : "every update again, by the scenario";
    fault_must(engine, &action);
    return engine->clients[action.client].is_there;
}

/* One that stands for several; all of them are in turn. */
static bool send_merged(struct fault_engine *engine, struct stream *stream)
{
    struct fault_action action = about(stream, FAULT_ACT_UPDATE);
    uint64_t took_ms = engine->rate ? 1000ull * engine->open_count / engine->rate : 0;

    action.count = stream->count + engine->merge;
    if (stream->wants_info) {
        action.merged = (uint16_t)engine->merge;
        action.merged_ms = took_ms < UINT16_MAX ? (uint16_t)took_ms : UINT16_MAX;
    }
    if (!engine->act(engine->owner, &action)) {
        engine->stats.full++;
        return false;
    }
    stream->count = action.count;
    engine->stats.updates++;
    engine->stats.merged += engine->merge - 1;
    return true;
}

/* False: the client's output is full, and nothing has changed. */
static bool send_update(struct fault_engine *engine, struct stream *stream)
{
    struct fault_action action = about(stream, FAULT_ACT_UPDATE);
    uint32_t count = stream->count + 1;
    bool is_swapped = is_one_in(engine->swap, count);

    if (!tell_merging(engine, stream, engine->merge > 1))
        return true;
    if (engine->merge > 1)
        return send_merged(engine, stream);

    if (is_one_in(engine->lose, count)) {
        stream->count = count;
        engine->stats.lost++;
        return true;
    }
    action.count = count + is_swapped;
    if (!engine->act(engine->owner, &action)) {
        engine->stats.full++;
        return false;
    }
    stream->count = count + is_swapped;
    engine->stats.updates += 1u + is_swapped;
    action.count = count;
    if (is_swapped) {
        engine->stats.swapped++;
        fault_must(engine, &action);
    } else if (is_one_in(engine->twice, count)) {
        engine->stats.doubled++;
        fault_must(engine, &action);
    }
    return true;
}

void fault_updates_run(struct fault_engine *engine, uint64_t now_ns)
{
    unsigned done = 0;

    engine->ticked_ns = now_ns;
    if (engine->rate == 0)
        return;
    if (now_ns > engine->update_ns + SECOND_NS)
        engine->update_ns = now_ns; /* too late to be made up for */
    for (; engine->update_ns <= now_ns && done < FAULT_BURST_MAX; done++) {
        size_t tries = engine->open_count;
        struct stream *stream = NULL;
        while (tries-- > 0 && !stream) {
            engine->cursor = (engine->cursor + 1) % engine->open_count;
            stream = engine->open[engine->cursor];
            if (!stream->has_image || !stream->is_streaming)
                stream = NULL;
        }
        if (stream && !send_update(engine, stream))
            break;
        engine->update_ns += SECOND_NS / engine->rate;
        if (!stream)
            engine->update_ns = now_ns + SECOND_NS / engine->rate; /* nobody to send to */
    }
}
