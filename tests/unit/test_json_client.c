/* test_json_client.c - JSON as a client has it: its requests as text, the server's answers as RWF.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rmds/rwf.h"
#include "json/read.h"
#include "json/write.h"

#define TEXT_MAX 4000

static const char fields[] = "BID \"BID\" 22 NULL PRICE 17 REAL64 7\n"
                             "PRCTCK_1 \"TICK\" 14 NULL ENUMERATED 1 ( 2 ) ENUM 1\n";
static const char enums[] = "PRCTCK_1 14\n0 \" \" none\n1 #DE# up\n2 #FE# down\n3 \" \" same\n"
                            "4 \"ABC\" letters\n";

struct fixture {
    struct rwf_dictionary *dictionary;
    struct json_reader *reader;
    struct json_read_context read;
    struct json_write_context write;
    uint8_t text[TEXT_MAX];
};

static int setup(void **state)
{
    static struct fixture f;
    struct rwf_dictionary_error error;

    assert_int_equal(rwf_dictionary_create(&f.dictionary), 0);
    if (rwf_dictionary_load_fields(f.dictionary, "fields", fields, strlen(fields), &error) != 0 ||
        rwf_dictionary_load_enums(f.dictionary, "enums", enums, strlen(enums), &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(json_reader_create(TEXT_MAX, &f.reader), 0);
    f.write = (struct json_write_context){ .dictionary = f.dictionary, .expands_enums = true };
    f.read = (struct json_read_context){ .dictionary = f.dictionary };
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    rwf_dictionary_destroy(f->dictionary);
    json_reader_destroy(f->reader);
    return 0;
}

static struct json_read read_one(struct fixture *f, const char *text)
{
    struct json_read read;

    json_reader_start(f->reader, &f->read, rwf_text(text));
    assert_true(json_reader_next(f->reader, &read));
    if (read.kind == JSON_READ_BAD)
        fail_msg("%.*s", (int)read.error.text.length, (const char *)read.error.text.data);
    return read;
}

static const char *written(struct fixture *f, struct rwf_bytes message)
{
    struct json_written w;
    struct rwf_peek peek;

    assert_int_equal(rwf_peek(message, &peek), 0);
    int head = snprintf((char *)f->text, TEXT_MAX, "{\"ID\":%d", peek.stream_id);
    assert_int_equal(
        json_write_message(&f->write, message, f->text + head, TEXT_MAX - (size_t)head - 1, &w), 0);
    f->text[(size_t)head + w.length] = 0;
    return (const char *)f->text;
}

static void what_a_client_says_is_written_as_it_was_read(void **state)
{
    static const char *const texts[] = {
        "{\"ID\":2,\"Type\":\"Request\",\"Key\":{\"Service\":257,\"Name\":\"TRI.N\"}}",
        "{\"ID\":2,\"Type\":\"Request\",\"Key\":{\"Name\":\"A\\\"\"},\"Streaming\":false,"
        "\"Refresh\":false,\"KeyInUpdates\":false,\"ConfInfoInUpdates\":true,\"Pause\":true,"
        "\"Private\":true,\"Qualified\":true,\"Priority\":{\"Class\":2,\"Count\":300},"
        "\"Qos\":{\"Timeliness\":\"Realtime\",\"Rate\":\"TickByTick\"},"
        "\"WorstQos\":{\"Timeliness\":\"Delayed\",\"Rate\":\"TimeConflated\",\"TimeInfo\":7,"
        "\"RateInfo\":9},\"ExtHdr\":\"AQI=\",\"View\":[22,-14]}",
        "{\"ID\":1,\"Type\":\"Request\",\"Domain\":\"Login\",\"Key\":{\"Name\":"
        "\"joe\",\"Elements\":{\"ApplicationId\":\"256\",\"SingleOpen\":1}}}",
        "{\"ID\":3,\"Type\":\"Request\",\"Domain\":\"Source\",\"Key\":{\"Filter\":3}}",
        "{\"ID\":7,\"Type\":\"Close\",\"Domain\":\"MarketByOrder\",\"Ack\":true,\"ExtHdr\":\"AQI="
        "\"}",
        "{\"ID\":5,\"Type\":\"Post\",\"Key\":{\"Name\":\"X\"},\"PostUserInfo\":{\"Address\":"
        "\"127.0.0.1\",\"UserID\":4294967295},\"Ack\":true,\"PostID\":7,\"SeqNumber\":8,"
        "\"Complete\":false,\"PartNumber\":3,\"PostUserRights\":2,\"PermData\":\"AwE=\","
        "\"Fields\":{\"BID\":45.50}}",
        "{\"ID\":5,\"Type\":\"Ack\",\"AckID\":7,\"NakCode\":\"DeniedBySrc\",\"Text\":\"no\","
        "\"Private\":true,\"SeqNumber\":8,\"Key\":{\"Name\":\"X\"},\"ExtHdr\":\"AQI=\"}",
        "{\"ID\":5,\"Type\":\"Ack\",\"AckID\":0}",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct json_read read = read_one(*state, texts[i]);

        assert_int_equal(read.kind, JSON_READ_MESSAGE);
        assert_int_equal(rwf_check(RWF_TYPE_MSG, read.message, NULL), 0);
        assert_string_equal(written(*state, read.message), texts[i]);
    }
}

static void a_batch_is_a_list_of_names(void **state)
{
    static const char wanted[] = "{\"ID\":9,\"Type\":\"Request\",\"Key\":{\"Service\":7,"
                                 "\"Name\":[\"A\",\"B C\"]},\"KeyInUpdates\":false,\"View\":[22]}";
    struct fixture *f = *state;
    uint8_t bytes[400];
    struct rwf_encoder enc;
    const struct rwf_value fid = rwf_value_int(22);
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REQUEST,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = 9,
        .container = RWF_TYPE_ELEMENT_LIST,
        .flags = RWF_REQUEST_STREAMING | RWF_REQUEST_HAS_BATCH | RWF_REQUEST_HAS_VIEW,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = 7,
                 .name_type = RWF_NAME_RIC },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_element_list_start(&enc, NULL);
    rwf_element_start(&enc, rwf_text(":ItemList"), RWF_TYPE_ARRAY);
    rwf_array_start(&enc, RWF_TYPE_ASCII, 0);
    rwf_array_add_bytes(&enc, rwf_text("A"));
    rwf_array_add_bytes(&enc, rwf_text("B C"));
    rwf_array_finish(&enc);
    rwf_element_finish(&enc);
    rwf_element_add_uint(&enc, ":ViewType", 1);
    rwf_element_start(&enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
    rwf_array_start(&enc, RWF_TYPE_INT, 2);
    rwf_array_add(&enc, &fid);
    rwf_array_finish(&enc);
    rwf_element_finish(&enc);
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), 0);
    assert_string_equal(written(f, rwf_encoder_bytes(&enc)), wanted);
    struct json_read read = read_one(f, (const char *)f->text);
    assert_int_equal(read.kind, JSON_READ_BATCH);
    assert_int_equal(read.count, 2);
}

static void an_error_of_the_server_leaves_its_text(void **state)
{
    struct json_read read =
        read_one(*state, "{\"ID\":2,\"Type\":\"Error\",\"Text\":\"a\\u0041\",\"Debug\":{}}");

    assert_int_equal(read.kind, JSON_READ_NOTHING);
    assert_true(rwf_bytes_equal(read.error.text, rwf_text("aA")));
    read = read_one(*state, "{\"Type\":\"Error\"}");
    assert_true(read.error.text.length > 0);
    read = read_one(*state, "{\"Type\":\"Pong\"}");
    assert_int_equal(read.kind, JSON_READ_NOTHING);
    assert_int_equal(read.error.text.length, 0);
}

/* The tick of a price is no ASCII in the dictionary; without its arrow a poster gets a blank. */
static void a_display_is_read_as_it_is_written(void **state)
{
    static const struct {
        const char *text, *back;
    } cases[] = {
        { "\"\xE2\x87\xA7\"", "\"\xE2\x87\xA7\"" }, /* 1, up */
        { "\"\xE2\x87\xA9\"", "\"\xE2\x87\xA9\"" }, /* 2, down */
        { "\" \"", "\" \"" },
        { "\"ABC\"", "\"ABC\"" },
        { "2", "\"\xE2\x87\xA9\"" },
        { "\"AB\"", "null" },
        { "\"\"", "null" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200], wanted[200];

        snprintf(text, sizeof(text), "{\"ID\":1,\"Type\":\"Update\",\"Fields\":{\"PRCTCK_1\":%s}}",
                 cases[i].text);
        snprintf(wanted, sizeof(wanted),
                 "{\"ID\":1,\"Type\":\"Update\",\"UpdateType\":\"Unspecified\","
                 "\"Fields\":{\"PRCTCK_1\":%s}}",
                 cases[i].back);
        assert_string_equal(written(*state, read_one(*state, text).message), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_client_says_is_written_as_it_was_read),
        cmocka_unit_test(a_batch_is_a_list_of_names),
        cmocka_unit_test(an_error_of_the_server_leaves_its_text),
        cmocka_unit_test(a_display_is_read_as_it_is_written),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
