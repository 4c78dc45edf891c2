#!/usr/bin/env python3
"""backbone_library.py BENCH EXAMPLES - an application on the backbone has every image and every
update of its items, in order, from a publisher through src_dist and two rrcpd; that src_dist or its
rrcpd dies is told to each item, and each gets a new image. An application that forges the records
of others changes nothing (attachAccess), and is told of in the log once. One publishes a
service to another one and to p2ps, and messages of a topic, with the engine inside, too. What is above
its quota waits, and what it may not send it is told of."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import tempfile

import attached
import chain_faults
import conf_examples
import mirror
import recording

CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*rrcpdInstance : 1
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rrcpdInstance : 2
*p2ps*rsslPort : 14202
*rrcp*attachAccess : uid={uid} consume publish=RISK,EXAMPLE topics=risk.*,example.clock \
  rate=20000
"""
WAIT_S = 90
DENIED = "rrcpd.net1.messagesDenied"


class Application:
    def __init__(self, bench, verb, run_dir, *words):
        self.program = subprocess.Popen(
            [bench, verb, "-run-dir", run_dir, "-secs", "80", *words],
            stdout=subprocess.PIPE, text=True)
        self.lines = []

    def wait_for(self, start):
        for line in self.program.stdout:
            self.lines.append(line)
            if line.startswith(start):
                return line
        raise AssertionError(f"no line {start}: {''.join(self.lines)}")

    def end(self):
        self.program.send_signal(signal.SIGTERM)
        line = self.wait_for("figures")
        self.program.stdout.close()
        assert self.program.wait(WAIT_S) == 0, "".join(self.lines)
        return {key: float(value) for key, value in (word.split("=") for word in line.split()[1:])}


def figures_hold(figures, items):
    assert figures["images"] == items and figures["undetected"] == 0, figures
    assert figures["wrong"] == 0 and figures["undecodable"] == 0, figures


def an_application_publishes_a_service(bench, system, *words):
    """Another application has all of it, and so has a consumer of p2ps."""
    source = Application(bench, "publish", system.folder, "-instance", "1", "-S", "RISK",
                         "-n", "100",
                         "-U", "5000", *words)
    source.wait_for("publishing")
    sink = Application(bench, "items", system.folder, "-instance", "2", "-S", "RISK", "-n", "100",
                       "-updates", "1000000000")
    sink.wait_for("images 100")
    sink.wait_for("updates")
    items = os.path.join(system.folder, "items")
    with open(items, "w", encoding="ascii") as out:
        out.write("".join(f"IT{i}\n" for i in range(100)))
    conf_examples.check_consumer("14202", "RISK", items)
    assert source.end()["updates"] > 0
    sink.wait_for("suspect")  # its source has gone
    figures_hold(sink.end(), 100)


def a_topic_is_heard(bench, system):
    """On the sender's host and on another one; the end of the sender is told."""
    words = ["-topic", "risk.limits"]
    ears = [Application(bench, "hear", system.folder, "-instance", str(i), *words) for i in (1, 2)]
    for ear in ears:
        ear.wait_for("attached")
    sender = Application(bench, "send", system.folder, "-instance", "1", "-U", "5000", *words)
    other = Application(bench, "send", system.folder, "-instance", "1", "-topic", "fx", "-U", "100")
    for ear in ears:
        ear.wait_for("messages 10000")
    sent = sender.end()["sent"]
    for ear in ears:
        ear.wait_for("gone")
        figures = ear.end()
        assert figures["received"] == sent and figures["wrong"] == figures["lost"] == 0, figures
    other.end()
    log = next(p["log"] for p in system.load()["programs"] if p["name"] == "rrcpd.net1.1")
    with open(log, encoding="utf-8") as file:
        assert "may not send a message of a topic that is not its own" in file.read()


def a_topic_is_heard_from_an_engine_inside(bench, system, conf):
    """The sender needs no rrcpd, and its engine is a node of the network."""
    ear = Application(bench, "hear", system.folder, "-instance", "1", "-topic", "risk.inside")
    ear.wait_for("attached")
    sender = Application(bench, "send", system.folder, "-conf", conf, "-topic", "risk.inside",
                         "-U", "5000")
    ear.wait_for("messages 10000")
    sent = sender.end()["sent"]
    ear.wait_for("gone")
    figures = ear.end()
    assert figures["received"] == sent and figures["wrong"] == figures["lost"] == 0, figures


def what_is_above_the_quota_waits(bench, system):
    """attachAccess says rate=20000; nothing is lost on the way."""
    ear = Application(bench, "hear", system.folder, "-instance", "2", "-topic", "risk.much")
    ear.wait_for("attached")
    sender = Application(bench, "send", system.folder, "-instance", "1", "-topic", "risk.much",
                         "-U", "0")
    ear.wait_for("messages 20000")
    log = next(p["log"] for p in system.load()["programs"] if p["name"] == "rrcpd.net1.1")
    with open(log, encoding="utf-8") as file:
        assert "sends more than rate or bytes of attachAccess allow" in file.read()
    sent = sender.end()["sent"]
    ear.wait_for("gone")
    figures = ear.end()
    assert figures["wrong"] == figures["lost"] == 0 and figures["received"] < sent, figures


