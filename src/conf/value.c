/* value.c - integers, times, words and the rest: reading them, and saying what was expected. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "db.h"

/* Public service names that a host's /etc/services need not have. */
static const struct {
    const char *name;
    uint16_t port;
} services[] = {
    { "rmds_rssl_sink", 14002 }, { "rssl_consumer", 14002 }, { "rmds_rssl_source", 14003 },
    { "rssl_provider", 14003 },  { "rmds_ssl_sink", 8101 },  { "triarch_sink", 8101 },
    { "rmds_ssl_source", 8102 }, { "triarch_src", 8102 },    { "triarch_rrbp", 8500 },
};

static bool has_limits(const struct md_conf_row *row)
{
    return row->min != 0 || row->max != 0;
}

/* Reads the end of a number. Case matters for k and K only; a B may follow where bytes count. */
static bool suffix_factor(const char *suffix, const char *unit, int64_t *factor)
{
    static const struct {
        const char *suffix;
        int64_t factor;
    } binary[] = { { "m", 1024 * 1024 }, { "g", 1024 * 1024 * 1024 }, { "t", 1024ll << 30 } };
    static const struct {
        const char *suffix;
        int64_t factor;
    } bits[] = { { "kbit", 1000 }, { "mbit", 1000000 }, { "gbit", 1000000000 } };
    size_t length = strlen(suffix);
    char word[8];

    if (length == 0 || length >= sizeof(word))
        return length == 0;
    for (size_t i = 0; i < 3 && strcmp(unit, "bit/s") == 0; i++)
        if (strcasecmp(suffix, bits[i].suffix) == 0) {
            *factor = bits[i].factor;
            return true;
        }
    memcpy(word, suffix, length + 1);
    if (strcmp(unit, "bytes") == 0 && length > 1 && ascii_lower(word[length - 1]) == 'b') {
        word[--length] = '\0';
        if (length == 2 && ascii_lower(word[1]) == 'i') {
            word[--length] = '\0';
            if (word[0] == 'k')
                word[0] = 'K'; /* KiB */
        }
    }
    if (strcmp(word, "k") == 0 || strcmp(word, "K") == 0) {
        *factor = word[0] == 'k' ? 1000 : 1024;
        return true;
    }
    for (size_t i = 0; i < 3; i++)
        if (strcasecmp(word, binary[i].suffix) == 0) {
            *factor = binary[i].factor;
            return true;
        }
    return false;
}

/* An integer with an optional suffix, all of the text. */
static bool integer_parse(const char *text, const char *unit, int64_t *number)
{
    bool negative = *text == '-';
    const char *p = text + negative;
    int base = p[0] == '0' && (p[1] == 'x' || p[1] == 'X') ? 16 : 10;
    int64_t value = 0, factor = 1;

    p += base == 16 ? 2 : 0;
    const char *digits = p;
    for (;; p++) {
        int digit = *p >= '0' && *p <= '9'                 ? *p - '0'
                    : base == 16 && *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
                    : base == 16 && *p >= 'A' && *p <= 'F' ? *p - 'A' + 10
                                                           : -1;
        if (digit < 0)
            break;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (p == digits)
        return false;
    p += strspn(p, " ");
    if (!suffix_factor(p, unit, &factor) || __builtin_mul_overflow(value, factor, &value))
        return false;
    *number = negative ? -value : value;
    return true;
}

/* A decimal number with at most nine digits after the point, times `scale`; *rest follows it. */
static bool decimal_parse(const char *text, int64_t scale, int64_t *number, const char **rest)
{
    int64_t whole = 0, fraction = 0, unit = scale;
    const char *p = text;

    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, *p - '0', &whole))
            return false;
    if (p == text || __builtin_mul_overflow(whole, scale, &whole))
        return false;
    if (*p == '.') {
        if (!(p[1] >= '0' && p[1] <= '9'))
            return false;
        for (p++; *p >= '0' && *p <= '9'; p++) {
            unit /= 10;
            fraction += unit * (*p - '0');
        }
    }
    *rest = p;
    return !__builtin_add_overflow(whole, fraction, number);
}

static int64_t time_unit_ns(const char *unit)
{
    if (strcmp(unit, "us") == 0)
        return 1000;
    if (strcmp(unit, "ms") == 0)
        return 1000000;
    if (strcmp(unit, "s") == 0)
        return 1000000000;
    if (strcmp(unit, "min") == 0)
        return 60000000000;
    if (strcmp(unit, "h") == 0)
        return 3600000000000;
    return strcmp(unit, "100ms") == 0 ? 100000000 : 0;
}

