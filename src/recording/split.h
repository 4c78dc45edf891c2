/* split.h - the records of a chunk into columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_SPLIT_H
#define RECORDING_SPLIT_H

#include "columns.h"

struct rec_split; /* scratch memory of one thread that writes, */
int rec_split_create(struct rec_split **out);
void rec_split_destroy(struct rec_split *split);
/* The columns of records; 0: they have too many of something, or take no less room that way. */
size_t rec_split_chunk(struct rec_split *split, struct rec_packer *packer,
                       const struct rec_chunk *chunk, uint8_t *out, size_t size);

#endif
