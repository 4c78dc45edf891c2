#!/usr/bin/env python3
"""serve.py - WebSocket consumers through the whole chain: what real clients do,
said with a client of our own."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "system"))
import conf_examples  # noqa: E402
import mirror  # noqa: E402
from client import (BINARY, CLOSE, PING, TEXT, Client, ask, frame, request)  # noqa: E402

PORT, TLS_PORT, RSSL_PORT = 15014, 15015, 14202
PING_S = 3
# A client on a machine that stands still is silent for long, too: tests that are not about that wait.
PATIENT = "*p2ps*wsPingTimeout : 120"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
CONF = f"""*rmds*startList : src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*inProcess : True
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rsslPort : {RSSL_PORT}
*p2ps*wsEnable : True
*p2ps*wsPort : {PORT}
*p2ps*wsPingTimeout : {PING_S}
*logger*logLevel : INFO
"""


def the_handshake_is_answered_in_words_of_http():
    status, text = ask(PORT, request(KEY))
    assert " 101 " in status and "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in text, text
    for wanted, more in (
            ("404", {"path": "/"}), ("404", {"path": "/other"}),
            ("101", {"path": "/websocket/?x=1"}),
            ("400", {"Sec_WebSocket_Protocol": None}),
            ("400", {"Sec_WebSocket_Protocol": "rssl.rwf"}),
            ("101", {"Sec_WebSocket_Protocol": "foo, TR_JSON2"}),
            ("426", {"Sec_WebSocket_Version": "12"}), ("426", {"Upgrade": None}),
            ("101", {"Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket"}),
            ("400", {"Sec_WebSocket_Key": None}),
            ("101", {"Origin": "http://127.0.0.1"}), ("403", {"Origin": "http://evil.example"})):
        status, text = ask(PORT, request(KEY, **more))
        assert f" {wanted} " in status, (more, text)
    assert " 405 " in ask(PORT, request(KEY).replace("GET", "POST"))[0]
    assert " 431 " in ask(PORT, request(KEY, Cookie="x" * 20000))[0]
    assert "Sec-WebSocket-Extensions" not in ask(
        PORT, request(KEY, Sec_WebSocket_Extensions="permessage-deflate"))[1]


def the_login_refresh_is_alone_in_the_first_frame():
    client = Client(PORT)
    client.send({"ID": 9, "Key": {"Name": "X1"}})
    early = client.take()
    assert early["ID"] == 9 and early["State"]["Code"] == "UsageError", early
    client.end()
    client = Client(PORT)
    answer = client.login(stream=2, user="joe", ApplicationId=256, Position="10.1.2.3/net")
    assert client.frames == [1]
    assert answer["Key"]["Name"] == "joe" and answer["State"]["Stream"] == "Open", answer
    elements = answer["Key"]["Elements"]
    assert elements["Position"] == "10.1.2.3/net" and elements["ApplicationId"] == "256", answer
    assert elements["SupportOMMPost"] == 1 and elements["SingleOpen"] == 1, answer
    assert answer["Elements"] == {"PingTimeout": 3, "MaxMsgSize": 61430}, answer
    client.send({"Type": "Ping"})
    assert client.take() == {"Type": "Pong"}
    client.send_frame(PING, b"are you there")
    assert client.take() == {"Type": "frame", "Payload": b"are you there"}
    client.send({"ID": 2, "Domain": "Login", "Type": "Close"})
    assert client.take() is None and client.close == 1000
    client.end()


def logged_in(**how):
    client = Client(PORT, **how)
    client.login()
    return client


def log_of(system, name="p2ps.1"):
    program = next(p for p in system.load()["programs"] if p["name"] == name)
    with open(program["log"], encoding="utf-8") as file:
        return file.read()


def items_are_opened_updated_and_closed(items):
    client = logged_in()
    client.send({"ID": 5, "Domain": "MarketPrice", "Streaming": True, "Key": {"Name": items[0]}})
    image = client.of(5)
    assert image["Type"] == "Refresh" and "Domain" not in image and "Solicited" not in image, image
    assert image["Key"] == {"Service": "RDFD", "Name": items[0]}, image
    assert image["State"]["Stream"] == "Open" and image["State"]["Data"] == "Ok", image
    assert image["Qos"] == {"Timeliness": "Realtime", "Rate": "TickByTick"}, image
    names = set(image["Fields"])
    update = client.of(5)
    assert update["Type"] == "Update" and update["Key"]["Name"] == items[0], update
    assert update["Fields"] and set(update["Fields"]) <= names, update
    client.send({"ID": 6, "KeyInUpdates": False, "Key": {"Name": items[0], "Service": "RDFD"}})
    assert client.of(6)["Type"] == "Refresh"
    bare = client.of(6, "Update")
    assert "Key" not in bare, bare
    # A view: fewer fields, by name or number, and updates that have none of them do not come.
    numeric = next(n for n, v in update["Fields"].items() if isinstance(v, (int, float)))
    client.send({"ID": 7, "Key": {"Name": items[1]}, "View": [numeric, "NO_SUCH_FIELD"]})
    assert list(client.of(7)["Fields"]) == [numeric]
    # A snapshot has one answer; the close behind it has none.
    client.send({"ID": 8, "Streaming": False, "Key": {"Name": items[1]}})
    assert client.of(8)["State"]["Stream"] == "NonStreaming"
    client.send({"ID": 8, "Type": "Close"}, {"ID": 77, "Type": "Close"})
    # The id of a closed stream is free at once, and what comes on it is the new item's.
    client.send({"ID": 5, "Type": "Close"}, {"ID": 5, "Key": {"Name": items[2]}})
    assert client.take_until(lambda m: m.get("ID") == 5 and m["Type"] == "Refresh")["Key"][
        "Name"] == items[2]
    client.send({"ID": 30, "Domain": 200, "Key": {"Name": items[0]}})
    gone = client.of(30)
    assert gone["Type"] == "Status" and gone["State"]["Stream"] == "Closed", gone
    client.send({"ID": 31, "Key": {"Name": items[0], "Service": "NOPE"}})
    assert client.of(31)["State"]["Code"] == "SourceUnknown"
    client.end()


def batches_open_and_close_many_streams(items):
    client = logged_in()
    client.send({"ID": 10, "Key": {"Name": items[:4]}})
    first = client.take()
    assert first["ID"] == 10 and first["State"] == {
        "Stream": "Closed", "Data": "Ok",
        "Text": "Processed 4 total items from Batch Request. 4 Ok."}, first
    for n in range(3):
        assert client.of(11 + n, "Refresh")["Key"]["Name"] == items[n]
    client.send({"ID": 20, "Key": {"Name": items[4]}}, {"ID": 19, "Key": {"Name": items[5:7]}})
    assert client.of(19)["State"]["Text"].endswith(" 1 Ok. 1 Failed.")
    client.send({"ID": [11, 12, 13], "Type": "Close"})
    closed = client.of(11, "Status")
    assert closed["State"]["Text"] == "Processed 3 total stream ids from Batch Close Request. 3 Ok."
    client.send({"ID": [7] * 9000, "Type": "Close"}, {"Type": "Ping"})
    closed = client.of(7, "Status")
    assert closed["State"]["Text"].endswith(" 0 Ok. 9000 Failed."), closed
    client.take_until(lambda m: m["Type"] == "Pong")
    client.end()
    client = Client(PORT)
    client.send({"ID": [7, 8], "Type": "Close"})
    assert client.of(7, "Status")["State"]["Text"] == "A batch needs a login"
    client.end()


def a_login_without_a_refresh_is_a_login():
    client = Client(PORT)
    client.send({"ID": 1, "Domain": "Login", "Refresh": False, "Key": {"Name": "user"}})
    assert client.frame() == (TEXT, b"[{\"Type\":\"Ping\"}]")
    client.send({"Type": "Pong"}, {"ID": 1, "Domain": "Login", "Type": "Close"})
    assert client.take() is None and client.close == 1000
    client.end()


def what_many_messages_ask_for_is_done_in_order():
    client = logged_in()
    names = [f"MANY{n}" for n in range(300)]
    more = [{"ID": 2000 + n, "Key": {"Name": f"MORE{n}"}} for n in range(200)]
    client.send_frame(TEXT, json.dumps([{"ID": 1000, "Key": {"Name": names}}, {"Type": "Ping"}]
                                       + more).encode())
    client.send_frame(TEXT, b"{")
    client.send({"ID": 9, "Type": "Nonsense"})
    images, others = set(), []
    while len(images) < 500 or len(others) < 4:
        message = client.take()
        if message["Type"] == "Refresh":
            images.add(message["ID"])
        elif message["Type"] != "Update":
            others.append(message)
    assert images == set(range(1001, 1301)) | set(range(2000, 2200))
    assert others[0]["State"]["Text"].startswith("Processed 300 total items"), others
    assert [m["Type"] for m in others] == ["Status", "Pong", "Error", "Error"], others
    client.end()


def errors_have_the_texts_of_the_specification(items):
    client = logged_in()

    def error(message, text, stream=0):
        raw = message if isinstance(message, str) else json.dumps(message)
        client.send_frame(TEXT, raw.encode())
        answer = client.take_until(lambda m: m["Type"] == "Error")
        assert answer["Text"].startswith(text) and answer["ID"] == stream, answer
        assert answer["Debug"]["Message"] == raw, answer

    error("{\"ID\":3", "JSON Parser Error: ")
    error("7", "JSON Converter Token Type error: Expected 'OBJECT' Received 'PRIMITIVE'")
    error({"Key": {"Name": "X"}}, "JSON Missing required key 'ID'")
    error({"ID": 4}, "JSON Missing required key 'Key'", 4)
    error({"ID": "x", "Key": {}},
          "JSON Converter Token Type error: Expected 'PRIMITIVE' for key 'ID' Received 'STRING'")
    error({"Key": {"Name": "X"}, "Domain": "Foo", "ID": 2},
          "JSON Unexpected Value. Received 'Foo' for key 'Domain'", 2)
    error({"ID": 2, "Type": "ExtraInfo", "Key": {"Name": "TRI.N"}},
          "JSON Unexpected Value. Received 'ExtraInfo' for key 'Type'", 2)
    error("[" * 10000 + "]" * 10000, "JSON Parser Error: nested too deep")
    # The messages behind a broken one are served, and so is the connection.
    client.send_frame(TEXT, json.dumps([{"ID": 1, "Type": 9}, {"ID": 5, "Key": {"Name": items[0]}}]
                                        ).encode())
    assert client.take()["Type"] == "Error" and client.of(5)["Type"] == "Refresh"
    client.end()


def other_domains_are_served():
    client = logged_in()
    client.send({"ID": 3, "Domain": "Source", "Key": {"Filter": 3}})
    source = client.of(3)
    assert source["Domain"] == "Source" and source["Map"]["KeyType"] == "UInt", source
    filters = source["Map"]["Entries"][0]["FilterList"]["Entries"]
    info = next(f["Elements"] for f in filters if f["ID"] == 1)
    assert info["Name"] == "RDFD" and info["Capabilities"]["Type"] == "Array", info
    client.send({"ID": 4, "Domain": "Dictionary", "Streaming": False,
                 "Key": {"Name": "RWFFld", "NameType": "Name", "Filter": 7}})
    fields = {}
    while True:
        part = client.of(4)
        for entry in part["Series"]["Entries"]:
            fields[entry["Elements"]["NAME"]] = entry["Elements"]
        if part.get("Complete", True):
            break
    assert fields["BID"]["FID"] == {"Type": "Int", "Data": 22}, fields["BID"]
    client.end()


def frames_keep_the_rules(items):
    client = logged_in()
    # A message in parts, with a ping between them, and in binary frames.
    text = json.dumps({"ID": 5, "Key": {"Name": items[0]}}).encode()
    client.send_frame(BINARY, text[:5], is_last=False)
    client.send_frame(PING, b"")
    client.send_frame(0, text[5:9], is_last=False)
    client.send_frame(0, text[9:])
    assert client.of(5)["Type"] == "Refresh"
    # Byte by byte.
    for byte in frame(TEXT, json.dumps({"Type": "Ping"}).encode()):
        client.socket.sendall(bytes([byte]))
    client.take_until(lambda m: m["Type"] == "Pong")
    client.end()
    for code, bytes_of in ((1002, frame(TEXT, b"{}", mask=None)), (1002, frame(3, b"")),
                           (1002, frame(0, b"x")), (1002, frame(PING, b"x" * 126)),
                           (1009, b"\x81\xff" + b"\x7f" + b"\xff" * 7),
                           (1009, frame(TEXT, b" " * 61431)),
                           (1001, frame(CLOSE, b"\x03\xe8"))):
        client = logged_in()
        client.socket.sendall(bytes_of)
        while client.take() is not None:
            pass
        assert client.close == code, (code, client.close)
        client.end()


def posts_are_answered(items):
    client = logged_in()
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    client.of(5, "Refresh")
    body = {"ID": 0, "Type": "Update", "Fields": {"BID": 45.55}}
    client.send({"ID": 5, "Type": "Post", "Ack": True, "PostID": 7, "Message": body})
    assert client.of(5, "Ack")["AckID"] == 7
    client.send({"ID": 1, "Type": "Post", "Domain": "MarketPrice", "Ack": True, "PostID": 8,
                 "Key": {"Name": items[1], "Service": "RDFD"}, "Message": body})
    assert client.of(1, "Ack")["AckID"] == 8
    client.send({"ID": 5, "Type": "Post", "Ack": True, "PostID": 9,
                 "Message": {"ID": 0, "Fields": {"NO_SUCH_FIELD": 1}}})
    assert client.of(5, "Error")["Text"].startswith("JSON Unexpected FID.")
    client.end()


def the_same_is_served_over_tls(items, folder):
    client = Client(TLS_PORT, tls=os.path.join(folder, "cert.pem"))
    client.login()
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    assert client.of(5)["Type"] == "Refresh" and client.of(5)["Type"] == "Update"
    client.end()


def silence_is_asked_and_then_ended():
    client = logged_in()
    opcode, payload = client.frame()
    assert (opcode, payload) == (TEXT, b"[{\"Type\":\"Ping\"}]"), payload
    while opcode != CLOSE:
        opcode, payload = client.frame()
    assert payload[:2] == b"\x03\xe8", payload
    client.end()
    client = Client(PORT)
    assert client.frame()[0] == CLOSE, "a client without a login stays"
    client.end()


@contextlib.contextmanager
def chain(folder, *more, source=None):
    """Source, src_dist and p2ps, up; yields the runner, the system and the names of items.

    `source` is one that the caller has started, and ends."""
    os.environ["RMDS_STATE"] = os.path.join(folder, "state")
    conf = os.path.join(folder, "ws.cnf")
    with open(conf, "w", encoding="ascii") as out:
        out.write(CONF + "".join(line + "\n" for line in more))
    names = os.path.join(folder, "items")
    with open(names, "w", encoding="ascii") as out:
        conf_examples.tool("sink_driven_src", "-mklist", "40", "X", stdout=out).wait()
    with open(names, encoding="ascii") as lines:
        items = lines.read().split()
    own = None if source else conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L", "127.0.0.1",
                                                 "-U", "1000", "-tps", "400",
                                                 stdout=subprocess.DEVNULL)
    run = conf_examples.load_run()
    system = run.System(conf)
    try:
        assert run.up(system) == 0, "it did not start"
        mirror.await_value(system, "p2ps.1", "p2ps.service.RDFD.state", lambda text: text == "up")
        yield run, system, items
    finally:
        if own:
            own.terminate()
            own.wait()
        run.down(system)


def run_all(folder, lines):
    with chain(folder, *lines) as (_, _, items):
        the_handshake_is_answered_in_words_of_http()
        the_login_refresh_is_alone_in_the_first_frame()
        items_are_opened_updated_and_closed(items)
        batches_open_and_close_many_streams(items)
        a_login_without_a_refresh_is_a_login()
        what_many_messages_ask_for_is_done_in_order()
        errors_have_the_texts_of_the_specification(items)
        other_domains_are_served()
        frames_keep_the_rules(items)
        posts_are_answered(items)
        the_same_is_served_over_tls(items, folder)
        silence_is_asked_and_then_ended()


def tls_lines(folder):
    """The lines of a configuration with wsTlsPort; the certificate is cert.pem in the folder."""
    pem = {name: os.path.join(folder, name + ".pem") for name in ("cert", "key")}
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", pem["key"], "-out", pem["cert"]],
                   check=True, capture_output=True)
    return (f"*p2ps*wsTlsPort : {TLS_PORT}", f"*p2ps*tlsCertFile : {pem['cert']}",
            f"*p2ps*tlsKeyFile : {pem['key']}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        run_all(folder, tls_lines(folder))


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
