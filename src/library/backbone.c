/* backbone.c - see rmds/backbone.h: the attachment of an application, its turns, its thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "backbone/topic.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "internal.h"

enum { EVENTS_MAX = 64, POLLS_A_TURN = 32, CALLS_MAX = 1024, CALLS_A_TURN = 64 };
enum { RING_MAX = 256 << 20 }; /* rrcpd takes no larger one */

struct call {
    unsigned kind; /* of a letter; always 0 */
    void (*call)(void *argument);
    void *argument;
};

void rmds_backbone_options_init(struct rmds_backbone_options *options, size_t size)
{
    struct rmds_backbone_options usual = { .size = size,
                                           .network = "net1",
                                           .instance = "1",
                                           .run_dir = "/run/rmds",
                                           .name = "application",
                                           .ring_bytes = 4 << 20,
                                           .item_limit = 1000000 };

    memset(options, 0, size);
    memcpy(options, &usual, size < sizeof(usual) ? size : sizeof(usual));
}

/* ---- turns ---- */

static void link_is(struct rmds_backbone *backbone, bool is_up)
{
    if (backbone->is_up == is_up)
        return;
    backbone->is_up = is_up;
    if (backbone->options.on_link)
        backbone->options.on_link(backbone->options.owner, is_up);
}

static void tell_refusal(struct rmds_backbone *backbone)
{
    const struct attach_refusal *refusal = attach_refusal(backbone->attach);

    if (refusal->count == backbone->refusals_told)
        return;
    backbone->refusals_told = refusal->count;
    if (refusal->by_daemon && backbone->options.on_refused)
        backbone->options.on_refused(backbone->options.owner, refusal->error, refusal->why);
}

static void tell_denied(struct rmds_backbone *backbone, const struct backbone_event *event)
{
    char what[128];

    backbone->stats.denied = event->count;
    if (!backbone->options.on_denied)
        return;
    snprintf(what, sizeof(what), "%.*s", (int)(event->length < 127 ? event->length : 127),
             (const char *)event->bytes);
    backbone->options.on_denied(backbone->options.owner, event->count, what);
}

/* True: it is no record of a service, and taken. */
static bool look_at(struct rmds_backbone *backbone, const struct backbone_event *event)
{
    bool is_message = event->type == BACKBONE_MESSAGE;
    bool is_topic = is_message && backbone_topic_is(event->bytes, event->length);

    if (is_topic || (!is_message && backbone->topics.count > 0))
        library_topics_event(backbone, event);
    if (is_message)
        return is_topic;
    if (event->type == BACKBONE_DENIED) {
        tell_denied(backbone, event);
        return true;
    }
    if (event->type == BACKBONE_ATTACHED || event->type == BACKBONE_DETACHED)
        link_is(backbone, event->type == BACKBONE_ATTACHED);
    return false;
}

/* Records that requesters send are for the source, all others for the requester of ours. */
static bool is_for_source(const struct backbone_event *event)
{
    uint8_t type = event->length > 0 ? event->bytes[0] : 0;

    return type == RRMP_QUERY || (type >= RRMP_REQUEST && type <= RRMP_LISTREQ);
}

