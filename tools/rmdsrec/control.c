/* control.c - see control.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "console.h"
#include "rec.h"

#define WORDS_MAX  100u
#define ANSWER_MAX 300u

struct control {
    struct console *console;
};

static double seconds_of(const struct replay *replay, uint64_t mono_ns)
{
    uint64_t first_ns = replay->player.facts.first_mono_ns;

    return mono_ns > first_ns ? (double)(mono_ns - first_ns) / 1e9 : 0;
}

static const char *state_of(const struct replay *replay)
{
    if (replay->is_paused)
        return "paused";
    if (replay->is_over)
        return "ended";
    return replay->is_playing ? "playing" : "waiting";
}

static void show(const struct replay *replay, char answer[ANSWER_MAX])
{
    const struct stage *stage = replay->stage;
    unsigned clients = 0;
    char speed[32] = "max";

    for (const struct listener *l = stage->listeners; l; l = l->next)
        clients++;
    if (replay->speed > 0)
        (void)snprintf(speed, sizeof(speed), "%g", replay->speed);
    (void)snprintf(answer, ANSWER_MAX,
                   "ok %s at %.6f of %.6f s, speed %s, %" PRIu64 " records in %" PRIu64
                   " rounds, %u clients, %" PRIu64 " items open, %" PRIu64 " messages\n",
                   state_of(replay), seconds_of(replay, replay_position(replay)),
                   seconds_of(replay, replay->player.facts.last_mono_ns), speed, replay->records,
                   replay->rounds, clients, stage->stats.watches, stage->stats.messages);
}

static void seek(struct replay *replay, const char *word, char answer[ANSWER_MAX])
{
    const struct rec_facts *facts = &replay->player.facts;
    double length = seconds_of(replay, facts->last_mono_ns), to = 0;

    if (!rec_parse_real(word, 0, length, &to)) {
        (void)snprintf(answer, ANSWER_MAX, "error seek: a number of seconds, 0 to %.6f\n", length);
        return;
    }
    if (replay_seek(replay, facts->first_mono_ns + (uint64_t)(to * 1e9)) != MD_OK)
        (void)snprintf(answer, ANSWER_MAX, "error seek: out of memory\n");
}

static void set_speed(struct replay *replay, const char *word, char answer[ANSWER_MAX])
{
    double speed = 0;

    if (strcmp(word, "max") != 0 && !rec_parse_real(word, 0.001, 1e6, &speed)) {
        (void)snprintf(answer, ANSWER_MAX, "error speed: a factor, 0.001 to 1000000, or max\n");
        return;
    }
    replay_set_speed(replay, speed);
}

static void obey(struct replay *replay, char *line, char answer[ANSWER_MAX])
{
    char *rest = strchr(line, ' ');

    if (rest)
        *rest++ = 0;
    (void)snprintf(answer, ANSWER_MAX, "ok\n");
    if (strcmp(line, "pause") == 0 && !rest)
        replay_pause(replay);
    else if (strcmp(line, "go") == 0 && !rest)
        replay_go(replay);
    else if (strcmp(line, "seek") == 0 && rest)
        seek(replay, rest, answer);
    else if (strcmp(line, "speed") == 0 && rest)
        set_speed(replay, rest, answer);
    else if (strcmp(line, "st") == 0 && !rest)
        show(replay, answer);
    else if ((strcmp(line, "q") == 0 || strcmp(line, "quit") == 0) && !rest)
        md_loop_stop(replay->stage->loop);
    else
        (void)snprintf(answer, ANSWER_MAX,
                       "error one of: pause, go, seek SECONDS, speed FACTOR|max, st, q\n");
}

static void on_line(void *owner, unsigned talker, const char *line, size_t length)
{
    struct replay *replay = owner;
    char words[WORDS_MAX], answer[ANSWER_MAX];

    if (length == 0)
        return;
    (void)snprintf(words, sizeof(words), "%.*s", (int)(length < WORDS_MAX ? length : 0), line);
    obey(replay, words, answer);
    stage_flush(replay->stage);
    console_reply(replay->control->console, talker, answer);
}

bool control_start(struct replay *replay)
{
    const struct console_config config = {
        .loop = replay->stage->loop,
        .program = PROGRAM,
        .path = replay->control_path,
        .takes_input = replay->takes_input,
        .owner = replay,
        .on_line = on_line,
    };

    replay->control = calloc(1, sizeof(*replay->control));
    return replay->control && console_open(&config, &replay->control->console) == MD_OK;
}

void control_stop(struct replay *replay)
{
    if (replay->control)
        console_close(replay->control->console);
    free(replay->control);
    replay->control = NULL;
}

int tell_run(const struct words *words)
{
    int rc = console_ask(PROGRAM, words->file, words->tells);

    return rc < 0 ? REC_FILE : rc == 0 ? REC_OK : REC_OPTIONS;
}
