/* test_rwf_dictionary_wire.c - dictionaries as messages: sent in parts, read back equal. */
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

#define SOURCE RMDS_SOURCE_DIR

enum {
    BUFFER_SIZE = 1 << 20,
};

struct fixture {
    struct rwf_dictionary *sent;
    struct rwf_dictionary *got;
    uint8_t *buffer;
};

static void load(struct rwf_dictionary *dictionary, const char *path, bool is_fields)
{
    struct rwf_dictionary_error error;
    FILE *file = fopen(path, "rb");
    char *text = malloc(BUFFER_SIZE);
    size_t length;
    int err;

    assert_non_null(file);
    length = fread(text, 1, BUFFER_SIZE, file);
    fclose(file);
    if (is_fields)
        err = rwf_dictionary_load_fields(dictionary, path, text, length, &error);
    else
        err = rwf_dictionary_load_enums(dictionary, path, text, length, &error);
    free(text);
    if (err != MD_OK)
        fail_msg("%s", error.text);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->buffer = malloc(BUFFER_SIZE);
    *state = f;
    return rwf_dictionary_create(&f->sent) || rwf_dictionary_create(&f->got);
}

static int setup_sample(void **state)
{
    int err = setup(state);
    struct fixture *f = *state;

    load(f->sent, SOURCE "/tests/vectors/rwf/sample.fields", true);
    load(f->sent, SOURCE "/tests/vectors/rwf/sample.enums", false);
    return err;
}

static int setup_conf(void **state)
{
    int err = setup(state);
    struct fixture *f = *state;

    load(f->sent, SOURCE "/conf/RDMFieldDictionary", true);
    load(f->sent, SOURCE "/conf/enumtype.def", false);
    return err;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    rwf_dictionary_destroy(f->sent);
    rwf_dictionary_destroy(f->got);
    free(f->buffer);
    free(f);
    return 0;
}

static void assert_equal_fields(const struct rwf_dictionary *a, const struct rwf_dictionary *b,
                                bool has_normal)
{
    const struct rwf_field_def *x, *y;
    int fid = INT16_MIN - 1;

    assert_int_equal(rwf_dictionary_field_count(a), rwf_dictionary_field_count(b));
    while ((x = rwf_dictionary_next(a, fid))) {
        fid = x->fid;
        y = rwf_dictionary_field(b, fid);
        assert_non_null(y);
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->ripples_to, y->ripples_to);
        assert_int_equal(x->field_type, y->field_type);
        assert_int_equal(x->length, y->length);
        assert_int_equal(x->rwf_type, y->rwf_type);
        assert_int_equal(x->rwf_length, y->rwf_length);
        assert_int_equal(has_normal ? x->enum_length : 0, y->enum_length);
        assert_string_equal(has_normal ? x->long_name : "", y->long_name);
    }
}

static void assert_equal_tables(const struct rwf_dictionary *a, const struct rwf_dictionary *b)
{
    assert_int_equal(rwf_dictionary_table_count(a), rwf_dictionary_table_count(b));
    for (uint32_t i = 0; i < rwf_dictionary_table_count(a); i++) {
        const struct rwf_enum_table *x = rwf_dictionary_table(a, i);
        const struct rwf_enum_table *y = rwf_dictionary_table(b, i);

        assert_int_equal(x->fid_count, y->fid_count);
        assert_memory_equal(x->fids, y->fids, x->fid_count * sizeof(x->fids[0]));
        assert_int_equal(x->value_count, y->value_count);
        for (uint32_t j = 0; j < x->value_count; j++) {
            assert_int_equal(x->values[j].value, y->values[j].value);
            assert_int_equal(x->values[j].display_length, y->values[j].display_length);
            assert_memory_equal(x->values[j].display, y->values[j].display,
                                x->values[j].display_length);
        }
    }
}

