/* test_status.c - the segment as metrics and JSON, and the five things that are served. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "status/figures.h"
#include "status/status.h"
#include "json/parse.h"

struct fixture {
    struct stats_segment *segment;
    struct stats_reader *reader;
    struct status_facts facts;
    struct http_answer answer;
    struct md_log_line lines[2];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct stats_config config = { .process = "p2ps", .instance = "1" };

    *state = f;
    if (!f || stats_segment_open(&config, &f->segment, NULL) != MD_OK ||
        stats_reader_attach(f->segment, &f->reader) != MD_OK)
        return 1;
    uint64_t now_ns = md_clock_mono_ns();
    stats_segment_beat(f->segment, now_ns);
    f->facts = (struct status_facts){ .process = "p2ps",
                                      .instance = "1",
                                      .identity = "vega.1.p2ps",
                                      .mono_ns = now_ns,
                                      .wall_ns = md_clock_wall_ns(),
                                      .cpu_s = 1.5,
                                      .resident_bytes = 4096,
                                      .lines = f->lines };
    f->answer = (struct http_answer){ .status = 200 };
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->answer.text);
    stats_reader_close(f->reader);
    stats_segment_close(f->segment);
    free(f);
    return 0;
}

static void write_text(struct fixture *f,
                       void (*writer)(const struct stats_reader *, const struct status_facts *,
                                      struct http_answer *))
{
    free(f->answer.text);
    f->answer = (struct http_answer){ .status = 200 };
    assert_int_equal(stats_reader_refresh(f->reader), MD_OK);
    writer(f->reader, &f->facts, &f->answer);
    http_answer_add_bytes(&f->answer, "", 1);
    assert_false(f->answer.is_out_of_memory);
}

static void expect(const struct fixture *f, const char *text)
{
    if (!strstr(f->answer.text, text))
        fail_msg("no \"%s\" in:\n%s", text, f->answer.text);
}

static void values_become_families_and_labels(void **state)
{
    struct fixture *f = *state;

    md_ctr_set(stats_counter(f->segment, "p2ps.worker.0.updatesIn"), 7);
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "p2ps.worker.0.mounts"), 3);
    md_ctr_set(stats_counter(f->segment, "p2ps.mountsRejected"), 2);
    md_ctr_set(stats_counter(f->segment, "p2ps.worker.1.updatesIn"), 8);
    stats_string_add(f->segment, "p2ps.mount.0.12.user", "a\"b\\c\n\xff");
    stats_string_add(f->segment, "p2ps.service.A.B-C.state", "up");
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "p2ps.mount.0.12.rttUs"), 90);
    stats_string_add(f->segment, "p2ps.mount.0.12.host", "h:1");
    stats_string_add(f->segment, "p2ps.mount.0.2.user", "c");
    stats_string_add(f->segment, "p2ps.service.D.state", "down");
    md_ctr_set(stats_counter(f->segment, "p2ps.mount.0.12.bytesIn"), 77);
    md_ctr_set(stats_counter(f->segment, "p2ps.worker.1.marketfeedLost.date"), 4);
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "memory.max.images"), 9);
    md_ctr_set(&stats_entry_add(f->segment, STATS_KIND_TIME, "p2ps.tls.server.ends")->value,
               5000000000u);
    write_text(f, status_write_metrics);
    expect(f, "rmds_p2ps_tls_ends_timestamp_seconds{process=\"p2ps\",number=\"1\",tls="
              "\"server\"} 5");
    expect(f,
           "# HELP rmds_p2ps_worker_updates_in_total Updates from the backbone for items that are "
           "open here.\n"
           "# TYPE rmds_p2ps_worker_updates_in_total counter\n"
           "rmds_p2ps_worker_updates_in_total{process=\"p2ps\",number=\"1\",worker=\"0\"} 7\n"
           "rmds_p2ps_worker_updates_in_total{process=\"p2ps\",number=\"1\",worker=\"1\"} 8\n");
    expect(f, "# TYPE rmds_p2ps_worker_mounts gauge\n"
              "rmds_p2ps_worker_mounts{process=\"p2ps\",number=\"1\",worker=\"0\"} 3\n");
    expect(f, "rmds_p2ps_mounts_rejected_total{process=\"p2ps\",number=\"1\"} 2\n");
    expect(f,
           "rmds_p2ps_mount_info{process=\"p2ps\",number=\"1\",mount=\"0.12\",host=\"h:1\",user=\""
           "a\\\"b\\\\c\\\\x0a\\\\xff\"} 1\n"
           "rmds_p2ps_mount_info{process=\"p2ps\",number=\"1\",mount=\"0.2\",user=\"c\"} 1\n");
    expect(f, "rmds_p2ps_mount_rtt_seconds{process=\"p2ps\",number=\"1\",mount=\"0.12\"} 9e-05\n");
    expect(f, "rmds_p2ps_mount_in_bytes_total{process=\"p2ps\",number=\"1\",mount=\"0.12\"} 77\n");
    expect(f, "rmds_p2ps_service_state{process=\"p2ps\",number=\"1\",service=\"A.B-C\",state="
              "\"up\"} 1\n");
    expect(f, "rmds_p2ps_service_up{process=\"p2ps\",number=\"1\",service=\"A.B-C\"} 1\n"
              "rmds_p2ps_service_up{process=\"p2ps\",number=\"1\",service=\"D\"} 0\n");
    expect(f, "rmds_p2ps_worker_marketfeed_lost_total{process=\"p2ps\",number=\"1\",worker=\"1\","
              "reason=\"date\"} 4\n");
    expect(f, "rmds_memory_part_max_bytes{process=\"p2ps\",number=\"1\",part=\"images\"} 9\n");
    expect(f, "rmds_stats_dropped_total{process=\"p2ps\",number=\"1\"} 0\n");
    expect(f, "process_cpu_seconds_total 1.500\n");
    assert_string_equal(f->answer.type, "text/plain; version=0.0.4; charset=utf-8");
}

static void a_histogram_is_cumulative_and_complete(void **state)
{
    struct fixture *f = *state;
    struct md_hist *hist = stats_histogram_add(f->segment, "p2ps.worker.0.turnUs");

    md_hist_record(hist, 1);
    md_hist_record(hist, 100);
    md_hist_record(hist, 5000000);
    write_text(f, status_write_metrics);
    expect(f, "# TYPE rmds_p2ps_worker_turn_seconds histogram\n");
    expect(f, "worker=\"0\",le=\"1e-06\"} 1\n");
    expect(f, "worker=\"0\",le=\"6.4e-05\"} 1\n");
    expect(f, "worker=\"0\",le=\"0.000128\"} 2\n");
    expect(f, "worker=\"0\",le=\"1.048576\"} 2\n");
    expect(f, "worker=\"0\",le=\"+Inf\"} 3\n");
    expect(
        f,
        "rmds_p2ps_worker_turn_seconds_sum{process=\"p2ps\",number=\"1\",worker=\"0\"} 5.000101\n");
    expect(f,
           "rmds_p2ps_worker_turn_seconds_count{process=\"p2ps\",number=\"1\",worker=\"0\"} 3\n");
}

static void counters_of_a_time_by_its_bounds_are_a_histogram(void **state)
{
    struct fixture *f = *state;

    f->facts.process = "rrcpd.net1";
    md_ctr_set(stats_counter(f->segment, "rrcpd.net1.recoverUs.below1"), 1);
    md_ctr_set(stats_counter(f->segment, "rrcpd.net1.recoverUs.below16"), 5);
    md_ctr_set(stats_counter(f->segment, "rrcpd.net1.recoverUs.below2"), 2);
    md_ctr_set(stats_counter(f->segment, "rrcpd.net1.recoverUs.below524288"), 3);
    md_ctr_set(stats_counter(f->segment, "rrcpd.net1.recoverUs.sum"), 2500000);
    md_ctr_set(stats_counter(f->segment, "rrcpd.net1.drop.auth missing"), 6);
    write_text(f, status_write_metrics);
#define OF_NET1 "{process=\"rrcpd.net1\",number=\"1\",network=\"net1\""
    expect(f, "# TYPE rmds_rrcpd_recover_seconds histogram\n"
              "rmds_rrcpd_recover_seconds_bucket" OF_NET1 ",le=\"1e-06\"} 1\n"
              "rmds_rrcpd_recover_seconds_bucket" OF_NET1 ",le=\"2e-06\"} 3\n"
              "rmds_rrcpd_recover_seconds_bucket" OF_NET1 ",le=\"1.6e-05\"} 8\n"
              "rmds_rrcpd_recover_seconds_bucket" OF_NET1 ",le=\"+Inf\"} 11\n"
              "rmds_rrcpd_recover_seconds_sum" OF_NET1 "} 2.5\n"
              "rmds_rrcpd_recover_seconds_count" OF_NET1 "} 11\n");
    expect(f, "rmds_rrcpd_dropped_total" OF_NET1 ",reason=\"auth missing\"} 6\n");
}

static void a_network_of_src_dist_is_a_label(void **state)
{
    struct fixture *f = *state;

    f->facts.process = "src_dist";
    md_ctr_set(stats_counter(f->segment, "src_dist.updatesIn"), 3);
    md_ctr_set(stats_counter(f->segment, "src_dist.net2.updatesIn"), 4);
    write_text(f, status_write_metrics);
    expect(f,
           "rmds_src_dist_updates_in_total{process=\"src_dist\",number=\"1\",network=\"net2\"} 4\n"
           "rmds_src_dist_updates_in_total{process=\"src_dist\",number=\"1\"} 3\n");
}

static void old_names_are_shown_when_they_are_asked_for(void **state)
{
    struct fixture *f = *state;

    md_ctr_set(stats_counter(f->segment, "p2ps.worker.0.updatesIn"), 7);
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "p2ps.worker.0.loopMaxUs"), 52);
    stats_string_add(f->segment, "p2ps.mount.0.1.user", "jim");
    md_hist_record(stats_histogram_add(f->segment, "p2ps.worker.0.turnUs"), 100);
    write_text(f, status_write_metrics);
    assert_null(strstr(f->answer.text, "loop_max_us"));
    f->facts.has_old_names = true;
    write_text(f, status_write_metrics);
    expect(
        f,
        "rmds_p2ps_worker_loop_max_seconds{process=\"p2ps\",number=\"1\",worker=\"0\"} 5.2e-05\n");
    expect(f, "rmds_p2ps_worker_loop_max_us{process=\"p2ps\",number=\"1\",worker=\"0\"} 52\n");
    expect(
        f,
        "rmds_p2ps_mount_user_info{process=\"p2ps\",number=\"1\",mount=\"0.1\",value=\"jim\"} 1\n");
    expect(f, "rmds_p2ps_worker_turn_us_bucket{process=\"p2ps\",number=\"1\",worker=\"0\",le="
              "\"128\"} 1\n");
    const char *both = strstr(f->answer.text, "\nrmds_p2ps_worker_updates_in_total{");
    assert_non_null(both);
    assert_null(strstr(both + 1, "\nrmds_p2ps_worker_updates_in_total{"));
}

static void metrics_of_each_consumer_can_be_left_out(void **state)
{
    struct fixture *f = *state;

    stats_string_add(f->segment, "p2ps.mount.0.1.user", "jim");
    md_ctr_set(stats_counter(f->segment, "p2ps.mount.0.1.msgsIn"), 7);
    f->facts.leaves_out_clients = true;
    write_text(f, status_write_metrics);
    assert_null(strstr(f->answer.text, "mount=\""));
}

/* A program that counts what the table does not know is seen all the same, and shows what to do. */
static void a_statistic_without_a_row_has_a_name_by_rule(void **state)
{
    struct fixture *f = *state;

    md_ctr_set(stats_counter(f->segment, "p2ps.worker.0.newThing"), 7);
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "p2ps.worker.0.updatesIn"), 3);
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "p2ps.service.x.state"), 3);
    write_text(f, status_write_metrics);
    expect(f, "# HELP rmds_p2ps_worker_0_new_thing_total Without a description");
    expect(f, "rmds_p2ps_worker_0_new_thing_total{process=\"p2ps\",number=\"1\"} 7\n");
    expect(f, "rmds_p2ps_service_x_state{process=\"p2ps\",number=\"1\"} 3\n");
}

