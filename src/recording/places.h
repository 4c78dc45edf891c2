/* places.h - how many items of a recording each service has, and may have. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_PLACES_H
#define RECORDING_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "rmds/rwf.h"

/* Of the items that a recording may have: a name is never forgotten, so a service that has many
 * must not have those of the others, too. */
struct rec_places;

/* MD_ERR_NOMEM. `service_max` 0: no limit of one service. */
int rec_places_create(uint32_t items_max, uint32_t service_max, struct rec_places **out);
void rec_places_destroy(struct rec_places *places); /* NULL is allowed */

/* One more item of the service; false: there is no place, and it is counted. */
bool rec_places_take(struct rec_places *places, struct rwf_bytes service);

/* Are all places of the recording taken? */
bool rec_places_are_taken(const struct rec_places *places);

/* The service that was refused a place last for its own limit; "": none was. */
const char *rec_places_full(const struct rec_places *places, uint32_t *services_full,
                            uint64_t *refused);

#endif
