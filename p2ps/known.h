/* known.h - passwords that fitted their hashes a while ago. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_KNOWN_H
#define P2PS_KNOWN_H

#include "audit/audit.h"

/* A table of keyed sums of user, hash and password: no password stands in it. One thread at a
 * time. */
struct p2ps_known {
    struct p2ps_known_entry {
        char sum[AUDIT_SUM_SIZE];
        uint64_t until_ns;
    } * list;
    uint8_t secret[32]; /* in front of what is summed */
    uint64_t life_ns;   /* 0: nothing is remembered */
};

#define P2PS_KNOWN_PART_MAX 512 /* bytes of each of the three */

int p2ps_known_init(struct p2ps_known *known, uint64_t life_ns);
void p2ps_known_fini(struct p2ps_known *known);
void p2ps_known_sum(const struct p2ps_known *known, const struct entitle_view parts[3],
                    char out[AUDIT_SUM_SIZE]);
bool p2ps_known_has(const struct p2ps_known *known, uint64_t now_ns, const char *sum);
void p2ps_known_put(struct p2ps_known *known, uint64_t now_ns, const char *sum);

#endif
