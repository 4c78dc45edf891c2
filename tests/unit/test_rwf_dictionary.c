/* test_rwf_dictionary.c - dictionaries from files: what is found, and what is refused and how. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

#define VECTORS RMDS_SOURCE_DIR "/tests/vectors/rwf/"

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *length = (size_t)ftell(file);
    rewind(file);
    text = malloc(*length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *length, file), *length);
    text[*length] = '\0';
    fclose(file);
    return text;
}

static int load_fields(struct rwf_dictionary *dictionary, const char *text,
                       struct rwf_dictionary_error *error)
{
    return rwf_dictionary_load_fields(dictionary, "f", text, strlen(text), error);
}

static int load_enums(struct rwf_dictionary *dictionary, const char *text,
                      struct rwf_dictionary_error *error)
{
    return rwf_dictionary_load_enums(dictionary, "e", text, strlen(text), error);
}

static void load_files(struct rwf_dictionary *dictionary, const char *fields, const char *enums)
{
    struct rwf_dictionary_error error;
    size_t length;
    char *text = read_file(fields, &length);

    if (rwf_dictionary_load_fields(dictionary, fields, text, length, &error) != MD_OK)
        fail_msg("%s", error.text);
    free(text);
    text = read_file(enums, &length);
    if (rwf_dictionary_load_enums(dictionary, enums, text, length, &error) != MD_OK)
        fail_msg("%s", error.text);
    free(text);
}

static int setup(void **state)
{
    return rwf_dictionary_create((struct rwf_dictionary **)state);
}

static int setup_sample(void **state)
{
    int err = setup(state);

    load_files(*state, VECTORS "sample.fields", VECTORS "sample.enums");
    return err;
}

static int teardown(void **state)
{
    rwf_dictionary_destroy(*state);
    return 0;
}

static void a_field_is_found_by_id_and_by_name(void **state)
{
    const struct rwf_dictionary *dictionary = *state;
    const struct rwf_field_def *field = rwf_dictionary_field(dictionary, 6);

    assert_int_equal(rwf_dictionary_field_count(dictionary), 15);
    assert_non_null(field);
    assert_string_equal(field->name, "TRDPRC_1");
    assert_int_equal(field->name_length, 8);
    assert_string_equal(field->long_name, "LAST");
    assert_int_equal(field->fid, 6);
    assert_int_equal(field->ripples_to, 7);
    assert_int_equal(field->field_type, RWF_FIELD_TYPE_PRICE);
    assert_int_equal(field->length, 17);
    assert_int_equal(field->rwf_type, RWF_TYPE_REAL);
    assert_int_equal(field->rwf_length, 7);
    assert_ptr_equal(rwf_dictionary_field_named(dictionary, "TRDPRC_1", 8), field);
    assert_null(rwf_dictionary_field_named(dictionary, "TRDPRC_1", 7));
    assert_null(rwf_dictionary_field_named(dictionary, "", 0));

    field = rwf_dictionary_field(dictionary, -7);
    assert_non_null(field);
    assert_string_equal(field->name, "SAMP_BUF");
    assert_int_equal(field->field_type, RWF_FIELD_TYPE_NONE);
    assert_null(rwf_dictionary_field(dictionary, 0));
    assert_null(rwf_dictionary_field(dictionary, 23));
    assert_null(rwf_dictionary_field(dictionary, 6 + 65536));
    assert_null(rwf_dictionary_field(dictionary, -32769));
}

static void enumerated_values_have_their_display(void **state)
{
    const struct rwf_dictionary *dictionary = *state;
    const struct rwf_field_def *tick = rwf_dictionary_field(dictionary, 14);
    const struct rwf_field_def *currency = rwf_dictionary_field(dictionary, 15);
    const struct rwf_field_def *exchange = rwf_dictionary_field(dictionary, 4);
    const struct rwf_enum_value *value;

    assert_int_equal(rwf_dictionary_table_count(dictionary), 2);
    assert_ptr_equal(tick->enums, currency->enums);
    assert_int_equal(tick->enum_length, 1);
    assert_null(rwf_dictionary_field(dictionary, 22)->enums);

    value = rwf_enum_find(currency->enums, 840);
    assert_non_null(value);
    assert_int_equal(value->display_length, 3);
    assert_string_equal((const char *)value->display, "USD");
    assert_string_equal(value->meaning, "a currency");
    value = rwf_enum_find(tick->enums, 1);
    assert_int_equal(value->display_length, 1);
    assert_int_equal(value->display[0], 0xde);
    value = rwf_enum_find(exchange->enums, 0);
    assert_string_equal((const char *)value->display, "   ");
    assert_null(rwf_enum_find(exchange->enums, 3));
    assert_null(rwf_enum_find(exchange->enums, 65536));
    assert_null(rwf_enum_find(NULL, 0));
}

static void tags_tell_the_versions(void **state)
{
    const struct rwf_dictionary_info *info = rwf_dictionary_info(*state);

    assert_int_equal(info->dictionary_id, 1);
    assert_string_equal(info->field_version, "1.0.1");
    assert_string_equal(info->rt_version, "1.0.2");
    assert_string_equal(info->dt_version, "2.3");
    assert_string_equal(info->field_filename, "SAMPLE.DAT");
}

static void fields_are_walked_in_the_order_of_their_ids(void **state)
{
    const struct rwf_field_def *field = NULL;
    int before = INT16_MIN - 1;
    uint32_t count = 0;

    while ((field = rwf_dictionary_next(*state, before))) {
        assert_true(field->fid > before);
        before = field->fid;
        count++;
    }
    assert_int_equal(count, rwf_dictionary_field_count(*state));
    assert_int_equal(before, 900);
}

static void what_is_legal_but_unusual_is_loaded(void **state)
{
    struct rwf_dictionary *dictionary = *state;
    struct rwf_dictionary_error error;

    assert_int_equal(load_fields(dictionary,
                                 "\r\n"
                                 "  ! a comment\n"
                                 "!tag\n"
                                 "!tag Unknown x\n"
                                 "A\t\"\"\t1\tB\tTIME_SECONDS\t9\tTIME\t8\r\n"
                                 "B \"b\" 2 NULL ENUMERATED 3(3) ENUM 1 ! why not\n"
                                 "C \"c\" -32768 A INTEGER32 3 ( 255 ) UINT64 9\n"
                                 "D \"d\" 32767 D NONE 0 DATETIME 12", /* no newline */
                                 &error),
                     MD_OK);
    assert_int_equal(rwf_dictionary_field(dictionary, 1)->ripples_to, 2);
    assert_int_equal(rwf_dictionary_field(dictionary, 1)->rwf_type, RWF_TYPE_TIME);
    assert_int_equal(rwf_dictionary_field(dictionary, 2)->enum_length, 3);
    assert_int_equal(rwf_dictionary_field(dictionary, -32768)->rwf_type, RWF_TYPE_UINT);
    assert_int_equal(rwf_dictionary_field(dictionary, 32767)->rwf_type, RWF_TYPE_DATETIME);
    assert_int_equal(
        load_enums(dictionary, "B 2\nOTHER 77\n65535 \"a b \"\n 0 ## \n7 #00fF# x y  \n", &error),
        MD_OK);
    const struct rwf_enum_table *table = rwf_dictionary_field(dictionary, 2)->enums;
    assert_int_equal(table->value_count, 3);
    assert_int_equal(table->fid_count, 2);
    assert_int_equal(table->values[0].value, 0); /* ascending, whatever the file's order */
    assert_int_equal(rwf_enum_find(table, 0)->display_length, 0);
    assert_memory_equal(rwf_enum_find(table, 7)->display, "\0\xff", 2);
    assert_string_equal(rwf_enum_find(table, 7)->meaning, "x y");
    assert_string_equal((const char *)rwf_enum_find(table, 65535)->display, "a b ");
}

