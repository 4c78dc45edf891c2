/* test_conf_messages.c - each kind of mistake in rmds.cnf and exactly what is said about it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "conf/conf.h"

struct said {
    char text[4096];
};

static void listen_to(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                      const char *text)
{
    static const char *const names[] = { "note", "warning", "error" };
    struct said *said = arg;
    size_t used = strlen(said->text);

    snprintf(said->text + used, sizeof(said->text) - used, "%s%s %s:%u %s", used ? "\n" : "",
             names[severity], file ? file : "-", line, text);
}

static void load(const char *program, const char *text, size_t length, bool strict,
                 struct said *said, int *rc)
{
    const struct md_conf_options options = {
        .program = program,
        .node = "vega",
        .strict = strict,
        .sink = listen_to,
        .sink_arg = said,
    };
    struct md_conf *conf;

    said->text[0] = '\0';
    *rc = md_conf_load_text(&options, "f", text, length, &conf);
    assert_non_null(conf);
    md_conf_destroy(conf);
}

static const struct {
    const char *text, *expected;
} cases[] = {
    { "*p2ps*flushIntervall : 20\n", "warning f:1 *p2ps*flushIntervall: unknown parameter; did you "
                                     "mean flushInterval? (ignored)" },
    { "*p2ps*blorp : 1\n", "warning f:1 *p2ps*blorp: unknown parameter (ignored)" },
    { "*route*port : fourteen\n",
      "error f:1 *route*port: \"fourteen\" is not a port (1..65535, or a name of /etc/services); "
      "example: *Src_Dist*1.route*port : 14102" },
    { "*route*port : 70000\n",
      "error f:1 *route*port: \"70000\" is not a port (1..65535, or a name of /etc/services); "
      "example: *Src_Dist*1.route*port : 14102" },
    { "*p2ps*maxMounts : many\n", "error f:1 *p2ps*maxMounts: \"many\" is not a number (1..65000), "
                                  "alone or with k, K, M, G; example: *p2ps*maxMounts : 2000" },
    { "*memoryLimit : much\n",
      "error f:1 *memoryLimit: \"much\" is not a number (0..1048576M), alone or with k, K, M, G, "
      "kB, KB, MB, GB; example: *memoryLimit : 2G" },
    { "*logTarget : flie\n",
      "error f:1 *logTarget: \"flie\" is not a list of file, stderr, syslog or journal; example: "
      "*logTarget : stderr" },
    { "*logTarget : syslog, File\n", "" },
    { "*multicastAddress : 10.1.2.3\n",
      "error f:1 *multicastAddress: \"10.1.2.3\" is neither a multicast group (224.0.0.0 to "
      "239.255.255.255, ff00::/8) nor the broadcast address of a subnet (as 10.1.2.255); example: "
      "*rrcp*multicastAddress : 239.255.82.83" },
    { "*multicastAddress : 10.1.2.63\n", "" },
    { "*multicastAddress : ff15::5252\n", "" },
    { "*interface : 10.1.2\n",
      "error f:1 *interface: \"10.1.2\" is not an address (as 127.0.0.1, ff15::5252, eth0); "
      "example: *rrcp*interface : eth0" },
    { "p2ps.maxMounts : 700\n", "warning f:1 p2ps.maxMounts: a path begins with node and "
                                "instance; write *p2ps.maxMounts (ignored)" },
    { "*p2ps*maxMounts : 65001\n",
      "error f:1 *p2ps*maxMounts: \"65001\" is out of range (1..65000 connections); example: "
      "*p2ps*maxMounts : 2000" },
    { "*p2ps*timedWrites : maybe\n",
      "error f:1 *p2ps*timedWrites: \"maybe\" is not a Boolean (True "
      "or False); example: *p2ps*timedWrites : True" },
    { "*p2ps*flushInterval : 20 minutes\n",
      "error f:1 *p2ps*flushInterval: \"20 minutes\" is not a time (a number of ms, or a number "
      "with us, ms, s, min or h, as 500ms); example: *p2ps*flushInterval : 500ms" },
    { "*p2ps*flushInterval : 2s\n",
      "error f:1 *p2ps*flushInterval: \"2s\" is out of range (0s..1s); example: "
      "*p2ps*flushInterval : 500ms" },
    { "*schedPolicy : idle\n", "error f:1 *schedPolicy: \"idle\" is not one of other or fifo; "
                               "example: *schedPolicy : fifo" },
    { "*cacheLocation : here\n",
      "error f:1 *cacheLocation: \"here\" is not one of srcApp, srcDist or none; example: "
      "*Src_Dist*RDFD*cacheLocation : srcApp" },
    { "*mainThreadCpu : one\n", "error f:1 *mainThreadCpu: \"one\" is not a list of CPUs (as "
                                "0,2-4); example: *mainThreadCpu : 0,2-4" },
    { "*multicastAddress : 239.255.82.82/24\n",
      "error f:1 *multicastAddress: \"239.255.82.82/24\" is neither a multicast group (224.0.0.0 "
      "to "
      "239.255.255.255, ff00::/8) nor the broadcast address of a subnet (as 10.1.2.255); example: "
      "*rrcp*multicastAddress : 239.255.82.83" },
    { "*multicastAddress : 239.255.82.300\n",
      "error f:1 *multicastAddress: \"239.255.82.300\" is neither a multicast group (224.0.0.0 to "
      "239.255.255.255, ff00::/8) nor the broadcast address of a subnet (as 10.1.2.255); example: "
      "*rrcp*multicastAddress : 239.255.82.83" },
    { "*rrcp*lossPct : 101\n", "error f:1 *rrcp*lossPct: \"101\" is out of range (0..100 %); "
                               "example: *rrcp*lossPct : 10" },
    { "*rrcp*lossPct : few\n", "error f:1 *rrcp*lossPct: \"few\" is not a percentage (0..100); "
                               "example: *rrcp*lossPct : 10" },
    { "*p2sp*poolSize : 5\n",
      "warning f:1 *p2sp*poolSize: \"p2sp\" is taken as the name of a node, "
      "user or service; did you mean p2ps?" },
    { "*rrcp*poolSize : 5\n",
      "warning f:1 *rrcp*poolSize: no object of this path has poolSize; it belongs to p2ps, "
      "src_dist.server.ipc.transmissionBus (ignored)" },
    { "*p2ps*? : 1\n", "warning f:1 *p2ps*?: '?' cannot stand for a parameter (ignored)" },
    { "*p2ps*postAckTimeout : 15001\n*p2ps*postAckTimeout : 15001\n",
      "warning f:2 *p2ps*postAckTimeout: not in this version (ignored)" },
    { "*p2ps*postAckTimeout : 0\n*authTokenName : 3\n",
      "warning f:1 *p2ps*postAckTimeout: not in this version (ignored)\n"
      "warning f:2 *authTokenName: not in this version (ignored)" },
    { "*p2ps*hashTableSize = 200000\n", "warning f:1 '=' accepted as ':'" },
    { "*p2ps*maxMounts : 5\n\n*p2ps*maxMounts : 6\n",
      "warning f:3 *p2ps*maxMounts: already set in line 1 to \"5\"; \"6\" is used" },
    { "*p2ps*maxMounts : 5\n*p2ps*maxMounts : 5\n", "" },
    { "just words\n", "error f:1 no ':' in \"just words\"; expected name : value, for example "
                      "*p2ps*rsslPort : 14002" },
    { "*p2ps max*x : 1\n", "error f:1 *p2ps max*x: ' ' cannot stand in a name (A-Z a-z 0-9 _ -, "
                           "joined by '.' or '*')" },
    { " : 1\n", "error f:1 a parameter name is missing before the ':'" },
    { "*p2ps* : 1\n", "error f:1 *p2ps*: a parameter name is missing before the ':'" },
    { "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q : 1\n",
      "error f:1 a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q: 17 components; at most 16" },
    { "*p2ps*maxMounts : \xff\n",
      "error f:1 invalid UTF-8 at column 19; the file must be UTF-8 text" },
    { "*p2ps*accessFile : a\\000b\n", "error f:1 \\000 is a NUL byte, which no value can hold" },
    { "*{serviceName}*cacheType : sinkDriven\n",
      "warning f:1 {serviceName} is not defined; taken as '?' (any one name)" },
    { "*<serviceName>*cacheType : sinkDriven\n",
      "warning f:1 <serviceName> is not defined; taken as '?' (any one name)" },
    { "*p2ps*accessFile : /etc/{site}\n",
      "error f:1 *p2ps*accessFile: {site} is not defined; give it with -D site=VALUE" },
    { "*p2ps*accessFile : <access file>\n",
      "error f:1 *p2ps*accessFile: <access file> is not defined; give it with -D 'access "
      "file=VALUE'" },
    { "*p2ps*accessFile : {a}/<b>\n",
      "error f:1 *p2ps*accessFile: {a} is not defined; give it with -D a=VALUE\n"
      "error f:1 *p2ps*accessFile: <b> is not defined; give it with -D b=VALUE" },
    { "*p2ps*accessFile : /etc/{site}\n*p2ps*accessFile : /etc/access\n",
      "warning f:2 *p2ps*accessFile: already set in line 1 to \"/etc/{site}\"; \"/etc/access\" is "
      "used" },
    { "*p2ps*tcpSendBufSize : [commented out]\n",
      "note f:1 *p2ps*tcpSendBufSize: \"[commented out]\" means that the line is absent" },
    { "*p2ps*tcpSendBufSize : [ Commented Out ]\n",
      "note f:1 *p2ps*tcpSendBufSize: \"[ Commented Out ]\" means that the line is absent" },
    { "*p2ps*tcpSendBufSize : [commented]\n", "error f:1 *p2ps*tcpSendBufSize: \"[commented]\" is "
                                              "not a number (0..2147483647), alone or with "
                                              "k, K, M, G, kB, KB, MB, GB; example: "
                                              "*tcpSendBufSize : 1M" },
    { "#include \"no-such-file\"\n", "error f:1 #include \"no-such-file\": No such file or "
                                     "directory" },
    { "#include other.cnf\n", "warning f:1 #include needs its file in double quotes: #include "
                              "\"other.cnf\" (taken as a comment)" },
    { "*p2ps*guaranteedOutputBuffers : 800\n",
      "error f:1 guaranteedOutputBuffers: 800 must be at most maxOutputBuffers, which is 400 "
      "(default)" },
    { "*outputThresholdOK : 30\n*outputThresholdBreach : 20\n",
      "error f:1 outputThresholdOK: 30 must be less than outputThresholdBreach, which is 20 "
      "(f:2)" },
    { "*p2ps*rrmpProtocols : rrmp4\n",
      "error f:1 rrmpProtocols: rrmp4 is not spoken; use rrmp6 or rrmp4and6" },
    { "*p2ps*rrmpProtocols : rrmp4and6\n", "note f:1 rrmpProtocols: rrmp4and6 is taken as rrmp6" },
    { "*congestionControl : aimd\n",
      "error f:1 congestionControl: aimd needs maxDataRate, the rate it slows down from" },
    { "*pktPoolLimitLow : 60000\n*userQLimit : 32768\n",
      "warning f:1 pktPoolLimitLow: 60000 should be more than 3 x userQLimit (98304)" },
    { "*Src_Dist*RDFD*delayedService : LATER\n",
      "error f:1 delayedService: LATER needs delayDir, where its data wait" },
    { "*Src_Dist*RDFD*delayedService : LATER\n*Src_Dist*RDFD*delayDir : /d\n", "" },
};

static void each_kind_of_mistake_has_its_message(void **state)
{
    struct said said;
    int rc;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_source = strstr(cases[i].text, "route") || strstr(cases[i].text, "cacheLocation") ||
                         strstr(cases[i].text, "delayedService");

        load(is_source ? "src_dist" : "p2ps", cases[i].text, strlen(cases[i].text), false, &said,
             &rc);
        assert_string_equal(said.text, cases[i].expected);
        assert_int_equal(rc, strncmp(said.text, "error", 5) == 0 ? MD_ERR_MALFORMED : MD_OK);
    }
}

/* Errors of others, as p2ps of vega, instance 1, network net1, tells them. */
static const char *const foreign[] = {
    "*rrcpd*disconnectOnGaps : many\n",
    "*Src_Dist*1.route*port : fourteen\n",
    "{node}*Src_Dist*{inst}.route*hostList : <sinkdrivensrc_hostname>\n",
    "*route*hostList : <host of sink_driven_src>\n",
    "spica*p2ps*maxMounts : many\n",
    "vega.2.p2ps.maxMounts : many\n",
    "*net2.rrcp*userQLimit : many\n",
    "*rmds*startList : <programs>\n",
};

