#!/usr/bin/env python3
"""applications.py SOURCE BUILD - the examples of docs/applications.md against the whole chain.

Python with websocket-client and with lseg-data, both from PyPI (skipped without them), a page in
Chromium (left out without it), and what curl would ask. The vendor's example programs (market
price, batch and view, posting, authentication) are not on PyPI: prices.py holds their dialogues.
"""
# SPDX-License-Identifier: Apache-2.0
import functools
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "system"))
import browser  # noqa: E402
import chain_faults  # noqa: E402
import conf_examples  # noqa: E402
import serve  # noqa: E402
import with_lseg_data  # noqa: E402

SOURCE, BUILD = sys.argv[1:3]
EXAMPLES = os.path.join(SOURCE, "docs", "examples")
WAIT_S = 120
PAGE_PORT, STATUS_PORT = 15016, 15017


def start(python, name, *words):
    return subprocess.Popen([python, os.path.join(EXAMPLES, name), *words],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def said(python, name, *words, status=0):
    client = start(python, name, *words)
    try:
        text, _ = client.communicate(timeout=WAIT_S)
    finally:
        client.kill()
    assert client.returncode == status, (name, words, client.returncode, text[-900:])
    return text


def the_dialogues_of_the_vendors_examples(python, items, folder):
    ask = functools.partial(said, python, "prices.py")
    here = f"127.0.0.1:{serve.PORT}"
    # Market price.
    text = ask(here, items[0], "--updates", "5")
    assert text.startswith("login: Open Ok"), text
    assert re.search(rf"^Refresh {items[0]} .*\"BID\": ", text, re.M), text
    assert text.count(f"Update {items[0]} ") == 5, text
    # Batch and view.
    text = ask(here, ",".join(items[:3]), "--view", "BID,ASK", "--snapshot", "--updates", "3",
               "--service", "RDFD")
    assert "Processed 3 total items from Batch Request. 3 Ok." in text, text
    for name in items[:3]:
        found = re.search(rf"^Refresh {name} (\{{.*\}})$", text, re.M)
        assert found and set(re.findall(r'"(\w+)":', found[1])) == {"BID", "ASK"}, text
    # A snapshot.
    assert ask(here, items[0], "--snapshot", "--updates", "1").count("Refresh ") == 1
    # Posting.
    assert "the post is accepted" in ask(here, items[1], "--post", "BID=45.55", "--view", "BID")
    # Authentication.
    assert "NotEntitled" not in ask(here, items[0], "--user", "alice", "--password", "secret",
                                    "--updates", "1")
    assert "login: Closed Suspect" in ask(here, items[0], "--user", "alice", "--password", "wrong",
                                          status=2)
    # The same over TLS.
    assert "Refresh" in ask(f"127.0.0.1:{serve.TLS_PORT}", items[0], "--scheme", "wss", "--ca",
                            os.path.join(folder, "cert.pem"), "--updates", "1")


def wait_for(client, is_it, lines):
    """Reads what an example prints until it has printed that."""
    for line in client.stdout:
        lines.append(line)
        if is_it(line):
            return
    raise AssertionError("".join(lines))


def it_comes_back_by_itself(python, items, run, system):
    client = start(python, "prices.py", f"127.0.0.1:{serve.PORT}", items[0], "--view", "BID")
    watchdog = threading.Timer(WAIT_S, client.kill)
    watchdog.start()
    lines = []
    try:
        wait_for(client, lambda line: line.startswith("Update"), lines)
        chain_faults.kill_entry(run, system, "p2ps.1")
        wait_for(client, lambda line: line.startswith("login: Open"), lines)
        wait_for(client, lambda line: line.startswith("Update"), lines)
    finally:
        watchdog.cancel()
        client.kill()
        client.wait()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_words):
        pass


def a_page_shows_prices(items, run, system):
    if not browser.find():
        print("no Chromium: the page is left out")
        return
    handler = functools.partial(Quiet, directory=EXAMPLES)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PAGE_PORT), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.Browser()
    bid = "document.querySelector('#rows td:nth-child(2)').textContent"
    try:
        page.open(f"http://127.0.0.1:{PAGE_PORT}/prices.html?server=127.0.0.1:{serve.PORT}"
                  f"&items={','.join(items[:2])}")
        page.wait(f"{bid} > 0", "a price", WAIT_S)
        page.evaluate(f"window.seen = {bid}")
        page.wait(f"{bid} !== window.seen", "another price", WAIT_S)
        page.evaluate("new MutationObserver(() => { window.lost = true; })"
                      ".observe(document.getElementById('state'), {childList: true})")
        chain_faults.kill_entry(run, system, "p2ps.1")
        page.wait("window.lost", "its loss", WAIT_S)
        page.wait("document.getElementById('state').textContent === 'prices'", "its return",
                  WAIT_S)
        page.evaluate(f"window.seen = {bid}")
        page.wait(f"{bid} !== window.seen", "a price after it", WAIT_S)
    finally:
        page.close()
        server.shutdown()


def health_is_told_over_http():
    end = time.monotonic() + WAIT_S
    for path in ("/healthz", "/ready"):
        address = f"http://127.0.0.1:{STATUS_PORT}{path}"
        while True:
            try:
                with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
                    assert answer.status == 200
                break
            except OSError:
                assert time.monotonic() < end, f"{path} does not come right"
                time.sleep(0.1)


def main():
    python = os.environ.get(with_lseg_data.INSIDE)
    if python is None:
        python = with_lseg_data.python_with_it(BUILD)
        if not python:
            print(f"lseg-data {with_lseg_data.VERSION} cannot be had from PyPI")
            sys.exit(77)
        os.environ[with_lseg_data.INSIDE] = python
    conf_examples.enter_namespace()
    with tempfile.TemporaryDirectory() as folder:
        access = os.path.join(folder, "access")
        with open(access, "w", encoding="ascii") as out:
            out.write("user alice password=secret\nuser *\n")
        os.chmod(access, 0o600)
        lines = (serve.PATIENT, *serve.tls_lines(folder), f"*p2ps*accessFile : {access}",
                 f"*p2ps*statusPort : {STATUS_PORT}",
                 f"*p2ps*wsAllowedOrigins : http://127.0.0.1:{PAGE_PORT}")
        with serve.chain(folder, *lines) as (run, system, items):
            health_is_told_over_http()
            the_dialogues_of_the_vendors_examples(python, items, folder)
            text = said(python, "prices_lseg.py", f"127.0.0.1:{serve.PORT}", ",".join(items[:2]),
                        "10")
            assert text.count("update ") >= 10 and f"image {items[0]}" in text, text
            it_comes_back_by_itself(python, items, run, system)
            a_page_shows_prices(items, run, system)


if __name__ == "__main__":
    main()
