/* mesh.c - see mesh.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh.h"

#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "budget.h"
#include "common.h"
#include "pass.h"

/*
 * The book has the addresses that a node may speak to: those of the configuration (seeds), and
 * those that a live peer has named. An address without a live peer gets a probe now and then: a
 * BEACON to it alone. Who is probed asks for a proof, as ever, and so does the prober when that
 * question arrives; after one and a half round trips each has the other. A live peer gets all that
 * goes to the group; nobody else does.
 */

#define PROBE_RATE   10 /* a second, to all addresses together */
#define PROBE_BURST  1
#define PROBE_NS_MIN (100 * RRCP_MS) /* to one address; doubled up to the longest */
#define PROBE_NS_MAX (1 * RRCP_S)
#define FORGET_NS    (600 * RRCP_S) /* a learnt address without a peer */
#define STALE_NS                                                                                   \
    (10 * RRCP_S) /* it makes room: its live peer would be named each second or two                \
                   */
#define MEMBERS_BYTES 1024

static bool is_same(const struct rrcp_address *a, const struct rrcp_address *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

static struct mesh_entry *find(struct rrcp_mesh *m, const struct rrcp_address *address)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (is_same(&m->entries[i].address, address))
            return &m->entries[i];
    return NULL;
}

static void remove_entry(struct rrcp_mesh *m, struct mesh_entry *entry)
{
    *entry = m->entries[--m->count];
}

static bool is_idle(const struct mesh_entry *entry)
{
    return !entry->is_seed && entry->session == 0;
}

/* Makes room: of the addresses without a peer that goes which was named longest ago. False: all
 * have a peer, or were named since `age_ns` ago. */
static bool evict(struct rrcp *r, uint64_t age_ns)
{
    struct rrcp_mesh *m = &r->mesh;
    struct mesh_entry *oldest = NULL;

    for (uint32_t i = 0; i < m->count; i++)
        if (is_idle(&m->entries[i]) && (!oldest || m->entries[i].named_ns < oldest->named_ns))
            oldest = &m->entries[i];
    if (!oldest || r->now_ns - oldest->named_ns < age_ns)
        return false;
    remove_entry(m, oldest);
    r->counters.mesh_forgotten++;
    return true;
}

static struct mesh_entry *add(struct rrcp *r, const struct rrcp_address *address)
{
    struct rrcp_mesh *m = &r->mesh;

    if (m->count == MESH_BOOK_MAX && !evict(r, STALE_NS)) {
        r->counters.mesh_full++;
        return NULL;
    }
    struct mesh_entry *entry = &m->entries[m->count++];

    *entry =
        (struct mesh_entry){ .address = *address, .named_ns = r->now_ns, .since_ns = r->now_ns };
    entry->probe_due_ns = r->now_ns;
    m->due_ns = rrcp_min(m->due_ns, r->now_ns);
    return entry;
}

void rrcp_mesh_init(struct rrcp *r)
{
    const struct rrcp_mesh_config *config = &r->config.mesh;

    r->mesh.due_ns = RRCP_NEVER;
    for (uint32_t i = 0; config->is_on && i < config->seed_count; i++) {
        if (is_same(&config->seeds[i], &config->self) || find(&r->mesh, &config->seeds[i]))
            continue; /* one list may serve all nodes */
        struct mesh_entry *entry = add(r, &config->seeds[i]);

        if (entry)
            entry->is_seed = true;
    }
}

/* ---- probes ------------------------------------------------------------------------------- */

/* The addresses take turns: the budget may be smaller than the number of those that are due. */
static struct mesh_entry *next_due(struct rrcp *r)
{
    struct rrcp_mesh *m = &r->mesh;

    for (uint32_t i = 0; i < m->count; i++) {
        struct mesh_entry *entry = &m->entries[(m->turn + i) % m->count];

        if (entry->session != 0 || entry->probe_due_ns > r->now_ns)
            continue;
        m->turn += i;
        return entry;
    }
    return NULL;
}

static void forget(struct rrcp *r)
{
    struct rrcp_mesh *m = &r->mesh;

    for (uint32_t i = m->count; i-- > 0;)
        if (is_idle(&m->entries[i]) && r->now_ns - m->entries[i].named_ns > FORGET_NS) {
            remove_entry(m, &m->entries[i]);
            r->counters.mesh_forgotten++;
        }
}

static void set_due(struct rrcp *r)
{
    struct rrcp_mesh *m = &r->mesh;

    m->due_ns = RRCP_NEVER;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->entries[i].session == 0)
            m->due_ns = rrcp_min(m->due_ns, m->entries[i].probe_due_ns);
    if (m->due_ns <= r->now_ns) /* no budget now */
        m->due_ns = r->now_ns + RRCP_S / PROBE_RATE;
}

