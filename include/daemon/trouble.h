/* daemon/trouble.h - what keeps a daemon from its work: in the log, in the statistics, taken back.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_TROUBLE_H
#define DAEMON_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/segment.h"

/*
 * A trouble is a state, not an event: "no rrcpd", "no other node heard". The control loop looks at
 * it once a second. It becomes known when it has lasted for its delay: a WARNING then and every
 * minute, and until it ends the segment shows
 *
 *      troubles   how many there are
 *      trouble    the first one in a few words; there only while there is one
 *
 * from which rmdsmon, the status page, /status.json and /metrics take the state WARN. The end of a
 * trouble that was known is a NOTICE.
 */
#define DAEMON_TROUBLES      24
#define DAEMON_TROUBLE_AGAIN 60000000000ull /* between two warnings of the same */

struct daemon_trouble {
    uint64_t since_ns;
    uint64_t said_ns; /* in the log; 0: not known yet */
    char note[STATS_STRING_BYTES];
};

struct daemon_troubles {
    struct daemon_trouble list[DAEMON_TROUBLES];
    struct stats_segment *segment;
    struct stats_entry *count;
    struct stats_entry *note; /* NULL: none is known */
};

void daemon_troubles_init(struct daemon_troubles *troubles, struct stats_segment *segment);

/* Trouble `which` is there. `note`: a few words, 63 bytes; the rest: the sentence of the log, to
 * which is added for how long. */
void daemon_trouble_here(struct daemon_troubles *troubles, unsigned which, uint64_t now_ns,
                         uint64_t delay_ns, const char *note, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Trouble `which` is over. The sentence is logged if its beginning was. */
void daemon_trouble_gone(struct daemon_troubles *troubles, unsigned which, uint64_t now_ns,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The note of the first one that is known, "" if there is none. */
const char *daemon_trouble_note(const struct daemon_troubles *troubles);

#endif
