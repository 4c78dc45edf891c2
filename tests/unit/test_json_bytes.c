/* test_json_bytes.c - the text of thousands of random field lists and element lists is the one it
 * has always been, and no writer stores behind the room that it was given. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rmds/rwf.h"
#include "json/write.h"

enum {
    MESSAGES = 4000,
    BYTES_MAX = 4096,
    TEXT_MAX = 1 << 15,
    NAMES = 40, /* of fields for each type */
    HEAD = 11,  /* the header of an update with no more than its type */
    CANARY = 0xA5,
};

/* FNV-1a of all texts, as the first writer, which looked at each byte, made them. */
static const uint64_t wanted_hash = 0xd58f15f67a33ae90;

static const struct {
    unsigned type;
    const char *name;
} types[] = {
    { RWF_TYPE_INT, "INT64" },        { RWF_TYPE_UINT, "UINT64" },
    { RWF_TYPE_FLOAT, "FLOAT" },      { RWF_TYPE_DOUBLE, "DOUBLE" },
    { RWF_TYPE_REAL, "REAL64" },      { RWF_TYPE_DATE, "DATE" },
    { RWF_TYPE_TIME, "TIME" },        { RWF_TYPE_DATETIME, "DATETIME" },
    { RWF_TYPE_QOS, "QOS" },          { RWF_TYPE_STATE, "STATUS" },
    { RWF_TYPE_ENUM, "ENUM" },        { RWF_TYPE_ARRAY, "ARRAY" },
    { RWF_TYPE_BUFFER, "BUFFER" },    { RWF_TYPE_ASCII, "ASCII_STRING" },
    { RWF_TYPE_UTF8, "UTF8_STRING" }, { RWF_TYPE_RMTES, "RMTES_STRING" },
};
#define TYPES (sizeof(types) / sizeof(types[0]))

struct random {
    uint64_t state;
};

static unsigned below(struct random *r, unsigned limit)
{
    r->state = r->state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)((r->state >> 33) % limit);
}

/* Names of 1 to 40 characters; displays of every kind, one of them too long to be kept in quotes.
 */
static struct rwf_dictionary *make_dictionary(void)
{
    static char fields[1 << 17];
    static char enums[1 << 12];
    struct rwf_dictionary *dictionary;
    struct rwf_dictionary_error error;
    size_t length = 0, size = 0;

