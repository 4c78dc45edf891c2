/* health.c - alive, and able to serve: one line each, for whoever restarts daemons or sends it
 * consumers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status/status.h"

#include <string.h>

#include "base/clock.h"
#include "text.h"

#define HTTP_UNAVAILABLE 503

static uint64_t age_ns(const struct stats_reader *reader, const struct status_facts *facts)
{
    uint64_t beat_ns = stats_reader_heartbeat_ns(reader);

    return facts->mono_ns > beat_ns ? facts->mono_ns - beat_ns : 0;
}

/* A part of the daemon hangs: its control loop answers, and does not beat the heart any more. */
static bool refuse_hung(const struct stats_reader *reader, const struct status_facts *facts,
                        const char *before, struct http_answer *answer)
{
    uint64_t age = age_ns(reader, facts);

    if (age <= STATS_HUNG_NS)
        return false;
    answer->status = HTTP_UNAVAILABLE;
    http_answer_add(answer,
                    "%s: a thread of %s hangs, no heartbeat for %llu s; its log names the thread\n",
                    before, facts->identity, (unsigned long long)(age / MD_NS_PER_S));
    return true;
}

void status_write_health(const struct stats_reader *reader, const struct status_facts *facts,
                         struct http_answer *answer)
{
    if (!refuse_hung(reader, facts, "hung", answer))
        http_answer_add(answer, "ok\n");
}

void status_write_ready(const struct stats_reader *reader, const struct status_facts *facts,
                        struct http_answer *answer)
{
    struct stats_value ready, trouble;
    bool has_ready = stats_reader_find(reader, "ready", &ready);
    bool has_trouble = stats_reader_find(reader, "trouble", &trouble);

    if (refuse_hung(reader, facts, "not ready", answer))
        return;
    if (has_ready && ready.value && !has_trouble) {
        http_answer_add(answer, "ready\n");
        return;
    }
    answer->status = HTTP_UNAVAILABLE;
    http_answer_add(answer, "not ready: ");
    if (has_trouble)
        text_add_label(answer, trouble.text, strlen(trouble.text));
    else
        http_answer_add(answer, "%s",
                        has_ready
                            ? "waiting for what it needs; the log says within seconds for what"
                            : "starting");
    http_answer_add(answer, "\n");
}
