/* ring.c - see ring.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct head {
    uint64_t wall_ns;
    uint32_t session, count;
    uint8_t kind, domain, code;
    bool is_denied, is_snapshot;
    uint16_t lengths[ENTITLE_RECORD_TEXTS];
};

int audit_ring_init(struct audit_ring *ring, size_t size)
{
    size_t room = 4096;

    while (room < size)
        room *= 2;
    ring->bytes = malloc(room);
    ring->size = room;
    return ring->bytes ? MD_OK : MD_ERR_NOMEM;
}

void audit_ring_fini(struct audit_ring *ring)
{
    free(ring->bytes);
    ring->bytes = NULL;
}

/* Up to its end, then from its beginning on. */
static void copy_in(struct audit_ring *ring, size_t at, const void *bytes, size_t length)
{
    size_t place = at & (ring->size - 1);
    size_t first = length < ring->size - place ? length : ring->size - place;

    if (length == 0)
        return;
    memcpy(ring->bytes + place, bytes, first);
    memcpy(ring->bytes, (const uint8_t *)bytes + first, length - first);
}

static void copy_out(const struct audit_ring *ring, size_t at, void *bytes, size_t length)
{
    size_t place = at & (ring->size - 1);
    size_t first = length < ring->size - place ? length : ring->size - place;

    memcpy(bytes, ring->bytes + place, first);
    memcpy((uint8_t *)bytes + first, ring->bytes, length - first);
}

bool audit_ring_put(struct audit_ring *ring, uint64_t wall_ns, const struct entitle_record *record)
{
    struct head head = {
        .wall_ns = wall_ns,
        .session = record->session,
        .count = record->count,
        .kind = (uint8_t)record->kind,
        .is_denied = record->is_denied,
        .is_snapshot = record->is_snapshot,
        .domain = record->domain,
        .code = record->code,
    };
    size_t in = atomic_load_explicit(&ring->in, memory_order_relaxed);
    size_t used = in - atomic_load_explicit(&ring->out, memory_order_acquire);
    size_t need = sizeof(head);

    for (unsigned i = 0; i < ENTITLE_RECORD_TEXTS; i++) {
        size_t length = record->text[i].length;
        head.lengths[i] = (uint16_t)(length < AUDIT_VIEW_MAX ? length : AUDIT_VIEW_MAX);
        need += head.lengths[i];
    }
    if (need > ring->size - used) {
        atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
        return false;
    }
    copy_in(ring, in, &head, sizeof(head));
    in += sizeof(head);
    for (unsigned i = 0; i < ENTITLE_RECORD_TEXTS; i++) {
        copy_in(ring, in, record->text[i].data, head.lengths[i]);
        in += head.lengths[i];
    }
    atomic_store_explicit(&ring->in, in, memory_order_release);
    return true;
}

bool audit_ring_has_room(const struct audit_ring *ring)
{
    return atomic_load_explicit(&ring->in, memory_order_relaxed) -
               atomic_load_explicit(&ring->out, memory_order_acquire) <
           ring->size / 2;
}

bool audit_ring_take(struct audit_ring *ring, struct audit_taken *taken)
{
    size_t out = atomic_load_explicit(&ring->out, memory_order_relaxed);
    struct head head;
    char *at = taken->texts;

    if (out == atomic_load_explicit(&ring->in, memory_order_acquire))
        return false;
    copy_out(ring, out, &head, sizeof(head));
    out += sizeof(head);
    taken->wall_ns = head.wall_ns;
    taken->record = (struct entitle_record){
        .kind = head.kind,
        .is_denied = head.is_denied,
        .is_snapshot = head.is_snapshot,
        .domain = head.domain,
        .code = head.code,
        .session = head.session,
        .count = head.count,
    };
    for (unsigned i = 0; i < ENTITLE_RECORD_TEXTS; i++) {
        copy_out(ring, out, at, head.lengths[i]);
        taken->record.text[i] = (struct entitle_view){ at, head.lengths[i] };
        at += head.lengths[i];
        out += head.lengths[i];
    }
    atomic_store_explicit(&ring->out, out, memory_order_release);
    return true;
}
