/* turn.c - what comes from the backbone, what time brings, and providers that come and go. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "turn.h"

#include <stdio.h>
#include <stdlib.h>

#include "access.h"
#include "ask.h"
#include "base/assert.h"
#include "base/err.h"
#include "delayed_want.h"
#include "dictionary.h"
#include "dictionary_table.h"
#include "directory.h"
#include "image_queue.h"
#include "item.h"
#include "item_end.h"
#include "login.h"
#include "pending.h"
#include "place.h"
#include "post.h"
#include "provider.h"
#include "publish.h"
#include "rate.h"
#include "replay.h"
#include "request_data.h"
#include "resume.h"
#include "service.h"
#include "tell.h"
#include "uplink.h"
#include "upstream.h"

#define SECOND_NS        1000000000ull
#define LOGIN_TIMEOUT_NS (45 * SECOND_NS)
#define REFUSED_NS       (3 * SECOND_NS)  /* a connection whose login was refused holds its place */
#define ANSWER_MORE_NS   (30 * SECOND_NS) /* further silence before the status is sent again */
#define SWEEP_ITEMS      65536

/* ---- providers come and go ---- */

static uint32_t publishers_now(const struct srcdist_core *core)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < core->provider_room; i++)
        count += core->providers[i].is_used && !core->providers[i].is_own &&
                 core->providers[i].kind == SRCDIST_NON_INTERACTIVE;
    return count;
}

static void cut(struct srcdist_core *core, uint32_t provider, const char *reason)
{
    const struct srcdist_link *link = core->providers[provider].link;
    void *self = core->providers[provider].self;

    srcdist_provider_gone(core, core->now_ns, provider);
    link->close(self, reason);
}

/* The connection that has waited longest without a login, or whose login has ended; who is logged
 * in makes room for nobody. */
static bool make_room(struct srcdist_core *core)
{
    uint32_t oldest = SRCDIST_NONE;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        const struct srcdist_provider *p = &core->providers[i];
        if (p->is_used && p->kind == SRCDIST_NON_INTERACTIVE &&
            (p->state == SRCDIST_PROVIDER_LOGIN || p->must_go) &&
            (oldest == SRCDIST_NONE || p->since_ns < core->providers[oldest].since_ns))
            oldest = i;
    }
    if (oldest == SRCDIST_NONE)
        return false;
    core->stats.places_given++;
    srcdist_tell_rarely(core, SRCDIST_TALE_PLACE,
                        "provider %s makes room: it is not logged in, and another one has come",
                        core->providers[oldest].name);
    cut(core, oldest, "no login, and another provider needs the place");
    return true;
}

/* A place in [from, to), or SRCDIST_NONE. */
static uint32_t take_place(struct srcdist_core *core, uint32_t from, uint32_t to, const char *name,
                           const struct srcdist_provider *provider)
{
    uint32_t slot = from;

    while (slot < to && core->providers[slot].is_used)
        slot++;
    if (slot == to)
        return SRCDIST_NONE;
    struct srcdist_provider *p = &core->providers[slot];
    *p = *provider;
    p->is_used = true;
    p->serial = ++core->provider_serial;
    p->since_ns = core->now_ns;
    p->open_window = UINT32_MAX;
    snprintf(p->name, sizeof(p->name), "%s", name);
    srcdist_streams_init(&p->streams, core->secret);
    core->stats.providers_now++;
    return slot;
}

int srcdist_provider_add(struct srcdist_core *core, uint64_t now_ns,
                         enum srcdist_provider_kind kind, unsigned rank, const char *name,
                         const struct srcdist_link *link, void *self, uint32_t *provider)
{
    const struct srcdist_provider new = {
        .kind = (uint8_t)kind,
        .rank = rank,
        .link = link,
        .self = self,
    };

    core->now_ns = now_ns;
    *provider = SRCDIST_NONE;
    if (kind == SRCDIST_NON_INTERACTIVE && publishers_now(core) >= core->config.publisher_limit &&
        !make_room(core))
        return MD_ERR_FULL;
    *provider = take_place(core, 0, core->config.provider_limit, name, &new);
    if (*provider == SRCDIST_NONE)
        return MD_ERR_FULL;
    if (kind == SRCDIST_INTERACTIVE)
        srcdist_login_ask(core, *provider);
    return MD_OK;
}

int srcdist_provider_add_own(struct srcdist_core *core, const char *name,
                             const struct srcdist_link *link, void *self, uint32_t *provider)
{
    const struct srcdist_provider new = {
        .kind = SRCDIST_NON_INTERACTIVE,
        .state = SRCDIST_PROVIDER_READY,
        .is_own = true,
        .link = link,
        .self = self,
        .user = "src_dist",
    };

    *provider = take_place(core, core->config.provider_limit, core->provider_room, name, &new);
    return *provider == SRCDIST_NONE ? MD_ERR_FULL : MD_OK;
}

