#!/usr/bin/env python3
"""generic.py PROVIDER - generic messages of JSON consumers through the whole chain, and back.

PROVIDER is the example of docs/examples, which answers each generic message with itself. Whatever
a consumer says comes back to it: src_dist, the backbone and p2ps have changed nothing. An RSSL
consumer beside it opens the same item: the chain serves both.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import os
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "system"))
import conf_examples  # noqa: E402
import mirror  # noqa: E402
import serve  # noqa: E402
from client import CONTINUATION, TEXT, Client  # noqa: E402

# What stands in a message beside its ID and type. Keys that are their defaults are left out.
BODIES = [
    {"Fields": {"BID": 45.55, "ASK": None, "DSPLY_NAME": "M\u00fcller \"&\" Co", "PRCTCK_1": "\u21e7"}},
    {"SeqNumber": 4294967295, "SecSeqNumber": 7, "Elements": {"U": 7, "A": "text",
     "R": {"Type": "Real", "Data": 1.5}, "D": {"Type": "Array",
                                               "Data": {"Type": "UInt", "Data": [1, 2]}}}},
    {"PartNumber": 3, "PermData": "AwEBITw=", "ExtHdr": "AQI=", "Complete": False,
     "Map": {"KeyType": "AsciiString", "Entries": [
         {"Action": "Add", "Key": "a", "Fields": {"BID": 1}}, {"Action": "Delete", "Key": "b"}]}},
    {"Opaque": "AAECAwQ="},
    {"Message": {"ID": 9, "Type": "Update", "UpdateType": "Quote", "Fields": {"ASK": 2.50}}},
    {},
]


def comes_back(client, stream, body):
    said = {"ID": stream, "Type": "Generic", **body}
    client.send(said)
    heard = client.of(stream, "Generic")
    heard.pop("Key", None)
    assert heard == said, (said, heard)


def consumer(item):
    client = Client(serve.PORT)
    client.login()
    client.send({"ID": 5, "Key": {"Name": item, "Service": "EXAMPLE"}})
    assert client.of(5, "Refresh")["State"]["Data"] == "Ok"
    return client


def long_messages_are_taken_as_wsMaxMsgSize_says():
    """More than 65,535 bytes of text: in one frame, and in several."""
    client = consumer("LONG")
    comes_back(client, 5, {"Opaque": base64.b64encode(bytes(range(250)) * 240).decode()})
    names = [f"LONG{n:05d}.NAME" for n in range(8000)]
    text = json.dumps({"ID": 1000, "Key": {"Name": names, "Service": "EXAMPLE"}}).encode()
    assert len(text) > 100000
    for at in range(0, len(text), 30000):
        client.send_frame(TEXT if at == 0 else CONTINUATION, text[at:at + 30000],
                          is_last=at + 30000 >= len(text))
    told = client.of(1000)["State"]["Text"]
    assert told == "Processed 8000 total items from Batch Request. 8000 Ok.", told
    client.end()


def run(system):
    mirror.await_value(system, "p2ps.1", "p2ps.service.EXAMPLE.state", lambda text: text == "up")
    client = consumer("TRI.N")
    for body in BODIES:
        comes_back(client, 5, body)
    # Several in one text keep their order, and updates flow between them.
    client.send([{"ID": 5, "Type": "Generic", "SeqNumber": n} for n in range(200)])
    numbers = [client.of(5, "Generic").get("SeqNumber") for _ in range(200)]
    assert numbers == list(range(200)), numbers
    assert client.of(5, "Update")["Fields"]["BID"] > 100
    # On no stream and on a closed one: nothing comes back, nothing breaks.
    client.send({"ID": 77, "Type": "Generic"}, {"ID": 5, "Type": "Close"},
                {"ID": 5, "Type": "Generic"}, {"Type": "Ping"})
    client.take_until(lambda m: m["Type"] == "Pong")
    client.end()
    long_messages_are_taken_as_wsMaxMsgSize_says()
    done = subprocess.run(
        [os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "EXAMPLE", "-h", "127.0.0.1", "-p",
         "14202", "-il", "TRI.N", "-e", "-timeout", "90"], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "ws.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(serve.CONF + serve.PATIENT + "\n*p2ps*wsMaxMsgSize : 200000\n")
        provider = subprocess.Popen([sys.argv[1], "14102"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL)
        runner = conf_examples.load_run()
        system = runner.System(conf)
        try:
            assert runner.up(system) == 0, "it did not start"
            run(system)
        finally:
            provider.kill()
            provider.wait()
            runner.down(system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
