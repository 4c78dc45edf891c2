/* worker.c - see worker.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "daemon/threads.h"
#include "room.h"
#include "work.h"
#include "worker_orders.h"
#include "ws_front.h"

#define POLLS_A_TURN 32
#define FEW_EVENTS   4            /* where each may be about all items of a service */
#define EVENTS_MAX   64           /* with what is made of them they stay in the first cache */
#define TICK_NS      100000000ull /* mounts are looked at ten times a second */
#define STOP_NS      4000000000ull

/* ---- the backbone ---- */

/* The attachment itself comes, goes or lags. */
static void on_attachment(const struct p2ps_worker_network *network,
                          const struct backbone_event *event)
{
    struct p2ps_worker *worker = network->worker;
    unsigned index = worker->config.index;
    const char *name = worker->config.attach[network->index].network;

    if (event->type == BACKBONE_ATTACHED) {
        atomic_store_explicit(&worker->has_attached, true, memory_order_relaxed);
        atomic_fetch_or_explicit(&worker->attached_now, 1u << network->index, memory_order_relaxed);
    } else if (event->type == BACKBONE_DETACHED) {
        atomic_fetch_and_explicit(&worker->attached_now, ~(1u << network->index),
                                  memory_order_relaxed);
    }
    if (event->type == BACKBONE_ATTACHED)
        md_log(MD_LOG_NOTICE, "backbone %s: worker %u attached, port %u", name, index,
               event->dst_port);
    else if (event->type == BACKBONE_DETACHED)
        md_log(MD_LOG_ERROR, "backbone %s: worker %u lost its rrcpd; trying again every second",
               name, index);
    else if (event->type == BACKBONE_OVERRUN)
        md_log(MD_LOG_WARNING, "backbone %s: worker %u was lapped on the inbound ring (userQLimit)",
               name, index);
}

static int poll_network(struct p2ps_worker_network *network)
{
    struct p2ps_worker *worker = network->worker;
    struct backbone_event events[EVENTS_MAX];
    const struct p2ps_core_stats *stats = p2ps_core_stats(worker->core);
    uint64_t images = stats->refresh_in;
    int total = 0;

    for (int i = 0; i < POLLS_A_TURN && stats->refresh_in - images < P2PS_TURN_IMAGES &&
                    !p2ps_core_is_spent(worker->core);
         i++) {
        uint64_t now_ns = md_loop_now(worker->loop);
        int count = attach_poll(network->attach, now_ns, events,
                                worker->was_spent ? FEW_EVENTS : EVENTS_MAX);
        if (count == 0) {
            worker->empty_networks |= 1u << network->index;
            break;
        }
        for (int k = 0; k < count; k++) {
            if (events[k].type != BACKBONE_MESSAGE)
                on_attachment(network, &events[k]);
            md_trace_tick(MD_TRACE_POLLED, events[k].bytes, events[k].length);
        }
        p2ps_core_backbone(worker->core, network->index, now_ns, events, (size_t)count);
        total += count;
    }
    return total;
}

static int poll_backbone(struct p2ps_worker *worker)
{
    int total = 0;

    for (unsigned i = 0; i < worker->config.core.network_count; i++)
        total += poll_network(&worker->networks[i]);
    worker->was_spent = p2ps_core_is_spent(worker->core);
    return total;
}

/* ---- the turn ---- */

static void reap(struct p2ps_worker *worker)
{
    while (worker->dead) {
        struct p2ps_mount *mount = worker->dead;
        worker->dead = mount->next;
        p2ps_mount_destroy(mount);
    }
}

static bool is_leaving(const struct p2ps_worker *worker)
{
    return worker->stop_until_ns != 0;
}

static void poll_mounts(struct p2ps_worker *worker)
{
    if (worker->polled_mounts == 0)
        return;
    for (struct p2ps_mount *mount = worker->mounts, *next; mount; mount = next) {
        next = mount->next;
        p2ps_mount_poll(mount);
    }
}

static void flush_all(struct p2ps_worker *worker)
{
    p2ps_core_flush(worker->core);
    md_trace_end(MD_TRACE_WRITTEN);
}

/* Output for consumers of each update goes out before merged updates are made. With a timer these
 * go out when all of them are made: a write for each client, unless there are very many. */