void srcdist_provider_gone(struct srcdist_core *core, uint64_t now_ns, uint32_t provider)
{
    struct srcdist_provider *p = srcdist_provider_at(core, provider);

    core->now_ns = now_ns;
    p->must_go = true; /* so that place() does not choose it for its own items */
    srcdist_posts_lost(core, provider);
    srcdist_asks_lost(core, provider);
    srcdist_directory_lost(core, provider);
    srcdist_dictionaries_lost(core, provider);
    srcdist_streams_fini(&p->streams);
    srcdist_provider_give_groups(core, p);
    srcdist_pending_fini(p);
    free(p->closes);
    p->closes = NULL;
    p->close_count = 0;
    p->close_room = 0;
    p->is_used = false;
    core->stats.providers_now--;
}

/* ---- events of the source engine ---- */

static void wanted(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    uint32_t service = srcdist_service_find(core, event->svc);
    bool is_known = srcdist_item_at(core, event->item) != NULL;
    struct srcdist_item *it = srcdist_item_make(core, event->item);

    if (service == SRCDIST_NONE) { /* it was forgotten meanwhile, and UNWANTED follows */
        srcdist_item_forget(core, event->item);
        return;
    }
    if (!it) {
        srcdist_item_end(core, event->item, RRMP_REFUSE_LATER, RWF_CODE_NO_RESOURCES,
                         "No memory for another item now");
        return;
    }
    it->service = (uint16_t)service;
    it->is_private = event->is_private;
    if (!is_known && event->is_private && event->message.length &&
        srcdist_request_data_keep(core, event->item, event->message) != MD_OK) {
        srcdist_item_end(core, event->item, RRMP_REFUSE_FINAL, RWF_CODE_NO_RESOURCES,
                         "Too many requests with data wait for the source");
        return;
    }
    if (!is_known)
        srcdist_rate_choose(core, event->item);
    it->is_image_due = true;
    it->is_recovery = event->is_recovery;
    srcdist_item_set_active(core, it, event->flag);
    srcdist_replay_review(core, event->item);
    if (core->services[service].is_broadcast) {
        if (!is_known)
            it->due_ns = core->now_ns; /* refused or awaited by the sweep */
        it->is_awaited = false;
        if (cache_image_is_valid(it->image))
            srcdist_image_queue(core, event->item);
        srcdist_delay_wanted(core, event->item);
        return;
    }
    if (!is_known || it->state == SRCDIST_ITEM_WAITING)
        srcdist_item_place(core, event->item);
    else if (it->state == SRCDIST_ITEM_OPEN)
        srcdist_image_wanted(core, event->item);
}

static void unwanted(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct srcdist_item *it = srcdist_item_at(core, event->item);

    if (it && core->services[it->service].is_broadcast && it->provider != SRCDIST_NONE) {
        srcdist_item_set_active(core, it, false); /* its provider goes on publishing it */
        return;
    }
    srcdist_item_forget(core, event->item);
}

/* The item may have lingered while its provider went and came back: then it was not asked for. */
static void became_active(struct srcdist_core *core, uint32_t item, bool is_active)
{
    struct srcdist_item *it = &core->items[item];

    srcdist_item_set_active(core, it, is_active);
    if (it->state == SRCDIST_ITEM_WAITING && !core->services[it->service].is_broadcast &&
        srcdist_item_is_wanted(core, item))
        srcdist_item_place(core, item);
}

void srcdist_turn_event(struct srcdist_core *core, const struct rrmp_source_event *event)
{
    struct srcdist_item *it;

    switch (event->kind) {
    case RRMP_SOURCE_WANTED:
        wanted(core, event);
        break;
    case RRMP_SOURCE_UNWANTED:
        unwanted(core, event);
        break;
    case RRMP_SOURCE_IMAGE_WANTED:
        srcdist_image_wanted(core, event->item);
        break;
    case RRMP_SOURCE_ACTIVE:
        it = srcdist_item_at(core, event->item);
        if (it)
            became_active(core, event->item, event->flag);
        break;
    case RRMP_SOURCE_PRIORITY:
        break; /* providers are asked with a constant priority */
    case RRMP_SOURCE_SNAPSHOT:
        srcdist_snapshot(core, event);
        break;
    case RRMP_SOURCE_DICTIONARY:
        srcdist_dictionary_asked(core, event);
        break;
    case RRMP_SOURCE_ASK_GONE:
        srcdist_dictionary_ask_gone(core, event->ask);
        srcdist_ask_gone(core, event->ask);
        break;
    case RRMP_SOURCE_POST:
        srcdist_post_event(core, event);
        break;
    case RRMP_SOURCE_GENERIC:
        srcdist_generic_event(core, event);
        break;
    case RRMP_SOURCE_RESUME:
        srcdist_resume_event(core, event);
        break;
    }
}

