/* say.c - see say.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

#include "words.h"

bool rec_is_daemon;

void rec_print(const char *format, ...)
{
    char line[2048];
    va_list words;

    va_start(words, format);
    (void)vsnprintf(line, sizeof(line), format, words);
    va_end(words);
    fprintf(stderr, PROGRAM ": %s\n", line);
}
