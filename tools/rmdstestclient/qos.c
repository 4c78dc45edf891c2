/* qos.c - the quality that is asked for: -qos. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tc.h"

#define MS_MAX 65535 /* two bytes of a QoS */

static bool parse_one(const char *text, size_t length, struct rwf_qos *qos)
{
    char word[16];
    char *end;

    *qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK };
    if (length == 0 || length >= sizeof(word))
        return false;
    memcpy(word, text, length);
    word[length] = 0;
    if (strcmp(word, "tick") == 0)
        return true;
    qos->rate = RWF_RATE_JIT_CONFLATED;
    if (strcmp(word, "jit") == 0)
        return true;
    unsigned long ms = strtoul(word, &end, 10);
    qos->rate = RWF_RATE_TIME_CONFLATED;
    qos->rate_info = (uint16_t)ms;
    return word[0] >= '0' && word[0] <= '9' && *end == 0 && ms > 0 && ms <= MS_MAX;
}

bool qos_parse(const char *text, struct tc_options *options)
{
    size_t length = text ? strcspn(text, "-") : 0;

    if (!text)
        return true;
    options->has_qos = true;
    options->has_worst_qos = text[length] == '-';
    return parse_one(text, length, &options->qos) &&
           (!options->has_worst_qos ||
            parse_one(text + length + 1, strlen(text + length + 1), &options->worst_qos));
}
