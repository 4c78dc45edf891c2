/* room.c - see room.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <string.h>

#include "base/log.h"
#include "base/table.h"
#include "worker.h"

#define HOSTS        1024 /* counters; hosts that share one are taken as one */
#define TELL_FIRST   1000000000ull
#define TELL_LONGEST 600000000000ull
#define STALL_NS     1000000000ull /* of our own loop: it is not the clients' */

static uint32_t host_of(const struct p2ps_mount *mount)
{
    char host[P2PS_HOST_MAX];

    p2ps_host_of(net_stream_peer(mount->stream), host);
    return (uint32_t)md_hash_bytes(host, strlen(host)) % HOSTS;
}

/* A connection whose input waits for its turn may have asked for a login. Those that came first
 * stand last in the list. */
static bool goes_before(const struct p2ps_mount *mount, const struct p2ps_mount *worst,
                        const uint32_t counts[HOSTS])
{
    if (!worst || !mount->held != !worst->held)
        return !worst || !mount->held;
    return counts[host_of(mount)] >= counts[host_of(worst)];
}

/* A refused connection has no place that another one could have. */
static bool is_counted_for(const struct p2ps_mount *mount, const struct p2ps_protocol *of)
{
    return mount->protocol == of && !mount->is_refused;
}

bool p2ps_room_make(struct p2ps_worker *worker, const struct p2ps_protocol *of)
{
    uint32_t counts[HOSTS] = { 0 };
    struct p2ps_mount *worst = NULL;

    for (const struct p2ps_mount *mount = worker->mounts; mount; mount = mount->next)
        counts[host_of(mount)] += !p2ps_mount_is_in(mount);
    for (struct p2ps_mount *mount = worker->mounts; mount; mount = mount->next) {
        if (!p2ps_mount_is_in(mount) && (!of || is_counted_for(mount, of)) &&
            goes_before(mount, worst, counts))
            worst = mount;
    }
    if (!worst)
        return false;
    worker->gave_way++;
    p2ps_mount_bury(worst);
    return true;
}

void p2ps_room_look(struct p2ps_mount *mount, uint64_t now_ns)
{
    uint64_t timeout_ns = mount->worker->config.login_timeout_ns;
    struct p2ps_client_info client;

    /* The input that waits may be the login; but nobody puts it off for ever. */
    if (mount->held)
        timeout_ns *= P2PS_LOGIN_TURNS;
    if (timeout_ns == 0 || mount->is_closing || now_ns - mount->since_ns < timeout_ns ||
        (p2ps_client_info(mount->worker->core, mount->client, &client) && client.has_asked))
        return;
    p2ps_mount_close(mount, "no login within loginTimeout");
}

void p2ps_room_forgive(struct p2ps_worker *worker, uint64_t now_ns)
{
    uint64_t before_ns = worker->looked_ns;

    worker->looked_ns = now_ns;
    if (before_ns == 0 || now_ns - before_ns < STALL_NS)
        return;
    for (struct p2ps_mount *mount = worker->mounts; mount; mount = mount->next) {
        if (mount->since_ns <= before_ns)
            mount->since_ns += now_ns - before_ns;
    }
}

void p2ps_room_tell(struct p2ps_worker *worker, uint64_t now_ns)
{
    uint64_t fresh = worker->gave_way - worker->gave_way_said;

    if (fresh == 0 || now_ns < worker->gave_way_say_ns)
        return;
    md_log(MD_LOG_WARNING,
           "mounts: %llu connections without a login gave way to others at maxMounts (worker %u)",
           (unsigned long long)fresh, worker->config.index);
    worker->gave_way_said = worker->gave_way;
    worker->gave_way_distance_ns =
        worker->gave_way_distance_ns ? 2 * worker->gave_way_distance_ns : TELL_FIRST;
    if (worker->gave_way_distance_ns > TELL_LONGEST)
        worker->gave_way_distance_ns = TELL_LONGEST;
    worker->gave_way_say_ns = now_ns + worker->gave_way_distance_ns;
}
