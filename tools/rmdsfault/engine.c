/* engine.c - see engine.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "inside.h"

/* Updates go out in bursts of this distance, at rates that ask for more. */
#define BURST_NS 2000000ull

static int make_tables(struct fault_engine *engine)
{
    engine->streams = calloc(FAULT_STREAMS_MAX, sizeof(*engine->streams));
    engine->open = calloc(FAULT_STREAMS_MAX, sizeof(struct stream *));
    if (!engine->streams || !engine->open ||
        md_table_create(FAULT_STREAMS_MAX, &engine->table) != MD_OK)
        return MD_ERR_NOMEM;
    for (size_t i = 0; i < FAULT_STREAMS_MAX; i++)
        engine->open[i] = &engine->streams[i];
    return MD_OK;
}

int fault_engine_create(const struct fault_engine_config *config, uint64_t now_ns,
                        struct fault_engine **out)
{
    *out = NULL;
    if (config->service_count > FAULT_SERVICES_MAX)
        return MD_ERR_RANGE;
    struct fault_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return MD_ERR_NOMEM;
    engine->act = config->act;
    engine->owner = config->owner;
    engine->is_live = config->is_live;
    engine->parts = 1;
    engine->ticked_ns = now_ns;
    if (config->script)
        engine->script = *config->script;
    for (size_t i = 0; i < config->service_count; i++) {
        struct fault_service_state *service = &engine->services[engine->service_count++];
        (void)snprintf(service->name, sizeof(service->name), "%.63s", config->services[i]);
        service->id = (uint16_t)engine->service_count;
        service->is_there = service->is_up = true;
    }
    int rc = make_tables(engine);
    if (rc != MD_OK) {
        fault_engine_destroy(engine);
        return rc;
    }
    *out = engine;
    return MD_OK;
}

void fault_engine_destroy(struct fault_engine *engine)
{
    if (!engine)
        return;
    md_table_destroy(engine->table);
    free(engine->open);
    free(engine->streams);
    free(engine);
}

/* What the event is to an expectation. */
static enum fault_seen kind_of(const struct fault_engine *engine, const struct fault_event *event)
{
    if (event->kind == FAULT_SEEN_REQUEST &&
        fault_stream_find(engine, event->client, event->stream_id))
        return FAULT_SEEN_REISSUE;
    return event->kind;
}

static void close_stream(struct fault_engine *engine, const struct fault_event *event)
{
    struct stream *stream = fault_stream_find(engine, event->client, event->stream_id);

    if (stream)
        fault_stream_remove(engine, stream);
    for (unsigned type = 1; type <= 2; type++) {
        int32_t *open = &engine->clients[event->client].dictionary_stream[type];
        if (*open == event->stream_id)
            *open = 0;
    }
}

static void answer(struct fault_engine *engine, uint64_t now_ns, const struct fault_event *event)
{
    switch (event->kind) {
    case FAULT_SEEN_CONNECT:
        engine->clients[event->client].is_there = true;
        break;
    case FAULT_SEEN_DISCONNECT:
        fault_forget(engine, event->client);
        break;
    case FAULT_SEEN_LOGIN:
        fault_answer_login(engine, now_ns, event);
        break;
    case FAULT_SEEN_LOGOUT:
        engine->clients[event->client].is_logged_in = false;
        break;
    case FAULT_SEEN_DIRECTORY:
        fault_answer_directory(engine, now_ns, event);
        break;
    case FAULT_SEEN_DICTIONARY:
        fault_answer_dictionary(engine, now_ns, event);
        break;
    case FAULT_SEEN_REQUEST:
        fault_stream_request(engine, now_ns, event);
        break;
    case FAULT_SEEN_CLOSE:
        close_stream(engine, event);
        break;
    default:
        break;
    }
}

/* A close names its item only by its stream. */
static const char *name_of(const struct fault_engine *engine, const struct fault_event *event)
{
    const struct stream *stream = NULL;

    if (!event->name && (event->kind == FAULT_SEEN_CLOSE || event->kind == FAULT_SEEN_POST))
        stream = fault_stream_find(engine, event->client, event->stream_id);
    return stream ? stream->name : event->name;
}

void fault_engine_event(struct fault_engine *engine, uint64_t now_ns,
                        const struct fault_event *event)
{
    struct fault_event named = *event;

    if (event->client >= FAULT_CLIENTS_MAX ||
        (event->kind != FAULT_SEEN_CONNECT && event->kind != FAULT_SEEN_EXIT &&
         !engine->clients[event->client].is_there))
        return;
    named.name = name_of(engine, event);
    struct seen *seen = fault_seen_add(engine, &named, kind_of(engine, event));
    answer(engine, now_ns, event);
    fault_play_event(engine, seen);
    fault_play(engine, now_ns);
}

void fault_engine_tick(struct fault_engine *engine, uint64_t now_ns)
{
    fault_late_run(engine, now_ns);
    fault_tokens_run(engine, now_ns);
    fault_images_run(engine, now_ns);
    fault_updates_run(engine, now_ns);
    fault_play(engine, now_ns);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t fault_engine_deadline(const struct fault_engine *engine)
{
    const struct play *play = &engine->play;
    uint64_t due = FAULT_NEVER;

    if (play->is_waiting && !play->is_over)
        due = play->until_ns;
    else if (!play->is_over && (!engine->is_live || play->next < engine->script.count))
        return 0; /* a statement is to be carried out */
    due = least(due, fault_tokens_deadline(engine));
    for (size_t i = 0; i < engine->late_count; i++)
        due = least(due, engine->late[i].due_ns);
    for (size_t i = 0; i < engine->open_count && engine->due_count > 0; i++)
        due = least(due, engine->open[i]->due_ns);
    if (engine->rate > 0 && engine->open_count > 0) {
        uint64_t burst = engine->ticked_ns + BURST_NS;
        due = least(due, engine->update_ns > burst ? engine->update_ns : burst);
    }
    return due;
}

int fault_engine_push(struct fault_engine *engine, uint64_t now_ns, const struct fault_step *step)
{
    struct play *play = &engine->play;

    if (play->next == engine->script.count) /* all done: the places are free again */
        play->next = engine->script.count = 0;
    if (engine->script.count == FAULT_STEPS_MAX)
        return MD_ERR_FULL;
    engine->script.steps[engine->script.count++] = *step;
    fault_play(engine, now_ns);
    return MD_OK;
}

const struct fault_service_state *fault_engine_services(const struct fault_engine *engine,
                                                        size_t *count)
{
    *count = engine->service_count;
    return engine->services;
}

const struct fault_engine_stats *fault_engine_stats(const struct fault_engine *engine)
{
    return &engine->stats;
}

size_t fault_engine_streams(const struct fault_engine *engine)
{
    return engine->open_count;
}
