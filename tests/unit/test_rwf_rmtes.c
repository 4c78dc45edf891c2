/* test_rwf_rmtes.c - RMTES strings: partial updates and their text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rmds/rwf_rmtes.h"

#define CAPACITY 20

struct image {
    uint8_t bytes[CAPACITY];
    size_t length;
};

static int apply(struct image *image, const char *content)
{
    return rwf_rmtes_apply(image->bytes, CAPACITY, &image->length, (const uint8_t *)content,
                           strlen(content));
}

static void assert_image(const struct image *image, const char *expected)
{
    assert_int_equal(image->length, strlen(expected));
    assert_memory_equal(image->bytes, expected, image->length);
}

static void content_without_commands_replaces_the_string(void **state)
{
    struct image image = { .length = 0 };

    (void)state;
    assert_int_equal(apply(&image, "LONDON"), MD_OK);
    assert_image(&image, "LONDON");
    assert_int_equal(apply(&image, "NYC"), MD_OK);
    assert_image(&image, "NYC");
    assert_int_equal(apply(&image, ""), MD_OK);
    assert_image(&image, "");
}

static void a_position_command_writes_over_the_string_from_there(void **state)
{
    struct image image = { .length = 0 };

    (void)state;
    apply(&image, "0123456789");
    assert_int_equal(apply(&image, "\x1b[7`AB"), MD_OK);
    assert_image(&image, "0123456AB9");
    assert_int_equal(apply(&image, "\x1b[0`x\x1b[9`yz"), MD_OK);
    assert_image(&image, "x123456AByz");
    assert_int_equal(apply(&image, "XY\x1b[`Z"), MD_OK); /* no number is 0 */
    assert_image(&image, "ZY23456AByz");
}

static void a_repeat_command_writes_the_preceding_byte_again(void **state)
{
    struct image image = { .length = 0 };

    (void)state;
    assert_int_equal(apply(&image, "A\x1b[5b"), MD_OK);
    assert_image(&image, "AAAAAA");
    assert_int_equal(apply(&image, "\x1b[2`-\x1b[2b"), MD_OK);
    assert_image(&image, "AA---A");
    assert_int_equal(apply(&image, "\x1b[1`Z\x1b[0b"), MD_OK);
    assert_image(&image, "AZ---A");
    assert_int_equal(apply(&image, "\x1b[3`\x1b[0b"), MD_ERR_MALFORMED); /* what it would repeat */
    assert_int_equal(apply(&image, "\x1b[1`\x1b[2b"), MD_ERR_MALFORMED); /* is not written here */
    assert_image(&image, "AZ---A");
}

static void content_without_a_position_replaces_the_string(void **state)
{
    struct image image = { .length = 0 };

    (void)state;
    apply(&image, "ABCDEFGH");
    assert_int_equal(apply(&image, "q\x1b[2b"), MD_OK);
    assert_image(&image, "qqq");
    apply(&image, "ABCDEFGH");
    assert_int_equal(apply(&image, "qr\x1b[1bs\x1b[1b"), MD_OK);
    assert_image(&image, "qrrss");
    apply(&image, "ABCDEFGH");
    assert_int_equal(apply(&image, "xy\x1b[5`z"), MD_OK); /* a position keeps what stands there */
    assert_image(&image, "xyCDEzGH");
}

static void bytes_never_written_are_blanks(void **state)
{
    struct image image = { .length = 0 };

    (void)state;
    apply(&image, "AB");
    assert_int_equal(apply(&image, "\x1b[4`C"), MD_OK);
    assert_image(&image, "AB  C");
    assert_int_equal(apply(&image, "\x1b[8`"), MD_OK);
    assert_image(&image, "AB  C   ");
}

static void the_whole_capacity_may_be_used_and_not_a_byte_more(void **state)
{
    struct image image = { .length = 0 };

    (void)state;
    apply(&image, "AB");
    assert_int_equal(apply(&image, "\x1b[19`Z"), MD_OK);
    assert_image(&image, "AB                 Z");
    assert_int_equal(apply(&image, "\x1b[20`"), MD_OK);
    assert_int_equal(apply(&image, "\x1b[20`Z"), MD_ERR_FULL);
    assert_int_equal(apply(&image, "\x1b[21`"), MD_ERR_FULL);
    assert_int_equal(apply(&image, "\x1b[99999999999999999999`"), MD_ERR_FULL);
    assert_int_equal(apply(&image, "C\x1b[20b"), MD_ERR_FULL);
    assert_int_equal(apply(&image, "123456789012345678901"), MD_ERR_FULL);
    assert_image(&image, "AB                 Z");
}

static void a_broken_command_changes_nothing(void **state)
{
    static const char *const broken[] = {
        "X\x1b",      /* unfinished */
        "X\x1b[",     /* unfinished */
        "X\x1b[12",   /* unfinished */
        "X\x1b[1A",   /* no such command */
        "X\x1b[A",    /* no number and no command */
        "X\x1b[-1`A", /* not a digit */
        "\x1b[3b",    /* nothing to repeat */
    };
    struct image image = { .length = 0 };

    (void)state;
    apply(&image, "STORED");
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        assert_int_equal(apply(&image, broken[i]), MD_ERR_MALFORMED);
        assert_image(&image, "STORED");
    }
}