static bool time_parse(const struct md_conf_row *row, const char *text, int64_t *number)
{
    const char *suffix;
    int64_t scale;

    if (!decimal_parse(text, 1, number, &suffix))
        return false;
    suffix += strspn(suffix, " ");
    scale = *suffix ? time_unit_ns(suffix) : time_unit_ns(row->unit);
    if (strcmp(suffix, "100ms") == 0 || scale == 0)
        return false;
    return decimal_parse(text, scale, number, &suffix);
}

static bool boolean_parse(const char *text, int64_t *number)
{
    static const char *const yes[] = { "True", "Yes", "On", "1" };
    static const char *const no[] = { "False", "No", "Off", "0" };

    for (size_t i = 0; i < 4; i++) {
        if (strcasecmp(text, yes[i]) == 0) {
            *number = 1;
            return true;
        }
        if (strcasecmp(text, no[i]) == 0) {
            *number = 0;
            return true;
        }
    }
    return false;
}

static bool port_parse(const struct md_conf_row *row, const char *text, int64_t *number)
{
    struct servent *entry;

    if (integer_parse(text, "", number))
        return *number >= row->min && *number <= 65535;
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        if (strcmp(text, services[i].name) == 0) {
            *number = services[i].port;
            return true;
        }
    if (!*text || text[strcspn(text, " /\t\n")])
        return false;
    entry = getservbyname(text, NULL); /* at start, on the control thread */
    if (!entry)
        return false;
    *number = ntohs((uint16_t)entry->s_port);
    return true;
}

static bool cpus_parse(const char *text)
{
    const char *p = text;

    if (!*p)
        return true; /* empty: not bound */
    for (;;) {
        char *end;
        if (*p < '0' || *p > '9')
            return false;
        unsigned long first = strtoul(p, &end, 10);
        unsigned long last = first;
        if (*end == '-') {
            p = end + 1;
            if (*p < '0' || *p > '9')
                return false;
            last = strtoul(p, &end, 10);
        }
        if (last < first || last >= 4096)
            return false;
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        p = end + 1;
        while (*p == ' ')
            p++;
    }
}

static int64_t word_parse(const char *words, const char *text)
{
    size_t length = strlen(text);

    for (int64_t index = 0;; index++) {
        size_t one = strcspn(words, "|");
        if (text_same(words, one, text, length))
            return index;
        if (!words[one])
            return -1;
        words += one + 1;
    }
}

/* Each element of a list is one of the words; an empty list is none of them. */
static bool words_parse(const char *words, const char *text)
{
    char word[64];

    while (*(text += strspn(text, " \t,"))) {
        size_t length = strcspn(text, ",");
        size_t shown = length;

        while (shown > 0 && (text[shown - 1] == ' ' || text[shown - 1] == '\t'))
            shown--;
        if (shown >= sizeof(word))
            return false;
        memcpy(word, text, shown);
        word[shown] = '\0';
        if (word_parse(words, word) < 0)
            return false;
        text += length;
    }
    return true;
}

/* Of digits and dots alone it must be an IPv4 address; anything else may be a name. */
static bool address_parse(const char *text)
{
    struct in_addr v4;

    if (*text && !text[strspn(text, "0123456789.")])
        return inet_pton(AF_INET, text, &v4) == 1;
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                             "0123456789.:-_%[]")] == '\0';
}

/*
 * A multicast group, or what may be the broadcast address of a subnet: its last three bits at
 * least are ones. Which subnets there are is rrcpd's to know.
 */
static bool group_parse(const char *text)
{
    uint8_t v4[4], v6[16];

    if (!*text)
        return true;
    if (inet_pton(AF_INET, text, v4) == 1)
        return (v4[0] & 0xf0) == 0xe0 || (v4[3] & 7) == 7;
    return inet_pton(AF_INET6, text, v6) == 1 && v6[0] == 0xff;
}

static bool in_range(const struct md_conf_row *row, int64_t number)
{
    return !has_limits(row) || (number >= row->min && number <= row->max);
}