static void settle(struct p2ps_worker *worker, uint64_t now_ns)
{
    bool is_timed = worker->tuning.flush_interval_ns != 0;
    bool was_pacing = p2ps_core_is_pacing(worker->core);

    if (!is_timed && p2ps_core_is_pace_due(worker->core, now_ns))
        flush_all(worker);
    p2ps_core_settle(worker->core, now_ns);
    if (!is_timed || (was_pacing && !p2ps_core_is_pacing(worker->core)))
        flush_all(worker);
    else
        p2ps_core_flush_full(worker->core);
}

static int work(void *owner)
{
    struct p2ps_worker *worker = owner;
    uint64_t now_ns = md_loop_now(worker->loop);
    int done;

    if (is_leaving(worker)) {
        poll_mounts(worker);
        reap(worker);
        return 0;
    }
    md_trace_turn();
    done = poll_backbone(worker);
    p2ps_worker_look_behind(worker, now_ns);
    poll_mounts(worker);
    if (now_ns >= p2ps_core_tick_deadline(worker->core)) {
        p2ps_core_tick(worker->core, now_ns, worker->empty_networks);
        worker->empty_networks = 0;
    }
    settle(worker, now_ns);
    atomic_store_explicit(&worker->login_count, p2ps_core_stats(worker->core)->logins_now,
                          memory_order_relaxed);
    atomic_store_explicit(&worker->ws_login_count, p2ps_core_long_logins(worker->core),
                          memory_order_relaxed);
    for (unsigned i = 0; i < worker->config.core.network_count; i++)
        attach_flush(worker->networks[i].attach);
    reap(worker);
    return done;
}

static uint64_t deadline(void *owner)
{
    struct p2ps_worker *worker = owner;
    uint64_t result = is_leaving(worker) ? UINT64_MAX : p2ps_core_deadline(worker->core);

    if (!is_leaving(worker) && p2ps_core_has_output(worker->core))
        return 0;
    for (unsigned i = 0; !is_leaving(worker) && i < worker->config.core.network_count; i++) {
        uint64_t attach = attach_deadline(worker->networks[i].attach);
        result = attach < result ? attach : result;
    }
    if (worker->polled_mounts && md_loop_now(worker->loop) + NET_POLL_INTERVAL_NS < result)
        result = md_loop_now(worker->loop) + NET_POLL_INTERVAL_NS;
    return result;
}

/* False: an attachment was looking for work in place of asking to be woken; it asks in a turn. */
static bool arm(void *owner)
{
    struct p2ps_worker *worker = owner;
    bool may_sleep = true;

    for (unsigned i = 0; i < worker->config.core.network_count; i++)
        may_sleep = !attach_end_look(worker->networks[i].attach) && may_sleep;
    return may_sleep;
}

static void on_attach(void *owner, int fd, unsigned events)
{
    (void)owner;
    (void)fd;
    (void)events; /* the source's work() does it */
}

static void on_flush_timer(void *owner)
{
    struct p2ps_worker *worker = owner;

    if (is_leaving(worker))
        return;
    flush_all(worker);
    p2ps_core_pace(worker->core, md_loop_now(worker->loop));
}

/* From here on the core is left alone: it knows clients of whom we have taken leave. */
static void leave(struct p2ps_worker *worker)
{
    if (!is_leaving(worker)) {
        worker->stop_until_ns = md_loop_now(worker->loop) + STOP_NS;
        p2ps_core_leave(worker->core, md_loop_now(worker->loop));
        for (unsigned i = 0; i < worker->config.core.network_count; i++) {
            md_loop_fd_remove(worker->networks[i].watch); /* nobody reads there any more */
            worker->networks[i].watch = NULL;
        }
    }
    for (struct p2ps_mount *mount = worker->mounts, *next; mount; mount = next) {
        next = mount->next;
        p2ps_mount_leave(mount, worker->stop_until_ns);
    }
}

static void finish_stop(struct p2ps_worker *worker)
{
    if (!worker->mounts || md_loop_now(worker->loop) > worker->stop_until_ns)
        md_loop_stop(worker->loop);
}

/* Once a second at most: work was refused for want of memory. */
static void tell_refused(struct p2ps_worker *worker, uint64_t now_ns)
{
    uint64_t refused = p2ps_core_stats(worker->core)->refused_no_memory;

    if (refused == worker->refused_said || now_ns < worker->refused_say_ns)
        return;
    md_log(MD_LOG_WARNING,
           "memory: worker %u refused %llu items and logins: its part of memoryLimit is used up",
           worker->config.index, (unsigned long long)(refused - worker->refused_said));
    worker->refused_said = refused;
    worker->refused_say_ns = now_ns + 1000000000ull;
}

