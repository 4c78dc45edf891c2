/* memory.h - answers of an authority with lifetimes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_MEMORY_H
#define P2PS_AUTHORITY_MEMORY_H

#include "audit/audit.h"
#include "authority.h"

struct known;

/* Zeroed: empty. */
struct p2ps_authority_memory {
    struct known *known; /* by sum; a newer answer may take the place of another one */
};

int p2ps_authority_memory_init(struct p2ps_authority_memory *memory);
void p2ps_authority_memory_fini(struct p2ps_authority_memory *memory);

/* Of all that a login says, behind the secret. "": it cannot be remembered. */
void p2ps_authority_memory_sum(const uint8_t secret[32],
                               const struct p2ps_authority_question *question,
                               char sum[AUDIT_SUM_SIZE]);
/* With the serial that the answer had: the notices since may be about it. One whose session has
 * ended by out->now_s is not found. */
bool p2ps_authority_memory_find(const struct p2ps_authority_memory *memory, uint64_t now_ns,
                                const char *sum, struct p2ps_authority_answer *out);
void p2ps_authority_memory_keep(struct p2ps_authority_memory *memory, uint64_t until_ns,
                                const char *sum, const struct p2ps_authority_answer *answer);
/* The answer that was found was looked at: no notice up to this one is about it. */
void p2ps_authority_memory_renew(struct p2ps_authority_memory *memory, const char *sum,
                                 uint64_t serial);

#endif