/* A number as an operator writes it: 4M, 16k. */
static void number_print(int64_t number, char *out, size_t size)
{
    if (number >= 1 << 20 && number % (1 << 20) == 0)
        snprintf(out, size, "%lldM", (long long)(number >> 20));
    else
        snprintf(out, size, "%lld", (long long)number);
}

static void time_print(int64_t ns, char *out, size_t size)
{
    if (ns % 1000000000 == 0)
        snprintf(out, size, "%llds", (long long)(ns / 1000000000));
    else if (ns % 1000000 == 0)
        snprintf(out, size, "%lldms", (long long)(ns / 1000000));
    else
        snprintf(out, size, "%lldus", (long long)(ns / 1000));
}

static void range_print(const struct md_conf_row *row, char *out, size_t size)
{
    char low[32], high[32];

    if (!has_limits(row)) {
        snprintf(out, size, "%s", "");
        return;
    }
    if (row->type == MD_CONF_TIME) {
        time_print(row->min, low, sizeof(low));
        time_print(row->max, high, sizeof(high));
    } else if (row->type == MD_CONF_PERCENT) {
        snprintf(low, sizeof(low), "%lld", (long long)(row->min / 10000));
        snprintf(high, sizeof(high), "%lld", (long long)(row->max / 10000));
    } else {
        number_print(row->min, low, sizeof(low));
        number_print(row->max, high, sizeof(high));
    }
    if (row->max == INT64_MAX)
        snprintf(out, size, "%s or more", low);
    else
        snprintf(out, size, "%s..%s", low, high);
}

/* "a|b|c" as "a, b or c". */
static void words_print(const char *words, char *out, size_t size)
{
    size_t used = 0;

    for (;;) {
        size_t one = strcspn(words, "|");
        bool last = words[one] == '\0';
        bool next_is_last = !last && !strchr(words + one + 1, '|');
        int n = snprintf(out + used, size - used, "%.*s%s", (int)one, words,
                         last ? "" : (next_is_last ? " or " : ", "));
        if (last || n < 0 || (size_t)n >= size - used)
            return;
        used += (size_t)n;
        words += one + 1;
    }
}

static const char *time_unit_name(const struct md_conf_row *row)
{
    return strcmp(row->unit, "100ms") == 0 ? "hundreds of ms" : row->unit;
}

static void explain_type(const struct md_conf_row *row, char *why, size_t size)
{
    char range[80], words[256];

    range_print(row, range, sizeof(range));
    switch (row->type) {
    case MD_CONF_INTEGER:
        snprintf(why, size, "is not a number%s%s%s, alone or with k, K, M, G%s", *range ? " (" : "",
                 range, *range ? ")" : "",
                 strcmp(row->unit, "bytes") == 0   ? ", kB, KB, MB, GB"
                 : strcmp(row->unit, "bit/s") == 0 ? ", kbit, Mbit, Gbit"
                                                   : "");
        return;
    case MD_CONF_BOOLEAN:
        snprintf(why, size, "is not a Boolean (True or False)");
        return;
    case MD_CONF_TIME:
        snprintf(why, size,
                 "is not a time (a number of %s, or a number with us, ms, s, min or h, as 500ms)",
                 time_unit_name(row));
        return;
    case MD_CONF_PORT_NUMBER:
        snprintf(why, size, "is not a port (%lld..65535, or a name of /etc/services)",
                 (long long)row->min);
        return;
    case MD_CONF_WORD:
        words_print(row->words, words, sizeof(words));
        snprintf(why, size, "is not one of %s", words);
        return;
    case MD_CONF_CPUS:
        snprintf(why, size, "is not a list of CPUs (as 0,2-4)");
        return;
    case MD_CONF_ADDRESS:
        if (strcmp(row->unit, "group") == 0)
            snprintf(why, size,
                     "is neither a multicast group (224.0.0.0 to 239.255.255.255, ff00::/8) nor "
                     "the broadcast address of a subnet (as 10.1.2.255)");
        else
            snprintf(why, size, "is not an address (as 127.0.0.1, ff15::5252, eth0)");
        return;
    case MD_CONF_PERCENT:
        snprintf(why, size, "is not a percentage%s%s%s", *range ? " (" : "", range,
                 *range ? ")" : "");
        return;
    case MD_CONF_LIST:
        words_print(row->words ? row->words : "", words, sizeof(words));
        snprintf(why, size, "is not a list of %s", words);
        return;
    case MD_CONF_STRING:
    case MD_CONF_PATH:
        snprintf(why, size, "is not accepted");
        return;
    }
}

