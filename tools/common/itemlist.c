/* itemlist.c - see itemlist.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "itemlist.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "dictionary.h"

#define NAME_MAX_BYTES 255

static const struct {
    const char *name;
    uint8_t domain;
} domain_names[] = {
    { "MarketPrice", 6 }, { "MarketByOrder", 7 }, { "MarketByPrice", 8 },
    { "MarketMaker", 9 }, { "SymbolList", 10 },   { "YieldCurve", 22 },
};

void itemlist_init(struct itemlist *list)
{
    *list = (struct itemlist){ .count = 0 };
}

void itemlist_fini(struct itemlist *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].name);
        free((void *)(uintptr_t)list->entries[i].service);
    }
    free(list->entries);
    itemlist_init(list);
}

static int add(struct itemlist *list, const char *name, size_t length, unsigned domain,
               const char *service, size_t service_length)
{
    if (list->count == list->size) {
        size_t size = list->size ? 2 * list->size : 256;
        void *entries = realloc(list->entries, size * sizeof(*list->entries));
        if (!entries)
            return MD_ERR_NOMEM;
        list->entries = entries;
        list->size = size;
    }
    struct itemlist_entry *entry = &list->entries[list->count];
    *entry = (struct itemlist_entry){
        .name = strndup(name, length),
        .name_length = (uint8_t)length,
        .domain = (uint8_t)domain,
    };
    if (service)
        entry->service = strndup(service, service_length);
    if (!entry->name || (service && !entry->service)) {
        free(entry->name);
        return MD_ERR_NOMEM;
    }
    list->count++;
    return MD_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(const char *name, size_t length)
{
    if (length == 0 || length > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] <= 0x20 || name[i] == 0x7f)
            return false;
    }
    return true;
}

static unsigned domain_number(const char *text, size_t length)
{
    unsigned value = 0;

    for (size_t i = 0; i < sizeof(domain_names) / sizeof(domain_names[0]); i++) {
        if (strlen(domain_names[i].name) == length &&
            memcmp(domain_names[i].name, text, length) == 0)
            return domain_names[i].domain;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || value > 255)
            return 0;
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    return value <= 255 ? value : 0;
}

/* NAME [domain=N] [service=NAME] */
static int parse_line(struct itemlist *list, const char *at, const char *end, const char **what)
{
    const char *name = at, *service = NULL;
    size_t service_length = 0;
    unsigned domain = 0;

    while (at < end && !is_blank(*at))
        at++;
    size_t name_length = (size_t)(at - name);
    *what = "a name has 1 to 255 bytes, none of them blank or control";
    if (!is_name(name, name_length))
        return MD_ERR_MALFORMED;
    while (at < end) {
        while (at < end && is_blank(*at))
            at++;
        const char *word = at;
        while (at < end && !is_blank(*at))
            at++;
        size_t length = (size_t)(at - word);
        *what = "expected domain=N (1 to 255) or service=NAME after the name";
        if (length > 7 && memcmp(word, "domain=", 7) == 0) {
            domain = domain_number(word + 7, length - 7);
            if (domain == 0)
                return MD_ERR_MALFORMED;
        } else if (length > 8 && memcmp(word, "service=", 8) == 0) {
            service = word + 8;
            service_length = length - 8;
        } else if (length > 0) {
            return MD_ERR_MALFORMED;
        }
    }
    return add(list, name, name_length, domain, service, service_length);
}

/* The value of an attribute within one element, or NULL. */
static const char *attribute(const char *at, const char *end, const char *name, size_t *length)
{
    size_t name_length = strlen(name);

    for (; at + name_length + 2 < end; at++) {
        if (!is_blank(at[0]) && at[0] != '\n')
            continue;
        if (memcmp(at + 1, name, name_length) != 0 || at[1 + name_length] != '=' ||
            at[2 + name_length] != '"')
            continue;
        const char *value = at + 3 + name_length;
        const char *quote = memchr(value, '"', (size_t)(end - value));
        if (!quote)
            return NULL;
        *length = (size_t)(quote - value);
        return value;
    }
    return NULL;
}

static int parse_xml(struct itemlist *list, const char *at, const char *end, const char **what)
{
    *what = "an <item> has name=\"...\", and domain=\"MarketPrice\" or a number";
    while (at < end && (at = memmem(at, (size_t)(end - at), "<item", 5)) != NULL) {
        at += 5;
        if (at == end || (!is_blank(*at) && *at != '\n'))
            continue; /* <itemList> */
        const char *close = memchr(at, '>', (size_t)(end - at));
        size_t name_length = 0, domain_length = 0;
        const char *name = close ? attribute(at, close, "name", &name_length) : NULL;
        const char *domain = close ? attribute(at, close, "domain", &domain_length) : NULL;
        if (!name || !is_name(name, name_length) ||
            (domain && domain_number(domain, domain_length) == 0))
            return MD_ERR_MALFORMED;
        int rc = add(list, name, name_length, domain ? domain_number(domain, domain_length) : 0,
                     NULL, 0);
        if (rc != MD_OK)
            return rc;
        at = close;
    }
    return MD_OK;
}

int itemlist_parse(struct itemlist *list, const char *file, const char *text, size_t length,
                   char *error, size_t error_size)
{
    const char *at = text, *end = text + length, *what = "";
    unsigned line = 0;
    int rc = MD_OK;

    error[0] = 0;
    while (at < end && (is_blank(*at) || *at == '\n'))
        at++;
    if (at < end && *at == '<') {
        rc = parse_xml(list, at, end, &what);
        if (rc != MD_OK)
            snprintf(error, error_size, "%s: %s", file, what);
        return rc;
    }
    at = text;
    while (at < end && rc == MD_OK) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;
        if (!stop)
            stop = end;
        line++;
        while (at < stop && is_blank(*at))
            at++;
        while (stop > at && is_blank(stop[-1]))
            stop--;
        if (at < stop && *at != '#' && *at != '!')
            rc = parse_line(list, at, stop, &what);
        at = next;
    }
    if (rc == MD_ERR_MALFORMED)
        snprintf(error, error_size, "%s:%u: %s", file, line, what);
    else if (rc != MD_OK)
        snprintf(error, error_size, "%s: %s", file, md_err_name(rc));
    return rc;
}