const struct rrcp_address *rrcp_mesh_probe(struct rrcp *r)
{
    struct rrcp_mesh *m = &r->mesh;

    if (m->due_ns > r->now_ns)
        return NULL;
    forget(r);
    struct mesh_entry *entry = next_due(r);

    if (!entry || !rrcp_budget_take(&m->probe_budget, r->now_ns, 1, PROBE_RATE, PROBE_BURST)) {
        set_due(r);
        return NULL;
    }
    m->turn++;
    entry->probe_due_ns =
        r->now_ns + rrcp_min(PROBE_NS_MIN << rrcp_min(entry->tries, 8), PROBE_NS_MAX);
    entry->tries++;
    r->counters.mesh_probes++;
    return &entry->address;
}

/* ---- our beacons -------------------------------------------------------------------------- */

uint32_t rrcp_mesh_write_self(const struct rrcp *r, struct packet_beacon *p, uint8_t *tlv)
{
    const struct rrcp_address *self = &r->config.mesh.self;

    if (!r->config.mesh.is_on)
        return 0;
    p->tlv_count++;
    tlv[0] = BEACON_TLV_SELF;
    tlv[1] = self->length;
    memcpy(tlv + 2, self->bytes, self->length);
    return 2u + self->length;
}

uint32_t rrcp_mesh_write_pass(const struct rrcp *r, struct packet_beacon *p, uint8_t *tlv)
{
    if (!rrcp_pass_is_used(r))
        return 0;
    p->tlv_count++;
    tlv[0] = BEACON_TLV_PASS;
    tlv[1] = PACKET_PASS_BYTES;
    rrcp_pass_write(r, tlv + 2);
    return 2u + PACKET_PASS_BYTES;
}

uint32_t rrcp_mesh_write_members(struct rrcp *r, struct packet_beacon *p, uint8_t *tlv,
                                 const uint8_t *end)
{
    uint32_t length = r->config.mesh.self.length;
    uint8_t *at = tlv;
    uint8_t *head = NULL;
    uint32_t count = 0;

    if (!r->config.mesh.is_on)
        return 0;
    if (end > tlv + MEMBERS_BYTES)
        end = tlv + MEMBERS_BYTES;
    for (uint32_t i = 0; i < r->live_count && at + 2 + length <= end; i++) {
        uint32_t next = (r->mesh.named + i) % r->live_count;
        const struct rrcp_peer *peer = r->peers[r->live[next]];

        if (!head || head[1] + length > UINT8_MAX) {
            head = at;
            head[0] = BEACON_TLV_MEMBERS;
            head[1] = 0;
            at += 2;
            p->tlv_count++;
        }
        memcpy(at, peer->address[0].bytes, length);
        head[1] = (uint8_t)(head[1] + length);
        at += length;
        count++;
    }
    r->mesh.named += count;
    return (uint32_t)(at - tlv);
}

/* ---- others' beacons ---------------------------------------------------------------------- */

bool rrcp_mesh_knows(const struct rrcp *r, const struct rrcp_arrival *arrival)
{
    if (arrival->is_invited)
        return true;
    for (uint32_t i = 0; i < r->mesh.count; i++)
        if (is_same(&r->mesh.entries[i].address, arrival->from))
            return true;
    return false;
}

/* The next TLV of this type with a value of this length at least; NULL: no more. */
static const uint8_t *next_tlv(const struct packet_view *view, uint8_t type, const uint8_t *after)
{
    const uint8_t *end = view->bytes + view->end;
    const uint8_t *p =
        after ? after + 2 + after[1]
              : view->bytes + PACKET_BEACON_BYTES + ((view->beacon->name_length + 3) & ~3u);

    while (p < end && p[0] != type)
        p += 2 + p[1];
    return p < end ? p : NULL;
}

/* The address that a beacon's sender has, as it knows itself. False: the beacon has none. */
static bool self_of(const struct packet_view *view, const struct rrcp_arrival *arrival,
                    struct rrcp_address *out)
{
    const uint8_t *tlv = next_tlv(view, BEACON_TLV_SELF, NULL);

    if (!tlv || tlv[1] != arrival->from->length)
        return false;
    *out = *arrival->from;
    memcpy(out->bytes, tlv + 2, out->length);
    return true;
}

static bool refuse(struct rrcp *r, const struct packet_view *view, enum rrcp_note why,
                   const struct rrcp_address *from, const struct rrcp_address *self)
{
    r->counters.mesh_refused++;
    r->mesh.refused_from = *from;
    r->mesh.refused_self = *self;
    rrcp_note(r, why, view->session, 0);
    return false;
}

