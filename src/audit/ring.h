/* ring.h - records from one thread to the writer, packed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUDIT_RING_H
#define AUDIT_RING_H

#include <stdatomic.h>

#include "entitle/record.h"

#define AUDIT_VIEW_MAX 2048u /* of a text; what is longer is cut */

struct audit_ring {
    uint8_t *bytes;
    size_t size;        /* a power of two */
    _Atomic size_t in;  /* bytes ever put */
    _Atomic size_t out; /* and taken */
    _Atomic uint64_t lost;
};

/* A record taken out, with its texts. */
struct audit_taken {
    struct entitle_record record;
    uint64_t wall_ns;
    char texts[ENTITLE_RECORD_TEXTS * AUDIT_VIEW_MAX];
};

int audit_ring_init(struct audit_ring *ring, size_t size); /* MD_ERR_NOMEM */
void audit_ring_fini(struct audit_ring *ring);
bool audit_ring_put(struct audit_ring *ring, uint64_t wall_ns, const struct entitle_record *record);
bool audit_ring_has_room(const struct audit_ring *ring); /* half of it */
/* False: empty. */
bool audit_ring_take(struct audit_ring *ring, struct audit_taken *taken);

#endif
