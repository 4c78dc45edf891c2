/* test_rmdsmon.c - what the monitor shows of daemons that are well, hung, and dead. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "stats/segment.h"

struct fixture {
    char dir[128];
    char output[1u << 20];
    int rc;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(f);
    snprintf(f->dir, sizeof(f->dir), "%s/test_rmdsmon.XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char command[256];

    snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
    assert_int_equal(system(command), 0); /* NOLINT: our own folder */
    free(f);
    return 0;
}

static void run(struct fixture *f, const char *program, const char *options)
{
    char command[1024];

    snprintf(command, sizeof(command), "'%s/bin/%s' -run '%s' -watch 0 %s 2>&1 </dev/null",
             RMDS_BINARY_DIR, program, f->dir, options);
    FILE *pipe = popen(command, "r"); /* NOLINT: our own program */
    assert_non_null(pipe);
    size_t n = fread(f->output, 1, sizeof(f->output) - 1, pipe);
    f->output[n] = 0;
    f->rc = WEXITSTATUS(pclose(pipe));
}

static struct stats_segment *open_segment(struct fixture *f, const char *process)
{
    struct stats_config config = { .run_dir = f->dir, .process = process, .instance = "1" };
    struct stats_segment *segment;

    assert_int_equal(stats_segment_open(&config, &segment, NULL), MD_OK);
    stats_segment_beat(segment, md_clock_mono_ns());
    return segment;
}

static void expect(const struct fixture *f, const char *text)
{
    if (!strstr(f->output, text))
        fail_msg("no \"%s\" in:\n%s", text, f->output);
}

static void an_empty_host_has_nothing_to_show(void **state)
{
    run(*state, "rmdsmon", "--once");
    assert_int_equal(((struct fixture *)*state)->rc, 3);
    expect(*state, "0 instances");
}

static void a_healthy_daemon_is_ok_and_its_counters_are_shown(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");
    struct stats_entry *mounts = stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.worker.0.mounts");
    struct stats_entry *more = stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.worker.1.mounts");

    stats_gauge_set(mounts, 40);
    stats_gauge_set(more, 10);
    md_ctr_set(stats_counter(segment, "p2ps.worker.0.updatesIn"), 123456);
    stats_string_add(segment, "p2ps.mount.1.user", "evil\"\033[31m");
    run(f, "rmdsmon", "--once");
    assert_int_equal(f->rc, 0);
    expect(f, "p2ps.1         ok");
    expect(f, " 50 ");
    run(f, "rmdsmon", "--json");
    expect(f, "\"p2ps.worker.0.updatesIn\": 123456");
    expect(f, "evil\\\"\\u001b[31m");
    run(f, "rmdsmon", "-mobprint");
    expect(f, ".1.p2ps\n");
    expect(f, ".1.p2ps.worker.0\n");
    expect(f, "    mounts: Gauge: 40\n");
    expect(f, "Children:");
    expect(f, ".1.p2ps.user.evil\"\\x1b[31m\n");
    assert_null(strstr(f->output, "\033"));
    run(f, "rmdsmon", "-print MOUNTS");
    expect(f, "p2ps.worker.0.mounts");
    assert_null(strstr(f->output, "\033"));
    run(f, "rmdsmon", "-print NONSENSE");
    assert_int_equal(f->rc, 1);
    stats_segment_close(segment);
}

/* A line of the output is a name, a type, and the value last; `indent` deep in the objects. */
static void expect_typed(const struct fixture *f, const char *name, const char *type,
                         const char *value)
{
    char line[256];

    snprintf(line, sizeof(line), "%s: %s: %s\n", name, type, value);
    const char *found = strstr(f->output, line);
    if (!found || (found > f->output && found[-1] != ' ' && found[-1] != '\n'))
        fail_msg("no line \"%s\" in:\n%s", line, f->output);
}

