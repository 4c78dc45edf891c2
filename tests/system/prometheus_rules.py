#!/usr/bin/env python3
"""prometheus_rules.py SOURCE - Prometheus itself, as promtool, takes the alert rules and the dashboard: each alert fires on the
figures that it is for, not before its time, and on no figures of a healthy system; each panel's query is PromQL."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

import prometheus

SOURCE = os.path.realpath(sys.argv[1])
# The figures of a healthy system: series and values, 10 s apart, 41 of them.
HEALTHY = {
    'up{job="rmds",instance="h:1"}': "1x40",
    'rmds_heartbeat_age_seconds{process="p2ps",number="1"}': "0.4x40",
    'rmds_ready{process="p2ps",number="1"}': "1x40",
    'rmds_troubles{process="p2ps",number="1"}': "0x40",
    'rmds_p2ps_worker_gaps_seen_total{process="p2ps",number="1",worker="0"}': "3x40",
    'rmds_rrcpd_pkts_lost_total{process="rrcpd.net1",number="1",reason="gave_up"}': "2x40",
    'rmds_rrcpd_retrans_req_sent_total{process="rrcpd.net1",number="1"}': "0+20x40",
    'rmds_rrcpd_mcast_rcvd_total{process="rrcpd.net1",number="1"}': "0+100000x40",
    'rmds_rrcpd_rcv_sock_drops_total{process="rrcpd.net1",number="1"}': "7x40",
    'rmds_p2ps_service_up{process="p2ps",number="1",service="RDFD"}': "1x40",
    'rmds_src_dist_route_up{process="src_dist",number="1",route="1"}': "1x40",
    'rmds_p2ps_worker_mounts_slow{process="p2ps",number="1",worker="0"}': "0x40",
    'rmds_p2ps_worker_mounts_cut_slow_total{process="p2ps",number="1",worker="0"}': "1x40",
    'rmds_p2ps_mounts_rejected_total{process="p2ps",number="1"}': "5x40",
    'rmds_p2ps_worker_refused_no_memory_total{process="p2ps",number="1",worker="0"}': "0x40",
    'rmds_memory_resident_bytes{process="p2ps",number="1"}': "500000000x40",
    'rmds_memory_limit_bytes{process="p2ps",number="1"}': "1000000000x40",
    'rmds_src_dist_outbound_use_bytes{process="src_dist",number="1"}': "1000x40",
    'rmds_src_dist_outbound_size_bytes{process="src_dist",number="1"}': "8000x40",
    'rmds_p2ps_worker_turn_seconds_bucket{process="p2ps",number="1",worker="0",le="0.001"}': "0+990x40",
    'rmds_p2ps_worker_turn_seconds_bucket{process="p2ps",number="1",worker="0",le="0.131072"}': "0+1000x40",
    'rmds_p2ps_worker_turn_seconds_bucket{process="p2ps",number="1",worker="0",le="+Inf"}': "0+1000x40",
}
# What is wrong: series of the healthy system with other values, from the beginning on. A value of the summary.
ILL = {
    "OpenrmdsDown": {"up": "0x40"},
    "OpenrmdsHung": {"rmds_heartbeat_age_seconds": "5+10x40"},
    "OpenrmdsNotReady": {"rmds_ready": "0x40"},
    "OpenrmdsTrouble": {"rmds_troubles": "1x40"},
    "OpenrmdsDataLost": {"rmds_p2ps_worker_gaps_seen_total": "3+1x40"},
    "OpenrmdsPacketsLost": {"rmds_rrcpd_pkts_lost_total": "2+1x40"},
    "OpenrmdsRetransmissions": {"rmds_rrcpd_retrans_req_sent_total": "0+1100x40"},
    "OpenrmdsReceiveBufferFull": {"rmds_rrcpd_rcv_sock_drops_total": "7+1x40"},
    "OpenrmdsServiceDown": {"rmds_p2ps_service_up": "0x40"},
    "OpenrmdsRouteDown": {"rmds_src_dist_route_up": "0x40"},
    "OpenrmdsSlowConsumer": {"rmds_p2ps_worker_mounts_slow": "2x40"},
    "OpenrmdsConsumersCut": {"rmds_p2ps_worker_mounts_cut_slow_total": "1+1x40"},
    "OpenrmdsMountsRefused": {"rmds_p2ps_mounts_rejected_total": "5+1x40"},
    "OpenrmdsOutOfMemory": {"rmds_p2ps_worker_refused_no_memory_total": "0+4x40"},
    "OpenrmdsMemoryHigh": {"rmds_memory_resident_bytes": "960000000x40"},
    "OpenrmdsOutboundFull": {"rmds_src_dist_outbound_use_bytes": "7000x40"},
    "OpenrmdsSlowTurns": {'rmds_p2ps_worker_turn_seconds_bucket{process="p2ps",number="1",worker="0",le="0.001"}': "0+900x40"},
}
VALUES = {"OpenrmdsSlowConsumer": "2"}


def check(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)


def name_of(series):
    return series.split("{")[0]


def figures(name):
    """The series of the system in which this alert fires; `labels` of the first that differs."""
    wrong = ILL[name]
    unknown = [key for key in wrong
               if not any(key in (series, name_of(series)) for series in HEALTHY)]
    check(not unknown, f"{name}: no series {unknown}")
    changed = {series: wrong.get(series, wrong.get(name_of(series), values))
               for series, values in HEALTHY.items()}
    first = next(series for series in HEALTHY if changed[series] != HEALTHY[series])
    return changed, dict(re.findall(r'(\w+)="([^"]*)"', first))


def expected(name, rule, labels):
    if "le" in labels:  # of a histogram: the quantile has none
        labels = {k: v for k, v in labels.items() if k != "le"}
    summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda m: labels[m[1]], rule["summary"])
    summary = summary.replace("{{ $value }}", VALUES.get(name, ""))
    return {"exp_labels": {**labels, "severity": rule["severity"]}, "exp_annotations": {"summary": summary}}


def inputs(series):
    return [{"series": name, "values": values} for name, values in series.items()]


def alerts_fire(rules):
    silent = [{"eval_time": "6m", "alertname": name, "exp_alerts": []} for name in rules]
    healthy = {"interval": "10s", "name": "all is well", "input_series": inputs(HEALTHY),
               "alert_rule_test": silent}
    tests = [healthy]
    for name, rule in rules.items():
        series, labels = figures(name)
        asked = [{"eval_time": "380s", "alertname": other,
                  "exp_alerts": [expected(name, rule, labels)] if other == name else []}
                 for other in rules]
        if rule["for"]:  # not before it has lasted
            asked.append({"eval_time": f"{rule['for'] - 10}s", "alertname": name, "exp_alerts": []})
        tests.append({"interval": "10s", "name": name, "input_series": inputs(series),
                      "alert_rule_test": asked})
    path = os.path.join(SOURCE, prometheus.RULES)
    code, said = prometheus.test_rules(path, tests)
    check(code == 0, f"promtool test rules:\n{said}")
    for one in tests[1]["alert_rule_test"]:  # the test of the test
        one["exp_alerts"] = []
    code, said = prometheus.test_rules(path, tests[:2])
    check(code != 0, f"an alert that fires unexpectedly is not seen:\n{said}")


def queries_are_taken():
    queries = prometheus.queries(SOURCE)
    code, said = prometheus.check_expressions({f"q{i}": expr for i, expr in enumerate(queries.values())})
    check(code == 0, f"the dashboard's queries:\n{said}")
    code, _ = prometheus.check_expressions({"broken": "rate(rmds_ready[1m]"})
    check(code != 0, "a query that is none is taken")
    return len(queries)


def main():
    if not prometheus.tool():
        print("no promtool on this machine (tools/rmds setup --test takes it out of a package)")
        return 77
    rules = prometheus.alerts(SOURCE)
    check(set(rules) == set(ILL),
          f"alerts without figures, or figures without an alert: {set(rules) ^ set(ILL)}")
    code, said = prometheus.run("check", "rules", os.path.join(SOURCE, prometheus.RULES))
    check(code == 0 and f"{len(rules)} rules found" in said, f"promtool check rules: {said}")
    alerts_fire(rules)
    print(f"{len(rules)} alerts fire, {queries_are_taken()} queries are taken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
