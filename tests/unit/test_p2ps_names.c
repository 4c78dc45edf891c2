/* test_p2ps_names.c - names of clients are looked up in a thread for which nobody waits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "p2ps/names.h"

static sem_t may_answer, is_asked;

/* A name server that answers when it is told to; nobody there has a name that ends in 9. */
static bool lookup(const char *address, char *name, size_t size)
{
    sem_post(&is_asked);
    sem_wait(&may_answer);
    snprintf(name, size, "host of\n%s", address);
    return address[strlen(address) - 1] != '9';
}

static const char *await(const struct p2ps_name *name)
{
    const char *text;

    while (!(text = p2ps_name_text(name)))
        sched_yield();
    return text;
}

static int set_up(void **state)
{
    sem_init(&may_answer, 0, 0);
    sem_init(&is_asked, 0, 0);
    return p2ps_names_create(lookup, 4, (struct p2ps_names **)state) == MD_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    p2ps_names_destroy(*state);
    sem_destroy(&may_answer);
    sem_destroy(&is_asked);
    return 0;
}

static void who_asks_does_not_wait_for_the_answer(void **state)
{
    struct p2ps_name *v4 = p2ps_names_ask(*state, "10.1.2.3:40112");
    struct p2ps_name *v6 = p2ps_names_ask(*state, "[fe80::1]:5");

    sem_wait(&is_asked);
    assert_null(p2ps_name_text(v4));
    assert_null(p2ps_name_text(v6));
    sem_post(&may_answer);
    sem_post(&may_answer);
    assert_string_equal(await(v4), "host?of?10.1.2.3");
    assert_string_equal(await(v6), "host?of?fe80??1");
    p2ps_name_release(v4);
    p2ps_name_release(v6);
}

static void no_more_questions_wait_than_allowed(void **state)
{
    struct p2ps_name *names[5];

    names[0] = p2ps_names_ask(*state, "10.0.0.1:1");
    sem_wait(&is_asked); /* this one does not wait any more */
    for (int i = 1; i < 5; i++)
        assert_non_null(names[i] = p2ps_names_ask(*state, "10.0.0.2:1"));
    assert_null(p2ps_names_ask(*state, "10.0.0.3:1"));
    for (int i = 0; i < 5; i++)
        sem_post(&may_answer);
    for (int i = 0; i < 5; i++) {
        await(names[i]);
        p2ps_name_release(names[i]);
    }
    struct p2ps_name *after = p2ps_names_ask(*state, "10.0.0.4:1");
    assert_non_null(after);
    sem_post(&may_answer);
    assert_string_equal(await(after), "host?of?10.0.0.4");
    p2ps_name_release(after);
}

static void who_has_no_name_and_who_is_gone_harm_nobody(void **state)
{
    struct p2ps_name *nameless = p2ps_names_ask(*state, "10.0.0.9:1");
    struct p2ps_name *gone = p2ps_names_ask(*state, "10.0.0.1:1");
    struct p2ps_name *last = p2ps_names_ask(*state, "10.0.0.2:1");

    p2ps_name_release(gone);
    for (int i = 0; i < 3; i++)
        sem_post(&may_answer);
    assert_string_equal(await(last), "host?of?10.0.0.2");
    assert_null(p2ps_name_text(nameless));
    p2ps_name_release(nameless);
    p2ps_name_release(last);
    /* And one that is not answered before the end. */
    p2ps_name_release(p2ps_names_ask(*state, "10.0.0.3:1"));
    p2ps_name_release(p2ps_names_ask(*state, "10.0.0.4:1"));
    sem_post(&may_answer);
    sem_post(&may_answer);
}

static void the_system_knows_this_host(void **state)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    char expected[256];
    struct p2ps_names *names;

    (void)state;
    if (getnameinfo((struct sockaddr *)&address, sizeof(address), expected, sizeof(expected), NULL,
                    0, NI_NAMEREQD) != 0)
        skip();
    assert_int_equal(p2ps_names_create(NULL, 4, &names), MD_OK);
    struct p2ps_name *name = p2ps_names_ask(names, "127.0.0.1:40112");
    assert_string_equal(await(name), expected);
    p2ps_name_release(name);
    p2ps_names_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_asks_does_not_wait_for_the_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_more_questions_wait_than_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_no_name_and_who_is_gone_harm_nobody, set_up,
                                        tear_down),
        cmocka_unit_test(the_system_knows_this_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
