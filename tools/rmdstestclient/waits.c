/* waits.c - a run that waits says what for; items that are refused alike are told together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/table.h"
#include "tc.h"

#define FIRST_NS (3 * MD_NS_PER_S) /* then after twice as long, and so on */

/* ---- what it waits for ---- */

static unsigned count_in(const struct tc *tc, enum conn_state state)
{
    unsigned n = 0;

    for (unsigned i = 0; i < tc->options.conns; i++)
        n += tc->conns[i].state == state;
    return n;
}

/* The first connection in that state. */
static const struct conn *first_in(const struct tc *tc, enum conn_state state)
{
    for (unsigned i = 0; i < tc->options.conns; i++) {
        if (tc->conns[i].state == state)
            return &tc->conns[i];
    }
    return &tc->conns[0];
}

static const char *missing_service(const struct tc *tc)
{
    for (size_t i = 0; i < tc->service_count; i++) {
        if (tc->offered.is_missing[i])
            return tc->services[i];
    }
    return NULL;
}

static void describe(const struct tc *tc, char *text, size_t size)
{
    unsigned down = count_in(tc, CONN_DOWN) + count_in(tc, CONN_CONNECTING);
    const struct conn *conn = first_in(tc, count_in(tc, CONN_DOWN) ? CONN_DOWN : CONN_CONNECTING);
    const char *service = missing_service(tc);

    if (down > 0 && tc->options.conns == 1)
        snprintf(text, size, "a connection to %s", conn->peer);
    else if (down > 0)
        snprintf(text, size, "%u of %u connections, one of them to %s", down, tc->options.conns,
                 conn->peer);
    else if (count_in(tc, CONN_LOGIN) > 0)
        snprintf(text, size, "the answer to the login of user %s at %s", tc->options.user,
                 first_in(tc, CONN_LOGIN)->peer);
    else if (count_in(tc, CONN_DIRECTORY) > 0 && service)
        snprintf(text, size, "service %s, which is not offered at %s", service,
                 first_in(tc, CONN_DIRECTORY)->peer);
    else if (count_in(tc, CONN_DIRECTORY) > 0)
        snprintf(text, size, "the directory of %s", first_in(tc, CONN_DIRECTORY)->peer);
    else if (count_in(tc, CONN_DICTIONARY) > 0)
        snprintf(text, size, "the dictionary of %s", first_in(tc, CONN_DICTIONARY)->peer);
    else
        snprintf(text, size, "the images of %llu of %llu items%s%s",
                 (unsigned long long)(tc->wanted - tc->settled), (unsigned long long)tc->wanted,
                 tc->answer_for_now[0] ? "; the last answer was " : "", tc->answer_for_now);
}

static bool is_waiting(const struct tc *tc)
{
    return tc->options.lists_services ? !tc->offered.is_complete : tc->settled < tc->wanted;
}

static void on_wait(void *owner)
{
    struct tc *tc = owner;
    uint64_t since_ns = md_clock_mono_ns() - tc->started_ns;
    char text[256];

    if (!is_waiting(tc) || tc->is_over)
        return;
    describe(tc, text, sizeof(text));
    fprintf(stderr, "rmdstestclient: waiting for %s (%.0f s so far)\n", text,
            (double)since_ns / 1e9);
    (void)md_loop_timer_after(tc->wait_timer, since_ns);
}

int waits_start(struct tc *tc)
{
    if (tc->options.log == 0)
        return MD_OK;
    int rc = md_loop_timer_create(tc->loop, on_wait, tc, &tc->wait_timer);
    return rc == MD_OK ? md_loop_timer_after(tc->wait_timer, FIRST_NS) : rc;
}

void waits_end(struct tc *tc)
{
    char text[256];

    refusals_tell(tc);
    if (!is_waiting(tc))
        return;
    describe(tc, text, sizeof(text));
    fprintf(stderr, "rmdstestclient: ended while waiting for %s\n", text);
}

/* ---- refusals ---- */

bool refusals_note(struct tc *tc, const struct tc_item *item, const char *reason)
{
    uint64_t hash = md_hash_bytes(reason, strlen(reason));
    struct refusal *refusal = NULL;

    for (size_t i = 0; i < tc->refusal_count && !refusal; i++) {
        if (tc->refusals[i].hash == hash)
            refusal = &tc->refusals[i];
    }
    if (!refusal) {
        if (tc->refusal_count == REFUSALS_MAX)
            return true;
        refusal = &tc->refusals[tc->refusal_count++];
        *refusal = (struct refusal){ .hash = hash };
        snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
        return true;
    }
    if (refusal->count++ < REFUSAL_NAMES) {
        size_t used = strlen(refusal->names);
        snprintf(refusal->names + used, sizeof(refusal->names) - used, "%s%s", used ? ", " : "",
                 item->name);
    }
    return false;
}

void refusals_tell(struct tc *tc)
{
    for (size_t i = 0; i < tc->refusal_count; i++) {
        struct refusal *refusal = &tc->refusals[i];
        if (refusal->count == 0)
            continue;
        fprintf(stderr, "rmdstestclient: %llu more closed: %s (%s%s)\n",
                (unsigned long long)refusal->count, refusal->reason, refusal->names,
                refusal->count > REFUSAL_NAMES ? ", ..." : "");
        refusal->count = 0;
        refusal->names[0] = 0;
    }
}
