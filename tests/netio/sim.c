/* sim.c - see tests/netio/sim.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

enum { END_MAX = 64, FLIGHT_MAX = 4096 };

struct packet {
    struct packet *next;
    struct rrcp_address from;
    bool is_group;
    uint32_t length;
    uint8_t bytes[];
};

struct flight {
    uint32_t cookie;
    uint64_t due; /* count of receive calls at which it completes */
};

struct end {
    struct net_packet_io io;
    struct net_sim *sim;
    struct rrcp_address address;
    struct packet *first, **last;
    uint32_t queued;
    struct packet *given[256]; /* handed out, good until the next receive */
    int given_count;
    struct flight flights[FLIGHT_MAX];
    uint32_t flight_first, flight_count;
    uint64_t receives;
};

struct net_sim {
    struct net_sim_config config;
    struct end *ends[END_MAX];
    uint32_t made;
};

static struct end *end_of(struct net_packet_io *io)
{
    return (struct end *)io;
}

static const struct end *end_of_const(const struct net_packet_io *io)
{
    return (const struct end *)io;
}

static void limits(const struct net_packet_io *io, struct net_packet_limits *out)
{
    const struct net_sim_config *config = &end_of_const(io)->sim->config;

    *out = (struct net_packet_limits){ .payload_max = config->payload_max,
                                       .headroom = config->headroom,
                                       .send_depth = config->send_depth,
                                       .batch_max = 64,
                                       .path_count = 1 };
}

static void deliver(struct end *to, const struct end *from, const struct net_packet *packet)
{
    if (to->queued >= to->sim->config.queue_max) {
        to->io.counters.receive_drops++;
        return;
    }
    struct packet *copy = malloc(sizeof(*copy) + packet->length);
    if (!copy)
        return; /* as lost as any */
    copy->next = NULL;
    copy->from = from->address;
    copy->is_group = packet->to == NULL;
    copy->length = packet->length;
    memcpy(copy->bytes, packet->bytes, packet->length);
    *to->last = copy;
    to->last = &copy->next;
    to->queued++;
}

static bool is_for(const struct end *end, const struct end *from, const struct net_packet *packet)
{
    if (end == from)
        return false;
    return !packet->to || (packet->to->length == end->address.length &&
                           memcmp(packet->to->bytes, end->address.bytes, end->address.length) == 0);
}

static int sim_send(struct net_packet_io *io, const struct net_packet packets[], int count)
{
    struct end *end = end_of(io);
    const struct net_sim_config *config = &end->sim->config;

    for (int i = 0; i < count; i++) {
        if (config->send_depth && end->flight_count == config->send_depth) {
            io->counters.send_full++;
            return i;
        }
        if (packets[i].length > config->payload_max) {
            io->counters.send_too_big++;
        } else {
            memset(packets[i].bytes - config->headroom, 0xee, config->headroom);
            for (int e = 0; e < END_MAX; e++)
                if (end->sim->ends[e] && is_for(end->sim->ends[e], end, &packets[i]))
                    deliver(end->sim->ends[e], end, &packets[i]);
            io->counters.packets_sent++;
            io->counters.bytes_sent += packets[i].length;
        }
        if (config->send_depth)
            end->flights[(end->flight_first + end->flight_count++) % FLIGHT_MAX] =
                (struct flight){ packets[i].cookie, end->receives + config->late };
    }
    return count;
}

static int sim_complete(struct net_packet_io *io, uint32_t cookies[], int max)
{
    struct end *end = end_of(io);
    int count = 0;

    while (count < max && end->flight_count > 0 &&
           end->flights[end->flight_first].due <= end->receives) {
        cookies[count++] = end->flights[end->flight_first].cookie;
        end->flight_first = (end->flight_first + 1) % FLIGHT_MAX;
        end->flight_count--;
    }
    return count;
}

static void take_back(struct end *end)
{
    while (end->given_count > 0)
        free(end->given[--end->given_count]);
}

static int sim_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max)
{
    struct end *end = end_of(io);
    int count = 0;

    take_back(end);
    end->receives++;
    while (count < max && count < 256 && end->first) {
        struct packet *packet = end->first;

        end->first = packet->next;
        if (!end->first)
            end->last = &end->first;
        end->queued--;
        end->given[end->given_count++] = packet;
        out[count++] = (struct rrcp_arrival){ .bytes = packet->bytes,
                                              .length = packet->length,
                                              .is_group = packet->is_group,
                                              .from = &packet->from };
        io->counters.bytes_received += packet->length;
    }
    io->counters.packets_received += (uint64_t)count;
    return count;
}

static int sim_fd(const struct net_packet_io *io, int index)
{
    (void)io;
    (void)index;
    return -1;
}

static bool sim_readable(struct net_packet_io *io)
{
    return end_of(io)->first != NULL;
}

static void sim_local(const struct net_packet_io *io, int path, struct rrcp_address *out)
{
    (void)path;
    *out = end_of_const(io)->address;
}

static void sim_close(struct net_packet_io *io)
{
    struct end *end = end_of(io);

    take_back(end);
    while (end->first) {
        struct packet *packet = end->first;

        end->first = packet->next;
        free(packet);
    }
    for (int e = 0; e < END_MAX; e++)
        if (end->sim->ends[e] == end)
            end->sim->ends[e] = NULL;
    free(end);
}

static const struct net_packet_table sim_table = {
    .name = "sim",
    .limits = limits,
    .send = sim_send,
    .complete = sim_complete,
    .receive = sim_receive,
    .fd = sim_fd,
    .readable = sim_readable,
    .local = sim_local,
    .close = sim_close,
};

int net_sim_create(const struct net_sim_config *config, struct net_sim **out)
{
    *out = NULL;
    if (config->send_depth > FLIGHT_MAX)
        return MD_ERR_RANGE;
    struct net_sim *sim = calloc(1, sizeof(*sim));
    if (!sim)
        return MD_ERR_NOMEM;
    sim->config = *config;
    if (!sim->config.payload_max)
        sim->config.payload_max = 1472;
    if (!sim->config.queue_max)
        sim->config.queue_max = 65536;
    *out = sim;
    return 0;
}

void net_sim_destroy(struct net_sim *sim)
{
    for (int e = 0; sim && e < END_MAX; e++)
        MD_ASSERT(!sim->ends[e]);
    free(sim);
}

int net_sim_open(struct net_sim *sim, struct net_packet_io **out)
{
    int e = 0;

    *out = NULL;
    while (e < END_MAX && sim->ends[e])
        e++;
    if (e == END_MAX)
        return MD_ERR_FULL;
    struct end *end = calloc(1, sizeof(*end));
    if (!end)
        return MD_ERR_NOMEM;
    end->io.table = &sim_table;
    end->sim = sim;
    end->last = &end->first;
    end->address.length = 4;
    memcpy(end->address.bytes, &sim->made, 4);
    sim->made++;
    sim->ends[e] = end;
    *out = &end->io;
    return 0;
}
