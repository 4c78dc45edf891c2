#!/usr/bin/env python3
"""live_kinds.py SOURCE - data of every kind in the live page: Chromium over a chain with the items
of sink_driven_src -kinds. Pictures of it go to the folder RMDS_PICTURES, if that is set."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import browser  # noqa: E402
import conf_examples  # noqa: E402
import data_kinds  # noqa: E402

PAGE = "http://127.0.0.1:15000/"
PATIENCE_S = 60


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Person:
    """Somebody at the page, and the publisher's hand."""

    def __init__(self, world):
        self.page, self.world = browser.Browser(), world

    def ask(self, expression):
        return self.page.evaluate(expression)

    def see(self, expression, what):
        self.page.wait(expression, what, PATIENCE_S)

    def log_in(self):
        self.page.open(PAGE, 1440, 900, dark=True)
        self.see("document.querySelector('#login')?.open", "the login")
        self.ask("document.querySelector('#login form button').click()")
        self.see("!byId('kind').hidden", "the kinds of data of the service")

    def open(self, kind, name, view):
        """As a person does: picks the kind, types the name, opens its page."""
        self.ask(f"byId('domain').value = '{kind}'; live.search.value = '{name}'; live.find();"
                 f"live.openItem(live.fullName('{name}'))")
        self.see(f"document.querySelector('#item').dataset.view === '{view}'", f"{name} as {view}")
        self.see("/Open/.test(document.querySelector('#item .state').textContent)", name)

    def picture(self, name):
        if os.environ.get("RMDS_PICTURES"):
            self.ask("for (const one of document.getAnimations()) one.finish()")
            self.page.picture(os.path.join(os.environ["RMDS_PICTURES"], name + ".png"))

    def heads(self):
        return self.ask("[...document.querySelectorAll('.rows thead th')].map(c => c.textContent)")

    def rows(self):
        return self.ask("[...document.querySelectorAll('.rows tbody tr')]"
                        ".map(r => [...r.children].map(c => c.textContent))")

    def see_rows(self, condition, what):
        self.see("(rows => " + condition + ")([...document.querySelectorAll('.rows tbody tr')]"
                 ".map(r => [...r.children].map(c => c.textContent)))", what)


def quotes(person):
    person.open("MarketPrice", "QUOTE.K", "price")
    check(person.ask("document.querySelector('#item .price b').textContent") == "100.33", "a trade")
    person.world.step("QUOTE.K", 1)
    person.see("document.querySelector('tr[data-name=\"QUOTE.K\"] td:nth-child(7)').textContent"
               " === '100.37'", "its bid")


def chains(person):
    person.ask("live.search.value = '0#CHAIN.K'; live.find()")
    members = "live.grid.order.filter(r => /^M\\d\\d.K$/.test(r.name) && r.kind === 'open')"
    person.see(f"{members}.length === 30", "the members of all records")
    person.ask("live.remove('0#CHAIN.K')")


def a_book_by_order(person):
    person.open("MarketByOrder", "ORDERS.K", "table")
    check(person.heads() == ["Key", "ORDER_PRC", "ORDER_SIDE", "ORDER_SIZE"], person.heads())
    rows = person.rows()
    check([row[0] for row in rows] == ["100004", "100002", "100006", "100001", "100003", "100005"],
          f"sellers above buyers: {rows}")
    check(rows[0] == ["100004", "100.13", "ASK", "3,000"], rows[0])
    person.world.step("ORDERS.K", 1)
    person.see_rows("rows.length === 7 && rows.some(r => r.join() === '100007,99.89,BID,1,200')",
                    "an order comes")
    person.world.step("ORDERS.K", 1)
    person.see_rows("rows[0].join() === '100004,100.13,ASK,100'", "an order changes")
    person.world.step("ORDERS.K", 1)
    person.see_rows("rows.length === 6 && rows.every(r => r[0] !== '100001')", "an order goes")
    check("SAMPLE ORDERS" in person.ask("document.querySelector('#item .about').textContent"),
          "the summary")


