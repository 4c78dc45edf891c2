/* conf.c - loading rmds.cnf, and loading it again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "internal.h"
#include "text.h"

unsigned md_conf_error_count(const struct md_conf *conf)
{
    return conf->live->errors;
}

unsigned md_conf_warning_count(const struct md_conf *conf)
{
    return conf->live->warnings;
}

const char *md_conf_file(const struct md_conf *conf)
{
    return conf->file;
}

const char *md_conf_node(const struct md_conf *conf)
{
    return conf->node;
}

const char *md_conf_instance(const struct md_conf *conf)
{
    return conf->instance;
}

const char *md_conf_program(const struct md_conf *conf)
{
    return conf->program;
}

const char *md_conf_network(const struct md_conf *conf)
{
    return conf->network;
}

const char *md_conf_role(const struct md_conf *conf)
{
    return conf->role;
}

static char *component_copy(const char *text)
{
    size_t length = strlen(text);
    char *copy = malloc(length + 1);

    if (copy)
        md_conf_component(copy, length + 1, text);
    return copy;
}

/* Up to the first dot: a dot would make two components of it. */
static char *node_name(const char *given)
{
    char host[256] = "localhost";

    if (given && strlen(given) < sizeof(host))
        memcpy(host, given, strlen(given) + 1);
    else if (gethostname(host, sizeof(host) - 1) != 0 || !*host)
        snprintf(host, sizeof(host), "localhost");
    host[sizeof(host) - 1] = '\0';
    host[strcspn(host, ".")] = '\0';
    return component_copy(host);
}

static const char **strings_copy(const char *const *from, size_t count)
{
    const char **copy = calloc(count ? count : 1, sizeof(*copy));

    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(from[i]);
        if (!copy[i]) {
            while (i > 0)
                free((void *)(uintptr_t)copy[--i]);
            free(copy);
            return NULL;
        }
    }
    return copy;
}

static void strings_free(const char *const *strings, size_t count)
{
    for (size_t i = 0; strings && i < count; i++)
        free((void *)(uintptr_t)strings[i]);
    free((void *)(uintptr_t)strings);
}

void md_conf_destroy(struct md_conf *conf)
{
    if (!conf)
        return;
    if (conf->live != conf->boot)
        db_destroy(conf->live);
    db_destroy(conf->boot);
    strings_free(conf->options.more_files, conf->options.more_file_count);
    strings_free(conf->options.defines, conf->options.define_count);
    strings_free(conf->options.lines, conf->options.line_count);
    free(conf->node);
    free(conf->instance);
    free(conf->program);
    free(conf->network);
    free(conf->file);
    free(conf);
}

/* A configuration with nothing read yet. */
static struct md_conf *conf_create(const struct md_conf_options *options)
{
    struct md_conf *conf = calloc(1, sizeof(*conf));
    const char *program = options->program ? options->program : "rmdscnf";

    if (!conf)
        return NULL;
    conf->boot = db_create();
    conf->live = conf->boot;
    conf->node = node_name(options->node);
    conf->instance = component_copy(options->instance ? options->instance : "1");
    conf->network = component_copy(options->network ? options->network : "net1");
    conf->program = strdup(program);
    conf->program_bit = md_conf_program_bit(program);
    conf->options = *options;
    conf->options.more_files = strings_copy(options->more_files, options->more_file_count);
    conf->options.defines = strings_copy(options->defines, options->define_count);
    conf->options.lines = strings_copy(options->lines, options->line_count);
    if (conf->boot && conf->node && conf->instance && conf->network && conf->program &&
        conf->options.more_files && conf->options.defines && conf->options.lines)
        return conf;
    if (!conf->options.more_files)
        conf->options.more_file_count = 0;
    if (!conf->options.defines)
        conf->options.define_count = 0;
    if (!conf->options.lines)
        conf->options.line_count = 0;
    md_conf_destroy(conf);
    return NULL;
}

/* The network this configuration names, unless the command line did. */
static int network_find(struct md_conf *conf)
{
    if (conf->options.network ||
        !(conf->program_bit & (MD_CONF_P2PS | MD_CONF_SRC_DIST | MD_CONF_RRCPD | MD_CONF_RMDSREC)))
        return MD_OK;
    struct md_conf_object object = md_conf_object(conf, MD_CONF_RRCP, "net1");
    char *network = component_copy(md_conf_string(&object, "networkName"));

    if (!network)
        return MD_ERR_NOMEM;
    free(conf->network);
    conf->network = network;
    return MD_OK;
}