static void collectors_find_objects_in_objects_and_values_last(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");

    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.worker.0.mounts"), 1);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.worker.1.mounts"), 2);
    stats_string_add(segment, "p2ps.config.h.1.p2ps.poolSize", "16000  rmds.cnf:4");
    stats_string_add(segment, "p2ps.config.h.1.p2ps.enableCache", "False  rmds.cnf:5");
    stats_string_add(segment, "p2ps.config.h.1.p2ps.writeThreadCpu.1", "3  rmds.cnf:6");
    stats_string_add(segment, "p2ps.config.h.1.p2ps.port.14002.pingTimeout", "30  rmds.cnf:7");
    run(f, "adsmon", "-mobprint");
    assert_int_equal(f->rc, 0);
    expect_typed(f, "mainThreadCpu", "String", "none");
    expect_typed(f, "writeThreadCpu.0", "String", "none");
    expect_typed(f, "writeThreadCpu.1", "String", "3");
    expect_typed(f, "itemThreadCpu.0", "String", "none");
    expect_typed(f, "itemThreadCpu.1", "String", "3"); /* a worker is both */
    expect_typed(f, "rrcpReadCpu", "String", "none");
    expect_typed(f, "poolSize", "Integer", "16000");
    expect_typed(f, "enableCache", "Boolean", "False");
    expect_typed(f, "pingTimeout", "String", "30");
    expect(f, "releaseVersion: String: 0.");
    expect(f, ".1.p2ps.port.14002\n");
    assert_null(strstr(f->output, "rmds.cnf"));
    const char *root = strstr(f->output, "Children:\n    Instance: ");
    assert_non_null(root); /* the objects of the daemon stand in it */
    assert_non_null(strstr(root, ".1.p2ps.worker.0\n    mounts: Gauge: 1\n"));
    stats_segment_close(segment);
    segment = open_segment(f, "src_dist");
    run(f, "adhmon", "-mobprint");
    expect_typed(f, "sourceThreadCpu.0", "String", "none");
    expect_typed(f, "filterThreadCpu", "String", "none");
    stats_segment_close(segment);
}

static void collectors_find_what_the_mounts_of_a_user_have_together(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");
    char path[64];

    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "p2ps.mount.0.%u.user", i);
        stats_string_add(segment, path, i == 1 ? "anna" : "bert");
        snprintf(path, sizeof(path), "p2ps.mount.0.%u.applicationId", i);
        stats_string_add(segment, path, i == 1 ? "7" : "256");
        snprintf(path, sizeof(path), "p2ps.mount.0.%u.items", i);
        stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, path), 10 + i);
        snprintf(path, sizeof(path), "p2ps.mount.0.%u.bytesOut", i);
        md_ctr_set(stats_counter(segment, path), 1000);
    }
    run(f, "p2psmon", "-mobprint");
    const char *anna = strstr(f->output, ".1.p2ps.user.anna\n    applicationId: String: 7\n");
    const char *bert = strstr(f->output, ".1.p2ps.user.bert\n    applicationId: String: 256\n");
    assert_true(anna && bert && anna < bert);
    assert_true(strstr(anna, "    total: Gauge: 11\n") < bert);
    assert_non_null(strstr(bert, "    mounts: Gauge: 2\n"));
    assert_non_null(strstr(bert, "    total: Gauge: 22\n"));
    assert_non_null(strstr(bert, "    bytesOut: Counter: 2000\n"));
    stats_segment_close(segment);
}

static void users_stand_beside_what_they_may_have(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");

    stats_string_add(segment, "p2ps.quota.1.user", "anna");
    stats_string_add(segment, "p2ps.quota.1.host", "10.1.2.3");
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.quota.1.refused"), 77);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.quota.1.mounts"), 3);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.quota.1.mountsMax"), 4);
    run(f, "p2psmon", "-print MOUNTS");
    expect(f, "TOP USER");
    const char *line = strstr(f->output, "anna");
    assert_non_null(line);
    unsigned refused, mounts, most;
    assert_int_equal(sscanf(line, "anna 10.1.2.3 %u %u %u", &refused, &mounts, &most), 3);
    assert_true(refused == 77 && mounts == 3 && most == 4);
    stats_segment_close(segment);
}

/* Control bytes, those of eight bits and those in UTF-8 among them, do as they like with a
 * terminal. */
static void has_no_control_bytes(const struct fixture *f)
{
    const uint8_t *text = (const uint8_t *)f->output;

    for (size_t i = 0; text[i]; i++) {
        bool is_follower = i > 0 && text[i - 1] >= 0x80;
        if ((text[i] < 0x20 && text[i] != '\n') || text[i] == 0x7f ||
            (text[i] == 0xc2 && text[i + 1] < 0xa0) ||
            (text[i] >= 0x80 && text[i] < 0xa0 && !is_follower))
            fail_msg("byte %02x at %zu of:\n%s", text[i], i, f->output);
    }
}

