/* internal.h - what the files of conf share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CONF_INTERNAL_H
#define MD_CONF_INTERNAL_H

#include "conf/conf.h"
#include "db.h"

#define CONF_PATH_MAX 1024

struct md_conf {
    struct db *boot;                /* what was read at start */
    struct db *live;                /* what was read last: the dyn parameters come from here */
    struct md_conf_options options; /* strings are copies of our own */
    char *node, *instance, *program, *network;
    char *file;
    const char *role; /* of rrcpd, see md_conf_role() */
    unsigned program_bit;
};

/* The paths of a parameter at an object, "h.1.p2ps.port.14002.pingTimeout" and its classes. */
struct object_path {
    char instance_text[CONF_PATH_MAX], class_text[CONF_PATH_MAX];
    struct path instance, class_path;
};

/* `index` follows an indexed parameter, else NULL. False when it is too long to be a path. */
bool object_path(struct object_path *path, enum md_conf_kind kind, unsigned program,
                 const char *node, const char *instance, const char *name, const char *param,
                 const char *index);

/*
 * Another path of a backbone parameter, as configurations of the vendor have it: network `number`
 * of the process, "h.1.p2ps.rrcpTransport.0.sinkSide.rrcp.transmissionBus.userQLimit". There are
 * TRANSPORT_FORMS of it: bit 0 is sourceSide, bit 1 leaves transmissionBus out.
 */
enum { TRANSPORT_FORMS = 4 };
bool transport_path(struct object_path *path, unsigned program, const char *node,
                    const char *instance, const char *number, unsigned form, const char *param);

/* The entry for a parameter at an object of this program, in `db`; NULL if none. */
const struct db_entry *find_at(const struct md_conf *conf, const struct db *db,
                               enum md_conf_kind kind, const char *name, const char *param,
                               const char *index);

/* As md_conf_each, with the object. */
typedef void (*each_fn)(void *arg, const struct md_conf_object *object, const char *param,
                        const char *path);
void each_parameter(const struct md_conf *conf, each_fn fn, void *arg);

/* Check every entry against the table; findings go to the report. */
void check_entries(const struct md_conf *conf, struct db *db, struct report *report);

/* Relations between effective values of this program. */
void check_relations(const struct md_conf *conf, struct report *report);

/* The row a path component names: indexed parameters stand before their index. */
bool entry_param(const struct path *name, const char **param, size_t *length, const char **index);

/* A line that sets `row`: "*Src_Dist*1.route*port : 14002". With `is_default` to its default, else
 * to another value where one is known. */
void row_example(const struct md_conf_row *row, bool is_default, char *out, size_t size);

#endif
