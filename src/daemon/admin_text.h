/* admin_text.h - the parts of the admin socket that its connections use. Private to daemon. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ADMIN_TEXT_H
#define DAEMON_ADMIN_TEXT_H

#include "daemon/admin.h"

/* The last words of a text that was cut; they are added beyond its bound. */
void daemon_text_end(struct daemon_text *text, const char *words);

/* The verbs that every daemon has; their owner is the daemon. */
extern const struct daemon_verb admin_verbs[];
extern const size_t admin_verb_count;

#endif