    for (unsigned i = 0; i < TYPES * NAMES; i++) {
        unsigned type = i / NAMES;
        length += (size_t)snprintf(fields + length, sizeof(fields) - length,
                                   "F%.*s%u \"\" %u NULL ALPHANUMERIC 9 %s 9\n", (int)(i % NAMES),
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ", i, i + 1,
                                   types[type].name);
    }
    for (unsigned i = 10 * NAMES; i < 11 * NAMES; i++)
        size +=
            (size_t)snprintf(enums + size, sizeof(enums) - size, "F%.*s%u %u\n", (int)(i % NAMES),
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ", i, i + 1);
    size +=
        (size_t)snprintf(enums + size, sizeof(enums) - size,
                         "0 \"   \" none\n1 #DE# up\n2 #22# quote\n3 #415C42# backslash\n"
                         "4 #0041# end\n5 \"\" empty\n6 \"TWELVE CHARS\" twelve\n"
                         "7 \"FIFTEEN CHARS..\" fifteen\n8 #1B25304AC3A9# utf-8\n9 #7F# delete\n"
                         "300 \"%080u\" long\n",
                         7u);
    assert_true(length < sizeof(fields) && size < sizeof(enums));
    assert_int_equal(rwf_dictionary_create(&dictionary), 0);
    if (rwf_dictionary_load_fields(dictionary, "fields", fields, length, &error) != RWF_OK ||
        rwf_dictionary_load_enums(dictionary, "enums", enums, size, &error) != RWF_OK)
        fail_msg("%s", error.text);
    return dictionary;
}

/* Lengths that the types have, and others; bytes that are small, printable or any. */
static unsigned put_content(struct random *r, unsigned type, uint8_t *out)
{
    unsigned length = below(r, 10) ? below(r, 13) : below(r, 60);
    unsigned kind = below(r, 4);

    if (type == RWF_TYPE_ENUM && below(r, 8)) {
        out[0] = (uint8_t)below(r, 12);
        return 1;
    }
    for (unsigned i = 0; i < length; i++) {
        if (kind == 0)
            out[i] = (uint8_t)below(r, 256);
        else if (type >= RWF_TYPE_BUFFER)
            out[i] = (uint8_t)(kind == 1 ? below(r, 128) : 0x23 + below(r, 0x39));
        else
            out[i] = (uint8_t)below(r, 60);
    }
    if (type == RWF_TYPE_REAL && length)
        out[0] = (uint8_t)below(r, 37);
    return length;
}

static size_t put_message(struct random *r, uint8_t *out)
{
    bool is_fields = below(r, 4) != 0;
    unsigned count = below(r, 20);
    const uint8_t head[HEAD + 3] = {
        0,
        HEAD - 2,
        RWF_CLASS_UPDATE,
        (uint8_t)(below(r, 8) ? RWF_DOMAIN_MARKET_PRICE : below(r, 40)),
        0,
        0,
        0,
        5,
        0,
        is_fields ? RWF_TYPE_FIELD_LIST - 128 : RWF_TYPE_ELEMENT_LIST - 128,
        (uint8_t)below(r, 14),
        RWF_LIST_HAS_STANDARD_DATA,
        0,
        (uint8_t)count,
    };
    uint8_t *p = out + sizeof(head);

    memcpy(out, head, sizeof(head));
    for (unsigned i = 0; i < count; i++) {
        unsigned index = below(r, TYPES * NAMES);
        unsigned type = types[index / NAMES].type;

        if (is_fields) {
            index += below(r, 10) ? 1 : 20000; /* some that are not in the dictionary */
            *p++ = (uint8_t)(index >> 8);
            *p++ = (uint8_t)index;
        } else {
            unsigned length = below(r, 20);
            *p++ = (uint8_t)length;
            for (unsigned n = 0; n < length; n++)
                *p++ = (uint8_t)(below(r, 30) ? 0x41 + below(r, 60) : below(r, 256));
            *p++ = (uint8_t)type;
        }
        *p = (uint8_t)put_content(r, type, p + 1);
        p += 1 + *p;
    }
    return (size_t)(p - out);
}

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211U;
    return hash;
}

/* With less room than the text takes it does not fit, and what lies behind the room is untouched.
 */
static void check_small_room(const struct json_write_context *context, struct rwf_bytes message,
                             uint8_t *text, size_t room)
{
    struct json_written written;

    memset(text, CANARY, room + 128);
    assert_int_equal(json_write_message(context, message, text, room, &written), RWF_ERR_FULL);
    for (size_t i = 0; i < 128; i++)
        assert_int_equal(text[room + i], CANARY);
}

static void random_messages_have_the_text_that_they_always_had(void **state)
{
    static uint8_t bytes[BYTES_MAX], text[TEXT_MAX + 128];
    struct rwf_dictionary *dictionary = make_dictionary();
    struct json_write_context context = { .dictionary = dictionary };
    struct random r = { .state = 7 };
    uint64_t hash = 14695981039346656037U;
    struct json_written written;

    (void)state;
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct rwf_bytes message = rwf_bytes(bytes, put_message(&r, bytes));

        context.expands_enums = i % 4 != 0;
        int rc = json_write_message(&context, message, text, TEXT_MAX, &written);
        assert_int_equal(rc, RWF_OK);
        hash = hash_more(hash, text, written.length);
        check_small_room(&context, message, text, written.length - 1);
        check_small_room(&context, message, text, below(&r, (unsigned)written.length));
    }
    rwf_dictionary_destroy(dictionary);
    if (hash != wanted_hash)
        fail_msg("the texts have the hash %#llx", (unsigned long long)hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_messages_have_the_text_that_they_always_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
