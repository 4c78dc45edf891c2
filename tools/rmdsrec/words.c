/* words.c - see words.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int rec_usage(const char *what, const char *value)
{
    fprintf(stderr, PROGRAM ": %s%s%s; -help lists the options\n", what, value ? ": " : "",
            value ? value : "");
    return REC_OPTIONS;
}

bool rec_parse_real(const char *text, double low, double high, double *out)
{
    char *end;

    if (!text)
        return true;
    errno = 0;
    *out = strtod(text, &end);
    return errno == 0 && end != text && *end == 0 && *out >= low && *out <= high;
}

bool rec_parse_uint(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    double value = (double)*out;

    if (!rec_parse_real(text, (double)low, (double)high, &value) || value != floor(value))
        return false;
    *out = (uint64_t)value;
    return true;
}
