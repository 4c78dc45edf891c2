/* conf/conf.h - rmds.cnf: load, look up, explain, reload. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CONF_H
#define MD_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/table.h"

/*
 * A loaded configuration. It never changes, so any thread may read it; load, reload and destroy
 * belong to one thread. Strings handed out live as long as the configuration they came from.
 */
struct md_conf;

enum md_conf_severity {
    MD_CONF_INFO,
    MD_CONF_WARNING,
    MD_CONF_ERROR,
};

/* One finding. `file` is NULL and `line` 0 when it is about no particular line. */
typedef void (*md_conf_sink_fn)(void *arg, enum md_conf_severity severity, const char *file,
                                unsigned line, const char *text);

/* The files to load, and for which program. Zero everywhere but `program` is a good start. */
struct md_conf_options {
    const char *program;  /* "p2ps", "src_dist", "rrcpd", "rmds" */
    const char *node;     /* NULL: this host's name up to the first dot */
    const char *instance; /* NULL: "1" */
    const char *network;  /* NULL: the parameter networkName; rrcpd: or a role, see below */
    const char *file;     /* -c; NULL: $RMDS_CONFIG, $DISTRIBUTION_CONFIG, the usual places */
    const char *const *more_files; /* further -c: read behind the first, so that their lines win */
    size_t more_file_count;
    const char *const *defines; /* -D: "word=value" */
    size_t define_count;
    const char *const *lines; /* -set: entries that stand after all files */
    size_t line_count;
    bool strict;          /* unknown names, and '=' in place of ':', are errors */
    md_conf_sink_fn sink; /* NULL: findings are only counted */
    void *sink_arg;
};

/*
 * Load a configuration and check every line of it. Allocates; reads files.
 *
 * MD_OK: *out is usable. MD_ERR_MALFORMED: there were errors (exit code 1); *out is usable for
 * explaining, the values in error have their defaults. MD_ERR_SYS: a file that was asked for by
 * name cannot be read (exit code 2) and MD_ERR_NOMEM: *out is NULL. The sink has the reason.
 * No file in the usual places is not an error: one WARNING, and every default.
 */
int md_conf_load(const struct md_conf_options *options, struct md_conf **out);

/* The same from memory; `name` stands for the file in messages and includes. */
int md_conf_load_text(const struct md_conf_options *options, const char *name, const char *text,
                      size_t length, struct md_conf **out);

/*
 * Load the same files again. On success *out has the new values of the parameters marked dyn and
 * the old values of all others (the sink gets those that differ and wait for a restart).
 * On failure *out is NULL and `old` stays as it is. Destroy both, in any order.
 */
int md_conf_reload(const struct md_conf *old, struct md_conf **out);
/* Sends all further findings to this sink, those of reloads included. */
void md_conf_sink_set(struct md_conf *conf, md_conf_sink_fn sink, void *arg);

void md_conf_destroy(struct md_conf *conf); /* NULL is allowed */

unsigned md_conf_error_count(const struct md_conf *conf);
unsigned md_conf_warning_count(const struct md_conf *conf);
const char *md_conf_file(const struct md_conf *conf); /* the file read, or NULL */
const char *md_conf_node(const struct md_conf *conf);
const char *md_conf_instance(const struct md_conf *conf);
const char *md_conf_program(const struct md_conf *conf);
const char *md_conf_network(const struct md_conf *conf); /* the backbone network's name */

/*
 * "sink" or "source" where rrcpd was given that as its network and no line knows a network of that
 * name: it is then instance 2 or 1 of the network that networkName names. Else NULL.
 */
const char *md_conf_role(const struct md_conf *conf);

/*
 * Raw look-up: the entry that Xrm precedence chooses for an instance path and its class path
 * ("h.1.p2ps.poolSize", "Node.Instance.P2PS.PoolSize"). Returns its value or NULL; where it stands
 * goes to *file and *line (either may be NULL).
 */
const char *md_conf_lookup(const struct md_conf *conf, const char *instance_path,
                           const char *class_path, const char **file, unsigned *line);

/* An object whose parameters are wanted: a value, to be made where it is used. */
struct md_conf_object {
    const struct md_conf *conf;
    enum md_conf_kind kind;
    char name[256]; /* user, service, port, route, network; bytes not allowed in a path are '_' */
};

/*
 * `name` is the user, service, port number, route number or network; NULL or "" where the kind has
 * none, and for MD_CONF_RRCP the network of this configuration.
 */
struct md_conf_object md_conf_object(const struct md_conf *conf, enum md_conf_kind kind,
                                     const char *name);

/*
 * Typed values. The parameter must have a row for the object's kind and this program, and the
 * right type: else our own bug, an assertion. A parameter no line sets has the row's default.
 * `param` of an indexed row may carry its index: "writeThreadCpu.0" (and falls back to the line
 * without an index).
 */
uint64_t md_conf_u64(const struct md_conf_object *object, const char *param);
uint32_t md_conf_u32(const struct md_conf_object *object,
                     const char *param); /* at most UINT32_MAX */
int64_t md_conf_i64(const struct md_conf_object *object, const char *param);
bool md_conf_bool(const struct md_conf_object *object, const char *param);
uint64_t md_conf_time_ns(const struct md_conf_object *object, const char *param);
uint64_t md_conf_ppm(const struct md_conf_object *object, const char *param); /* percent */
uint16_t md_conf_port(const struct md_conf_object *object, const char *param);

/* Index of the word in row->words ("a|b|c": 0, 1, 2). */
int md_conf_word(const struct md_conf_object *object, const char *param);

/* Text of any parameter as it stands in the file, trimmed; never NULL, "" when unset. */
const char *md_conf_string(const struct md_conf_object *object, const char *param);

/* True when a line of the file, a -set or an include sets it. */
bool md_conf_is_set(const struct md_conf_object *object, const char *param);

/*
 * Element `index` of a comma separated list, blanks around it dropped, cut to fit `out`. False
 * when there are not so many: for (i = 0; md_conf_list(...i...); i++).
 */
bool md_conf_list(const struct md_conf_object *object, const char *param, size_t index, char *out,
                  size_t size);

/* The effective value and the line that set it. */
struct md_conf_value {
    const struct md_conf_row *row;
    const char *text;
    const char *file; /* NULL: the default */
    unsigned line;
};
struct md_conf_value md_conf_value(const struct md_conf_object *object, const char *param);

/*
 * Call `fn` for the name of every object of `kind` that some line names: route numbers, services,
 * users, ports. Each name once, in order of appearance.
 */
typedef void (*md_conf_name_fn)(void *arg, const char *name);
void md_conf_names(const struct md_conf *conf, enum md_conf_kind kind, md_conf_name_fn fn,
                   void *arg);

/*
 * Call `fn` for every effective parameter of this program at every object known (-checkconfig,
 * monitors): `path` is the object's path with the parameter.
 */
typedef void (*md_conf_value_fn)(void *arg, const char *path, const struct md_conf_value *value);
void md_conf_each(const struct md_conf *conf, md_conf_value_fn fn, void *arg);

/* A name fit to be a path component: every byte outside A-Za-z0-9_- becomes '_'. */
void md_conf_component(char *out, size_t size, const char *name);

#endif
