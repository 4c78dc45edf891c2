/* runs.h - R1 to R3 over runs: an update may stand for several updates of the provider. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_RUNS_H
#define RRMPSIM_RUNS_H

#include "cores.h"

/*
 * An update that a consumer gets stands for a contiguous run: all updates of the provider behind
 * the last counter that the consumer has, up to its own. Types that do not pass are in no run.
 * Without lines of filterFile and rates of the consumers each run is one update, and these are the
 * rules of old.
 */

/* Says what is wrong with an update at `content`; NULL: nothing. */
const char *run_judge(const struct consumer *c, struct stream *s, const struct rwf_msg *msg,
                      const struct content *content);
/* The same of the fields of an image or update. Views hold five fields at most. */
const char *run_fields_judge(const struct consumer *c, const struct stream *s,
                             const struct content *content, bool is_image);
/* False: an update that passes lies between the two, so the consumer misses it. */
bool run_is_empty(const struct world *world, uint32_t item, uint32_t from, uint32_t to);
/* The first counter behind `from` that passes, at most `to` + 1. */
uint32_t run_first(const struct world *world, uint32_t item, uint32_t from, uint32_t to);
/* The parts of an image that came, and all that its item has. */
uint32_t run_parts(const struct world *world, uint32_t item, uint32_t parts);

#endif
