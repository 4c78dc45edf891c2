/* clients.c - connections: login, directory, dictionary, and what waits to be answered. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "inside.h"
#include "rmds/rwf_types.h"

/* ---- the end of a client ---- */

void fault_forget(struct fault_engine *engine, unsigned client)
{
    for (size_t i = engine->open_count; i-- > 0;) {
        if (engine->open[i]->key.client == client)
            fault_stream_remove(engine, engine->open[i]);
    }
    for (size_t i = engine->late_count; i-- > 0;) {
        if (engine->late[i].action.client == client)
            engine->late[i] = engine->late[--engine->late_count];
    }
    engine->clients[client] = (struct client){ .is_there = false };
}

void fault_drop(struct fault_engine *engine, unsigned client)
{
    const struct fault_action action = { .kind = FAULT_ACT_DROP, .client = client };

    if (!engine->clients[client].is_there)
        return;
    (void)engine->act(engine->owner, &action);
    fault_forget(engine, client);
}

/* A message that must not be missing: a client without room for it is disconnected. */
void fault_must(struct fault_engine *engine, const struct fault_action *action)
{
    if (engine->act(engine->owner, action))
        return;
    engine->stats.dropped++;
    fault_drop(engine, action->client);
}

/* ---- answers that may be delayed ---- */

/* At once where there is no room to wait. */
static void answer(struct fault_engine *engine, uint64_t now_ns, enum fault_delayed what,
                   const struct fault_action *action)
{
    if (engine->delay_ns[what] == 0) {
        fault_must(engine, action);
        return;
    }
    if (engine->late_count == FAULT_LATE_MAX) {
        engine->stats.refused++;
        fault_must(engine, action);
        return;
    }
    engine->late[engine->late_count++] =
        (struct late){ .due_ns = now_ns + engine->delay_ns[what], .action = *action };
}

void fault_late_run(struct fault_engine *engine, uint64_t now_ns)
{
    for (size_t i = 0; i < engine->late_count;) {
        if (engine->late[i].due_ns > now_ns) {
            i++;
            continue;
        }
        struct fault_action action = engine->late[i].action;
        memmove(&engine->late[i], &engine->late[i + 1],
                (--engine->late_count - i) * sizeof(engine->late[0]));
        fault_must(engine, &action);
    }
}

void fault_answer_login(struct fault_engine *engine, uint64_t now_ns,
                        const struct fault_event *event)
{
    struct client *client = &engine->clients[event->client];
    struct fault_action action = {
        .kind = FAULT_ACT_LOGIN,
        .client = event->client,
        .stream_id = event->stream_id,
        .domain = RWF_DOMAIN_LOGIN,
        .stream_state =
            engine->login == FAULT_LOGIN_RECOVER ? RWF_STREAM_CLOSED_RECOVER : RWF_STREAM_CLOSED,
        .data_state = RWF_DATA_SUSPECT,
        .code = RWF_CODE_NOT_ENTITLED,
        .text = engine->login_text,
        .renew_ns = engine->token_ns / 2,
    };

    client->is_logged_in = engine->login == FAULT_LOGIN_ACCEPT;
    client->login_stream = event->stream_id;
    client->token_ends_ns =
        client->is_logged_in && engine->token_ns ? now_ns + engine->token_ns : 0;
    if (engine->login == FAULT_LOGIN_IGNORE || (client->is_logged_in && event->no_refresh))
        return;
    if (!client->is_logged_in)
        action.kind = FAULT_ACT_STATUS;
    if (engine->login == FAULT_LOGIN_RECOVER)
        action.code = RWF_CODE_NONE;
    if (!client->is_logged_in && engine->login_text[0] == 0)
        action.text = "refused by the scenario";
    answer(engine, now_ns, FAULT_DELAY_LOGIN, &action);
}

/* ---- tokens ---- */

/* The token was not renewed in time: the login ends, and the connection with it. */
static void end_login(struct fault_engine *engine, unsigned number)
{
    struct client *client = &engine->clients[number];
    const struct fault_action action = {
        .kind = FAULT_ACT_STATUS,
        .client = number,
        .stream_id = client->login_stream,
        .domain = RWF_DOMAIN_LOGIN,
        .stream_state = RWF_STREAM_CLOSED_RECOVER,
        .data_state = RWF_DATA_SUSPECT,
        .code = RWF_CODE_NOT_ENTITLED,
        .text = "the token expired, by the scenario; log in again",
    };

    client->token_ends_ns = 0;
    fault_must(engine, &action);
    fault_drop(engine, number);
}

void fault_tokens_run(struct fault_engine *engine, uint64_t now_ns)
{
    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++) {
        if (engine->clients[i].token_ends_ns != 0 && engine->clients[i].token_ends_ns <= now_ns)
            end_login(engine, i);
    }
}

uint64_t fault_tokens_deadline(const struct fault_engine *engine)
{
    uint64_t due_ns = FAULT_NEVER;

    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++) {
        if (engine->clients[i].token_ends_ns != 0 && engine->clients[i].token_ends_ns < due_ns)
            due_ns = engine->clients[i].token_ends_ns;
    }
    return due_ns;
}

