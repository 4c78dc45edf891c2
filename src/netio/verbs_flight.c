/* verbs_flight.c - packets from the moment they are taken until the caller has them back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/err.h"
#include "verbs_private.h"

uint32_t verbs_flight_begin(struct verbs_io *verbs, uint32_t cookie)
{
    MD_ASSERT(verbs->free_count > 0);
    uint32_t flight = verbs->free_flights[--verbs->free_count];

    verbs->flights[flight] = (struct verbs_flight){ .cookie = cookie, .pending = 1 };
    return flight;
}

void verbs_flight_posted(struct verbs_io *verbs, uint32_t flight)
{
    verbs->flights[flight].pending++;
}

void verbs_flight_landed(struct verbs_io *verbs, uint32_t flight)
{
    MD_ASSERT(verbs->flights[flight].pending > 0);
    if (--verbs->flights[flight].pending == 0)
        verbs->done[(verbs->done_first + verbs->done_count++) % verbs->flight_max] = flight;
}

int verbs_flights_done(struct verbs_io *verbs, uint32_t cookies[], int max)
{
    int count = 0;

    while (count < max && verbs->done_count > 0) {
        uint32_t flight = verbs->done[verbs->done_first];

        verbs->done_first = (verbs->done_first + 1) % verbs->flight_max;
        verbs->done_count--;
        cookies[count++] = verbs->flights[flight].cookie;
        verbs->free_flights[verbs->free_count++] = flight;
    }
    return count;
}

int verbs_flights_make(struct verbs_io *verbs)
{
    uint32_t count = 0;

    for (int i = 0; i < verbs_paths(verbs); i++)
        count += verbs->paths[i].info.send_depth;
    if (count == 0)
        return MD_ERR_RANGE; /* a device that takes no packet */
    verbs->flight_max = verbs->free_count = count;
    verbs->flights = calloc(count, sizeof(*verbs->flights));
    verbs->free_flights = calloc(count, sizeof(*verbs->free_flights));
    verbs->done = calloc(count, sizeof(*verbs->done));
    if (!verbs->flights || !verbs->free_flights || !verbs->done)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        verbs->free_flights[i] = count - 1 - i;
    return 0;
}

void verbs_flights_free(struct verbs_io *verbs)
{
    free(verbs->flights);
    free(verbs->free_flights);
    free(verbs->done);
}
