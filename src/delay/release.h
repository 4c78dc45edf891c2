/* release.h - the end of a line where records come out when their time has come. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DELAY_RELEASE_H
#define DELAY_RELEASE_H

#include "private.h"

/* The next thing to take out, or none yet. */
void delay_release_next(struct delay *d, uint64_t now_ns, struct delay_event *event);
/* It is taken. */
void delay_release_done(struct delay *d, const struct delay_event *event);
/* When the record that comes next is due; UINT64_MAX: there is none. */
uint64_t delay_release_due(const struct delay *d);

#endif
