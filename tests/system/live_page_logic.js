/* live_page_logic.js - what the live page does when things go wrong, with a clock and a socket of our own.
 * Runs within the page (live_page.py); its value is a list of what does not hold. */
/* SPDX-License-Identifier: Apache-2.0 */
(() => {
    const wrong = [];
    const same = (what, found, wanted) => {
        const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
        if (a !== b) wrong.push(`${what}: ${a}, not ${b}`);
    };

    /* A world in which time passes when it is told to. */
    function world() {
        const w = { now: 0, sockets: [], timers: [], sent: [], why: "" };
        w.wires = {
            socket: () => {
                const socket = { readyState: 0, close: () => { socket.readyState = 3; },
                    send: text => w.sent.push(JSON.parse(text)) };
                w.sockets.push(socket);
                return socket;
            },
            now: () => w.now, random: () => 0.5,
            later: (work, ms) => (w.timers.push({ work, at: w.now + ms, ms }), w.timers.length),
            cancel: number => number && (w.timers[number - 1].work = null),
            why: () => Promise.resolve(""),
        };
        w.feed = new Feed(w.wires, { state: () => 0, login: () => 0, message: () => 0 });
        w.last = () => w.sockets[w.sockets.length - 1];
        w.open = () => { w.last().readyState = 1; w.last().onopen(); };
        w.say = (...messages) => w.last().onmessage({ data: JSON.stringify(messages) });
        w.welcome = () => w.say({ ID: 1, Type: "Refresh", State: { Stream: "Open", Data: "Ok" } });
        w.pass = (ms, step = 1000) => {
            for (const end = w.now + ms; w.now < end;) {
                w.now += step;
                for (const timer of w.timers)
                    if (timer.work && timer.at <= w.now) {
                        const work = timer.work;
                        timer.work = null;
                        work();
                    }
                w.feed.tick();
            }
        };
        return w;
    }

    function login() {
        const w = world();
        w.feed.login({ user: "me", password: "", token: "" });
        w.open();
        w.welcome();
        return w;
    }

    (function aRefusedLoginIsNotRepeated() {
        const w = world();
        w.feed.login({ user: "me", password: "x", token: "" });
        w.open();
        same("password", w.sent[0].Key.Elements.Password, "x");
        w.say({ ID: 1, Type: "Status", State: { Stream: "Closed", Data: "Suspect", Text: "no" } });
        w.pass(600000);
        same("refused", [w.feed.state, w.feed.problem, w.sockets.length], ["refused", "no", 1]);
    })();

    (function pausesGrow() {
        const w = world();
        w.feed.login({ user: "me", password: "", token: "" });
        for (let i = 0; i < 8; i++) {
            w.last().onclose({ code: 1006, reason: "" });
            w.pass(w.feed.retryAt - w.now, 100);
        }
        same("pauses", w.timers.map(timer => timer.ms),
            [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
        w.open();
        w.welcome();
        w.pass(1000);
        w.last().onclose({ code: 1006, reason: "" });
        same("a login that does not hold", w.timers.pop().ms, 15000);
    })();

    (function aConnectionThatSaysNothingIsGivenUp() {
        const w = world();
        w.feed.login({ user: "me", password: "", token: "" });
        w.open();
        w.pass(14000);
        same("still waiting", w.feed.state, "login");
        w.pass(2000);
        same("given up", w.sockets.length, 2);
    })();

    (function aLostPongIsNoticed() {
        const w = login();
        const pings = () => w.sent.filter(message => message.Type === "Ping").length;
        same("first ping", pings(), 1);
        w.say({ Type: "Pong" });
        w.pass(5000);
        same("second ping", pings(), 2);
        w.pass(10000);
        same("asked again", [pings(), w.feed.lost], [3, 1]);
        w.say({ Type: "Pong" });
        w.pass(5000);
        same("as before", [pings(), w.feed.lost, w.feed.state], [4, 0, "live"]);
        for (let i = 0; i < 40; i++) {
            w.pass(1000);
            w.say({ ID: 10, Type: "Update" });
        }
        same("who sends prices is not cut", [w.feed.state, w.sockets.length], ["live", 1]);
        w.pass(60000);
        same("who is silent is left", w.sockets.length > 1, true);
    })();

    (function pingsAreAnswered() {
        const w = login();
        w.say({ Type: "Ping" });
        same("pong", w.sent.pop(), { Type: "Pong" });
        w.last().onmessage({ data: "{" });
        same("not JSON", [w.feed.state, w.feed.problem], ["waiting", "p2ps sent what is not JSON"]);
    })();

    /* ---- the store ---- */

    function store() {
        const s = { now: 1, sent: [] };
        s.store = new Store((...messages) => s.sent.push(...messages), () => s.now);
        s.requests = () => s.sent.splice(0).filter(one => one.Key && one.Key.Name)
            .map(one => one.Key.Name);
        s.id = name => s.store.rows.get(name).stream;
        s.service = up => s.store.message({ ID: DIRECTORY_ID, Type: "Refresh", Map: { Entries: [{
            Action: "Add", Key: 1, FilterList: { Entries: [{ ID: 1, Elements: { Name: "S" } },
                { ID: 2, Elements: { ServiceState: up } }] } }] } });
        s.image = (name, Fields) => s.store.message({ ID: s.id(name), Type: "Refresh",
            State: { Stream: "Open", Data: "Ok" }, Fields });
        s.status = (name, State) => s.store.message({ ID: s.id(name), Type: "Status", State });
        s.word = name => wordOf(s.store.rows.get(name));
        s.store.service = "S";
        return s;
    }

    (function pricesAreOldUntilTheNewImage() {
        const s = store();
        s.store.open(["A"]);
        s.store.connected();
        same("no service yet", s.requests(), []);
        s.service(1);
        same("asked", [s.requests(), s.word("A")], [["A"], "asked"]);
        s.image("A", { BID: 39.9, ASK: 39.94 });
        same("live", [s.word("A"), priceText(s.store.rows.get("A").fields.BID,
            decimalsOfRow(s.store.rows.get("A")))], ["", "39.90"]);
        s.store.disconnected();
        same("gone", s.word("A"), "old");
        s.store.connected();
        same("connected again", s.word("A"), "old");
        s.service(1);
        same("asked again", [s.requests(), s.word("A")], [["A"], "old"]);
        s.status("A", { Stream: "Open", Data: "Ok" });
        same("a state is no image", s.word("A"), "old");
        s.image("A", { BID: 40 });
        same("the new image", s.word("A"), "");
        same("a gap in the history", s.store.rows.get("A").history.map(point => point.value),
            [39.9, null, 40].map(value => value === null ? NaN : value));
    })();

    (function statesAreTold() {
        const s = store();
        s.store.open(["A", "B"]);
        s.store.connected();
        s.service(1);
        s.requests();
        s.image("A", { BID: 1 });
        s.status("A", { Stream: "Open", Data: "Suspect", Text: "gone" });
        same("suspect", [s.word("A"), s.store.rows.get("A").text], ["suspect", "gone"]);
        s.status("A", { Stream: "Open", Data: "NoChange", Text: "hm" });
        same("no change", s.word("A"), "suspect");
        s.status("A", { Stream: "ClosedRecover", Data: "Suspect", Text: "later" });
        s.now = 2000;
        s.store.tick();
        same("not yet", s.requests(), []);
        s.now = 2001;
        s.store.tick();
        same("asked again", s.requests(), ["A"]);
        s.status("A", { Stream: "ClosedRecover", Data: "Suspect" });
        s.now = 6000;
        s.store.tick();
        same("after a longer pause", s.requests(), []);
        s.status("B", { Stream: "Closed", Data: "Suspect", Code: "NotFound" });
        s.now = 900000;
        s.store.tick();
        same("closed for good", [s.requests(), s.word("B"), s.store.rows.get("B").text],
            [["A"], "closed", "not found"]);
    })();

    (function chainsAreExpanded() {
        const s = store();
        s.store.open(["0#C"]);
        s.store.connected();
        s.service(1);
        s.requests();
        s.image("0#C", { REF_COUNT: 2, LINK_1: "A", LINK_2: "B", LINK_3: " ", NEXT_LR: "1#C" });
        same("links", s.requests(), ["A", "B", "1#C"]);
        s.image("1#C", { REF_COUNT: 2, LINK_1: "B", LINK_2: "0#C" });
        same("a circle", [s.requests(), [...s.store.rows.keys()]], [[], ["0#C", "A", "B", "1#C"]]);
        s.image("0#C", { REF_COUNT: 1, LINK_1: "A" });
        same("fewer", [...s.store.rows.keys()].includes("1#C"), false);
        s.store.remove("0#C");
        same("closed", [...s.store.rows.keys()], []);
        s.store.open(Array.from({ length: 600 }, (_, i) => `I${i}`));
        same("not more than the limit", [s.store.rows.size, /Not more than 500/.test(s.store.said)],
            [500, true]);
    })();

    (function aChainAtTheLimitHolds() {
        const s = store();
        const all = CHAIN_RECORDS_MAX + 1;
        s.store.open(["C0"]);
        s.store.connected();
        s.service(1);
        const image = at => s.image(`C${at}`,
            { REF_COUNT: 1, LINK_1: `I${at}`, NEXT_LR: `C${at + 1}` });
        for (let at = 0; at < all; at++) image(at);
        same("as many as the limit lets in", [s.store.chains().length, s.store.rows.size,
            s.store.rows.has(`C${all}`)], [all, 2 * all, false]);
        s.requests();
        const ids = [0, 30, all - 1].map(at => s.id(`C${at}`));
        for (const ID of ids) s.store.message({ ID, Type: "Update", Fields: { REF_COUNT: 1 } });
        same("updates change nothing", [s.store.chains().length, s.store.rows.size, s.sent],
            [all, 2 * all, []]);
    })();

    (function aChainThatLeadsToItselfIsClosed() {
        const s = store();
        s.store.open(["A", "X"]);
        s.store.connected();
        s.service(1);
        s.image("A", { REF_COUNT: 1, LINK_1: "I", NEXT_LR: "B" });
        s.image("B", { REF_COUNT: 2, LINK_1: "J", LINK_2: "X", NEXT_LR: "A" });
        const ids = ["A", "I", "B", "J"].map(s.id).sort();
        s.requests();
        s.store.remove("J");
        same("a member stays", [s.store.rows.has("J"), s.store.said],
            [true, "J belongs to B: close that to be rid of it"]);
        s.store.remove("A");
        same("closed", [[...s.store.rows.keys()], s.sent.map(one => one.ID).sort()], [["X"], ids]);
        same("and only once", s.sent.every(one => one.Type === "Close"), true);
    })();

    /* In the page itself, which asks nobody meanwhile. */
    (function thePageOfAnItemGoesWithItsChain() {
        const { isLive, said } = live.store;
        const { selected } = live.grid;
        live.store.isLive = false;
        live.store.open(["0#GONE", "1#GONE"]);
        for (const [chain, member] of [["0#GONE", "A.GONE"], ["1#GONE", "B.GONE"]])
            live.store.setLinks(live.store.rows.get(chain), [member]);
        const shown = () => [live.item.name, byId("item").hidden, location.hash];
        live.openItem("A.GONE");
        live.grid.arrange(0);
        same("its page", shown(), ["A.GONE", false, "#A.GONE"]);
        live.store.remove("0#GONE");
        live.grid.arrange(0);
        same("its chain is closed", shown(), ["", true, ""]);
        live.openItem("B.GONE");
        live.store.setLinks(live.store.rows.get("1#GONE"), []);
        live.grid.arrange(0);
        same("the link is gone", shown(), ["", true, ""]);
        live.store.remove("1#GONE");
        Object.assign(live.store, { isLive, said });
        live.grid.arrange(0);
        live.grid.select(selected);
    })();

    (function anAxisEnds() {
        same("an axis", axisSteps(1, 3.2, 5), [1, 1.5, 2, 2.5, 3]);
        const close = [[0.3, 0.30000000000000004], [9007199254740994, 9007199254740996]];
        for (const [low, high] of close)
            same(`from ${low} to ${high}`, axisSteps(low, high, 5).length <= 2, true);
        same("it is bounded", axisSteps(0, 1, 1e6).length <= 50, true);
        const svg = svgElement("svg", {}), at = Date.now() - 1000;
        for (const [low, high] of [...close, [7, 7], [0, 0]]) {
            const frame = chartFrame(svg, [{ at, value: low }, { at, value: high }], NaN);
            same(`drawn like one price: ${low} and ${high}`,
                frame.high - frame.low > (high || 1) * 1e-4, true);
            same(`its marks: ${low} and ${high}`,
                axisSteps(frame.low, frame.high, 3).length > 0, true);
        }
    })();

    (function wordsAreRight() {
        same("names", namesIn(" A.N,B.O;A.N  0#C\n"), ["A.N", "B.O", "0#C"]);
        same("signs", [signedText(-1.5, 2), signedText(0.001, 2), signedText(2, 1, " %")],
            ["\u22121.50", "0.00", "+2.0 %"]);
        same("amounts", [amountText(1234567), amountText(null), amountText(5e9)],
            ["1,234,567", "", "5.00 bn"]);
        same("blanks stand last", [3, NaN, 1].sort((a, b) => compare(a, b, -1)).map(String),
            ["3", "1", "NaN"]);
        same("small prices", [5e-7, 1.5e-7, -2.5e-3, 1e-12, 1e21, 39.9].map(decimalsOf),
            [7, 8, 4, 8, 0, 1]);
        same("a small price", priceText(5e-7, decimalsOf(5e-7)), "0.0000005");
        same("parts", [0.25, 1.5, 1234.5, 0].map(amountText), ["0.25", "1.5", "1,234.5", "0"]);
        const delays = new Delays();
        for (let i = 0; i < 100; i++) delays.tracker(1e9 + i * 1000, 50 + i + (i === 50 ? 7 : 0));
        same("spread", [delays.kind, delays.quantile(0.99)], ["spread", 7]);
    })();

    return wrong;
})()
