/* example.c - a line that sets a parameter, for messages and for the file to edit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "value.h"

static bool is_example(const struct md_conf_row *row, const char *value)
{
    char why[VALUE_WHY_MAX];
    int64_t number;

    return strcmp(value, row->fallback) != 0 && value_parse(row, value, &number, why);
}

/* The first of these that the row takes and that is not its default. */
static bool first_of(const struct md_conf_row *row, const char *const *values, char *out,
                     size_t size)
{
    for (; *values; values++)
        if (is_example(row, *values)) {
            snprintf(out, size, "%s", *values);
            return true;
        }
    return false;
}

static bool other_word(const struct md_conf_row *row, char *out, size_t size)
{
    for (const char *word = row->words; word && *word;) {
        size_t length = strcspn(word, "|");

        snprintf(out, size, "%.*s", (int)length, word);
        if (is_example(row, out))
            return true;
        word += length + (word[length] == '|');
    }
    return false;
}

/* Twice the default, in its unit. */
static bool twice(const struct md_conf_row *row, char *out, size_t size)
{
    char *unit;
    long long number = strtoll(row->fallback, &unit, 10);

    if (unit == row->fallback || number <= 0 || number > INT32_MAX || *unit == '.')
        return false;
    snprintf(out, size, "%lld%s", number * 2, unit);
    return is_example(row, out);
}

/* The default is no useful example: it shows no other value. */
static bool other_value(const struct md_conf_row *row, char *out, size_t size)
{
    static const char *const booleans[] = { "True", "False", NULL };
    static const char *const bytes[] = { "1M", "64K", "4K", NULL };
    static const char *const memory[] = { "2G", NULL };
    static const char *const times[] = { "500ms", "5s", "50ms", "1ms", "10us", "1h", NULL };
    static const char *const numbers[] = { "100", "10", "1", NULL };
    static const char *const groups[] = { "239.255.82.83", NULL };
    static const char *const addresses[] = { "10.1.2.3", NULL };
    static const char *const ports[] = { "14102", NULL };

    switch (row->type) {
    case MD_CONF_BOOLEAN:
        return first_of(row, booleans, out, size);
    case MD_CONF_WORD:
        return other_word(row, out, size);
    case MD_CONF_LIST:
        return row->words && other_word(row, out, size);
    case MD_CONF_TIME:
        return twice(row, out, size) || first_of(row, times, out, size);
    case MD_CONF_PORT_NUMBER:
        return first_of(row, ports, out, size);
    case MD_CONF_ADDRESS:
        return row->fallback[0] &&
               first_of(row, strcmp(row->unit, "group") == 0 ? groups : addresses, out, size);
    case MD_CONF_INTEGER:
        if (twice(row, out, size))
            return true;
        return (strcmp(row->unit, "bytes") == 0 &&
                first_of(row, row->max > INT32_MAX ? memory : bytes, out, size)) ||
               first_of(row, numbers, out, size);
    case MD_CONF_PERCENT:
        return first_of(row, numbers + 1, out, size);
    default:
        return false;
    }
}

static const char *path_of(const struct md_conf_row *row)
{
    static const char *const starts[MD_CONF_KINDS] = {
        [MD_CONF_DAEMON] = "*",
        [MD_CONF_PORT] = "*p2ps*14002*",
        [MD_CONF_USER] = "*p2ps*jsmith*",
        [MD_CONF_ROUTE] = "*Src_Dist*1.route*",
        [MD_CONF_BUS] = "*Src_Dist*transmissionBus*",
        [MD_CONF_SERVICE] = "*Src_Dist*RDFD*",
        [MD_CONF_RRCP] = "*rrcp*",
        [MD_CONF_LOGGER] = "*logger*",
        [MD_CONF_SHMEM] = "*shmem*",
        [MD_CONF_RMDS] = "*rmds*",
    };
    int kind = 0;

    while (kind + 1 < MD_CONF_KINDS && !(row->kinds >> kind & 1))
        kind++;
    if (kind == MD_CONF_DAEMON && row->programs == MD_CONF_P2PS)
        return "*p2ps*";
    if (kind == MD_CONF_DAEMON && row->programs == MD_CONF_SRC_DIST)
        return "*Src_Dist*";
    if (kind == MD_CONF_DAEMON && row->programs == MD_CONF_RMDSREC)
        return "*rmdsrec*";
    return starts[kind];
}

void row_example(const struct md_conf_row *row, bool is_default, char *out, size_t size)
{
    char other[128];
    const char *value = row->fallback;

    if (!is_default && other_value(row, other, sizeof(other)))
        value = other;
    if (!*value)
        value = row->type == MD_CONF_CPUS ? "0,2-4" : row->type == MD_CONF_ADDRESS ? "eth0" : "...";
    snprintf(out, size, "%s%s : %s", path_of(row), row->name, value);
}
