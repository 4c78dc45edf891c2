/* test_json.c - every type and message of RWF as JSON, and back; errors in the words of tr_json2.
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

#define TEXT_MAX 20000

static const char fields[] = "BID \"BID\" 22 NULL PRICE 17 REAL64 7\n"
                             "ASK \"ASK\" 25 NULL PRICE 17 REAL64 7\n"
                             "CURRENCY \"CCY\" 15 NULL ENUMERATED 3 ( 3 ) ENUM 2\n"
                             "PRCTCK_1 \"TICK\" 14 NULL ENUMERATED 1 ( 2 ) ENUM 1\n"
                             "TRDTIM_1 \"TIME\" 18 NULL TIME 5 TIME 5\n"
                             "TRADE_DATE \"DATE\" 16 NULL DATE 11 DATE 4\n"
                             "DSPLY_NAME \"NAME\" 3 NULL ALPHANUMERIC 16 RMTES_STRING 16\n"
                             "ACVOL_1 \"VOL\" 32 NULL INTEGER 15 UINT64 8\n";
static const char enums[] = "CURRENCY 15\n840 \"USD\" dollar\n978 \"EUR\" euro\n!\n"
                            "PRCTCK_1 14\n1 #DE# up\n2 #FE# down\n";

struct fixture {
    struct rwf_dictionary *dictionary;
    struct json_reader *reader;
    struct json_write_context write;
    struct json_read_context read;
    uint8_t text[TEXT_MAX];
};

static struct rwf_bytes service_name(void *owner, uint16_t id)
{
    (void)owner;
    return id == 257 ? rwf_text("DIRECT_FEED") : rwf_bytes(NULL, 0);
}

static int service_id(void *owner, struct rwf_bytes name)
{
    (void)owner;
    return rwf_bytes_equal(name, rwf_text("DIRECT_FEED")) ? 257 : -1;
}

static int setup(void **state)
{
    static struct fixture f;
    struct rwf_dictionary_error error;

    assert_int_equal(rwf_dictionary_create(&f.dictionary), 0);
    if (rwf_dictionary_load_fields(f.dictionary, "fields", fields, strlen(fields), &error) != 0 ||
        rwf_dictionary_load_enums(f.dictionary, "enums", enums, strlen(enums), &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(json_reader_create(TEXT_MAX, &f.reader), 0);
    f.write = (struct json_write_context){
        .dictionary = f.dictionary,
        .expands_enums = true,
        .service_name = service_name,
    };
    f.read = (struct json_read_context){
        .dictionary = f.dictionary,
        .catches_keys = true,
        .catches_fields = true,
        .service_id = service_id,
    };
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

/* ---- values out ---- */

/* The value of `type` with this content, as it stands in an element. */
static void check_value(struct fixture *f, const struct rwf_value *value, const char *wanted)
{
    uint8_t bytes[2000];
    char all[2000];
    struct rwf_encoder enc;
    struct json_written written;
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = RWF_TYPE_ELEMENT_LIST,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    rwf_element_list_start(&enc, NULL);
    rwf_element_add(&enc, rwf_text("X"), value);
    rwf_element_list_finish(&enc);
    assert_int_equal(rwf_msg_finish(&enc), 0);
    assert_int_equal(
        json_write_message(&f->write, rwf_encoder_bytes(&enc), f->text, TEXT_MAX, &written), 0);
    snprintf(all, sizeof(all),
             ",\"Type\":\"Update\",\"UpdateType\":\"Unspecified\",\"Elements\":{\"X\":%s}}",
             wanted);
    f->text[written.length] = 0;
    assert_string_equal((char *)f->text, all);
}

