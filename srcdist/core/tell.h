/* tell.h - sentences for the operator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_TELL_H
#define SRCDIST_TELL_H

#include "private.h"

void srcdist_tell(struct srcdist_core *core, enum srcdist_tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A sentence that a provider can cause as often as it likes: a refusal, told at growing distance,
 * with how many of its kind came meanwhile. */
void srcdist_tell_rarely(struct srcdist_core *core, enum srcdist_tale_kind kind, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* "10.1.1.7:40112 (user feed, non-interactive)": as the log names a provider. */
struct srcdist_party {
    char text[2 * SRCDIST_NAME_MAX + 32];
};
struct srcdist_party srcdist_party(const struct srcdist_provider *p);

#endif
