/* compare.c - rmdsrec compare: whether two recordings have the same streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "rec.h"
#include "recording/images.h"
#include "source.h"

#define IMAGES_BYTES (4ull << 30)
#define PART_BYTES   60000u
#define SHOWN_MAX    20u /* items that differ, by name */
#define KEY_MAX      264u

/* One item: what its updates and states were, in order, as a number. */
struct stream {
    uint64_t updates, states, hash;
    uint64_t image;  /* at the end; 0: none */
    uint32_t number; /* of its last message */
    bool has_image;  /* one has come: states before it answer the request */
    struct rwf_bytes service, name;
    uint8_t domain;
    uint32_t ordinal;    /* of its service, among those with an item of this name */
    struct stream *last; /* of the ordinal 0: the one of the highest */
    struct stream *next;
    size_t key_length;
    uint8_t key[KEY_MAX]; /* domain, ordinal, name */
};

struct side {
    const char *path;
    struct source source;
    struct md_table *table;  /* key -> stream */
    struct stream **streams; /* by number of the item; several numbers may be of one */
    uint32_t count;          /* places of it */
    struct stream *all;
    uint64_t damages;
};

static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash ^= more + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
    return hash * 0xff51afd7ed558ccdull;
}

static uint64_t hash_of(struct rwf_bytes bytes)
{
    return md_hash_bytes(bytes.data, bytes.length);
}

/* Stream id, key, service, group and sequence belong to the provider, and are not compared. */
static void take(struct stream *stream, struct rwf_bytes message)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(message, &msg) != RWF_OK) {
        stream->hash = mix(stream->hash, hash_of(message));
        return;
    }
    stream->has_image = stream->has_image || msg.msg_class == RWF_CLASS_REFRESH;
    if (msg.msg_class == RWF_CLASS_UPDATE) {
        stream->updates++;
        stream->hash =
            mix(mix(mix(stream->hash, msg.update_type), msg.container), hash_of(msg.payload));
    } else if (msg.msg_class == RWF_CLASS_STATUS && msg.flags & RWF_STATUS_HAS_STATE &&
               stream->has_image) {
        stream->states++;
        stream->hash =
            mix(mix(stream->hash, (uint64_t)msg.state.stream_state << 16 |
                                      (uint64_t)msg.state.data_state << 8 | msg.state.code),
                hash_of(msg.state.text));
    }
}

/* ---- one recording ---- */

struct numbered {
    const struct rec_key *key;
    uint32_t number;
};

static int by_service(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    struct rwf_bytes s = x->key->service, t = y->key->service;
    int order = memcmp(s.data, t.data, s.length < t.length ? s.length : t.length);

    if (order == 0 && s.length == t.length)
        return x->number < y->number ? -1 : x->number > y->number;
    return order ? order : s.length < t.length ? -1 : 1;
}

static size_t make_key(const struct rec_key *key, uint32_t ordinal, uint8_t out[KEY_MAX])
{
    out[0] = key->domain;
    memcpy(out + 1, &ordinal, sizeof(ordinal));
    memcpy(out + 1 + sizeof(ordinal), key->name.data, key->name.length);
    return 1 + sizeof(ordinal) + key->name.length;
}

static struct stream *add_stream(struct side *side, const struct rec_key *key, uint32_t ordinal)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->service = key->service;
    stream->name = key->name;
    stream->domain = key->domain;
    stream->ordinal = ordinal;
    stream->last = stream;
    stream->key_length = make_key(key, ordinal, stream->key);
    stream->next = side->all;
    side->all = stream;
    return md_table_put(side->table, stream->key, stream->key_length, stream) == MD_OK ? stream
                                                                                       : NULL;
}

/* Services are told apart by their order, not by their names: a replay may have given others. The
 * keys come in the order of their services. */
static struct stream *stream_of(struct side *side, const struct rec_key *key)
{
    uint8_t bytes[KEY_MAX];
    struct stream *first = md_table_get(side->table, bytes, make_key(key, 0, bytes));

    if (!first)
        return add_stream(side, key, 0);
    if (!rwf_bytes_equal(first->last->service, key->service)) {
        struct stream *stream = add_stream(side, key, first->last->ordinal + 1);
        if (!stream)
            return NULL;
        first->last = stream;
    }
    return first->last;
}

static bool make_streams(struct side *side, uint32_t items)
{
    struct numbered *all = calloc((size_t)items + 1, sizeof(*all));
    size_t count = 0;
    bool is_good = all != NULL;

    side->streams = calloc((size_t)items + 1, sizeof(struct stream *));
    if (!is_good || !side->streams || md_table_create(items + 1u, &side->table) != MD_OK) {
        free(all);
        return false;
    }
    side->count = items + 1;
    for (uint32_t i = 1; i <= items; i++) {
        const struct rec_key *key = rec_reader_item(side->source.reader, i);
        if (key && key->domain > RWF_DOMAIN_DICTIONARY)
            all[count++] = (struct numbered){ key, i };
    }
    qsort(all, count, sizeof(*all), by_service);
    for (size_t i = 0; i < count && is_good; i++) {
        side->streams[all[i].number] = stream_of(side, all[i].key);
        is_good = side->streams[all[i].number] != NULL;
    }
    free(all);
    return is_good;
}