static void a_real_is_written_with_all_its_digits(void **state)
{
    static const struct {
        int64_t value;
        uint8_t hint;
        const char *text;
    } cases[] = {
        { 12345, 12, "123.45" },
        { 3990, 12, "39.90" },
        { 5, 12, "0.05" },
        { -7, 0, "-0.00000000000007" },
        { 12345, 20, "12345000000" },
        { 0, 3, "0" },
        { 0, 20, "0" },
        { 12345, 25, "1543.125" },
        { -7, 25, "-0.875" },
        { 12345, 30, "48.22265625" },
        { INT64_MIN, 14, "-9223372036854775808" },
        { INT64_MAX, 0, "92233.72036854775807" },
        { 8, 22, "8" },
        { 0, 33, "\"Inf\"" },
        { 0, 34, "\"-Inf\"" },
        { 0, 35, "\"NaN\"" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rwf_value value = rwf_value_real(cases[i].value, cases[i].hint);
        char wanted[100];

        snprintf(wanted, sizeof(wanted), "{\"Type\":\"Real\",\"Data\":%s}", cases[i].text);
        check_value(*state, &value, wanted);
    }
}

static void check_typed(struct fixture *f, struct rwf_value value, const char *type,
                        const char *data)
{
    char wanted[400];

    snprintf(wanted, sizeof(wanted), "{\"Type\":\"%s\",\"Data\":%s}", type, data);
    check_value(f, &value, wanted);
}

static void each_primitive_has_its_form(void **state)
{
    struct fixture *f = *state;
    const struct rwf_value u = rwf_value_uint(UINT64_MAX);
    const struct rwf_value a = rwf_value_bytes(RWF_TYPE_ASCII, rwf_text("a \"b\" \\ \x01\x7f/\n"));
    const struct rwf_time whole = { 14, 40, 32, 0, 0, 0 };
    const struct rwf_time fine = { 1, 2, 3, 4, 5, 6 };

    check_value(f, &u, "18446744073709551615");
    check_value(f, &a, "\"a \\\"b\\\" \\\\ \\u0001\\u007F/\\n\"");
    check_typed(f, rwf_value_int(INT64_MIN), "Int", "-9223372036854775808");
    check_typed(f, rwf_value_blank(RWF_TYPE_ASCII), "AsciiString", "null");
    check_typed(f, rwf_value_blank(RWF_TYPE_REAL), "Real", "null");
    check_typed(f, rwf_value_enum(2), "Enum", "2");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_DOUBLE, .d = 0.1 }, "Double", "0.1");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_FLOAT, .f = 1.5f }, "Float", "1.5");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_DOUBLE, .d = __builtin_inf() }, "Double",
                "\"Inf\"");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_DATE, .date = { 2024, 3, 7 } }, "Date",
                "\"2024-03-07\"");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_DATE, .date = { 54254, 3, 7 } }, "Date",
                "\"54254-03-07\"");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_DATE, .date = { 2024, 5, 0 } }, "Date",
                "\"2024-05\"");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_TIME, .time = whole }, "Time",
                "\"14:40:32\"");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_TIME, .time = fine }, "Time",
                "\"01:02:03.004005006\"");
    check_typed(
        f, (struct rwf_value){ .type = RWF_TYPE_DATETIME, .datetime = { { 2024, 3, 7 }, fine } },
        "DateTime", "\"2024-03-07T01:02:03.004005006\"");
    check_typed(f, (struct rwf_value){ .type = RWF_TYPE_QOS, .qos = { 3, 3, true, 9, 100 } }, "Qos",
                "{\"Timeliness\":\"Delayed\",\"Rate\":\"TimeConflated\",\"Dynamic\":true,"
                "\"TimeInfo\":9,\"RateInfo\":100}");
    check_typed(f, rwf_value_bytes(RWF_TYPE_BUFFER, rwf_text("ORD1")), "Buffer", "\"T1JEMQ==\"");
    check_typed(f, rwf_value_bytes(RWF_TYPE_UTF8, rwf_text("\xC3\xA9\xE9")), "Utf8String",
                "\"\xC3\xA9\xC3\xA9\"");
    check_typed(f, rwf_value_bytes(RWF_TYPE_RMTES, rwf_text("\xDE \xFE")), "RmtesString",
                "\"\xE2\x87\xA7 \xE2\x87\xA9\"");
    check_typed(f, rwf_value_bytes(RWF_TYPE_RMTES, rwf_text("\x1B[22` 96.10")), "RmtesString",
                "\"\\u001B[22` 96.10\"");
    check_typed(f, rwf_value_bytes(RWF_TYPE_RMTES, rwf_text("\x1B[2`\xDE\x1B[40`x\x1B[2b")),
                "RmtesString", "\"\\u001B[2`\xE2\x87\xA7\\u001B[40`xxx\"");
}