/* Sends the dictionary in messages of `size` bytes at most; returns their number. */
static unsigned send(struct fixture *f, enum rwf_dictionary_type type, unsigned verbosity,
                     size_t size)
{
    const struct rwf_msg request = {
        .stream_id = 3,
        .flags = RWF_REFRESH_HAS_KEY | RWF_REFRESH_SOLICITED | RWF_REFRESH_CLEAR_CACHE,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_FILTER,
                 .service_id = 7,
                 .name = rwf_text("RWFFld"),
                 .filter = verbosity },
    };
    struct rwf_dictionary_cursor cursor = { 0 };
    unsigned parts = 0;

    while (!cursor.is_complete) {
        struct rwf_msg msg;
        size_t length;

        assert_int_equal(rwf_dictionary_refresh_encode(f->sent, type, verbosity, &request, &cursor,
                                                       f->buffer, size, &length),
                         RWF_OK);
        assert_true(length <= size);
        assert_int_equal(rwf_check(RWF_TYPE_MSG, rwf_bytes(f->buffer, length), NULL), RWF_OK);
        assert_int_equal(rwf_msg_decode(rwf_bytes(f->buffer, length), &msg), RWF_OK);
        assert_int_equal(msg.msg_class, RWF_CLASS_REFRESH);
        assert_int_equal(msg.domain, RWF_DOMAIN_DICTIONARY);
        assert_int_equal(msg.stream_id, 3);
        assert_int_equal(msg.container, RWF_TYPE_SERIES);
        assert_int_equal(msg.part_num, parts);
        assert_int_equal(msg.key.service_id, 7);
        assert_int_equal(msg.state.stream_state, RWF_STREAM_OPEN);
        assert_int_equal(msg.state.data_state, RWF_DATA_OK);
        assert_true(msg.flags & RWF_REFRESH_SOLICITED);
        assert_int_equal(!!(msg.flags & RWF_REFRESH_CLEAR_CACHE), parts == 0);
        assert_int_equal(!!(msg.flags & RWF_REFRESH_COMPLETE), cursor.is_complete);
        assert_int_equal(rwf_dictionary_decode(f->got, msg.payload), RWF_OK);
        parts++;
        assert_int_equal(cursor.part, parts);
    }
    return parts;
}

static void a_dictionary_arrives_as_it_was_sent(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(send(f, RWF_DICTIONARY_TYPE_FIELDS, RWF_DICTIONARY_NORMAL, BUFFER_SIZE), 1);
    assert_int_equal(send(f, RWF_DICTIONARY_TYPE_ENUMS, RWF_DICTIONARY_NORMAL, BUFFER_SIZE), 1);
    assert_equal_fields(f->sent, f->got, true);
    assert_equal_tables(f->sent, f->got);
    assert_string_equal(rwf_dictionary_info(f->got)->field_version,
                        rwf_dictionary_info(f->sent)->field_version);
    assert_string_equal(rwf_dictionary_info(f->got)->rt_version,
                        rwf_dictionary_info(f->sent)->rt_version);
    assert_string_equal(rwf_dictionary_info(f->got)->dt_version,
                        rwf_dictionary_info(f->sent)->dt_version);
    assert_int_equal(rwf_dictionary_info(f->got)->dictionary_id, 1);
    assert_non_null(rwf_enum_find(rwf_dictionary_field(f->got, 15)->enums, 840));
}

static void parts_may_be_of_any_size(void **state)
{
    static const size_t sizes[] = { 400, 500, 1000, 3000, 6142, 20000 };
    struct fixture *f = *state;
    unsigned before = UINT32_MAX;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned parts;

        rwf_dictionary_destroy(f->got);
        assert_int_equal(rwf_dictionary_create(&f->got), MD_OK);
        parts = send(f, RWF_DICTIONARY_TYPE_FIELDS, RWF_DICTIONARY_VERBOSE, sizes[i]);
        assert_true(parts < before && parts > 1);
        before = parts;
        assert_equal_fields(f->sent, f->got, true);
    }
    assert_true(send(f, RWF_DICTIONARY_TYPE_ENUMS, RWF_DICTIONARY_VERBOSE, 1150) > 1);
    assert_equal_tables(f->sent, f->got);
}

