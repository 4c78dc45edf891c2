/* print.c - see print.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 16, WORD_BYTES = 256 };

/* One line cut into words; returns how many. */
static int cut(const char *line, size_t length, const char **words, int *lengths)
{
    int count = 0;

    for (size_t at = 0; at < length && count < COLUMNS_MAX;) {
        size_t end = at;
        while (end < length && line[end] != ' ')
            end++;
        words[count] = line + at;
        lengths[count++] = (int)(end - at);
        at = end + 1;
    }
    return count;
}

/* The header of a list is in capitals. */
static int is_header(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (islower((unsigned char)line[i]))
            return 0;
    }
    return length > 0 && line[0] != ' ';
}

static const char *next_line(const char *text, const char **line, size_t *length)
{
    *line = text;
    *length = strcspn(text, "\n");
    return text[*length] ? text + *length + 1 : text + *length;
}

/* How many records came since: the number of that line then. -1: it was not there. */
static long long came(const char *before, const char *const *words, const int *lengths,
                      int sequence)
{
    const char *line, *old[COLUMNS_MAX];
    int old_lengths[COLUMNS_MAX];
    size_t length;

    while (before && *before) {
        before = next_line(before, &line, &length);
        int count = cut(line, length, old, old_lengths);
        int same = count > sequence;
        for (int i = 0; same && i < 3; i++)
            same =
                lengths[i] == old_lengths[i] && memcmp(words[i], old[i], (size_t)lengths[i]) == 0;
        same = same && lengths[sequence - 1] == old_lengths[sequence - 1] &&
               memcmp(words[sequence - 1], old[sequence - 1], (size_t)lengths[sequence - 1]) == 0;
        if (same && isdigit((unsigned char)words[sequence][0]))
            return (uint32_t)(strtoul(words[sequence], NULL, 10) -
                              strtoul(old[sequence], NULL, 10));
    }
    return -1;
}

static void print_row(const char *const *words, const int *lengths, int count, const int *widths,
                      int sequence, const char *extra)
{
    for (int i = 0; i < count; i++) {
        int is_last = i + 1 == count;
        printf("%.*s%*s", lengths[i], words[i], is_last ? 0 : widths[i] - lengths[i] + 2, "");
        if (i == sequence && extra)
            printf("%-10s", extra);
    }
    printf("\n");
}

static void measure(const char *text, int columns, int *widths)
{
    const char *line, *words[COLUMNS_MAX];
    int lengths[COLUMNS_MAX];
    size_t length;

    while (*text) {
        text = next_line(text, &line, &length);
        int count = line[0] == ' ' ? 0 : cut(line, length, words, lengths);
        for (int i = 0; count == columns && i < count; i++)
            widths[i] = lengths[i] > widths[i] ? lengths[i] : widths[i];
    }
}

static int find_column(const char *const *words, const int *lengths, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if ((size_t)lengths[i] == strlen(name) && memcmp(words[i], name, strlen(name)) == 0)
            return i;
    }
    return -1;
}

void print_answer(const char *text, const char *before, double seconds)
{
    const char *line, *words[COLUMNS_MAX];
    int lengths[COLUMNS_MAX], widths[COLUMNS_MAX] = { 0 };
    size_t length;

    (void)next_line(text, &line, &length);
    if (!is_header(line, length)) {
        fputs(text, stdout);
        return;
    }
    int columns = cut(line, length, words, lengths);
    int sequence = before ? find_column(words, lengths, columns, "SEQUENCE") : -1;
    measure(text, columns, widths);
    for (int is_first = 1; *text; is_first = 0) {
        char extra[32] = "";
        text = next_line(text, &line, &length);
        int count = line[0] == ' ' ? 0 : cut(line, length, words, lengths);
        if (count != columns) {
            printf("%.*s\n", (int)length, line);
            continue;
        }
        if (sequence > 2 && is_first)
            snprintf(extra, sizeof(extra), "IN-%.1f-S", seconds);
        else if (sequence > 2) {
            long long number = came(before, words, lengths, sequence);
            snprintf(extra, sizeof(extra), number < 0 ? "-" : "%lld", number);
        }
        print_row(words, lengths, count, widths, sequence > 2 ? sequence : -1,
                  sequence > 2 ? extra : NULL);
    }
}