/* ---- time ---- */

/* An item that can only be published, not asked for, and is not: wait a while, then refuse it. */
static void sweep_unpublished(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    const struct srcdist_service *s = &core->services[it->service];
    struct rrmp_ending ending = {
        .state = rwf_state_byte(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT),
        .code = RWF_CODE_NOT_FOUND,
        .scope = RRMP_REFUSE_FINAL,
        .text = srcdist_view(rwf_text("The source does not publish this item")),
    };

    if (!s->is_up || (!s->is_broadcast && srcdist_service_asked(core, it->service) != SRCDIST_NONE))
        return;
    if (srcdist_delay_awaits(core, item))
        return;
    it = &core->items[item]; /* the table may have grown */
    if (!s->is_broadcast)
        ending.state =
            rwf_state_byte(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT); /* asked for later */
    if (it->must_republish) {
        ending.state = rwf_state_byte(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT);
        ending.code = RWF_CODE_NONE;
        ending.text = srcdist_view(rwf_text("The source did not publish this item again"));
    } else if (srcdist_service_in_grace(core, it->service)) {
        if (!it->is_awaited &&
            srcdist_publish_state(core, item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                  "Waiting for the source to publish the item") == MD_OK)
            it->is_awaited = true;
        it->due_ns = core->now_ns + SECOND_NS;
        return;
    }
    srcdist_item_forget(core, item);
    rrmp_source_item_close(core->source, core->now_ns, item, &ending);
}

static void sweep_item(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];

    if (core->now_ns < it->due_ns)
        return;
    switch ((enum srcdist_item_state)it->state) {
    case SRCDIST_ITEM_BACKOFF:
        srcdist_item_set_state(core, it, SRCDIST_ITEM_WAITING);
        srcdist_item_place(core, item);
        break;
    case SRCDIST_ITEM_OPENING:
        srcdist_publish_state(core, item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_TIMEOUT,
                              "The source has not answered yet");
        if (it->provider != SRCDIST_NONE)
            core->providers[it->provider].misuse.unanswered++;
        it->due_ns = core->now_ns + ANSWER_MORE_NS;
        srcdist_item_uncount(core, it); /* a silent request must not hold up the window */
        break;
    case SRCDIST_ITEM_OPEN:
        /* The re-issue found no room or no answer: repeat it if an image is still due. */
        it->is_asked = false;
        it->due_ns = UINT64_MAX;
        if (it->is_image_due)
            srcdist_image_wanted(core, item);
        break;
    case SRCDIST_ITEM_WAITING:
        sweep_unpublished(core, item);
        break;
    case SRCDIST_ITEM_PENDING:
    case SRCDIST_ITEM_FREE:
        break;
    }
}

void srcdist_items_tick(struct srcdist_core *core)
{
    uint32_t end = core->sweep_item + SWEEP_ITEMS;

    for (; core->sweep_item < core->item_room && core->sweep_item < end; core->sweep_item++) {
        if (core->items[core->sweep_item].state == SRCDIST_ITEM_FREE)
            continue;
        srcdist_replay_review(core, core->sweep_item);
        sweep_item(core, core->sweep_item);
    }
    if (core->sweep_item >= core->item_room)
        core->sweep_item = 0;
}

static uint64_t patience_with(const struct srcdist_core *core, const struct srcdist_provider *p)
{
    bool is_stranger = p->kind == SRCDIST_NON_INTERACTIVE && p->state == SRCDIST_PROVIDER_LOGIN;

    return is_stranger ? core->config.login_ns : LOGIN_TIMEOUT_NS;
}

void srcdist_providers_tick(struct srcdist_core *core)
{
    struct srcdist_refusal why;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        struct srcdist_provider *p = &core->providers[i];

        if (!p->is_used)
            continue;
        if (!p->must_go && p->state != SRCDIST_PROVIDER_READY &&
            core->now_ns - p->since_ns > patience_with(core, p))
            srcdist_provider_drop(core, i, "no login or directory in time");
        if (!p->must_go && p->refused_ns != 0 && core->now_ns - p->refused_ns > REFUSED_NS)
            srcdist_provider_drop(core, i, "its login was refused");
        if (!p->must_go && srcdist_uplink_renews(core, p))
            srcdist_login_ask(core, i);
        if (!p->must_go && srcdist_access_has_expired(core, p, &why))
            srcdist_login_end(core, i, &why);
        if (!p->must_go)
            srcdist_items_pump(core, i);
        else if (core->now_ns >= p->go_ns)
            cut(core, i, p->go_reason);
    }
}
