/* sink_check.c - the invariants of the sink's tables, as code: see rrmp_sink_check(). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "sink_impl.h"

/*
 *   items      each is in the list of its service, in the map by its key, and where its link,
 *              queue, window, handle and work say that it is
 *   links      their counts of items, standbys and open requests are those of the items
 *   instances  the sum of what they are asked for is that of the items; slots and items agree
 *   sums       what the statistics call "now" is what is there
 */
struct tally {
    uint32_t items;
    uint32_t dying;
    uint32_t works;
    uint32_t live;
    uint32_t names;
    uint32_t requests;
    uint32_t places;
    uint32_t queued[3];
    size_t key_bytes;
    size_t held_bytes;
};

/* ---- items ---- */

static const char *check_place(const struct rrmp_sink *sink, const struct sink_item *item)
{
    enum rrmp_sink_item_state state = (enum rrmp_sink_item_state)item->state;

    if (item->link == MD_NIL) {
        MD_REQUIRE(state == RRMP_SINK_PARKED || item->is_ending);
        MD_REQUIRE(item->queue == QUEUE_NONE && !item->in_window && !item->is_asked);
        MD_REQUIRE(item->handle == RRMP_HANDLE_NONE);
        return NULL;
    }
    const struct sink_link *link = sink_link_at(sink, item->link);
    MD_REQUIRE(item->link < sink->links.high && link->in_use);
    MD_REQUIRE(link->service == item->service);
    MD_REQUIRE(state != RRMP_SINK_PARKED);
    /* An item that is not whole is never forgotten: it has its turn, or its time. */
    MD_REQUIRE(state == RRMP_SINK_LIVE || item->queue != QUEUE_NONE ||
               sink_work_of(sink, item)->timer.is_set);
    MD_REQUIRE(!item->in_window || item->queue == QUEUE_NONE);
    /* A standby is one until it is asked to take over, and that may have to wait. */
    MD_REQUIRE(item->standby == MD_NIL || item->standby != item->link || state == RRMP_SINK_QUEUED);
    return NULL;
}

static const char *check_handle(const struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (item->handle == RRMP_HANDLE_NONE || item->link == MD_NIL)
        return NULL;
    const struct sink_link *link = sink_link_at(sink, item->link);
    const struct sink_slot *slot =
        sink_slot_find(sink, sink_instance_at(sink, link->instance), item->handle);
    MD_REQUIRE(slot && slot->item == number);
    MD_REQUIRE(slot->bits & SLOT_MAPPED);
    return NULL;
}

static const char *check_work(const struct rrmp_sink *sink, uint32_t number, struct tally *tally)
{
    const struct sink_item *item = sink_item_at(sink, number);
    const struct sink_work *work = sink_work_of(sink, item);
    size_t bytes = 0;
    uint32_t count = 0;

    if (item->work == MD_NIL) {
        MD_REQUIRE(!item->is_image_open && item->standby == MD_NIL && !item->is_ending);
        return NULL;
    }
    MD_REQUIRE(item->work < sink->works.high);
    MD_REQUIRE(work->item == number);
    for (const struct sink_held *held = work->held.head; held; held = held->next) {
        bytes += sizeof(*held) + held->length;
        count++;
    }
    MD_REQUIRE(bytes == work->held.bytes && count == work->held.count);
    tally->held_bytes += bytes;
    tally->works++;
    return NULL;
}

/* By its name, its REQUEST and that to its standby. */
static const char *check_found(const struct rrmp_sink *sink, uint32_t number, struct tally *tally)
{
    const struct sink_item *item = sink_item_at(sink, number);
    uint64_t hash = sink_key_hash(sink, item);
    uint32_t standby_id = sink_work_of(sink, item)->standby_id;

    if (!item->is_private && !item->is_snapshot) {
        tally->names++;
        MD_REQUIRE(sink_item_lookup(sink, item->service, sink_key(sink, item)) == number);
    }
    if (item->request_id != 0) {
        tally->requests++;
        MD_REQUIRE(sink_item_by_request(sink, item->service, hash, item->request_id) == number);
    }
    if (item->standby != MD_NIL) {
        tally->requests++;
        MD_REQUIRE(sink_item_by_standby(sink, item->service, hash, standby_id) == number);
    }
    return NULL;
}

/* It stands among the moves, which tell suspect when its time is over. */
static bool is_moving(const struct rrmp_sink *sink, const struct sink_item *item)
{
    const struct sink_place *place = md_slots_at(&sink->places, item->place);

    for (uint32_t i = sink->move_head; place->is_moving && i != sink->move_tail; i++) {
        if (sink_item_at(sink, sink->moves[i % SINK_MOVES].item) == item)
            return true;
    }
    return false;
}

