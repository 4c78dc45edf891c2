/* paces.c - see paces.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "paces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "dictionaries.h"
#include "rates/rates.h"

#define INTERVAL_MAX 60000u /* ms; a QoS has room for 65,535 */
#define WORDS_MAX    2048

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

static int read_rates(const struct md_conf_object *daemon, struct p2ps_core_config *config)
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

/* The elements of a list, with blanks between them. */
static void join(const struct md_conf_object *daemon, const char *param, char *out, size_t size)
{
    char word[256];
    size_t at = 0;

    out[0] = 0;
    for (size_t i = 0; md_conf_list(daemon, param, i, word, sizeof(word)) && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s ", word);
}

static void on_mistake(void *arg, int line, const char *text)
{
    (void)arg;
    (void)line;
    md_log(MD_LOG_CRITICAL, "conflateExempt, conflateExemptFields: %s", text);
}

int p2ps_paces_read(struct p2ps *p2ps, struct p2ps_core_config *config)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    const struct rwf_dictionary *names = p2ps_dictionary_types(p2ps->dictionaries);
    char types[WORDS_MAX], fields[WORDS_MAX];
    int err = read_rates(daemon, config);

    if (err != MD_OK || config->pace_count == 0)
        return err;
    join(daemon, "conflateExempt", types, sizeof(types));
    join(daemon, "conflateExemptFields", fields, sizeof(fields));
    err = rates_create("", 0, names, on_mistake, NULL, &p2ps->exempt);
    if (err == MD_OK)
        err = rates_exempt(p2ps->exempt, types, fields, names, on_mistake, NULL);
    if (err == MD_ERR_NOMEM)
        md_log(MD_LOG_CRITICAL, "conflateRates: no memory");
    config->exempt = p2ps->exempt;
    return err;
}
