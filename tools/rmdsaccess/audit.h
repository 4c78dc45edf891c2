/* audit.h - the verbs of rmdsaccess audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSACCESS_AUDIT_H
#define RMDSACCESS_AUDIT_H

/* `head` is NULL, or "LINE:SHA256", as the log said. Returns the exit code. */
int audit_verify(const char *path, const char *head);

#endif