/* As 52W_HIND, 2ND_FREQ and 144A_REG of real files do. */
static void an_acronym_may_start_with_a_digit(void **state)
{
    struct rwf_dictionary_error error;

    assert_int_equal(load_fields(*state,
                                 "7X_HIGH \"7X HIGH\" 5001 NULL ENUMERATED 3 ( 1 ) ENUM 1\n"
                                 "3RD_TERM \"3RD TERM\" 5002 7X_HIGH ENUMERATED 3 ( 1 ) ENUM 1\n",
                                 &error),
                     MD_OK);
    if (load_enums(*state,
                   "!tag Filename ENUMTYPE.001\n"
                   "!tag RT_Version 4.20.31\n"
                   "!tag Desc not a tag of ours\n"
                   "!\n! ACRONYM    FID\n! -------    ---\n!\n"
                   "A_HIGH      5000\n7X_HIGH     5001\n3RD_TERM    5002\n!\n"
                   "! VALUE      DISPLAY   MEANING\n"
                   "      0          \" \"   no new high\n"
                   "      1         #DE#   a \"high\"\n"
                   "     90          \"*\"   after a gap \n"
                   "!\n"
                   "3RD_OTHER 5003\n"
                   "0 \"a display as long as this one, of some feeds\"\n",
                   &error) != MD_OK)
        fail_msg("%s", error.text);
    assert_int_equal(rwf_dictionary_table_count(*state), 2);
    const struct rwf_enum_table *table = rwf_dictionary_field(*state, 5001)->enums;
    assert_ptr_equal(table, rwf_dictionary_field(*state, 5002)->enums);
    assert_int_equal(table->value_count, 3);
    assert_int_equal(rwf_enum_find(table, 1)->display[0], 0xde);
    assert_string_equal((const char *)rwf_enum_find(table, 90)->display, "*");
    assert_null(rwf_enum_find(table, 2));
    assert_int_equal(rwf_dictionary_field(*state, 5002)->ripples_to, 5001);
    assert_string_equal(rwf_dictionary_info(*state)->rt_version, "4.20.31");
}