static void no_name_of_a_user_moves_the_cursor(void **state)
{
    static const char *const names[] = {
        "\033[2J\r\nred", "c1 \xc2\x9b;31m \x9b;31m", "a\"b,c", "</script>", "J\xc3\xa4ger",
    };
    static const char *const options[] = { "-print MOUNTS", "-once",     "-once -json",
                                           "--csv",         "-mobprint", "-print ALL" };
    static char longest[10001];
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");
    char path[64];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[62] = '\xc3'; /* where it is cut */
    for (unsigned i = 0; i < 6; i++) {
        snprintf(path, sizeof(path), "p2ps.quota.%u.user", i + 1);
        stats_string_add(segment, path, i < 5 ? names[i] : longest);
        snprintf(path, sizeof(path), "p2ps.mount.0.%u.user", i);
        stats_string_add(segment, path, i < 5 ? names[i] : longest);
    }
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        run(f, "p2psmon", options[i]);
        has_no_control_bytes(f);
    }
    run(f, "p2psmon", "-print MOUNTS");
    expect(f, "?[2J??red ");
    expect(f, "c1 ??;31m ?;31m ");
    expect(f, "a\"b,c ");
    expect(f, "J\xc3\xa4ger ");
    expect(f, "xxx? ");
    stats_segment_close(segment);
}

static void a_slow_consumer_is_a_warning(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");

    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.worker.0.mountsSlowNow"), 2);
    run(f, "rmdsmon", "--once");
    assert_int_equal(f->rc, 0);
    expect(f, "WARN");
    expect(f, "2 slow consumers\n");
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.worker.0.mountsSlowNow"), 1);
    run(f, "rmdsmon", "--once");
    expect(f, "1 slow consumer\n");
    stats_segment_close(segment);
}

static struct stats_entry *gauge(struct stats_segment *segment, const char *path, uint64_t value)
{
    struct stats_entry *entry = stats_entry_add(segment, STATS_KIND_GAUGE, path);

    stats_gauge_set(entry, value);
    return entry;
}

static void mounts_are_a_table_with_one_line_each(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");

    gauge(segment, "p2ps.mount.0.10.items", 1200);
    stats_string_add(segment, "p2ps.mount.0.10.user", "tenth");
    stats_string_add(segment, "p2ps.mount.0.9.user", "ninth\033[31m");
    stats_string_add(segment, "p2ps.mount.0.9.host", "10.1.2.3:5122");
    stats_string_add(segment, "p2ps.mount.0.9.kind", "JSON");
    gauge(segment, "p2ps.mount.0.9.buffers", 284);
    gauge(segment, "p2ps.mount.0.9.buffersMax", 400);
    gauge(segment, "p2ps.mount.0.9.slow", 1);
    gauge(segment, "p2ps.mount.0.9.rttUs", 1830);
    gauge(segment, "p2ps.mount.0.10.rttUs", 0);
    run(f, "p2psmon", "-print MOUNTS");
    expect(f, "   ID USER       HOST            KIND ITEMS BUFS   OF SLOW PER-SEC ");
    expect(f, "  0.9 ninth?[31m 10.1.2.3:5122   JSON     -  284  400 SLOW       - ");
    expect(f, "  1,830 ");
    expect(f, " 0.10 tenth ");
    expect(f, "     -      -      - -          -   -\n"); /* not measured */
    gauge(segment, "p2ps.mount.0.9.conflated", 1);
    gauge(segment, "p2ps.mount.0.9.firstSlow", 0); /* never */
    gauge(segment, "p2ps.mount.0.9.slowMerged", 51204);
    gauge(segment, "p2ps.mount.0.9.worstLagUs", 820);
    gauge(segment, "p2ps.mount.0.9.behindBytes", 7000);
    run(f, "p2psmon", "-print MOUNTS");
    expect(f, " LAG-OF USER       CONFLATED FIRST-SLOW   MERGED   LOST WORST-LAG-US  WAITING ");
    expect(f, "    0.9 ninth?[31m         1          -   51,204      -          820    7,000 ");
    gauge(segment, "p2ps.mount.0.9.items", 100000);
    gauge(segment, "p2ps.mount.0.9.msgsIn", 100100);
    gauge(segment, "p2ps.mount.0.9.msgsOut", 987654321);
    gauge(segment, "p2ps.mount.0.9.msgsOutRate", 201334);
    gauge(segment, "p2ps.mount.0.9.bytesOut", 123456789012);
    stats_string_add(segment, "p2ps.mount.0.9.position", "10.1.2.3/vega");
    run(f, "p2psmon", "-print MOUNTS");
    const char *table = strstr(f->output, "   ID USER");
    assert_non_null(table);
    if (strcspn(table, "\n") > 132) /* of a wide terminal */
        fail_msg("%zu wide:\n%s", strcspn(table, "\n"), table);
    expect(f, " 100,000 ");
    expect(f, " 987.7 M ");
    assert_true(strstr(f->output, "ninth") < strstr(f->output, "tenth"));
    assert_true(strstr(f->output, "ninth") < strstr(f->output, "tenth"));
    assert_null(strstr(f->output, "p2ps.mount."));     /* not a second time, value by value */
    gauge(segment, "p2ps.mount.0.9.somethingNew", 77); /* no column has it */
    run(f, "p2psmon", "-print MOUNTS");
    expect(f, "  p2ps.mount.0.9.somethingNew ");
    assert_null(strstr(f->output, "p2ps.mount.0.9.slowMerged"));
    expect(f, " SUM ");
    run(f, "p2psmon", "-print MOUNTS -sort ITEMS"); /* the most first, what has none last */
    assert_true(strstr(f->output, "ninth") < strstr(f->output, "tenth"));
    gauge(segment, "p2ps.mount.0.9.items", 3);
    run(f, "p2psmon", "-print MOUNTS -sort items");
    assert_true(strstr(f->output, "tenth") < strstr(f->output, "ninth"));
    expect(f, " 1,203 "); /* of both */
    run(f, "p2psmon", "-print MOUNTS -sort USER");
    assert_true(strstr(f->output, "ninth") < strstr(f->output, "tenth"));
    run(f, "p2psmon", "-print MOUNTS -sort COLOUR");
    assert_int_equal(f->rc, 1);
    expect(f, "-sort COLOUR: no table has this column");
    run(f, "p2psmon", "--csv");
    expect(f, ",71.0,"); /* the fullest queue */
    run(f, "p2psmon", "--once");
    expect(f, "queues are 71 % full");
    stats_segment_close(segment);
}

