/* users.c - users of a node: its inbound ring and readers of it that are fast, slow and dead; one
 * that submits nonsense. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/err.h"
#include "internal.h" /* of src/attach: the reader without a daemon */
#include "sim.h"

/*
 * I6: a slow, stopped or hostile user changes nothing for the others. The fast reader must be told
 * exactly what the engine said; the slow ones that, or how much of it they missed. Every 16th seed
 * runs again with the fast user alone (options.users_alone), and all that the engine sent and the
 * fast user was told must be the same. So nothing here draws from the simulation's generator.
 */
#define PORT         1
#define RING_BYTES   (4u << 20)
#define UNREAD_MAX   (64u << 10) /* the fast reader never is further behind, but for one message */
#define BATCH        16
#define ALIVE_NS     (300 * MS) /* then the dead one stops; until the end, when it looks again */
#define HOSTILE_EACH 50         /* runs of the node */

enum { FAST, SLOW, DEAD, READERS };

struct reader {
    struct inbound_reader reader;
    struct attach_counters counters;
    uint64_t hash;
    uint64_t messages;    /* taken, or told to be missed */
    bool has_joined_late; /* a peer was there for it only from when it was lapped */
    uint32_t *last;       /* by life: number of its last multicast message */
};

struct sim_users {
    struct attach_inbound_writer *writer;
    const struct attach_inbound_map *map;
    size_t map_bytes;
    uint64_t unread_from;
    uint64_t begin_ns;
    uint64_t runs;
    uint64_t hash;     /* of what the engine said */
    uint64_t messages; /* of it */
    bool has_lost_peers;
    struct reader readers[READERS];
};

static void mix(uint64_t *hash, uint64_t number)
{
    *hash = (*hash ^ number) * 0x9e3779b97f4a7c15ull;
    *hash ^= *hash >> 29;
}

static void mix_event(uint64_t *hash, uint32_t type, uint64_t session, uint64_t seq,
                      const uint8_t *bytes, uint32_t length)
{
    uint64_t words[2] = { 0 };

    mix(hash, type);
    mix(hash, session);
    mix(hash, seq);
    mix(hash, length);
    if (length >= sizeof(words))
        memcpy(words, bytes + length - sizeof(words), sizeof(words));
    mix(hash, words[0]);
    mix(hash, words[1]);
}

struct sim_users *users_begin(struct sim *sim, uint64_t session)
{
    struct sim_users *users = calloc(1, sizeof(*users));
    const struct attach_inbound_config config = {
        .size = RING_BYTES,
        .session = session,
        .message_max = 1u << 20,
    };

    MD_ASSERT(users && attach_inbound_create(&config, &users->writer) == 0);
    users->begin_ns = simnet_now(sim->net);
    users->map_bytes = sizeof(*users->map) + RING_BYTES;
    users->map =
        mmap(NULL, users->map_bytes, PROT_READ, MAP_SHARED, attach_inbound_fd(users->writer), 0);
    MD_ASSERT(users->map != MAP_FAILED);
    for (int i = 0; i < READERS; i++) {
        struct reader *reader = &users->readers[i];

        reader->reader.counters = &reader->counters;
        reader->last = calloc(sim->check.life_max, sizeof(*reader->last));
        MD_ASSERT(reader->last);
        MD_ASSERT(inbound_start(&reader->reader, users->map, PORT) == 0);
    }
    return users;
}

/* ---- what readers are told ---------------------------------------------------------------- */

static void take_message(struct sim *sim, struct reader *reader, const struct backbone_event *event)
{
    struct message_head head;
    const struct sim_life *life = check_life(&sim->check, event->session);

    reader->messages++;
    if (sim->is_forged || !life || event->length < sizeof(head) ||
        (event->flags & BACKBONE_FLAG_UNICAST))
        return;
    memcpy(&head, event->bytes, sizeof(head));
    if (sim->has_hostile && memcmp(event->bytes, forger_mark, sizeof(forger_mark)) == 0)
        return;
    uint32_t *last = &reader->last[event->session & 0xffff];

    if (head.session != event->session || head.number <= *last)
        sim_fail(sim, "I6: a user got message %u of node %d after %u", head.number, life->node,
                 *last);
    *last = head.number;
}

static void take(struct sim *sim, struct reader *reader, const struct backbone_event *event)
{
    bool is_overrun = event->type == BACKBONE_GAP && event->reason == BACKBONE_GAP_OVERRUN;

    if (event->type == BACKBONE_MESSAGE)
        take_message(sim, reader, event);
    if (is_overrun) {
        reader->messages += event->count;
        sim->coverage->gaps[BACKBONE_GAP_OVERRUN]++;
    }
    reader->has_joined_late |= event->type == BACKBONE_PEER_UP && reader->counters.overruns > 0;
    mix_event(&reader->hash, event->type, event->session, event->seq, event->bytes, event->length);
}

/* 0: all that there is. */
static void read_some(struct sim *sim, struct reader *reader, int max)
{
    struct backbone_event events[BATCH];
    int taken = 0;
    int n;

    while ((max == 0 || taken < max) &&
           (n = inbound_read(&reader->reader, events, max == 0 ? BATCH : 1)) > 0) {
        for (int i = 0; i < n; i++)
            take(sim, reader, &events[i]);
        taken += n;
    }
}

