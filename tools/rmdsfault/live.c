/* live.c - see live.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/options.h"
#include "console.h"

#define NOBODY    255u
#define REPLY_MAX 4096u

_Static_assert(CONSOLE_LINE_MAX == FAULT_LINE_MAX, "a statement is a line");

struct live {
    struct provider *provider;
    struct console *console;
    /* The talkers whose statements are under way, in their order. */
    uint8_t senders[FAULT_STEPS_MAX];
    size_t first, count;
};

static void on_gone(void *owner, unsigned talker)
{
    struct live *live = owner;

    for (size_t i = 0; i < live->count; i++) {
        uint8_t *sender = &live->senders[(live->first + i) % FAULT_STEPS_MAX];
        if (*sender == talker)
            *sender = NOBODY;
    }
}

static void show_state(struct live *live, unsigned talker)
{
    const struct provider *provider = live->provider;
    const struct fault_engine_stats *stats = fault_engine_stats(provider->engine);
    char text[300];

    (void)snprintf(text, sizeof(text),
                   "ok %zu clients, %zu items open, %llu updates, %llu lost, %llu doubled, %llu "
                   "swapped, %llu waited, %llu clients dropped, %llu refused\n",
                   provider_clients(provider), fault_engine_streams(provider->engine),
                   (unsigned long long)stats->updates, (unsigned long long)stats->lost,
                   (unsigned long long)stats->doubled, (unsigned long long)stats->swapped,
                   (unsigned long long)stats->full, (unsigned long long)stats->dropped,
                   (unsigned long long)stats->refused);
    console_reply(live->console, talker, text);
}

static void take_statement(struct live *live, unsigned talker, const char *line, size_t length)
{
    struct fault_script_error error;
    struct fault_step step;
    char text[300];

    int rc = fault_step_parse(&step, line, length, &error);
    if (rc == MD_ERR_NOT_FOUND)
        return;
    if (rc != MD_OK) {
        (void)snprintf(text, sizeof(text), "error column %u: %s\n", error.column, error.text);
        console_reply(live->console, talker, text);
        return;
    }
    step.line = 0; /* of no script */
    if (live->count == FAULT_STEPS_MAX) {
        console_reply(live->console, talker, "error too many statements wait\n");
        return;
    }
    live->senders[(live->first + live->count++) % FAULT_STEPS_MAX] = (uint8_t)talker;
    if (provider_push(live->provider, &step) != MD_OK) {
        live->count--;
        console_reply(live->console, talker, "error too many statements wait\n");
    }
}

static void on_line(void *owner, unsigned talker, const char *line, size_t length)
{
    struct live *live = owner;
    char text[REPLY_MAX];

    if ((length == 1 && *line == 'q') || (length == 4 && memcmp(line, "quit", 4) == 0)) {
        console_reply(live->console, talker, "ok\n");
        md_loop_stop(live->provider->loop);
    } else if (length == 2 && memcmp(line, "st", 2) == 0) {
        show_state(live, talker);
    } else if (length == 4 && memcmp(line, "help", 4) == 0 &&
               console_is_input(live->console, talker)) {
        (void)snprintf(text, sizeof(text), "%s  st\n  q\n", fault_script_help());
        console_reply(live->console, talker, text);
    } else {
        take_statement(live, talker, line, length);
    }
}

int live_start(struct provider *provider, const char *path, struct live **out)
{
    struct live *live = calloc(1, sizeof(*live));

    *out = live;
    if (!live)
        return MD_ERR_NOMEM;
    live->provider = provider;
    const struct console_config config = {
        .loop = provider->loop,
        .program = "rmdsfault",
        .path = path,
        .takes_input = true,
        .owner = live,
        .on_line = on_line,
        .on_gone = on_gone,
    };
    return console_open(&config, &live->console);
}

void live_stop(struct live *live)
{
    if (!live)
        return;
    console_close(live->console);
    free(live);
}

void live_step(struct live *live, const struct fault_action *action)
{
    char text[800];

    if (action->line > 0 || live->count == 0)
        return;
    uint8_t sender = live->senders[live->first];
    live->first = (live->first + 1) % FAULT_STEPS_MAX;
    live->count--;
    (void)snprintf(text, sizeof(text), "%s %s\n", action->is_on ? "ok" : "failed", action->text);
    if (sender != NOBODY)
        console_reply(live->console, sender, text);
}

int live_tell(const char *path, const char *line)
{
    int rc = console_ask("rmdsfault", path, line);

    return rc < 0 ? MD_EXIT_FILE : rc == 0 ? MD_EXIT_OK : FAULT_EXIT_WRONG;
}