static void a_buffer_too_small_for_one_entry_is_refused_and_nothing_is_lost(void **state)
{
    const struct rwf_msg request = { .stream_id = 1 };
    struct fixture *f = *state;
    struct rwf_dictionary_cursor cursor = { 0 };
    size_t length, size = 0;

    while (rwf_dictionary_refresh_encode(f->sent, RWF_DICTIONARY_TYPE_FIELDS, RWF_DICTIONARY_NORMAL,
                                         &request, &cursor, f->buffer, size,
                                         &length) == RWF_ERR_FULL) {
        assert_int_equal(length, 0);
        assert_int_equal(cursor.next, 0);
        assert_int_equal(cursor.part, 0);
        size++;
    }
    assert_int_equal(cursor.part, 1);
    assert_true(size > 100 && size < 400);
}

static void minimal_leaves_out_what_only_display_needs(void **state)
{
    struct fixture *f = *state;

    send(f, RWF_DICTIONARY_TYPE_FIELDS, RWF_DICTIONARY_MINIMAL, BUFFER_SIZE);
    assert_equal_fields(f->sent, f->got, false);
}

static void info_tells_versions_alone(void **state)
{
    struct fixture *f = *state;
    struct rwf_dictionary_summary summary;
    struct rwf_msg msg;

    assert_int_equal(send(f, RWF_DICTIONARY_TYPE_FIELDS, RWF_DICTIONARY_INFO, 400), 1);
    assert_int_equal(rwf_dictionary_field_count(f->got), 0);
    assert_string_equal(rwf_dictionary_info(f->got)->field_version, "1.0.1");
    assert_int_equal(rwf_msg_decode(rwf_bytes(f->buffer, 400), &msg), RWF_OK);
    assert_int_equal(rwf_dictionary_summary_decode(msg.payload, &summary), RWF_OK);
    assert_int_equal(summary.type, RWF_DICTIONARY_TYPE_FIELDS);
    assert_int_equal(summary.count, 15);
    assert_int_equal(summary.dictionary_id, 1);
    assert_true(rwf_bytes_equal(summary.version, rwf_text("1.0.1")));

    assert_int_equal(send(f, RWF_DICTIONARY_TYPE_ENUMS, RWF_DICTIONARY_INFO, 400), 1);
    assert_int_equal(rwf_dictionary_table_count(f->got), 0);
    assert_string_equal(rwf_dictionary_info(f->got)->dt_version, "2.3");
}

static void an_id_that_is_there_already_is_refused_and_leaves_no_trace(void **state)
{
    struct fixture *f = *state;
    struct rwf_dictionary_cursor cursor = { 0 };
    struct rwf_encoder enc;

    send(f, RWF_DICTIONARY_TYPE_FIELDS, RWF_DICTIONARY_NORMAL, BUFFER_SIZE);
    rwf_encoder_init(&enc, f->buffer, BUFFER_SIZE);
    assert_int_equal(rwf_dictionary_encode(f->sent, RWF_DICTIONARY_TYPE_FIELDS,
                                           RWF_DICTIONARY_NORMAL, &cursor, &enc),
                     RWF_OK);
    assert_int_equal(rwf_dictionary_decode(f->got, rwf_encoder_bytes(&enc)), MD_ERR_EXISTS);
    assert_equal_fields(f->sent, f->got, true);
    assert_int_equal(rwf_dictionary_encode(f->sent, RWF_DICTIONARY_TYPE_FIELDS,
                                           RWF_DICTIONARY_NORMAL, &cursor, &enc),
                     RWF_ERR_STATE);
}

/* Every shorter cut of a message is refused, and leaves the dictionary empty. */
static void a_cut_message_is_refused(void **state)
{
    struct fixture *f = *state;

    for (int type = RWF_DICTIONARY_TYPE_FIELDS; type <= RWF_DICTIONARY_TYPE_ENUMS; type++) {
        struct rwf_dictionary_cursor cursor = { 0 };
        struct rwf_encoder enc;
        struct rwf_bytes whole;

        rwf_encoder_init(&enc, f->buffer, BUFFER_SIZE);
        assert_int_equal(rwf_dictionary_encode(f->sent, (enum rwf_dictionary_type)type,
                                               RWF_DICTIONARY_NORMAL, &cursor, &enc),
                         RWF_OK);
        whole = rwf_encoder_bytes(&enc);
        for (size_t length = 1; length < whole.length; length++) {
            uint8_t *cut = malloc(length);

            memcpy(cut, whole.data, length);
            assert_true(rwf_dictionary_decode(f->got, rwf_bytes(cut, length)) < 0);
            assert_int_equal(rwf_dictionary_field_count(f->got), 0);
            assert_int_equal(rwf_dictionary_table_count(f->got), 0);
            free(cut);
        }
    }
}