void fault_answer_directory(struct fault_engine *engine, uint64_t now_ns,
                            const struct fault_event *event)
{
    struct client *client = &engine->clients[event->client];
    const struct fault_action action = {
        .kind = FAULT_ACT_DIRECTORY,
        .client = event->client,
        .stream_id = event->stream_id,
        .filter = event->filter,
        .is_streaming = event->is_streaming,
        .is_solicited = true,
    };

    client->has_directory = event->is_streaming;
    client->directory_stream = event->stream_id;
    client->directory_filter = event->filter;
    if (!event->no_refresh)
        answer(engine, now_ns, FAULT_DELAY_DIRECTORY, &action);
}

void fault_answer_dictionary(struct fault_engine *engine, uint64_t now_ns,
                             const struct fault_event *event)
{
    struct client *client = &engine->clients[event->client];
    struct fault_action action = {
        .kind = FAULT_ACT_DICTIONARY,
        .client = event->client,
        .stream_id = event->stream_id,
        .filter = event->filter,
        .dictionary = event->dictionary,
        .domain = RWF_DOMAIN_DICTIONARY,
        .is_streaming = event->is_streaming,
        .stream_state = RWF_STREAM_CLOSED,
        .data_state = RWF_DATA_SUSPECT,
        .code = RWF_CODE_NOT_FOUND,
        .text = "no such dictionary",
    };

    if (event->dictionary == 0 || event->dictionary > 2)
        action.kind = FAULT_ACT_STATUS;
    else if (event->is_streaming)
        client->dictionary_stream[event->dictionary] = event->stream_id;
    answer(engine, now_ns, FAULT_DELAY_DICTIONARY, &action);
}

/* ---- orders of the script ---- */

static void tell_service(struct fault_engine *engine, const struct fault_service_state *service,
                         uint8_t choice, bool is_new)
{
    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++) {
        const struct client *client = &engine->clients[i];
        const struct fault_action action = {
            .kind = FAULT_ACT_SERVICE,
            .client = i,
            .stream_id = client->directory_stream,
            .filter = client->directory_filter,
            .choice = choice,
            .is_new = is_new,
            .service = service,
        };
        if (client->has_directory)
            fault_must(engine, &action);
    }
}

static void change_service(struct fault_engine *engine, struct fault_service_state *service,
                           uint8_t choice)
{
    bool was_there = service->is_there;

    switch (choice) {
    case FAULT_SERVICE_UP:
    case FAULT_SERVICE_BUSY:
    case FAULT_SERVICE_DOWN:
        service->is_there = true;
        service->is_up = choice != FAULT_SERVICE_DOWN;
        service->is_busy = choice == FAULT_SERVICE_BUSY;
        break;
    case FAULT_SERVICE_GONE:
        service->is_there = service->is_up = false;
        break;
    default:
        break;
    }
    if (was_there || service->is_there)
        tell_service(engine, service, choice, !was_there);
}

/* A name that is new is a new service. */
void fault_service_order(struct fault_engine *engine, const struct fault_step *step)
{
    bool is_known = false;

    for (size_t i = 0; i < engine->service_count; i++) {
        if (fault_pattern_matches(step->name, engine->services[i].name)) {
            change_service(engine, &engine->services[i], step->choice);
            is_known = true;
        }
    }
    if (is_known || strchr(step->name, '*'))
        return;
    if (engine->service_count == FAULT_SERVICES_MAX) {
        engine->stats.refused++;
        return;
    }
    struct fault_service_state *service = &engine->services[engine->service_count++];
    (void)snprintf(service->name, sizeof(service->name), "%.63s", step->name);
    service->id = (uint16_t)engine->service_count;
    change_service(engine, service, step->choice);
}

/* A damaged frame to every client; within one of them its connection ends. */
void fault_frame_order(struct fault_engine *engine, const struct fault_step *step)
{
    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++) {
        const struct fault_action action = { .kind = FAULT_ACT_FRAME,
                                             .client = i,
                                             .choice = step->choice };
        if (!engine->clients[i].is_there)
            continue;
        fault_must(engine, &action);
        if (step->choice == FAULT_FRAME_CUT)
            fault_drop(engine, i);
    }
}

/* Streams of dictionaries are closed: the client asks for the new version. */
void fault_dictionary_order(struct fault_engine *engine, const struct fault_step *step)
{
    const struct fault_action version = { .kind = FAULT_ACT_VERSION, .text = step->name };

    (void)engine->act(engine->owner, &version);
    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++) {
        for (unsigned type = 1; type <= 2; type++) {
            const struct fault_action action = {
                .kind = FAULT_ACT_STATUS,
                .client = i,
                .stream_id = engine->clients[i].dictionary_stream[type],
                .domain = RWF_DOMAIN_DICTIONARY,
                .stream_state = RWF_STREAM_CLOSED_RECOVER,
                .data_state = RWF_DATA_SUSPECT,
                .text = "the dictionary has another version",
            };
            if (action.stream_id == 0)
                continue;
            engine->clients[i].dictionary_stream[type] = 0;
            fault_must(engine, &action);
        }
    }
}
