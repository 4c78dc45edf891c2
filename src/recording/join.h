/* join.h - the records of a chunk from its columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_JOIN_H
#define RECORDING_JOIN_H

#include "columns.h"

struct rec_join; /* and of one that reads */
int rec_join_create(struct rec_join **out);
void rec_join_destroy(struct rec_join *join);
/* The records, of `expanded` bytes exactly, or MD_ERR_MALFORMED. */
int rec_join_chunk(struct rec_join *join, struct rec_packer *packer, uint8_t *out, size_t expanded,
                   const uint8_t *stored, size_t length);

#endif
