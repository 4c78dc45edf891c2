/* test_base_mailbox.c - letters between threads: order, room, the newest of a kind. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/err.h"
#include "base/mailbox.h"

enum { ITEM = 1, SETTING, OTHER, SENDERS = 4, LETTERS = 10000, ROOM = 8 };

struct letter {
    unsigned kind;
    unsigned sender;
    uint64_t number;
};

static struct letter letter_of(unsigned kind, uint64_t number)
{
    return (struct letter){ .kind = kind, .number = number };
}

static void a_full_box_refuses_items_and_still_takes_settings(void **state)
{
    struct md_mailbox box;
    struct letter letter, old;

    (void)state;
    assert_int_equal(md_mailbox_init(&box, sizeof(letter), ROOM, 2), MD_OK);
    assert_false(md_mailbox_take(&box, &letter));
    for (unsigned i = 0; i < ROOM; i++) {
        letter = letter_of(ITEM, i);
        assert_true(md_mailbox_put(&box, &letter));
    }
    assert_false(md_mailbox_put(&box, &letter));
    letter = letter_of(SETTING, 100);
    assert_false(md_mailbox_replace(&box, &letter, &old));
    letter = letter_of(OTHER, 200);
    assert_false(md_mailbox_replace(&box, &letter, &old));
    letter = letter_of(SETTING, 101);
    assert_true(md_mailbox_replace(&box, &letter, &old));
    assert_true(old.kind == SETTING && old.number == 100);
    assert_true(md_mailbox_holds(&box, SETTING));
    for (unsigned i = 0; i < ROOM; i++) {
        assert_true(md_mailbox_take(&box, &letter));
        assert_true(letter.kind == ITEM && letter.number == i);
    }
    assert_true(md_mailbox_take(&box, &letter) && letter.number == 101);
    assert_false(md_mailbox_holds(&box, SETTING));
    assert_true(md_mailbox_take(&box, &letter) && letter.number == 200);
    assert_false(md_mailbox_take(&box, &letter));
    md_mailbox_fini(&box);
    md_mailbox_fini(&box);
}

struct sender {
    struct md_mailbox *box;
    unsigned number;
    pthread_t thread;
};

/* Every tenth letter is a setting of this sender. */
static void *send_all(void *argument)
{
    const struct sender *sender = argument;
    struct letter old;

    for (uint64_t i = 1; i <= LETTERS; i++) {
        struct letter letter = { .kind = ITEM, .sender = sender->number, .number = i };
        while (!md_mailbox_put(sender->box, &letter))
            sched_yield();
        if (i % 10 == 0) {
            letter.kind = OTHER + sender->number;
            if (md_mailbox_replace(sender->box, &letter, &old))
                assert_true(old.kind == letter.kind && old.number < i);
        }
    }
    return NULL;
}

static void letters_of_many_threads_arrive_once_and_in_the_order_of_each(void **state)
{
    struct sender senders[SENDERS];
    uint64_t items[SENDERS] = { 0 }, settings[SENDERS] = { 0 };
    struct md_mailbox box;
    struct letter letter;

    (void)state;
    assert_int_equal(md_mailbox_init(&box, sizeof(letter), ROOM, SENDERS), MD_OK);
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){ .box = &box, .number = i };
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    for (uint64_t left = (uint64_t)SENDERS * LETTERS; left > 0;) {
        if (!md_mailbox_take(&box, &letter)) {
            sched_yield();
        } else if (letter.kind == ITEM) {
            assert_int_equal(letter.number, ++items[letter.sender]);
            left--;
        } else {
            assert_true(letter.number > settings[letter.sender]);
            settings[letter.sender] = letter.number;
        }
    }
    for (unsigned i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    while (md_mailbox_take(&box, &letter))
        settings[letter.sender] = letter.number;
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(settings[i], LETTERS); /* the newest is never lost */
    md_mailbox_fini(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_box_refuses_items_and_still_takes_settings),
        cmocka_unit_test(letters_of_many_threads_arrive_once_and_in_the_order_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