static int loader_init(struct text_loader *loader, struct md_conf *conf)
{
    *loader = (struct text_loader){
        .db = conf->live,
        .options = &conf->options,
        .node = conf->node,
        .instance = conf->instance,
        .report = { .db = conf->live,
                    .sink = conf->options.sink,
                    .sink_arg = conf->options.sink_arg },
        .line = malloc(3 * (DB_LINE_MAX + 1)),
    };
    if (!loader->line)
        return MD_ERR_NOMEM;
    loader->name = loader->line + DB_LINE_MAX + 1;
    loader->value = loader->name + DB_LINE_MAX + 1;
    return MD_OK;
}

/* The -set lines, the index and the checks: what every way of loading ends with. */
static int loader_finish(struct text_loader *loader, struct md_conf *conf)
{
    for (size_t i = 0; i < conf->options.line_count && !loader->full; i++) {
        const char *line = conf->options.lines[i];
        text_load(loader, "-set", line, strlen(line), DB_DEPTH_MAX);
    }
    free(loader->line);
    loader->line = NULL;
    if (db_index(conf->live, &loader->report) || network_find(conf)) {
        report_say(&loader->report, MD_CONF_ERROR, NULL, 0, "out of memory");
        return MD_ERR_NOMEM;
    }
    check_entries(conf, conf->live, &loader->report);
    check_relations(conf, &loader->report);
    return conf->live->errors ? MD_ERR_MALFORMED : MD_OK;
}

/* The file to read: named by somebody (true in *named), or in a usual place, or NULL. */
static const char *file_choose(const struct md_conf_options *options, bool *named)
{
    static const char *const usual[] = {
        "/etc/rmds/rmds.cnf",
        "/var/reuters/rmds/rmds.cnf",
        "/var/distribution/distribution.cnf",
    };
    static const char *const variables[] = { "RMDS_CONFIG", "DISTRIBUTION_CONFIG" };

    *named = true;
    if (options->file)
        return options->file;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return value;
    }
    *named = false;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (access(usual[i], F_OK) == 0)
            return usual[i];
    return NULL;
}

static int files_load(struct md_conf *conf)
{
    struct text_loader loader;
    bool named;
    const char *file = file_choose(&conf->options, &named);

    if (loader_init(&loader, conf))
        return MD_ERR_NOMEM;
    if (!file) {
        report_say(&loader.report, MD_CONF_WARNING, NULL, 0,
                   "no configuration file (-c FILE, $RMDS_CONFIG, /etc/rmds/rmds.cnf); every "
                   "parameter has its default");
        return loader_finish(&loader, conf);
    }
    free(conf->file);
    conf->file = strdup(file);
    if (!conf->file) {
        free(loader.line);
        return MD_ERR_NOMEM;
    }
    size_t more = 0;
    while (text_load_file(&loader, file, 0) != MD_ERR_SYS) {
        if (more == conf->options.more_file_count)
            return loader_finish(&loader, conf);
        if (more == 0)
            conf->live->first_files = conf->live->file_count;
        file = conf->options.more_files[more++];
    }
    report_say(&loader.report, MD_CONF_ERROR, file, 0, "cannot be read: %s", strerror(errno));
    free(loader.line);
    return MD_ERR_SYS;
}

/* Does a line know a network of that name? */
static bool network_is_known(const struct md_conf *conf, const char *network)
{
    static const char *const lists[] = { "networkName", "networkList", "network", "startList" };
    const struct db *db = conf->live;
    size_t length = strlen(network);
    struct path name;

    for (uint32_t i = 0; i < db->count; i++) {
        if (!path_split(&name, db_name(db, &db->entries[i])))
            continue;
        int last = name.count - 1;
        for (int j = 0; j < last; j++)
            if (text_same(name.at[j].text, name.at[j].length, network, length))
                return true;
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            const char *value = db_value(db, &db->entries[i]);

            if (!text_same(name.at[last].text, name.at[last].length, lists[j], strlen(lists[j])))
                continue;
            for (const char *at = value; (at = strcasestr(at, network)); at++)
                if ((at == value || !isalnum((unsigned char)at[-1])) &&
                    !isalnum((unsigned char)at[length]))
                    return true;
        }
    }
    return false;
}

