/* test_daemon_trouble.c - what keeps a daemon from its work is said, repeated and taken back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/trouble.h"
#include "stats/reader.h"

#define AT(seconds) (1000 * MD_NS_PER_S + (uint64_t)((seconds)*1e9))

struct bed {
    struct stats_segment *segment;
    struct stats_reader *reader;
    struct daemon_troubles troubles;
};

/* A place in the code may log five lines a second, and they all come from one: the tests of this
 * file that count lines make five together. */
static unsigned count_lines(const char *text)
{
    struct md_log_line lines[MD_LOG_RECENT_MAX];

    md_log_flush();
    unsigned count = md_log_recent(lines, MD_LOG_RECENT_MAX), found = 0;

    for (unsigned i = 0; i < count; i++)
        found += strstr(lines[i].text, text) != NULL;
    return found;
}

static const char *shown(struct bed *bed)
{
    static char text[STATS_STRING_BYTES];
    struct stats_value value;

    stats_reader_refresh(bed->reader);
    if (!stats_reader_find(bed->reader, "trouble", &value))
        return "";
    memcpy(text, value.text, sizeof(text));
    return text;
}

static uint64_t troubles_shown(struct bed *bed)
{
    struct stats_value value;

    stats_reader_refresh(bed->reader);
    assert_true(stats_reader_find(bed->reader, "troubles", &value));
    return value.value;
}

static struct bed *open_bed(void)
{
    static struct bed bed;
    struct stats_config config = { .process = "p2ps", .instance = "1" };

    assert_int_equal(stats_segment_open(&config, &bed.segment, NULL), 0);
    assert_int_equal(stats_reader_attach(bed.segment, &bed.reader), 0);
    daemon_troubles_init(&bed.troubles, bed.segment);
    return &bed;
}

static void close_bed(struct bed *bed)
{
    stats_reader_close(bed->reader);
    stats_segment_close(bed->segment);
}

static void here(struct bed *bed, unsigned which, double second, const char *name)
{
    daemon_trouble_here(&bed->troubles, which, AT(second), 2 * MD_NS_PER_S, name,
                        "%s is missing here", name);
}

static void a_trouble_is_known_when_it_has_lasted_for_its_delay(void **state)
{
    struct bed *bed = open_bed();

    (void)state;
    here(bed, 3, 0, "alpha");
    here(bed, 3, 1.9, "alpha");
    assert_string_equal(shown(bed), "");
    assert_int_equal(troubles_shown(bed), 0);
    assert_int_equal(count_lines("alpha"), 0);
    here(bed, 3, 2, "alpha");
    assert_string_equal(shown(bed), "alpha");
    assert_int_equal(troubles_shown(bed), 1);
    assert_int_equal(count_lines("alpha is missing here; for 2 s now"), 1);
    close_bed(bed);
}

static void a_trouble_that_was_short_is_never_said(void **state)
{
    struct bed *bed = open_bed();

    (void)state;
    here(bed, 0, 0, "beta");
    daemon_trouble_gone(&bed->troubles, 0, AT(1), "beta is back");
    here(bed, 0, 2, "beta");
    assert_int_equal(count_lines("beta"), 0);
    assert_string_equal(shown(bed), "");
    close_bed(bed);
}

static void a_trouble_that_lasts_is_said_every_minute(void **state)
{
    struct bed *bed = open_bed();

    (void)state;
    for (unsigned second = 0; second <= 65; second++)
        here(bed, 0, second, "gamma");
    assert_int_equal(count_lines("gamma is missing here"), 2);
    assert_int_equal(count_lines("gamma is missing here; for 62 s now"), 1);
    close_bed(bed);
}

static void another_word_for_the_same_trouble_is_said_at_once(void **state)
{
    struct bed *bed = open_bed();

    (void)state;
    here(bed, 0, 0, "delta");
    here(bed, 0, 2, "delta");
    here(bed, 0, 3, "epsilon");
    assert_int_equal(count_lines("epsilon is missing here; for 3 s now"), 1);
    assert_string_equal(shown(bed), "epsilon");
    close_bed(bed);
}

static void the_end_of_a_trouble_is_said_and_the_next_one_shows(void **state)
{
    struct bed *bed = open_bed();

    (void)state;
    for (unsigned second = 0; second <= 2; second++) {
        here(bed, 1, second, "zeta");
        here(bed, 2, second, "eta");
    }
    assert_int_equal(troubles_shown(bed), 2);
    assert_string_equal(shown(bed), "zeta");
    daemon_trouble_gone(&bed->troubles, 1, AT(7), "zeta is back");
    assert_string_equal(shown(bed), "eta");
    assert_int_equal(troubles_shown(bed), 1);
    daemon_trouble_gone(&bed->troubles, 2, AT(8), "eta is back");
    assert_string_equal(shown(bed), "");
    assert_int_equal(troubles_shown(bed), 0);
    here(bed, 1, 9, "zeta");
    assert_string_equal(shown(bed), "");
    close_bed(bed);
}

static void a_name_of_others_forges_no_line_of_the_service_manager(void **state)
{
    struct bed *bed = open_bed();

    (void)state;
    for (unsigned second = 0; second <= 4; second++)
        here(bed, 1, second, "theta\nWATCHDOG=trigger\x1b[2J");
    assert_string_equal(shown(bed), "theta.WATCHDOG=trigger.[2J");
    assert_string_equal(daemon_trouble_note(&bed->troubles), "theta.WATCHDOG=trigger.[2J");
    assert_true(bed->troubles.list[1].said_ns == AT(2)); /* it is no other word each second */
    close_bed(bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trouble_is_known_when_it_has_lasted_for_its_delay),
        cmocka_unit_test(a_trouble_that_was_short_is_never_said),
        cmocka_unit_test(a_trouble_that_lasts_is_said_every_minute),
        cmocka_unit_test(another_word_for_the_same_trouble_is_said_at_once),
        cmocka_unit_test(the_end_of_a_trouble_is_said_and_the_next_one_shows),
        cmocka_unit_test(a_name_of_others_forges_no_line_of_the_service_manager),
    };
    struct md_log_config config = { .identity = "test",
                                    .severity_max = MD_LOG_INFO,
                                    .targets = MD_LOG_TO_STDERR };

    md_clock_init();
    if (md_log_open(&config) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    md_log_close();
    return failed;
}
