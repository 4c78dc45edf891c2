/* hour.c - /history.json: the hour behind a daemon, a sample each five seconds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/status.h"

#include <math.h>

#include "status/sampler.h"

static const char *const columns[STATS_HISTORY_VALUES] = {
    [STATS_HISTORY_IN] = "in",
    [STATS_HISTORY_OUT] = "out",
    [STATS_HISTORY_TURN_P50_US] = "turnP50Us",
    [STATS_HISTORY_TURN_P99_US] = "turnP99Us",
    [STATS_HISTORY_TURN_MAX_US] = "turnMaxUs",
    [STATS_HISTORY_TRIP_US] = "tripP99Us",
    [STATS_HISTORY_QUEUE] = "queue",
    [STATS_HISTORY_POOL] = "pool",
    [STATS_HISTORY_LOSS] = "loss1",
    [STATS_HISTORY_LOSS_2] = "loss2",
    [STATS_HISTORY_LOSS_3] = "loss3",
    [STATS_HISTORY_LOSS_4] = "loss4",
    [STATS_HISTORY_CPU] = "cpu",
    [STATS_HISTORY_MEMORY] = "memory",
    [STATS_HISTORY_CLIENTS] = "clients",
    [STATS_HISTORY_ITEMS] = "items",
};

void status_write_history(const struct stats_reader *reader, const struct status_facts *facts,
                          struct http_answer *answer)
{
    answer->type = "application/json";
    http_answer_add(answer,
                    "{\"pid\":%ld,\"everySeconds\":%u,\"time_ns\":%llu,\"columns\":[\"time\"",
                    (long)stats_reader_pid(reader), STATS_HISTORY_EVERY_MS / 1000,
                    (unsigned long long)facts->wall_ns);
    for (size_t i = 0; i < STATS_HISTORY_VALUES; i++)
        http_answer_add(answer, ",\"%s\"", columns[i]);
    http_answer_add(answer, "],\"samples\":[");
    for (unsigned i = 0; i < facts->sample_count; i++) {
        const struct stats_sample *sample = &facts->samples[i];
        http_answer_add(answer, "%s[%.3f", i ? ",\n" : "\n", (double)sample->wall_ns / 1e9);
        for (size_t j = 0; j < STATS_HISTORY_VALUES; j++) {
            if (isfinite(sample->values[j]))
                http_answer_add(answer, ",%.6g", (double)sample->values[j]);
            else
                http_answer_add(answer, ",null");
        }
        http_answer_add(answer, "]");
    }
    http_answer_add(answer, "]}\n");
}
