/* chain.c - items that name further items: chains of records, stories in segments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "rmds/rwf_rmtes.h"
#include "seqdata.h"
#include "tc.h"

enum {
    NEXT_LR = 238,
    REF_COUNT = 239,
    LINK_1 = 240,
    LINK_14 = 253,
    SEG_TEXT = 258,
    SEG_FORW = 260,

    TEXT_MAX = 1 << 20, /* of a story */
    COLUMNS = 78,
};

struct chain {
    bool is_story;
    struct md_table *known; /* names, so that nothing is opened twice, nor for ever */
    char *names[CHAIN_MAX];
    uint32_t name_count;
    uint32_t records, members, twice;
    bool is_full, is_looped, is_whole, has_bad_name;
    char *text; /* of the story */
    size_t length;
};

int chain_create(struct tc *tc, bool is_story)
{
    struct chain *chain = calloc(1, sizeof(*chain));
    struct tc_item *items = realloc(tc->items, (tc->item_count + CHAIN_MAX) * sizeof(*items));

    tc->items = items ? items : tc->items;
    tc->chain = chain;
    if (!chain || !items || md_table_create(CHAIN_MAX, &chain->known) != MD_OK)
        return MD_ERR_NOMEM;
    chain->is_story = is_story;
    chain->text = is_story ? malloc(TEXT_MAX) : NULL;
    for (size_t i = 0; i < tc->item_count; i++) {
        items[i].is_link = true;
        (void)md_table_put(chain->known, items[i].name, items[i].name_length, &items[i]);
    }
    return is_story && !chain->text ? MD_ERR_NOMEM : MD_OK;
}

void chain_destroy(struct chain *chain)
{
    if (!chain)
        return;
    md_table_destroy(chain->known);
    for (uint32_t i = 0; i < chain->name_count; i++)
        free(chain->names[i]);
    free(chain->text);
    free(chain);
}

/* Names come from the network, and go to terminals. */
static bool is_name(struct rwf_bytes name)
{
    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] <= 0x20 || name.data[i] > 0x7e)
            return false;
    }
    return name.length > 0 && name.length <= UINT8_MAX;
}

/* One item more on this connection, behind all others. */
static void add(struct conn *conn, const struct tc_item *from, struct rwf_bytes name, bool is_link)
{
    struct tc *tc = conn->tc;
    struct chain *chain = tc->chain;

    if (name.length == 0)
        return;
    if (!is_name(name)) {
        chain->has_bad_name = true;
        return;
    }
    if (md_table_get(chain->known, name.data, name.length)) {
        chain->twice += !is_link;
        chain->is_looped |= is_link;
        return;
    }
    if (chain->name_count == CHAIN_MAX) {
        chain->is_full = true;
        return;
    }
    char *text = strndup((const char *)name.data, name.length);
    if (!text)
        return;
    chain->names[chain->name_count++] = text;
    struct tc_item *item = &tc->items[tc->item_count];
    *item = (struct tc_item){
        .name = text,
        .name_length = (uint8_t)name.length,
        .hash = seqdata_item(text, name.length),
        .domain = from->domain,
        .service = from->service,
        .is_link = is_link,
    };
    (void)md_table_put(chain->known, text, name.length, item);
    conn->slots[conn->slot_count++] = (struct slot){ .item = (uint32_t)tc->item_count++ };
    conn->wanted++;
    tc->wanted++;
    chain->members += !is_link;
}

static void add_text(struct chain *chain, struct rwf_bytes bytes)
{
    size_t length = 0;

    if (bytes.length && rwf_rmtes_to_utf8(bytes.data, bytes.length, chain->text + chain->length,
                                          TEXT_MAX - chain->length, &length) == RWF_OK)
        chain->length += length;
}

