/* ranges.h - lists of sequence numbers, as NAK and NCF carry them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_RANGES_H
#define RRCP_RANGES_H

#include "private.h"

/* Returns the bytes written. */
uint32_t rrcp_ranges_write(const struct range_builder *b, struct packet_range out[]);
/* False: the list is full, or the range is too far from the base. */
bool rrcp_ranges_add(struct range_builder *b, uint64_t first, uint64_t count);

#endif
