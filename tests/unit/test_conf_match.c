/* test_conf_match.c - which line counts: the precedence of X resources, and what we add to it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "conf/conf.h"

static struct md_conf *load(const char *text)
{
    const struct md_conf_options options = { .program = "test", .node = "h" };
    struct md_conf *conf;

    md_conf_load_text(&options, "test.cnf", text, strlen(text), &conf);
    assert_non_null(conf);
    return conf;
}

static const struct {
    const char *text, *instance, *class_path, *expected;
} vectors[] = {
    { "*p2ps*poolSize : 2000\n*p2ps*poolSize : 16000\n", "h.1.p2ps.poolSize",
      "Node.Instance.P2PS.PoolSize", "16000" },
#define LIMITS "*P2PS*itemLimit : 100000\n*p2ps*itemLimit : 7\n"
    { LIMITS, "h.1.p2ps.itemLimit", "Node.Instance.P2PS.ItemLimit", "7" },
    { LIMITS, "h.1.ads.itemLimit", "Node.Instance.P2PS.ItemLimit", "100000" },
#define HOSTS LIMITS "hostA*p2ps*itemLimit : 8\nhostA.2.p2ps.itemLimit : 9\n"
    { HOSTS, "hostA.1.p2ps.itemLimit", "Node.Instance.P2PS.ItemLimit", "8" },
    { HOSTS, "hostA.2.p2ps.itemLimit", "Node.Instance.P2PS.ItemLimit", "9" },
#define USERS HOSTS "*p2ps*userX*itemLimit : 250\n"
    { USERS, "hostB.2.p2ps.user.userX.itemLimit", "Node.Instance.P2PS.User.UserName.ItemLimit",
      "250" },
    { USERS, "hostA.2.p2ps.user.userX.itemLimit", "Node.Instance.P2PS.User.UserName.ItemLimit",
      "8" },
#define PORTS "*P2PS*14002*pingTimeout : 30\n*P2PS*pingTimeout : 60\n"
    { PORTS, "h.1.p2ps.port.14002.pingTimeout", "Node.Instance.P2PS.Port.PortNumber.PingTimeout",
      "30" },
    { PORTS, "h.1.p2ps.port.8101.pingTimeout", "Node.Instance.P2PS.Port.PortNumber.PingTimeout",
      "60" },
#define ROUTES "*1.route*port : 14002\n*route*port : 14003\n"
    { ROUTES, "h.1.src_dist.1.route.port", "Node.Instance.Src_Dist.RouteInst.Route.Port", "14002" },
    { ROUTES, "h.1.src_dist.2.route.port", "Node.Instance.Src_Dist.RouteInst.Route.Port", "14003" },
    { "*a*x : loose\n?.a.x : qmark\n", "n.a.x", "Node.A.X", "qmark" },
    { "*dup*v : 1\n*dup.v : 2\n", "d.dup.v", "D.Dup.V", "2" },
#define TIGHT "*t.u*v : tight\n*t*u*v : loose\n"
    { TIGHT, "a.t.u.v", "A.T.U.V", "tight" },
    { TIGHT, "a.t.x.u.v", "A.T.X.U.V", "loose" },
#define HOSTB "hostB*Src_Dist*?.route*hostList : h1\n"
    { HOSTB, "hostB.1.src_dist.1.route.hostList", "Node.Instance.Src_Dist.RouteInst.Route.HostList",
      "h1" },
    { HOSTB, "hostC.1.src_dist.1.route.hostList", "Node.Instance.Src_Dist.RouteInst.Route.HostList",
      NULL },
    { "*?*cacheType : sinkDriven\n", "h.1.src_dist.service.RDFD.cacheType",
      "Node.Instance.Src_Dist.Service.ServiceName.CacheType", "sinkDriven" },
    { "*usePointToPointData : False\n", "h.1.rrcpd.rrcp.usePointToPointData",
      "Node.Instance.RRCPD.RRCP.UsePointToPointData", "False" },
    { "*p2ps*hashTableSize = 200000\n", "h.1.p2ps.hashTableSize",
      "Node.Instance.P2PS.HashTableSize", "200000" },
    { "*CASE*z : upper\n", "c.case.z", "C.Case.Z", "upper" },
};

static void the_vectors_of_the_language_give_their_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct md_conf *conf = load(vectors[i].text);
        const char *value =
            md_conf_lookup(conf, vectors[i].instance, vectors[i].class_path, NULL, NULL);

        if (!vectors[i].expected) {
            assert_null(value);
        } else {
            assert_non_null(value);
            assert_string_equal(value, vectors[i].expected);
        }
        md_conf_destroy(conf);
    }
}

static void the_line_that_counts_is_named(void **state)
{
    struct md_conf *conf = load("! one\n\n*p2ps*poolSize : 1\n*src_dist*poolSize : 2\n");
    const char *file;
    unsigned line;

    (void)state;
    assert_non_null(
        md_conf_lookup(conf, "h.1.p2ps.poolSize", "Node.Instance.P2PS.PoolSize", &file, &line));
    assert_string_equal(file, "test.cnf");
    assert_int_equal(line, 3);
    assert_null(md_conf_lookup(conf, "h.1.x.poolSize", "Node.Instance.X.PoolSize", &file, &line));
    assert_null(file);
    assert_int_equal(line, 0);
    md_conf_destroy(conf);
}

static void aliases_of_the_daemons_rank_under_their_class(void **state)
{
    struct md_conf *conf = load("*ads*x : alias\n*adh*x : alias2\n*MDH*y : alias3\n"
                                "*P2PS*z : class\n*ADS*z : alias\n");

    (void)state;
    assert_string_equal(md_conf_lookup(conf, "h.1.p2ps.x", "N.I.P2PS.X", NULL, NULL), "alias");
    assert_string_equal(md_conf_lookup(conf, "h.1.src_dist.x", "N.I.Src_Dist.X", NULL, NULL),
                        "alias2");
    assert_string_equal(md_conf_lookup(conf, "h.1.src_dist.y", "N.I.Src_Dist.Y", NULL, NULL),
                        "alias3");
    assert_string_equal(md_conf_lookup(conf, "h.1.p2ps.z", "N.I.P2PS.Z", NULL, NULL), "class");
    md_conf_destroy(conf);
}

static void a_path_of_sixteen_components_is_matched(void **state)
{
    struct md_conf *conf = load("a*p : 1\n*o.p : 2\na.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p : 3\n");

    (void)state;
    assert_string_equal(md_conf_lookup(conf, "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p",
                                       "A.B.C.D.E.F.G.H.I.J.K.L.M.N.O.P", NULL, NULL),
                        "3");
    assert_string_equal(md_conf_lookup(conf, "a.x.c.d.e.f.g.h.i.j.k.l.m.n.o.p",
                                       "A.Q.C.D.E.F.G.H.I.J.K.L.M.N.O.P", NULL, NULL),
                        "1");
    md_conf_destroy(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_language_give_their_values),
        cmocka_unit_test(the_line_that_counts_is_named),
        cmocka_unit_test(aliases_of_the_daemons_rank_under_their_class),
        cmocka_unit_test(a_path_of_sixteen_components_is_matched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