static void give_out(struct rmds_backbone *backbone, uint64_t now_ns,
                     const struct backbone_event *events, size_t count)
{
    struct backbone_event asks[EVENTS_MAX], rest[EVENTS_MAX];
    size_t ask_count = 0, rest_count = 0;

    if (!backbone->source.source) {
        library_items_input(backbone, now_ns, events, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_message = events[i].type == BACKBONE_MESSAGE;
        bool is_ask = is_message && is_for_source(&events[i]);

        /* The source looks for others that offer its services. */
        if (!is_message || is_ask || (events[i].length > 0 && events[i].bytes[0] == RRMP_INSTANCE))
            asks[ask_count++] = events[i];
        if (!is_ask)
            rest[rest_count++] = events[i];
    }
    library_source_input(backbone, now_ns, asks, ask_count);
    library_items_input(backbone, now_ns, rest, rest_count);
}

/* Some of what has come. True: the ring was found empty. */
static bool poll_some(struct rmds_backbone *backbone, uint64_t now_ns, int polls, size_t *done)
{
    struct backbone_event events[EVENTS_MAX];

    for (int i = 0; i < polls; i++) {
        int count = attach_poll(backbone->attach, now_ns, events, EVENTS_MAX);

        if (count == 0)
            return true;
        int kept = 0;
        for (int k = 0; k < count; k++)
            if (!look_at(backbone, &events[k]) && kept++ != k)
                events[kept - 1] = events[k];
        give_out(backbone, now_ns, events, (size_t)kept);
        *done += (size_t)count;
    }
    return false;
}

/* The bell is stilled before letters are taken: one that comes later rings again. */
static size_t take_calls(struct rmds_backbone *backbone)
{
    struct call call;
    uint64_t rung;
    size_t done = 0;

    if (atomic_load_explicit(&backbone->is_rung, memory_order_relaxed) &&
        atomic_exchange_explicit(&backbone->is_rung, false, memory_order_acq_rel))
        (void)!read(backbone->wake_fd, &rung, sizeof(rung));
    while (done < CALLS_A_TURN && md_mailbox_take(&backbone->calls, &call)) {
        call.call(call.argument);
        done++;
    }
    return done;
}

size_t library_turn(struct rmds_backbone *backbone, uint64_t now_ns, int polls)
{
    size_t done;
    bool is_empty;

    backbone->now_ns = now_ns;
    done = take_calls(backbone);
    is_empty = poll_some(backbone, now_ns, polls, &done);
    tell_refusal(backbone);

    if (!library_items_settle(backbone, now_ns, is_empty))
        done++;
    library_source_settle(backbone, now_ns, is_empty);
    library_topics_settle(&backbone->topics);
    library_wants_settle(backbone);
    /* Records of its own services are for it, if it opens items of them. */
    attach_wakes_for_own(backbone->attach,
                         backbone->source.source && backbone->items.slots.count > 0);
    attach_flush(backbone->attach);
    return done;
}

size_t rmds_backbone_turn(struct rmds_backbone *backbone, uint64_t now_ns)
{
    return library_turn(backbone, now_ns, POLLS_A_TURN);
}

void rmds_backbone_flush(struct rmds_backbone *backbone)
{
    attach_flush(backbone->attach);
}

const char *rmds_backbone_why(const struct rmds_backbone *backbone)
{
    return attach_refusal(backbone->attach)->why;
}

int rmds_backbone_descriptor(const struct rmds_backbone *backbone)
{
    return attach_fd(backbone->attach);
}

uint64_t rmds_backbone_deadline(const struct rmds_backbone *backbone)
{
    uint64_t attach = attach_deadline(backbone->attach);
    uint64_t items = library_items_deadline(backbone);
    uint64_t source = library_source_deadline(backbone);

    items = source < items ? source : items;
    return attach < items ? attach : items;
}

/* ---- other threads ---- */

static void ring(struct rmds_backbone *backbone)
{
    uint64_t one = 1;

    (void)!write(backbone->wake_fd, &one, sizeof(one));
    atomic_store_explicit(&backbone->is_rung, true, memory_order_release);
}

int rmds_backbone_post(struct rmds_backbone *backbone, void (*call)(void *argument), void *argument)
{
    struct call letter = { .call = call, .argument = argument };

    if (!md_mailbox_put(&backbone->calls, &letter))
        return MD_ERR_FULL;
    ring(backbone);
    return MD_OK;
}

void library_yield(struct rmds_backbone *backbone)
{
    if (backbone->options.busy_poll_us > 0 && md_cpu_yield())
        (void)attach_end_look(backbone->attach);
}

static void rest(struct rmds_backbone *backbone)
{
    struct pollfd wanted = { .fd = rmds_backbone_descriptor(backbone), .events = POLLIN };
    uint64_t deadline_ns = rmds_backbone_deadline(backbone);
    uint64_t now_ns = rmds_now();
    struct timespec wait = { .tv_sec = 1 };

    if (deadline_ns <= now_ns) {
        library_yield(backbone);
        return;
    }
    if (deadline_ns - now_ns < MD_NS_PER_S)
        wait = (struct timespec){ .tv_nsec = (long)(deadline_ns - now_ns) };
    (void)ppoll(&wanted, 1, &wait, NULL);
}

static void *run(void *argument)
{
    struct rmds_backbone *backbone = argument;

    while (!atomic_load_explicit(&backbone->must_stop, memory_order_relaxed)) {
        if (rmds_backbone_turn(backbone, rmds_now()) == 0)
            rest(backbone);
    }
    return NULL;
}

int rmds_backbone_start(struct rmds_backbone *backbone)
{
    if (backbone->is_started)
        return MD_ERR_STATE;
    atomic_store_explicit(&backbone->must_stop, false, memory_order_relaxed);
    if (pthread_create(&backbone->thread, NULL, run, backbone) != 0)
        return MD_ERR_SYS;
    backbone->is_started = true;
    return MD_OK;
}

void rmds_backbone_stop(struct rmds_backbone *backbone)
{
    if (!backbone->is_started)
        return;
    atomic_store_explicit(&backbone->must_stop, true, memory_order_relaxed);
    ring(backbone);
    pthread_join(backbone->thread, NULL);
    backbone->is_started = false;
}

/* ---- figures ---- */

void rmds_backbone_stats(const struct rmds_backbone *backbone, struct rmds_backbone_stats *out)
{
    const struct rrmp_sink_stats *sink = rrmp_sink_stats(backbone->items.sink);
    struct rmds_backbone_stats stats = backbone->stats;
    struct attach_counters counters;
    size_t size = out->size;

    attach_counters(backbone->attach, &counters);
    stats.size = size;
    stats.messages = counters.messages_received;
    stats.bytes = counters.bytes_received;
    stats.overruns = counters.overruns;
    stats.send_full = counters.send_full;
    stats.behind = counters.behind;
    stats.behind_max = counters.behind_max;
    stats.items_now = backbone->items.slots.count;
    stats.live_now = sink->live_now;
    stats.records_lost = sink->records_lost;
    memcpy(out, &stats, size < sizeof(stats) ? size : sizeof(stats));
}

/* ---- life ---- */

static bool copy(char *out, size_t size, const char **text)
{
    size_t length = *text ? strlen(*text) : 0;

    if (length == 0 || length >= size)
        return false;
    memcpy(out, *text, length + 1);
    *text = out;
    return true;
}

static bool take_options(struct rmds_backbone *backbone,
                         const struct rmds_backbone_options *options)
{
    struct rmds_backbone_options *own = &backbone->options;

    rmds_backbone_options_init(own, sizeof(*own));
    memcpy(own, options, options->size < sizeof(*own) ? options->size : sizeof(*own));
    return copy(backbone->network, sizeof(backbone->network), &own->network) &&
           copy(backbone->instance, sizeof(backbone->instance), &own->instance) &&
           copy(backbone->run_dir, sizeof(backbone->run_dir), &own->run_dir) &&
           copy(backbone->name, sizeof(backbone->name), &own->name) && own->item_limit > 0 &&
           own->item_limit <= 16000000 && own->ring_bytes <= RING_MAX;
}

static int open_all(struct rmds_backbone *backbone)
{
    char unwanted[256];
    bool wants_why = backbone->options.why && backbone->options.why_size > 0;
    char *why = wants_why ? backbone->options.why : unwanted;
    size_t why_size = wants_why ? backbone->options.why_size : sizeof(unwanted);
    struct attach_config config = { .network = backbone->network,
                                    .rrcpd_instance = backbone->instance,
                                    .run_dir = backbone->run_dir,
                                    .user_name = backbone->name,
                                    .is_application = true,
                                    .says_wants = true,
                                    .outbound_bytes = backbone->options.ring_bytes,
                                    .busy_poll_ns = backbone->options.busy_poll_us * MD_NS_PER_US,
                                    .why = why,
                                    .why_size = why_size };
    uint64_t random;
    int err = MD_OK;

    why[0] = '\0';
    if (backbone->options.configuration)
        err = library_inside_open(&backbone->options, why, why_size, &backbone->inside);
    if (backbone->inside)
        config.in_process = &backbone->inside->settings.node;
    if (err == MD_OK)
        err = attach_open(&config, &backbone->attach);
    if (err == MD_OK && getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        err = MD_ERR_SYS;
    if (err == MD_OK)
        err = library_items_init(backbone, random);
    if (err == MD_OK)
        err = library_topics_init(&backbone->topics);
    if (err == MD_OK)
        err = md_mailbox_init(&backbone->calls, sizeof(struct call), CALLS_MAX, 0);
    if (err != MD_OK)
        return err;
    backbone->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return backbone->wake_fd < 0 ? MD_ERR_SYS : attach_also(backbone->attach, backbone->wake_fd);
}

int rmds_backbone_open(const struct rmds_backbone_options *options, struct rmds_backbone **out)
{
    struct rmds_backbone *backbone = calloc(1, sizeof(*backbone));
    int err;

    *out = NULL;
    if (!backbone)
        return MD_ERR_NOMEM;
    backbone->wake_fd = -1;
    err = take_options(backbone, options) ? open_all(backbone) : MD_ERR_RANGE;
    if (err != MD_OK) {
        rmds_backbone_close(backbone);
        return err;
    }
    *out = backbone;
    return MD_OK;
}

void rmds_backbone_close(struct rmds_backbone *backbone)
{
    if (!backbone)
        return;
    rmds_backbone_stop(backbone);
    library_topics_fini(&backbone->topics);
    library_source_fini(backbone);
    library_items_fini(backbone);
    attach_close(backbone->attach);
    library_inside_close(backbone->inside);
    md_mailbox_fini(&backbone->calls);
    if (backbone->wake_fd >= 0)
        close(backbone->wake_fd);
    free(backbone);
}