int itemlist_load(struct itemlist *list, const char *path, char *error, size_t error_size)
{
    size_t length;
    char *text = tool_file_read(path, 1u << 30, &length);

    if (!text) {
        snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno));
        return MD_ERR_SYS;
    }
    int rc = itemlist_parse(list, path, text, length, error, error_size);
    free(text);
    return rc;
}

unsigned itemlist_domain(const char *text)
{
    return domain_number(text, strlen(text));
}

/* One "6|VOD.L": false when it is not so. */
static int add_with_domain(struct itemlist *list, const char *at, const char *end)
{
    const char *bar = memchr(at, '|', (size_t)(end - at));
    unsigned domain = bar ? domain_number(at, (size_t)(bar - at)) : 0;

    if (!domain || !is_name(bar + 1, (size_t)(end - bar) - 1))
        return MD_ERR_MALFORMED;
    return add(list, bar + 1, (size_t)(end - bar) - 1, domain, NULL, 0);
}

int itemlist_load_domains(struct itemlist *list, const char *path, char *error, size_t error_size)
{
    size_t length;
    char *text = tool_file_read(path, 1u << 30, &length);
    int rc = text ? MD_OK : MD_ERR_SYS;
    unsigned line = 0;

    if (!text)
        snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno));
    for (const char *at = text, *end = text + length; rc == MD_OK && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;

        stop = stop ? stop : end;
        line++;
        while (at < stop && is_blank(*at))
            at++;
        while (stop > at && is_blank(stop[-1]))
            stop--;
        if (at < stop && *at != '#' && *at != '!' &&
            (rc = add_with_domain(list, at, stop)) != MD_OK)
            snprintf(error, error_size, "%s:%u: expected DOMAIN|ITEM, as 6|VOD.L", path, line);
        at = next;
    }
    free(text);
    return rc;
}

#define MADE_MAX 10000000ul

/* How many items a list called rdf.<N>items has; 0: it is not called so. */
static unsigned long made_count(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    unsigned long count = 0;

    if (strncmp(name, "rdf.", 4) != 0)
        return 0;
    for (name += 4; *name >= '0' && *name <= '9' && count <= MADE_MAX; name++)
        count = count * 10 + (unsigned long)(*name - '0');
    if (*name == 'k' || *name == 'K' || *name == 'M')
        count *= *name++ == 'M' ? 1000000 : 1000;
    return strcmp(name, "items") == 0 && count <= MADE_MAX ? count : 0;
}

void itemlist_make(const char *path, const char *program)
{
    static const char *const first[] = { "RTRSY.O", "GOOG.O" };
    unsigned long count = made_count(path);
    FILE *out = count ? fopen(path, "wxe") : NULL;

    if (!out)
        return; /* it is there, or is nothing of the kind; else reading it says why not */
    for (unsigned long i = 0; i < count; i++) {
        if (i < sizeof(first) / sizeof(first[0]))
            fprintf(out, "%s\n", first[i]);
        else
            fprintf(out, "RDF%lu\n", i);
    }
    if (ferror(out) | fclose(out)) {
        fprintf(stderr, "%s: cannot write %s: %s\n", program, path, strerror(errno));
        (void)remove(path);
        return;
    }
    fprintf(stderr, "%s: %s was not there: made, with %lu items\n", program, path, count);
}

int itemlist_add_names(struct itemlist *list, const char *names, char *error, size_t error_size)
{
    error[0] = 0;
    while (*names) {
        size_t length = strcspn(names, ",");
        int rc = is_name(names, length) ? add(list, names, length, 0, NULL, 0) : MD_ERR_MALFORMED;
        if (rc != MD_OK) {
            snprintf(error, error_size, "-il \"%.*s\" is not an item name", (int)length, names);
            return rc;
        }
        names += length;
        names += *names == ',';
    }
    return MD_OK;
}

static size_t make_key(const struct itemlist_entry *entry, char *key, size_t size)
{
    int length = snprintf(key, size, "%u %s %s", entry->domain,
                          entry->service ? entry->service : "", entry->name);

    return (size_t)length < size ? (size_t)length : size - 1;
}

int itemlist_deduplicate(struct itemlist *list)
{
    struct md_table *seen = NULL;
    size_t kept = 0;
    char key[1024], *copy;
    int rc = md_table_create(list->count, &seen);

    for (size_t i = 0; i < list->count && rc == MD_OK; i++) {
        struct itemlist_entry entry = list->entries[i];
        size_t length = make_key(&entry, key, sizeof(key));
        if (md_table_get(seen, key, length)) {
            free(entry.name);
            free((void *)(uintptr_t)entry.service);
            list->duplicate_count++;
            continue;
        }
        list->entries[kept++] = entry;
        copy = strndup(key, length);
        rc = copy ? md_table_put(seen, copy, length, copy) : MD_ERR_NOMEM;
    }
    if (rc == MD_OK)
        list->count = kept;
    struct md_table_walk walk = { 0 };
    while (seen && (copy = md_table_next(seen, &walk)) != NULL) {
        (void)md_table_remove(seen, copy, strlen(copy));
        free(copy);
    }
    md_table_destroy(seen);
    return rc;
}
