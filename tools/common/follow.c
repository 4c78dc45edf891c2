/* follow.c - see follow.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "follow.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/trace.h"

bool follow_open(const char *words, const char *program)
{
    char *end;
    unsigned long long sample = strtoull(words, &end, 10);

    return sample > 0 && *end == ',' && end[1] && md_trace_open(end + 1, program, sample) == MD_OK;
}