static void on_mount_timer(void *owner)
{
    struct p2ps_worker *worker = owner;
    uint64_t now_ns = md_loop_now(worker->loop);

    p2ps_room_forgive(worker, now_ns);
    for (struct p2ps_mount *mount = worker->mounts, *next; mount; mount = next) {
        next = mount->next;
        p2ps_mount_watch(mount);
        p2ps_room_look(mount, now_ns);
        p2ps_mount_tell(mount, now_ns);
        if (now_ns >= p2ps_mount_deadline(mount))
            p2ps_mount_tick(mount, now_ns);
    }
    atomic_store_explicit(&worker->alive_ns, now_ns, memory_order_relaxed);
    p2ps_worker_stats_show(worker);
    tell_refused(worker, now_ns);
    p2ps_room_tell(worker, now_ns);
    if (worker->stop_asked)
        finish_stop(worker);
}

/* ---- orders of the control loop ---- */

static uint64_t items_of_user(void *self, const char *user)
{
    return p2ps_tuning_user(self, user)->items;
}

static bool user_is_native(void *self, const char *user)
{
    return p2ps_tuning_user(self, user)->is_native;
}

static void set_ceilings(struct p2ps_worker *worker)
{
    struct p2ps_client_info client;

    for (struct p2ps_mount *mount = worker->mounts; mount; mount = mount->next) {
        if (p2ps_client_info(worker->core, mount->client, &client) && client.is_in)
            p2ps_mount_ceiling_set(mount,
                                   p2ps_tuning_user(&worker->tuning, client.user)->output_rate);
    }
}

static void take_tuning(struct p2ps_worker *worker, const struct p2ps_tuning *tuning)
{
    const struct p2ps_item_limits limits = {
        .host = tuning->host_items,
        .mount = tuning->mount_items,
        .aggregate = tuning->aggregate_items,
        .of_user = items_of_user,
        .self = &worker->tuning,
    };

    const struct p2ps_rules rules = {
        .ripples = tuning->ripples,
        .keeps_pages = tuning->keeps_pages,
        .allows_native = tuning->allows_native,
        .fills_post_user_id = tuning->fills_post_user_id,
        .hides_reasons = tuning->hides_reasons,
        .is_dry_run = tuning->is_dry_run,
        .is_native = user_is_native,
        .self = &worker->tuning,
    };

    free(worker->tuning.users);
    worker->tuning = *tuning;
    p2ps_core_item_limits_set(worker->core, &limits);
    p2ps_core_rules_set(worker->core, &rules);
    p2ps_core_rates_set(worker->core, &tuning->rates);
    p2ps_core_record_level_set(worker->core, tuning->record_level);
    set_ceilings(worker);
    p2ps_core_pace_waits(worker->core, tuning->flush_interval_ns != 0);
    worker->config.channel.packing = tuning->packing;
    if (tuning->flush_interval_ns)
        md_loop_timer_every(worker->flush_timer, tuning->flush_interval_ns);
    else
        md_loop_timer_stop(worker->flush_timer);
}

/* A letter of the control loop: the newest of each kind counts. */
struct p2ps_worker_letter {
    enum { LETTER_TUNING, LETTER_ENTITLE, LETTER_KINDS } kind;
    struct p2ps_tuning tuning;
};

/* Until now it was counted as one that comes in. */
static void take_into_room(struct p2ps_worker *worker, struct p2ps_handed *handed)
{
    if (p2ps_room_make(worker, handed->room == P2PS_ROOM_OF_ANY ? NULL : handed->protocol)) {
        handed->refusal = NULL;
        return;
    }
    md_log(MD_LOG_WARNING, "mount: host=%s refused: %s", net_stream_peer(handed->stream),
           handed->refusal);
    p2ps_mount_count(worker, handed->protocol, false, -1);
    p2ps_mount_count(worker, handed->protocol, true, 1);
}

static void take_handed(struct p2ps_worker *worker)
{
    struct p2ps_handed handed;

    for (unsigned i = 0; i < P2PS_HANDED_MAX && md_mailbox_take(&worker->handed, &handed); i++) {
        net_stream_nodelay_set(handed.stream, worker->tuning.tcp_nodelay);
        if (handed.room)
            take_into_room(worker, &handed);
        if (handed.refusal) { /* it lingers for its answer, and holds no place of its address */
            p2ps_mount_uncount_host(worker, handed.host);
            handed.host = NULL;
        }
        if (p2ps_mount_create(worker, &handed) != MD_OK) {
            p2ps_mount_count(worker, handed.protocol, handed.refusal != NULL, -1);
            p2ps_mount_uncount_host(worker, handed.host);
        }
    }
}