/* ---- messages there and back ---- */

static struct json_read read_one(struct fixture *f, const char *text)
{
    struct json_read read;

    json_reader_start(f->reader, &f->read, rwf_text(text));
    assert_true(json_reader_next(f->reader, &read));
    if (read.kind == JSON_READ_BAD)
        fail_msg("%s: %.*s", text, (int)read.error.text.length, (const char *)read.error.text.data);
    return read;
}

/* A part of a string has a byte for each character, since its position counts bytes. */
static void a_part_of_a_string_takes_a_byte_for_each_character(void **state)
{
    static const char text[] = "{\"Type\":\"Update\",\"ID\":3,\"Fields\":{\"DSPLY_NAME\":\"%s\"}}";
    struct fixture *f = *state;
    struct json_read read;
    char json[200];

    snprintf(json, sizeof(json), text, "\\u001B[9`\u00a397");
    read = read_one(f, json);
    assert_int_equal(read.kind, JSON_READ_MESSAGE);
    assert_non_null(memmem(read.message.data, read.message.length,
                           "\x1B[9`\xA3"
                           "97",
                           7));
    snprintf(json, sizeof(json), text, "\u20ac");
    read = read_one(f, json);
    assert_non_null(memmem(read.message.data, read.message.length, "\x1B%0\xE2\x82\xAC", 6));
    snprintf(json, sizeof(json), text, "\\u001B[9`\u20ac");
    json_reader_start(f->reader, &f->read, rwf_text(json));
    assert_true(json_reader_next(f->reader, &read));
    assert_int_equal(read.kind, JSON_READ_BAD);
}

/* A message in JSON, read and written again, has the same words. */
static void check_round(struct fixture *f, const char *text)
{
    struct json_read read = read_one(f, text);
    struct json_written written;
    int length = snprintf((char *)f->text, TEXT_MAX, "{\"ID\":%d", (int)read.id);

    assert_int_equal(json_write_message(&f->write, read.message, f->text + length,
                                        TEXT_MAX - (size_t)length, &written),
                     0);
    f->text[(size_t)length + written.length] = 0;
    assert_string_equal((char *)f->text, text);
}

