#!/usr/bin/env python3
"""rules.py - rules of tr_json2 that serve.py does not see, with the parameters of JSON changed."""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import tempfile
import threading

import serve
from client import CLOSE, TEXT, Client
from serve import conf_examples

LINES = ("*p2ps*catchUnknownJsonKeys : True", "*p2ps*catchUnknownJsonFids : False",
         "*p2ps*expandEnumFields : False", "*p2ps*wsMaxMsgSize : 2048",
         "*p2ps*wsAllowedOrigins : http://one.example null", "*p2ps*wsPingTimeout : 600")


def text_of(client, stream):
    """The next frame with a message of that stream, as it was sent."""
    while True:
        opcode, payload = client.frame()
        assert opcode == TEXT and payload[:1] == b"[" and payload[-1:] == b"]", payload
        if b"{\"ID\":%d," % stream in payload:
            return payload.decode()


def keys_of(text, stream, kind):
    """The names of a message's members in their order; None: no such message."""
    pairs = next((p for p in json.loads(text, object_pairs_hook=list)
                  if dict(p).get("ID") == stream and dict(p).get("Type") == kind), None)
    return pairs and [name for name, _ in pairs]


def members_stand_in_their_order(items):
    """One array in a text frame, ID first, what has its default left out."""
    client = Client(serve.PORT)
    client.send({"ID": 1, "Domain": "Login", "Key": {"Name": "user"}})
    login = text_of(client, 1)
    assert keys_of(login, 1, "Refresh") == ["ID", "Type", "Domain", "Key", "State", "Elements"]
    assert len(json.loads(login)) == 1, "the login refresh is alone in its frame"
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    image = text_of(client, 5)
    assert keys_of(image, 5, "Refresh") == ["ID", "Type", "Key", "State", "Qos", "Fields"], image
    update = None
    while not update:
        update = keys_of(text_of(client, 5), 5, "Update")
    assert update == ["ID", "Type", "UpdateType", "Key", "Fields"], update
    client.end()


def numbers_stand_for_names(items):
    client = Client(serve.PORT)
    client.send({"ID": 4, "Type": 1, "Domain": 1, "Key": {"Name": "user", "NameType": 1}})
    assert client.take()["State"]["Stream"] == "Open"
    client.send({"ID": 5, "Type": 1, "Domain": 6, "Key": {"Name": items[0], "NameType": 1},
                 "Qos": {"Rate": 1, "Timeliness": 1}})
    assert client.of(5)["Type"] == "Refresh"
    client.send({"ID": 5, "Type": 5, "Domain": 6})
    client.end()


def a_login_is_asked_for_again(_items):
    client = Client(serve.PORT)
    client.login(stream=2)
    client.send({"ID": 2, "Domain": "Login", "Key": {"Name": "user"}})
    assert client.of(2)["Type"] == "Refresh"
    client.send({"ID": 2, "Domain": "Login", "Refresh": False, "Key": {"Name": "user"}},
                {"Type": "Ping"})
    assert client.take()["Type"] == "Pong", "no refresh was asked for"
    client.send({"ID": 3, "Domain": "Login", "Key": {"Name": "other"}})
    second = client.take()
    assert second["ID"] == 3 and second["State"]["Stream"] == "Closed", second
    assert second["State"]["Code"] == "UsageError", second
    client.send({"ID": 2, "Type": "Close"})  # without a Domain
    assert client.take() is None and client.close == 1000
    client.end()


def a_login_needs_a_name_only(_items):
    client = Client(serve.PORT)
    answer = client.login(stream=7)
    elements = answer["Key"]["Elements"]
    assert elements["ApplicationId"] == "256" and elements["Position"].startswith("127.0.0.1")
    client.end()


def an_id_is_one_stream(items):
    client = serve.logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    assert client.of(5)["Type"] == "Refresh"
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    assert client.of(5, "Refresh")["State"]["Stream"] == "Open", "asked for again"
    client.send({"ID": 5, "Key": {"Name": items[1]}})
    other = client.of(5, "Status")["State"]
    assert other["Stream"] == "Closed" and other["Code"] == "UsageError", other
    # The same item on two ids: both are served.
    client.send({"ID": 6, "Key": {"Name": items[2]}}, {"ID": 7, "Key": {"Name": items[2]}})
    seen = set()
    while len(seen) < 4:
        message = client.take()
        if message["ID"] in (6, 7):
            seen.add((message["ID"], message["Type"]))
    assert seen == {(6, "Refresh"), (7, "Refresh"), (6, "Update"), (7, "Update")}
    # Nothing answers a close, of a stream that is open or not, and nothing comes on its id.
    client.send({"ID": 6, "Type": "Close"}, {"ID": 6, "Type": "Close"},
                {"ID": 600, "Type": "Close"}, {"Type": "Ping"})
    client.take_until(lambda m: m["Type"] == "Pong")
    assert all(client.take()["ID"] != 6 for _ in range(10))
    client.end()


