/* live_kinds_logic.js - how the live page folds what a feed may send, hostile feeds, too. Runs within the page
 * (live_kinds.py); `vectors` are lines of tests/vectors/marketfeed. Its value is a list of what does not hold. */
/* SPDX-License-Identifier: Apache-2.0 */
(() => {
    const wrong = [];
    const same = (what, found, wanted) => {
        const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
        if (a !== b) wrong.push(`${what}: ${a}, not ${b}`);
    };
    const hex = text => (text === "-" ? "" : text).match(/../g)?.map(two => parseInt(two, 16)) ?? [];
    const latin = text => hex(text).map(byte => String.fromCharCode(byte)).join("");

    (function partialStringsFollowTheVectors() {
        let count = 0;
        for (const [name, , before, content, after] of vectors.partial) {
            if (after === "!beyond") continue;
            const wanted = after === "!command" ? latin(before) : latin(after);
            same(name, foldValue(latin(before), latin(content)), wanted);
            count++;
        }
        same("vectors of strings", count > 15, true);
        const far = `a\x1b[${FIELD_TEXT_MAX + 1}\`b`;
        same("a position far away", foldValue("abc", far), "abc");
        same("repeated for ever", foldValue("abc", "x\x1b[999999999b"), "abc");
        same("repeated often", foldValue("abc", "x\x1b[4000b\x1b[0`".repeat(9000)), "abc");
        same("a long string is cut", foldValue("", "x".repeat(1e6)).length, FIELD_TEXT_MAX + 1);
    })();

    (function ansiPagesFollowTheVectors() {
        for (const [name, payloads, page] of vectors.ansi) {
            const terminal = new Terminal();
            for (const payload of payloads.split("|")) terminal.apply(hex(payload));
            const rows = terminal.grid.map((row, at) => {
                const text = row.join("").replace(/ +$/, "");
                return text && !/[^\x00-\xff]/.test(text) ? `r${at + 1}=`
                    + Array.from(text, c => c.charCodeAt(0).toString(16).padStart(2, "0")).join("") : "";
            }).filter(Boolean);
            const wanted = page.split(" ").filter(one => one.startsWith("r"));
            const isDrawn = terminal.grid.some(row => row.some(c => c > "\xff"));
            if (!isDrawn) same(name, rows, wanted);
        }
        const terminal = new Terminal();
        for (let at = 0; at < 3000; at++)
            terminal.apply(Array.from({ length: 40 }, (_, i) => (at * 7919 + i * i * 31 + (i % 5 ? 0 : 27)) & 255));
        same("any bytes leave a page", [terminal.grid.length, new Set(terminal.grid.map(row => row.length)).size,
            terminal.grid[0].length], [25, 1, 80]);
    })();

    /* ---- rows ---- */

    const budget = () => ({ rows: ALL_ROWS_MAX });
    const shown = table => table.order().map(row => [row.label, ...Object.values(row.fields)].join(" "));
    const entry = (Action, Key, A) => ({ Action, Key, ...(A === undefined ? {} : { Fields: { A } }) });
    const place = (Action, Index, A) => ({ Action, Index, ...(A === undefined ? {} : { Fields: { A } }) });

    (function mapsFollowTheirActions() {
        const table = new Table(budget());
        const apply = (...Entries) => table.apply("Map", { KeyType: "AsciiString", Entries });
        apply(entry("Add", "x", 1), entry("Add", "y", 2));
        apply({ Action: "Update", Key: "x", Fields: { B: 5 } });
        same("update keeps what it does not name", shown(table), ["x 1 5", "y 2"]);
        apply(entry("Add", "x", 3));
        same("add replaces", shown(table), ["x 3", "y 2"]);
        apply(entry("Delete", "y"), entry("Delete", "nobody"), entry("Update", "z", 4));
        same("delete, and an update of a new key", shown(table), ["x 3", "z 4"]);
        table.apply("Map", { KeyType: "Buffer", Entries: [entry("Add", btoa("\x01\xff"), 1), entry("Add", btoa("ORD1"), 2)] });
        same("keys of bytes", shown(table).slice(2), ["01 ff 1", "ORD1 2"]);
        table.apply("Map", { Entries: [entry("Add", "__proto__", 7), { Action: "Add", Key: "c",
            Fields: JSON.parse("{\"__proto__\":{\"ORDER_PRC\":1},\"constructor\":2}") }] });
        same("names of the language are names", shown(table).slice(4), ["__proto__ 7", "c ORDER_PRC 1 2"]);
    })();

    (function placesMoveOnceForAMessage() {
        const shared = budget(), table = new Table(shared);
        const many = Array.from({ length: 65535 }, (_, i) => place("Insert", 0, i));
        for (let n = 0; n < 3; n++) table.apply("Vector", { SupportSorting: true, Entries: many });
        same("many are put in at the front", [table.rows.size, table.isCut, shown(table)[0], shown(table)[999]],
            [TABLE_ROWS_MAX, true, "0 65534", "999 64535"]);
        table.apply("Vector", { SupportSorting: true, Entries: many.map(() => place("Delete", 0)) });
        same("and all are taken out", [table.rows.size, shared.rows], [0, ALL_ROWS_MAX]);
    })();

    (function rowsAreBounded() {
        const shared = budget(), table = new Table(shared);
        const add = from => ({ Entries: Array.from({ length: 700 }, (_, i) => entry("Add", `k${from + i}`, i)) });
        table.apply("Map", add(0));
        table.apply("Map", add(700));
        same("of one item", [table.rows.size, table.isCut, shared.rows], [TABLE_ROWS_MAX, true, ALL_ROWS_MAX - TABLE_ROWS_MAX]);
        const other = new Table({ rows: 3 });
        other.apply("Map", add(0));
        same("of all items", [other.rows.size, other.isCut], [3, true]);
        table.clear();
        same("given back", [shared.rows, table.isCut], [ALL_ROWS_MAX, false]);
        const wide = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`F${i}`, "x".repeat(9000)]));
        table.apply("Map", { Entries: [{ Action: "Add", Key: "w", Fields: wide }] });
        same("columns and cells", [table.columns.size, table.order()[0].fields.F0.length, table.isCut],
            [COLUMNS_MAX, CELL_TEXT_MAX + 1, true]);
        const series = new Table(budget());
        for (let i = 0; i < 3; i++)
            series.apply("Series", { Entries: Array.from({ length: 600 }, (_, n) => ({ Fields: { A: 600 * i + n } })) });
        same("the newest rows of a series stay", [series.rows.size, series.order()[0].fields.A,
            series.order()[999].fields.A, series.isCut], [1000, 1799, 800, true]);
    })();

    (function vectorsFollowTheirActions() {
        const table = new Table(budget());
        const apply = (SupportSorting, ...Entries) => table.apply("Vector", { SupportSorting, Entries });
        apply(true, place("Set", 0, "a"), place("Set", 1, "b"), place("Set", 2, "c"));
        apply(true, place("Insert", 1, "n"));
        same("insert moves", shown(table), ["0 a", "1 n", "2 b", "3 c"]);
        apply(true, place("Delete", 0));
        same("delete moves", shown(table), ["0 n", "1 b", "2 c"]);
        apply(false, place("Clear", 1), place("Update", 2, "C"));
        same("clear leaves the place", shown(table), ["0 n", "1", "2 C"]);
        apply(false, place("Delete", 0), place("Set", 4e9, "far"), { Action: "Set", Index: -1 }, { Action: "Set" });
        same("without sorting, and places that are none", [shown(table), table.isCut], [["1", "2 C"], true]);
        apply(true, place("Insert", 1, "i"));
        same("beside a gap", shown(table), ["1 i", "2", "3 C"]);
    })();

    (function filterListsAndElementsAreRows() {
        const table = new Table(budget());
        table.apply("FilterList", { Entries: [{ ID: 2, Action: "Set", Elements: { State: 1, List: { Type: "Array",
            Data: { Type: "UInt", Data: [5, 6] } } } }, { ID: 1, Action: "Set", Fields: { A: "x" } }] });
        same("by their number", shown(table), ["1 x", "2 1 5, 6"]);
        table.apply("FilterList", { Entries: [{ ID: 2, Action: "Update", Elements: { State: { Type: "Int", Data: 0 } } },
            { ID: 1, Action: "Clear" }] });
        same("update and clear", shown(table), ["2 0 5, 6"]);
        table.apply("Map", { Entries: [{ Action: "Add", Key: 1, Vector: { Entries: [place("Set", 0, "v")] } },
            { Action: "Add", Key: 2, Xml: "<b>" }] });
        same("containers in a row are words", shown(table), ["1 0: A v", "2 <b>"]);
        let deep = 1;
        for (let i = 0; i < 5000; i++) deep = { a: deep };
        same("nested for ever", wordsOf(deep).length < 100, true);
        same("and as a text", typeof blockText("Json", deep), "string");
        same("bytes", [blockText("Opaque", btoa("text")), blockText("Opaque", btoa("\x00\x01")),
            blockText("Opaque", "?")], ["text", "00 01", ""]);
    })();

    (function pagesOfOtherWidths() {
        same("none", screenOf({ BID: 1, ROW80_26: "x" }), null);
        const screen = screenOf({ ROW64_1: "a".repeat(99), ROW64_3: "b\x1b\tc", ROW64_2: null });
        same("64 cells", [screen.width, screen.rows.length, screen.rows[0].length, screen.rows.slice(1, 3)],
            [64, 14, 64, ["", "b  c"]]);
        same("99 cells", [screenOf({ ROW99_20: "z" }).width, screenOf({ ROW99_20: "z" }).rows[19]], [99, "z"]);
    })();

    (function namesHaveDomains() {
        same("words", ["VOD.L", "marketbyprice:VOD.L", "0#UST:", "X:Y", "Domain130:A", "Domain300:A", "History:"]
            .map(name => Object.values(splitName(name)).join(" ")), ["MarketPrice VOD.L", "MarketByPrice VOD.L",
            "MarketPrice 0#UST:", "MarketPrice X:Y", "Domain130 A", "MarketPrice Domain300:A", "MarketPrice History:"]);
        same("capabilities", domainsOf({ Type: "Array", Data: { Type: "UInt", Data: [5, 8, 6, 200, 8, "x"] } }),
            ["MarketPrice", "MarketByPrice", "Domain200"]);
        same("none", domainsOf(undefined), []);
    })();

    /* ---- the store ---- */

    function store() {
        const s = { sent: [] };
        s.store = new Store((...messages) => s.sent.push(...messages), () => 1);
        s.requests = () => s.sent.splice(0).filter(one => one.Key && one.Key.Name)
            .map(one => `${one.Domain || ""} ${one.Key.Name}`);
        s.say = (name, Type, more) => s.store.message({ ID: s.store.rows.get(name).stream, Type,
            State: { Stream: "Open", Data: "Ok" }, ...more });
        s.store.service = "S";
        s.store.connected();
        s.store.message({ ID: DIRECTORY_ID, Type: "Refresh", Map: { Entries: [{ Action: "Add", Key: 1,
            FilterList: { Entries: [{ ID: 1, Elements: { Name: "S" } }] } }] } });
        return s;
    }

    (function oneNameInSeveralDomains() {
        const s = store();
        s.store.open(["A", "MarketByPrice:A", "Domain130:A"]);
        same("asked", s.requests(), [" A", "MarketByPrice A", "130 A"]);
        const add = keys => ({ Map: { Entries: keys.map(key => entry("Add", key, 1)) } });
        const rows = () => [...s.store.rows.get("MarketByPrice:A").table.rows.keys()];
        s.say("MarketByPrice:A", "Refresh", { ...add(["x"]), PartNumber: 0, Complete: false });
        s.say("MarketByPrice:A", "Refresh", { ...add(["y"]), PartNumber: 1 });
        same("an image in parts", rows(), ["x", "y"]);
        s.store.disconnected();
        same("old, and still there", [wordOf(s.store.rows.get("MarketByPrice:A")), rows()], ["old", ["x", "y"]]);
        s.store.connected();
        s.store.message({ ID: DIRECTORY_ID, Type: "Refresh", Map: { Entries: [{ Action: "Add", Key: 1,
            FilterList: { Entries: [{ ID: 1, Elements: { Name: "S" } }] } }] } });
        s.say("MarketByPrice:A", "Refresh", add(["z"]));
        same("the new image", rows(), ["z"]);
        s.store.remove("MarketByPrice:A");
        same("its rows are given back", s.store.budget.rows, ALL_ROWS_MAX);
    })();

    (function storiesAreFollowedAndEnd() {
        const s = store();
        const say = (name, SEG_TEXT, SEG_FORW) => s.say(name, "Refresh", { Fields: { SEG_TEXT, SEG_FORW } });
        s.store.open(["1"]);
        s.requests();
        say("1", "one ", "2");
        same("the next one", s.requests(), [" 2"]);
        same("it is missing", s.store.storyOf(s.store.rows.get("1")), { text: "one ", segments: 1, missing: "2" });
        say("2", "two", "1");
        same("a circle ends", [s.store.storyOf(s.store.rows.get("1")).text, s.requests()], ["one two", []]);
        for (let i = 2; i < 400 && s.store.rows.has(String(i)); i++) say(String(i), "x", String(i + 1));
        same("it is bounded", s.store.rows.size <= SEGMENTS_MAX + 2, true);
        s.store.remove("1");
        same("all of it goes", s.store.rows.size, 0);
    })();

    (function headlinesAreKeptOnce() {
        const s = store();
        s.store.open(["N"]);
        const say = (Type, BCAST_TEXT) => s.say("N", Type, { Fields: { BCAST_TEXT, PNAC: "s", TRDTIM_1: "09:00:00" } });
        say("Refresh", "a");
        say("Refresh", "a");
        same("with an image again", s.store.rows.get("N").headlines.length, 1);
        for (let i = 0; i < 300; i++) say("Update", `h${i}`);
        const { headlines, view } = s.store.rows.get("N");
        same("the newest stay", [headlines.length, headlines[0].text, view], [HEADLINES_MAX, "h299", "news"]);
    })();

    (function fieldsAreBounded() {
        const s = store();
        s.store.open(["F"]);
        s.say("F", "Refresh", { Fields: Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`F${i}`, "x"])) });
        s.say("F", "Update", { Fields: { G: 1, F0: "y" } });
        const { fields } = s.store.rows.get("F");
        same("of one item", [Object.keys(fields).length, "G" in fields, fields.F0], [FIELDS_MAX, false, "y"]);
    })();

    /* In the page itself, which asks nobody meanwhile: texts of a feed are texts, in each view. */
    (function hostileTextsAreTexts() {
        const { isLive } = live.store, evil = "<img src=x onerror=document.title='hit'>";
        live.store.isLive = false;
        live.store.open(["EVIL"]);
        const row = live.store.rows.get("EVIL");
        const show = (message, view) => {
            live.store.refresh(row, { State: { Stream: "Open", Data: "Ok", Text: evil }, ...message });
            live.openItem("EVIL");
            live.item.drawnAt = -1e9;
            live.item.draw(performance.now());
            same(`its view: ${view}`, live.item.view, view);
            same(`${view} is shown as it is`, live.item.box.textContent.includes(evil), true);
        };
        show({ Fields: { DSPLY_NAME: evil, [evil]: { Type: "Array", Data: [evil] } } }, "price");
        show({ Fields: { BCAST_TEXT: evil, PNAC: evil } }, "news");
        row.headlines = [];
        show({ Fields: { ROW80_1: evil } }, "page");
        show({ Fields: { SEG_TEXT: evil } }, "story");
        show({ Xml: evil }, "block");
        show({ AnsiPage: btoa(evil) }, "page");
        show({ Map: { KeyType: "AsciiString", Summary: { Fields: { [evil]: evil } },
            Entries: [{ Action: "Add", Key: evil, Fields: { [evil]: evil } }] } }, "table");
        same("no element came of it", [document.images.length, document.title === "hit"], [0, false]);
        live.store.remove("EVIL");
        live.grid.arrange(0);
        live.store.isLive = isLive;
    })();

    return wrong;
})()
