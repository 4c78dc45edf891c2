#!/usr/bin/env python3
"""prices.py HOST:PORT ITEM[,ITEM...] [option]... - prices over WebSocket, with websocket-client.

    pip install websocket-client
    python3 prices.py localhost:15000 DEMO1.O,DEMO2.O --view BID,ASK --updates 10

It logs in, asks for the items, prints what comes, and ends after so many updates; without
--updates it goes on for ever and connects again when the connection ends.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import sys
import time

import websocket

LOGIN, FIRST = 1, 5  # stream ids are the client's choice


class Prices:
    def __init__(self, options):
        self.options = options
        self.updates = 0
        self.result = None  # the exit status, once it is known

    def on_open(self, ws):
        elements = {"ApplicationId": "256", "Position": "127.0.0.1/net"}
        if self.options.password:
            elements["Password"] = self.options.password
        self.send(ws, {"ID": LOGIN, "Domain": "Login",
                       "Key": {"Name": self.options.user, "Elements": elements}})

    @staticmethod
    def send(ws, message):
        ws.send(json.dumps(message))

    def ask(self, ws):
        names = self.options.items.split(",")
        # One name asks for one item; a list is a batch, whose items get the ids behind its own.
        request = {"ID": FIRST, "Key": {"Name": names if len(names) > 1 else names[0]}}
        if self.options.service:
            request["Key"]["Service"] = self.options.service
        if self.options.view:
            request["View"] = self.options.view.split(",")
        if self.options.snapshot:
            request["Streaming"] = False
        self.send(ws, request)

    def post(self, ws, stream):
        name, value = self.options.post.split("=")
        self.send(ws, {"ID": stream, "Type": "Post", "Ack": True, "PostID": 1,
                       "PostUserInfo": {"Address": "127.0.0.1", "UserID": 1},
                       "Message": {"ID": 0, "Type": "Update", "Fields": {name: float(value)}}})

    def end(self, ws, result):
        self.result = result
        ws.close()

    def on_message(self, ws, text):
        for message in json.loads(text):  # each text is an array
            if self.result is not None:
                return
            if message["Type"] == "Ping":
                self.send(ws, {"Type": "Pong"})
            elif message.get("ID") == LOGIN:
                self.login(ws, message)
            else:
                self.item(ws, message)

    def login(self, ws, message):
        state = message.get("State", {})
        print("login:", state.get("Stream"), state.get("Data"), state.get("Text", ""))
        if state.get("Stream") == "Open":
            self.ask(ws)
        else:
            self.end(ws, 2)

    def item(self, ws, message):
        kind, state = message["Type"], message.get("State", {})
        name = message.get("Key", {}).get("Name", message.get("ID"))
        print(kind, name, json.dumps(message.get("Fields", state or message.get("Text", ""))))
        if kind == "Refresh" and self.options.post:
            self.post(ws, message["ID"])
        elif kind == "Ack":
            print("the post is", "refused" if "NakCode" in message else "accepted")
            self.end(ws, 3 if "NakCode" in message else 0)
        elif state.get("Stream") == "ClosedRecover" or state.get("Code") == "SourceUnknown":
            ws.close()  # not now: connect again and ask again
        self.updates += kind == "Update" or state.get("Stream") == "NonStreaming"
        if self.options.updates and self.updates >= self.options.updates:
            self.end(ws, 0)

    def run(self):
        while self.result is None:
            ws = websocket.WebSocketApp(
                f"{self.options.scheme}://{self.options.server}/WebSocket",
                subprotocols=["tr_json2"], on_open=self.on_open, on_message=self.on_message,
                on_error=lambda ws, error: print("error:", error, file=sys.stderr))
            ws.run_forever(sslopt={"ca_certs": self.options.ca} if self.options.ca else None)
            if self.result is None:
                time.sleep(1)  # p2ps or the source was restarted, perhaps
        return self.result


def main():
    words = argparse.ArgumentParser(description="prices over WebSocket")
    words.add_argument("server", help="HOST:PORT")
    words.add_argument("items", help="ITEM[,ITEM...]")
    words.add_argument("--user", default="me")
    words.add_argument("--password")
    words.add_argument("--service", help="else that which p2ps takes for its default")
    words.add_argument("--view", help="FIELD[,FIELD...]: only these")
    words.add_argument("--snapshot", action="store_true", help="images, no updates")
    words.add_argument("--post", help="FIELD=NUMBER: contribute to the item, then end")
    words.add_argument("--updates", type=int, help="end after so many")
    words.add_argument("--scheme", default="ws", choices=["ws", "wss"])
    words.add_argument("--ca", help="with wss: a PEM file of authorities")
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(Prices(words.parse_args()).run())


if __name__ == "__main__":
    main()
