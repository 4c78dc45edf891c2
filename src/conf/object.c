/* object.c - the paths of objects, and the typed values found there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/rundir.h"
#include "internal.h"
#include "value.h"

/* ---- paths of objects ---- */

void md_conf_component(char *out, size_t size, const char *name)
{
    size_t i = 0;

    MD_ASSERT(size > 0);
    for (; name[i] && i + 1 < size; i++) {
        char c = name[i];
        bool word = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-';
        out[i] = word ? c : '_';
    }
    out[i] = '\0';
}

static const char *program_name(unsigned program)
{
    return program == MD_CONF_P2PS       ? "p2ps"
           : program == MD_CONF_SRC_DIST ? "src_dist"
           : program == MD_CONF_RRCPD    ? "rrcpd"
           : program == MD_CONF_RMDSREC  ? "rmdsrec"
                                         : "rmds";
}

static const char *program_class(unsigned program)
{
    return program == MD_CONF_P2PS       ? "P2PS"
           : program == MD_CONF_SRC_DIST ? "Src_Dist"
           : program == MD_CONF_RRCPD    ? "RRCPD"
           : program == MD_CONF_RMDSREC  ? "RMDSRec"
                                         : "RMDS";
}

/* The path behind N.I.<daemon>; "%s" is the object's name. */
static const struct {
    const char *instance, *class_path;
} kinds[MD_CONF_KINDS] = {
    [MD_CONF_DAEMON] = { "", "" },
    [MD_CONF_PORT] = { ".port.", ".Port.PortNumber" },
    [MD_CONF_USER] = { ".user.", ".User.UserName" },
    [MD_CONF_ROUTE] = { ".", ".RouteInst" },
    [MD_CONF_BUS] = { ".server.ipc.transmissionBus", ".Server.Ipc.TransmissionBus" },
    [MD_CONF_SERVICE] = { ".service.", ".Service.ServiceName" },
    [MD_CONF_RRCP] = { ".", ".Network" },
    [MD_CONF_LOGGER] = { ".logger", ".Logger" },
    [MD_CONF_SHMEM] = { ".shmem", ".Shmem" },
    [MD_CONF_RMDS] = { "", "" },
};

static bool kind_has_name(enum md_conf_kind kind)
{
    return kind == MD_CONF_PORT || kind == MD_CONF_USER || kind == MD_CONF_ROUTE ||
           kind == MD_CONF_SERVICE || kind == MD_CONF_RRCP;
}

