#!/usr/bin/env python3
"""live_page.py SOURCE BUILD - the page with moving prices in Chromium, over the chain of the demo: login,
chains, search, keys, an item, a publisher and a p2ps that end and come back, names that are hostile.
Pictures of it go to the folder RMDS_PICTURES, if that is set."""
# SPDX-License-Identifier: Apache-2.0
import http.client
import importlib.util
import os
import signal
import sys
import tempfile

SOURCE, BUILD = (os.path.realpath(word) for word in sys.argv[1:3])
sys.dont_write_bytecode = True
os.environ["RMDS_BIN"] = os.path.join(BUILD, "bin")
sys.path[:0] = [os.path.join(SOURCE, "tools"), os.path.join(SOURCE, "tests/system")]
import browser  # noqa: E402
from running import spaces  # noqa: E402

PORT = 14215
PAGE = f"http://127.0.0.1:{PORT}/"
HOSTILE = "<img/src=x/onerror=document.title='hit'>"
KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "ArrowDown": (40, ""), "Delete": (46, "")}
ROWS = "[...document.querySelectorAll('#grid tbody tr')]"
PATIENCE_S = 120
RATE = 30  # updates a second: a browser without a graphics card draws each of them


def load_run():
    spec = importlib.util.spec_from_file_location("rmds_run",
                                                  os.path.join(SOURCE, "tools", "rmds-run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def answer(host):
    """The status and the text of a GET of the page that asks for this host."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    connection.request("GET", "/", headers={"Host": host})
    reply = connection.getresponse()
    return reply.status, reply.read().decode(), dict(reply.getheaders())


def only_our_names_are_served():
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}"):
        check(answer(host)[0] == 200, f"{host}: {answer(host)}")
    status, text, _ = answer(f"rebound.example:{PORT}")
    check(status == 403 and "wsAllowedOrigins" in text, f"a foreign name: {status} {text}")
    policy = answer("localhost")[2]["Content-Security-Policy"]
    check("default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy, policy)


class Person:
    """Somebody at the page."""

    def __init__(self):
        self.page = browser.Browser()

    def see(self, expression, what):
        self.page.wait(expression, what, PATIENCE_S)

    def ask(self, expression):
        return self.page.evaluate(expression)

    def key(self, name):
        code, text = KEYS[name] if name in KEYS else (ord(name.upper()), name)
        words = {"key": name, "windowsVirtualKeyCode": code}
        self.page.call("Input.dispatchKeyEvent", type="keyDown", text=text, **words)
        self.page.call("Input.dispatchKeyEvent", type="keyUp", **words)

    def type(self, text):
        self.page.call("Input.insertText", text=text)

    def last(self, name):
        return self.ask(f"document.querySelector('tr[data-name=\"{name}\"] .last').textContent")

    def see_it_move(self, name):
        before = self.last(name)
        self.see(f"document.querySelector('tr[data-name=\"{name}\"] .last').textContent !== '{before}'",
                 f"{name} moves")

    def see_words(self, word, what):
        self.see(f"{ROWS}.length >= 28 && {ROWS}.every(r => r.dataset.word === '{word}')", what)

    def picture(self, name):
        if os.environ.get("RMDS_PICTURES"):
            self.page.picture(os.path.join(os.environ["RMDS_PICTURES"], name + ".png"))


def it_logs_in_and_shows_the_chain(person):
    person.page.open(PAGE, 1440, 900, dark=True)
    person.see("document.querySelector('#login')?.open", "the login")
    person.ask("addEventListener('securitypolicyviolation', e => (window.violations ??= []).push("
               "e.effectiveDirective + ' ' + e.blockedURI))")
    person.key("Enter")
    person.see("document.querySelector('#pill').dataset.kind === 'live'", "it is logged in")
    person.see(f"{ROWS}.length === 28", "both records of the chain")
    person.see("!!document.querySelector('tr[data-name=\"THUBAN.MC\"]')", "its last link")
    person.see_words("", "all of it is well")
    person.see_it_move("VEGA.O")
    person.see("document.querySelector('tr[data-name=\"VEGA.O\"] .last').dataset.flashes > 1",
               "cells flash")
    person.see("Number(document.querySelector('#rate').textContent) > 0", "a rate")
    person.see("/ms/.test(document.querySelector('#trip').textContent)", "a Pong")
    person.see("/ms/.test(document.querySelector('#delay').textContent)", "a spread")
    person.see("/^M/.test(document.querySelector('#grid .spark path').getAttribute('d'))", "a trend")
    person.picture("chain")


def it_is_sorted_and_filtered(person):
    sorts = "(live.grid.arrange(performance.now()), live.grid.order.map(lastOf))"
    person.ask("document.querySelector('#grid th.last button').click()")
    found = person.ask(sorts)
    check(found == sorted(found, reverse=True), f"not by price: {found}")
    check(person.ask("document.querySelector('#grid th.last').getAttribute('aria-sort')")
          == "descending", "the head does not say so")
    person.ask("document.querySelector('#grid th.last button').click()")
    found = person.ask(sorts)
    check(found == sorted(found), f"not the other way: {found}")
    person.ask("document.querySelector('#grid th.last button').click()")
    check(person.ask("live.grid.sortKey") == "", "the order of the list")
    person.key("2")
    person.see(f"{ROWS}.length && {ROWS}.every(r => r.dataset.way === 'up')", "those that rose")
    person.key("1")
    person.see(f"{ROWS}.length === 28", "all again")


def items_are_found_and_opened_by_keys(person):
    person.key("/")
    person.type("rigel")
    person.see(f"{ROWS}.length === 1 && {ROWS}[0].dataset.name === 'RIGEL.L'", "it is found")
    person.key("Enter")
    person.see("!document.querySelector('#item').hidden", "its page")
    person.see("document.querySelector('#item h1').textContent === 'RIGEL.L'", "its name")
    person.see("/Open/.test(document.querySelector('#item .state').textContent)", "its state")
    person.see("document.querySelectorAll('#item .fields tr').length >= 65", "all its fields")
    person.see("!!document.querySelector('#item path.line')", "its history")
    person.key("ArrowDown")
    person.see("document.querySelector('#item h1').textContent === 'DENEB.DE'", "the next one")
    person.see("location.hash === '#DENEB.DE'", "in the address")
    person.picture("item")
    person.key("Escape")
    person.see("document.querySelector('#item').hidden", "it is closed")
    person.key("t")
    person.see("document.documentElement.dataset.theme === 'light'", "light")
    person.key("t")
    person.see("document.documentElement.dataset.theme === 'dark'", "dark")
    person.key("?")
    person.see("document.querySelector('#keys').open", "the keys")
    person.key("Escape")
    person.see("!document.querySelector('#keys').open", "no keys")


def hostile_names_are_text(person):
    person.key("/")
    person.type(f"DEMO5.O {HOSTILE}")
    person.key("Enter")
    person.see(f"{ROWS}.length === 30", "two more")
    person.see(f"{ROWS}.filter(r => r.querySelector('.last').textContent).length === 30", "prices")
    named = f"{ROWS}.find(r => r.dataset.name.startsWith('<img'))"
    check(person.ask(f"{named}.querySelector('b').textContent") == HOSTILE, "it is shown as it is")
    person.ask(f"{named}.click()")
    person.see("document.querySelector('#item h1').textContent.startsWith('<img')", "its page")
    check(person.ask("document.images.length") == 0, "a name became an element")
    person.key("Delete")
    person.see(f"{ROWS}.length === 29", "removed")


def a_publisher_that_is_gone_is_told(person, run, system):
    state = system.load()
    run.stop(state["publisher"])
    person.see_words("suspect", "all are suspect")
    person.see("/Not fine29/.test(document.querySelector('#chips').textContent)", "they are counted")
    person.see("!document.querySelector('#notice').hidden", "it says why")
    person.picture("suspect")
    port = int(state["addresses"]["providers"][0][1])
    check(run.publisher_start(system, state, port, RATE) is None, "the publisher does not start")
    person.see_words("", "all are well again")
    person.see("document.querySelector('#notice').hidden", "nothing is wrong")
    person.see_it_move("VEGA.O")


def a_p2ps_that_is_killed_is_told(person, run, system):
    state = system.load()
    victim = next(p for p in state["programs"] if p["name"] == "p2ps.1")
    os.kill(victim["pid"], signal.SIGKILL)
    person.see("document.querySelector('#pill').dataset.kind === 'gone'", "it is gone")
    person.see_words("old", "all prices are old")
    person.see("/prices are old/.test(document.querySelector('#notice').textContent)", "it says so")
    person.picture("gone")
    run.stop(victim)
    # Whatever comes first after the new login, no price is called live before its image.
    person.ask("window.early = 0; const request = live.store.request; live.store.request = function(rows) {"
               " request.call(this, rows); window.early += rows.filter(r => r.imageAt && !r.isOld).length; }")
    number = state["programs"].index(victim)
    fresh, trouble, _ = run.start(system, run.Entry("p2ps.1"), number)
    check(not trouble, f"p2ps does not come back: {trouble}")
    state["programs"][number] = fresh
    system.save(state)
    person.see("document.querySelector('#pill').dataset.kind === 'live'", "it is live again")
    person.see_words("", "all have a new image")
    check(person.ask("window.early") == 0, "old prices were called live")
    person.see_it_move("VEGA.O")


def it_fits_and_is_kept(person):
    for width, height in ((390, 844), (768, 1024), (1440, 900), (2560, 1440)):
        person.page.open(PAGE, width, height)
        person.see(f"{ROWS}.length === 29", f"the list is kept, {width} pixels wide")
        person.see_words("", "and well")
        check(person.ask("document.documentElement.scrollWidth") <= width, f"wider than {width}")
        seen = person.ask("document.querySelector('#grid').scrollWidth <= "
                          "document.querySelector('#grid').clientWidth")
        check(seen, f"the grid is wider than its place at {width}")
        person.picture(f"light-{width}")


def it_asks_nobody_else(person):
    check(not person.ask("window.violations"), "the policy was broken")
    person.ask("fetch('http://127.0.0.1:14280/').catch(() => 0), 1")
    person.page.open(PAGE)
    foreign = [url for url in person.page.requests
               if not url.startswith((PAGE, "data:", "http://127.0.0.1:14280/"))]
    check(not foreign, f"it asked elsewhere: {foreign}")
    # A p2ps that is not there, or just starts, is asked why it takes no WebSocket: 426 is all is well.
    known = ("net::ERR_", "WebSocket connection", "(Upgrade Required)", "14280")
    strange = [text for text in person.page.errors if not any(word in text for word in known)]
    check(not strange, f"it complained: {strange}")


def seen(person, run, system):
    only_our_names_are_served()
    it_logs_in_and_shows_the_chain(person)
    with open(os.path.join(SOURCE, "tests/system/live_page_logic.js"), encoding="utf-8") as file:
        wrong = person.ask(file.read())
    check(wrong == [], f"the logic of the page: {wrong}")
    it_is_sorted_and_filtered(person)
    items_are_found_and_opened_by_keys(person)
    hostile_names_are_text(person)
    a_publisher_that_is_gone_is_told(person, run, system)
    a_p2ps_that_is_killed_is_told(person, run, system)
    check(not person.ask("window.violations"), "the policy was broken")
    it_fits_and_is_kept(person)
    it_asks_nobody_else(person)


def main():
    if not browser.find():
        print("SKIP: no Chromium")
        return 77
    if not os.path.exists(os.path.join(BUILD, "bin", "p2ps")):
        print("SKIP: this build has no p2ps")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(RMDS_STATE=os.path.join(folder, "state"), TMPDIR=folder)
        run = load_run()
        system = run.System(run.DEMO)
        person = None
        try:
            check(run.up(system, RATE) == 0, "the chain does not start")
            person = Person()
            seen(person, run, system)
        finally:
            if person:
                person.page.close()
            run.down(system, quiet=True)
    print("the live page shows moving prices")
    return 0


if __name__ == "__main__":
    spaces.enter_network("RMDS_LIVE_TEST_INSIDE")
    sys.exit(main())
