/* test_rrmp_position.c - places in a provider's stream, as two sources name them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/prng.h"
#include "rrmp/position.h"

/* Both followers of one stream: the second may begin later, with an image of its own. */
struct two {
    struct rrmp_position a, b;
};

static struct rrmp_mark mark(uint32_t number, uint64_t content)
{
    return (
        struct rrmp_mark){ .has_number = true, .number = number, .hash = md_mix64(content + 1) };
}

static void pass(struct two *t, uint32_t number, uint64_t content)
{
    struct rrmp_mark m = mark(number, content);

    rrmp_position_pass(&t->a, &m);
    rrmp_position_pass(&t->b, &m);
}

static void begin(struct rrmp_position *position, uint32_t number)
{
    struct rrmp_mark image = mark(number, 0xabcdef);

    rrmp_position_begin(position, &image);
}

static struct two start(uint32_t number)
{
    struct two t;

    begin(&t.a, number);
    begin(&t.b, number);
    return t;
}

static void both_name_the_same_place(void **state)
{
    struct two t = start(10);

    (void)state;
    assert_true(rrmp_position_is_same(&t.a, &t.b)); /* equal images */
    for (uint32_t i = 11; i < 40; i++) {
        struct rrmp_position before = t.a;
        pass(&t, i, i);
        assert_true(rrmp_position_is_same(&t.a, &t.b));
        assert_false(rrmp_position_is_same(&t.a, &before));
        assert_true(rrmp_position_is_after(&t.a, &before));
        assert_false(rrmp_position_is_after(&before, &t.a));
    }
}

static void who_begins_later_agrees_with_the_first_message(void **state)
{
    struct two t = start(1);

    (void)state;
    pass(&t, 2, 2);
    pass(&t, 3, 3);
    begin(&t.b, 3);
    assert_false(rrmp_position_is_same(&t.a, &t.b)); /* its image proves nothing of the stream */
    for (uint32_t i = 4; i < 30; i++) {
        pass(&t, i, i);
        assert_true(rrmp_position_is_same(&t.a, &t.b));
        assert_true(rrmp_position_is_same(&t.b, &t.a));
    }
}

static void numbers_wrap_and_have_holes(void **state)
{
    struct two t = start(0xFFFFFFF0);
    struct rrmp_position before = t.a;

    (void)state;
    for (uint32_t i = 1; i < 20; i++)
        pass(&t, 0xFFFFFFF0 + 7 * i, i);
    assert_true(rrmp_position_is_same(&t.a, &t.b));
    assert_true(rrmp_position_is_after(&t.a, &before));
}

static void messages_without_a_new_number_are_counted(void **state)
{
    struct two t = start(5);
    struct rrmp_mark bare = { .hash = 77 };

    (void)state;
    pass(&t, 6, 1);
    rrmp_position_pass(&t.a, &bare);
    assert_int_equal(t.a.count, 1);
    assert_false(rrmp_position_is_same(&t.a, &t.b));
    assert_true(rrmp_position_is_after(&t.a, &t.b));
    rrmp_position_pass(&t.b, &bare);
    assert_true(rrmp_position_is_same(&t.a, &t.b));
    pass(&t, 6, 2); /* the number again */
    assert_int_equal(t.a.count, 2);
    assert_true(rrmp_position_is_same(&t.a, &t.b));
    pass(&t, 7, 3);
    assert_int_equal(t.a.count, 0);
}

static void a_number_that_goes_back_names_nothing_until_an_image(void **state)
{
    struct two t = start(100);

    (void)state;
    pass(&t, 101, 1);
    pass(&t, 1, 2); /* it begins again at 1 */
    pass(&t, 2, 3);
    assert_false(rrmp_position_is_same(&t.a, &t.b));
    begin(&t.a, 2);
    begin(&t.b, 2);
    pass(&t, 3, 4);
    assert_true(rrmp_position_is_same(&t.a, &t.b));
}