/* The messages of the public Java library for the sample files, from the golden vectors. */
static size_t vector(const char *id, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(SOURCE "/tests/vectors/rwf/valid.tsv", "r");
    char *line = NULL;
    size_t room = 0, length = 0;

    assert_non_null(file);
    while (getline(&line, &room, file) > 0) {
        const char *hex;
        unsigned byte;

        if (strncmp(line, id, strlen(id)) != 0 || line[strlen(id)] != '\t')
            continue;
        for (hex = strrchr(line, '\t') + 1; sscanf(hex, "%2x", &byte) == 1 && *hex != '\n';
             hex += 2) {
            assert_true(length < size);
            bytes[length++] = (uint8_t)byte;
        }
    }
    free(line);
    fclose(file);
    assert_true(length > 0);
    return length;
}

static void messages_of_the_java_library_are_read(void **state)
{
    struct fixture *f = *state;
    char id[16];

    for (int i = 1; i <= 24; i++) {
        struct rwf_dictionary *got;
        size_t length;
        struct rwf_bytes payload;
        struct rwf_msg msg;
        int err;

        snprintf(id, sizeof(id), "dict-%03d", i);
        length = vector(id, f->buffer, BUFFER_SIZE);
        payload = rwf_bytes(f->buffer, length);
        assert_int_equal(rwf_dictionary_create(&got), MD_OK);
        /* Some are whole messages, some the series alone. */
        if (rwf_msg_decode(payload, &msg) == RWF_OK && msg.msg_class == RWF_CLASS_REFRESH &&
            msg.domain == RWF_DOMAIN_DICTIONARY)
            payload = msg.payload;
        err = rwf_dictionary_decode(got, payload);
        if (err != RWF_OK)
            fail_msg("%s: %s", id, md_err_name(err));
        rwf_dictionary_destroy(got);
    }
}

/* With lengths written as it writes them, our bytes are its bytes. */
static void the_java_library_encodes_the_same_bytes(void **state)
{
    struct fixture *f = *state;
    struct rwf_dictionary_cursor cursor = { 0 };
    struct rwf_encoder enc;
    uint8_t theirs[4096];
    size_t length = vector("dict-022", theirs, sizeof(theirs));

    rwf_encoder_init(&enc, f->buffer, BUFFER_SIZE);
    enc.lengths = RWF_LENGTHS_RESERVED;
    assert_int_equal(rwf_dictionary_encode(f->sent, RWF_DICTIONARY_TYPE_ENUMS,
                                           RWF_DICTIONARY_NORMAL, &cursor, &enc),
                     RWF_OK);
    assert_int_equal(rwf_encoder_bytes(&enc).length, length);
    assert_memory_equal(f->buffer, theirs, length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dictionary_arrives_as_it_was_sent, setup_sample,
                                        teardown),
        cmocka_unit_test_setup_teardown(parts_may_be_of_any_size, setup_conf, teardown),
        cmocka_unit_test_setup_teardown(
            a_buffer_too_small_for_one_entry_is_refused_and_nothing_is_lost, setup_sample,
            teardown),
        cmocka_unit_test_setup_teardown(minimal_leaves_out_what_only_display_needs, setup_sample,
                                        teardown),
        cmocka_unit_test_setup_teardown(info_tells_versions_alone, setup_sample, teardown),
        cmocka_unit_test_setup_teardown(an_id_that_is_there_already_is_refused_and_leaves_no_trace,
                                        setup_sample, teardown),
        cmocka_unit_test_setup_teardown(a_cut_message_is_refused, setup_sample, teardown),
        cmocka_unit_test_setup_teardown(messages_of_the_java_library_are_read, setup_sample,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_java_library_encodes_the_same_bytes, setup_sample,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
