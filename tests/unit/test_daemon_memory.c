/* test_daemon_memory.c - the default limits of one host's daemons fit the host together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/memory.h"

static uint64_t limit_of(const char *program, const char *text, bool *is_configured)
{
    struct md_conf_options options = { .program = program };
    struct daemon_memory memory;
    struct md_conf *conf;

    assert_int_equal(md_conf_load_text(&options, "f", text, strlen(text), &conf), 0);
    struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    daemon_memory_configure(&memory, &daemon);
    *is_configured = memory.is_configured;
    md_conf_destroy(conf);
    return memory.limit;
}

static void the_default_limits_of_one_host_fit_it_together(void **state)
{
    static const char *const programs[] = { "p2ps", "src_dist", "rrcpd" };
    uint64_t sum = 0;
    bool is_configured;

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        uint64_t limit = limit_of(programs[i], "", &is_configured);

        assert_false(is_configured);
        assert_true(limit > 0);
        sum += limit;
    }
    assert_true(sum <= md_mem_machine() / 4 * 3);
}

static void a_configured_limit_is_taken_as_it_is(void **state)
{
    bool is_configured;

    (void)state;
    assert_true(limit_of("p2ps", "*p2ps*memoryLimit : 2G\n", &is_configured) == 2ull << 30);
    assert_true(is_configured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_limits_of_one_host_fit_it_together),
        cmocka_unit_test(a_configured_limit_is_taken_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
