/* conf.c - see rates/conf.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rates/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "private.h"

#define LINE_SIZE 4096u

static const char *const params[] = { "fieldFilter", "updateTypeFilter", "conflateInterval" };

struct reading {
    struct md_conf_object daemon;
    struct md_conf_object object; /* a service, or the daemon */
    const char *param;
    const struct rwf_dictionary *fields;
    struct rates *rates;
    rates_conf_find_fn find;
    void *arg;
    int err; /* the first */
};

static void on_mistake(void *arg, int line, const char *text)
{
    const struct reading *r = arg;

    if (r->find)
        r->find(r->arg, &r->object, r->param, line, text);
}

static void took(struct reading *r, int err)
{
    r->err = r->err == MD_OK ? err : r->err;
}

static bool is_service(const struct reading *r)
{
    return r->object.kind == MD_CONF_SERVICE;
}

/* ---- lines ---- */

static void add(struct reading *r, const char *verb, const char *words)
{
    char line[LINE_SIZE];
    int length = snprintf(line, sizeof(line), "%s * * * %s", verb, words);

    if (length < 0 || (size_t)length >= sizeof(line)) {
        on_mistake(r, 0, "longer than 4,000 bytes; write lines of filterFile");
        took(r, MD_ERR_MALFORMED);
        return;
    }
    unsigned count = r->rates->count;
    took(r, rates_add(r->rates, line, r->fields, on_mistake, r));
    if (r->rates->count == count || !is_service(r))
        return;
    struct rates_rule *rule = &r->rates->rules[count];
    rule->is_of_object = true;
    snprintf(rule->service, sizeof(rule->service), "%s", r->object.name);
}

/* An empty value of a service keeps every field, where the daemon leaves some out. */
static void add_fields(struct reading *r, const char *value)
{
    char verb[8];
    size_t length = strcspn(value, " \t");

    snprintf(verb, sizeof(verb), "%.*s", (int)length, value);
    if (length == 0) {
        add(r, "keep", "*");
    } else if (strcmp(verb, "keep") == 0 || strcmp(verb, "drop") == 0) {
        add(r, verb, value + length);
    } else {
        on_mistake(r, 0, "expected keep FIELD... or drop FIELD...");
        took(r, MD_ERR_MALFORMED);
    }
}

static void add_interval(struct reading *r)
{
    uint64_t interval_ms = md_conf_time_ns(&r->object, r->param) / 1000000;
    char words[24];

    snprintf(words, sizeof(words), "%llu", (unsigned long long)interval_ms);
    add(r, "interval", words);
}

/* True: a service has another value than the daemon, or the daemon has one. */
static bool is_own(const struct reading *r, const char *param)
{
    const char *value = md_conf_string(&r->object, param);

    if (is_service(r))
        return strcmp(value, md_conf_string(&r->daemon, param)) != 0;
    return value[0] &&
           (strcmp(param, "conflateInterval") != 0 || md_conf_time_ns(&r->object, param));
}

static void add_param(struct reading *r, const char *param)
{
    const char *value = md_conf_string(&r->object, param);

    r->param = param;
    if (!is_own(r, param))
        return;
    if (param == params[0])
        add_fields(r, value);
    else if (param == params[1])
        add(r, "types", value[0] ? value : "*");
    else
        add_interval(r);
}

static void exempt(struct reading *r, const char *param, const char *types, const char *fields)
{
    r->param = param;
    took(r, is_service(r)
                ? rates_exempt_of(r->rates, r->object.name, types, fields, r->fields, on_mistake, r)
                : rates_exempt(r->rates, types, fields, r->fields, on_mistake, r));
}

static void add_exempt(struct reading *r)
{
    static const char types[] = "conflateExempt", fields[] = "conflateExemptFields";

    if (is_service(r) && !is_own(r, types) && !is_own(r, fields))
        return;
    exempt(r, types, md_conf_string(&r->object, types), "");
    exempt(r, fields, "", md_conf_string(&r->object, fields));
}

static void add_object(struct reading *r)
{
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
        add_param(r, params[i]);
    add_exempt(r);
}

static void on_service(void *arg, const char *name)
{
    struct reading *r = arg;

    r->object = md_conf_object(r->daemon.conf, MD_CONF_SERVICE, name);
    add_object(r);
}

/* ---- all of them ---- */

static bool has_any(const struct md_conf_object *object)
{
    return md_conf_string(object, "fieldFilter")[0] ||
           md_conf_string(object, "updateTypeFilter")[0] ||
           md_conf_time_ns(object, "conflateInterval");
}

struct use {
    const struct md_conf *conf;
    bool is_it;
};

static void look_at_service(void *arg, const char *name)
{
    struct use *use = arg;
    struct md_conf_object service = md_conf_object(use->conf, MD_CONF_SERVICE, name);

    use->is_it |= has_any(&service);
}

bool rates_conf_is_used(const struct md_conf_object *daemon)
{
    struct use use = { daemon->conf, md_conf_string(daemon, "filterFile")[0] || has_any(daemon) };

    md_conf_names(daemon->conf, MD_CONF_SERVICE, look_at_service, &use);
    return use.is_it;
}

int rates_conf_read(const struct md_conf_object *daemon, const char *text, size_t length,
                    const struct rwf_dictionary *fields, rates_conf_find_fn find, void *arg,
                    struct rates **out)
{
    struct reading r = { .daemon = *daemon,
                         .object = *daemon,
                         .param = "filterFile",
                         .fields = fields,
                         .find = find,
                         .arg = arg };

    *out = NULL;
    took(&r, rates_create(text, length, fields, on_mistake, &r, &r.rates));
    if (!r.rates) {
        /* The parameters are looked at all the same, for what is wrong with them. */
        if (r.err != MD_ERR_MALFORMED || rates_create("", 0, NULL, NULL, NULL, &r.rates) != MD_OK)
            return r.err;
    }
    md_conf_names(daemon->conf, MD_CONF_SERVICE, on_service, &r);
    r.object = *daemon;
    add_object(&r);
    if (r.err == MD_OK && !rates_is_empty(r.rates))
        *out = r.rates;
    else
        rates_destroy(r.rates);
    return r.err;
}

/* ---- conflateRates of p2ps ---- */

bool rates_pace_read(const char *word, uint16_t *interval_ms)
{
    char *end;

    *interval_ms = 0;
    if (strcmp(word, "jit") == 0)
        return true;
    if (word[0] < '0' || word[0] > '9')
        return false;
    unsigned long ms = strtoul(word, &end, 10);
    if (ms == 0 || ms > RATES_PACE_INTERVAL_MAX || (*end && strcmp(end, "ms") != 0))
        return false;
    *interval_ms = (uint16_t)ms;
    return true;
}