static void the_overview_is_sorted_by_what_is_asked_for(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *p2ps = open_segment(f, "p2ps");
    struct stats_segment *source = open_segment(f, "src_dist");

    gauge(p2ps, "p2ps.worker.0.mounts", 2);
    gauge(p2ps, "p2ps.worker.0.itemsOpen", 5);
    gauge(source, "src_dist.providers", 1);
    gauge(source, "src_dist.itemsOpen", 70);
    run(f, "rmdsmon", "--once");
    expect(f, "  1 publisher  2 consumers\n");
    assert_true(strstr(f->output, "p2ps.1") < strstr(f->output, "src_dist.1"));
    run(f, "rmdsmon", "--once -sort items");
    expect(f, "  by items\n");
    assert_true(strstr(f->output, "src_dist.1") < strstr(f->output, "p2ps.1"));
    run(f, "rmdsmon", "--once -sort clients");
    assert_true(strstr(f->output, "p2ps.1") < strstr(f->output, "src_dist.1"));
    run(f, "rmdsmon", "--once -sort colour");
    assert_int_equal(f->rc, 1);
    expect(f, "-sort colour: it is one of trouble name in out");
    stats_segment_close(p2ps);
    stats_segment_close(source);
}

static void what_parts_count_is_not_counted_again(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "src_dist");

    gauge(segment, "src_dist.itemsOpen", 7);
    gauge(segment, "src_dist.provider.0.itemsOpen", 7);
    gauge(segment, "src_dist.service.A.itemsOpen", 7);
    gauge(segment, "src_dist.memory.itemsOpen", 92000000);
    gauge(segment, "src_dist.providers", 2);
    gauge(segment, "memory.max.itemsOpen", 92000000);
    gauge(segment, "memory.max.providers", 92000000);
    run(f, "rmdsmon", "--json");
    expect(f, "\"items\": 7.0");
    expect(f, "\"clients\": 2.0");
    stats_segment_close(segment);
}

static void bytes_are_shown_for_people_too(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");
    struct stats_entry *resident = gauge(segment, "memory.resident", 3ull << 20);

    gauge(segment, "memory.max.images", 4625877744);
    stats_gauge_set(resident, 2u << 20);
    run(f, "rmdsmon", "-print ALL");
    expect(f, " 4625877744  4.31 GiB\n"); /* it has never changed: no "most" */
    expect(f, " 2097152 (most 3145728)  2.0 MiB\n");
    run(f, "rmdsmon", "-mobprint");
    expect(f,
           "memory.max\n        images: Gauge: 4625877744\n"); /* collectors get the number alone */
    stats_segment_close(segment);
}

