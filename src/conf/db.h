/* db.h - the entries of loaded files, and which of them a path finds. Private to conf. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CONF_DB_H
#define MD_CONF_DB_H

#include "conf/conf.h"

enum {
    DB_DEPTH_MAX = 8,               /* of #include */
    DB_LINE_MAX = 64 * 1024,        /* a line with what backslashes join to it, and its result */
    DB_FILE_MAX = 16 * 1024 * 1024, /* one file, and all together */
    DB_ENTRIES_MAX = 200000,
    DB_COMPONENTS_MAX = 16,
    DB_FILES_MAX = 4096,
};

/*
 * An entry is two strings in the arena, name and value, one behind the other. Names are kept as
 * "*a.b*c": one bind character before each component but a tight one at the start.
 */
struct db_entry {
    uint32_t name; /* offset in the arena; the value follows its end */
    uint32_t line;
    uint32_t next;     /* in the chain of its last component */
    uint16_t file;     /* index in db->files */
    uint8_t replaced;  /* a later line has the same name */
    uint8_t undefined; /* a word of its value is not defined: found by no look-up */
};

#define DB_NONE UINT32_MAX

struct db {
    char *arena;
    size_t used, size;
    struct db_entry *entries;
    uint32_t count, room;
    uint32_t *buckets; /* by last component, lower case */
    uint32_t mask;
    char **files;
    unsigned file_count;
    unsigned
        first_files; /* so many belong to the first -c; lines of later files may replace theirs */
    unsigned errors, warnings;
    unsigned references;
};

/* Where findings go while a database is made; counts them and stops the flood. */
struct report {
    struct db *db;
    md_conf_sink_fn sink;
    void *sink_arg;
    unsigned said;
};

__attribute__((format(printf, 5, 6))) void report_say(struct report *report,
                                                      enum md_conf_severity severity,
                                                      const char *file, unsigned line,
                                                      const char *format, ...);

struct db *db_create(void);
void db_destroy(struct db *db); /* gives one reference back; NULL is allowed */

/* A file's name, kept; its index, or -1 when there are too many or no memory. */
int db_file_add(struct db *db, const char *name);

/* Append an entry. 0, MD_ERR_FULL (too many) or MD_ERR_NOMEM. */
int db_add(struct db *db, const char *name, size_t name_length, const char *value,
           size_t value_length, int file, unsigned line);

/* After the last db_add: finds lines of the same name, builds the chains. */
int db_index(struct db *db, struct report *report);

const char *db_name(const struct db *db, const struct db_entry *entry);
const char *db_value(const struct db *db, const struct db_entry *entry);

/* A path or the name of an entry, cut into components. */
struct path {
    int count;
    struct {
        const char *text;
        uint16_t length;
        bool loose; /* '*' stands before it */
    } at[DB_COMPONENTS_MAX];
};

/* False when there are more than DB_COMPONENTS_MAX. */
bool path_split(struct path *path, const char *text);

/*
 * How well `name` covers the path: 0 not at all; else larger is better under the rules of
 * precedence, compared component by component from the left.
 */
uint64_t path_score(const struct path *name, const struct path *instance,
                    const struct path *class_path);

/* The entry of best precedence, or NULL. */
const struct db_entry *db_find(const struct db *db, const struct path *instance,
                               const struct path *class_path);

/* The first entry whose last component is `key` (any case) and the next; DB_NONE ends. */
uint32_t db_chain(const struct db *db, const char *key, size_t length);

/* ads -> p2ps, adh and mdh -> src_dist; anything else is itself. */
const char *path_alias(const char *text, size_t length);

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_same(const char *a, size_t a_length, const char *b, size_t b_length); /* any case */

#endif