def a_book_by_price(person):
    person.open("MarketByPrice", "BOOK.K", "table")
    rows = person.rows()
    check(len(rows) == 10 and rows[4][:3] == ["100.01A", "100.01", "ASK"]
          and rows[5][:3] == ["99.99B", "99.99", "BID"], f"the best ones meet: {rows}")
    person.world.step("BOOK.K", 9)
    person.see_rows("rows.length === 9 && rows[0][0] === '100.04A'", "a level goes")
    person.world.step("BOOK.K", 10)
    person.see_rows("rows.length === 10 && rows[0][0] === '100.05A'", "and comes")
    person.picture("book")


def market_makers(person):
    person.open("MarketMaker", "MAKERS.K", "table")
    check(person.rows()[1] == ["EFGH", "EFGH", "99.93", "100.00"], person.rows())
    person.world.step("MAKERS.K", 1)
    person.see_rows("rows[1].join() === 'EFGH,EFGH,99.96,100.01'", "a quote changes")


def a_symbol_list(person):
    person.open("SymbolList", "SYMBOLS.K", "table")
    check(len(person.rows()) == 6, person.rows())
    person.world.step("SYMBOLS.K", 1)
    person.see_rows("rows.length === 7 && rows[6][0] === 'NEW1.K'", "one is listed")
    person.world.step("SYMBOLS.K", 1)
    person.see_rows("rows.length === 6", "and delisted")
    person.picture("symbols")
    person.ask("document.querySelector('.rows .link').click()")
    person.see("document.querySelector('#item h1').textContent === 'M01.K'", "a symbol is opened")
    person.see("document.querySelector('#item').dataset.view === 'price'", "as a price")


def time_and_sales(person):
    person.open("History", "SALES.K", "table")
    check(person.heads() == ["SALTIM", "TRDPRC_1", "TRDVOL_1"], person.heads())
    check(person.rows()[0] == ["09:00:14", "100.17", "1,400"], f"the newest first: {person.rows()}")
    person.world.step("SALES.K", 1)
    person.see_rows("rows.length === 9 && rows[0].join() === '09:00:16,100.22,500'", "a sale")


def a_yield_curve(person):
    person.open("YieldCurve", "CURVE.K", "table")
    check(person.rows()[1] == ["1", "2Y", "2028-11-30", "2.687"], person.rows())
    person.world.step("CURVE.K", 1)
    person.see_rows("rows.length === 8 && rows[1].join() === '1,2Y,2028-11-30,2.660'", "it moves")
    person.picture("curve")


def news(person):
    person.open("MarketPrice", "NEWS.K", "news")
    person.world.step("NEWS.K", 2)
    heads = "[...document.querySelectorAll('.headlines .text')].map(h => h.textContent)"
    person.see(f"{heads}.length === 3", "headlines")
    check(person.ask(heads)[2].startswith("SAMPLE: index closes"), person.ask(heads))
    person.picture("news")
    person.ask("document.querySelector('.headlines .link').click()")
    person.see("document.querySelector('#item').dataset.view === 'story'", "its story")
    person.see("live.item.views.story.note.textContent === '3 segments'", "all of it")
    text = person.ask("document.querySelector('article').textContent")
    check("closing auction, and that few" in text and text.endswith("reports nothing.)"), text)
    stories = "live.grid.order.map(r => r.name).filter(n => /^\\dnK$/.test(n)).join()"
    check(person.ask(stories) == "1nK", "segments are in the list")
    person.picture("story")
    person.ask("live.remove('1nK')")
    left = person.ask("['2nK', '3nK'].filter(name => live.store.rows.has(name)).length")
    check(left == 0, "segments stay")