static void each_message_and_container_comes_back_as_it_was_sent(void **state)
{
    static const char *const texts[] = {
        "{\"ID\":5,\"Type\":\"Update\",\"UpdateType\":\"Quote\",\"DoNotConflate\":true,"
        "\"Key\":{\"Service\":\"DIRECT_FEED\",\"Name\":\"TRI.N\"},\"PermData\":\"AwEBITw=\","
        "\"SeqNumber\":20846,\"Fields\":{\"BID\":39.90,\"CURRENCY\":\"USD\",\"PRCTCK_1\":null,"
        "\"TRDTIM_1\":\"14:40:32\",\"TRADE_DATE\":\"2024-03-07\",\"ACVOL_1\":7}}",
        "{\"ID\":-4,\"Type\":\"Refresh\",\"Domain\":\"MarketByOrder\",\"Key\":{\"Service\":9,"
        "\"Name\":\"X\"},\"State\":{\"Stream\":\"Open\",\"Data\":\"Suspect\",\"Code\":"
        "\"GapDetected\","
        "\"Text\":\"lost\"},\"Complete\":false,\"Qos\":{\"Timeliness\":\"Realtime\","
        "\"Rate\":\"TickByTick\"},\"ClearCache\":false,\"PartNumber\":1,\"Solicited\":false,"
        "\"Map\":{\"KeyType\":\"Buffer\",\"Summary\":{\"Fields\":{\"CURRENCY\":\"EUR\"}},"
        "\"CountHint\":2,\"KeyFieldID\":3426,\"Entries\":[{\"Action\":\"Add\",\"Key\":\"T1JEMQ==\","
        "\"PermData\":\"AwEC\",\"Fields\":{\"BID\":100.25}},{\"Action\":\"Delete\","
        "\"Key\":\"T1JEMg==\"}]}}",
        "{\"ID\":5,\"Type\":\"Generic\",\"Domain\":\"SymbolList\",\"Map\":{\"KeyType\":"
        "\"AsciiString\",\"Entries\":[{\"Action\":\"Add\",\"Key\":\"IBM.N\"}]}}",
        "{\"ID\":5,\"Type\":\"Generic\",\"SecSeqNumber\":7,\"Vector\":{\"SupportSorting\":true,"
        "\"Entries\":[{\"Index\":3,\"Action\":\"Set\",\"Fields\":{\"BID\":1}},{\"Index\":4,"
        "\"Action\":\"Clear\"}]}}",
        "{\"ID\":5,\"Type\":\"Generic\",\"Complete\":false,\"Series\":{\"Summary\":{\"Elements\":"
        "{\"Type\":{\"Type\":\"Int\",\"Data\":1}}},\"CountHint\":36,\"Entries\":[{\"Elements\":"
        "{\"NAME\":\"BID\",\"FID\":{\"Type\":\"Int\",\"Data\":-22}}}]}}",
        "{\"ID\":5,\"Type\":\"Generic\",\"Domain\":\"Source\",\"FilterList\":{\"Entries\":[{\"ID\":"
        "1,"
        "\"Action\":\"Set\",\"Elements\":{\"U\":7,\"A\":{\"Type\":\"AsciiString\",\"Data\":null},"
        "\"Arr\":{\"Type\":\"Array\",\"Data\":{\"Type\":\"UInt\",\"Data\":[1,2,3]}},"
        "\"Q\":{\"Type\":\"Qos\",\"Data\":{\"Timeliness\":\"Delayed\",\"Rate\":\"JitConflated\","
        "\"TimeInfo\":9}}}},{\"ID\":2,\"Action\":\"Clear\"}]}}",
        "{\"ID\":5,\"Type\":\"Generic\",\"Opaque\":\"AQID\"}",
        "{\"ID\":5,\"Type\":\"Generic\",\"Xml\":\"<a/>\"}",
        "{\"ID\":5,\"Type\":\"Generic\",\"Json\":{\"a\":[1,true]}}",
        "{\"ID\":5,\"Type\":\"Generic\",\"Message\":{\"ID\":9,\"Type\":\"Update\","
        "\"UpdateType\":\"Trade\",\"Fields\":{\"BID\":45.55,\"ASK\":null}}}",
        "{\"ID\":5,\"Type\":\"Status\",\"Domain\":200,\"State\":{\"Stream\":\"Closed\","
        "\"Data\":\"Suspect\",\"Code\":\"NotFound\"}}",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_round(*state, texts[i]);
}

/* A generic message with this payload, written as JSON. Returns what the writer does. */
static int write_payload(struct fixture *f, uint16_t container, struct rwf_bytes payload)
{
    uint8_t bytes[400];
    struct rwf_encoder enc;
    struct json_written written;
    const struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .flags = RWF_GENERIC_COMPLETE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = container,
        .payload = payload,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    assert_true(rwf_msg_encode(&enc, &msg) >= 0);
    int rc = json_write_message(&f->write, rwf_encoder_bytes(&enc), f->text, TEXT_MAX, &written);
    f->text[written.length] = 0;
    return rc;
}

static void check_payload(struct fixture *f, uint16_t container, struct rwf_bytes payload,
                          const char *wanted)
{
    char all[400];

    assert_int_equal(write_payload(f, container, payload), 0);
    snprintf(all, sizeof(all), ",\"Type\":\"Generic\",%s}", wanted);
    assert_string_equal((char *)f->text, all);
}

/* The payload is a text of JSON; a provider may send any. */
static void check_json_payload(struct fixture *f, const char *payload, const char *wanted)
{
    char member[200];

    snprintf(member, sizeof(member), "\"Json\":%s", wanted);
    check_payload(f, RWF_TYPE_JSON, rwf_text(payload), member);
}

static void a_field_that_does_not_decode_is_null_and_the_others_are_written(void **state)
{
    static const uint8_t list[] = "\x08\x00\x04"
                                  "\x00\x16\x03\x0c\x30\x39"
                                  "\x00\x20\x09\1\2\3\4\5\6\7\10\11" /* nine bytes of a number */
                                  "\x00\x12\x01\x01"                 /* a time of one byte */
                                  "\x00\x19\x02\x0e\x07";
    static const uint8_t elements[] = "\x08\x00\x02"
                                      "\x01"
                                      "A\x04\x09\1\2\3\4\5\6\7\10\11"
                                      "\x01"
                                      "B\x84\x02\x09\x01" /* a list that ends too early */;

    check_payload(*state, RWF_TYPE_FIELD_LIST, rwf_bytes(list, sizeof(list) - 1),
                  "\"Fields\":{\"BID\":123.45,\"ACVOL_1\":null,\"TRDTIM_1\":null,\"ASK\":7}");
    check_payload(*state, RWF_TYPE_ELEMENT_LIST, rwf_bytes(elements, sizeof(elements) - 1),
                  "\"Elements\":{\"A\":null,\"B\":{\"Type\":\"FieldList\",\"Data\":null}}");
    /* A list that is cut cannot be told from one that says other values. */
    assert_true(write_payload(*state, RWF_TYPE_FIELD_LIST, rwf_bytes(list, sizeof(list) - 2)) < 0);
}

static void a_payload_that_is_no_strict_json_is_written_as_a_string(void **state)
{
    check_json_payload(*state, "[0,-0.5,10,\"\xC3\xA9\\u00e9\"]",
                       "[0,-0.5,10,\"\xC3\xA9\\u00e9\"]");
    check_json_payload(*state, "{\"a\":\"\xE9\"}", "\"{\\\"a\\\":\\\"\xC3\xA9\\\"}\"");
    check_json_payload(*state, "{\"\xED\xA0\x80\":1}", "\"{\\\"\xC3\xAD\xC2\xA0\xC2\x80\\\":1}\"");
    check_json_payload(*state, "[007]", "\"[007]\"");
    check_json_payload(*state, "-01", "\"-01\"");
}

static void a_refresh_says_where_its_state_stands(void **state)
{
    struct fixture *f = *state;
    struct json_written written;
    struct json_read read = read_one(f, "{\"ID\":5,\"Type\":\"Refresh\",\"Solicited\":false,"
                                        "\"Elements\":{\"S\":{\"Type\":\"State\","
                                        "\"Data\":{\"Stream\":\"Closed\",\"Data\":\"Ok\"}}}}");

    assert_int_equal(json_write_message(&f->write, read.message, f->text, TEXT_MAX, &written), 0);
    assert_memory_equal(f->text + written.stream_at, "Open\"", 5);
    assert_memory_equal(f->text + written.solicited_at, JSON_UNSOLICITED, JSON_UNSOLICITED_LEN);
    for (size_t room = 0; room < written.length; room++) {
        uint8_t *small = test_malloc(room + 1);

        assert_int_equal(json_write_message(&f->write, read.message, small, room, &written),
                         RWF_ERR_FULL);
        test_free(small);
    }
}

static void numbers_are_read_with_the_digits_that_were_written(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
        uint8_t hint;
    } cases[] = {
        { "45.55", 4555, 12 }, { "1.50", 150, 12 },
        { "18", 18, 14 },      { "1.2e3", 1200, 14 },
        { "-0.5E-2", -5, 11 }, { "007", 7, 14 },
        { "\"NaN\"", 0, 35 },  { "-9223372036854775808", INT64_MIN, 14 },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        struct rwf_msg msg;
        struct rwf_field_list list;
        struct rwf_field field;
        struct rwf_real real;

        snprintf(text, sizeof(text), "{\"ID\":1,\"Type\":\"Update\",\"Fields\":{\"22\":%s}}",
                 cases[i].text);
        struct json_read read = read_one(f, text);
        assert_int_equal(rwf_msg_decode(read.message, &msg), 0);
        assert_int_equal(rwf_field_list_decode(msg.payload, NULL, &list), 0);
        assert_int_equal(rwf_field_list_next(&list, &field), 1);
        assert_int_equal(field.id, 22);
        assert_int_equal(rwf_real_decode(field.content, &real), 0);
        assert_int_equal(real.value, cases[i].value);
        assert_int_equal(real.hint, cases[i].hint);
    }
}

