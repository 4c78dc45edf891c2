/* each.c - which objects a configuration names, and every parameter they have. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct names {
    char (*seen)[256];
    size_t count;
};

static bool name_is_new(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->seen[i], name) == 0)
            return false;
    char(*more)[256] = realloc(names->seen, (names->count + 1) * sizeof(*more));
    if (!more)
        return false;
    names->seen = more;
    snprintf(names->seen[names->count++], sizeof(*more), "%s", name);
    return true;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* Does the entry speak of the object called `text`, and of no object whatever it is called? */
static bool names_object(const struct md_conf *conf, enum md_conf_kind kind,
                         const struct path *name, const char *param, const char *text)
{
    struct object_path path;

    return object_path(&path, kind, conf->program_bit, conf->node, conf->instance, text, param,
                       NULL) &&
           path_score(name, &path.instance, &path.class_path) > 0 &&
           object_path(&path, kind, conf->program_bit, conf->node, conf->instance, "\x01", param,
                       NULL) &&
           path_score(name, &path.instance, &path.class_path) == 0;
}

static void names_of_entry(const struct md_conf *conf, enum md_conf_kind kind, const char *text,
                           struct names *names, md_conf_name_fn fn, void *arg)
{
    struct path name;
    const char *param, *index;
    size_t length;
    char copy[64];

    if (!path_split(&name, text) || !entry_param(&name, &param, &length, &index) || index ||
        length >= sizeof(copy))
        return;
    memcpy(copy, param, length);
    copy[length] = '\0';
    if (!md_conf_row_find(copy, kind, conf->program_bit) &&
        !md_conf_is_absent(copy, 1u << kind, conf->program_bit))
        return;
    for (int i = 0; i + 1 < name.count; i++) {
        char word[256];

        if (name.at[i].length >= sizeof(word))
            continue;
        memcpy(word, name.at[i].text, name.at[i].length);
        word[name.at[i].length] = '\0';
        if ((kind == MD_CONF_ROUTE || kind == MD_CONF_PORT) && !is_number(word))
            continue;
        if (names_object(conf, kind, &name, copy, word) && name_is_new(names, word))
            fn(arg, word);
    }
}

void md_conf_names(const struct md_conf *conf, enum md_conf_kind kind, md_conf_name_fn fn,
                   void *arg)
{
    const struct db *db = conf->live;
    struct names names = { 0 };

    if (kind == MD_CONF_ROUTE && conf->program_bit == MD_CONF_SRC_DIST) {
        struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
        uint64_t count = md_conf_u64(&daemon, "routeCount");

        for (uint64_t i = 1; i <= count; i++) {
            char number[24];
            snprintf(number, sizeof(number), "%llu", (unsigned long long)i);
            if (name_is_new(&names, number))
                fn(arg, number);
        }
    }
    for (uint32_t i = 0; i < db->count; i++)
        if (!db->entries[i].replaced)
            names_of_entry(conf, kind, db_name(db, &db->entries[i]), &names, fn, arg);
    free(names.seen);
}

struct each {
    const struct md_conf *conf;
    enum md_conf_kind kind;
    each_fn fn;
    void *arg;
};

static void each_value(const struct each *each, const struct md_conf_object *object,
                       const struct md_conf_row *row, const char *index)
{
    char param[80];
    struct object_path path;

    snprintf(param, sizeof(param), "%s%s%s", row->name, index ? "." : "", index ? index : "");
    if (object_path(&path, object->kind, each->conf->program_bit, each->conf->node,
                    each->conf->instance, object->name, row->name, index))
        each->fn(each->arg, object, param, path.instance_text);
}

/* The parameters of one object; what logger and shmem have is shown there, not at the daemon. */
static void each_object(void *arg, const char *name)
{
    const struct each *each = arg;
    const unsigned elsewhere = 1u << MD_CONF_LOGGER | 1u << MD_CONF_SHMEM;
    struct md_conf_object object = md_conf_object(each->conf, each->kind, name);

    for (size_t i = 0; i < md_conf_row_count; i++) {
        const struct md_conf_row *row = &md_conf_rows[i];

        if (!(row->kinds >> each->kind & 1) || !(row->programs & each->conf->program_bit) ||
            (each->kind == MD_CONF_DAEMON && (row->kinds & elsewhere)))
            continue;
        each_value(each, &object, row, NULL);
        for (int n = 0; (row->flags & MD_CONF_INDEXED) && n < 64; n++) {
            char index[16];
            snprintf(index, sizeof(index), "%d", n);
            if (find_at(each->conf, each->conf->live, each->kind, object.name, row->name, index))
                each_value(each, &object, row, index);
        }
    }
}

void each_parameter(const struct md_conf *conf, each_fn fn, void *arg)
{
    struct each each = { .conf = conf, .fn = fn, .arg = arg };

    for (int kind = 0; kind < MD_CONF_KINDS; kind++) {
        each.kind = (enum md_conf_kind)kind;
        switch (each.kind) {
        case MD_CONF_PORT:
            if (conf->program_bit == MD_CONF_P2PS) {
                struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
                each_object(&each, md_conf_string(&daemon, "rsslPort"));
            }
            break;
        case MD_CONF_USER:
        case MD_CONF_ROUTE:
        case MD_CONF_SERVICE:
            md_conf_names(conf, each.kind, each_object, &each);
            break;
        case MD_CONF_DAEMON:
        case MD_CONF_BUS:
        case MD_CONF_RRCP:
        case MD_CONF_LOGGER:
        case MD_CONF_SHMEM:
        case MD_CONF_RMDS:
        case MD_CONF_KINDS:
            each_object(&each, NULL);
            break;
        }
    }
}

struct each_public {
    md_conf_value_fn fn;
    void *arg;
};

static void each_public_value(void *arg, const struct md_conf_object *object, const char *param,
                              const char *path)
{
    const struct each_public *each = arg;
    struct md_conf_value value = md_conf_value(object, param);

    each->fn(each->arg, path, &value);
}

void md_conf_each(const struct md_conf *conf, md_conf_value_fn fn, void *arg)
{
    struct each_public each = { .fn = fn, .arg = arg };

    each_parameter(conf, each_public_value, &each);
}
