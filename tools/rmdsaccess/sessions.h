/* sessions.h - the consumers of a p2ps that runs, as its status says, against two access files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSACCESS_SESSIONS_H
#define RMDSACCESS_SESSIONS_H

#include "rules.h"

/* Prints each that a reload of the new file would end; *count of them. The exit code. */
int access_sessions(const struct access_text *old, const struct access_text *new, const char *path,
                    unsigned *count);

#endif