/* Its payload, part by part. */
static uint64_t image_hash(const struct cache_image *image)
{
    static uint8_t part[PART_BYTES];
    struct cache_cursor cursor = { 0 };
    uint64_t hash = 1;
    bool is_last = false;

    while (image && !is_last) {
        struct rwf_msg msg;
        size_t length;
        if (cache_image_part(image, &cursor, part, sizeof(part), &length, &is_last) != MD_OK)
            return mix(hash, 0);
        struct rwf_bytes bytes = rwf_bytes(part, length);
        hash = mix(hash, hash_of(rwf_msg_decode(bytes, &msg) == RWF_OK ? msg.payload : bytes));
    }
    return image ? hash : 0;
}

static bool read_all(struct side *side)
{
    const struct cache_config cache = { .bytes_max = IMAGES_BYTES, .keeps_pages = true };
    struct rec_folder *folder = NULL;
    struct rec_cursor *cursor = NULL;
    struct rec_record record;
    struct rec_facts facts;

    rec_reader_facts(side->source.reader, &facts);
    bool is_whole = make_streams(side, facts.items) &&
                    rec_cursor_create(side->source.reader, &cursor) == MD_OK &&
                    rec_folder_create(side->source.reader, &cache, REC_WAITS, &folder) == MD_OK;
    while (is_whole && rec_cursor_next(cursor, &record) > 0) {
        rec_folder_apply(folder, &record);
        struct stream *stream = record.number < side->count ? side->streams[record.number] : NULL;
        if (record.kind != REC_MESSAGE || !stream)
            continue;
        stream->number = record.number;
        take(stream, record.bytes);
    }
    for (struct stream *stream = side->all; is_whole && stream; stream = stream->next)
        stream->image = image_hash(rec_folder_image(folder, stream->number));
    rec_reader_facts(side->source.reader, &facts);
    side->damages = facts.damages;
    rec_cursor_destroy(cursor);
    rec_folder_destroy(folder);
    if (!is_whole)
        fprintf(stderr, PROGRAM ": out of memory\n");
    return is_whole;
}

static void close_side(struct side *side)
{
    while (side->all) {
        struct stream *stream = side->all;
        side->all = stream->next;
        free(stream);
    }
    md_table_destroy(side->table);
    free(side->streams);
    source_close(&side->source);
}

/* ---- both ---- */

static const struct stream *other_of(const struct side *side, const struct stream *stream)
{
    static const struct stream none = { .updates = 0 };
    const struct stream *other = md_table_get(side->table, stream->key, stream->key_length);

    return other ? other : &none;
}

static bool is_same(const struct stream *a, const struct stream *b)
{
    return a->updates == b->updates && a->states == b->states && a->hash == b->hash &&
           a->image == b->image;
}

static void tell(const struct stream *stream, const struct stream *other)
{
    char name[MD_TEXT_DOTTED_MAX + 1], service[MD_TEXT_DOTTED_MAX + 1];

    printf("differs     %s of %s, domain %u: %" PRIu64 " updates and %" PRIu64 " states, %" PRIu64
           " and %" PRIu64 "; %s, %s image at the end\n",
           md_text_dotted(stream->name.data, stream->name.length, name),
           md_text_dotted(stream->service.data, stream->service.length, service), stream->domain,
           stream->updates, stream->states, other->updates, other->states,
           stream->hash == other->hash ? "they are equal" : "they are not equal",
           stream->image == other->image ? "the same" : "another");
}

static int judge(const struct side *sides)
{
    uint64_t items = 0, updates = 0, states = 0, others = 0;

    for (const struct stream *stream = sides[0].all; stream; stream = stream->next) {
        const struct stream *other = other_of(&sides[1], stream);
        items++;
        updates += stream->updates;
        states += stream->states;
        if (!is_same(stream, other) && ++others <= SHOWN_MAX)
            tell(stream, other);
    }
    for (const struct stream *stream = sides[1].all; stream; stream = stream->next) {
        if (md_table_get(sides[0].table, stream->key, stream->key_length))
            continue;
        items++;
        if (++others <= SHOWN_MAX)
            tell(stream, other_of(&sides[0], stream));
    }
    printf("compared    %" PRIu64 " items, %" PRIu64 " updates, %" PRIu64 " states; %" PRIu64
           " items differ\n",
           items, updates, states, others);
    for (size_t i = 0; i < 2; i++) {
        if (sides[i].damages == 0)
            continue;
        printf("recording   %s\n", sides[i].path);
        source_print_damages(&sides[i].source, stdout);
    }
    return others + sides[0].damages + sides[1].damages > 0 ? REC_DAMAGED : REC_OK;
}

int compare_run(const struct words *words)
{
    struct side sides[2] = { { .path = words->file }, { .path = words->other } };
    bool is_good = true;

    for (size_t i = 0; i < 2 && is_good; i++)
        is_good = source_open(sides[i].path, false, words->is_series, &sides[i].source) &&
                  read_all(&sides[i]);
    int rc = is_good ? judge(sides) : REC_FILE;
    for (size_t i = 0; i < 2; i++)
        close_side(&sides[i]);
    return rc;
}
