/* paces.c - see paces.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "paces.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"

#define INTERVAL_MAX 60000u /* ms; a QoS has room for 65,535 */

/* False: it is no rate. */
static bool read_rate(const char *word, struct p2ps_pace *pace)
{
    char *end;

    if (strcmp(word, "jit") == 0) {
        *pace = (struct p2ps_pace){ .rate = RWF_RATE_JIT_CONFLATED };
        return true;
    }
    if (word[0] < '0' || word[0] > '9')
        return false;
    unsigned long ms = strtoul(word, &end, 10);
    if (ms == 0 || ms > INTERVAL_MAX || (*end && strcmp(end, "ms") != 0))
        return false;
    *pace = (struct p2ps_pace){ .rate = RWF_RATE_TIME_CONFLATED, .interval_ms = (uint16_t)ms };
    return true;
}

static bool is_there(const struct p2ps_core_config *config, const struct p2ps_pace *pace)
{
    for (unsigned i = 0; i < config->pace_count; i++) {
        if (config->paces[i].rate == pace->rate &&
            config->paces[i].interval_ms == pace->interval_ms)
            return true;
    }
    return false;
}

int p2ps_paces_read(const struct md_conf_object *daemon, struct p2ps_core_config *config)
{
    char word[64];

    for (size_t i = 0; md_conf_list(daemon, "conflateRates", i, word, sizeof(word)); i++) {
        struct p2ps_pace pace;

        if (!read_rate(word, &pace)) {
            md_log(MD_LOG_CRITICAL,
                   "conflateRates: %s is no rate; milliseconds from 1 to %u are, and jit", word,
                   INTERVAL_MAX);
            return MD_ERR_MALFORMED;
        }
        if (is_there(config, &pace))
            continue;
        if (config->pace_count == P2PS_PACES_MAX) {
            md_log(MD_LOG_CRITICAL, "conflateRates: more than %d rates; leave out %s",
                   P2PS_PACES_MAX, word);
            return MD_ERR_RANGE;
        }
        config->paces[config->pace_count++] = pace;
    }
    return MD_OK;
}
