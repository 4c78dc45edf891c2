/* usage.c - see usage.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/err.h"
#include "base/table.h"
#include "conf/options.h"
#include "entitle/lock.h"

#define TIME_SIZE  28
#define CODES_MAX  4096 /* of one lock; what is beyond is not counted */
#define NO_CODE    "-"  /* no lock, or one that needs nothing */
#define BAD_LOCK   "?"
#define TABLE_ROOM 1024

/* A stream that is open; of a user, on an item. */
struct open {
    char *user;
    bool is_counted; /* its codes were known when it was opened, or have become so */
    bool is_snapshot;
    struct open *next;
};

struct item {
    char *key; /* service, domain and name */
    char *lock;
    struct open *opens;
};

/* A line of the report. */
struct use {
    char *key; /* user, vendor service and code, quotation marks between them */
    char service[16], code[16];
    uint64_t items, opens, snapshots;
    char first[TIME_SIZE], last[TIME_SIZE];
};

struct usage {
    const char *from, *to;
    struct md_table *items, *uses, *seen; /* seen: a use and an item */
    bool has_no_memory, has_begun;
    char time[TIME_SIZE]; /* of the line that is read */
};

struct mark {
    char *key;
};

/* ---- a line ---- */

/* The value of a key, from malloc(), as it stands there; NULL: there is none. A quotation mark
 * within a text is written as \u0022, so none can look like a key. */
static char *value_of(const char *line, size_t length, const char *key)
{
    char want[32];
    int size = snprintf(want, sizeof(want), ",\"%s\":\"", key);
    const char *at = memmem(line, length, want, (size_t)size);

    if (!at)
        return NULL;
    at += size;
    const char *end = memchr(at, '"', (size_t)(line + length - at));
    return end ? strndup(at, (size_t)(end - at)) : NULL;
}

static bool is_event(const char *line, size_t length, const char *event)
{
    char want[32];
    int size = snprintf(want, sizeof(want), "\",\"e\":\"%s\"", event);

    return memmem(line, length, want, (size_t)size) != NULL;
}

static bool has(const char *line, size_t length, const char *text)
{
    return memmem(line, length, text, strlen(text)) != NULL;
}

/* ---- what is counted ---- */

static bool is_in_time(const struct usage *usage)
{
    return (!usage->from || strcmp(usage->time, usage->from) >= 0) &&
           (!usage->to || strcmp(usage->time, usage->to) < 0);
}

/* False: it was there, or there is no memory. Takes the key. */
static bool mark(struct usage *usage, char *key)
{
    struct mark *fresh = key ? malloc(sizeof(*fresh)) : NULL;

    if (fresh) {
        fresh->key = key;
        int err = md_table_put(usage->seen, key, strlen(key), fresh);
        if (err == MD_OK)
            return true;
        usage->has_no_memory |= err != MD_ERR_EXISTS;
    } else {
        usage->has_no_memory = true;
    }
    free(key);
    free(fresh);
    return false;
}

static struct use *use_of(struct usage *usage, const char *user, const char *service,
                          const char *code)
{
    char *key;

    if (asprintf(&key, "%s\"%s\"%s", user, service, code) < 0) {
        usage->has_no_memory = true;
        return NULL;
    }
    struct use *use = md_table_get(usage->uses, key, strlen(key));
    if (use) {
        free(key);
        return use;
    }
    use = calloc(1, sizeof(*use));
    if (!use || md_table_put(usage->uses, key, strlen(key), use) != MD_OK) {
        usage->has_no_memory = true;
        free(use);
        free(key);
        return NULL;
    }
    use->key = key;
    snprintf(use->service, sizeof(use->service), "%s", service);
    snprintf(use->code, sizeof(use->code), "%s", code);
    memcpy(use->first, usage->time, sizeof(use->first));
    return use;
}

struct counting {
    struct usage *usage;
    const struct item *item;
    const struct open *open;
    unsigned codes;
};

static void count(struct counting *counting, const char *service, const char *code)
{
    struct usage *usage = counting->usage;
    const struct open *open = counting->open;
    struct use *use = use_of(usage, open->user, service, code);
    char *key;

    if (!use)
        return;
    if (!open->is_counted) {
        use->opens += !open->is_snapshot;
        use->snapshots += open->is_snapshot;
    }
    memcpy(use->last, usage->time, sizeof(use->last));
    if (asprintf(&key, "%s\"%s", use->key, counting->item->key) < 0)
        key = NULL;
    use->items += mark(usage, key);
}