/* The rules of promtool check metrics, for every row of the table. */
static void each_row_of_the_table_has_a_name_that_promtool_likes(void **state)
{
    static const char *const abbreviated[] = { "us", "ms", "ns", "sec", "kb",
                                               "mb", "gb", "h",  "m",   "s" };
    char name[STATUS_METRIC_BYTES], copy[STATUS_METRIC_BYTES], *save;

    (void)state;
    for (size_t i = 0; i < status_figure_count; i++) {
        const struct status_figure *figure = &status_figures[i];
        status_metric_name(figure, name, sizeof(name));
        size_t length = strlen(name), help = strlen(figure->help);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"), length);
        assert_null(strstr(name, "__"));
        assert_true(name[length - 1] != '_');
        bool is_total = length > 6 && strcmp(name + length - 6, "_total") == 0;
        assert_int_equal(is_total, figure->shape == STATUS_COUNTER);
        assert_true(help > 10 && figure->help[help - 1] == '.' && !strpbrk(figure->help, "\\\n"));
        snprintf(copy, sizeof(copy), "%s", name);
        for (char *word = strtok_r(copy, "_", &save); word; word = strtok_r(NULL, "_", &save)) {
            for (size_t a = 0; a < sizeof(abbreviated) / sizeof(abbreviated[0]); a++)
                assert_string_not_equal(word, abbreviated[a]);
            assert_string_not_equal(word, "count");
            assert_string_not_equal(word, "bucket");
        }
        for (size_t j = 0; j < i; j++) {
            status_metric_name(&status_figures[j], copy, sizeof(copy));
            bool is_same_object = figure->shape == STATUS_TEXT &&
                                  status_figures[j].shape == STATUS_TEXT &&
                                  strcmp(figure->scope, status_figures[j].scope) == 0;
            if (!is_same_object)
                assert_string_not_equal(name, copy);
        }
    }
}