static void one_daemons_mistake_stops_no_other(void **state)
{
    struct said said;
    int rc;

    (void)state;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        load("p2ps", foreign[i], strlen(foreign[i]), false, &said, &rc);
        assert_int_equal(rc, MD_OK);
        assert_null(strstr(said.text, "error "));
        assert_non_null(strstr(said.text, "note f:1 "));
        assert_non_null(strstr(said.text, " (not a line of vega.1.p2ps, which starts without it)"));
    }
}

static void the_daemon_that_a_mistake_concerns_refuses_it(void **state)
{
    static const struct {
        const char *program, *text;
    } own[] = {
        { "rrcpd", "*p2ps*maxMounts : many\n*disconnectOnGaps : many\n" },
        { "src_dist", "*Src_Dist*1.route*port : fourteen\n" },
        { "src_dist", "{node}*Src_Dist*{inst}.route*hostList : <sinkdrivensrc_hostname>\n" },
        { "src_dist", "vega*adh*itemLimit : many\n" },
        { "rrcpd", "*net1.rrcp*userQLimit : many\n" },
        { "p2ps", "*networkList : net1, net2\n*net2.rrcp*userQLimit : many\n" },
        { "rmds", "*rmds*startList : <programs>\n" },
        { "rmdscnf", "spica.7.p2ps.maxMounts : many\n" },
        { "src_dist", "Node.Instance.Src_Dist.itemLimit : many\n" },
    };
    struct said said;
    int rc;

    (void)state;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        load(own[i].program, own[i].text, strlen(own[i].text), false, &said, &rc);
        assert_int_equal(rc, MD_ERR_MALFORMED);
        assert_non_null(strstr(said.text, "error f:"));
    }
}