/* The number alone is no proof: one message of the last eight that differs is found. */
static void other_messages_under_the_same_number_are_another_place(void **state)
{
    (void)state;
    for (uint32_t differs = 0; differs < RRMP_POSITION_KEPT; differs++) {
        struct two t = start(10);

        for (uint32_t i = 0; i < 20; i++)
            pass(&t, 11 + i, i);
        for (uint32_t i = 0; i < RRMP_POSITION_KEPT; i++) {
            struct rrmp_mark a = mark(31 + i, i), b = mark(31 + i, i == differs ? 99 : i);
            rrmp_position_pass(&t.a, &a);
            rrmp_position_pass(&t.b, &b);
        }
        assert_false(rrmp_position_is_same(&t.a, &t.b));
        for (uint32_t i = 0; i < RRMP_POSITION_KEPT; i++)
            pass(&t, 100 + i, i);
        assert_true(rrmp_position_is_same(&t.a, &t.b)); /* and they agree on what follows */
    }
}

static void without_numbers_there_is_no_place(void **state)
{
    struct two t;
    struct rrmp_mark bare = { .hash = 5 };

    (void)state;
    rrmp_position_begin(&t.a, NULL);
    rrmp_position_begin(&t.b, NULL);
    assert_false(rrmp_position_is_same(&t.a, &t.b));
    for (int i = 0; i < 12; i++) {
        rrmp_position_pass(&t.a, &bare);
        rrmp_position_pass(&t.b, &bare);
    }
    assert_false(rrmp_position_is_same(&t.a, &t.b));
    pass(&t, 1, 1);
    assert_false(rrmp_position_is_same(&t.a, &t.b)); /* the first of its number, or a later one? */
    pass(&t, 2, 2);
    assert_true(rrmp_position_is_same(&t.a, &t.b));
    for (int i = 0; i < 70000; i++) { /* more than can be counted */
        rrmp_position_pass(&t.a, &bare);
        rrmp_position_pass(&t.b, &bare);
    }
    assert_false(rrmp_position_is_same(&t.a, &t.b));
}

/* One message is all that a late joiner has; each bit of it must be right. */
static void one_message_is_proved_by_its_whole_hash(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        struct two t = start(1);
        struct rrmp_mark other = mark(4, 3);

        pass(&t, 2, 1);
        pass(&t, 3, 2);
        begin(&t.b, 3);
        pass(&t, 4, 3);
        assert_true(rrmp_position_is_same(&t.a, &t.b));
        other.hash ^= 1ull << bit;
        begin(&t.b, 3);
        rrmp_position_pass(&t.b, &other);
        assert_false(rrmp_position_is_same(&t.a, &t.b));
        assert_false(rrmp_position_is_same(&t.b, &t.a));
    }
}

/* It counts from its image, inside a run of one number: its counts are not those of others. */
static void a_joiner_inside_a_run_waits_for_the_next_number(void **state)
{
    struct rrmp_mark bare = { .hash = 77 };
    struct two t = start(5);

    (void)state;
    pass(&t, 6, 1);
    rrmp_position_pass(&t.a, &bare);
    begin(&t.b, 6); /* behind the bare one */
    for (int i = 0; i < 2; i++) {
        rrmp_position_pass(&t.a, &bare);
        rrmp_position_pass(&t.b, &bare);
    }
    struct rrmp_position before = t.a;
    before.count--; /* the place of a whose count is that of b */
    assert_false(rrmp_position_is_same(&before, &t.b));
    for (int i = 0; i < 12; i++) { /* and a full digest does not change that */
        rrmp_position_pass(&t.a, &bare);
        rrmp_position_pass(&t.b, &bare);
    }
    before = t.a;
    before.count--;
    assert_false(rrmp_position_is_same(&before, &t.b));
    pass(&t, 7, 2);
    assert_true(rrmp_position_is_same(&t.a, &t.b));
    rrmp_position_pass(&t.a, &bare);
    rrmp_position_pass(&t.b, &bare);
    assert_true(rrmp_position_is_same(&t.a, &t.b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_name_the_same_place),
        cmocka_unit_test(who_begins_later_agrees_with_the_first_message),
        cmocka_unit_test(numbers_wrap_and_have_holes),
        cmocka_unit_test(messages_without_a_new_number_are_counted),
        cmocka_unit_test(a_number_that_goes_back_names_nothing_until_an_image),
        cmocka_unit_test(other_messages_under_the_same_number_are_another_place),
        cmocka_unit_test(without_numbers_there_is_no_place),
        cmocka_unit_test(one_message_is_proved_by_its_whole_hash),
        cmocka_unit_test(a_joiner_inside_a_run_waits_for_the_next_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
