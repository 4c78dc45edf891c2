/* simnet.c - see simnet.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simnet.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

struct packet {
    uint32_t references;
    uint32_t length;
    struct rrcp_address from;
    uint8_t path;
    bool is_group;
    uint8_t hostile; /* enum simnet_hostile */
    uint8_t bytes[];
};

enum event_kind { EVENT_DELIVER, EVENT_WAKE };

struct event {
    uint64_t at_ns;
    uint64_t order; /* of equal times the one scheduled first */
    struct packet *packet;
    int node;
    enum event_kind kind;
};

struct node {
    struct simnet_faults in;
    struct simnet_faults out;
    bool in_burst;
    uint64_t wake_ns;
    uint64_t busy_ns;
    struct packet **socket; /* ring */
    uint32_t socket_size;
    uint32_t head, count;
    size_t bytes;
    struct packet **lent; /* handed out by the last receive */
    uint32_t lent_count, lent_size;
};

struct simnet {
    struct simnet_config config;
    struct simnet_counters counters;
    struct md_prng prng;
    uint64_t now_ns;
    uint64_t order;
    struct node *nodes;
    uint8_t *blocked;
    uint64_t *link_ns; /* last delivery from -> to: links keep order */
    struct event *heap;
    size_t heap_count, heap_size;
    enum simnet_hostile hostile; /* what is injected now */
};

const char *simnet_fault_name(enum simnet_fault fault)
{
    static const char *const names[SIMNET_FAULT_count] = { "loss",      "burst",    "sender loss",
                                                           "path loss", "reorder",  "duplicate",
                                                           "corrupt",   "truncate", "mtu",
                                                           "partition", "overflow" };

    return (unsigned)fault < SIMNET_FAULT_count ? names[fault] : "?";
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    MD_ASSERT(memory);
    return memory;
}

struct simnet *simnet_create(const struct simnet_config *config)
{
    struct simnet *net = allocate(1, sizeof(*net));
    size_t nodes = (size_t)config->nodes;

    net->config = *config;
    net->prng = md_prng_init(config->seed);
    net->nodes = allocate(nodes, sizeof(*net->nodes));
    net->blocked = allocate(nodes, nodes);
    net->link_ns = allocate(2 * nodes * nodes, sizeof(*net->link_ns));
    for (size_t i = 0; i < nodes; i++) {
        net->nodes[i].wake_ns = UINT64_MAX;
        net->nodes[i].in.delay_min_ns = 50000;
        net->nodes[i].in.delay_max_ns = 100000;
        net->nodes[i].out.delay_min_ns = net->nodes[i].out.delay_max_ns = 10000;
    }
    return net;
}

static void packet_give(struct packet *packet)
{
    if (--packet->references == 0)
        free(packet);
}

void simnet_flush(struct simnet *net, int index)
{
    struct node *node = &net->nodes[index];

    for (; node->count > 0; node->count--, node->head++)
        packet_give(node->socket[node->head % node->socket_size]);
    for (uint32_t i = 0; i < node->lent_count; i++)
        packet_give(node->lent[i]);
    node->lent_count = 0;
    node->bytes = 0;
}

void simnet_destroy(struct simnet *net)
{
    if (!net)
        return;
    for (size_t i = 0; i < net->heap_count; i++)
        if (net->heap[i].kind == EVENT_DELIVER)
            packet_give(net->heap[i].packet);
    for (int i = 0; i < net->config.nodes; i++) {
        simnet_flush(net, i);
        free(net->nodes[i].socket);
        free(net->nodes[i].lent);
    }
    free(net->nodes);
    free(net->blocked);
    free(net->link_ns);
    free(net->heap);
    free(net);
}

uint64_t simnet_now(const struct simnet *net)
{
    return net->now_ns;
}

struct simnet_faults *simnet_in(struct simnet *net, int node)
{
    return &net->nodes[node].in;
}

struct simnet_faults *simnet_out(struct simnet *net, int node)
{
    return &net->nodes[node].out;
}

void simnet_block(struct simnet *net, int from, int to, bool is_blocked)
{
    net->blocked[from * net->config.nodes + to] = is_blocked;
}