static void a_placeholder_that_is_defined_is_replaced(void **state)
{
    const char *defines[] = { "host of sink_driven_src=lyra", "site=lon" };
    const struct md_conf_options options = {
        .program = "src_dist", .node = "vega", .defines = defines, .define_count = 2
    };
    static const char text[] = "*1.route*hostList : <host of sink_driven_src>\n"
                               "*Src_Dist*vendor : a <site> b <not a word\n";
    struct md_conf *conf;

    (void)state;
    assert_int_equal(md_conf_load_text(&options, "f", text, strlen(text), &conf), MD_OK);
    struct md_conf_object route = md_conf_object(conf, MD_CONF_ROUTE, "1");
    struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    assert_string_equal(md_conf_string(&route, "hostList"), "lyra");
    assert_string_equal(md_conf_string(&daemon, "vendor"), "a lon b <not a word");
    md_conf_destroy(conf);
}

static void a_line_commented_out_leaves_the_default(void **state)
{
    const struct md_conf_options options = { .program = "p2ps", .node = "vega" };
    static const char text[] = "*p2ps*maxMounts : 7\n*p2ps*tcpSendBufSize : [commented out]\n"
                               "*p2ps*maxMounts : [commented out]\n";
    struct md_conf *conf;

    (void)state;
    assert_int_equal(md_conf_load_text(&options, "f", text, strlen(text), &conf), MD_OK);
    struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    assert_int_equal(md_conf_u64(&daemon, "maxMounts"), 7);
    assert_false(md_conf_is_set(&daemon, "tcpSendBufSize"));
    md_conf_destroy(conf);
}

