/* rows.c - what an instance has many of, one line each: mounts, services, routes, users, nodes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "monitor.h"

enum format {
    FORMAT_TEXT,
    FORMAT_COUNT,
    FORMAT_PLAIN,    /* an id: no thousands */
    FORMAT_MEASURED, /* 0: it was not */
    FORMAT_YES,
    FORMAT_AGE,
};

#define COLUMNS_MAX 18

struct column {
    const char *title;
    const char *leaf; /* the last word of the path; NULL: what stands before it */
    int width;        /* at least; negative: to the left */
    enum format format;
};

static const struct table {
    const char *section;
    const char *group; /* "mount" of p2ps.mount.0.17.user; "worker.*.x" of p2ps.worker.0.x.y */
    struct column columns[COLUMNS_MAX];
} tables[] = {
    { "MOUNTS",
      "mount",
      { { "ID", NULL, 4, FORMAT_TEXT },
        { "USER", "user", -8, FORMAT_TEXT },
        { "HOST", "host", -15, FORMAT_TEXT },
        { "KIND", "kind", -4, FORMAT_TEXT },
        { "ITEMS", "items", 5, FORMAT_COUNT },
        { "BUFS", "buffers", 4, FORMAT_COUNT },
        { "OF", "buffersMax", 4, FORMAT_COUNT },
        { "SLOW", "slow", 4, FORMAT_YES },
        { "PER-SEC", "msgsOutRate", 7, FORMAT_COUNT },
        { "MSGS-OUT", "msgsOut", 8, FORMAT_COUNT },
        { "BYTES-OUT", "bytesOut", 9, FORMAT_COUNT },
        { "MSGS-IN", "msgsIn", 7, FORMAT_COUNT },
        { "RTT-US", "rttUs", 6, FORMAT_MEASURED },
        { "UP", "since", 6, FORMAT_AGE },
        { "POSITION", "position", -8, FORMAT_TEXT },
        { "APP", "applicationId", 3, FORMAT_TEXT },
        { "WHY", "toldBecause", 3, FORMAT_TEXT } } },
    { "MOUNTS", /* of the same mounts: how slow they are, and were */
      "mount",
      { { "LAG-OF", NULL, 6, FORMAT_TEXT },
        { "USER", "user", -8, FORMAT_TEXT },
        { "CONFLATED", "conflated", 9, FORMAT_COUNT },
        { "FIRST-SLOW", "firstSlow", 10, FORMAT_AGE },
        { "MERGED", "slowMerged", 8, FORMAT_COUNT },
        { "LOST", "slowLost", 6, FORMAT_COUNT },
        { "WORST-LAG-US", "worstLagUs", 12, FORMAT_MEASURED },
        { "WAITING", "behindBytes", 8, FORMAT_COUNT },
        { "BYTES/S", "bytesOutRate", 9, FORMAT_COUNT },
        { "CEILING", "outputRate", 9, FORMAT_MEASURED },
        { "BYTES-IN", "bytesIn", 9, FORMAT_COUNT } } },
    { "MOUNTS",
      "worker.*.toldBecause",
      { { "TOLD-BY", NULL, 7, FORMAT_TEXT },
        { "SLOW-MOUNT", "slowMount", 10, FORMAT_COUNT },
        { "BEHIND", "workerBehind", 6, FORMAT_COUNT },
        { "LEFT-OUT", "leftOut", 8, FORMAT_COUNT },
        { "REAL-TIME", "realTime", 9, FORMAT_COUNT },
        { "CUT-SLOW", "cutSlow", 8, FORMAT_COUNT },
        { "GAP", "gap", 6, FORMAT_COUNT },
        { "SOURCE-DOWN", "sourceDown", 11, FORMAT_COUNT },
        { "SOURCE-UP", "sourceUp", 9, FORMAT_COUNT },
        { "CLOSED", "closed", 6, FORMAT_COUNT },
        { "NOT-FOUND", "notFound", 9, FORMAT_COUNT },
        { "DENIED", "denied", 6, FORMAT_COUNT },
        { "AUTHORITY", "authority", 9, FORMAT_COUNT },
        { "LIMIT", "limit", 5, FORMAT_COUNT },
        { "BAD-REQUEST", "badRequest", 11, FORMAT_COUNT },
        { "UNREADABLE", "unreadable", 10, FORMAT_COUNT },
        { "OTHER", "other", 5, FORMAT_COUNT } } },
    { "MOUNTS",
      "quota",
      { { "TOP", NULL, 3, FORMAT_TEXT },
        { "USER", "user", -16, FORMAT_TEXT },
        { "ADDRESS", "host", -15, FORMAT_TEXT },
        { "REFUSED", "refused", 7, FORMAT_COUNT },
        { "MOUNTS", "mounts", 6, FORMAT_COUNT },
        { "OF", "mountsMax", 5, FORMAT_COUNT },
        { "ITEMS", "items", 7, FORMAT_COUNT },
        { "OF", "itemsMax", 7, FORMAT_COUNT },
        { "REQ/S", "requestsRate", 6, FORMAT_COUNT },
        { "OF", "requestsMax", 6, FORMAT_COUNT },
        { "POSTS/S", "postsRate", 7, FORMAT_COUNT },
        { "OF", "postsMax", 6, FORMAT_COUNT } } },
    { "SERVICES",
      "service",
      { { "SERVICE", NULL, -24, FORMAT_TEXT },
        { "ID", "serviceId", 6, FORMAT_PLAIN },
        { "STATE", "state", -14, FORMAT_TEXT },
        { "INSTANCES", "instances", 9, FORMAT_COUNT },
        { "ACTIVE", "active", 9, FORMAT_COUNT },
        { "PENDING", "pending", 9, FORMAT_COUNT },
        { "PENDING-OUT", "pendingOut", 11, FORMAT_COUNT },
        { "LOAD", "load", 5, FORMAT_PLAIN },
        { "UPDATES-IN", "updatesIn", 12, FORMAT_COUNT } } },
    { "ROUTES",
      "route",
      { { "ROUTE", NULL, 8, FORMAT_TEXT },
        { "STATE", "state", -12, FORMAT_TEXT },
        { "HOST", "host", -32, FORMAT_TEXT },
        { "VIA", "transport", -7, FORMAT_TEXT },
        { "CONNECTS", "connects", 9, FORMAT_COUNT },
        { "BYTES-IN", "bytesIn", 14, FORMAT_COUNT },
        { "RTT-US", "rttUs", 9, FORMAT_COUNT },
        { "LAG-US", "lagUs", 9, FORMAT_COUNT },
        { "OUTPUT-RATE", "outputRate", 12, FORMAT_COUNT } } },
    { "ROUTES",
      "provider",
      { { "PROVIDER", NULL, 8, FORMAT_TEXT },
        { "STATE", "state", -12, FORMAT_TEXT },
        { "NAME", "name", -32, FORMAT_TEXT },
        { "KIND", "kind", -16, FORMAT_TEXT },
        { "SERVICES", "services", 8, FORMAT_COUNT },
        { "STREAMS", "streams", 9, FORMAT_COUNT },
        { "UNANSWERED", "outstanding", 10, FORMAT_COUNT },
        { "UPDATES-IN", "updatesIn", 12, FORMAT_COUNT } } },
    { "RRCP",
      "mesh",
      { { "MESH", NULL, 8, FORMAT_TEXT },
        { "ADDRESS", "address", -28, FORMAT_TEXT },
        { "PEER", "peer", -60, FORMAT_TEXT } } },
    { "RRCP",
      "user",
      { { "PORT", NULL, 8, FORMAT_TEXT },
        { "NAME", "name", -28, FORMAT_TEXT },
        { "MSGS-SENT", "msgsSent", 12, FORMAT_COUNT },
        { "BYTES-SENT", "bytesSent", 12, FORMAT_COUNT },
        { "REFUSED", "refused", 8, FORMAT_COUNT },
        { "BEHIND", "userQUse", 10, FORMAT_COUNT },
        { "WOKEN", "wakes", 10, FORMAT_COUNT } } },
    { "RRCP",
      "peer",
      { { "NODE", NULL, -16, FORMAT_TEXT },
        { "NAME", "name", -28, FORMAT_TEXT },
        { "RTT-US", "rttUs", 7, FORMAT_MEASURED },
        { "MISSING", "missingNow", 7, FORMAT_COUNT },
        { "SEEN-LOST", "pktsLostDetected", 9, FORMAT_COUNT },
        { "REPAIRED", "pktsRepaired", 9, FORMAT_COUNT },
        { "LOST", "pktsLost", 7, FORMAT_COUNT },
        { "DOUBLE", "dupPkts", 7, FORMAT_COUNT },
        { "NAKS-SENT", "retransReqSent", 9, FORMAT_COUNT },
        { "NAKS-IN", "retransReqRcvd", 9, FORMAT_COUNT },
        { "REPAIRS", "retransPktsSent", 9, FORMAT_COUNT },
        { "IT-LOST", "itsPktsLost", 7, FORMAT_COUNT } } },
};

