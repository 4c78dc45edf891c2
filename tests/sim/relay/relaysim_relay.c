/* relaysim_relay.c - engines in a simulated network, and relays. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "relaysim.h"

void fail(struct world *w, const char *format, ...)
{
    va_list arguments;

    if (w->failed)
        return;
    va_start(arguments, format);
    vsnprintf(w->why, sizeof(w->why), format, arguments);
    va_end(arguments);
    w->failed = w->why;
}

static void *take(void *context, size_t bytes)
{
    (void)context;
    return calloc(1, bytes);
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

int world_session(const struct world *w, uint64_t session)
{
    for (int i = w->session_count - 1; i >= 0; i--)
        if (w->sessions[i] == session)
            return i;
    return -1;
}

/* All know all addresses. */
static void set_mesh(const struct world *w, const struct place *place, struct rrcp_config *config)
{
    struct rrcp_mesh_config *mesh = &config->mesh;
    const struct simnet *net = w->nets[place->net];

    if (!w->is_mesh[place->net])
        return;
    config->peers_max = RRCP_MESH_PEERS_MAX;
    mesh->is_on = true;
    simnet_address(net, place->index, 0, &mesh->self);
    for (int i = 0; i < w->places[place->net]; i++)
        simnet_address(net, i, 0, &mesh->seeds[mesh->seed_count++]);
}

void place_want(struct world *w, struct place *place, const uint32_t topics[], int count)
{
    if (w->is_mesh[place->net])
        rrcp_interest_set(place->engine, w->now_ns, topics, (uint32_t)count);
}

void place_start(struct world *w, struct place *place, const char *name, int owner)
{
    struct rrcp_config config;
    struct rrcp_env env = { .take = take,
                            .give = give,
                            .seed = { md_prng_u64(&w->prng), md_prng_u64(&w->prng) },
                            .seal = &w->seal };
    char network[16];

    rrcp_config_init(&config);
    snprintf(network, sizeof(network), "net%d", place->net);
    config.network = network;
    config.node = name;
    config.pool_packets = 8192;
    config.window_packets = 4096;
    config.message_bytes_max = 64 << 10;
    set_mesh(w, place, &config);
    config.key_count = w->is_sealed[place->net];
    config.encrypts = true;
    config.keys[0].bytes[0] = (uint8_t)place->net;
    if (owner < 0 && place->net == 1)
        config.data_rate = w->data_rate;
    if (rrcp_create(&config, &env, &place->engine) != MD_OK)
        abort();
    simnet_flush(w->nets[place->net], place->index);
    place->is_up = true;
    if (w->session_count == SESSIONS_MAX)
        abort();
    w->owner[w->session_count] = owner;
    w->home[w->session_count] = place->net;
    w->sessions[w->session_count++] = rrcp_session(place->engine);
}

void place_receive(struct world *w, struct place *place)
{
    struct rrcp_arrival in[PACKETS_MAX];
    int count = simnet_receive(w->nets[place->net], place->index, in, PACKETS_MAX);

    rrcp_input(place->engine, w->now_ns, in, count);
}

static void send_to_each(struct world *w, const struct place *place, const struct rrcp_packet *p)
{
    struct rrcp_address addresses[RRCP_MESH_PEERS_MAX];
    uint64_t places[RRCP_MESH_PEERS_MAX];
    int count = rrcp_group(place->engine, addresses, places, RRCP_MESH_PEERS_MAX), path;

    for (int i = 0; i < count; i++)
        if ((places[i] & ~p->skipped) != 0)
            simnet_send(w->nets[place->net], place->index, 0,
                        simnet_node_of(w->nets[place->net], &addresses[i], &path), p->bytes,
                        p->length);
}

void place_send(struct world *w, struct place *place)
{
    struct rrcp_packet out[PACKETS_MAX];
    int count;

    rrcp_tick(place->engine, w->now_ns);
    while ((count = rrcp_output(place->engine, w->now_ns, out, PACKETS_MAX)) > 0)
        for (int i = 0; i < count; i++) {
            int path;
            int to =
                out[i].to ? simnet_node_of(w->nets[place->net], out[i].to, &path) : SIMNET_GROUP;

            if (to == SIMNET_GROUP && w->is_mesh[place->net])
                send_to_each(w, place, &out[i]);
            else
                simnet_send(w->nets[place->net], place->index, out[i].path, to, out[i].bytes,
                            out[i].length);
        }
}

/* ---- relays --------------------------------------------------------------------------------- */

void relay_begin(struct world *w, struct relay *relay)
{
    static const struct forward_name services[] = { { "IDN", 3 } };
    struct forward_config config = { .services = services,
                                     .service_count = 1,
                                     .queue_bytes = 2 << 20,
                                     .id = w->now_ns / STEP_NS + 1 };
    uint32_t topics[8];
    char name[32];

    config.id = config.id << 20 | (md_prng_u64(&w->prng) & 0xFFFFF);
    for (int i = 0; i < FORWARD_SIDES; i++) {
        snprintf(name, sizeof(name), "relay%d.%d.rrcpd", (int)(relay - w->relays), i);
        place_start(w, &relay->places[i], name, -1);
        config.session[i] = rrcp_session(relay->places[i].engine);
        config.message_bytes_max[i] = 64 << 10;
    }
    if (forward_create(&config, &relay->forward) != MD_OK)
        abort();
    for (int i = 0; i < FORWARD_SIDES; i++)
        place_want(w, &relay->places[i], topics, forward_interest(relay->forward, topics, 8));
    relay->is_up = true;
}

void relay_end(struct world *w, struct relay *relay)
{
    for (int i = 0; i < FORWARD_SIDES; i++) {
        w->forwarded += forward_counters(relay->forward, i)->messages;
        rrcp_destroy(relay->places[i].engine);
        relay->places[i].engine = NULL;
        relay->places[i].is_up = false;
    }
    forward_destroy(relay->forward);
    relay->forward = NULL;
    relay->is_up = false;
}

static void relay_events(struct world *w, struct relay *relay, int side)
{
    struct backbone_event events[256];
    int count;

    while ((count = rrcp_event(relay->places[side].engine, events, 256)) > 0)
        for (int i = 0; i < count; i++)
            forward_input(relay->forward, w->now_ns, side, &events[i]);
}

void relay_run(struct world *w, struct relay *relay)
{
    for (int i = 0; i < FORWARD_SIDES; i++) {
        place_receive(w, &relay->places[i]);
        relay_events(w, relay, i);
    }
    forward_tick(relay->forward, w->now_ns);
    for (int i = 0; i < FORWARD_SIDES; i++) {
        struct rrcp *engine = relay->places[i].engine;
        const struct rrcp_counters *counters = rrcp_counters(engine);
        struct rrcp_msg msg;

        while (forward_peek(relay->forward, i, &msg)) {
            uint64_t dropped = counters->unicast_dropped;

            int err = rrcp_submit(engine, w->now_ns, RELAY_PORT, &msg);
            if (err == MD_ERR_FULL)
                break;
            forward_take(relay->forward, i, err || counters->unicast_dropped != dropped);
        }
        place_send(w, &relay->places[i]);
        relay_events(w, relay, i);
    }
}