/*
 * `rrcpd sink` and `rrcpd source` of published start scripts are two daemons of one network: the
 * role in *role and what to load for it in *own, or NULL where it is the name of a network.
 */
static void role_find(const struct md_conf_options *options, struct md_conf_options *own,
                      const char **role)
{
    static const char *const roles[] = { "source", "sink" };
    struct md_conf_options quiet = *options;
    const char *word = options->network;

    *own = *options;
    *role = NULL;
    quiet.sink = NULL;
    for (size_t i = 0; i < 2 && word && md_conf_program_bit(options->program) == MD_CONF_RRCPD;
         i++) {
        if (strcasecmp(word, roles[i]) != 0)
            continue;
        struct md_conf *conf = conf_create(&quiet);
        if (conf)
            (void)files_load(conf);
        if (conf && !network_is_known(conf, word)) {
            *role = roles[i];
            own->network = NULL;
            own->instance = options->instance ? options->instance : i == 0 ? "1" : "2";
        }
        md_conf_destroy(conf);
    }
}

int md_conf_load(const struct md_conf_options *asked, struct md_conf **out)
{
    struct md_conf_options own;
    const struct md_conf_options *options = &own;
    const char *role;

    role_find(asked, &own, &role);
    struct md_conf *conf = conf_create(options);
    if (conf)
        conf->role = role;
    int rc = conf ? files_load(conf) : MD_ERR_NOMEM;

    *out = conf;
    if (rc == MD_OK || rc == MD_ERR_MALFORMED)
        return rc;
    md_conf_destroy(conf);
    *out = NULL;
    return rc;
}

int md_conf_load_text(const struct md_conf_options *options, const char *name, const char *text,
                      size_t length, struct md_conf **out)
{
    struct md_conf *conf = conf_create(options);
    struct text_loader loader;

    *out = NULL;
    if (!conf || loader_init(&loader, conf)) {
        md_conf_destroy(conf);
        return MD_ERR_NOMEM;
    }
    if (length > DB_FILE_MAX)
        report_say(&loader.report, MD_CONF_ERROR, name, 0, "larger than 16 MiB; not read");
    else
        text_load(&loader, name, text, length, 0);
    int rc = loader_finish(&loader, conf);
    if (rc != MD_OK && rc != MD_ERR_MALFORMED) {
        md_conf_destroy(conf);
        return rc;
    }
    *out = conf;
    return rc;
}

/* ---- reloading ---- */

struct compare {
    const struct md_conf *old;
    struct report *report;
};

/* Tell of a parameter whose new value waits for a restart. */
static void compare_value(void *arg, const struct md_conf_object *object, const char *param,
                          const char *path)
{
    const struct compare *compare = arg;
    struct md_conf_object before = *object;

    before.conf = compare->old;
    struct md_conf_value value = md_conf_value(object, param);
    struct md_conf_value was = md_conf_value(&before, param);
    if ((value.row->flags & MD_CONF_DYN) || strcmp(value.text, was.text) == 0)
        return;
    report_say(compare->report, MD_CONF_WARNING, value.file, value.line,
               "%s: \"%s\" in place of \"%s\" takes effect at the next start", path, value.text,
               was.text);
}

void md_conf_sink_set(struct md_conf *conf, md_conf_sink_fn sink, void *arg)
{
    conf->options.sink = sink;
    conf->options.sink_arg = arg;
}

int md_conf_reload(const struct md_conf *old, struct md_conf **out)
{
    struct md_conf *fresh = NULL;
    struct md_conf_options options = old->options;

    *out = NULL;
    options.program = old->program;
    options.node = old->node;
    options.instance = old->instance;
    options.network = old->network;
    options.file = old->file;
    int rc = md_conf_load(&options, &fresh);
    if (rc) {
        md_conf_destroy(fresh);
        return rc;
    }
    struct report report = { .db = fresh->live,
                             .sink = options.sink,
                             .sink_arg = options.sink_arg };
    struct compare compare = { .old = old, .report = &report };
    each_parameter(fresh, compare_value, &compare);
    /* Parameters that are not dyn keep the values of the start. */
    old->boot->references++;
    fresh->role = old->role;
    fresh->boot = old->boot;
    *out = fresh;
    return MD_OK;
}