bool rrcp_mesh_admits(struct rrcp *r, const struct packet_view *view,
                      const struct rrcp_arrival *arrival)
{
    struct rrcp_address self = { .length = 0 };

    if (view->type == PACKET_SOLICIT) /* it is about to take us; who has no room must not go on */
        return rrcp_mesh_knows(r, arrival) && r->live_count < r->config.peers_max;
    if (view->type != PACKET_BEACON || !self_of(view, arrival, &self))
        return false;
    if (!is_same(&self, arrival->from))
        return refuse(r, view, RRCP_NOTE_MESH_TRANSLATED, arrival->from, &self);
    if (!rrcp_mesh_knows(r, arrival))
        return refuse(r, view, RRCP_NOTE_MESH_UNKNOWN, arrival->from, &self);
    return true;
}

bool rrcp_mesh_shows_life(const struct rrcp *r, const struct packet_view *view)
{
    if (!r->config.mesh.is_on)
        return true;
    if (view->type == PACKET_BEACON)
        return !(md_be16(view->beacon->state) & BEACON_STATE_PROBE);
    return view->type != PACKET_SOLICIT;
}

void rrcp_mesh_learn(struct rrcp *r, const struct packet_view *view)
{
    struct rrcp_address address = r->config.mesh.self;

    if (!r->config.mesh.is_on)
        return;
    for (const uint8_t *tlv = NULL; (tlv = next_tlv(view, BEACON_TLV_MEMBERS, tlv));)
        for (uint32_t at = 0; at + address.length <= tlv[1]; at += address.length) {
            memcpy(address.bytes, tlv + 2 + at, address.length);
            if (is_same(&address, &r->config.mesh.self))
                continue;
            struct mesh_entry *entry = find(&r->mesh, &address);

            if (entry)
                entry->named_ns = r->now_ns;
            else
                (void)add(r, &address);
        }
}

void rrcp_mesh_met(struct rrcp *r, const struct rrcp_peer *peer)
{
    if (!r->config.mesh.is_on)
        return;
    struct mesh_entry *entry = find(&r->mesh, &peer->address[0]);

    if (!entry) {
        if (r->mesh.count == MESH_BOOK_MAX)
            (void)evict(r, 0);
        entry = add(r, &peer->address[0]);
    }
    MD_ASSERT(entry); /* there are as many entries as seeds and peers together */
    entry->session = peer->session;
    entry->since_ns = r->now_ns;
    entry->tries = 0;
    r->mesh.version++;
}

void rrcp_mesh_lost(struct rrcp *r, const struct rrcp_peer *peer)
{
    if (!r->config.mesh.is_on)
        return;
    struct mesh_entry *entry = find(&r->mesh, &peer->address[0]);

    r->mesh.version++;
    if (!entry || entry->session != peer->session)
        return; /* another session has the address */
    entry->session = 0;
    entry->named_ns = entry->since_ns = r->now_ns;
    entry->probe_due_ns = r->now_ns;
    r->mesh.due_ns = rrcp_min(r->mesh.due_ns, r->now_ns);
}

/* ---- what the shell asks ------------------------------------------------------------------ */

uint32_t rrcp_group_version(const struct rrcp *r)
{
    return r->mesh.version;
}

int rrcp_group(const struct rrcp *r, struct rrcp_address out[], uint64_t places[], int max)
{
    int count = 0;

    for (uint32_t i = 0; i < r->live_count && count < max; i++) {
        const struct rrcp_peer *peer = r->peers[r->live[i]];
        const struct rrcp_address *address = &peer->address[0];
        int same = 0;

        while (same < count && !is_same(&out[same], address))
            same++;
        if (same == count) {
            places[count] = 0;
            out[count++] = *address;
        }
        places[same] |= peer->place ? 1ull << (peer->place - 1) : 0;
    }
    return count;
}

bool rrcp_mesh_info(const struct rrcp *r, uint32_t index, struct rrcp_mesh_info *out)
{
    if (index >= r->mesh.count)
        return false;
    const struct mesh_entry *entry = &r->mesh.entries[index];

    *out = (struct rrcp_mesh_info){ .address = entry->address,
                                    .session = entry->session,
                                    .since_ns = entry->since_ns,
                                    .is_seed = entry->is_seed,
                                    .probes = entry->tries };
    return true;
}

void rrcp_mesh_refused(const struct rrcp *r, struct rrcp_address *from, struct rrcp_address *self)
{
    *from = r->mesh.refused_from;
    *self = r->mesh.refused_self;
}
