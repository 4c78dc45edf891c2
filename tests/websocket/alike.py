#!/usr/bin/env python3
"""alike.py - what consumers of RSSL have, consumers of JSON have.

Two services, an access file, limits of items, small output buffers. Each statement is a function.
"""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import subprocess
import tempfile
import time

import serve
from client import TEXT, Client
from serve import conf_examples, mirror

WORKER = "p2ps.worker.0."
ACCESS = """user alice password=secret
user guest mounts=2
user token token=5f1e7c
user reader
user *
deny guest RDFD {denied}
deny few * {denied} do=post
deny reader * * do=post
fields reader RDFD * keep 22
"""


def logged_in(user="user", **how):
    client = Client(serve.PORT, **how)
    client.login(user=user)
    return client


def status_of(client, stream):
    return client.of(stream, "Status")["State"]


def answers(client, *streams):
    """The first message on each that is no update, in whatever order they come."""
    found = {}
    while len(found) < len(streams):
        message = client.take()
        if message["Type"] != "Update" and message["ID"] in streams:
            found.setdefault(message["ID"], message)
    return [found[stream] for stream in streams]


def users_and_items_have_permissions(items):
    client = Client(serve.PORT)
    client.send({"ID": 1, "Domain": "Login", "Key": {"Name": "alice"}})
    refused = client.take()
    assert refused["Domain"] == "Login" and refused["Type"] == "Status", refused
    assert refused["State"]["Data"] == "Suspect", refused
    assert refused["State"]["Stream"] == "Closed" and refused["State"]["Code"] == "NotEntitled"
    client.end()
    client = Client(serve.PORT)
    client.send({"ID": 1, "Domain": "Login", "Key": {"Name": "alice", "Elements": {
        "Password": "secret"}}})
    assert client.take()["State"]["Stream"] == "Open"
    client.end()
    both = [logged_in("guest"), logged_in("guest")]
    third = Client(serve.PORT)
    third.send({"ID": 1, "Domain": "Login", "Key": {"Name": "guest"}})
    assert third.take()["State"]["Code"] == "ExceededMaxMountsPerUser"
    both[0].send({"ID": 5, "Key": {"Name": items[0], "Service": "RDFD"}})
    refused = both[0].of(5)
    assert refused["State"]["Code"] == "NotEntitled", refused
    assert refused["Key"] == {"Service": "RDFD", "Name": items[0]}, refused
    both[0].send({"ID": 5, "Key": {"Name": items[1], "Service": "RDFD"}})
    assert both[0].of(5)["Type"] == "Refresh"
    for client in (*both, third):
        client.end()


def items_have_limits(items):
    """itemLimit of the user."""
    client = logged_in("few")
    client.send({"ID": 10, "Key": {"Name": items[:4]}})
    codes = [message["State"].get("Code") for message in answers(client, 10, 11, 12, 13, 14)]
    assert codes == [None, None, None, None, "TooManyItems"], codes
    client.send({"ID": 11, "Type": "Close"}, {"ID": 20, "Key": {"Name": items[5]}})
    assert client.of(20)["Type"] == "Refresh"
    client.end()


def several_services_and_a_default(items):
    """defaultService is OTHER: who names none gets it."""
    client = logged_in()
    client.send({"ID": 5, "Key": {"Name": items[2], "Service": "OTHER"}},
                {"ID": 6, "Key": {"Name": items[2], "Service": "RDFD"}},
                {"ID": 3, "Domain": "Source", "Key": {"Filter": 3}})
    other, first, source = answers(client, 5, 6, 3)
    assert [m["Key"]["Service"] for m in (other, first)] == ["OTHER", "RDFD"], (other, first)
    directory = source["Map"]["Entries"]
    ids = {next(f["Elements"]["Name"] for f in e["FilterList"]["Entries"] if f["ID"] == 1): e["Key"]
           for e in directory}
    assert set(ids) == {"OTHER", "RDFD", "STILL"}, ids
    for name, number in ids.items():
        client.send({"ID": 40 + number, "Key": {"Name": items[3], "Service": number}})
        assert client.of(40 + number)["Key"]["Service"] == name
    client.send({"ID": 8, "Key": {"Name": items[3]}})
    assert client.of(8)["Key"]["Service"] == "OTHER", "defaultService"
    client.send({"ID": 9, "Key": {"Name": items[3], "Service": 60000}})
    assert status_of(client, 9)["Code"] == "SourceUnknown"
    client.end()