static char class_letter(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Cuts the two texts of a path into components; snprintf() has returned their lengths. */
static bool both_split(struct object_path *path, int a, int b)
{
    return a > 0 && (size_t)a < sizeof(path->instance_text) && b > 0 &&
           (size_t)b < sizeof(path->class_text) &&
           path_split(&path->instance, path->instance_text) &&
           path_split(&path->class_path, path->class_text) &&
           path->instance.count == path->class_path.count;
}

bool object_path(struct object_path *path, enum md_conf_kind kind, unsigned program,
                 const char *node, const char *instance, const char *name, const char *param,
                 const char *index)
{
    const char *tail = kind == MD_CONF_ROUTE ? ".route" : kind == MD_CONF_RRCP ? ".rrcp" : "";
    const char *class_tail = kind == MD_CONF_ROUTE ? ".Route" : kind == MD_CONF_RRCP ? ".RRCP" : "";
    char first = class_letter(*param);
    int a, b;

    if (kind == MD_CONF_RMDS)
        program = MD_CONF_TOOLS;
    a = snprintf(path->instance_text, sizeof(path->instance_text), "%s.%s.%s%s%s%s.%s%s%s", node,
                 instance, program_name(program), kinds[kind].instance,
                 kind_has_name(kind) ? name : "", tail, param, index ? "." : "",
                 index ? index : "");
    b = snprintf(path->class_text, sizeof(path->class_text), "Node.Instance.%s%s%s.%c%s%s",
                 program_class(program), kinds[kind].class_path, class_tail, first, param + 1,
                 index ? ".Index" : "");
    return both_split(path, a, b);
}

bool transport_path(struct object_path *path, unsigned program, const char *node,
                    const char *instance, const char *number, unsigned form, const char *param)
{
    const char *bus = form & 2 ? "" : ".transmissionBus";
    const char *class_bus = form & 2 ? "" : ".TransmissionBus";
    int a =
        snprintf(path->instance_text, sizeof(path->instance_text),
                 "%s.%s.%s.rrcpTransport.%s.%s.rrcp%s.%s", node, instance, program_name(program),
                 number, form & 1 ? "sourceSide" : "sinkSide", bus, param);
    int b =
        snprintf(path->class_text, sizeof(path->class_text),
                 "Node.Instance.%s.RrcpTransport.Number.%s.RRCP%s.%c%s", program_class(program),
                 form & 1 ? "SourceSide" : "SinkSide", class_bus, class_letter(*param), param + 1);

    return both_split(path, a, b);
}

struct md_conf_object md_conf_object(const struct md_conf *conf, enum md_conf_kind kind,
                                     const char *name)
{
    struct md_conf_object object = { .conf = conf, .kind = kind };

    if (kind == MD_CONF_RRCP && (!name || !*name))
        name = conf->network;
    if (kind_has_name(kind))
        md_conf_component(object.name, sizeof(object.name), name && *name ? name : "_");
    return object;
}

/* ---- looking up ---- */

const char *md_conf_lookup(const struct md_conf *conf, const char *instance_path,
                           const char *class_path, const char **file, unsigned *line)
{
    const struct db *db = conf->live;
    struct path instance, general;
    const struct db_entry *entry = NULL;

    if (path_split(&instance, instance_path) && path_split(&general, class_path) &&
        instance.count == general.count)
        entry = db_find(db, &instance, &general);
    if (file)
        *file = entry ? db->files[entry->file] : NULL;
    if (line)
        *line = entry ? entry->line : 0;
    return entry ? db_value(db, entry) : NULL;
}

const struct db_entry *find_at(const struct md_conf *conf, const struct db *db,
                               enum md_conf_kind kind, const char *name, const char *param,
                               const char *index)
{
    struct object_path path;

    if (!object_path(&path, kind, conf->program_bit, conf->node, conf->instance, name, param,
                     index))
        return NULL;
    return db_find(db, &path.instance, &path.class_path);
}

/* Does the entry name a component that only paths of rrcpTransport have? */
static bool names_transport(const struct db *db, const struct db_entry *entry)
{
    static const char *const words[] = { "rrcpTransport", "sinkSide", "sourceSide",
                                         "transmissionBus" };
    struct path name;

    if (!path_split(&name, db_name(db, entry)))
        return false;
    for (int i = 0; i < name.count; i++)
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
            if (text_same(name.at[i].text, name.at[i].length, words[w], strlen(words[w])))
                return true;
    return false;
}

/* Which network of the process this is, counted as rrcpTransport does; -1 when it is none. */
static int network_number(const struct md_conf *conf, const char *network)
{
    char name[256], word[256];

    if (conf->program_bit & (MD_CONF_P2PS | MD_CONF_SRC_DIST)) {
        struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);

        for (int i = 0; md_conf_list(&daemon, "networkList", (size_t)i, name, sizeof(name)); i++) {
            md_conf_component(word, sizeof(word), name);
            if (strcmp(word, network) == 0)
                return i;
        }
        if (*md_conf_string(&daemon, "networkList"))
            return -1;
    }
    return strcmp(conf->network, network) == 0 ? 0 : -1;
}

/*
 * A line that speaks of rrcpTransport: of the daemon's own side before the other one, which is for
 * files that know only one. p2ps and `rrcpd sink` (instance 2) are sinks.
 */
static const struct db_entry *find_transport(const struct md_conf_object *object,
                                             const struct md_conf_row *row, const struct db *db)
{
    const struct md_conf *conf = object->conf;
    int number = network_number(conf, object->name);
    bool is_sink = conf->program_bit == MD_CONF_P2PS ||
                   (conf->program_bit == MD_CONF_RRCPD &&
                    (conf->role ? *conf->role == 's' && conf->role[1] == 'i'
                                : strcmp(conf->instance, "2") == 0));
    struct object_path path;
    char text[16];

    snprintf(text, sizeof(text), "%d", number);
    for (unsigned i = 0; number >= 0 && i < TRANSPORT_FORMS; i++) {
        unsigned form = (i >> 1) ^ (is_sink ? 0 : 1);
        const struct db_entry *entry = NULL;

        form |= (i & 1) << 1;
        if (transport_path(&path, conf->program_bit, conf->node, conf->instance, text, form,
                           row->name))
            entry = db_find(db, &path.instance, &path.class_path);
        if (entry && names_transport(db, entry))
            return entry;
    }
    return NULL;
}

/* At the object, then without the index, then at the daemon if the parameter is known there. */
static const struct db_entry *find_effective(const struct md_conf_object *object,
                                             const struct md_conf_row *row, const char *index,
                                             const struct db *db)
{
    const struct md_conf *conf = object->conf;
    const struct db_entry *entry =
        object->kind == MD_CONF_RRCP ? find_transport(object, row, db) : NULL;

    if (!entry)
        entry = find_at(conf, db, object->kind, object->name, row->name, index);
    if (!entry && index)
        entry = find_at(conf, db, object->kind, object->name, row->name, NULL);
    if (!entry && object->kind != MD_CONF_DAEMON &&
        md_conf_row_find(row->name, MD_CONF_DAEMON, conf->program_bit))
        entry = find_at(conf, db, MD_CONF_DAEMON, "", row->name, NULL);
    return entry;
}