static void every_field_type_of_marketfeed_is_loaded(void **state)
{
    struct rwf_dictionary *dictionary = *state;
    struct rwf_dictionary_error error;

    assert_int_equal(load_fields(dictionary,
                                 "A \"a\" 1 NULL NUMERIC 15 REAL64 7\n"
                                 "B \"b\" 2 NULL LONG_ALPHANUMERIC 500 RMTES_STRING 500\n"
                                 "C \"c\" 3 NULL OPAQUE 64 BUFFER 64\n",
                                 &error),
                     MD_OK);
    assert_int_equal(rwf_dictionary_field(dictionary, 1)->field_type, RWF_FIELD_TYPE_NUMERIC);
    assert_int_equal(rwf_dictionary_field(dictionary, 2)->field_type,
                     RWF_FIELD_TYPE_LONG_ALPHANUMERIC);
    assert_int_equal(rwf_dictionary_field(dictionary, 3)->field_type, RWF_FIELD_TYPE_OPAQUE);
}

static void enumerated_types_may_come_before_the_fields(void **state)
{
    struct rwf_dictionary_error error;

    assert_int_equal(load_enums(*state, "B 2\n0 \"x\"\n", &error), MD_OK);
    assert_int_equal(load_fields(*state, "B \"b\" 2 NULL ENUMERATED 3 ( 3 ) ENUM 1\n", &error),
                     MD_OK);
    assert_non_null(rwf_dictionary_field(*state, 2)->enums);
}

struct refusal {
    const char *text;
    int err;
    unsigned line;
    const char *says; /* some of the sentence */
};

#define GOOD "A \"a\" 1 NULL INTEGER 5 UINT64 2\n"

