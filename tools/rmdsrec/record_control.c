/* record_control.c - see record_control.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "console.h"

#define ANSWER_MAX 500u

static void show(struct recorder *recorder, char answer[ANSWER_MAX])
{
    const struct feed *feed = &recorder->feed;
    struct rec_keeper_stats kept;
    struct disk_stats disk;
    struct recorder_figures figures;

    recorder_figures(recorder, &figures);
    rec_keeper_stats(feed->keeper, &kept);
    disk_stats(recorder->disk, &disk);
    (void)snprintf(answer, ANSWER_MAX,
                   "ok %s, %u of %u items open, %" PRIu64 " messages, %" PRIu64 " files, %" PRIu64
                   " chunks, %" PRIu64 " bytes, buffer %" PRIu64 " of %u MiB at most, lost %" PRIu64
                   " messages, %" PRIu64 " chunks%s%.100s\n",
                   figures.state, figures.open, figures.items, kept.messages, disk.files,
                   disk.chunks, disk.bytes, disk.waiting_max, recorder->disk_config.chunks,
                   kept.lost, disk.failed_chunks, disk.error ? ": " : "",
                   disk.error ? strerror(disk.error) : "");
}

static bool is_word(const char *line, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(line, word, length) == 0;
}

static void on_line(void *owner, unsigned talker, const char *line, size_t length)
{
    struct recorder *recorder = owner;
    char answer[ANSWER_MAX] = "ok\n";

    if (length == 0)
        return;
    if (is_word(line, length, "st"))
        show(recorder, answer);
    else if (is_word(line, length, "rotate"))
        recorder_rotate(recorder);
    else if (is_word(line, length, "q") || is_word(line, length, "quit"))
        recorder_stop(recorder);
    else
        (void)snprintf(answer, sizeof(answer), "error one of: st, rotate, q\n");
    console_reply(recorder->console, talker, answer);
}

int record_control_start(struct recorder *recorder)
{
    const struct console_config config = {
        .loop = recorder->feed.loop,
        .program = PROGRAM,
        .path = recorder->control_path,
        .owner = recorder,
        .on_line = on_line,
    };

    return recorder->control_path ? console_open(&config, &recorder->console) : MD_OK;
}

void record_control_stop(struct recorder *recorder)
{
    console_close(recorder->console);
    recorder->console = NULL;
}
