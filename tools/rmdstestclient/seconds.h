/* seconds.h - what 99 % of the latencies of each second of a run were below. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SECONDS_H
#define TC_SECONDS_H

#include <stdint.h>
#include <stdio.h>

struct seconds;

int seconds_create(struct seconds **out); /* MD_ERR_NOMEM */
void seconds_destroy(struct seconds *seconds);

/* The first one begins the first second. A second without any has no figure; after a day of them
 * no more are kept. */
void seconds_record(struct seconds *seconds, uint64_t now_ns, int64_t us);

/* [p99 of the first, of the second, ...], without the one that is not over. */
void seconds_print_json(const struct seconds *seconds, FILE *out);

#endif
