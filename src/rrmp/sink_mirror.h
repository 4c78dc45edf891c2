/* sink_mirror.h - items kept ready at a second source, moves to a better one, switches unseen. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_SINK_MIRROR_H
#define RRMP_SINK_MIRROR_H

#include "sink_impl.h"

/* sink_mirror.c: standby interest at a second instance of a mirrored service */
void sink_mirror_tick(struct rrmp_sink *sink);
uint64_t sink_mirror_deadline(const struct rrmp_sink *sink);
/* The standby of the item, if it may take over now; else MD_NIL. */
uint32_t sink_mirror_of(const struct rrmp_sink *sink, const struct sink_item *item);
/* The standby interest ends; `tell`: with a CLOSE. */
void sink_mirror_drop(struct rrmp_sink *sink, uint32_t item, bool tell);
/* The link is gone: nobody stands by there any more. */
void sink_mirror_link_gone(struct rrmp_sink *sink, uint32_t link);
/* A REFUSE that answers a standby REQUEST; false: it does not. */
bool sink_mirror_refused(struct rrmp_sink *sink, uint32_t link, const struct rrmp_refuse *refuse);

/* sink_resume.c: a mirror goes on where another source was */
/* An image to consumers in step. `message` of one in a single part, else NULL. */
void sink_place_image(struct rrmp_sink *sink, uint32_t item, const struct rrmp_view *message);
/* The next message to consumers in step. */
void sink_place_pass(struct rrmp_sink *sink, uint32_t item, struct rrmp_view message);
void sink_place_pass_chain(struct rrmp_sink *sink, uint32_t item, const struct sink_chain *chain);
void sink_place_drop(struct rrmp_sink *sink, uint32_t item);
/* Its group or service was told a state. */
void sink_place_told(struct rrmp_sink *sink, uint32_t item, uint8_t state);
/* Consumers of the link's items hear that their service is down. */
void sink_link_doubt(struct rrmp_sink *sink, uint32_t link);
/* The link's items leave it: those whose mirrors may go on are marked, and not told suspect. */
void sink_resume_begin(struct rrmp_sink *sink, uint32_t link);
/* It gets an image instead: consumers hear suspect first. */
void sink_resume_end(struct rrmp_sink *sink, uint32_t item);
/* The BIND of a replay to us. */
void sink_replay_bind(struct rrmp_sink *sink, uint32_t instance, uint32_t item,
                      const struct rrmp_bind *bind);
void sink_replay_in(struct rrmp_sink *sink, uint32_t instance, uint32_t link,
                    const struct rrmp_replay *replay);
/* Items that no mirror went on with in time are told suspect. */
/* May another item be asked to go on at this link, or must some that were asked be whole first? */
bool sink_resume_may_ask(const struct rrmp_sink *sink, const struct sink_link *link);
void sink_resume_asked(struct rrmp_sink *sink, uint32_t item);
/* Its timer rings. True: others are replayed before it, and it waits on. */
bool sink_replay_goes_on(struct rrmp_sink *sink, uint32_t item);
/* It was answered, or is asked no more. */
void sink_resume_answered(struct rrmp_sink *sink, const struct sink_item *item);
void sink_resume_tick(struct rrmp_sink *sink, bool input_is_empty);
uint64_t sink_resume_deadline(const struct rrmp_sink *sink);
/* A move to the standby: may the item go now, and is it to go on there without an image? */
bool sink_move_is_due(struct rrmp_sink *sink, uint32_t item);
bool sink_move_begin(struct rrmp_sink *sink, uint32_t item);
/* Another standby, or none: the wait for it is over. */
void sink_move_forget(struct rrmp_sink *sink, uint32_t item);

#endif