static void explain_range(const struct md_conf_row *row, char *why, size_t size)
{
    char range[80];
    bool unit = *row->unit && row->type != MD_CONF_TIME;

    range_print(row, range, sizeof(range));
    snprintf(why, size, "is out of range (%s%s%s)", range, unit ? " " : "", unit ? row->unit : "");
}

bool value_parse(const struct md_conf_row *row, const char *text, int64_t *number,
                 char why[VALUE_WHY_MAX])
{
    const char *rest = "";
    bool good = true;

    *number = 0;
    switch (row->type) {
    case MD_CONF_INTEGER:
        good = integer_parse(text, row->unit, number);
        break;
    case MD_CONF_BOOLEAN:
        good = boolean_parse(text, number);
        break;
    case MD_CONF_TIME:
        good = time_parse(row, text, number);
        break;
    case MD_CONF_PORT_NUMBER:
        good = port_parse(row, text, number);
        break;
    case MD_CONF_WORD:
        *number = word_parse(row->words, text);
        good = *number >= 0;
        break;
    case MD_CONF_CPUS:
        good = cpus_parse(text);
        break;
    case MD_CONF_ADDRESS:
        good = strcmp(row->unit, "group") == 0 ? group_parse(text) : address_parse(text);
        break;
    case MD_CONF_PERCENT:
        good = decimal_parse(text, 10000, number, &rest) &&
               strcmp(rest + strspn(rest, " "), *rest ? "%" : "") == 0;
        break;
    case MD_CONF_LIST:
        good = !row->words || words_parse(row->words, text);
        break;
    case MD_CONF_STRING:
    case MD_CONF_PATH:
        return true;
    }
    if (!good)
        explain_type(row, why, VALUE_WHY_MAX);
    else if (row->type != MD_CONF_WORD && row->type != MD_CONF_BOOLEAN &&
             row->type != MD_CONF_PORT_NUMBER && row->type != MD_CONF_LIST &&
             !in_range(row, *number)) {
        explain_range(row, why, VALUE_WHY_MAX);
        good = false;
    }
    return good;
}

void value_describe(const struct md_conf_row *row, char *out, size_t size)
{
    char range[80], words[256];

    range_print(row, range, sizeof(range));
    switch (row->type) {
    case MD_CONF_BOOLEAN:
        snprintf(out, size, "Boolean");
        return;
    case MD_CONF_STRING:
        snprintf(out, size, "text");
        return;
    case MD_CONF_LIST:
        snprintf(out, size, "list");
        return;
    case MD_CONF_PATH:
        snprintf(out, size, "path");
        return;
    case MD_CONF_ADDRESS:
        snprintf(out, size, "address");
        return;
    case MD_CONF_CPUS:
        snprintf(out, size, "CPU list");
        return;
    case MD_CONF_PORT_NUMBER:
        snprintf(out, size, "port");
        return;
    case MD_CONF_WORD:
        words_print(row->words, words, sizeof(words));
        snprintf(out, size, "%s", words);
        return;
    case MD_CONF_TIME:
        snprintf(out, size, "time in %s%s%s", time_unit_name(row), *range ? ", " : "", range);
        return;
    case MD_CONF_PERCENT:
        snprintf(out, size, "%%%s%s", *range ? ", " : "", range);
        return;
    case MD_CONF_INTEGER:
        snprintf(out, size, "%s%s%s", *row->unit ? row->unit : "integer", *range ? ", " : "",
                 range);
        return;
    }
}

unsigned text_distance(const char *a, size_t a_length, const char *b, unsigned max)
{
    enum { LONGEST = 48 };
    unsigned rows[3][LONGEST + 1];
    size_t b_length = strlen(b);

    if (a_length > LONGEST || b_length > LONGEST ||
        (a_length > b_length ? a_length - b_length : b_length - a_length) > max)
        return max + 1;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            bool same = ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]);
            unsigned best = before[j - 1] + !same;

            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
                ascii_lower(a[i - 2]) == ascii_lower(b[j - 1]) && two[j - 2] + 1 < best)
                best = two[j - 2] + 1;
            now[j] = best;
        }
    }
    unsigned result = rows[a_length % 3][b_length];
    return result > max ? max + 1 : result;
}
