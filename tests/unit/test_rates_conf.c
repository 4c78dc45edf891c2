/* test_rates_conf.c - parameters of rmds.cnf that stand for lines of filterFile, of services too.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "rates/conf.h"

static char found[1024];

static void find(void *arg, const struct md_conf_object *object, const char *param, int line,
                 const char *text)
{
    size_t at = strlen(found);

    (void)arg;
    snprintf(found + at, sizeof(found) - at, "%s of %s line %d: %s\n", param,
             object->kind == MD_CONF_SERVICE ? object->name : "src_dist", line, text);
}

static struct md_conf *conf_of(const char *text)
{
    const struct md_conf_options options = { .program = "src_dist", .node = "h" };
    struct md_conf *conf;

    assert_int_equal(md_conf_load_text(&options, "test.cnf", text, strlen(text), &conf), MD_OK);
    return conf;
}

static int read_rules(const char *text, const char *lines, struct rates **rates)
{
    struct md_conf *conf = conf_of(text);
    struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);

    found[0] = 0;
    int err = rates_conf_read(&daemon, lines, strlen(lines), NULL, find, NULL, rates);
    assert_int_equal(rates_conf_is_used(&daemon), *rates || err != MD_OK);
    md_conf_destroy(conf);
    return err;
}

static struct rates *rules_of(const char *text, const char *lines)
{
    struct rates *rates;

    if (read_rules(text, lines, &rates) != MD_OK)
        fail_msg("%s", found);
    return rates;
}

static struct rates_choice choose(const struct rates *rates, const char *service)
{
    struct rates_choice choice;

    rates_choose(rates, rwf_text(service), rwf_text("IBM.N"), 6, &choice);
    return choice;
}

static bool is_exempt(const struct rates_choice *choice, uint8_t type)
{
    const struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE, .update_type = type };

    assert_non_null(choice->exempt);
    return rates_exempts(choice->exempt, &msg);
}

static void nothing_set_is_no_rule(void **state)
{
    (void)state;
    assert_null(rules_of("*src_dist*conflateExempt : 1\n*src_dist*conflateInterval : 0\n", ""));
}

static void a_value_of_the_daemon_is_for_all_services(void **state)
{
    struct rates *rates = rules_of("*src_dist*fieldFilter : drop 6\n"
                                   "*src_dist*updateTypeFilter : QUOTE, 2\n"
                                   "*src_dist*conflateInterval : 100\n",
                                   "");
    struct rates_choice any = choose(rates, "ANY");

    (void)state;
    assert_false(rates_fields_keep(any.fields, 6));
    assert_true(rates_fields_keep(any.fields, 22));
    assert_true(rates_types_have(any.types, RWF_UPDATE_QUOTE));
    assert_false(rates_types_have(any.types, RWF_UPDATE_UNSPECIFIED));
    assert_int_equal(any.interval_ms, 100);
    assert_true(is_exempt(&any, RWF_UPDATE_TRADE));
    assert_false(is_exempt(&any, RWF_UPDATE_QUOTE));
    rates_destroy(rates);
}

static void a_service_has_its_own_values_and_else_those_of_the_daemon(void **state)
{
    struct rates *rates = rules_of("*src_dist*conflateInterval : 100\n"
                                   "*src_dist*fieldFilter : drop 6\n"
                                   "*src_dist*updateTypeFilter : 2\n"
                                   "*src_dist.service.SLOW*conflateInterval : 1000\n"
                                   "*src_dist.service.SLOW*conflateExempt : 1\n"
                                   "*src_dist.service.ALL*conflateInterval : 0\n"
                                   "*src_dist.service.ALL*updateTypeFilter :\n"
                                   "*src_dist.service.ALL*fieldFilter :\n"
                                   "*src_dist.service.THIN*fieldFilter : keep 22, 25\n",
                                   "");
    struct rates_choice slow = choose(rates, "SLOW");
    struct rates_choice all = choose(rates, "ALL");
    struct rates_choice thin = choose(rates, "THIN");

    (void)state;
    assert_int_equal(slow.interval_ms, 1000);
    assert_false(rates_fields_keep(slow.fields, 6));
    assert_true(is_exempt(&slow, RWF_UPDATE_QUOTE));
    assert_false(is_exempt(&slow, RWF_UPDATE_TRADE));
    assert_int_equal(all.interval_ms, 0);
    assert_null(all.fields);
    assert_null(all.types);
    assert_int_equal(thin.interval_ms, 100);
    assert_true(is_exempt(&thin, RWF_UPDATE_TRADE));
    assert_true(rates_fields_keep(thin.fields, 22));
    assert_false(rates_fields_keep(thin.fields, 7));
    assert_non_null(thin.types);
    rates_destroy(rates);
}

/* A name of a service may have bytes that a path of rmds.cnf has not. */
static void a_service_is_found_by_its_name_in_the_file(void **state)
{
    struct rates *rates = rules_of("*src_dist.service.A_B*conflateInterval : 1000\n", "");

    (void)state;
    assert_int_equal(choose(rates, "A_B").interval_ms, 1000);
    assert_int_equal(choose(rates, "A.B").interval_ms, 1000);
    assert_int_equal(choose(rates, "A?B").interval_ms, 1000);
    assert_int_equal(choose(rates, "AXB").interval_ms, 0);
    assert_int_equal(choose(rates, "A_BC").interval_ms, 0);
    assert_int_equal(choose(rates, "").interval_ms, 0);
    rates_destroy(rates);
}