static void other_nodes_and_readiness_of_rrcpd_are_shown(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "rrcpd.net1");

    gauge(segment, "rrcpd.net1.peersNow", 2);
    gauge(segment, "ready", 0);
    stats_string_add(segment, "trouble", "interface eth0 is down");
    run(f, "rrcpmon", "--once");
    assert_int_equal(f->rc, 5);
    expect(f, " 2 nodes ");
    expect(f, "WARN");
    expect(f, "interface eth0 is down\n");
    run(f, "rrcpmon", "--json");
    expect(f, "\"peers\": 2.0, \"ready\": 0.0");
    stats_segment_close(segment);
}

static void a_route_without_its_provider_is_a_warning(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "src_dist");

    stats_string_add(segment, "src_dist.route.1.state", "up");
    stats_string_add(segment, "src_dist.route.2.state", "waiting");
    stats_string_add(segment, "src_dist.route.2.host", "vega:14002");
    stats_string_add(segment, "src_dist.route.2.transport", "rsocket");
    run(f, "rmdsmon", "--once");
    expect(f, "WARN");
    expect(f, "1 route without provider");
    run(f, "rmdsmon", "-print ROUTES");
    expect(f, "       2 waiting      vega:14002                       rsocket ");
    stats_segment_close(segment);
}

static void turns_of_the_loops_are_shown_as_percentiles(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");
    struct md_hist *one = stats_histogram_add(segment, "p2ps.worker.0.turnUs");
    struct md_hist *other = stats_histogram_add(segment, "p2ps.worker.1.turnUs");

    for (int i = 0; i < 90; i++)
        md_hist_record(one, 10);
    for (int i = 0; i < 10; i++)
        md_hist_record(other, 200);
    run(f, "rmdsmon", "--json");
    expect(f, "\"turn_p50_us\": 10.0, \"turn_p99_us\": 200.0");
    run(f, "rmdsmon", "--once");
    expect(f, " 10/200 ");
    stats_segment_close(segment);
}

static void the_longest_round_trip_is_shown(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "p2ps");

    gauge(segment, "p2ps.mount.0.1.rttUs", 0);
    run(f, "rmdsmon", "--json");
    expect(f, "\"rtt_max_us\": null, \"repair_p50_us\": null, \"repair_p99_us\": null");
    run(f, "rmdsmon", "--once");
    expect(f, "  turn(us) rtt(us) queues clients ");
    expect(f, "         -       -      -       - ");
    gauge(segment, "p2ps.mount.0.2.rttUs", 410);
    gauge(segment, "p2ps.mount.1.3.rttUs", 1290);
    run(f, "rmdsmon", "--json");
    expect(f, "\"rtt_max_us\": 1290.0,");
    run(f, "rmdsmon", "--once");
    expect(f, "         -   1,290      -       - ");
    run(f, "rmdsmon", "--csv");
    expect(f, ",turn_p99_us,rtt_max_us,repair_p50_us,repair_p99_us,note,peers,ready\n");
    expect(f, ",1290.0,,,\"\",,\n");
    stats_segment_close(segment);
}

static void nodes_of_the_backbone_are_a_table(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "rrcpd.net1");

    stats_string_add(segment, "rrcpd.net1.peer.00000000000000ab.name", "vega.1");
    gauge(segment, "rrcpd.net1.peer.00000000000000ab.rttUs", 87);
    gauge(segment, "rrcpd.net1.peer.00000000000000ab.pktsLost", 3);
    stats_string_add(segment, "rrcpd.net1.peer.00000000000000cd.name", "new.1");
    gauge(segment, "rrcpd.net1.peer.00000000000000cd.rttUs", 0);
    md_ctr_set(stats_counter(segment, "rrcpd.net1.retransReqSent"), 5);
    md_ctr_set(stats_counter(segment, "rrcpd.net1.peer.00000000000000ab.retransReqSent"), 5);
    run(f, "rrcpmon", "-print RRCP");
    expect(f, " NODE             NAME                          RTT-US MISSING ");
    expect(f, " 00000000000000ab vega.1                            87       - ");
    expect(f, " 00000000000000cd new.1                              -       - ");
    assert_null(strstr(f->output, ".peer."));
    assert_null(strstr(f->output, "missing packets"));
    run(f, "rrcpmon", "--once");
    expect(f, " 5 nak 0 gap "); /* that of the node is one of these */
    stats_segment_close(segment);
}