static void each_family_has_one_type_line_and_stands_together(void **state)
{
    struct fixture *f = *state;
    char seen[64][128];
    size_t count = 0;

    for (int i = 0; i < 20; i++) {
        stats_entry_addf(f->segment, STATS_KIND_COUNTER, "p2ps.worker.%d.updatesIn", i);
        stats_entry_addf(f->segment, STATS_KIND_GAUGE, "p2ps.worker.%d.mounts", i);
    }
    write_text(f, status_write_metrics);
    for (char *at = f->answer.text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        assert_true(count < 64);
        assert_int_equal(sscanf(at, "# TYPE %127s", seen[count]), 1);
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(seen[i], seen[count]);
        count++;
    }
    assert_true(count > 5);
}

static void json_has_every_value_and_the_last_words(void **state)
{
    struct fixture *f = *state;

    md_ctr_set(stats_counter(f->segment, "p2ps.worker.0.updatesIn"), 7);
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "p2ps.worker.0.mounts"), 30);
    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "p2ps.worker.0.mounts"), 3);
    stats_string_add(f->segment, "p2ps.mount.0.1.user", "a\"b\\\n\xc3\xa4\xff");
    md_hist_record(stats_histogram_add(f->segment, "p2ps.worker.0.turnUs"), 40);
    f->lines[0] =
        (struct md_log_line){ .wall_ns = 5, .severity = MD_LOG_WARNING, .text = "a \"b\"" };
    f->facts.line_count = 1;
    write_text(f, status_write_json);
    expect(f, "\"identity\":\"vega.1.p2ps\"");
    expect(f, "\"state\":\"ok\"");
    expect(f, "\"p2ps.worker.0.updatesIn\":7");
    expect(f, "\"p2ps.worker.0.mounts\":3,");
    expect(f, "\"p2ps.worker.0.mounts\":30}");
    expect(f, "\"p2ps.mount.0.1.user\":\"a\\\"b\\\\\\u000a\xc3\xa4\\u00ff\"");
    expect(f, "{\"count\":1,\"mean\":40.00,\"p50\":40,\"p99\":40,\"max\":40,\"buckets\":[[40,1]]}");
    expect(f, "{\"time_ns\":5,\"severity\":\"WARNING\",\"text\":\"a \\\"b\\\"\"}");
}