#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

/* One value in its place. */
struct cell {
    const char *id; /* in the path */
    size_t id_length;
    int column;
    struct stats_value value;
};

/* True when the path is that of one cell: <process>.<group>.<id>.<leaf>. Its column is -1 when the
 * leaf has none. */
static bool place(const struct monitor_instance *instance, const struct table *table,
                  const struct stats_value *value, struct cell *cell)
{
    const char *star = strchr(table->group, '*');
    size_t process = strlen(instance->process);
    size_t group = star ? (size_t)(star - table->group) - 1 : strlen(table->group);
    const char *leaf = strrchr(value->path, '.');

    if (!leaf || strncmp(value->path, instance->process, process) != 0 ||
        value->path[process] != '.' ||
        strncmp(value->path + process + 1, table->group, group) != 0 ||
        value->path[process + 1 + group] != '.' || leaf <= value->path + process + 1 + group)
        return false;
    cell->id = value->path + process + group + 2;
    cell->id_length = (size_t)(leaf - cell->id);
    if (star) {
        size_t under = strlen(star + 1);
        if (cell->id_length <= under || memcmp(leaf - under, star + 1, under) != 0)
            return false;
        cell->id_length -= under;
    }
    cell->column = -1;
    cell->value = *value;
    for (int i = 0; i < COLUMNS_MAX && table->columns[i].title; i++) {
        if (table->columns[i].leaf && strcmp(table->columns[i].leaf, leaf + 1) == 0)
            cell->column = i;
    }
    return true;
}

