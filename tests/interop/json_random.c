/* json_random.c - prints random messages as RWF, and as what our writer makes of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rmds/rwf_dictionary.h"
#include "tree_random.h"
#include "json/write.h"

/*
 * json_random SEED COUNT FIELDS: writes the file FIELDS, a dictionary whose field 100 * type + n
 * is of that type, and COUNT lines of seed, RWF in hex, and JSON.
 */
enum {
    ENCODED_MAX = 1 << 18,
    TEXT_MAX = 1 << 20,
};

static const struct scope no_scope;

/* The words of RDMFieldDictionary; the numbers of fields are those of tree_field_type(). */
static const struct {
    unsigned type;
    const char *name;
} types[] = {
    { 3, "INT64" },         { 4, "UINT64" },        { 5, "FLOAT" },        { 6, "DOUBLE" },
    { 8, "REAL64" },        { 9, "DATE" },          { 10, "TIME" },        { 11, "DATETIME" },
    { 12, "QOS" },          { 13, "STATUS" },       { 14, "ENUM" },        { 15, "ARRAY" },
    { 16, "BUFFER" },       { 17, "ASCII_STRING" }, { 18, "UTF8_STRING" }, { 19, "RMTES_STRING" },
    { 130, "OPAQUE" },      { 131, "XML" },         { 132, "FIELD_LIST" }, { 133, "ELEM_LIST" },
    { 135, "FILTER_LIST" }, { 136, "VECTOR" },      { 137, "MAP" },        { 138, "SERIES" },
    { 141, "MSG" },
};

/* The dictionary as text, in `text`, and in the file. */
static bool write_fields(char *text, const char *path)
{
    size_t length = (size_t)snprintf(text, TEXT_MAX,
                                     "!tag Filename RDMFieldDictionary\n!tag Desc RDFD Field Set\n"
                                     "!tag Type 1\n!tag Version 1.0\n!tag Build 1\n"
                                     "!tag Date 1-Jan-2026\n");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (unsigned n = 0; n < 100; n++) {
            unsigned id = types[i].type * 100 + n;
            length += (size_t)snprintf(text + length, TEXT_MAX - length,
                                       "F_%u \"F %u\" %u NULL ALPHANUMERIC 9 %s 9\n", id, id, id,
                                       types[i].name);
        }
    }
    FILE *out = fopen(path, "w");
    bool is_written = out && fwrite(text, 1, length, out) == length;
    return out && fclose(out) == 0 && is_written;
}

/* The vendor's converter passes bytes on that are no text in UTF-8, or in RMTES; ours does not. */
static void make_text(struct node *node)
{
    if (node->kind == NODE_BYTES) {
        uint8_t *bytes = (uint8_t *)(uintptr_t)node->bytes.data;
        for (size_t i = 0; i < node->bytes.length; i++)
            bytes[i] = (uint8_t)(bytes[i] == 1 ? '\n' : 0x20 + bytes[i] % 95);
    }
    if (node->kind != NODE_LIST)
        return;
    for (struct node *item = node->first; item; item = item->next)
        make_text(item);
}

/* The converter refuses a message whose payload has no bytes. */
static void give_bodies(struct arena *arena, struct node *node)
{
    static const char *const heads[] = { "request", "refresh", "status",  "update",
                                         "close",   "ack",     "generic", "post" };

    if (node->kind != NODE_LIST)
        return;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (!node_is_list(node, heads[i]) || node_find(node, "body"))
            continue;
        struct node *kind = (struct node *)(uintptr_t)node_find(node, "ct");
        if (kind) {
            struct node *next = kind->next;
            *kind = *node_add(node_list(arena, "ct"), tree_type_node(arena, RWF_TYPE_NO_DATA));
            kind->next = next;
        }
    }
    for (struct node *item = node->first; item; item = item->next)
        give_bodies(arena, item);
}

/* One of the two converters cannot say these; README.md has the reason of each. */
static bool is_comparable(const char *text)
{
    return !strstr(text, "REAL4RB") && !strstr(text, "REAL8RB") && !strstr(text, " JSON");
}

static size_t to_json(const struct json_write_context *context, struct rwf_bytes message,
                      char *text, size_t size)
{
    struct json_written written;
    struct rwf_peek peek;

    if (rwf_peek(message, &peek) != RWF_OK)
        return 0;
    size_t head = (size_t)snprintf(text, size, "{\"ID\":%d", peek.stream_id);
    if (json_write_message(context, message, (uint8_t *)text + head, size - head - 1, &written) !=
        RWF_OK)
        return 0;
    text[head + written.length] = 0;
    return head + written.length;
}

struct work {
    struct rwf_dictionary *dictionary;
    uint8_t *bytes;
    char *text, *json;
};

static void convert(const struct work *work, uint64_t seed, size_t length)
{
    const struct json_write_context write = { .dictionary = work->dictionary };
    size_t size = to_json(&write, rwf_bytes(work->bytes, length), work->json, TEXT_MAX);

    if (size == 0)
        snprintf(work->json, TEXT_MAX, "it is not written");
    printf("%llu\t", (unsigned long long)seed);
    for (size_t i = 0; i < length; i++)
        printf("%02x", work->bytes[i]);
    printf("\t%s\n", work->json);
}

static bool print_one(const struct work *work, uint64_t seed)
{
    struct arena arena = { 0 };
    struct tree_random g = { .prng = md_prng_init(seed), .arena = &arena };
    struct node *node = tree_random_msg(&g);
    size_t length;

    make_text(node);
    give_bodies(&arena, node);
    bool is_good = tree_print(node, work->text, TEXT_MAX) < TEXT_MAX && is_comparable(work->text) &&
                   tree_encode(node, RWF_TYPE_MSG, &no_scope, RWF_LENGTHS_SHORTEST, &arena,
                               work->bytes, ENCODED_MAX, &length) == RWF_OK;
    if (is_good)
        convert(work, seed, length);
    arena_fini(&arena);
    return is_good;
}

int main(int argc, char **argv)
{
    struct work work = { .bytes = malloc(ENCODED_MAX),
                         .text = malloc(TEXT_MAX),
                         .json = malloc(TEXT_MAX) };
    struct rwf_dictionary_error error = { .text = "" };

    if (argc != 4 || !work.bytes || !work.text || !work.json) {
        fputs("usage: json_random SEED COUNT FIELDS\n", stderr);
        return 2;
    }
    if (!write_fields(work.text, argv[3]) || rwf_dictionary_create(&work.dictionary) != 0 ||
        rwf_dictionary_load_fields(work.dictionary, argv[3], work.text, strlen(work.text),
                                   &error) != 0) {
        fprintf(stderr, "json_random: %s\n", error.text);
        return 1;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10) * 1000000;
    for (unsigned long left = strtoul(argv[2], NULL, 10); left > 0; seed++)
        left -= print_one(&work, seed);
    rwf_dictionary_destroy(work.dictionary);
    free(work.bytes);
    free(work.text);
    free(work.json);
    return 0;
}