def an_item_pauses_and_goes_on(items):
    client = logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    assert client.of(5)["Type"] == "Refresh"
    client.send({"ID": 5, "Key": {"Name": items[0]}, "Pause": True, "Refresh": False})
    client.send({"ID": 6, "Key": {"Name": items[0]}})
    assert client.of(6)["Type"] == "Refresh"
    # Updates of the other stream pass; those of the paused one ended before its image.
    seen = [client.take()["ID"] for _ in range(20)]
    assert set(seen) == {6}, seen
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    assert client.of(5, "Refresh")["State"]["Stream"] == "Open"
    assert client.of(5, "Update")
    client.end()


def a_view_changes_when_it_is_asked_for_again(items):
    client = logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    everything = set(client.of(5, "Refresh")["Fields"])
    client.send({"ID": 5, "Key": {"Name": items[0]}, "View": ["BID", 25]})
    assert set(client.of(5, "Refresh")["Fields"]) == {"BID", "ASK"}
    update = client.of(5, "Update")
    assert set(update["Fields"]) <= {"BID", "ASK"}, update
    client.send({"ID": 5, "Key": {"Name": items[0]}, "View": []})
    assert set(client.of(5, "Refresh")["Fields"]) == everything
    client.end()


def one_encoding_serves_all(items):
    """Two consumers, one form: the same text behind the id."""
    texts = []
    clients = [logged_in(), logged_in()]
    for n, client in enumerate(clients):
        client.send({"ID": 5 + 100 * n, "Streaming": False, "Key": {"Name": items[4],
                                                                     "Service": "STILL"}})
        texts.append(json.dumps({k: v for k, v in client.take().items() if k != "ID"}))
        client.end()
    assert texts[0] == texts[1], texts


def several_messages_come_in_one_frame(items):
    client = logged_in()
    text = [{"ID": 5, "Key": {"Name": items[0]}}, {"ID": 6, "Key": {"Name": items[1]}},
            {"ID": 5, "Type": "Post", "Ack": True, "PostID": 3,
             "Message": {"ID": 5, "Type": "Update", "Fields": {"BID": 1.5}}}]
    client.send_frame(TEXT, json.dumps(text).encode())
    kinds = set()
    while len(kinds) < 3:
        message = client.take()
        if message["Type"] in ("Refresh", "Ack"):
            kinds.add((message["ID"], message["Type"]))
    assert kinds == {(5, "Refresh"), (6, "Refresh"), (5, "Ack")}, kinds
    client.end()


def posts_are_refused_with_a_code(items):
    client = logged_in()
    client.send({"ID": 1, "Type": "Post", "Ack": True, "PostID": 8, "SeqNumber": 77,
                 "Key": {"Name": items[1], "Service": "NOPE"}, "Fields": {"BID": 1}})
    ack = client.of(1, "Ack")
    assert ack["AckID"] == 8 and ack["NakCode"] == "SourceUnknown" and ack["SeqNumber"] == 77, ack
    client.end()


def posts_are_denied_on_a_stream_and_off(items):
    """reader may post nothing, few not to one item."""
    for user, denied in ("reader", items[1]), ("few", items[0]):
        client = logged_in(user)
        client.send({"ID": 5, "Key": {"Name": denied, "Service": "RDFD"}})
        assert client.of(5)["Type"] == "Refresh"
        key = {"Name": denied, "Service": "RDFD"}
        for stream, more in ((5, {}), (1, {"Domain": "MarketPrice", "Key": key})):
            client.send({"ID": stream, "Type": "Post", "Ack": True, "PostID": 9,
                         "Message": {"ID": 0, "Type": "Update", "Fields": {"BID": 1}}, **more})
            ack = client.of(stream, "Ack")
            assert (ack["AckID"], ack.get("NakCode")) == (9, "AccessDenied"), ack
        client.end()


def fields_that_may_not_be_seen_are_in_no_message(items):
    client = logged_in("reader")
    client.send({"ID": 5, "Key": {"Name": items[0], "Service": "RDFD"}},
                {"ID": 6, "Key": {"Name": items[2], "Service": "RDFD"}, "View": ["ASK", "BID"]})
    for image in answers(client, 5, 6):
        assert set(image["Fields"]) == {"BID"}, image
    assert set(client.of(5, "Update")["Fields"]) <= {"BID"}
    client.end()


