/* exempt.c - see exempt.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "exempt.h"

#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "dictionaries.h"
#include "rates/rates.h"

#define WORDS_MAX 2048

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

int p2ps_exempt_read(struct p2ps *p2ps, struct p2ps_core_config *config)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    const struct rwf_dictionary *names = p2ps_dictionary_types(p2ps->dictionaries);
    char types[WORDS_MAX], fields[WORDS_MAX];

    join(daemon, "conflateExempt", types, sizeof(types));
    join(daemon, "conflateExemptFields", fields, sizeof(fields));
    int err = rates_create("", 0, names, on_mistake, NULL, &p2ps->exempt);
    if (err == MD_OK)
        err = rates_exempt(p2ps->exempt, types, fields, names, on_mistake, NULL);
    if (err == MD_ERR_NOMEM)
        md_log(MD_LOG_CRITICAL, "conflateExempt: no memory");
    config->exempt = p2ps->exempt;
    return err;
}
