/* output.h - lines that go out to an authority. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_OUTPUT_H
#define P2PS_AUTHORITY_OUTPUT_H

#include "line.h"
#include "state.h"

/* A line that goes out; false: it did not fit, or is no UTF-8, and does not go out. */
struct authority_out authority_begin(struct p2ps_authority *a);
bool authority_finish(struct p2ps_authority *a, struct authority_out *out);
/* Says how many ends were lost, if there is room for that. */
void authority_tell_lost(struct p2ps_authority *a);

#endif