void simnet_heal(struct simnet *net)
{
    memset(net->blocked, 0, (size_t)net->config.nodes * (size_t)net->config.nodes);
    for (int i = 0; i < net->config.nodes; i++) {
        struct simnet_faults *in = &net->nodes[i].in;
        struct simnet_faults *out = &net->nodes[i].out;

        *in = (struct simnet_faults){ .delay_min_ns = in->delay_min_ns,
                                      .delay_max_ns = in->delay_max_ns };
        *out = (struct simnet_faults){ .delay_min_ns = out->delay_min_ns,
                                       .delay_max_ns = out->delay_max_ns };
        net->nodes[i].in_burst = false;
    }
}

/* Five shapes of address, so that nothing depends on one. */
void simnet_address(const struct simnet *net, int node, int path, struct rrcp_address *out)
{
    static const uint8_t lengths[SIMNET_personalities] = { 6, 20, RRCP_ADDRESS_BYTES_MAX, 24, 22 };

    *out = (struct rrcp_address){ .length = lengths[net->config.personality] };
    out->bytes[0] = (uint8_t)(10 + path);
    out->bytes[1] = (uint8_t)(node >> 8);
    out->bytes[2] = (uint8_t)node;
    out->bytes[out->length - 1] = 0x5a;
}

int simnet_node_of(const struct simnet *net, const struct rrcp_address *address, int *path)
{
    struct rrcp_address want;
    int node = address->bytes[1] << 8 | address->bytes[2];

    *path = address->bytes[0] - 10;
    if (node >= net->config.nodes || *path < 0 || *path > 1)
        return -1;
    simnet_address(net, node, *path, &want);
    return want.length == address->length && memcmp(want.bytes, address->bytes, want.length) == 0
               ? node
               : -1;
}

/* ---- the queue of events ------------------------------------------------------------------ */

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void heap_push(struct simnet *net, struct event event)
{
    size_t at = net->heap_count++;

    if (net->heap_count > net->heap_size) {
        net->heap_size = net->heap_size ? 2 * net->heap_size : 1024;
        net->heap = realloc(net->heap, net->heap_size * sizeof(*net->heap));
        MD_ASSERT(net->heap);
    }
    event.order = net->order++;
    while (at > 0 && is_before(&event, &net->heap[(at - 1) / 2])) {
        net->heap[at] = net->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    net->heap[at] = event;
}

static struct event heap_pop(struct simnet *net)
{
    struct event top = net->heap[0];
    struct event last = net->heap[--net->heap_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= net->heap_count)
            break;
        if (child + 1 < net->heap_count && is_before(&net->heap[child + 1], &net->heap[child]))
            child++;
        if (!is_before(&net->heap[child], &last))
            break;
        net->heap[at] = net->heap[child];
        at = child;
    }
    if (net->heap_count > 0)
        net->heap[at] = last;
    return top;
}

/* ---- sending ------------------------------------------------------------------------------ */

static bool strikes(struct simnet *net, enum simnet_fault fault, uint32_t ppm)
{
    if (ppm == 0 || !md_prng_chance(&net->prng, ppm))
        return false;
    net->counters.faults[fault]++;
    return true;
}

static struct packet *packet_make(const uint8_t *bytes, uint32_t length)
{
    struct packet *packet = allocate(1, sizeof(*packet) + length + 1);

    packet->references = 1;
    packet->length = length;
    memcpy(packet->bytes, bytes, length);
    return packet;
}

static bool is_lost(struct simnet *net, int from, int to, int path, uint32_t length)
{
    struct node *node = &net->nodes[to];
    const struct simnet_faults *f = &node->in;

    if (net->blocked[from * net->config.nodes + to]) {
        net->counters.faults[SIMNET_FAULT_PARTITION]++;
        return true;
    }
    if (f->mtu && length > f->mtu) {
        net->counters.faults[SIMNET_FAULT_MTU]++;
        return true;
    }
    if (f->burst_end_ppm) {
        if (node->in_burst)
            node->in_burst = !md_prng_chance(&net->prng, f->burst_end_ppm);
        else
            node->in_burst = md_prng_chance(&net->prng, f->burst_begin_ppm);
        if (node->in_burst) {
            net->counters.faults[SIMNET_FAULT_BURST]++;
            return true;
        }
    }
    return strikes(net, SIMNET_FAULT_PATH, f->path_loss_ppm[path]) ||
           strikes(net, SIMNET_FAULT_LOSS, f->loss_ppm);
}