static void the_words_of_ssl_are_one_finding_with_its_reason(void **state)
{
    static const char text[] = "*p2ps*portList : 8101\n*p2ps*maxMounts : 7\n"
                               "*p2ps*allowSSLConnections : True\n*p2ps*sslMsgPacking : True\n"
                               "*RDFD*cacheType : sinkDriven\n*p2ps*portList : 8101\n";
    struct said said;
    int rc;

    (void)state;
    load("p2ps", text, strlen(text), false, &said, &rc);
    assert_string_equal(said.text,
                        "warning f:3 allowSSLConnections, sslMsgPacking (line 4), portList (line "
                        "6): not in this version (ignored): SSL, the protocol before RSSL, is not "
                        "spoken here, as it was never published");
    load("src_dist", text, strlen(text), false, &said, &rc);
    assert_string_equal(said.text,
                        "warning f:5 cacheType: not in this version (ignored): SSL, the protocol "
                        "before RSSL, is not spoken here, as it was never published, and cacheType "
                        "follows from how a provider connects");
    load("rrcpd", text, strlen(text), false, &said, &rc);
    assert_string_equal(said.text, "");
}

static void a_nul_byte_is_told_with_its_column(void **state)
{
    struct said said;
    int rc;

    (void)state;
    static const char text[] = "*nice : a\0b\n*p2ps*maxMounts : 5\n";
    load("p2ps", text, sizeof(text) - 1, false, &said, &rc);
    assert_string_equal(said.text, "error f:1 NUL byte at column 10; the file must be UTF-8 text");
}

