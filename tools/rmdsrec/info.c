/* info.c - rmdsrec info: what a recording has, and what of it is damaged. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "rec.h"
#include "rmds/rwf.h"
#include "source.h"

/* By class of the message, and the records that are none. */
struct tally {
    uint64_t refreshes, updates, statuses, others, images, lost, cuts, bytes;
};

static void count_message(struct tally *tally, const struct rec_record *record)
{
    struct rwf_peek peek;

    tally->bytes += record->bytes.length;
    if (rwf_peek(record->bytes, &peek) != RWF_OK)
        tally->others++;
    else if (peek.msg_class == RWF_CLASS_UPDATE)
        tally->updates++;
    else if (peek.msg_class == RWF_CLASS_REFRESH)
        tally->refreshes++;
    else if (peek.msg_class == RWF_CLASS_STATUS)
        tally->statuses++;
    else
        tally->others++;
}

static void count(struct rec_cursor *cursor, struct tally *tally)
{
    struct rec_record record;

    while (rec_cursor_next(cursor, &record) > 0) {
        switch (record.kind) {
        case REC_MESSAGE:
            count_message(tally, &record);
            break;
        case REC_IMAGE:
            tally->images += (record.flags & REC_FIRST) != 0;
            break;
        case REC_LOST:
            tally->lost += record.count;
            break;
        case REC_CUT:
            tally->cuts++;
            break;
        default:
            break;
        }
    }
}

static void print_head(const struct rec_facts *facts)
{
    char time[32], name[MD_TEXT_DOTTED_MAX + 1];

    if (facts->has_info) {
        source_print_time(facts->info.wall_ns, time);
        printf("begun       %s by %s, file %u of its series\n", time,
               md_text_dotted(facts->info.program.data, facts->info.program.length, name),
               facts->info.part + 1);
        printf("source      %s\n",
               md_text_dotted(facts->info.source.data, facts->info.source.length, name));
    }
    printf("ended       %s\n", facts->is_ended ? "in good order" : "not: it was cut off");
    if (facts->chunks == 0)
        return;
    source_print_time(facts->first_wall_ns, time);
    printf("from        %s\n", time);
    printf("length      %.3f s\n", (double)(facts->last_mono_ns - facts->first_mono_ns) / 1e9);
}

/* By service and domain. */
static void print_items(const struct rec_reader *reader, uint32_t highest)
{
    struct {
        const struct rec_key *key;
        unsigned count;
    } groups[64] = { { NULL, 0 } };
    size_t used = 0;
    char name[MD_TEXT_DOTTED_MAX + 1];

    for (uint32_t i = 1; i <= highest; i++) {
        const struct rec_key *key = rec_reader_item(reader, i);
        size_t g = 0;
        if (!key || key->domain <= RWF_DOMAIN_DICTIONARY)
            continue;
        while (g < used && (groups[g].key->domain != key->domain ||
                            !rwf_bytes_equal(groups[g].key->service, key->service)))
            g++;
        if (g == sizeof(groups) / sizeof(groups[0]))
            continue;
        if (g == used)
            groups[used++].key = key;
        groups[g].count++;
    }
    for (size_t g = 0; g < used; g++)
        printf("items       %u of %s, domain %u\n", groups[g].count,
               md_text_dotted(groups[g].key->service.data, groups[g].key->service.length, name),
               groups[g].key->domain);
}

int info_run(const struct words *words)
{
    struct tally tally = { 0 };
    struct source source;
    struct rec_cursor *cursor;
    struct rec_facts facts;

    if (!source_open(words->file, true, words->is_series, &source))
        return REC_FILE;
    if (rec_cursor_create(source.reader, &cursor) != MD_OK) {
        source_close(&source);
        return REC_FILE;
    }
    count(cursor, &tally);
    rec_cursor_destroy(cursor);
    rec_reader_facts(source.reader, &facts);
    print_head(&facts);
    if (words->is_series)
        printf("files       %zu\n", source.count);
    print_items(source.reader, facts.items);
    printf("messages    %" PRIu64 " updates, %" PRIu64 " refreshes, %" PRIu64 " states, %" PRIu64
           " others: %" PRIu64 " bytes\n",
           tally.updates, tally.refreshes, tally.statuses, tally.others, tally.bytes);
    printf("images      %" PRIu64 " of the recorder's\n", tally.images);
    printf("chunks      %" PRIu64 ", %" PRIu64 " records\n", facts.chunks, facts.records);
    if (tally.cuts > 0)
        printf("cut         %" PRIu64 " times the connection was lost\n", tally.cuts);
    if (tally.lost > 0)
        printf("lost        %" PRIu64 " messages found no room in the recorder\n", tally.lost);
    source_print_damages(&source, stdout);
    source_close(&source);
    return facts.damages > 0 || tally.lost > 0 ? REC_DAMAGED : REC_OK;
}
