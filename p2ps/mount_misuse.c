/* mount_misuse.c - what the log says of consumers that ask far too often. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "mount.h"
#include "worker.h"

/* Looked at once a second; after a line the next one comes later, for all that came meanwhile. */
#define LOOK_NS 1000000000ull
#define TELL_NS 10000000000ull

/* Some are everyday: a login is re-issued to pause, a list names an item there is no more. */
#define LOGINS_MANY  20
#define REFUSED_MANY 100

static uint64_t take(uint64_t now, uint64_t *told)
{
    uint64_t fresh = now - *told;

    *told = now;
    return fresh;
}

static bool tell(struct p2ps_mount *mount, const struct p2ps_misuse *now)
{
    const char *peer = net_stream_peer(mount->stream);
    uint64_t logins = take(now->logins, &mount->told.logins);
    uint64_t refused = take(now->refused, &mount->told.refused);

    if (logins >= LOGINS_MANY)
        md_log(MD_LOG_WARNING, "mount: host=%s: %llu logins after the first one", peer,
               (unsigned long long)logins);
    if (refused >= REFUSED_MANY)
        md_log(MD_LOG_WARNING,
               "mount: host=%s: %llu requests refused: no such service, a limit, or the like", peer,
               (unsigned long long)refused);
    return logins >= LOGINS_MANY || refused >= REFUSED_MANY;
}

void p2ps_mount_tell(struct p2ps_mount *mount, uint64_t now_ns)
{
    struct p2ps_client_info client;

    if (now_ns < mount->tell_at_ns ||
        !p2ps_client_info(mount->worker->core, mount->client, &client) || !client.is_used)
        return;
    mount->tell_at_ns = now_ns + (tell(mount, &client.misuse) ? TELL_NS : LOOK_NS);
}