static void the_time_that_repairs_took_is_shown(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "rrcpd.net1");

    for (unsigned long i = 0; i < 20; i++)
        stats_entry_addf(segment, STATS_KIND_COUNTER, "rrcpd.net1.recoverUs.below%lu", 1ul << i);
    md_ctr_set(stats_counter(segment, "rrcpd.net1.recoverUs.below256"), 90);
    md_ctr_set(stats_counter(segment, "rrcpd.net1.recoverUs.below4096"), 10);
    run(f, "rrcpmon", "--json");
    expect(f, "\"repair_p50_us\": 256.0, \"repair_p99_us\": 4096.0");
    run(f, "rrcpmon", "-print RRCP");
    expect(f, "missing packets were there after: half less than 256 us, 99 % less than 4096 us\n");
    md_ctr_set(stats_counter(segment, "rrcpd.net1.recoverUs.below524288"), 10); /* or longer */
    run(f, "rrcpmon", "-print RRCP");
    expect(f, ", 99 % more than 262144 us\n");
    stats_segment_close(segment);
}

static void a_daemon_whose_heart_stands_still_is_hung(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *segment = open_segment(f, "src_dist");

    stats_segment_beat(segment, md_clock_mono_ns() - 60 * MD_NS_PER_S);
    run(f, "rmdsmon", "--once");
    assert_int_equal(f->rc, 4);
    expect(f, "src_dist.1     HUNG");
    expect(f, "last heartbeat 60 s ago");
    stats_segment_close(segment);
}

static void a_daemon_that_was_killed_is_dead_and_still_readable(void **state)
{
    struct fixture *f = *state;
    int status;

    pid_t child = fork();
    if (child == 0) {
        struct stats_config config = { .run_dir = f->dir,
                                       .process = "rrcpd.net1",
                                       .instance = "1" };
        struct stats_segment *segment;
        if (stats_segment_open(&config, &segment, NULL) == MD_OK) {
            stats_segment_beat(segment, md_clock_mono_ns());
            md_ctr_set(stats_counter(segment, "rrcpd.net1.msgsRcvd"), 77);
        }
        _exit(0); /* without taking its segment away */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    run(f, "rmdsmon", "--once");
    assert_int_equal(f->rc, 4);
    expect(f, "rrcpd.net1.1   DEAD");
    run(f, "rmdsmon", "--json");
    expect(f, "\"rrcpd.net1.msgsRcvd\": 77");
    expect(f, "\"state\": \"DEAD\"");
}

static void each_name_shows_its_own_daemons(void **state)
{
    struct fixture *f = *state;
    struct stats_segment *p2ps = open_segment(f, "p2ps"), *rrcpd = open_segment(f, "rrcpd.net1");

    run(f, "p2psmon", "--csv");
    expect(f, "\np2ps.1,ok,");
    assert_null(strstr(f->output, "rrcpd"));
    run(f, "rrcpmon", "--csv");
    expect(f, "\nrrcpd.net1.1,ok,");
    run(f, "adsmon", "--csv");
    expect(f, "\np2ps.1,ok,");
    run(f, "adhmon", "--csv");
    assert_int_equal(f->rc, 3);
    stats_segment_close(p2ps);
    stats_segment_close(rrcpd);
}

static void a_file_that_is_no_segment_does_no_harm(void **state)
{
    struct fixture *f = *state;
    char path[256];

    snprintf(path, sizeof(path), "%s/p2ps.9", f->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/p2ps.9/stats", f->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a segment", file);
    fclose(file);
    run(f, "rmdsmon", "--once");
    assert_int_equal(f->rc, 4);
    expect(f, "cannot be read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_host_has_nothing_to_show, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_healthy_daemon_is_ok_and_its_counters_are_shown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(collectors_find_objects_in_objects_and_values_last, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(collectors_find_what_the_mounts_of_a_user_have_together,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(users_stand_beside_what_they_may_have, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_name_of_a_user_moves_the_cursor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slow_consumer_is_a_warning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_are_shown_for_people_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_nodes_and_readiness_of_rrcpd_are_shown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(mounts_are_a_table_with_one_line_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_overview_is_sorted_by_what_is_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_parts_count_is_not_counted_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_route_without_its_provider_is_a_warning, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(turns_of_the_loops_are_shown_as_percentiles, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_longest_round_trip_is_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nodes_of_the_backbone_are_a_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_time_that_repairs_took_is_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_whose_heart_stands_still_is_hung, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_that_was_killed_is_dead_and_still_readable, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_name_shows_its_own_daemons, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_segment_does_no_harm, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
