/* resume.h - p2ps that lost another source go on here. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_RESUME_H
#define SRCDIST_RESUME_H

#include "private.h"

/*
 * A p2ps says how far it has got, and proves it with a digest of its last messages. If the same
 * place is found among the kept messages of the item (replay.h), the p2ps is bound to it and gets
 * what follows the place; if it is ahead of us, as soon as we have come as far. In all other cases
 * it gets an image, and the operator is told why.
 *
 * They are answered in the order in which they asked, and nobody loses patience before it is its
 * turn. One that asks again keeps its place, and only the new question is answered. Nobody gets
 * more places than are left for all others.
 */
void srcdist_resume_event(struct srcdist_core *core, const struct rrmp_source_event *event);
/* The item has ended: nobody waits for it any more. */
void srcdist_resume_forget(struct srcdist_core *core, uint32_t item);
void srcdist_resumes_pump(struct srcdist_core *core);
uint64_t srcdist_resumes_deadline(const struct srcdist_core *core);
void srcdist_resumes_destroy(struct srcdist_core *core);

#endif
