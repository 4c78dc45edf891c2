/* common.h - memory from the environment, notes, counters of drops, random numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_COMMON_H
#define RRCP_COMMON_H

#include "private.h"

void *rrcp_take(struct rrcp *r, size_t bytes);
void rrcp_give(struct rrcp *r, void *memory, size_t bytes);
void rrcp_note(struct rrcp *r, enum rrcp_note note, uint64_t session, uint64_t value);
void rrcp_drop(struct rrcp *r, enum rrcp_drop drop);
/* Returns 0 to limit - 1. */
uint64_t rrcp_random(struct rrcp *r, uint64_t limit);
#endif