/* ---- requests ---- */

static void a_request_has_the_defaults_of_the_protocol(void **state)
{
    struct fixture *f = *state;
    struct rwf_msg msg;
    struct json_read read = read_one(f, "{\"ID\":2,\"Key\":{\"Name\":\"TRI.N\"}}");

    assert_int_equal(read.kind, JSON_READ_MESSAGE);
    assert_false(read.has_service);
    assert_int_equal(rwf_msg_decode(read.message, &msg), 0);
    assert_int_equal(msg.msg_class, RWF_CLASS_REQUEST);
    assert_int_equal(msg.domain, RWF_DOMAIN_MARKET_PRICE);
    assert_int_equal(msg.flags, RWF_REQUEST_STREAMING | RWF_REQUEST_KEY_IN_UPDATES);
    read = read_one(
        f, "{\"Key\":{\"Service\":\"NOPE\",\"Name\":\"A\\u00e9\"},\"Streaming\":\"false\","
           "\"KeyInUpdates\":false,\"Refresh\":false,\"ID\":3,\"View\":[\"BID\",25,\"NO\"]}");
    assert_true(read.has_service);
    assert_int_equal(rwf_msg_decode(read.message, &msg), 0);
    assert_int_equal(msg.flags, RWF_REQUEST_NO_REFRESH | RWF_REQUEST_HAS_VIEW);
    assert_false(msg.key.flags & RWF_KEY_HAS_SERVICE_ID);
    assert_true(rwf_bytes_equal(msg.key.name, rwf_text("A\xC3\xA9")));
}

