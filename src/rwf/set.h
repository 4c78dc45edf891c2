/* set.h - set data cut into contents, for the list iterators. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_SET_H
#define RWF_SET_H

#include "rmds/rwf_container.h"
#include "wire.h"

/* The content of the next value of a set; `type` as in the definition. */
int set_content_take(unsigned type, const uint8_t **pos, const uint8_t *end,
                     struct rwf_bytes *content);

#endif
