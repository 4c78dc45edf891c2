/* sink_refusals.h - the instances where an item was refused, and for how long that counts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SINK_REFUSALS_H
#define SINK_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#define SINK_INSTANCES 256u /* the most there may be; their numbers are below */
#define SINK_REFUSED   4u

/* All zero: none. An item has one service, so an instance stands for its link. */
struct sink_refusals {
    struct {
        uint32_t instance;
        uint64_t until_ns;
    } last[SINK_REFUSED];
    /* Those that made room for later ones: a bit each, and one time for all. So an item goes round
     * each instance once, however many there are. */
    uint64_t rest[SINK_INSTANCES / 64];
    uint64_t rest_until_ns;
};

void sink_refusals_put(struct sink_refusals *refusals, uint64_t now_ns, uint32_t instance,
                       uint64_t time_ns);
/* It may be asked again. */
void sink_refusals_forgive(struct sink_refusals *refusals, uint32_t instance);
bool sink_refusals_has(const struct sink_refusals *refusals, uint64_t now_ns, uint32_t instance);
bool sink_refusals_has_any(const struct sink_refusals *refusals, uint64_t now_ns);

#endif
