/* counts.c - what the publisher made beside what arrived: a gap that nothing follows shows only
 * here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/table.h"
#include "dictionary.h"
#include "seqdata.h"
#include "tc.h"

#define FILE_MAX ((size_t)1 << 32)

struct final {
    uint64_t count;
    char *key; /* service, domain, name: as they stand in the line */
};

struct finals {
    char *text;
    struct final *lines;
    size_t count;
    struct md_table *table;
};

static void finals_fini(struct finals *finals)
{
    md_table_destroy(finals->table);
    free(finals->lines);
    free(finals->text);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; (text = strchr(text, '\n')) != NULL; text++)
        n++;
    return n;
}

/* "COUNT SERVICE DOMAIN NAME", and at the end "# N items": without it the file is not whole. */
static int finals_parse(struct finals *finals)
{
    char *rest = NULL, *end;
    unsigned long long told = 0;

    for (char *line = strtok_r(finals->text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '#')
            return sscanf(line, "# %llu items", &told) == 1 && told == finals->count
                       ? MD_OK
                       : MD_ERR_MALFORMED;
        struct final *final = &finals->lines[finals->count++];
        final->count = strtoull(line, &end, 10);
        if (end == line || *end != ' ')
            return MD_ERR_MALFORMED;
        final->key = end + 1;
        if (md_table_put(finals->table, final->key, strlen(final->key), final) != MD_OK)
            return MD_ERR_MALFORMED;
    }
    return MD_ERR_MALFORMED;
}

static int finals_load(struct finals *finals, const char *path)
{
    size_t length;

    *finals = (struct finals){ .text = tool_file_read(path, FILE_MAX, &length) };
    if (!finals->text)
        return MD_ERR_SYS;
    size_t lines = count_lines(finals->text);
    finals->lines = calloc(lines + 1, sizeof(*finals->lines));
    int rc = finals->lines ? md_table_create(lines + 1, &finals->table) : MD_ERR_NOMEM;
    errno = EILSEQ; /* if anything is wrong now, it is in the file */
    return rc == MD_OK ? finals_parse(finals) : rc;
}

static const struct final *final_of(const struct tc *tc, const struct finals *finals,
                                    const struct tc_item *item)
{
    char key[600];
    int length = snprintf(key, sizeof(key), "%s %u %s", tc->services[item->service], item->domain,
                          item->name);

    return length < (int)sizeof(key) ? md_table_get(finals->table, key, (size_t)length) : NULL;
}

/* What is missing of an item whose last word was that it is suspect, was told. */
static void behind(struct conn *conn, const struct slot *slot, const struct tc_item *item,
                   uint32_t missing)
{
    struct tc_stats *stats = &conn->tc->stats;

    if (slot->is_suspect) {
        stats->told_missing += missing;
        return;
    }
    stats->ended_behind++;
    stats->missing += missing;
    report_complain(conn->tc, conn, item, "ends at %u, %u behind the publisher", slot->count,
                    missing);
}

static void compare(struct conn *conn, const struct slot *slot, const struct finals *finals)
{
    struct tc *tc = conn->tc;
    const struct tc_item *item = &tc->items[slot->item];
    const struct final *final = final_of(tc, finals, item);
    uint32_t by;

    if (!final) {
        tc->stats.wrong++;
        report_complain(tc, conn, item, "the publisher does not know it");
        return;
    }
    switch (seqdata_step(slot->count, (uint32_t)(final->count & SEQDATA_COUNT_MASK), &by)) {
    case SEQDATA_DUPLICATE: /* where the publisher is */
        break;
    case SEQDATA_NEXT:
        behind(conn, slot, item, 1);
        break;
    case SEQDATA_GAP:
        behind(conn, slot, item, by + 1);
        break;
    case SEQDATA_REORDER:
        tc->stats.wrong++;
        report_complain(tc, conn, item, "ends at %u, the publisher made %llu", slot->count,
                        (unsigned long long) final->count);
        break;
    }
}

bool counts_are_there(const struct tc *tc)
{
    return !tc->options.counts || access(tc->options.counts, R_OK) == 0;
}

void counts_compare(struct tc *tc)
{
    struct finals finals;

    if (!tc->options.counts)
        return;
    if (!tc->is_draining || finals_load(&finals, tc->options.counts) != MD_OK) {
        fprintf(stderr, "rmdstestclient: the publisher's counts in %s: %s\n", tc->options.counts,
                tc->is_draining ? strerror(errno) : "the run was over before");
        tc->has_no_counts = true;
        if (tc->is_draining)
            finals_fini(&finals);
        return;
    }
    for (unsigned i = 0; i < tc->options.conns; i++) {
        struct conn *conn = &tc->conns[i];
        for (uint32_t at = 0; at < conn->slot_count; at++) {
            const struct slot *slot = &conn->slots[at];
            if (slot->item != NO_ITEM && slot->state == SLOT_OPEN && slot->has_count)
                compare(conn, slot, &finals);
        }
    }
    finals_fini(&finals);
}
