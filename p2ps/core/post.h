/* post.h - posts and generic messages towards the source, and the answers back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_POST_H
#define P2PS_POST_H

#include "private.h"

void p2ps_post_answer(struct p2ps_core *core, const struct rrmp_sink_event *event);

#endif
