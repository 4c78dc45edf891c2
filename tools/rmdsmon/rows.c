/* rows.c - what an instance has many of, one line each: mounts, services, routes, users, nodes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "monitor.h"

enum format {
    FORMAT_TEXT,
    FORMAT_COUNT,
    FORMAT_PLAIN,    /* an id: no thousands */
    FORMAT_MEASURED, /* 0: it was not */
    FORMAT_YES,
    FORMAT_AGE,
};

#define COLUMNS_MAX 15

struct column {
    const char *title;
    const char *leaf; /* the last word of the path; NULL: what stands before it */
    int width;        /* at least; negative: to the left */
    enum format format;
};

static const struct table {
    const char *section;
    const char *group; /* "mount" of p2ps.mount.0.17.user */
    struct column columns[COLUMNS_MAX];
} tables[] = {
    { "MOUNTS",
      "mount",
      { { "ID", NULL, 4, FORMAT_TEXT },
        { "USER", "user", -8, FORMAT_TEXT },
        { "HOST", "host", -15, FORMAT_TEXT },
        { "ITEMS", "items", 5, FORMAT_COUNT },
        { "BUFFERS", "buffers", 7, FORMAT_COUNT },
        { "OF", "buffersMax", 5, FORMAT_COUNT },
        { "SLOW", "slow", 4, FORMAT_YES },
        { "PER-SEC", "msgsOutRate", 7, FORMAT_COUNT },
        { "MSGS-OUT", "msgsOut", 8, FORMAT_COUNT },
        { "BYTES-OUT", "bytesOut", 9, FORMAT_COUNT },
        { "MSGS-IN", "msgsIn", 7, FORMAT_COUNT },
        { "RTT-US", "rttUs", 6, FORMAT_MEASURED },
        { "UP", "since", 6, FORMAT_AGE },
        { "POSITION", "position", -12, FORMAT_TEXT },
        { "APP", "applicationId", 4, FORMAT_TEXT } } },
    { "SERVICES",
      "service",
      { { "SERVICE", NULL, -24, FORMAT_TEXT },
        { "ID", "serviceId", 6, FORMAT_PLAIN },
        { "STATE", "state", -14, FORMAT_TEXT },
        { "INSTANCES", "instances", 9, FORMAT_COUNT },
        { "ACTIVE", "active", 9, FORMAT_COUNT },
        { "PENDING", "pending", 9, FORMAT_COUNT },
        { "PENDING-OUT", "pendingOut", 11, FORMAT_COUNT },
        { "LOAD", "load", 5, FORMAT_PLAIN } } },
    { "ROUTES",
      "route",
      { { "ROUTE", NULL, 8, FORMAT_TEXT },
        { "STATE", "state", -12, FORMAT_TEXT },
        { "HOST", "host", -32, FORMAT_TEXT },
        { "CONNECTS", "connects", 9, FORMAT_COUNT } } },
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

/* True when the path is that of one cell: <process>.<group>.<id>.<leaf> */
static bool place(const struct monitor_instance *instance, const struct table *table,
                  const struct stats_value *value, struct cell *cell)
{
    size_t process = strlen(instance->process), group = strlen(table->group);
    const char *leaf = strrchr(value->path, '.');

    if (!leaf || strncmp(value->path, instance->process, process) != 0 ||
        value->path[process] != '.' ||
        strncmp(value->path + process + 1, table->group, group) != 0 ||
        value->path[process + 1 + group] != '.' || leaf <= value->path + process + 1 + group)
        return false;
    cell->id = value->path + process + group + 2;
    cell->id_length = (size_t)(leaf - cell->id);
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
        if (strcmp(tables[i].section, section) == 0 && place(instance, &tables[i], value, &cell))
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
    else if (column->format == FORMAT_AGE && md_clock_wall_ns() > value->value)
        print_uptime(text, size, (md_clock_wall_ns() - value->value) / MD_NS_PER_S);
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
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

static void print_rows(FILE *out, const struct table *table, const struct cell *cells, size_t count,
                       int *widths)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && cells[to].id_length == cells[from].id_length &&
                            memcmp(cells[to].id, cells[from].id, cells[from].id_length) == 0;)
            to++;
        print_row(out, table, cells + from, to - from, widths);
    }
}

static void print_table(const struct monitor_instance *instance, const struct table *table,
                        FILE *out)
{
    struct stats_value value;
    struct cell cell;
    size_t at = 0, count = 0, n = 0;
    int widths[COLUMNS_MAX] = { 0 };

    while (stats_reader_next(instance->reader, &at, &value))
        count += place(instance, table, &value, &cell);
    struct cell *cells = count ? calloc(count, sizeof(*cells)) : NULL;
    if (!cells)
        return;
    for (at = 0; n < count && stats_reader_next(instance->reader, &at, &value);)
        n += place(instance, table, &value, &cells[n]);
    qsort(cells, n, sizeof(*cells), compare);
    for (int c = 0; c < COLUMNS_MAX && table->columns[c].title; c++)
        widths[c] = abs(table->columns[c].width);
    print_rows(NULL, table, cells, n, widths);
    for (int c = 0; c < COLUMNS_MAX && table->columns[c].title; c++)
        fprintf(out, " %*s", table->columns[c].width < 0 ? -widths[c] : widths[c],
                table->columns[c].title);
    fputc('\n', out);
    print_rows(out, table, cells, n, widths);
    free(cells);
}

void rows_print(const struct monitor_instance *instance, FILE *out, const char *section)
{
    for (size_t i = 0; instance->reader && i < TABLE_COUNT; i++) {
        if (strcmp(tables[i].section, section) == 0)
            print_table(instance, &tables[i], out);
    }
}
