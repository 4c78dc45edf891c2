/* keys.js - everything has a key. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const KEYS = [
    ["/", "find in the list, or open items: names with blanks or commas between them"],
    ["d", "pick the kind of data of names typed next: prices, books, lists, curves"],
    ["Enter", "open what was typed; open the page of the selected item"],
    ["\u2191 \u2193 j k", "select the item above or below; also while its page is open"],
    ["Home End PgUp PgDn", "the first, the last, ten up, ten down"],
    ["Esc", "close the page of the item; leave the search"],
    ["Delete", "remove the selected item"],
    ["s", "sort by the next column"],
    ["1 2 3 4", "all items, those that rose, those that fell, those that are not fine"],
    ["t", "light or dark"],
    ["r", "connect now"],
    ["?", "these keys"],
];

function fillKeys(list) {
    for (const [keys, text] of KEYS) {
        const row = element("div"), names = element("dt");
        for (const key of keys.split(" ")) names.append(element("kbd", "", key));
        row.append(names, element("dd", "", text));
        list.append(row);
    }
}

/* `live` is what main.js made. */
function onKey(event, live) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
        return;
    const target = event.target;
    if (target.matches("input, select, textarea")) {
        if (event.key === "Escape") live.leaveSearch();
        if (target.id === "search" && event.key === "ArrowDown") live.leaveSearch(true);
        return;
    }
    const action = actionOf(event.key, live);
    if (!action || (event.key === "Enter" && target.matches("button, summary"))) return;
    event.preventDefault();
    action();
}

function actionOf(key, live) {
    const { grid } = live;
    const rows = grid.order.length;
    const actions = {
        "/": () => live.search.focus(),
        d: () => !byId("kind").hidden && byId("domain").focus(),
        ArrowDown: () => grid.move(1), j: () => grid.move(1),
        ArrowUp: () => grid.move(-1), k: () => grid.move(-1),
        PageDown: () => grid.move(10), PageUp: () => grid.move(-10),
        Home: () => grid.move(-rows), End: () => grid.move(rows),
        Enter: () => live.openItem(grid.selected),
        Escape: () => live.openItem(""),
        Delete: () => live.remove(grid.selected), x: () => live.remove(grid.selected),
        s: () => grid.sortNext(), t: () => live.turnTheme(), r: () => live.feed.retry(),
        "?": () => byId("keys").showModal(),
        1: () => live.setFilter("all"), 2: () => live.setFilter("up"),
        3: () => live.setFilter("down"), 4: () => live.setFilter("trouble"),
    };
    return Object.hasOwn(actions, key) ? actions[key] : null;
}
