/* paces.h - conflateRates of a run: rates that the consumers' streams choose, and what they mean.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_PACES_H
#define RRMPSIM_PACES_H

#include "cores.h"

/*
 * A stream has a rate by its QoS; one that asks again may choose another. An update of such a
 * stream may stand for a run (runs.h), and comes when it is the turn of its item: at most one in
 * each interval, but for those that are never merged. Whatever else comes for the item sends what
 * is pending before its turn, so the interval is judged while nothing else happens to the item.
 */

/* Draws them from numbers of their own, so that a seed means the same events with and without. */
void paces_draw(struct world *world);
void paces_fini(struct world *world);
/* For the core of one p2ps. */
void paces_configure(const struct world *world, struct p2ps_core_config *config);

/* A rate for a stream that is opened with this request, or none. */
void paces_choose(struct consumer *c, struct stream *s, struct omm_item_request *request);
/* Sometimes another one for a stream that asks again. True: it is asked for. */
bool paces_choose_again(struct consumer *c, struct stream *s, struct omm_item_request *request);

/* Milliseconds for which the stream may be behind; 0: none. */
uint32_t paces_interval(const struct world *world, const struct stream *s);
/* Something but a merged update comes for the item, or may. */
void paces_disturb(struct world *world, uint32_t item);
/* After a turn of a p2ps: a state of a service or a group sends what is pending of all its items,
 * also of those that are not told, since another instance serves them. */
void paces_look(struct world *world, struct proc *proc);
/* Says what is wrong with the QoS that a refresh states; NULL: nothing. */
const char *paces_refresh_judge(const struct world *world, const struct stream *s,
                                const struct rwf_msg *msg);
/* An update that may be merged has come. */
void paces_note_update(struct world *world, struct stream *s);
/* False: two came in one interval, and nothing else that would be the reason. */
bool paces_are_kept(const struct world *world, const struct stream *s);
/* The same of the qualities that a directory offers for a service. */
const char *paces_service_judge(const struct world *world, const struct omm_service *told);

#endif
