/* rwf_dictionary_peer.c - our side of DictionaryInterop: dictionaries in parts, RMTES strings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"
#include "rmds/rwf_rmtes.h"

/*
 *   parts FIELDS ENUMS SIZE   print the dictionary as messages of at most SIZE bytes: hex lines
 *   check FIELDS ENUMS        read such messages; exit status 1 if they say something else
 *   rmtes                     for each line of hex print the stored string and its text, as hex;
 *                             an empty line starts a new string
 */
enum {
    ROOM = 1 << 20,
};

static void die(const char *what)
{
    fprintf(stderr, "rwf_dictionary_peer: %s\n", what);
    exit(1);
}

static void load(struct rwf_dictionary *dictionary, const char *path, bool is_fields)
{
    struct rwf_dictionary_error error;
    FILE *file = fopen(path, "rb");
    char *text = malloc(ROOM);
    size_t length;
    int err;

    if (!file || !text)
        die(path);
    length = fread(text, 1, ROOM, file);
    fclose(file);
    err = is_fields ? rwf_dictionary_load_fields(dictionary, path, text, length, &error)
                    : rwf_dictionary_load_enums(dictionary, path, text, length, &error);
    free(text);
    if (err != MD_OK)
        die(error.text);
}

static void print_hex(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
}

static void print_parts(const struct rwf_dictionary *dictionary, enum rwf_dictionary_type type,
                        size_t size)
{
    const struct rwf_msg msg = {
        .stream_id = 3,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_SOLICITED,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME,
                 .service_id = 1,
                 .name = rwf_text(type == RWF_DICTIONARY_TYPE_FIELDS ? "RWFFld" : "RWFEnum") },
    };
    struct rwf_dictionary_cursor cursor = { 0 };
    uint8_t *buffer = malloc(size);
    size_t length;

    while (!cursor.is_complete) {
        if (!buffer || rwf_dictionary_refresh_encode(dictionary, type, RWF_DICTIONARY_NORMAL, &msg,
                                                     &cursor, buffer, size, &length) != RWF_OK)
            die("a part does not fit");
        print_hex(buffer, length);
        putchar('\n');
    }
    free(buffer);
}

static size_t read_hex(const char *line, uint8_t *bytes)
{
    size_t length = 0;
    unsigned byte;

    while (line[0] && line[1] && sscanf(line, "%2x", &byte) == 1) {
        bytes[length++] = (uint8_t)byte;
        line += 2;
    }
    return length;
}

/* ---- check ---- */

static bool same_fields(const struct rwf_dictionary *a, const struct rwf_dictionary *b)
{
    const struct rwf_field_def *x;
    int fid = INT16_MIN - 1;

    while ((x = rwf_dictionary_next(a, fid))) {
        const struct rwf_field_def *y = rwf_dictionary_field(b, x->fid);

        fid = x->fid;
        if (!y || strcmp(x->name, y->name) != 0 || strcmp(x->long_name, y->long_name) != 0 ||
            x->ripples_to != y->ripples_to || x->field_type != y->field_type ||
            x->length != y->length || x->rwf_type != y->rwf_type ||
            x->rwf_length != y->rwf_length || x->enum_length != y->enum_length)
            return false;
    }
    return rwf_dictionary_field_count(a) == rwf_dictionary_field_count(b);
}

static bool same_tables(const struct rwf_dictionary *a, const struct rwf_dictionary *b)
{
    if (rwf_dictionary_table_count(a) != rwf_dictionary_table_count(b))
        return false;
    for (uint32_t i = 0; i < rwf_dictionary_table_count(a); i++) {
        const struct rwf_enum_table *x = rwf_dictionary_table(a, i);
        const struct rwf_field_def *field = rwf_dictionary_field(b, x->fids[0]);
        const struct rwf_enum_table *y = field ? field->enums : NULL;

        if (!y || x->fid_count != y->fid_count || x->value_count != y->value_count)
            return false;
        for (uint32_t j = 0; j < x->value_count; j++)
            if (x->values[j].value != y->values[j].value ||
                x->values[j].display_length != y->values[j].display_length ||
                memcmp(x->values[j].display, y->values[j].display, x->values[j].display_length))
                return false;
    }
    return true;
}

static void check(const struct rwf_dictionary *expected)
{
    struct rwf_dictionary *got;
    char *line = NULL;
    size_t room = 0;

    if (rwf_dictionary_create(&got) != MD_OK)
        die("no memory");
    while (getline(&line, &room, stdin) > 0) {
        uint8_t *bytes = malloc(room);
        struct rwf_bytes payload = rwf_bytes(bytes, bytes ? read_hex(line, bytes) : 0);
        int err = rwf_dictionary_decode(got, payload);

        if (err != RWF_OK)
            die(md_err_name(err));
        free(bytes);
    }
    free(line);
    if (!same_fields(expected, got))
        die("the fields differ");
    if (!same_tables(expected, got))
        die("the enumerated types differ");
    rwf_dictionary_destroy(got);
}

/* ---- rmtes ---- */

static void rmtes(void)
{
    uint8_t stored[256], content[4096];
    char line[2 * sizeof(content) + 2], text[3 * sizeof(stored)];
    size_t stored_length = 0, text_length;

    while (fgets(line, sizeof(line), stdin)) {
        size_t length = read_hex(line, content);

        if (length == 0)
            stored_length = 0;
        if (rwf_rmtes_apply(stored, sizeof(stored), &stored_length, content, length) != MD_OK)
            die("a string is refused");
        rwf_rmtes_to_utf8(stored, stored_length, text, sizeof(text), &text_length);
        print_hex(stored, stored_length);
        putchar('\t');
        print_hex((const uint8_t *)text, text_length);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    struct rwf_dictionary *dictionary = NULL;

    if (argc == 2 && strcmp(argv[1], "rmtes") == 0) {
        rmtes();
        return 0;
    }
    if (argc < 4 || rwf_dictionary_create(&dictionary) != MD_OK)
        die("parts FIELDS ENUMS SIZE | check FIELDS ENUMS | rmtes");
    load(dictionary, argv[2], true);
    load(dictionary, argv[3], false);
    if (argc == 5 && strcmp(argv[1], "parts") == 0) {
        print_parts(dictionary, RWF_DICTIONARY_TYPE_FIELDS, strtoul(argv[4], NULL, 10));
        print_parts(dictionary, RWF_DICTIONARY_TYPE_ENUMS, strtoul(argv[4], NULL, 10));
    } else {
        check(dictionary);
    }
    rwf_dictionary_destroy(dictionary);
    return 0;
}
