/* link_misuse.c - what the log says of providers that do what they should not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/loop.h"
#include "route_loop.h"

/* The first line is logged at once, later ones after a pause, with what came meanwhile. */
#define TELL_NS 10000000000ull

static bool tell_one(const char *name, uint64_t now, uint64_t *told, const char *what)
{
    uint64_t fresh = now - *told;

    *told = now;
    if (fresh == 0)
        return false;
    md_log(MD_LOG_WARNING, "provider: host=%s: %llu %s", name, (unsigned long long)fresh, what);
    return true;
}

static void tell(struct link *link, const struct srcdist_provider_info *info, uint64_t now_ns)
{
    const struct srcdist_misuse *now = &info->misuse;
    struct srcdist_misuse *told = &link->told;
    bool has_told = false;

    if (now_ns < link->tell_at_ns)
        return;
    has_told |= tell_one(info->name, now->wrong_streams, &told->wrong_streams,
                         "messages on streams that are not open: dropped");
    has_told |= tell_one(info->name, now->early_updates, &told->early_updates,
                         "updates before their image: consumers wait for the image");
    has_told |= tell_one(info->name, now->refusals, &told->refusals,
                         "items refused for now: asked again ever more slowly");
    has_told |= tell_one(info->name, now->unanswered, &told->unanswered,
                         "requests not answered: the items are suspect until it does");
    has_told |=
        tell_one(info->name, now->shared_streams, &told->shared_streams,
                 "items published on the stream id of another item: told apart by their "
                 "keys, what has no key is dropped; each item needs a stream id of its own");
    if (has_told)
        link->tell_at_ns = now_ns + TELL_NS;
}

void link_misuse_tell(struct route_loop *loop)
{
    struct srcdist_provider_info info;

    for (struct link *link = loop->links; link; link = link->next) {
        if (link->provider != UINT32_MAX &&
            srcdist_provider_info(loop->core, link->provider, &info) && info.is_used)
            tell(link, &info, md_loop_now(loop->loop));
    }
}