/* Lines of at most COLUMNS, broken at blanks; nothing that a terminal would obey. */
static void print_text(const char *text, size_t length)
{
    size_t column = 0;

    for (size_t i = 0, word; i < length; i += word + 1) {
        for (word = 0; i + word < length && text[i + word] != ' ';)
            word++;
        if (word == 0)
            continue;
        if (column > 0 && column + 1 + word > COLUMNS) {
            printf("\n");
            column = 0;
        }
        if (column > 0)
            printf(" ");
        column += word + (column > 0);
        for (size_t k = 0; k < word; k++) {
            char c = text[i + k];
            bool is_c1 = k > 0 && text[i + k - 1] == '\xc2' && (c & '\xe0') == '\x80';
            putchar((unsigned char)c < 0x20 || c == 0x7f || is_c1 ? '.' : c);
        }
    }
    printf("\n");
}

/* What the record of a chain, or the segment of a story, names. */
struct links {
    struct rwf_bytes next, text, link[LINK_14 - LINK_1 + 1];
    uint64_t count;
};

static bool read_links(struct rwf_bytes payload, bool is_story, struct links *out)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    *out = (struct links){ .count = LINK_14 - LINK_1 + 1 };
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (field.id == (is_story ? SEG_FORW : NEXT_LR))
            out->next = field.content;
        else if (field.id == SEG_TEXT)
            out->text = field.content;
        else if (field.id == REF_COUNT)
            (void)rwf_uint_decode(field.content, &out->count);
        else if (field.id >= LINK_1 && field.id <= LINK_14)
            out->link[field.id - LINK_1] = field.content;
    }
    return rc >= 0;
}

void chain_image(struct conn *conn, const struct tc_item *item, const struct rwf_msg *msg)
{
    struct tc *tc = conn->tc;
    struct chain *chain = tc->chain;
    struct links links;
    const struct tc_item from = *item;

    if (!chain || !from.is_link || msg->container != RWF_TYPE_FIELD_LIST)
        return;
    tc->items[item - tc->items].is_link =
        false; /* it is read once: after a reconnect it comes again */
    if (!read_links(msg->payload, chain->is_story, &links)) {
        tc->stats.errors++;
        return;
    }
    uint32_t before = chain->members + chain->twice;
    chain->records++;
    if (chain->is_story)
        add_text(chain, links.text);
    for (unsigned i = 0; !chain->is_story && i < LINK_14 - LINK_1 + 1 && i < links.count; i++)
        add(conn, &from, links.link[i], false);
    add(conn, &from, links.next, true);
    chain->is_whole = links.next.length == 0;
    if (tc->options.log >= 1 && !chain->is_story)
        printf("chain   %s: %u members%s%.*s\n", from.name, chain->members + chain->twice - before,
               links.next.length ? ", next " : ", the last record",
               is_name(links.next) ? (int)links.next.length : 0, (const char *)links.next.data);
}

void chain_end(const struct tc *tc)
{
    const struct chain *chain = tc->chain;

    if (!chain)
        return;
    if (chain->is_story) {
        printf("story   %s: %u segments, %zu bytes%s\n\n", tc->items[0].name, chain->records,
               chain->length, chain->is_whole ? "" : ", NOT WHOLE: a segment is missing");
        print_text(chain->text, chain->length);
    } else {
        printf("chain   %s: %u members in %u records%s\n", tc->items[0].name,
               chain->members + chain->twice, chain->records,
               chain->is_whole ? "" : ", NOT WHOLE: a record is missing");
        if (chain->twice)
            printf("chain   %u of them stand in it more than once\n", chain->twice);
    }
    if (chain->has_bad_name)
        printf("chain   a name in it is not printable: not opened\n");
    if (chain->is_looped)
        printf("chain   it comes back to a record of its own: not followed\n");
    if (chain->is_full)
        printf("chain   more than %d items: the rest was not opened\n", CHAIN_MAX);
}

bool chain_is_whole(const struct tc *tc)
{
    return !tc->chain || (tc->chain->is_whole && !tc->chain->is_full && !tc->chain->is_looped &&
                          !tc->chain->has_bad_name);
}