static struct packet *damage(struct simnet *net, const struct simnet_faults *f,
                             struct packet *packet)
{
    bool is_cut = strikes(net, SIMNET_FAULT_TRUNCATE, f->truncate_ppm);
    bool is_bent = strikes(net, SIMNET_FAULT_CORRUPT, f->corrupt_ppm);
    struct packet *copy;

    if (!is_cut && !is_bent)
        return packet;
    copy = packet_make(packet->bytes, packet->length);
    copy->from = packet->from;
    copy->path = packet->path;
    copy->is_group = packet->is_group;
    packet_give(packet);
    if (is_cut)
        copy->length = md_prng_below(&net->prng, copy->length);
    for (uint32_t i = md_prng_below(&net->prng, 4); is_bent && copy->length; i--) {
        copy->bytes[md_prng_below(&net->prng, copy->length)] ^=
            (uint8_t)(1u << md_prng_below(&net->prng, 8));
        if (i == 0)
            break;
    }
    return copy;
}

static void carry(struct simnet *net, int from, int to, struct packet *packet)
{
    const struct simnet_faults *in = &net->nodes[to].in;
    const struct simnet_faults *out = &net->nodes[from].out;
    uint64_t *link_ns = &net->link_ns[2 * (from * net->config.nodes + to) + packet->path];
    uint64_t spread = in->delay_max_ns - in->delay_min_ns;
    uint64_t at_ns = net->now_ns + in->delay_min_ns + out->delay_min_ns;

    at_ns += in->path_delay_ns[packet->path];

    if (is_lost(net, from, to, packet->path, packet->length))
        return;
    if (spread)
        at_ns += md_prng_u64(&net->prng) % spread;
    if (strikes(net, SIMNET_FAULT_REORDER, in->reorder_ppm)) {
        at_ns += md_prng_u64(&net->prng) % in->reorder_ns;
    } else {
        if (at_ns < *link_ns)
            at_ns = *link_ns;
        *link_ns = at_ns;
    }
    for (bool again = true; again; at_ns += 1000 + md_prng_below(&net->prng, 300000)) {
        packet->references++; /* NOLINT(clang-analyzer-unix.Malloc): it cannot count */
        heap_push(net, (struct event){ .at_ns = at_ns,
                                       .node = to,
                                       .kind = EVENT_DELIVER,
                                       .packet = damage(net, in, packet) });
        again = strikes(net, SIMNET_FAULT_DUPLICATE, in->duplicate_ppm);
    }
}

void simnet_send(struct simnet *net, int from, int path, int to, const uint8_t *bytes,
                 uint32_t length)
{
    struct packet *packet = packet_make(bytes, length);

    net->counters.sent++;
    packet->path = (uint8_t)path;
    packet->is_group = to == SIMNET_GROUP;
    simnet_address(net, from, path, &packet->from);
    if (to != SIMNET_GROUP) {
        carry(net, from, to, packet);
    } else if (!strikes(net, SIMNET_FAULT_SENDER, net->nodes[from].out.sender_loss_ppm)) {
        for (int i = 0; i < net->config.nodes; i++)
            if (i != from || net->config.personality != SIMNET_COPIES)
                carry(net, from, i, packet);
    }
    packet_give(packet);
}

void simnet_inject(struct simnet *net, int to, const struct rrcp_address *from,
                   const uint8_t *bytes, uint32_t length, bool is_group)
{
    struct packet *packet = packet_make(bytes, length);

    packet->from = *from;
    packet->is_group = is_group;
    packet->hostile = (uint8_t)net->hostile;
    heap_push(net, (struct event){
                       .at_ns = net->now_ns, .node = to, .kind = EVENT_DELIVER, .packet = packet });
}

/* ---- receiving ---------------------------------------------------------------------------- */