static void batches_and_packed_messages_are_taken_one_by_one(void **state)
{
    struct fixture *f = *state;
    struct json_read read = read_one(f, "{\"ID\":2,\"Key\":{\"Name\":[\"A\",\"B\\n\"]}}");

    assert_int_equal(read.kind, JSON_READ_BATCH);
    assert_int_equal(read.count, 2);
    assert_true(rwf_bytes_equal(json_reader_name(f->reader, 1), rwf_text("B\n")));
    read = read_one(f, "{\"ID\":[3,4,5],\"Type\":\"Close\"}");
    assert_int_equal(read.kind, JSON_READ_CLOSES);
    assert_int_equal(read.count, 3);
    assert_int_equal(json_reader_id(f->reader, 2), 5);
    assert_int_equal(json_reader_id(f->reader, 0), 3);
    assert_int_equal(json_reader_id(f->reader, 1), 4);
    json_reader_start(f->reader, &f->read,
                      rwf_text(" [{\"Type\":\"Ping\"}, 7, {\"Type\":\"Pong\"},\n{\"ID\":3,"
                               "\"Type\":\"Close\"}]"));
    assert_true(json_reader_next(f->reader, &read) && read.kind == JSON_READ_PING);
    assert_true(json_reader_next(f->reader, &read) && read.kind == JSON_READ_BAD);
    assert_true(json_reader_next(f->reader, &read) && read.kind == JSON_READ_NOTHING);
    assert_true(json_reader_next(f->reader, &read) && read.kind == JSON_READ_MESSAGE);
    assert_false(json_reader_next(f->reader, &read));
    json_reader_start(f->reader, &f->read, rwf_text("[]"));
    assert_false(json_reader_next(f->reader, &read));
}

/* ---- errors ---- */