static void on_wake(void *owner)
{
    struct p2ps_worker *worker = owner;
    struct p2ps_worker_letter letter;
    bool entitle_again = false, was_dry_run = worker->tuning.is_dry_run;

    worker->stop_asked |= atomic_load_explicit(&worker->stop, memory_order_acquire);
    while (md_mailbox_take(&worker->orders, &letter)) {
        if (letter.kind == LETTER_TUNING)
            take_tuning(worker, &letter.tuning);
        else
            entitle_again = true;
    }
    entitle_again |= was_dry_run && !worker->tuning.is_dry_run;
    take_handed(worker);
    if (entitle_again && !is_leaving(worker))
        p2ps_core_entitle_again(worker->core, md_loop_now(worker->loop));
    if (!is_leaving(worker))
        p2ps_core_answers(worker->core, md_loop_now(worker->loop));
    p2ps_worker_orders(worker);
    if (worker->stop_asked)
        leave(worker);
}

int p2ps_worker_hand(struct p2ps_worker *worker, const struct p2ps_handed *handed)
{
    bool is_refused = handed->refusal != NULL && !handed->room;

    /* Counted now: else a burst would all go to one worker, and past maxMounts. */
    p2ps_mount_count(worker, handed->protocol, is_refused, 1);
    if (!md_mailbox_put(&worker->handed, handed)) {
        p2ps_mount_count(worker, handed->protocol, is_refused, -1);
        p2ps_mount_uncount_host(worker, handed->host);
        net_stream_close(handed->stream);
        return MD_ERR_FULL;
    }
    md_loop_wake_ring(worker->wake);
    return MD_OK;
}

static void send_letter(struct p2ps_worker *worker, const struct p2ps_worker_letter *letter)
{
    struct p2ps_worker_letter old;

    if (md_mailbox_replace(&worker->orders, letter, &old) && old.kind == LETTER_TUNING)
        free(old.tuning.users);
    md_loop_wake_ring(worker->wake);
}

void p2ps_worker_entitle_again(struct p2ps_worker *worker)
{
    send_letter(worker, &(struct p2ps_worker_letter){ .kind = LETTER_ENTITLE });
}

bool p2ps_worker_entitled_again(struct p2ps_worker *worker)
{
    return !md_mailbox_holds(&worker->orders, LETTER_ENTITLE);
}

void p2ps_worker_tune(struct p2ps_worker *worker, const struct p2ps_tuning *tuning)
{
    send_letter(worker, &(struct p2ps_worker_letter){ .kind = LETTER_TUNING, .tuning = *tuning });
}

/* ---- life ---- */

static int create_loop(struct p2ps_worker *worker)
{
    static const struct md_loop_source_ops ops = { .work = work, .deadline = deadline, .arm = arm };
    int err = md_loop_create(worker->config.busy_poll_ns, &worker->loop);

    if (err == MD_OK)
        err = md_loop_wake_create(worker->loop, on_wake, worker, &worker->wake);
    if (err == MD_OK)
        err = md_loop_timer_create(worker->loop, on_flush_timer, worker, &worker->flush_timer);
    if (err == MD_OK)
        err = md_loop_timer_create(worker->loop, on_mount_timer, worker, &worker->mount_timer);
    if (err == MD_OK)
        err = md_loop_timer_create(worker->loop, p2ps_mount_pacer_turn, worker, &worker->pacer);
    for (unsigned i = 0; i < worker->config.core.network_count && err == MD_OK; i++) {
        struct p2ps_worker_network *network = &worker->networks[i];
        err = md_loop_fd_add(worker->loop, attach_fd(network->attach), MD_LOOP_READ, on_attach,
                             worker, &network->watch);
    }
    if (err == MD_OK)
        err = md_loop_source_add(worker->loop, &ops, worker, &worker->source);
    return err;
}

static int open_networks(struct p2ps_worker *worker)
{
    int err = MD_OK;

    for (unsigned i = 0; i < worker->config.core.network_count && err == MD_OK; i++) {
        struct p2ps_worker_network *network = &worker->networks[i];
        network->worker = worker;
        network->index = i;
        err = attach_open(&worker->config.attach[i], &network->attach);
        if (err == MD_OK)
            worker->config.core.sends[i] = attach_sender(network->attach);
    }
    return err;
}

