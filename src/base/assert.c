/* assert.c - see base/assert.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void md_assert_failed(const char *cond, const char *file, int line, const char *func)
{
    fprintf(stderr, "%s:%d: %s: broken promise: %s\n", file, line, func, cond);
    abort();
}
