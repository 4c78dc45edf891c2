/* filters.c - see filters.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "filters.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "rates/conf.h"

#define FILE_MAX (4u << 20)

/* ---- reading ---- */

/* Where mistakes go: the first to the caller, the others to the log. */
struct mistakes {
    const char *path;
    char *why;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(struct mistakes *mistakes, const char *format,
                                                      ...)
{
    char text[640];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (mistakes->why[0])
        md_log(MD_LOG_ERROR, "%s", text);
    else
        snprintf(mistakes->why, mistakes->size, "%s", text);
}

static void on_mistake(void *arg, const struct md_conf_object *object, const char *param, int line,
                       const char *text)
{
    struct mistakes *mistakes = arg;
    bool is_service = object->kind == MD_CONF_SERVICE;

    if (line)
        say(mistakes, "%s %s:%d: %s", param, mistakes->path, line, text);
    else
        say(mistakes, "%s%s%s: %s", param, is_service ? " of service " : "",
            is_service ? object->name : "", text);
}

/* NULL: it cannot be read, or is too long. */
static char *read_file(struct mistakes *mistakes, size_t *length)
{
    FILE *file = fopen(mistakes->path, "rb");
    char *text = file ? malloc(FILE_MAX) : NULL;

    *length = text ? fread(text, 1, FILE_MAX, file) : 0;
    if (!text || ferror(file) || *length == FILE_MAX) {
        say(mistakes, "filterFile %s: %s", mistakes->path,
            text && *length == FILE_MAX ? "longer than 4 MiB" : strerror(errno));
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
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
    int err =
        rates_conf_read(daemon, text ? text : "", length, sd->fields, on_mistake, &mistakes, out);
    free(text);
    if (err == MD_ERR_NOMEM && !why[0])
        snprintf(why, size, "filterFile %s: no memory", path);
    return err;
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