int p2ps_worker_create(const struct p2ps_worker_config *config, struct p2ps_worker **out)
{
    struct p2ps_worker *worker = calloc(1, sizeof(*worker));
    int err = worker ? MD_OK : MD_ERR_NOMEM;

    *out = NULL;
    if (err != MD_OK)
        return err;
    worker->config = *config;
    if (worker->config.core.network_count == 0)
        worker->config.core.network_count = 1;
    worker->input_size = rssl_read_size(config->channel.input_buffers,
                                        config->channel.message_size_max, P2PS_READ_LEAST);
    worker->input = malloc(worker->input_size);
    err = worker->input ? MD_OK : MD_ERR_NOMEM;
    if (err == MD_OK)
        err = md_mailbox_init(&worker->handed, sizeof(struct p2ps_handed), P2PS_HANDED_MAX, 0);
    if (err == MD_OK)
        err = md_mailbox_init(&worker->orders, sizeof(struct p2ps_worker_letter), 0, LETTER_KINDS);
    if (err == MD_OK)
        err = open_networks(worker);
    worker->config.core.note = p2ps_worker_note;
    worker->config.core.note_owner = worker;
    if (err == MD_OK)
        err = p2ps_core_create(&worker->config.core, &worker->core);
    if (err == MD_OK)
        err = rssl_pool_create(&config->pool, &worker->pool);
    if (err == MD_OK && config->ws.is_enabled)
        err = p2ps_ws_create(worker, &config->ws, &worker->ws);
    if (err == MD_OK)
        err = create_loop(worker);
    if (err == MD_OK)
        err = p2ps_worker_stats_create(worker);
    if (err != MD_OK) {
        p2ps_worker_destroy(worker);
        return err;
    }
    *out = worker;
    return MD_OK;
}

static void *run(void *argument)
{
    struct p2ps_worker *worker = argument;
    struct md_conf_object daemon =
        md_conf_object(worker->config.daemon->boot_conf, MD_CONF_DAEMON, NULL);
    char cpu[32];

    snprintf(cpu, sizeof(cpu), "writeThreadCpu.%u", worker->config.index);
    if (!*md_conf_string(&daemon, cpu))
        snprintf(cpu, sizeof(cpu), "itemThreadCpu.%u", worker->config.index);
    daemon_thread_settle(&worker->config.daemon->object, cpu);
    md_thread_settled(&worker->thread);
    md_loop_timer_every(worker->mount_timer, TICK_NS);
    if (md_loop_run(worker->loop) != MD_OK)
        md_log(MD_LOG_CRITICAL, "worker %u: its event loop failed", worker->config.index);
    return NULL;
}

int p2ps_worker_start(struct p2ps_worker *worker)
{
    return md_thread_start(&worker->thread, run, worker);
}

void p2ps_worker_join(struct p2ps_worker *worker)
{
    md_thread_join(&worker->thread);
}

void p2ps_worker_destroy(struct p2ps_worker *worker)
{
    if (!worker)
        return;
    while (worker->mounts) {
        struct p2ps_mount *mount = worker->mounts;
        worker->mounts = mount->next;
        md_loop_fd_remove(mount->watch);
        p2ps_mount_destroy(mount);
    }
    reap(worker);
    struct p2ps_handed handed;
    while (md_mailbox_take(&worker->handed, &handed)) {
        p2ps_mount_uncount_host(worker, handed.host);
        net_stream_close(handed.stream);
    }
    struct p2ps_worker_letter letter;
    while (md_mailbox_take(&worker->orders, &letter)) {
        if (letter.kind == LETTER_TUNING)
            free(letter.tuning.users);
    }
    p2ps_worker_stats_destroy(worker);
    p2ps_core_destroy(worker->core);
    p2ps_ws_destroy(worker->ws);
    free(worker->input);
    free(worker->spare);
    free(worker->tuning.users);
    rssl_pool_destroy(worker->pool);
    md_loop_source_remove(worker->source);
    for (unsigned i = 0; i < P2PS_NETWORKS_MAX; i++)
        md_loop_fd_remove(worker->networks[i].watch);
    md_loop_timer_destroy(worker->pacer);
    md_loop_timer_destroy(worker->mount_timer);
    md_loop_timer_destroy(worker->flush_timer);
    if (worker->wake)
        md_loop_wake_destroy(worker->wake);
    if (worker->loop)
        md_loop_destroy(worker->loop);
    for (unsigned i = 0; i < P2PS_NETWORKS_MAX; i++)
        attach_close(worker->networks[i].attach);
    md_mailbox_fini(&worker->handed);
    md_mailbox_fini(&worker->orders);
    free(worker);
}
