/* maps.h - maps: one entry for each key, by what two of them say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFLATE_MAPS_H
#define CONFLATE_MAPS_H

#include "private.h"

/* Whether the map may be merged with another one at all. */
bool conflate_map_is_plain(struct rwf_bytes payload);
bool conflate_map_merge(struct conflate *c, struct rwf_encoder *enc, struct rwf_bytes old,
                        struct rwf_bytes fresh);

#endif