static void strict_makes_an_equals_sign_an_error(void **state)
{
    static const char text[] = "*p2ps*hashTableSize = 200000\n";
    struct said said;
    int rc;

    (void)state;
    load("p2ps", text, strlen(text), true, &said, &rc);
    assert_string_equal(said.text, "error f:1 '=' stands where ':' belongs (-strict)");
    assert_int_equal(rc, MD_ERR_MALFORMED);
}

static void strict_makes_typing_errors_errors_of_whom_they_concern(void **state)
{
    static const struct {
        const char *program, *text, *expected;
    } strict[] = {
        { "p2ps", "*p2ps*maxMouts : 1\n",
          "error f:1 *p2ps*maxMouts: unknown parameter; did you mean maxMounts? (ignored)" },
        { "rrcpd", "*p2ps*maxMouts : 1\n",
          "note f:1 *p2ps*maxMouts: unknown parameter; did you mean maxMounts? (ignored) (not a "
          "line "
          "of vega.1.rrcpd, which starts without it)" },
        { "rrcpd", "*maxMouts : 1\n",
          "error f:1 *maxMouts: unknown parameter; did you mean maxMounts? (ignored)" },
        { "p2ps", "*p2sp*poolSize : 5\n",
          "error f:1 *p2sp*poolSize: \"p2sp\" is taken as the name of a node, user or service; did "
          "you mean p2ps?" },
        { "p2ps", "p2ps.maxMounts : 5\n",
          "error f:1 p2ps.maxMounts: a path begins with node and instance; write *p2ps.maxMounts "
          "(ignored)" },
    };
    struct said said;
    int rc;

    (void)state;
    for (size_t i = 0; i < sizeof(strict) / sizeof(strict[0]); i++) {
        load(strict[i].program, strict[i].text, strlen(strict[i].text), true, &said, &rc);
        assert_string_equal(said.text, strict[i].expected);
        assert_int_equal(rc, strncmp(said.text, "error", 5) == 0 ? MD_ERR_MALFORMED : MD_OK);
    }
}