static bool on_code(void *self, uint16_t service, uint32_t code)
{
    struct counting *counting = self;
    char service_text[16], code_text[16];

    snprintf(service_text, sizeof(service_text), "%u", service);
    snprintf(code_text, sizeof(code_text), "%" PRIu32, code);
    if (counting->codes++ < CODES_MAX)
        count(counting, service_text, code_text);
    return true;
}

static size_t from_hex(const char *text, char *out, size_t size)
{
    size_t length = 0;

    for (unsigned byte; length < size && sscanf(text, "%2x", &byte) == 1; text += 2)
        out[length++] = (char)byte;
    return length;
}

/* The codes of the item are known: the stream has used them. */
static void count_open(struct usage *usage, const struct item *item, struct open *open)
{
    struct counting counting = { .usage = usage, .item = item, .open = open };
    struct entitle_lock_reader reader = { .holds = on_code, .self = &counting };
    char lock[2048];
    size_t length = from_hex(item->lock ? item->lock : "", lock, sizeof(lock));

    if (is_in_time(usage)) {
        if (length > 0 &&
            entitle_lock_read((struct entitle_view){ lock, length }, &reader) != ENTITLE_LOCK_FINE)
            count(&counting, BAD_LOCK, BAD_LOCK);
        else if (counting.codes == 0)
            count(&counting, NO_CODE, NO_CODE);
    }
    open->is_counted = true;
}

/* ---- items ---- */

static struct item *item_of(struct usage *usage, const char *line, size_t length)
{
    char *service = value_of(line, length, "svc"), *name = value_of(line, length, "item");
    const char *domain = memmem(line, length, ",\"dom\":", 7);
    char *key = NULL;
    struct item *item = NULL;

    if (service && name &&
        asprintf(&key, "%s\"%s\"%lu", service, name, domain ? strtoul(domain + 7, NULL, 10) : 0ul) <
            0)
        key = NULL;
    free(service);
    free(name);
    if (!key)
        return NULL;
    item = md_table_get(usage->items, key, strlen(key));
    if (item) {
        free(key);
        return item;
    }
    item = calloc(1, sizeof(*item));
    if (!item || md_table_put(usage->items, key, strlen(key), item) != MD_OK) {
        usage->has_no_memory = true;
        free(item);
        free(key);
        return NULL;
    }
    item->key = key;
    return item;
}

static void forget_open(struct open **place)
{
    struct open *open = *place;

    *place = open->next;
    free(open->user);
    free(open);
}

/* One that was closed before its lock was known is counted now. */
static void end_open(struct usage *usage, const struct item *item, struct open **place)
{
    if (!(*place)->is_counted)
        count_open(usage, item, *place);
    forget_open(place);
}

static void take_lock(struct item *item, char *lock)
{
    free(item->lock);
    item->lock = lock;
}

static void on_open(struct usage *usage, const char *line, size_t length)
{
    struct item *item = item_of(usage, line, length);
    struct open *open = item ? calloc(1, sizeof(*open)) : NULL;

    if (!open)
        return;
    open->user = value_of(line, length, "user");
    open->is_snapshot = has(line, length, ",\"snap\":true");
    open->next = item->opens;
    item->opens = open;
    take_lock(item, value_of(line, length, "lock"));
    if (open->user && item->lock)
        count_open(usage, item, open);
    if (!open->user || (item->lock && open->is_snapshot))
        forget_open(&item->opens);
}

static void on_close(struct usage *usage, const char *line, size_t length)
{
    struct item *item = item_of(usage, line, length);
    char *user = value_of(line, length, "user");

    for (struct open **place = item && user ? &item->opens : NULL; place && *place;
         place = &(*place)->next) {
        if ((*place)->is_snapshot || strcmp((*place)->user, user) != 0)
            continue;
        end_open(usage, item, place);
        break;
    }
    free(user);
}

/* A stream uses the new codes, too; a snapshot has used the first ones. */
static void on_lock(struct usage *usage, const char *line, size_t length)
{
    struct item *item = item_of(usage, line, length);

    if (!item)
        return;
    take_lock(item, value_of(line, length, "lock"));
    for (struct open **place = &item->opens; *place;) {
        count_open(usage, item, *place);
        if ((*place)->is_snapshot)
            forget_open(place);
        else
            place = &(*place)->next;
    }
}

