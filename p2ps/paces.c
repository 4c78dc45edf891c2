/* paces.c - see paces.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "paces.h"

#include "base/err.h"
#include "base/log.h"
#include "rates/conf.h"

_Static_assert(P2PS_PACES_MAX == RATES_PACES_MAX, "rmdscnf checks as many");

/* False: it is no rate. */
static bool read_rate(const char *word, struct p2ps_pace *pace)
{
    bool is_rate = rates_pace_read(word, &pace->interval_ms);

    pace->rate = pace->interval_ms ? RWF_RATE_TIME_CONFLATED : RWF_RATE_JIT_CONFLATED;
    return is_rate;
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
                   RATES_PACE_INTERVAL_MAX);
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
