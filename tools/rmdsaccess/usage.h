/* usage.h - a report from an audit trail: which user had which items, by entitlement code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSACCESS_USAGE_H
#define RMDSACCESS_USAGE_H

#include <stdio.h>

/* From `from` on and before `to`, as the trail writes times, or the beginnings of such; NULL: no
 * bound. Returns the exit code. */
int audit_usage(const char *path, const char *from, const char *to, FILE *out);

#endif