static const char *check_item(const struct rrmp_sink *sink, uint32_t number, struct tally *tally)
{
    const struct sink_item *item = sink_item_at(sink, number);

    MD_REQUIRE(item->in_use);
    tally->key_bytes += item->key_length + sink_item_message(sink, item).length;
    MD_REQUIRE_ALL(check_work(sink, number, tally));
    if (item->is_dying) {
        MD_REQUIRE(item->link == MD_NIL && item->queue == QUEUE_NONE);
        MD_REQUIRE(item->standby == MD_NIL);
        tally->dying++;
        return NULL;
    }
    tally->items++;
    tally->places += item->place != MD_NIL;
    MD_REQUIRE(!item->is_resuming || item->place != MD_NIL);
    MD_REQUIRE(!item->is_resuming || item->suspect_sent || sink->hold_ns != RRMP_NEVER ||
               is_moving(sink, item));
    tally->live += item->state == RRMP_SINK_LIVE;
    if (item->queue != QUEUE_NONE)
        tally->queued[item->queue - 1]++;
    MD_REQUIRE(item->service < sink->service_count);
    MD_REQUIRE_ALL(check_place(sink, item));
    MD_REQUIRE_ALL(check_handle(sink, number));
    return check_found(sink, number, tally);
}

struct tally_service {
    uint32_t items;
    uint32_t parked;
    uint32_t live;
    uint32_t regrouped;
};

/* A list of items of the service, in both directions, all at this link. */
static const char *check_its_list(const struct rrmp_sink *sink, uint16_t service, uint32_t link,
                                  uint32_t head, struct tally *tally, struct tally_service *of)
{
    uint32_t previous = MD_NIL;

    for (uint32_t n = head; n != MD_NIL; n = sink_item_at(sink, n)->list_next) {
        const struct sink_item *item = sink_item_at(sink, n);

        MD_REQUIRE(n < sink->items.high && item->service == service && !item->is_dying);
        MD_REQUIRE(item->list_prev == previous && item->link == link);
        MD_REQUIRE_ALL(check_item(sink, n, tally));
        of->items++;
        of->parked += item->state == RRMP_SINK_PARKED;
        of->live += item->state == RRMP_SINK_LIVE;
        const struct sink_place *place = NULL;
        if (item->place != MD_NIL)
            place = md_slots_at(&sink->places, item->place);
        of->regrouped += place && place->is_regrouped;
        previous = n;
    }
    return NULL;
}

/* Items in use are in the list of a link, in that of what has none, or in that of the dying: a
 * walk of all these is all. */
static const char *check_items(const struct rrmp_sink *sink, struct tally *tally)
{
    uint32_t named = 0;

    for (uint16_t s = 0; s < sink->service_count; s++)
        named += sink->services[s].name.length > 0;
    MD_REQUIRE(named == sink->services_now);
    for (uint16_t s = 0; s < sink->service_count; s++) {
        const struct sink_service *service = &sink->services[s];
        struct tally_service of = { 0 };

        MD_REQUIRE_ALL(check_its_list(sink, s, MD_NIL, service->apart, tally, &of));
        for (uint32_t n = service->links; n != MD_NIL; n = sink_link_at(sink, n)->service_next)
            MD_REQUIRE_ALL(check_its_list(sink, s, n, sink_link_at(sink, n)->items, tally, &of));
        MD_REQUIRE(service->item_count == of.items);
        MD_REQUIRE(service->parked_count == of.parked);
        MD_REQUIRE(service->live_count == of.live);
        MD_REQUIRE(service->regrouped_count == of.regrouped);
    }
    for (uint32_t n = sink->dying; n != MD_NIL; n = sink_item_at(sink, n)->queue_next) {
        MD_REQUIRE(sink_item_at(sink, n)->is_dying);
        MD_REQUIRE_ALL(check_item(sink, n, tally));
    }
    return NULL;
}

/* ---- links and instances ---- */

/* The items of a list in both directions, each of this queue and link. */
static const char *check_list(const struct rrmp_sink *sink, uint32_t link,
                              const struct sink_list *list, enum sink_queue queue, uint32_t *count)
{
    uint32_t previous = MD_NIL;

    for (uint32_t n = list->head; n != MD_NIL; n = sink_item_at(sink, n)->queue_next) {
        const struct sink_item *item = sink_item_at(sink, n);

        MD_REQUIRE(sink_item_exists(sink, n));
        MD_REQUIRE(item->link == link && item->queue == queue);
        MD_REQUIRE(item->queue_prev == previous);
        previous = n;
        (*count)++;
    }
    MD_REQUIRE(list->tail == previous);
    return NULL;
}