static void socket_put(struct simnet *net, struct node *node, struct packet *packet)
{
    /* A kernel counts its own overhead too. */
    if ((net->config.socket_bytes &&
         node->bytes + packet->length + 256 > net->config.socket_bytes) ||
        (net->config.ring_packets && node->count >= net->config.ring_packets)) {
        net->counters.faults[SIMNET_FAULT_OVERFLOW]++;
        packet_give(packet);
        return;
    }
    if (node->count == node->socket_size) {
        uint32_t size = node->socket_size ? 2 * node->socket_size : 64;
        struct packet **grown = allocate(size, sizeof(struct packet *));

        for (uint32_t i = 0; i < node->count; i++)
            grown[i] = node->socket[(node->head + i) % node->socket_size];
        free(node->socket);
        node->socket = grown;
        node->socket_size = size;
        node->head = 0;
    }
    node->socket[(node->head + node->count++) % node->socket_size] = packet;
    node->bytes += packet->length + 256;
    net->counters.delivered++;
}

void simnet_hostile(struct simnet *net, enum simnet_hostile kind)
{
    net->hostile = kind;
}

enum simnet_hostile simnet_is_hostile(const struct simnet *net, int index, int arrival)
{
    return (enum simnet_hostile)net->nodes[index].lent[arrival]->hostile;
}

int simnet_receive(struct simnet *net, int index, struct rrcp_arrival out[], int max)
{
    struct node *node = &net->nodes[index];
    int n = 0;

    for (uint32_t i = 0; i < node->lent_count; i++)
        packet_give(node->lent[i]);
    node->lent_count = 0;
    if (node->lent_size < (uint32_t)max) {
        node->lent = realloc(node->lent, (size_t)max * sizeof(struct packet *));
        node->lent_size = (uint32_t)max;
        MD_ASSERT(node->lent);
    }
    for (; n < max && node->count > 0; n++) {
        struct packet *packet = node->socket[node->head++ % node->socket_size];

        node->count--;
        node->bytes -= packet->length + 256;
        node->lent[node->lent_count++] = packet;
        out[n] = (struct rrcp_arrival){
            .bytes = packet->bytes,
            .length = packet->length,
            .path = packet->path,
            .is_group = packet->is_group,
            .from = &packet->from,
        };
    }
    return n;
}

bool simnet_is_waiting(const struct simnet *net, int node)
{
    return net->nodes[node].count > 0;
}

/* ---- time --------------------------------------------------------------------------------- */

void simnet_wake(struct simnet *net, int index, uint64_t at_ns)
{
    struct node *node = &net->nodes[index];

    if (at_ns < node->busy_ns)
        at_ns = node->busy_ns;
    if (at_ns < net->now_ns)
        at_ns = net->now_ns;
    if (at_ns >= node->wake_ns || at_ns == UINT64_MAX)
        return;
    node->wake_ns = at_ns;
    heap_push(net, (struct event){ .at_ns = at_ns, .node = index, .kind = EVENT_WAKE });
}

void simnet_busy(struct simnet *net, int index, uint64_t until_ns)
{
    struct node *node = &net->nodes[index];

    node->busy_ns = until_ns;
    if (node->wake_ns < until_ns) {
        node->wake_ns = UINT64_MAX;
        simnet_wake(net, index, until_ns);
    }
}

bool simnet_step(struct simnet *net, uint64_t until_ns, int *index)
{
    while (net->heap_count > 0 && net->heap[0].at_ns <= until_ns) {
        struct event event = heap_pop(net);
        struct node *node = &net->nodes[event.node];

        net->now_ns = event.at_ns;
        if (event.kind == EVENT_DELIVER) {
            socket_put(net, node, event.packet); /* NOLINT(clang-analyzer-unix.Malloc): the same */
            simnet_wake(net, event.node, net->now_ns);
        } else if (node->wake_ns == event.at_ns) {
            node->wake_ns = UINT64_MAX;
            *index = event.node;
            return true;
        }
    }
    if (until_ns > net->now_ns)
        net->now_ns = until_ns;
    return false;
}

const struct simnet_counters *simnet_counters(const struct simnet *net)
{
    return &net->counters;
}