bool rows_take(const struct monitor_instance *instance, const char *section,
               const struct stats_value *value)
{
    struct cell cell;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (strcmp(tables[i].section, section) == 0 && place(instance, &tables[i], value, &cell) &&
            cell.column >= 0)
            return true;
    }
    return false;
}

/* "0.9" before "0.10": shorter first, as numbers go. */
static int compare(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;

    if (x->id_length != y->id_length)
        return x->id_length < y->id_length ? -1 : 1;
    int by_id = memcmp(x->id, y->id, x->id_length);
    return by_id ? by_id : x->column - y->column;
}

static void cell_text(char *text, size_t size, const struct column *column,
                      const struct stats_value *value, const char *id, size_t id_length)
{
    snprintf(text, size, "-");

    if (!column->leaf)
        snprintf(text, size, "%.*s", (int)id_length, id);
    else if (!value)
        ;
    else if (column->format == FORMAT_TEXT)
        snprintf(text, size, "%s", value->text && value->text[0] ? value->text : "-");
    else if (column->format == FORMAT_PLAIN)
        snprintf(text, size, "%llu", (unsigned long long)value->value);
    else if (column->format == FORMAT_COUNT ||
             (column->format == FORMAT_MEASURED && value->value > 0))
        print_count(text, size, (double)value->value);
    else if (column->format == FORMAT_YES)
        snprintf(text, size, "%s", value->value ? "SLOW" : "-");
    else if (column->format == FORMAT_AGE && value->value && md_clock_wall_ns() > value->value)
        print_uptime(text, size, (md_clock_wall_ns() - value->value) / MD_NS_PER_S);
    for (size_t at = 0, n, length = strlen(text); at < length; at += n) {
        if ((n = md_text_printable(text + at, length - at)) == 0) {
            text[at] = '?';
            n = 1;
        }
    }
}

/* The cells of one row. `widths`: of the columns, made wide enough; `out` NULL: that is all. */
static void print_row(FILE *out, const struct table *table, const struct cell *cells, size_t count,
                      int *widths)
{
    char text[96];

    for (int c = 0; c < COLUMNS_MAX && table->columns[c].title; c++) {
        const struct stats_value *value = NULL;
        for (size_t i = 0; i < count; i++) {
            if (cells[i].column == c)
                value = &cells[i].value;
        }
        cell_text(text, sizeof(text), &table->columns[c], value, cells[0].id, cells[0].id_length);
        if (widths[c] < (int)strlen(text))
            widths[c] = (int)strlen(text);
        if (out)
            fprintf(out, " %*s", table->columns[c].width < 0 ? -widths[c] : widths[c], text);
    }
    if (out)
        fputc('\n', out);
}

/* A row: cells[from] to cells[to - 1], and what it is sorted by. */
struct row {
    size_t from, to;
    double number; /* negative: there is none */
    const char *text;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int by_text = x->text && y->text ? strcmp(x->text, y->text) : 0;

    if (x->number > y->number || x->number < y->number)
        return x->number > y->number ? -1 : 1;
    return by_text ? by_text : x->from < y->from ? -1 : x->from > y->from;
}

