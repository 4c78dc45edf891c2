/* post.h - posts and generic messages up to providers, and the acknowledgements back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_POST_H
#define SRCDIST_POST_H

#include "private.h"

void srcdist_post_event(struct srcdist_core *core, const struct rrmp_source_event *event);
void srcdist_post_ack(struct srcdist_core *core, uint32_t provider, const struct rwf_msg *msg);
void srcdist_posts_lost(struct srcdist_core *core, uint32_t provider);
void srcdist_posts_tick(struct srcdist_core *core);
void srcdist_generic_event(struct srcdist_core *core, const struct rrmp_source_event *event);

#endif
