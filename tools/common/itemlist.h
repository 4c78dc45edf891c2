/* itemlist.h - the items a tool opens: from a file, or from the command line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_ITEMLIST_H
#define TOOLS_ITEMLIST_H

#include <stddef.h>
#include <stdint.h>

/*
 * One item per line: NAME [domain=N] [service=NAME], '#' or '!' begin a comment; or the XML of the
 * public performance tools, <item domain="MarketPrice" name="X"/>. Names have up to 255 bytes, none
 * of them blank or control. The same item twice is dropped with a warning.
 */
struct itemlist_entry {
    char *name;
    const char *service; /* NULL: the one of the command line */
    uint8_t name_length;
    uint8_t domain; /* 0: the one of the command line */
};

struct itemlist {
    struct itemlist_entry *entries;
    size_t count;
    size_t size;
    size_t duplicate_count;
};

void itemlist_init(struct itemlist *list);
void itemlist_fini(struct itemlist *list);

/* MD_OK, or an error with a sentence for the operator in `error`. */
int itemlist_parse(struct itemlist *list, const char *file, const char *text, size_t length,
                   char *error, size_t error_size);
int itemlist_load(struct itemlist *list, const char *path, char *error, size_t error_size);

/* The vendor's list of items of several domains, a line "6|VOD.L" each. */
int itemlist_load_domains(struct itemlist *list, const char *path, char *error, size_t error_size);

/* "6" or "MarketPrice" -> 6; 0: neither a number up to 255 nor a known name. */
unsigned itemlist_domain(const char *text);

/*
 * A list that is not there and is called as published command lines call theirs, rdf.<N>items with
 * N such as 500 or 100k, is made: so many items, RTRSY.O and GOOG.O the first, which `program` says
 * on standard error. What is there is never touched.
 */
void itemlist_make(const char *path, const char *program);

/* "A,B,C" */
int itemlist_add_names(struct itemlist *list, const char *names, char *error, size_t error_size);

/* Drop what occurs twice, the first stays; the number is in duplicate_count. */
int itemlist_deduplicate(struct itemlist *list);

#endif