static void lines_of_the_file_go_before_all_parameters(void **state)
{
    struct rates *rates = rules_of("*src_dist*filterFile : f\n"
                                   "*src_dist*conflateInterval : 100\n"
                                   "*src_dist.service.S*conflateInterval : 200\n",
                                   "interval * IBM.N * 5\n");

    (void)state;
    assert_int_equal(choose(rates, "S").interval_ms, 5);
    rates_destroy(rates);
}

static void every_mistake_is_told_with_its_place(void **state)
{
    struct rates *rates;

    (void)state;
    assert_int_equal(read_rules("*src_dist*filterFile : f\n"
                                "*src_dist*fieldFilter : interval 5\n"
                                "*src_dist*updateTypeFilter : BUY\n"
                                "*src_dist*conflateExemptFields : TRDPRC_1\n"
                                "*src_dist.service.S*conflateExempt : 999\n"
                                "*src_dist.service.S*fieldFilter : keep\n",
                                "# one\nhold *\n", &rates),
                     MD_ERR_MALFORMED);
    assert_null(rates);
    assert_string_equal(
        found,
        "filterFile of src_dist line 2: hold: expected keep, drop, types or interval\n"
        "fieldFilter of S line 0: no field is named\n"
        "conflateExempt of S line 0: update type 999: expected a number up to 255, or a name as "
        "TRADE\n"
        "conflateExemptFields of S line 0: field TRDPRC_1: a name needs a field dictionary "
        "(dictionaryPath); write its number\n"
        "fieldFilter of src_dist line 0: expected keep FIELD... or drop FIELD...\n"
        "updateTypeFilter of src_dist line 0: update type BUY: expected a number up to 255, or a "
        "name as TRADE\n"
        "conflateExemptFields of src_dist line 0: field TRDPRC_1: a name needs a field dictionary "
        "(dictionaryPath); write its number\n");
}

static void a_value_that_is_too_long_is_a_mistake(void **state)
{
    char text[6000];
    struct rates *rates;

    (void)state;
    int length = snprintf(text, sizeof(text), "*src_dist*fieldFilter : drop");
    while (length < 5000)
        length += snprintf(text + length, sizeof(text) - (size_t)length, " 1");
    snprintf(text + length, sizeof(text) - (size_t)length, " 1709\n");
    assert_int_equal(read_rules(text, "", &rates), MD_ERR_MALFORMED);
    assert_non_null(strstr(found, "longer than 4,000 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_set_is_no_rule),
        cmocka_unit_test(a_value_of_the_daemon_is_for_all_services),
        cmocka_unit_test(a_service_has_its_own_values_and_else_those_of_the_daemon),
        cmocka_unit_test(a_service_is_found_by_its_name_in_the_file),
        cmocka_unit_test(lines_of_the_file_go_before_all_parameters),
        cmocka_unit_test(every_mistake_is_told_with_its_place),
        cmocka_unit_test(a_value_that_is_too_long_is_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