static const char *check_queues(const struct rrmp_sink *sink, uint32_t number, uint32_t queued)
{
    const struct sink_link *link = sink_link_at(sink, number);
    uint32_t count = 0;

    MD_REQUIRE_ALL(check_list(sink, number, &link->fresh, QUEUE_NEW, &count));
    MD_REQUIRE_ALL(check_list(sink, number, &link->background, QUEUE_BACKGROUND, &count));
    for (uint32_t i = 0; i < SINK_BUCKETS; i++) {
        MD_REQUIRE_ALL(check_list(sink, number, &link->recovery[i], QUEUE_RECOVERY, &count));
        MD_REQUIRE((link->recovery[i].head != MD_NIL) == (link->recovery_busy >> i & 1));
    }
    MD_REQUIRE(count == queued);
    return NULL;
}

/* The items that we have asked an instance for, over all its links. */
struct asked {
    uint32_t count;
    uint64_t xor ;
};

static uint32_t standbys_in(const struct rrmp_sink *sink, uint32_t items, uint32_t link)
{
    uint32_t count = 0;

    for (uint32_t n = items; n != MD_NIL; n = sink_item_at(sink, n)->list_next)
        count += sink_item_at(sink, n)->standby == link;
    return count;
}

/* The items of a run follow each other, from where the link says that it begins. */
static const char *check_runs(const struct rrmp_sink *sink, const struct sink_link *link)
{
    uint64_t seen = 0;
    uint32_t last = SINK_RUNS;

    _Static_assert(SINK_RUNS == 64, "a bit for each");
    for (uint32_t n = link->items; n != MD_NIL; n = sink_item_at(sink, n)->list_next) {
        uint32_t run = sink_item_at(sink, n)->group % SINK_RUNS;

        MD_REQUIRE(run == last || (link->runs[run] == n && !(seen >> run & 1)));
        last = run;
        seen |= UINT64_C(1) << (run & (SINK_RUNS - 1));
    }
    for (uint32_t run = 0; run < SINK_RUNS; run++)
        MD_REQUIRE((link->runs[run] != MD_NIL) == (seen >> run & 1));
    return NULL;
}