static void legacy_ssl_of_a_route_in_use_is_an_error(void **state)
{
    static const char text[] = "*1.route*sslMountVersion : 4\n*1.route*hostList : h\n";
    struct said said;
    int rc;

    (void)state;
    load("src_dist", text, strlen(text), false, &said, &rc);
    assert_string_equal(said.text, "error f:1 sslMountVersion: 4 is the legacy SSL protocol, which "
                                   "is not spoken; use 5");
}

static void a_line_longer_than_the_limit_is_an_error(void **state)
{
    size_t length = 65536 + 20;
    char *text = malloc(length + 1);
    struct said said;
    int rc;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', length);
    memcpy(text, "*p2ps*accessFile : ", 19); /* NOLINT: the line goes on */
    text[length] = '\n';
    load("p2ps", text, length + 1, false, &said, &rc);
    assert_string_equal(said.text, "error f:1 line longer than 65536 bytes");
    free(text);
}

static void a_word_that_makes_a_line_too_long_is_an_error(void **state)
{
    size_t length = 65000;
    char *text = malloc(length + 1);
    char define[1024];
    const char *defines[] = { define };
    struct said said = { "" };
    struct md_conf_options options = {
        .program = "p2ps",
        .defines = defines,
        .define_count = 1,
        .sink = listen_to,
        .sink_arg = &said,
    };
    struct md_conf *conf;

    (void)state;
    assert_non_null(text);
    memset(define, 'y', sizeof(define));
    memcpy(define, "w=", 2);
    define[sizeof(define) - 1] = '\0';
    memset(text, 'x', length);
    memcpy(text, "*p2ps*accessFile : {w}", 22); /* NOLINT: the line goes on */
    text[length] = '\n';
    assert_int_equal(md_conf_load_text(&options, "f", text, length + 1, &conf), MD_ERR_MALFORMED);
    assert_string_equal(said.text,
                        "error f:1 line longer than 65536 bytes once its words are replaced");
    md_conf_destroy(conf);
    free(text);
}

static void too_many_entries_are_told_once_and_the_rest_is_not_read(void **state)
{
    const unsigned count = 200002;
    char *text = malloc(count * 24);
    size_t used = 0;
    struct said said;
    int rc;

    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i < count; i++)
        used += (size_t)sprintf(text + used, "n%u*p2ps*nice : 1\n", i);
    load("p2ps", text, used, false, &said, &rc);
    assert_string_equal(said.text, "error f:200001 more than 200000 entries; the rest is not read");
    free(text);
}

static void after_a_thousand_findings_silence_is_announced(void **state)
{
    char *text = malloc(2000 * 16);
    size_t used = 0;
    struct said said;
    int rc;

    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i < 1500; i++)
        used += (size_t)sprintf(text + used, "*zzz%u : 1\n", i);
    load("p2ps", text, used, false, &said, &rc);
    assert_int_equal(rc, MD_OK);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_mistake_has_its_message),
        cmocka_unit_test(one_daemons_mistake_stops_no_other),
        cmocka_unit_test(the_daemon_that_a_mistake_concerns_refuses_it),
        cmocka_unit_test(a_placeholder_that_is_defined_is_replaced),
        cmocka_unit_test(a_line_commented_out_leaves_the_default),
        cmocka_unit_test(the_words_of_ssl_are_one_finding_with_its_reason),
        cmocka_unit_test(a_nul_byte_is_told_with_its_column),
        cmocka_unit_test(strict_makes_an_equals_sign_an_error),
        cmocka_unit_test(strict_makes_typing_errors_errors_of_whom_they_concern),
        cmocka_unit_test(legacy_ssl_of_a_route_in_use_is_an_error),
        cmocka_unit_test(a_line_longer_than_the_limit_is_an_error),
        cmocka_unit_test(a_word_that_makes_a_line_too_long_is_an_error),
        cmocka_unit_test(too_many_entries_are_told_once_and_the_rest_is_not_read),
        cmocka_unit_test(after_a_thousand_findings_silence_is_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
