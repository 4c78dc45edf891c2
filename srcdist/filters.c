/* filters.c - see filters.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "filters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "rates/rates.h"

#define FILE_MAX  (4u << 20)
#define WORDS_MAX 2048

/* ---- reading ---- */

/* Where mistakes go: the first to the caller, the others to the log. */
struct mistakes {
    const char *place; /* the path, or the name of a parameter */
    char *why;
    size_t size;
};

static void say(struct mistakes *mistakes, const char *text)
{
    if (mistakes->why[0])
        md_log(MD_LOG_ERROR, "%s", text);
    else
        snprintf(mistakes->why, mistakes->size, "%s", text);
}

static void on_mistake(void *arg, int line, const char *text)
{
    struct mistakes *mistakes = arg;
    char full[640];

    if (line)
        snprintf(full, sizeof(full), "filterFile %s:%d: %s", mistakes->place, line, text);
    else
        snprintf(full, sizeof(full), "%s: %s", mistakes->place, text);
    say(mistakes, full);
}

/* NULL: it cannot be read, or is too long. */
static char *read_file(struct mistakes *mistakes, size_t *length)
{
    FILE *file = fopen(mistakes->place, "rb");
    char *text = file ? malloc(FILE_MAX) : NULL;
    char why[640];

    *length = text ? fread(text, 1, FILE_MAX, file) : 0;
    if (!text || ferror(file) || *length == FILE_MAX) {
        snprintf(why, sizeof(why), "filterFile %s: %s", mistakes->place,
                 text && *length == FILE_MAX ? "longer than 4 MiB" : strerror(errno));
        say(mistakes, why);
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
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

static int add_line(struct rates *rates, const char *param, const char *line,
                    const struct rwf_dictionary *fields, struct mistakes *mistakes)
{
    mistakes->place = param;
    return rates_add(rates, line, fields, on_mistake, mistakes);
}

/* The parameters that mean one line for all items. */
static int add_parameters(struct rates *rates, const struct md_conf_object *daemon,
                          const struct rwf_dictionary *fields, struct mistakes *mistakes)
{
    const char *filter = md_conf_string(daemon, "fieldFilter");
    uint64_t interval_ms = md_conf_time_ns(daemon, "conflateInterval") / 1000000;
    char words[WORDS_MAX], more[WORDS_MAX], line[WORDS_MAX + 32];
    int err = MD_OK;

    if (filter[0]) {
        size_t verb = strcspn(filter, " \t");
        snprintf(line, sizeof(line), "%.*s * * * %s", (int)verb, filter, filter + verb);
        err = add_line(rates, "fieldFilter", line, fields, mistakes);
    }
    join(daemon, "updateTypeFilter", words, sizeof(words));
    if (err == MD_OK && words[0]) {
        snprintf(line, sizeof(line), "types * * * %s", words);
        err = add_line(rates, "updateTypeFilter", line, fields, mistakes);
    }
    if (err == MD_OK && interval_ms) {
        snprintf(line, sizeof(line), "interval * * * %llu", (unsigned long long)interval_ms);
        err = add_line(rates, "conflateInterval", line, fields, mistakes);
    }
    join(daemon, "conflateExempt", words, sizeof(words));
    join(daemon, "conflateExemptFields", more, sizeof(more));
    mistakes->place = "conflateExempt, conflateExemptFields";
    return err == MD_OK ? rates_exempt(rates, words, more, fields, on_mistake, mistakes) : err;
}

/* *out is NULL without any rule. An error: `why` says it. */
static int read_rules(const struct src_dist *sd, const struct md_conf_object *daemon, char *why,
                      size_t size, struct rates **out)
{
    const char *path = md_conf_string(daemon, "filterFile");
    struct mistakes mistakes = { path, why, size };
    size_t length = 0;
    char *text = path[0] ? read_file(&mistakes, &length) : NULL;

    *out = NULL;
    if (path[0] && !text)
        return MD_ERR_SYS;
    int err = rates_create(text ? text : "", length, sd->fields, on_mistake, &mistakes, out);
    free(text);
    if (err == MD_OK)
        err = add_parameters(*out, daemon, sd->fields, &mistakes);
    if (err == MD_ERR_NOMEM && !why[0])
        snprintf(why, size, "filterFile %s: no memory", path);
    if (err != MD_OK || rates_is_empty(*out)) {
        rates_destroy(*out);
        *out = NULL;
    }
    return err;
}

bool src_dist_has_filters(const struct md_conf_object *daemon)
{
    char word[8];

    return md_conf_string(daemon, "filterFile")[0] || md_conf_string(daemon, "fieldFilter")[0] ||
           md_conf_time_ns(daemon, "conflateInterval") ||
           md_conf_list(daemon, "updateTypeFilter", 0, word, sizeof(word));
}

bool src_dist_filters_load(struct src_dist *sd)
{
    char why[640] = "";

    for (unsigned i = 0; i < sd->network_count; i++) {
        struct rates *rates;

        if (read_rules(sd, &sd->daemon.object, why, sizeof(why), &rates) != MD_OK) {
            md_log(MD_LOG_CRITICAL, "%s; mend it, or leave it out to send everything as it comes",
                   why);
            return false;
        }
        if (srcdist_core_rates_set(sd->networks[i]->loop->core, 0, rates) != MD_OK)
            return false;
    }
    return true;
}

/* ---- reload ---- */

struct filters_step {
    struct route_loop *loop;
    struct rates *rates;
};

static void commit_filters(void *fresh)
{
    struct filters_step *step = fresh;

    route_loop_rates_set(step->loop, step->rates);
    free(step);
}

static void discard_filters(void *fresh)
{
    struct filters_step *step = fresh;

    rates_destroy(step->rates);
    free(step);
}

void src_dist_filters_reload(struct src_dist *sd, struct daemon_reload *reload)
{
    for (unsigned i = 0; i < sd->network_count; i++) {
        struct filters_step *step = calloc(1, sizeof(*step));
        char why[640] = "";

        if (!step || read_rules(sd, &reload->object, why, sizeof(why), &step->rates) != MD_OK) {
            daemon_reload_refuse(reload, "%s", step ? why : "no memory");
            free(step);
            return;
        }
        step->loop = sd->networks[i]->loop;
        daemon_reload_add(reload,
                          &(struct daemon_reload_step){ commit_filters, discard_filters, step });
    }
}