static const char *check_link(const struct rrmp_sink *sink, uint32_t number, struct asked *asked)
{
    const struct sink_link *link = sink_link_at(sink, number);
    uint32_t items = 0, standbys, window = 0, resumes = 0, queued = 0;

    if (link->service == RRMP_SERVICE_NONE)
        return link->item_count == 0 ? NULL : "a link without service has items";
    standbys = standbys_in(sink, sink->services[link->service].apart, number);
    for (uint32_t n = sink->services[link->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next)
        standbys += standbys_in(sink, sink_link_at(sink, n)->items, number);
    MD_REQUIRE_ALL(check_runs(sink, link));
    for (uint32_t n = link->items; n != MD_NIL; n = sink_item_at(sink, n)->list_next) {
        const struct sink_item *item = sink_item_at(sink, n);

        items++;
        window += item->in_window;
        resumes += sink_work_of(sink, item)->is_resume;
        queued += item->queue != QUEUE_NONE;
        if (item->is_asked && sink_item_is_summed(item)) {
            asked->count++;
            asked->xor ^= sink_key_hash(sink, item);
        }
    }
    MD_REQUIRE(link->item_count == items);
    MD_REQUIRE(link->standby_count == standbys);
    MD_REQUIRE(link->window_used == window && link->resumes_used == resumes);
    return check_queues(sink, number, queued);
}

static const char *check_slots(const struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_instance *instance = sink_instance_at(sink, number);

    for (uint32_t i = 0; instance->map && i < instance->map_high; i++) {
        const struct sink_slot *chunk = instance->map[i / SINK_CHUNK];

        if (!chunk || chunk[i % SINK_CHUNK].bits == 0)
            continue;
        uint32_t n = chunk[i % SINK_CHUNK].item;
        MD_REQUIRE(sink_item_exists(sink, n));
        MD_REQUIRE((sink_item_at(sink, n)->handle & 0xFFFFFF) == i);
        MD_REQUIRE(sink_item_at(sink, n)->link != MD_NIL);
        MD_REQUIRE(sink_link_at(sink, sink_item_at(sink, n)->link)->instance == number);
    }
    return NULL;
}

static const char *check_instances(const struct rrmp_sink *sink)
{
    uint32_t count = 0, links = 0;

    for (uint32_t n = 0; n < sink->instances.high; n++) {
        const struct sink_instance *instance = sink_instance_at(sink, n);
        struct asked asked = { 0 };

        if (!instance->in_use)
            continue;
        count++;
        for (uint16_t svc = 0; svc < instance->svc_count; svc++) {
            uint32_t number = instance->links[svc];

            if (number == MD_NIL)
                continue;
            MD_REQUIRE(number < sink->links.high);
            const struct sink_link *link = sink_link_at(sink, number);
            MD_REQUIRE(link->in_use && link->instance == n && link->svc == svc);
            MD_REQUIRE_ALL(check_link(sink, number, &asked));
            links++;
        }
        MD_REQUIRE(instance->sum_count == asked.count && instance->sum_xor == asked.xor);
        MD_REQUIRE_ALL(check_slots(sink, n));
    }
    MD_REQUIRE(sink->instances.count == count && sink->instance_map.count == count);
    MD_REQUIRE(sink->links.count == links);
    return NULL;
}

static const char *check_services(const struct rrmp_sink *sink)
{
    uint32_t chained = 0, named = 0;

    for (uint16_t s = 0; s < sink->service_count; s++) {
        const struct sink_service *service = &sink->services[s];

        MD_REQUIRE(service->is_wanted || (service->item_count == 0 && !service->is_followed));
        for (uint32_t n = service->links; n != MD_NIL; n = sink_link_at(sink, n)->service_next) {
            const struct sink_link *link = sink_link_at(sink, n);

            MD_REQUIRE(link->in_use && link->service == s);
            MD_REQUIRE(!link->has_begun || (sink->filters && service->is_wanted));
            MD_REQUIRE(++chained <= sink->links.count);
        }
    }
    for (uint32_t n = 0; n < sink->links.high; n++)
        named +=
            sink_link_at(sink, n)->in_use && sink_link_at(sink, n)->service != RRMP_SERVICE_NONE;
    MD_REQUIRE(chained == named);
    return NULL;
}

/* ---- the rest ---- */

static size_t chain_bytes(const struct sink_held *held)
{
    size_t bytes = 0;

    for (; held; held = held->next)
        bytes += sizeof(*held) + held->length;
    return bytes;
}

static const char *check_kept(const struct rrmp_sink *sink, struct tally *tally)
{
    MD_REQUIRE(sink->event_tail - sink->event_head <= SINK_EVENTS);
    MD_REQUIRE(sink->early_count <= SINK_EARLY_MAX);
    for (uint32_t i = sink->event_head; i != sink->event_tail; i++)
        tally->held_bytes += chain_bytes(sink->events[i % SINK_EVENTS].chain);
    for (uint32_t i = 0; i < sink->early_count; i++) {
        MD_REQUIRE(chain_bytes(sink->early[i].parts.head) == sink->early[i].parts.bytes);
        tally->held_bytes += sink->early[i].parts.bytes;
    }
    tally->held_bytes += chain_bytes(sink->spent);
    return NULL;
}

static const char *check_asked(const struct rrmp_sink *sink)
{
    uint32_t dicts = 0, posts = 0;

    for (uint32_t i = 0; i < SINK_DICTS; i++) {
        const struct sink_dict *dict = &sink->dicts[i];

        dicts += dict->in_use;
        MD_REQUIRE(!dict->in_use || dict->link == MD_NIL || sink_link_at(sink, dict->link)->in_use);
    }
    for (uint32_t i = 0; i < sink->posts.high; i++) {
        const struct sink_post *post = md_slots_at(&sink->posts, i);

        posts += post->in_use;
        MD_REQUIRE(!post->in_use || post->instance == MD_NIL ||
                   sink_instance_at(sink, post->instance)->in_use);
        MD_REQUIRE(!post->in_use || post->timer.is_set);
    }
    MD_REQUIRE(sink->dict_count == dicts);
    MD_REQUIRE(sink->posts.count == posts);
    return NULL;
}

const char *rrmp_sink_check(const struct rrmp_sink *sink)
{
    struct tally tally = { 0 };

    MD_REQUIRE_ALL(check_services(sink));
    MD_REQUIRE_ALL(check_items(sink, &tally));
    MD_REQUIRE_ALL(check_instances(sink));
    MD_REQUIRE_ALL(check_kept(sink, &tally));
    MD_REQUIRE_ALL(check_asked(sink));
    MD_REQUIRE(sink->items.count == tally.items + tally.dying);
    MD_REQUIRE(sink->item_map.count == tally.names);
    MD_REQUIRE(sink->request_map.count == tally.requests);
    MD_REQUIRE(sink->works.count == tally.works);
    MD_REQUIRE(sink->places.count == tally.places);
    MD_REQUIRE(sink->stats.live_now == tally.live);
    for (uint32_t i = 0; i < 3; i++)
        MD_REQUIRE(sink->stats.queued_now[i] == tally.queued[i]);
    MD_REQUIRE(sink->stats.key_bytes_now == tally.key_bytes);
    MD_REQUIRE(sink->stats.held_bytes_now == tally.held_bytes);
    return NULL;
}