def the_examples_talk_to_each_other(examples, system):
    words = [system.folder, "net1"]
    program = os.path.join(examples, "example_backbone_source")
    with subprocess.Popen([program, *words, "1"]) as source:
        with subprocess.Popen([os.path.join(examples, "example_backbone_prices"), *words, "2",
                               "EXAMPLE", "TRI.N"], stdout=subprocess.PIPE, text=True) as prices:
            wanted = ["on the backbone", "TRI.N IMAGE  BID 100.", "TRI.N UPDATE  BID 100.",
                      "TRI.N UPDATE  BID 100."]
            for line in prices.stdout:
                if line.startswith(wanted[0]):
                    wanted.pop(0)
                if not wanted:
                    break
            prices.kill()
        source.kill()
    assert not wanted, wanted


def a_service_that_is_not_its_own_is_not_offered(bench, system):
    """The library tries; rrcpd drops it."""
    before = mirror.value(system, "rrcpd.net1.1", DENIED)
    source = Application(bench, "publish", system.folder, "-instance", "1", "-S", "RDFD")
    source.wait_for("publishing")
    mirror.await_value(system, "rrcpd.net1.1", DENIED, lambda n: n > before)
    source.wait_for("denied ")
    assert "that is not its own" in source.lines[-1], source.lines[-1]
    source.end()


def check(bench, run, system):
    publisher = recording.Publisher("14102")
    try:
        application = Application(bench, "items", system.folder, "-instance", "2", "-n", "500",
                                  "-updates", "1000000000")
        application.wait_for("images 500")
        publisher.rate(5000)
        application.wait_for("updates")
        kill_one(run, system, application, "src_dist.1")
        kill_one(run, system, application, "rrcpd.net1.2")
        an_application_that_forges_changes_nothing(system, application)
        figures = application.end()
        figures_hold(figures, 500)
        assert figures["suspects"] >= 1000 and figures["updates"] > 0, figures
    finally:
        publisher.close()


def forge(user):
    """All that would harm the chain, were it believed."""
    user.send(attached.CONTROL, attached.instance_record("forger", "FORGED"))
    user.send(attached.CONTROL, attached.service_record("FORGED"))
    user.send(attached.CONTROL, attached.instance_record("forger", "RDFD"))
    user.send(attached.CONTROL, attached.service_record("RDFD"))
    for handle in range(500):
        for kind in (attached.UPDATE, attached.STATUS):
            user.send(attached.topic_of("RDFD"),
                      attached.tick_record(kind, 0, handle + 1, handle, 1, bytes(40)))
    user.send(attached.topic_of("RDFD"), attached.header(attached.BIND, 0, 1) + bytes(60))
    user.send(attached.USER_DOWN, bytes(8))
    user.send(12345, b"anything")
    user.send(attached.CONTROL, b"")
    return 4 + 1000 + 4


def an_application_that_forges_changes_nothing(system, application):
    user = attached.User(system.folder, 2, attached.APPLICATION)
    sent = forge(user)
    denied = mirror.await_value(system, "rrcpd.net1.2", DENIED, lambda n: n >= sent)
    assert denied == sent, "more was dropped than was forged"
    application.wait_for("updates")
    user.close()
    log = next(p["log"] for p in system.load()["programs"] if p["name"] == "rrcpd.net1.2")
    with open(log, encoding="utf-8") as file:
        assert file.read().count("may not send") == 1, "not one line of the log"
    # The records are right: a program that may send everything is believed.
    user = attached.User(system.folder, 2, 0)
    user.send(attached.CONTROL, attached.instance_record("forger", "FORGED"))
    user.send(attached.CONTROL, attached.service_record("FORGED"))
    before = len(application.lines)
    application.wait_for("service FORGED is up")
    assert "FORGED" not in "".join(application.lines[:before]), "the forged service was believed"
    user.close()


def kill_one(run, system, application, name):
    chain_faults.kill_entry(run, system, name)
    application.wait_for("suspect")
    application.wait_for("recovered")
    application.wait_for("updates")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(uid=os.getuid()))
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            check(sys.argv[1], run, system)
            an_application_publishes_a_service(sys.argv[1], system)
            an_application_publishes_a_service(sys.argv[1], system, "-broadcast")
            the_examples_talk_to_each_other(sys.argv[2], system)
            a_topic_is_heard(sys.argv[1], system)
            a_topic_is_heard_from_an_engine_inside(sys.argv[1], system, conf)
            what_is_above_the_quota_waits(sys.argv[1], system)
            a_service_that_is_not_its_own_is_not_offered(sys.argv[1], system)
        finally:
            run.down(system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