/* ---- users who choose their names ---- */

/* Each with what is shown of it: a control byte or half a character as its number, the rest as it
 * is. The page puts all of it into texts, and into no markup. */
static const struct {
    const char *name, *json, *label;
} names[] = {
    { "a\"b'c\\d`e", "a\\\"b'c\\\\d`e", "a\\\"b'c\\\\d`e" },
    { "</script><script>x()</script>", NULL, NULL },
    { "{\"a\":[1,2]},", "{\\\"a\\\":[1,2]},", "{\\\"a\\\":[1,2]}," },
    { "new\nline 1", "new\\u000aline 1", "new\\\\x0aline 1" },
    { "\x1b[31mred\r\t\x7f", "\\u001b[31mred\\u000d\\u0009\\u007f",
      "\\\\x1b[31mred\\\\x0d\\\\x09\\\\x7f" },
    { "\xc2\x9b;31m", "\\u00c2\\u009b;31m", "\\\\xc2\\\\x9b;31m" },
    { "J\xc3\xa4ger \xff\xc0\xaf", "J\xc3\xa4ger \\u00ff\\u00c0\\u00af",
      "J\xc3\xa4ger \\\\xff\\\\xc0\\\\xaf" },
    { "}\" 1\n# HELP x", "}\\\" 1\\u000a# HELP x", "}\\\" 1\\\\x0a# HELP x" },
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static void add_quotas(struct fixture *f)
{
    static char longest[10001];
    char path[64];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[62] = '\xc3'; /* where it is cut */
    longest[63] = '\xa4';
    for (size_t i = 0; i <= NAMES; i++) {
        snprintf(path, sizeof(path), "p2ps.quota.%zu.user", i + 1);
        stats_string_add(f->segment, path, i < NAMES ? names[i].name : longest);
        snprintf(path, sizeof(path), "p2ps.quota.%zu.refused", i + 1);
        stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, path), i + 1);
    }
}

static void expect_names(const struct fixture *f, bool is_json)
{
    char wanted[300];

    for (size_t i = 0; i < NAMES; i++) {
        const char *shown = is_json ? names[i].json : names[i].label;
        if (is_json)
            snprintf(wanted, sizeof(wanted), "\"p2ps.quota.%zu.user\":\"%s\"", i + 1,
                     shown ? shown : names[i].name);
        else
            snprintf(wanted, sizeof(wanted), "quota=\"%zu\",user=\"%s\"", i + 1,
                     shown ? shown : names[i].name);
        expect(f, wanted);
    }
}

static void no_name_of_a_user_breaks_the_json(void **state)
{
    struct fixture *f = *state;

    add_quotas(f);
    write_text(f, status_write_json);
    expect_names(f, true);
    expect(f, "xxx\\u00c3\"");
    assert_null(strstr(f->answer.text, "xxxx\xa4"));
    struct json_parse parse = { .text = (const uint8_t *)f->answer.text,
                                .length = strlen(f->answer.text),
                                .is_strict = true };
    if (!json_parse(&parse))
        fail_msg("%s: %s", parse.what, f->answer.text + parse.at);
}

