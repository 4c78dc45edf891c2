/* err.c - see base/err.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stddef.h>

static const char *const names[] = {
    "ok",        "short",  "malformed",   "out of range", "full",      "out of memory", "system",
    "not found", "exists", "wrong state", "unsupported",  "try again", "closed",
};

const char *md_err_name(int err)
{
    if (err > 0 || (size_t)-err >= sizeof(names) / sizeof(names[0]))
        return "unknown";
    return names[-err];
}