/* "writeThreadCpu.0" -> its name and index. */
static const struct md_conf_row *row_of(const struct md_conf_object *object, const char *param,
                                        const char **index)
{
    const char *dot = strchr(param, '.');
    size_t length = dot ? (size_t)(dot - param) : strlen(param);
    char name[64];

    MD_ASSERT(length < sizeof(name));
    memcpy(name, param, length);
    name[length] = '\0';
    *index = dot ? dot + 1 : NULL;
    return md_conf_row_find(name, object->kind, object->conf->program_bit);
}

/* The one default that depends on who runs the program. */
static const char *default_of(const struct md_conf_row *row)
{
    return strcmp(row->name, "runDir") == 0 ? md_rundir_default() : row->fallback;
}

static struct md_conf_value value_of(const struct md_conf_object *object, const char *param,
                                     int64_t *number)
{
    const char *index;
    const struct md_conf_row *row = row_of(object, param, &index);
    char why[VALUE_WHY_MAX];

    MD_ASSERT(row != NULL);
    const struct db *db = row->flags & MD_CONF_DYN ? object->conf->live : object->conf->boot;
    const struct db_entry *entry = find_effective(object, row, index, db);
    const char *fallback = default_of(row);
    struct md_conf_value value = { .row = row, .text = fallback };
    if (entry && value_parse(row, db_value(db, entry), number, why)) {
        value.text = db_value(db, entry);
        value.file = db->files[entry->file];
        value.line = entry->line;
    } else if (!*fallback) {
        *number = 0;
    } else {
        bool good = value_parse(row, fallback, number, why);
        MD_ASSERT(good);
    }
    return value;
}

struct md_conf_value md_conf_value(const struct md_conf_object *object, const char *param)
{
    int64_t number;

    return value_of(object, param, &number);
}

static int64_t number_of(const struct md_conf_object *object, const char *param, unsigned types)
{
    int64_t number;
    struct md_conf_value value = value_of(object, param, &number);

    MD_ASSERT(types >> value.row->type & 1);
    return number;
}

int64_t md_conf_i64(const struct md_conf_object *object, const char *param)
{
    return number_of(object, param, 1u << MD_CONF_INTEGER | 1u << MD_CONF_PORT_NUMBER);
}

uint64_t md_conf_u64(const struct md_conf_object *object, const char *param)
{
    int64_t number = number_of(object, param, 1u << MD_CONF_INTEGER);

    MD_ASSERT(number >= 0);
    return (uint64_t)number;
}

uint32_t md_conf_u32(const struct md_conf_object *object, const char *param)
{
    uint64_t value = md_conf_u64(object, param);

    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

bool md_conf_bool(const struct md_conf_object *object, const char *param)
{
    return number_of(object, param, 1u << MD_CONF_BOOLEAN) != 0;
}

uint64_t md_conf_time_ns(const struct md_conf_object *object, const char *param)
{
    return (uint64_t)number_of(object, param, 1u << MD_CONF_TIME);
}

uint64_t md_conf_ppm(const struct md_conf_object *object, const char *param)
{
    return (uint64_t)number_of(object, param, 1u << MD_CONF_PERCENT);
}

uint16_t md_conf_port(const struct md_conf_object *object, const char *param)
{
    int64_t number = number_of(object, param, 1u << MD_CONF_PORT_NUMBER);

    return (uint16_t)(number > 0 ? number : 0);
}

int md_conf_word(const struct md_conf_object *object, const char *param)
{
    return (int)number_of(object, param, 1u << MD_CONF_WORD);
}

const char *md_conf_string(const struct md_conf_object *object, const char *param)
{
    return md_conf_value(object, param).text;
}

bool md_conf_is_set(const struct md_conf_object *object, const char *param)
{
    return md_conf_value(object, param).file != NULL;
}

bool md_conf_list(const struct md_conf_object *object, const char *param, size_t index, char *out,
                  size_t size)
{
    const char *text = md_conf_string(object, param);

    MD_ASSERT(size > 0);
    *out = '\0';
    for (;;) {
        text += strspn(text, " \t,");
        size_t length = strcspn(text, ",");
        if (length == 0)
            return false;
        if (index-- == 0) {
            while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
                length--;
            length = length < size ? length : size - 1;
            memcpy(out, text, length);
            out[length] = '\0';
            return true;
        }
        text += length;
    }
}