def no_service_is_not_service_zero(items):
    client = serve.logged_in()
    for stream, service in ((5, 0), (6, 60000), (7, "NOPE")):
        client.send({"ID": stream, "Key": {"Name": items[0], "Service": service}})
        state = client.of(stream, "Status")["State"]
        assert (state["Stream"], state["Data"]) == ("Closed", "Suspect"), (service, state)
        assert state["Code"] == "SourceUnknown", (service, state)
    client.end()


def unknown_keys_are_caught_and_unknown_fields_are_not(items):
    client = serve.logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0], "PlaceHolder": 1}})
    assert client.of(5)["Text"] == "JSON Unexpected Key. Received 'PlaceHolder'"
    client.send({"ID": 6, "Key": {"Name": items[0]}, "PlaceHolder": 1})
    error = client.of(6)
    assert error.get("Text") == "JSON Unexpected Key. Received 'PlaceHolder'", error
    client.send({"ID": 1, "Type": "Post", "Ack": True, "PostID": 2,
                 "Key": {"Name": items[0], "Service": "RDFD"},
                 "Fields": {"NO_SUCH_FIELD": 1, "BID": 2.5}})
    assert client.of(1)["Type"] == "Ack"
    client.end()


def enumerations_are_numbers_when_that_is_wanted(items):
    client = serve.logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    fields = client.of(5)["Fields"]
    assert isinstance(fields["PRCTCK_1"], (int, type(None))), fields
    client.end()


def a_message_has_its_size(_items):
    client = Client(serve.PORT)
    assert client.login()["Elements"]["MaxMsgSize"] == 2048
    client.send_frame(TEXT, b"{\"Type\":\"Ping\"}" + b" " * 2000)
    assert client.take() == {"Type": "Pong"}
    client.send_frame(TEXT, b" " * 2049)
    assert client.take() is None and client.close == 1009
    client.end()


def an_origin_is_allowed_by_name(_items):
    for origin in ("http://one.example", "null", "http://127.0.0.1"):
        client = Client(serve.PORT, Origin=origin)
        client.end()
    status, _ = serve.ask(serve.PORT, serve.request(serve.KEY, Origin="http://two.example"))
    assert " 403 " in status, status


def an_update_without_a_field_of_the_view_does_not_come(items):
    client = serve.logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0]}, "View": ["PROD_PERM"]})
    assert set(client.of(5, "Refresh")["Fields"]) <= {"PROD_PERM"}
    client.send({"ID": 6, "Key": {"Name": items[0]}})
    updates = [client.take()["ID"] for _ in range(12)]
    assert 5 not in updates, updates
    client.end()


def who_is_connected_hears_that_p2ps_goes(run, system):
    """Close frame 1001."""
    client = serve.logged_in()
    heard = []

    def listen():
        opcode, payload = client.frame()
        while opcode != CLOSE:
            opcode, payload = client.frame()
        heard.append(payload)

    listener = threading.Thread(target=listen)
    listener.start()
    run.down(system)
    listener.join(serve.mirror.WAIT_S)
    assert heard and heard[0] == b"\x03\xe9Going Away", heard
    client.end()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with serve.chain(folder, *LINES) as (run, system, items):
            for rule in (members_stand_in_their_order, numbers_stand_for_names,
                         a_login_is_asked_for_again, a_login_needs_a_name_only,
                         an_id_is_one_stream, no_service_is_not_service_zero,
                         unknown_keys_are_caught_and_unknown_fields_are_not,
                         enumerations_are_numbers_when_that_is_wanted, a_message_has_its_size,
                         an_origin_is_allowed_by_name,
                         an_update_without_a_field_of_the_view_does_not_come):
                print(re.sub("_", " ", rule.__name__), flush=True)
                rule(items)
            who_is_connected_hears_that_p2ps_goes(run, system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