/* The time of the report begins: what is open is used in it. */
static void begin(struct usage *usage)
{
    struct md_table_walk walk = { 0 };
    struct item *item;

    usage->has_begun = true;
    while ((item = md_table_next(usage->items, &walk))) {
        for (struct open *open = item->opens; open; open = open->next) {
            if (open->is_counted)
                count_open(usage, item, open);
        }
    }
}

static void end_all(struct usage *usage)
{
    struct md_table_walk walk = { 0 };
    struct item *item;

    while ((item = md_table_next(usage->items, &walk))) {
        while (item->opens)
            end_open(usage, item, &item->opens);
    }
}

static void on_line(void *self, const char *line, size_t length)
{
    struct usage *usage = self;
    char *time;

    if (is_event(line, length, "start") || is_event(line, length, "stop")) {
        end_all(usage); /* by the time of the line before */
        return;
    }
    time = value_of(line, length, "t");
    snprintf(usage->time, sizeof(usage->time), "%s", time ? time : "");
    free(time);
    if (!usage->has_begun && is_in_time(usage))
        begin(usage);
    if (is_event(line, length, "open") && has(line, length, ",\"v\":\"allow\""))
        on_open(usage, line, length);
    else if (is_event(line, length, "close"))
        on_close(usage, line, length);
    else if (is_event(line, length, "lock"))
        on_lock(usage, line, length);
}

/* ---- the report ---- */

static int by_name(const void *a, const void *b)
{
    const struct use *left = *(const struct use *const *)a, *right = *(const struct use *const *)b;

    return strverscmp(left->key, right->key);
}

static int print(const struct usage *usage, FILE *out)
{
    struct md_table_walk walk = { 0 };
    size_t count = 0, room = 0;
    struct use *use;

    while (md_table_next(usage->uses, &walk))
        room++;
    struct use **list = calloc(room + 1, sizeof(struct use *));
    if (!list || usage->has_no_memory) {
        free(list);
        fputs("rmdsaccess: no memory for the report\n", stderr);
        return MD_EXIT_FILE;
    }
    walk = (struct md_table_walk){ 0 };
    while ((use = md_table_next(usage->uses, &walk)))
        list[count++] = use;
    qsort(list, count, sizeof(list[0]), by_name);
    fputs("user,vendor_service,code,items,opens,snapshots,first,last\n", out);
    for (size_t i = 0; i < count; i++) {
        use = list[i];
        fprintf(out, "\"%.*s\",%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s\n",
                (int)strcspn(use->key, "\""), use->key, use->service, use->code, use->items,
                use->opens, use->snapshots, use->first, use->last);
    }
    free(list);
    return MD_EXIT_OK;
}

static void give_back(struct usage *usage)
{
    struct md_table_walk walk = { 0 };
    struct item *item;
    struct use *use;
    struct mark *seen;

    while (usage->items && (item = md_table_next(usage->items, &walk))) {
        free(item->key);
        free(item->lock);
        free(item);
    }
    walk = (struct md_table_walk){ 0 };
    while (usage->uses && (use = md_table_next(usage->uses, &walk))) {
        free(use->key);
        free(use);
    }
    walk = (struct md_table_walk){ 0 };
    while (usage->seen && (seen = md_table_next(usage->seen, &walk))) {
        free(seen->key);
        free(seen);
    }
    md_table_destroy(usage->items);
    md_table_destroy(usage->uses);
    md_table_destroy(usage->seen);
}

int audit_usage(const char *path, const char *from, const char *to, FILE *out)
{
    struct usage usage = { .from = from, .to = to };
    struct audit_check check = { .wanted = 0 };
    int code = MD_EXIT_FILE;

    if (md_table_create(TABLE_ROOM, &usage.items) != MD_OK ||
        md_table_create(TABLE_ROOM, &usage.uses) != MD_OK ||
        md_table_create(TABLE_ROOM, &usage.seen) != MD_OK) {
        fputs("rmdsaccess: no memory for the report\n", stderr);
    } else {
        int err = audit_check(path, on_line, &usage, &check);
        end_all(&usage);
        if (err == MD_OK)
            code = print(&usage, out);
        else
            code = err == MD_ERR_MALFORMED ? MD_EXIT_CONFIG : MD_EXIT_FILE;
    }
    if (check.wrong[0])
        fprintf(stderr, "rmdsaccess: %s\n", check.wrong);
    if (check.lost)
        fprintf(stderr, "rmdsaccess: %" PRIu64 " records are missing: accessAuditQueue was full\n",
                check.lost);
    give_back(&usage);
    return code;
}
