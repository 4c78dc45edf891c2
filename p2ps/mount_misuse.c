/* mount_misuse.c - what the log says of consumers that ask far too often. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/log.h"
#include "mount.h"
#include "worker.h"

/* Looked at once a second; after a line the next one comes later, for all that came meanwhile:
 * twice as late each time. */
#define LOOK_NS         1000000000ull
#define TELL_FIRST_NS   10000000000ull
#define TELL_LONGEST_NS 640000000000ull

/* Some are everyday: a login is re-issued to pause, a list names an item there is no more. */
#define LOGINS_MANY  20
#define REFUSED_MANY 100
#define VIEWS_MANY   1
#define POSTS_MANY   1

static uint64_t take(uint64_t now, uint64_t *told)
{
    uint64_t fresh = now - *told;

    *told = now;
    return fresh;
}

static bool tell(struct p2ps_mount *mount, const struct p2ps_client_info *client)
{
    const struct p2ps_misuse *now = &client->misuse;
    const char *peer = net_stream_peer(mount->stream);
    char who[320];

    snprintf(who, sizeof(who), "user=%s application=%s", client->user, client->application);
    uint64_t logins = take(now->logins, &mount->told.logins);
    uint64_t refused = take(now->refused, &mount->told.refused);
    uint64_t views = take(now->views, &mount->told.views);
    uint64_t posts = take(now->posts, &mount->told.posts);

    if (logins >= LOGINS_MANY)
        md_log(MD_LOG_WARNING, "mount: host=%s: %llu logins after the first one, %s", peer,
               (unsigned long long)logins, who);
    if (refused >= REFUSED_MANY)
        md_log(MD_LOG_WARNING,
               "mount: host=%s: %llu requests refused: no such service, a limit, or the like, %s",
               peer, (unsigned long long)refused, who);
    if (views >= VIEWS_MANY)
        md_log(MD_LOG_WARNING,
               "mount: host=%s: %llu views refused: it has too many different ones "
               "(viewLimitPerMount), or its host has, %s",
               peer, (unsigned long long)views, who);
    if (posts >= POSTS_MANY)
        md_log(MD_LOG_WARNING,
               "mount: host=%s: %llu posts refused: too many wait for their acknowledgement "
               "(maxPostsPerMount, maxPosts), %s",
               peer, (unsigned long long)posts, who);
    return logins >= LOGINS_MANY || refused >= REFUSED_MANY || views >= VIEWS_MANY ||
           posts >= POSTS_MANY;
}

static uint64_t longer(struct p2ps_mount *mount)
{
    uint64_t distance_ns = mount->tell_distance_ns ? 2 * mount->tell_distance_ns : TELL_FIRST_NS;

    mount->tell_distance_ns = distance_ns < TELL_LONGEST_NS ? distance_ns : TELL_LONGEST_NS;
    return mount->tell_distance_ns;
}

void p2ps_mount_tell(struct p2ps_mount *mount, uint64_t now_ns)
{
    struct p2ps_client_info client;

    if (now_ns < mount->tell_at_ns ||
        !p2ps_client_info(mount->worker->core, mount->client, &client) || !client.is_used)
        return;
    mount->tell_at_ns = now_ns + (tell(mount, &client) ? longer(mount) : LOOK_NS);
}
