/* away.h - an authority that is away, or back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_AWAY_H
#define P2PS_AUTHORITY_AWAY_H

#include "state.h"

/* It may be up now, or away: notes since when. */
void authority_turned(struct p2ps_authority *a, uint64_t now_ns);
/* It has been away for too long, or sessions may not be without it at all. */
bool authority_is_over(const struct p2ps_authority *a, uint64_t now_ns);

#endif