static void each_mistake_has_the_text_of_the_protocol(void **state)
{
    static const struct {
        const char *message;
        const char *text;
        int id;
        int offset; /* -1: none is said */
    } cases[] = {
        { "{", "JSON Parser Error: a name in quotes is expected at offset 1", 0, 1 },
        { "[1,]", "JSON Parser Error: unexpected character at offset 3", 0, 3 },
        { "7", "JSON Converter Token Type error: Expected 'OBJECT' Received 'PRIMITIVE'", 0, 0 },
        { "{\"ID\":\"x\"}",
          "JSON Converter Token Type error: Expected 'PRIMITIVE' for key 'ID' Received 'STRING'", 0,
          7 },
        { "{\"Domain\":\"Foo\",\"ID\":4,\"Key\":{}}",
          "JSON Unexpected Value. Received 'Foo' for key 'Domain'", 4, 11 },
        { "{\"ID\":2}", "JSON Missing required key 'Key'", 2, 0 },
        { "{\"Key\":{}}", "JSON Missing required key 'ID'", 0, 0 },
        { "{\"ID\":2,\"Key\":{},\"Qos\":{\"Rate\":1}}", "JSON Missing required key 'Timeliness'", 2,
          23 },
        { "{\"ID\":2,\"Type\":\"Post\",\"Fields\":{\"NOFIELD\":1}}",
          "JSON Unexpected FID. Received 'NOFIELD' for key 'Fields'", 2, 33 },
        { "{\"ID\":2,\"Type\":\"Post\",\"Elements\":{\"A\":{\"Type\":\"Array\",\"Data\":{\"Type\":"
          "\"UInt\",\"Data\":[1,\"2\"]}}}}",
          "JSON Mixed Types in OMM Array: Received 'PRIMITIVE' and 'STRING' for key 'Data'", 2,
          87 },
        { "{\"ID\":2,\"Type\":\"Post\",\"Fields\":{\"BID\":1.123456789012345}}",
          "JSON RSSL Conversion Error. RSSL error code : -1", 2, 38 },
        { "{\"ID\":2,\"Key\":{},\"Steaming\":true}", "JSON Unexpected Key. Received 'Steaming'", 2,
          18 },
        { "{\"ID\":2,\"Type\":\"Post\",\"Message\":{\"ID\":0,\"Foo\":1}}",
          "JSON Unexpected Key. Received 'Foo'", 2, 41 },
        { "{\"ID\":2,\"Key\":{\"Nome\":1}}", "JSON Unexpected Key. Received 'Nome'", 2, 16 },
        { "{\"ID\":2,\"Type\":\"Post\",\"PostUserInfo\":{\"Address\":1,\"UserID\":\"1 0\"}}",
          "JSON RSSL Conversion Error. RSSL error code : -1", 2, 60 },
        { "{\"ID\":2,\"Type\":\"Post\",\"PostUserInfo\":{\"Address\":1,\"UserID\":"
          "\"4294967296\"}}",
          "JSON RSSL Conversion Error. RSSL error code : -1", 2, 60 },
        { "{\"ID\":2,\"Type\":\"Post\",\"Map\":{}}", "JSON Missing required key 'KeyType'", 2, 28 },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_read read;

        json_reader_start(f->reader, &f->read, rwf_text(cases[i].message));
        assert_true(json_reader_next(f->reader, &read));
        assert_int_equal(read.kind, JSON_READ_BAD);
        char text[400];
        snprintf(text, sizeof(text), "%.*s", (int)read.error.text.length,
                 (const char *)read.error.text.data);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(read.id, cases[i].id);
        assert_int_equal((int)read.error.offset, cases[i].offset);
        assert_true(rwf_bytes_equal(read.error.message, rwf_text(cases[i].message)));
        assert_false(json_reader_next(f->reader, &read));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_is_written_with_all_its_digits),
        cmocka_unit_test(each_primitive_has_its_form),
        cmocka_unit_test(each_message_and_container_comes_back_as_it_was_sent),
        cmocka_unit_test(a_field_that_does_not_decode_is_null_and_the_others_are_written),
        cmocka_unit_test(a_payload_that_is_no_strict_json_is_written_as_a_string),
        cmocka_unit_test(a_refresh_says_where_its_state_stands),
        cmocka_unit_test(a_part_of_a_string_takes_a_byte_for_each_character),
        cmocka_unit_test(numbers_are_read_with_the_digits_that_were_written),
        cmocka_unit_test(a_request_has_the_defaults_of_the_protocol),
        cmocka_unit_test(batches_and_packed_messages_are_taken_one_by_one),
        cmocka_unit_test(each_mistake_has_the_text_of_the_protocol),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