static size_t find_rows(const struct cell *cells, size_t count, int column, struct row *rows)
{
    size_t found = 0;

    for (size_t from = 0, to; from < count; from = to) {
        struct row *row = &rows[found++];
        *row = (struct row){ .from = from, .number = -1 };
        for (to = from; to < count && cells[to].id_length == cells[from].id_length &&
                        memcmp(cells[to].id, cells[from].id, cells[from].id_length) == 0;
             to++) {
            if (cells[to].column != column || column < 0)
                continue;
            row->text = cells[to].value.text;
            row->number = cells[to].value.text ? 0 : (double)cells[to].value.value;
        }
        row->to = to;
    }
    return found;
}

/* Below several rows: the sums of what can be added. */
static void print_sums(FILE *out, const struct table *table, const struct cell *cells, size_t count,
                       const int *widths)
{
    for (int c = 0; c < COLUMNS_MAX && table->columns[c].title; c++) {
        bool is_sum = table->columns[c].format == FORMAT_COUNT && table->columns[c].leaf;
        double sum = is_sum ? 0 : -1;
        char text[32];

        for (size_t i = 0; i < count && is_sum; i++)
            sum += cells[i].column == c ? (double)cells[i].value.value : 0;
        print_count(text, sizeof(text), sum);
        fprintf(out, " %*s", table->columns[c].width < 0 ? -widths[c] : widths[c],
                table->columns[c].leaf ? text : "SUM");
    }
    fputc('\n', out);
}

static int column_of(const struct table *table, const char *title)
{
    for (int c = 0; title && c < COLUMNS_MAX && table->columns[c].title; c++) {
        if (strcasecmp(table->columns[c].title, title) == 0)
            return c;
    }
    return -1;
}

static void print_cells(FILE *out, const struct table *table, const struct cell *cells, size_t n,
                        const char *sort)
{
    int widths[COLUMNS_MAX] = { 0 };
    struct row *rows = n ? calloc(n, sizeof(*rows)) : NULL;

    if (!rows)
        return;
    size_t count = find_rows(cells, n, column_of(table, sort), rows);
    qsort(rows, count, sizeof(*rows), compare_rows);
    for (int c = 0; c < COLUMNS_MAX && table->columns[c].title; c++)
        widths[c] = abs(table->columns[c].width);
    for (size_t i = 0; i < count; i++)
        print_row(NULL, table, cells + rows[i].from, rows[i].to - rows[i].from, widths);
    for (int c = 0; c < COLUMNS_MAX && table->columns[c].title; c++)
        fprintf(out, " %*s", table->columns[c].width < 0 ? -widths[c] : widths[c],
                table->columns[c].title);
    fputc('\n', out);
    for (size_t i = 0; i < count; i++)
        print_row(out, table, cells + rows[i].from, rows[i].to - rows[i].from, widths);
    if (count > 1)
        print_sums(out, table, cells, n, widths);
    free(rows);
}

static void print_table(const struct monitor_instance *instance, const struct table *table,
                        FILE *out, const char *sort)
{
    struct stats_value value;
    struct cell cell;
    size_t at = 0, count = 0, n = 0;

    while (stats_reader_next(instance->reader, &at, &value))
        count += place(instance, table, &value, &cell);
    struct cell *cells = count ? calloc(count, sizeof(*cells)) : NULL;
    if (!cells)
        return;
    for (at = 0; n < count && stats_reader_next(instance->reader, &at, &value);)
        n += place(instance, table, &value, &cells[n]);
    qsort(cells, n, sizeof(*cells), compare);
    print_cells(out, table, cells, n, sort);
    free(cells);
}

void rows_print(const struct monitor_instance *instance, FILE *out, const char *section,
                const char *sort)
{
    for (size_t i = 0; instance->reader && i < TABLE_COUNT; i++) {
        if (strcmp(tables[i].section, section) == 0)
            print_table(instance, &tables[i], out, sort);
    }
}

const char *rows_next_title(const char *section, const char *title)
{
    bool is_next = !title;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        for (int c = 0; c < COLUMNS_MAX && tables[i].columns[c].title; c++) {
            const char *here = tables[i].columns[c].title;

            if (strcmp(tables[i].section, section) != 0 || !tables[i].columns[c].leaf)
                continue;
            if (is_next)
                return here;
            is_next = strcmp(here, title) == 0;
        }
    }
    return NULL;
}

bool rows_has_title(const char *title)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (column_of(&tables[i], title) >= 0)
            return true;
    }
    return false;
}