static void escapes_that_are_no_commands_are_bytes_of_the_string(void **state)
{
    struct image image = { .length = 0 };

    (void)state;
    assert_int_equal(apply(&image, "\x1b%0\xc3\xa9"), MD_OK);
    assert_image(&image, "\x1b%0\xc3\xa9");
    assert_int_equal(apply(&image, "\x1b[3`\xc3\xaa"), MD_OK);
    assert_image(&image, "\x1b%0\xc3\xaa");
}

static void partial_content_is_recognised(void **state)
{
    static const struct {
        const char *content;
        bool is_partial;
    } cases[] = {
        { "", false },           { "Text 1", false },  { "\x1b[3`AB", true }, { "A\x1b[5b", true },
        { "\x1b%0\xc3", false }, { "A\x1b[5", false }, { "A\x1b", false },    { "[5b", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(
            rwf_rmtes_is_partial((const uint8_t *)cases[i].content, strlen(cases[i].content)),
            cases[i].is_partial);
}

/* The right column is what the public Java library makes of the left one, where it decodes it. */
static void strings_become_utf8(void **state)
{
    static const struct {
        const char *string;
        const char *text;
    } cases[] = {
        { "", "" },
        { "Text 1", "Text 1" },
        { "\xa3 100 \xde\xfe", "\u00a3 100 \u21e7\u21e9" },     /* basic set 2 in the right half */
        { "\xa8\xac\xaf", "\u00a4\u215b\u215e" },               /* where it is not Latin-1 */
        { "\xa4\xa6\xb4\xd0\xf0", "_r_w_t_p_u" },               /* signs of its own */
        { "\x0e\x21\x22\x0f\x41", "\u00a1\u00a2\x41" },         /* shift out, shift in */
        { "\x1b}\xb1\xb2", "\uff71\uff72" },                    /* katakana to the right half */
        { "\x1bn12", "\uff71\uff72" },                          /* and to the left */
        { "\x1b|\xb0\xa1", "\u4e9c" },                          /* kanji to the right half */
        { "\x1bo0!", "\u4e9c" },                                /* and to the left */
        { "\x1bo0! 0!", "\u4e9c \u4e9c" },                      /* blanks stay single bytes */
        { "\x1b)I\x31\x0e\x31\x32", "1\uff71\uff72" },          /* katakana as G1 */
        { "\x1b(J\\~", "\\~" },                                 /* JIS Latin */
        { "\x1b)1\xa3", "\u00a3" },                             /* basic set 2 once more */
        { "\x8e\xb1z\x8f\xb0\xa1z", "\uff71z\u4e9cz" },         /* single shifts */
        { "\x1b%0\xe2\x82\xac", "\u20ac" },                     /* UTF-8 from here on */
        { "A\x1b%0\xc3\xa9\xff\xc3z", "A\u00e9\ufffd\ufffdz" }, /* broken UTF-8 */
        { "\x1b%0\xed\xa0\x80", "\ufffd\ufffd\ufffd" },         /* a surrogate is not UTF-8 */
        { "\x1b%0\xf0\x9f\x93\x88", "\xf0\x9f\x93\x88" },       /* beyond the basic plane */
        { "\x1b$)G\x0e!!z", "\ufffd\ufffd" },                   /* CNS is not known here */
        { "\xff\x80", "\ufffd\ufffd" },
        { "\x1b|\xb0", "\ufffd" }, /* half a kanji */
        { "A\x1b[3b", "AAAA" },
        { "\x1b[3`AB", "AB" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        size_t length;

        assert_int_equal(rwf_rmtes_to_utf8((const uint8_t *)cases[i].string,
                                           strlen(cases[i].string), text, sizeof(text) - 1,
                                           &length),
                         MD_OK);
        text[length] = '\0';
        assert_string_equal(text, cases[i].text);
    }
}

/* An editor or a filter that normalises text could change the table without anybody noticing. */
static void the_kanji_are_those_of_jis_x_0208(void **state)
{
    uint64_t hash = 0xcbf29ce484222325ull;

    (void)state;
    for (unsigned row = 0x21; row <= 0x74; row++) {
        for (unsigned column = 0x21; column <= 0x7e; column++) {
            const uint8_t string[] = { 0x1b, '|', (uint8_t)(row | 0x80), (uint8_t)(column | 0x80) };
            char text[8];
            size_t length;

            assert_int_equal(rwf_rmtes_to_utf8(string, sizeof(string), text, sizeof(text), &length),
                             MD_OK);
            for (size_t i = 0; i < length; i++)
                hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3ull;
        }
    }
    /* FNV-1a of what Python's codec of EUC-JP makes of the same bytes, U+FFFD where it refuses. */
    assert_int_equal(hash, 0x1e10c7e7875c1f72ull);
}

static void positions_stay_in_the_text_of_an_update(void **state)
{
    static const struct {
        const char *content;
        const char *text;
    } cases[] = {
        { "whole", "whole" },
        { "\x1b[22` 99.42", "\x1b[22` 99.42" },
        { "\x1b[`\xa3\x1b[40`\xde", "\x1b[`\u00a3\x1b[40`\u21e7" },
        { "\x1b[2`A\x1b[3b\x1b[9`z", "\x1b[2`AAAA\x1b[9`z" }, /* repetitions by their effect */
        { "A\x1b[3b", "AAAA" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        size_t length;

        assert_int_equal(rwf_rmtes_update_to_utf8((const uint8_t *)cases[i].content,
                                                  strlen(cases[i].content), text, sizeof(text) - 1,
                                                  &length),
                         MD_OK);
        text[length] = '\0';
        assert_string_equal(text, cases[i].text);
    }
}

static void text_becomes_a_byte_for_each_character(void **state)
{
    static const struct {
        const char *text;
        const char *string;
    } cases[] = {
        { "whole", "whole" },
        { "M\u00fcnchen", "M\xfcnchen" },
        { "\x1b[`\u00a3\x1b[40`\u21e7", "\x1b[`\xa3\x1b[40`\xde" },
        { "\u00a4\u215b\u215e\u0152\u0178\u00ff\u2407", "\xa8\xac\xaf\xd7\xdd\xfd\xb8" },
        { "\u20ac", NULL },           /* in neither set */
        { "\u00a8\u00d0", NULL },     /* Latin-1 alone has these */
        { "\u00a0", NULL },           /* would become a blank */
        { "\xf0\x9f\x93\x88", NULL }, /* beyond the basic plane */
        { "A\xc3", NULL },            /* no UTF-8 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t size = strlen(cases[i].text);
        uint8_t string[64];
        char text[64];
        size_t length;
        int err = rwf_rmtes_from_utf8((const uint8_t *)cases[i].text, size, string, size, &length);

        assert_int_equal(err, cases[i].string ? MD_OK : MD_ERR_RANGE);
        if (err != MD_OK)
            continue;
        assert_int_equal(length, strlen(cases[i].string));
        assert_memory_equal(string, cases[i].string, length);
        assert_int_equal(rwf_rmtes_update_to_utf8(string, length, text, sizeof(text), &length),
                         MD_OK);
        assert_int_equal(length, size);
        assert_memory_equal(text, cases[i].text, size);
        assert_int_equal(
            rwf_rmtes_from_utf8((const uint8_t *)cases[i].text, size, string, 1, &length),
            MD_ERR_FULL);
    }
}

static void text_that_does_not_fit_is_cut_between_characters(void **state)
{
    char text[4];
    size_t length;

    (void)state;
    assert_int_equal(
        rwf_rmtes_to_utf8((const uint8_t *)"ab\x1b|\xb0\xa1", 6, text, sizeof(text), &length),
        MD_ERR_FULL);
    assert_int_equal(length, 2);
    assert_int_equal(
        rwf_rmtes_to_utf8((const uint8_t *)"A\x1b[60000b", 9, text, sizeof(text), &length),
        MD_ERR_FULL);
    assert_int_equal(length, 4);
    assert_int_equal(rwf_rmtes_to_utf8((const uint8_t *)"A", 1, text, 0, &length), MD_ERR_FULL);
    assert_int_equal(length, 0);
}

static void a_zero_byte_ends_the_text(void **state)
{
    char text[8];
    size_t length;

    (void)state;
    assert_int_equal(rwf_rmtes_to_utf8((const uint8_t *)"A\0B", 3, text, sizeof(text), &length),
                     MD_OK);
    assert_int_equal(length, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_without_commands_replaces_the_string),
        cmocka_unit_test(a_position_command_writes_over_the_string_from_there),
        cmocka_unit_test(a_repeat_command_writes_the_preceding_byte_again),
        cmocka_unit_test(content_without_a_position_replaces_the_string),
        cmocka_unit_test(bytes_never_written_are_blanks),
        cmocka_unit_test(the_whole_capacity_may_be_used_and_not_a_byte_more),
        cmocka_unit_test(a_broken_command_changes_nothing),
        cmocka_unit_test(escapes_that_are_no_commands_are_bytes_of_the_string),
        cmocka_unit_test(partial_content_is_recognised),
        cmocka_unit_test(strings_become_utf8),
        cmocka_unit_test(the_kanji_are_those_of_jis_x_0208),
        cmocka_unit_test(positions_stay_in_the_text_of_an_update),
        cmocka_unit_test(text_becomes_a_byte_for_each_character),
        cmocka_unit_test(text_that_does_not_fit_is_cut_between_characters),
        cmocka_unit_test(a_zero_byte_ends_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
