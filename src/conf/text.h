/* text.h - the lines of a file become entries. Private to conf. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CONF_TEXT_H
#define MD_CONF_TEXT_H

#include "db.h"

struct text_loader {
    struct db *db;
    struct report report;
    const struct md_conf_options *options;
    const char *node, *instance;
    size_t bytes; /* read so far, all files together */
    bool full;    /* a limit was reached; nothing more is read */
    char *line;   /* DB_LINE_MAX + 1 bytes each: a line joined, a name, a value */
    char *name;
    char *value;
};

/*
 * The next placeholder in a value, "{word}" or "<word>", or NULL; its whole length goes to *length.
 */
const char *text_placeholder(const char *text, size_t *length);

/* Read a file and what it includes. MD_ERR_SYS: the file itself cannot be read (errno). */
int text_load_file(struct text_loader *loader, const char *path, int depth);

/* Entries from memory; `path` stands for the file in findings and for includes. */
int text_load(struct text_loader *loader, const char *path, const char *text, size_t length,
              int depth);

#endif