def names_that_nobody_can_have_are_refused(_items):
    for name in "m\x85ller", "a\x1bb", "", "x" * 128:
        client = Client(serve.PORT)
        client.send({"ID": 1, "Domain": "Login", "Key": {"Name": name}})
        refused = client.take()
        assert refused["State"]["Code"] == "UsageError", refused
        client.end()


def who_falls_behind_is_conflated_and_catches_up(system, items):
    slow = logged_in(receive=4096)
    beside = logged_in()
    before = mirror.value(system, "p2ps.1", WORKER + "slowMerged")
    slow.send({"ID": 100, "Key": {"Name": items}})
    beside.send({"ID": 100, "Key": {"Name": items[:5]}})
    mirror.await_value(system, "p2ps.1", WORKER + "slowMerged", lambda n: n > before)
    mirror.await_value(system, "p2ps.1", WORKER + "mountsSlowNow", lambda n: n == 1)
    until = time.monotonic() + 10
    while True:  # rows of mounts are shown once a second
        values = mirror.values(system, "p2ps.1")
        slow_ones = [v for k, v in values.items()
                     if k.startswith("p2ps.mount.0.") and k.endswith(".slow")]
        if sorted(slow_ones) == [0, 1]:
            break
        assert time.monotonic() < until, slow_ones
        time.sleep(0.05)
    kinds = [v for k, v in values.items() if k.startswith("p2ps.mount.0.") and k.endswith(".kind")]
    assert kinds and set(kinds) == {"JSON"}, kinds
    # It reads: it is told why, then come a merged update and those that follow.
    missed = slow.take_until(lambda m: m["Type"] == "Status" and
                             m["State"].get("Code") == "JitConflationStarted")
    assert ": conflating since " in missed["State"]["Text"], missed
    slow.of(missed["ID"], "Update")
    for client in (slow, beside):
        client.end()


def the_state_of_a_service_reaches_each_stream(sources, items):
    client = logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0], "Service": "OTHER"}})
    assert client.of(5)["Type"] == "Refresh"
    sources["OTHER"].kill()
    sources["OTHER"].wait()
    down = status_of(client, 5)
    assert (down["Stream"], down["Data"]) == ("Open", "Suspect"), down
    sources["OTHER"] = publisher("OTHER", "14103")
    back = client.of(5, "Refresh")
    assert back["Solicited"] is False and back["State"]["Data"] == "Ok", back
    client.end()


def publisher(service, port, rate="400"):
    return conf_examples.tool("sink_driven_src", "-S", service, "-N", port, "-L", "127.0.0.1",
                              "-U", rate, "-tps", "200", stdout=subprocess.DEVNULL)


def main():
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        access = os.path.join(folder, "access")
        sources = {"OTHER": publisher("OTHER", "14103"), "STILL": publisher("STILL", "14104", "0")}
        stack.callback(lambda: [s.kill() or s.wait() for s in sources.values()])
        lines = (f"*p2ps*accessFile : {access}", "*p2ps*defaultService : OTHER",
                 "*p2ps*few*itemLimit : 3", "*p2ps*guaranteedOutputBuffers : 10",
                 "*p2ps*maxOutputBuffers : 20", "*p2ps*tcpSendBufSize : 64K",
                 "*src_dist*2.route*hostList : 127.0.0.1:14103",
                 "*src_dist*3.route*hostList : 127.0.0.1:14104", "*p2ps*wsPingTimeout : 600",
                 "*p2ps*slowTimeout : 120")
        with open(access, "w", encoding="ascii") as out:
            out.write(ACCESS.format(denied="X0"))
        os.chmod(access, 0o600)
        with serve.chain(folder, *lines) as (_, system, items):
            for service in sources:
                mirror.await_value(system, "p2ps.1", f"p2ps.service.{service}.state",
                                   lambda text: text == "up")
            users_and_items_have_permissions(items)
            items_have_limits(items)
            several_services_and_a_default(items)
            an_item_pauses_and_goes_on(items)
            a_view_changes_when_it_is_asked_for_again(items)
            one_encoding_serves_all(items)
            several_messages_come_in_one_frame(items)
            posts_are_refused_with_a_code(items)
            posts_are_denied_on_a_stream_and_off(items)
            fields_that_may_not_be_seen_are_in_no_message(items)
            names_that_nobody_can_have_are_refused(items)
            who_falls_behind_is_conflated_and_catches_up(system, items)
            the_state_of_a_service_reaches_each_stream(sources, items)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