static void wrong_field_lines_are_refused_with_file_and_line(void **state)
{
    static const struct refusal cases[] = {
        { "\nA a 1 NULL INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 2, "f:2: after the acronym" },
        { "A \"a 1 NULL INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "double quotes" },
        { "A \"a\" x NULL INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "the id of 'A'" },
        { "A \"a\" 0 NULL INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "not 0" },
        { "A \"a\" 32768 NULL INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "32767" },
        { "A \"a\" 1x NULL INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "the id of" },
        { "A \"a\" 99999999999999999999 NULL INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "the id" },
        { "A \"a\" 1\n", MD_ERR_MALFORMED, 1, "RIPPLES TO is missing" },
        { "A \"a\" 1 NULL\n", MD_ERR_MALFORMED, 1, "field type ''" },
        { "A \"a\" 1 NULL LONG 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "field type 'LONG'" },
        { "A \"a\" 1 NULL INTEGER -5 UINT64 2\n", MD_ERR_MALFORMED, 1, "the length" },
        { "A \"a\" 1 NULL INTEGER 65536 UINT64 2\n", MD_ERR_MALFORMED, 1, "the length" },
        { "A \"a\" 1 NULL ENUMERATED 5 ( 3 ENUM 2\n", MD_ERR_MALFORMED, 1, "parentheses" },
        { "A \"a\" 1 NULL ENUMERATED 5 ( 256 ) ENUM 2\n", MD_ERR_MALFORMED, 1, "parentheses" },
        { "A \"a\" 1 NULL INTEGER 5 LONG64 2\n", MD_ERR_MALFORMED, 1, "RWF type 'LONG64'" },
        { "A \"a\" 1 NULL INTEGER 5 UINT64\n", MD_ERR_MALFORMED, 1, "RWF length" },
        { "A \"a\" 1 NULL INTEGER 5 UINT64 2 3\n", MD_ERR_MALFORMED, 1, "found '3'" },
        { "A \"a\" 1 Z INTEGER 5 UINT64 2\n", MD_ERR_MALFORMED, 1, "'Z', is not defined" },
        { GOOD "!\nB \"b\" 1 NULL INTEGER 5 UINT64 2\n", MD_ERR_EXISTS, 3, "id 1 is defined" },
        { GOOD "\x01\xff \"\" 2 NULL INTEGER 5 \xfe 2\n", MD_ERR_MALFORMED, 2, "type '?'" },
        { "!tag Type 2\n", MD_ERR_MALFORMED, 1, "Type must be 1" },
        { "!tag DictionaryId x\n", MD_ERR_MALFORMED, 1, "DictionaryId" },
        { "!tag DictionaryId 1\n!tag DictionaryId 2\n", MD_ERR_EXISTS, 2, "another dictionary" },
    };
    struct rwf_dictionary_error error;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(load_fields(*state, cases[i].text, &error), cases[i].err);
        assert_int_equal(error.line, cases[i].line);
        if (!strstr(error.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", error.text, cases[i].says);
        assert_int_equal(rwf_dictionary_field_count(*state), 0);
        assert_null(rwf_dictionary_field(*state, 1));
        assert_null(rwf_dictionary_field_named(*state, "A", 1));
        assert_int_equal(rwf_dictionary_info(*state)->dictionary_id, 0);
    }
    assert_int_equal(load_fields(*state, GOOD, &error), MD_OK);
}

static void wrong_enum_lines_are_refused_with_file_and_line(void **state)
{
    static const struct refusal cases[] = {
        { "0 \"x\"\n", MD_ERR_MALFORMED, 1, "e:1: values come after" },
        { "A 13\nA 15\n", MD_ERR_MALFORMED, 1, "no values" },
        { "A\n0 \"x\"\n", MD_ERR_MALFORMED, 1, "id of 'A'" },
        { "A 0\n0 \"x\"\n", MD_ERR_MALFORMED, 1, "not 0" },
        { "A 2 3\n0 \"x\"\n", MD_ERR_MALFORMED, 1, "found '3'" },
        { "X 14\n0 \"x\"\n", MD_ERR_MALFORMED, 1, "another acronym" },
        { "A 2\n0\n", MD_ERR_MALFORMED, 2, "its display" },
        { "A 2\n0 x\n", MD_ERR_MALFORMED, 2, "found 'x'" },
        { "A 2\n0 \"x\n", MD_ERR_MALFORMED, 2, "its display" },
        { "A 2\n0 #123#\n", MD_ERR_MALFORMED, 2, "pairs" },
        { "A 2\n0 #1x#\n", MD_ERR_MALFORMED, 2, "'1x'" },
        { "A 2\n65536 \"x\"\n", MD_ERR_MALFORMED, 2, "0 to 65535" },
        { "A 2\n1 \"x\"\n0 \"y\"\n1 \"z\"\n", MD_ERR_EXISTS, 4, "value 1 stands twice" },
        { "A 2\n1 \"x\"\nB 3\nA 2\n1 \"y\"\n", MD_ERR_EXISTS, 3, "field 2 of the table" },
        { "!tag Type 1\n", MD_ERR_MALFORMED, 1, "Type must be 2" },
    };
    struct rwf_dictionary_error error;

    assert_int_equal(load_fields(*state, "E \"e\" 14 NULL ENUMERATED 3 ( 3 ) ENUM 1\n", &error),
                     MD_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(load_enums(*state, cases[i].text, &error), cases[i].err);
        assert_int_equal(error.line, cases[i].line);
        if (!strstr(error.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", error.text, cases[i].says);
        assert_int_equal(rwf_dictionary_table_count(*state), 0);
    }
    assert_int_equal(load_enums(*state, "A 2\nE 14\n1 \"x\"\n", &error), MD_OK);
    assert_non_null(rwf_dictionary_field(*state, 14)->enums);
}

static void a_failed_load_leaves_what_was_loaded_before(void **state)
{
    struct rwf_dictionary_error error;

    assert_int_equal(load_fields(*state, "NEW \"n\" 5000 NULL DATE 5 DATE 4\n bad", &error),
                     MD_ERR_MALFORMED);
    assert_int_equal(rwf_dictionary_field_count(*state), 15);
    assert_null(rwf_dictionary_field(*state, 5000));
    assert_null(rwf_dictionary_field_named(*state, "NEW", 3));
    assert_non_null(rwf_dictionary_field_named(*state, "BID", 3));
    assert_int_equal(load_enums(*state, "NEW 5000\n0 \"x\"\nNEW 5001", &error), MD_ERR_MALFORMED);
    assert_int_equal(rwf_dictionary_table_count(*state), 2);
    assert_non_null(rwf_dictionary_field(*state, 4)->enums);
    assert_int_equal(load_fields(*state, "NEW \"n\" 5000 BID DATE 5 DATE 4\n", &error), MD_OK);
    assert_int_equal(rwf_dictionary_field(*state, 5000)->ripples_to, 22);
}

/* The fields that tests, benchmarks and page displays of the suite depend on. */
static void the_suites_own_files_are_loaded(void **state)
{
    static const struct {
        const char *name;
        int fid;
        unsigned type;
    } cases[] = {
        { "BID", 22, RWF_TYPE_REAL },          { "ASK", 25, RWF_TYPE_REAL },
        { "BIDSIZE", 30, RWF_TYPE_REAL },      { "ASKSIZE", 31, RWF_TYPE_REAL },
        { "TRDPRC_1", 6, RWF_TYPE_REAL },      { "TRDVOL_1", 178, RWF_TYPE_REAL },
        { "ACVOL_1", 32, RWF_TYPE_REAL },      { "NETCHNG_1", 11, RWF_TYPE_REAL },
        { "TRDTIM_1", 18, RWF_TYPE_TIME },     { "PRCTCK_1", 14, RWF_TYPE_ENUM },
        { "TRADE_DATE", 16, RWF_TYPE_DATE },   { "PRC_QL2", 131, RWF_TYPE_ENUM },
        { "ROW80_1", 315, RWF_TYPE_RMTES },    { "ROW80_25", 339, RWF_TYPE_RMTES },
        { "TIM_TRK_1", 3902, RWF_TYPE_UINT },  { "TIM_TRK_3", 3904, RWF_TYPE_UINT },
        { "ORDER_SIDE", 3428, RWF_TYPE_ENUM }, { "QUOTIM_MS", 3855, RWF_TYPE_UINT },
    };
    const struct rwf_dictionary *dictionary = *state;

    load_files(*state, RMDS_SOURCE_DIR "/conf/RDMFieldDictionary",
               RMDS_SOURCE_DIR "/conf/enumtype.def");
    assert_true(rwf_dictionary_field_count(dictionary) >= 400);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rwf_field_def *field = rwf_dictionary_field(dictionary, cases[i].fid);

        assert_non_null(field);
        assert_string_equal(field->name, cases[i].name);
        assert_int_equal(field->rwf_type, cases[i].type);
    }
    assert_string_equal(
        (const char *)rwf_enum_find(rwf_dictionary_field(dictionary, 15)->enums, 840)->display,
        "USD");
}

/* The size of a full vendor file: 20 000 fields, 1 000 tables. */
enum {
    MANY_FIELDS = 20000,
    MANY_TABLES = 1000,
};

static char *many_fields(void)
{
    static const char *const types[] = { "PRICE 17 REAL64 7", "ALPHANUMERIC 32 RMTES_STRING 32",
                                         "INTEGER 20 UINT64 8", "DATE 11 DATE 4",
                                         "TIME_SECONDS 8 TIME 5" };
    size_t size = MANY_FIELDS * 80, at = 0;
    char *text = malloc(size);

    assert_non_null(text);
    for (int i = 0; i < MANY_FIELDS; i++) {
        int fid = i < MANY_FIELDS / 2 ? i + 1 : -(i - MANY_FIELDS / 2) - 1;
        int length;

        if (i % (MANY_FIELDS / MANY_TABLES) == 0)
            length = snprintf(text + at, size - at,
                              "ENUM_%d \"ENUM %d\" %d NULL ENUMERATED 5 ( 3 ) ENUM 2\n", i, i, fid);
        else
            length = snprintf(text + at, size - at, "FIELD_%d \"FIELD %d\" %d FIELD_%d %s\n", i, i,
                              fid, i - i % 20 + 1, types[i % 5]);
        assert_true(length > 0 && (size_t)length < size - at);
        at += (size_t)length;
    }
    return text;
}

static void a_file_of_vendor_size_is_loaded(void **state)
{
    struct rwf_dictionary_error error;
    char *text = many_fields();
    char name[32];

    if (load_fields(*state, text, &error) != MD_OK)
        fail_msg("%s", error.text);
    free(text);
    assert_int_equal(rwf_dictionary_field_count(*state), MANY_FIELDS);
    for (int i = 0; i < MANY_FIELDS; i++) {
        int fid = i < MANY_FIELDS / 2 ? i + 1 : -(i - MANY_FIELDS / 2) - 1;
        int length = snprintf(name, sizeof(name), i % 20 ? "FIELD_%d" : "ENUM_%d", i);
        const struct rwf_field_def *field =
            rwf_dictionary_field_named(*state, name, (size_t)length);

        assert_non_null(field);
        assert_int_equal(field->fid, fid);
        assert_ptr_equal(rwf_dictionary_field(*state, fid), field);
    }
}

static void a_table_with_all_values_there_are_is_loaded(void **state)
{
    struct rwf_dictionary_error error;
    size_t size = 65536 * 20, at = 0;
    char *text = malloc(size);
    const struct rwf_enum_table *table;

    assert_non_null(text);
    at += (size_t)snprintf(text, size, "E 14\n");
    for (int i = 65535; i >= 0; i--)
        at += (size_t)snprintf(text + at, size - at, "%d \"%d\"\n", i, i);
    if (load_enums(*state, text, &error) != MD_OK)
        fail_msg("%s", error.text);
    free(text);
    table = rwf_dictionary_table(*state, 0);
    assert_int_equal(table->value_count, 65536);
    for (unsigned i = 0; i < 65536; i++)
        assert_int_equal(atoi((const char *)rwf_enum_find(table, i)->display), i);
    assert_null(rwf_enum_find(table, 65536));
}

/* Fields and enumerations as large as the vendor's, written as these are. */
enum {
    VENDOR_FIELDS = 16145,
    VENDOR_TABLES = 1200,
    VENDOR_VALUES = 20,
};

static char *vendor_fields(void)
{
    size_t size = VENDOR_FIELDS * 120, at = 0;
    char *text = malloc(size);

    assert_non_null(text);
    at += (size_t)snprintf(text, size, "!\n!tag Filename  F.DAT\n!tag Type      1\n!tag Build 3\n");
    for (int i = 1; i <= VENDOR_FIELDS; i++)
        at += (size_t)snprintf(text + at, size - at,
                               "%dX_F%-8d\"%dX F\"%20d  NULL  ENUMERATED    3 ( 3 )  ENUM   2\n!\n"
                               "! About it.\n!\n",
                               i % 200, i, i, i);
    assert_true(at < size);
    return text;
}

static char *vendor_enums(void)
{
    size_t size = VENDOR_TABLES * (VENDOR_VALUES + 8) * 80, at = 0;
    char *text = malloc(size);

    assert_non_null(text);
    at += (size_t)snprintf(text, size,
                           "!tag Filename  E.001\n!tag Type      2\n"
                           "!tag RT_Version 4.2\n!tag DT_Version 20.67\n!tag Date x\n");
    for (int i = 1; i <= VENDOR_TABLES; i++) {
        at += (size_t)snprintf(text + at, size - at,
                               "!\n! ACRONYM    FID\n! -------    ---\n!\n%dX_F%d %6d\n!\n"
                               "! VALUE      DISPLAY   MEANING\n",
                               i % 200, i, i);
        for (int v = 0; v < VENDOR_VALUES; v++)
            at += (size_t)snprintf(text + at, size - at,
                                   v % 7 ? "%7d        \"%c> \"   says \"so\", (twice) \n"
                                         : "%7d         #D%X#   shown by bytes\n",
                                   v * 3, v % 7 ? 'A' + v : v % 16);
    }
    assert_true(at < size);
    return text;
}

static void files_written_like_the_vendors_are_loaded(void **state)
{
    struct rwf_dictionary_error error;
    char *fields = vendor_fields();
    char *enums = vendor_enums();

    if (load_fields(*state, fields, &error) != MD_OK || load_enums(*state, enums, &error) != MD_OK)
        fail_msg("%s", error.text);
    free(fields);
    free(enums);
    assert_int_equal(rwf_dictionary_field_count(*state), VENDOR_FIELDS);
    assert_int_equal(rwf_dictionary_table_count(*state), VENDOR_TABLES);
    assert_string_equal(rwf_dictionary_info(*state)->dt_version, "20.67");
    for (int i = 1; i <= VENDOR_TABLES; i++) {
        const struct rwf_enum_table *table = rwf_dictionary_field(*state, i)->enums;

        assert_non_null(table);
        assert_int_equal(table->value_count, VENDOR_VALUES);
        assert_string_equal((const char *)rwf_enum_find(table, 3)->display, "B> ");
        assert_int_equal(rwf_enum_find(table, 0)->display[0], 0xd0);
        assert_null(rwf_enum_find(table, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_field_is_found_by_id_and_by_name, setup_sample, teardown),
        cmocka_unit_test_setup_teardown(enumerated_values_have_their_display, setup_sample,
                                        teardown),
        cmocka_unit_test_setup_teardown(tags_tell_the_versions, setup_sample, teardown),
        cmocka_unit_test_setup_teardown(fields_are_walked_in_the_order_of_their_ids, setup_sample,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_legal_but_unusual_is_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(an_acronym_may_start_with_a_digit, setup, teardown),
        cmocka_unit_test_setup_teardown(every_field_type_of_marketfeed_is_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(enumerated_types_may_come_before_the_fields, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(wrong_field_lines_are_refused_with_file_and_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(wrong_enum_lines_are_refused_with_file_and_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failed_load_leaves_what_was_loaded_before, setup_sample,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_suites_own_files_are_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_of_vendor_size_is_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(files_written_like_the_vendors_are_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_with_all_values_there_are_is_loaded, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