/* ---- what the engine says ----------------------------------------------------------------- */

static uint32_t type_of(const struct backbone_event *event)
{
    static const uint8_t types[] = {
        [BACKBONE_MESSAGE] = BACKBONE_MESSAGE,     [BACKBONE_GAP] = BACKBONE_GAP,
        [BACKBONE_PEER_UP] = BACKBONE_PEER_UP,     [BACKBONE_PEER_DOWN] = BACKBONE_PEER_DOWN,
        [BACKBONE_USER_DOWN] = BACKBONE_USER_DOWN, [BACKBONE_TX_DROPPED] = BACKBONE_TX_DROPPED,
        [BACKBONE_PEER_INFO] = BACKBONE_PEER_INFO
    };

    return types[event->type];
}

static void publish(struct sim *sim, struct sim_users *users)
{
    attach_inbound_publish(users->writer);
    users->unread_from = attach_inbound_position(users->writer);
    read_some(sim, &users->readers[FAST], 0);
}

void users_event(struct sim *sim, struct sim_users *users, const struct backbone_event *event)
{
    bool is_for_port = event->dst_port == 0 || event->dst_port == PORT;
    bool is_message = event->type == BACKBONE_MESSAGE;
    bool has_seq = is_message || event->type == BACKBONE_GAP;
    bool has_bytes =
        is_message || event->type == BACKBONE_PEER_UP || event->type == BACKBONE_PEER_INFO;

    if (event->type == BACKBONE_TX_READY)
        return; /* by the outbound ring */
    users->messages += is_message;
    users->has_lost_peers |= event->type == BACKBONE_PEER_DOWN;
    if (is_for_port || (!is_message && event->type != BACKBONE_TX_DROPPED))
        mix_event(&users->hash, type_of(event), event->session, has_seq ? event->seq : 0,
                  event->bytes, has_bytes && event->bytes ? event->length : 0);
    attach_inbound_put(users->writer, event);
    if (attach_inbound_position(users->writer) - users->unread_from > UNREAD_MAX)
        publish(sim, users);
}

/* ---- one run of the node ------------------------------------------------------------------ */

/* What the engine must refuse, and be as if nobody had asked. */
static void submit_nonsense(struct sim *sim, struct rrcp *r, uint64_t now_ns, int port, uint64_t n)
{
    const uint32_t too_long = sim->options.config.message_bytes_max + 1;
    const struct rrcp_msg nonsense[] = {
        { .bytes = sim->scratch, .length = 48, .topic = RRCP_TOPIC_USER_DOWN },
        { .bytes = sim->scratch, .length = too_long },
        { .bytes = sim->scratch, .length = 48, .flags = 0x8000 },
        { .bytes = sim->scratch, .length = 48, .flags = RRCP_MSG_UNICAST },
    };

    if (rrcp_submit(r, now_ns, port, &nonsense[n % 4]) != MD_ERR_RANGE)
        sim_fail(sim, "I6: nonsense %llu of a user was accepted", (unsigned long long)(n % 4));
    sim->coverage->nonsense++;
}

void users_run(struct sim *sim, struct sim_users *users, struct rrcp *r, uint64_t now_ns, int port)
{
    users->runs++;
    publish(sim, users);
    if (sim->options.users_alone)
        return;
    if (simnet_now(sim->net) < users->begin_ns + ALIVE_NS)
        read_some(sim, &users->readers[DEAD], 0);
    if (users->runs % 4 == 0)
        read_some(sim, &users->readers[SLOW], 1);
    if (users->runs % HOSTILE_EACH == 0)
        submit_nonsense(sim, r, now_ns, port, users->runs / HOSTILE_EACH);
}

static void check_reader(struct sim *sim, const struct sim_users *users, int i)
{
    const struct reader *reader = &users->readers[i];
    uint64_t messages = reader->messages + reader->counters.messages_skipped;

    if (i == FAST && (reader->hash != users->hash || reader->counters.overruns != 0))
        sim_fail(sim, "I6: a fast user was not told what the engine said");
    bool may_not_know =
        reader->counters.overruns > 0 && (users->has_lost_peers || reader->has_joined_late);

    /* Of peers that are gone a lapped reader is told only that, and of new ones not what was. */
    if (messages != users->messages && !may_not_know)
        sim_fail(sim, "I6: a %s user knows of %llu messages, there were %llu",
                 i == FAST ? "fast" : "slow", (unsigned long long)messages,
                 (unsigned long long)users->messages);
}

void users_end(struct sim *sim, struct sim_users *users)
{
    publish(sim, users);
    for (int i = 0; i < READERS; i++) {
        if (i == FAST || !sim->options.users_alone) {
            read_some(sim, &users->readers[i], 0);
            check_reader(sim, users, i);
        }
        inbound_fini(&users->readers[i].reader);
        free(users->readers[i].last);
    }
    mix(&sim->users_hash, users->readers[FAST].hash);
    munmap((void *)(uintptr_t)users->map, users->map_bytes);
    attach_inbound_destroy(users->writer);
    free(users);
}