/* A line is a comment, or a name with its labels and a number. */
static void no_name_of_a_user_breaks_a_line_of_the_metrics(void **state)
{
    struct fixture *f = *state;

    add_quotas(f);
    write_text(f, status_write_metrics);
    expect_names(f, false);
    for (char *line = strtok(f->answer.text, "\n"); line; line = strtok(NULL, "\n")) {
        for (const char *at = line; *at; at++)
            assert_true((uint8_t)*at >= 0x20 && *at != 0x7f);
        if (line[0] == '#') {
            assert_true(strncmp(line, "# HELP rmds_", 12) == 0 ||
                        strncmp(line, "# TYPE rmds_", 12) == 0 ||
                        strncmp(line, "# HELP process_", 15) == 0 ||
                        strncmp(line, "# TYPE process_", 15) == 0);
            continue;
        }
        const char *number = strrchr(line, ' ');
        assert_non_null(number);
        assert_int_equal(strspn(number + 1, "+-.0123456789eInfNa"), strlen(number + 1));
    }
}

static void the_daemons_of_the_host_are_listed_with_their_pages(void **state)
{
    struct fixture *f = *state;
    const char *base = getenv("TMPDIR");
    char folder[256], path[300];
    struct stats_config config = { .process = "rrcpd.net1", .instance = "2" };
    struct stats_segment *other;
    struct status_daemon found[STATUS_DAEMONS_MAX];

    snprintf(folder, sizeof(folder), "%s/test_status.XXXXXX", base ? base : "/tmp");
    config.run_dir = mkdtemp(folder);
    assert_non_null(config.run_dir);
    assert_int_equal(status_look_around(folder, 0, found), 0);
    assert_int_equal(stats_segment_open(&config, &other, NULL), MD_OK);
    stats_string_add(other, "rrcpd.net1.config.x.2.rrcpd.statusPortable", "1  t.cnf:1");
    stats_string_add(other, "rrcpd.net1.config.x.2.rrcpd.statusPort", "18083  t.cnf:12");
    stats_gauge_set(stats_entry_add(other, STATS_KIND_GAUGE, "rrcpd.net1.peersNow"), 2);
    md_ctr_set(stats_counter(other, "rrcpd.net1.msgsSent"), 77);
    md_ctr_set(stats_counter(other, "rrcpd.net1.user.1.msgsSent"), 77); /* a part of it */
    stats_string_add(other, "rrcpd.net1.user.1.name", "src_dist.1");
    stats_string_add(other, "rrcpd.net1.peer.7.name", "vega.1.rrcpd");
    stats_gauge_set(stats_entry_add(other, STATS_KIND_GAUGE, "rrcpd.net1.peer.7.rttUs"), 41);
    stats_gauge_set(stats_entry_add(other, STATS_KIND_GAUGE, "rrcpd.net1.peer.7.missingNow"), 3);
    uint64_t now_ns = md_clock_mono_ns();
    stats_segment_beat(other, now_ns);
    assert_int_equal(status_look_around(folder, now_ns, found), 1);
    f->facts.daemons = found;
    f->facts.daemon_count = 1;
    write_text(f, status_write_json);
    expect(
        f,
        "\"host\":[\n {\"name\":\"rrcpd.net1.2\",\"state\":\"ok\",\"port\":18083,\"note\":\"\",");
    expect(f, "\"figures\":{\"peersNow\":2,\"msgsSent\":77},\"users\":[{\"name\":\"src_dist.1\","
              "\"rttUs\":0,\"missingNow\":0}],\"nodes\":[{\"name\":\"vega.1.rrcpd\",\"rttUs\":41,"
              "\"missingNow\":3}]}]");
    assert_int_equal(status_look_around(folder, now_ns + 60 * MD_NS_PER_S, found), 1);
    write_text(f, status_write_json);
    expect(f, "\"state\":\"hung\",\"port\":18083,");
    stats_segment_close(other);
    snprintf(path, sizeof(path), "%s/rrcpd.net1.2", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void what_the_configuration_sets_is_told_with_its_line(void **state)
{
    struct fixture *f = *state;
    struct md_conf_options options = { .program = "p2ps", .node = "vega" };
    const char *text = "! a comment\n*p2ps*maxMounts : 17\n";
    struct md_conf *conf;

    assert_int_equal(md_conf_load_text(&options, "/etc/rmds/t.cnf", text, strlen(text), &conf),
                     MD_OK);
    status_show_config(f->segment, "p2ps", conf);
    write_text(f, status_write_json);
    expect(f, ".maxMounts\":\"17  t.cnf:2\"");
    assert_null(strstr(f->answer.text, "itemLimit"));
    write_text(f, status_write_metrics);
    expect(f, "rmds_config_info{process=\"p2ps\",number=\"1\",path=\"vega.1.p2ps.maxMounts\",value="
              "\"17  t.cnf:2\"} 1\n");
    md_conf_destroy(conf);
}

static void a_heart_that_stands_still_is_told(void **state)
{
    struct fixture *f = *state;

    f->facts.mono_ns += 60 * MD_NS_PER_S;
    write_text(f, status_write_json);
    expect(f, "\"state\":\"hung\"");
    expect(f, "\"heartbeat_age_s\":60.0");
    write_text(f, status_write_metrics);
    expect(f, "rmds_heartbeat_age_seconds{process=\"p2ps\",number=\"1\"} 60.000\n");
}

static void a_daemon_is_ready_while_nothing_keeps_it_from_its_work(void **state)
{
    struct fixture *f = *state;

    write_text(f, status_write_ready);
    assert_int_equal(f->answer.status, 503);
    assert_string_equal(f->answer.text, "not ready: starting\n");
    struct stats_entry *ready = stats_entry_add(f->segment, STATS_KIND_GAUGE, "ready");
    write_text(f, status_write_ready);
    assert_int_equal(f->answer.status, 503);
    expect(f, "not ready: waiting for what it needs");
    stats_gauge_set(ready, 1);
    write_text(f, status_write_ready);
    assert_int_equal(f->answer.status, 200);
    assert_string_equal(f->answer.text, "ready\n");
    stats_string_add(f->segment, "trouble", "no service is offered\r\nX: y");
    write_text(f, status_write_ready);
    assert_int_equal(f->answer.status, 503);
    assert_string_equal(f->answer.text, "not ready: no service is offered\\\\x0d\\\\x0aX: y\n");
    write_text(f, status_write_health);
    assert_int_equal(f->answer.status, 200);
    assert_string_equal(f->answer.text, "ok\n");
}

static void a_daemon_with_a_thread_that_hangs_is_neither_well_nor_ready(void **state)
{
    struct fixture *f = *state;

    stats_gauge_set(stats_entry_add(f->segment, STATS_KIND_GAUGE, "ready"), 1);
    f->facts.mono_ns += 7 * MD_NS_PER_S;
    write_text(f, status_write_health);
    assert_int_equal(f->answer.status, 503);
    expect(f, "hung: a thread of vega.1.p2ps hangs, no heartbeat for 7 s");
    write_text(f, status_write_ready);
    assert_int_equal(f->answer.status, 503);
    expect(f, "not ready: a thread of vega.1.p2ps hangs, no heartbeat for 7 s");
}

static void warnings_and_notices_are_remembered_in_order(void **state)
{
    struct md_log_config config = { .identity = "t", .severity_max = MD_LOG_DEBUG };
    struct md_log_line lines[MD_LOG_RECENT_MAX];

    (void)state;
    assert_int_equal(md_log_open(&config), MD_OK);
    md_log(MD_LOG_NOTICE, "all is well");
    md_log(MD_LOG_WARNING, "mount: \x1b slow");
    md_log(MD_LOG_ERROR, "worse");
    md_log(MD_LOG_INFO, "not worth a line");
    md_log_flush();
    assert_int_equal(md_log_recent(lines, MD_LOG_RECENT_MAX), 3);
    assert_string_equal(lines[0].text, "all is well");
    assert_string_equal(lines[1].text, "mount: \\x1b slow");
    assert_int_equal(lines[2].severity, MD_LOG_ERROR);
    assert_int_equal(md_log_recent(lines, 1), 1);
    assert_string_equal(lines[0].text, "worse");
    md_log_close();
}

/* A static place may log five lines a second: each of these is a place of its own. */
#define NOTICE(n)                                                                                  \
    md_log(MD_LOG_NOTICE, "note " #n "0");                                                         \
    md_log(MD_LOG_NOTICE, "note " #n "1");                                                         \
    md_log(MD_LOG_NOTICE, "note " #n "2");                                                         \
    md_log(MD_LOG_NOTICE, "note " #n "3")

static void notices_drive_no_warning_out(void **state)
{
    struct md_log_config config = { .identity = "t", .severity_max = MD_LOG_DEBUG };
    struct md_log_line lines[MD_LOG_RECENT_MAX];
    unsigned warnings = 0;

    (void)state;
    assert_int_equal(md_log_open(&config), MD_OK);
    md_log(MD_LOG_WARNING, "before them all");
    for (int i = 0; i < 4; i++) {
        NOTICE(1);
        NOTICE(2);
        NOTICE(3);
        NOTICE(4);
    }
    md_log_flush();
    unsigned count = md_log_recent(lines, MD_LOG_RECENT_MAX);
    for (unsigned i = 0; i < count; i++)
        warnings += strcmp(lines[i].text, "before them all") == 0;
    assert_int_equal(warnings, 1);
    assert_string_equal(lines[count - 1].text, "note 43");
    for (unsigned i = 1; i < count; i++)
        assert_true(lines[i - 1].wall_ns <= lines[i].wall_ns);
    md_log_close();
}

static void the_last_hour_is_told_with_what_is_not_known(void **state)
{
    struct stats_sample samples[2] = { { .wall_ns = 1500000000 }, { .wall_ns = 6500000000 } };
    struct fixture *f = *state;

    for (size_t i = 0; i < STATS_HISTORY_VALUES; i++)
        samples[0].values[i] = samples[1].values[i] = NAN;
    samples[1].values[STATS_HISTORY_IN] = 1234567;
    samples[1].values[STATS_HISTORY_ITEMS] = 0.25f;
    f->facts.samples = samples;
    f->facts.sample_count = 2;
    write_text(f, status_write_history);
    expect(f, "\n[1.500,null,null,");
    expect(f, ",\n[6.500,1.23457e+06,null,");
    expect(f, ",null,0.25]]}\n");
}

/* ---- over the wire ---- */

static struct status *serve(struct fixture *f, struct md_loop *loop, struct md_conf *conf)
{
    static struct md_conf_object daemon;
    struct status_config config = { .loop = loop,
                                    .daemon = &daemon,
                                    .segment = f->segment,
                                    .run_dir = "/nowhere",
                                    .process = "p2ps",
                                    .instance = "1",
                                    .identity = "vega.1.p2ps" };
    struct status *status;

    daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    assert_int_equal(status_open(&config, &status), MD_OK);
    return status;
}

static struct md_conf *configure(const char *text)
{
    struct md_conf_options options = { .program = "p2ps" };
    struct md_conf *conf;

    assert_int_equal(md_conf_load_text(&options, "t.cnf", text, strlen(text), &conf), MD_OK);
    return conf;
}

static uint16_t free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void ask(struct md_loop *loop, uint16_t port, const char *path, const char *host, char *out,
                size_t size)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    char request[256];
    size_t length = 0;
    ssize_t got = -1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
             path, host);
    assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
    for (int i = 0; i < 10000 && got != 0; i++) {
        assert_int_equal(md_loop_turn(loop, MD_NS_PER_MS), MD_OK);
        got = recv(fd, out + length, size - 1 - length, MSG_DONTWAIT);
        length += got > 0 ? (size_t)got : 0;
    }
    assert_int_equal(got, 0);
    out[length] = 0;
    close(fd);
}

static void seven_things_are_served_and_nothing_else(void **state)
{
    static char out[1 << 20];
    struct fixture *f = *state;
    struct md_loop *loop;
    char text[128];
    uint16_t port = free_port();

    snprintf(text, sizeof(text), "*p2ps*statusPort : %u\n", port);
    struct md_conf *conf = configure(text);
    assert_int_equal(md_loop_create(0, &loop), MD_OK);
    struct status *status = serve(f, loop, conf);
    assert_int_equal(status_port(status), port);
    ask(loop, port, "/", "127.0.0.1", out, sizeof(out));
    assert_non_null(strstr(out, "Content-Type: text/html"));
    assert_non_null(strstr(out, "</html>"));
    ask(loop, port, "/metrics", "localhost:1", out, sizeof(out));
    assert_non_null(strstr(out, "rmds_stats_dropped_total"));
    ask(loop, port, "/status.json?again", "[::1]", out, sizeof(out));
    assert_non_null(strstr(out, "\"values\":{"));
    ask(loop, port, "/history.json", "127.0.0.1", out, sizeof(out));
    assert_non_null(strstr(out, "\"columns\":[\"time\",\"in\",\"out\","));
    assert_non_null(strstr(out, "\"samples\":[]}"));
    ask(loop, port, "/history.json", "evil.example", out, sizeof(out));
    assert_non_null(strstr(out, "HTTP/1.1 403 "));
    ask(loop, port, "/../etc/passwd", "127.0.0.1", out, sizeof(out));
    assert_non_null(strstr(out, "HTTP/1.1 404 "));
    /* A page from elsewhere, whose own name was made to lead here. */
    ask(loop, port, "/status.json", "evil.example", out, sizeof(out));
    assert_non_null(strstr(out, "HTTP/1.1 403 "));
    /* A probe asks with the name under which its owner knows the host. */
    ask(loop, port, "/healthz", "vega", out, sizeof(out));
    assert_non_null(strstr(out, "HTTP/1.1 200 "));
    ask(loop, port, "/ready", "vega.example:8081", out, sizeof(out));
    assert_non_null(strstr(out, "HTTP/1.1 503 "));
    assert_non_null(strstr(out, "\r\n\r\nnot ready: starting\n"));
    status_close(status);
    md_loop_destroy(loop);
    md_conf_destroy(conf);
}

static void pages_of_other_hosts_read_what_they_may(void **state)
{
    static char out[1 << 20];
    struct md_loop *loop;
    uint16_t port = free_port();
    char text[256];

    snprintf(text, sizeof(text),
             "*p2ps*statusPort : %u\n*p2ps*statusPeers : gw1:8081, [fd00::1]:8081, gw2, x y:1, "
             "gw2:99999, gw2:8081;\n",
             port);
    struct md_conf *conf = configure(text);
    assert_int_equal(md_loop_create(0, &loop), MD_OK);
    struct status *status = serve(*state, loop, conf);
    ask(loop, port, "/", "127.0.0.1", out, sizeof(out));
    assert_non_null(
        strstr(out, "connect-src 'self' http://gw1:8081 http://[fd00::1]:8081; base-uri 'none'"));
    assert_null(strstr(out, "Access-Control"));
    ask(loop, port, "/host.json", "127.0.0.1\r\nOrigin: http://gw1:8081", out, sizeof(out));
    assert_non_null(strstr(out, "\r\nAccess-Control-Allow-Origin: http://gw1:8081\r\n"));
    assert_non_null(strstr(out, "\"host\":["));
    /* Nobody else, and nothing else. */
    static const char *const strangers[] = { "http://gw1:80811", "http://gw1",
                                             "https://gw1:8081", "null",
                                             "http://gw2:8081",  "" };
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        char host[128];
        snprintf(host, sizeof(host), "127.0.0.1\r\nOrigin: %s", strangers[i]);
        ask(loop, port, "/host.json", host, out, sizeof(out));
        assert_null(strstr(out, "Access-Control"));
    }
    ask(loop, port, "/host.json", "127.0.0.1\r\nOrigin: http://gw1:8081\r\nOrigin: http://gw1:8081",
        out, sizeof(out));
    assert_null(strstr(out, "Access-Control"));
    ask(loop, port, "/status.json", "127.0.0.1\r\nOrigin: http://gw1:8081", out, sizeof(out));
    assert_null(strstr(out, "Access-Control"));
    assert_non_null(strstr(out, "\"peers\":[\"gw1:8081\",\"[fd00::1]:8081\"]"));
    status_close(status);
    md_loop_destroy(loop);
    md_conf_destroy(conf);
}

static void without_a_port_nothing_listens(void **state)
{
    struct md_conf *conf = configure("*p2ps*rsslPort : 14002\n");
    struct md_loop *loop;

    assert_int_equal(md_loop_create(0, &loop), MD_OK);
    assert_null(serve(*state, loop, conf));
    md_loop_destroy(loop);
    md_conf_destroy(conf);
}

static void the_page_needs_nothing_from_elsewhere(void **state)
{
    char line[4096];
    FILE *page = fopen(RMDS_SOURCE_DIR "/src/status/page.html", "r");

    (void)state;
    assert_non_null(page);
    while (fgets(line, sizeof(line), page)) {
        /* A name space, and the other hosts of statusPeers: "http://" + peer. */
        for (char *at = line; (at = strstr(at, "http")) != NULL; at++)
            assert_true(strncmp(at, "http://www.w3.org/2000/svg", 26) == 0 ||
                        strncmp(at, "http://\" + p", 12) == 0 || strncmp(at, "http:\"", 6) == 0);
        assert_null(strstr(line, "innerHTML")); /* texts from outside stay text */
    }
    fclose(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_become_families_and_labels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_histogram_is_cumulative_and_complete, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counters_of_a_time_by_its_bounds_are_a_histogram, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_network_of_src_dist_is_a_label, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_names_are_shown_when_they_are_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(metrics_of_each_consumer_can_be_left_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_statistic_without_a_row_has_a_name_by_rule, set_up,
                                        tear_down),
        cmocka_unit_test(each_row_of_the_table_has_a_name_that_promtool_likes),
        cmocka_unit_test_setup_teardown(each_family_has_one_type_line_and_stands_together, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(json_has_every_value_and_the_last_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_name_of_a_user_breaks_the_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_name_of_a_user_breaks_a_line_of_the_metrics, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_daemons_of_the_host_are_listed_with_their_pages, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_the_configuration_sets_is_told_with_its_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_heart_that_stands_still_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_hour_is_told_with_what_is_not_known, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_is_ready_while_nothing_keeps_it_from_its_work,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_with_a_thread_that_hangs_is_neither_well_nor_ready,
                                        set_up, tear_down),
        cmocka_unit_test(warnings_and_notices_are_remembered_in_order),
        cmocka_unit_test(notices_drive_no_warning_out),
        cmocka_unit_test_setup_teardown(seven_things_are_served_and_nothing_else, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_port_nothing_listens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_of_other_hosts_read_what_they_may, set_up, tear_down),
        cmocka_unit_test(the_page_needs_nothing_from_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