def a_page(person):
    person.open("MarketPrice", "PAGE.K", "page")
    row = "document.querySelector('.screen').children"
    check(person.ask(f"{row}.length") == 25, "25 rows")
    line = "1 MONTH                97.29      sample"
    check(person.ask(f"{row}[3].textContent") == line, "a row")
    person.world.step("PAGE.K", 2)
    person.see(f"{row}[4].textContent === '3 MONTHS               95.64      sample'", "it changes")
    check(person.ask(f"{row}[3].textContent") == line.replace("97.29", "96.10"), "one more")
    check(person.ask(f"{row}[3].querySelector('span').textContent") == "6.10", "it is marked")
    person.picture("page")


def contributions(person):
    person.open("MarketPrice", "CONTRIB.K", "price")
    text, code, error = data_kinds.printed("-il", "CONTRIB.K", "-post", "20", "-secs", "1", "-pf",
                                           "BID=99.50,ASK=99.75,DSPLY_NAME=DESK")
    check(code == 0, text + error)
    person.see("document.querySelector('#item .about').textContent.startsWith('DESK')", "a post")


def a_name_that_is_not_found(person):
    """What is not there as prices is asked for as something else by a click."""
    person.ask("live.store.open(['M77.K']); live.openItem('M77.K');"
               "live.store.message({ ID: live.store.rows.get('M77.K').stream, Type: 'Status',"
               " State: { Stream: 'Closed', Data: 'Suspect', Code: 'NotFound' } })")
    person.see("document.querySelector('#item').dataset.word === 'closed'", "it is not found")
    person.see("document.querySelectorAll('#item .ask button').length === 6", "other kinds")
    person.ask("document.querySelector('#item .ask button').click()")
    person.see("live.store.rows.get('MarketByOrder:M77.K')", "it is asked for as a book")


def it_fits(person):
    """Tables and pages on a narrow screen, too."""
    for width, height in ((390, 844), (768, 1024)):
        for name in ("MarketByPrice:BOOK.K", "PAGE.K"):
            person.page.open(f"{PAGE}#{name}", width, height)
            person.ask("location.reload()")
            person.see("document.querySelector('#item .view:not([hidden])')?.textContent", name)
            wide = person.ask("document.documentElement.scrollWidth")
            check(wide <= width, f"{name} is {wide} wide at {width}")
            person.picture(f"{name[-6:]}-{width}")


def the_logic_holds(person):
    here = os.path.dirname(os.path.abspath(__file__))
    vectors = {}
    for name in ("partial", "ansi"):
        path = os.path.join(here, "../vectors/marketfeed", name + ".tsv")
        with open(path, encoding="ascii") as file:
            vectors[name] = [line.rstrip("\n").split("\t") for line in file]
    person.ask(f"window.vectors = {json.dumps(vectors)}; 0")
    with open(os.path.join(here, "live_kinds_logic.js"), encoding="utf-8") as file:
        wrong = person.ask(file.read())
    check(wrong == [], f"the logic of the page: {wrong}")


def seen(person):
    person.log_in()
    person.ask("addEventListener('securitypolicyviolation', e => (window.violations ??= []).push("
               "e.effectiveDirective + ' ' + e.blockedURI))")
    for kind in (quotes, chains, a_book_by_order, a_book_by_price, market_makers, a_symbol_list,
                 time_and_sales, a_yield_curve, news, a_page, contributions,
                 a_name_that_is_not_found):
        kind(person)
    the_logic_holds(person)
    check(not person.ask("window.violations"), "the policy was broken")
    it_fits(person)
    check(not person.page.errors, person.page.errors)


def main():
    if not browser.find():
        print("SKIP: no Chromium")
        return 77
    conf_examples.enter_namespace()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        world = data_kinds.World(folder, True)
        person = None
        try:
            person = Person(world)
            seen(person)
        finally:
            if person:
                person.page.close()
            world.close()
    print("the live page shows data of every kind")
    return 0


if __name__ == "__main__":
    sys.exit(main())
