/* grid.js - the grid: columns, rows, flashes, order, and what of the list is shown. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const SORT_MS = 1000;
const SPARK_MS = 500; /* a trend is seen over seconds: it need not be drawn for each update */
const FLASH_MS = 650;
const COVER = "inset 0 0 0 10rem"; /* over the colour of a selected row */

/*
 * A column: key, head, class (p1 is always there, p2 to p5 where there is room), the value that
 * it is sorted by, its text, and the field whose change makes it flash.
 */
const field = name => row => row.fields[name];
const COLUMNS = [
    { key: "name", head: "Item", css: "name p1", value: row => row.name },
    { key: "last", head: "Last", css: "num last p1", value: lastOf,
      text: row => priceText(isNumber(lastOf(row)) ? lastOf(row) : null, decimalsOfRow(row)),
      flashes: row => LAST_FIELDS.find(name => isNumber(row.fields[name])) },
    { key: "change", head: "Change", css: "num move p2", value: changeOf,
      text: row => signedText(changeOf(row), decimalsOfRow(row)) },
    { key: "percent", head: "%", css: "num move p1", value: percentOf,
      text: row => signedText(percentOf(row), 2, "\u2009%") },
    { key: "spark", head: "Trend", css: "spark p1", value: null },
    { key: "bidSize", head: "Size", css: "num soft p4", value: field("BIDSIZE"),
      text: row => amountText(row.fields.BIDSIZE) },
    { key: "bid", head: "Bid", css: "num p2", value: field("BID"),
      text: row => priceText(row.fields.BID, decimalsOfRow(row)), flashes: () => "BID" },
    { key: "ask", head: "Ask", css: "num p2", value: field("ASK"),
      text: row => priceText(row.fields.ASK, decimalsOfRow(row)), flashes: () => "ASK" },
    { key: "askSize", head: "Size", css: "num soft p4", value: field("ASKSIZE"),
      text: row => amountText(row.fields.ASKSIZE) },
    { key: "range", head: "Low \u2013 high", css: "range p5", value: rangeOf },
    { key: "volume", head: "Volume", css: "num p3", value: field("ACVOL_1"),
      text: row => amountText(row.fields.ACVOL_1) },
    { key: "time", head: "Time", css: "num soft p4", value: timeOf, text: timeOf },
];

function timeOf(row) {
    const time = row.fields.TRDTIM_1 || row.fields.TIMACT || row.fields.SALTIM || "";
    return String(time).slice(0, 8);
}

/* Where the price stands between the low and the high of the day: 0 to 1. */
function rangeOf(row) {
    const low = row.fields.LOW_1, high = row.fields.HIGH_1;
    if (!isNumber(low) || !isNumber(high) || high <= low) return NaN;
    return Math.min(1, Math.max(0, (lastOf(row) - low) / (high - low)));
}

/* The name in words, unless it says what the item's name says already. */
function titleOf(row) {
    const name = String(row.fields.DSPLY_NAME || "").trim();
    return row.item.startsWith(name) ? "" : name;
}

const VIEW_WORDS = { page: "Page", news: "Headlines", story: "Story" };

/* What it is, when it is no price. */
function kindOf(row) {
    return row.domain === PRICES ? VIEW_WORDS[row.view] || "" : domainTitle(row.domain);
}

function aboutOf(row) {
    const rows = row.table ? rowsText(row.table.rows.size) : "";
    return [kindOf(row), rows].filter(Boolean).join(" \u00b7 ") || titleOf(row);
}

function rowsText(count) {
    return count === 1 ? "1 row" : `${grouped(count, 0)} rows`;
}

/* How good a row is, in one word; "" when nothing is to be said. */
function wordOf(row) {
    if (row.kind === "closed") return "closed";
    if (row.isOld) return "old";
    if (row.kind === "suspect") return "suspect";
    return row.kind === "asked" ? "asked" : "";
}

const FILTERS = {
    all: () => true,
    up: row => changeOf(row) > 0,
    down: row => changeOf(row) < 0,
    trouble: row => wordOf(row) !== "",
};

/* Numbers by size, names by letter; what has no value stands last, whichever way. */
function compare(a, b, direction) {
    const hasA = typeof a === "string" ? a !== "" : isNumber(a);
    const hasB = typeof b === "string" ? b !== "" : isNumber(b);
    if (!hasA || !hasB) return Number(hasB) - Number(hasA);
    const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return direction * order;
}

class Grid {
    constructor(store, heard) {
        Object.assign(this, { store, heard, shown: new Map(), order: [], selected: "" });
        Object.assign(this, { sortKey: "", direction: 1, filter: "all", find: "", sortedAt: 0 });
        this.body = document.querySelector("#grid tbody");
        this.box = byId("grid");
        this.makeHead();
        this.body.addEventListener("click", event => {
            const line = event.target.closest("tr");
            if (!line) return;
            this.select(line.dataset.name);
            this.heard.open(line.dataset.name);
        });
    }

    makeHead() {
        const head = document.querySelector("#grid thead tr");
        for (const column of COLUMNS) {
            const cell = element("th", column.css);
            cell.scope = "col";
            if (column.value) {
                const button = element("button", "", column.head);
                button.type = "button";
                button.tabIndex = -1;
                button.addEventListener("click", () => this.sortBy(column.key));
                cell.append(button);
            } else {
                cell.textContent = column.head;
            }
            column.cell = cell;
            head.append(cell);
        }
    }

    /* Best first for numbers, then the other way, then the order of the list again. */
    sortBy(key) {
        const first = key === "name" || key === "time" ? 1 : -1;
        if (this.sortKey !== key) [this.sortKey, this.direction] = [key, first];
        else if (this.direction === first) this.direction = -first;
        else this.sortKey = "";
        for (const column of COLUMNS) {
            const way = column.key !== this.sortKey ? "none"
                : this.direction > 0 ? "ascending" : "descending";
            if (column.value) column.cell.setAttribute("aria-sort", way);
        }
        this.sortedAt = 0;
        this.store.isReordered = true;
    }

    sortNext() {
        const keys = ["", ...COLUMNS.filter(column => column.value).map(column => column.key)];
        const next = keys[(keys.indexOf(this.sortKey) + 1) % keys.length];
        this.sortKey = "";
        if (next) this.sortBy(next);
        else this.store.isReordered = true;
        if (!next) for (const column of COLUMNS) column.cell.setAttribute("aria-sort", "none");
    }

    setFilter(filter) {
        this.filter = filter;
        this.store.isReordered = true;
    }

    setFind(text) {
        if (text === this.find) return;
        this.find = text;
        this.store.isReordered = true;
    }

    matches(row) {
        if (!this.find) return true;
        const label = `${row.name} ${row.fields.DSPLY_NAME || ""}`.toUpperCase();
        return namesIn(this.find.toUpperCase()).some(word => label.includes(word));
    }

    prices() {
        return [...this.store.rows.values()]
            .filter(row => !row.links && (row.isOwn || !row.isSegment));
    }

    wanted() {
        const rows = this.prices().filter(row => this.matches(row) && FILTERS[this.filter](row));
        const column = COLUMNS.find(one => one.key === this.sortKey);
        if (column)
            rows.sort((a, b) => compare(column.value(a), column.value(b), this.direction));
        return rows;
    }

    /* ---- drawing ---- */

    draw(now) {
        const isDue = this.sortKey || this.filter !== "all" ? now - this.sortedAt >= SORT_MS : false;
        if (this.store.isReordered || isDue) this.arrange(now);
        for (const row of this.order) {
            if (row.isDirty) this.drawRow(row);
            else row.changed.clear();
            const line = this.shown.get(row.name);
            if (line.hasNewSpark && now - line.sparkAt >= SPARK_MS) this.drawSpark(row, line, now);
        }
        for (const row of this.store.rows.values()) if (!this.shown.has(row.name)) row.changed.clear();
    }

    arrange(now) {
        this.sortedAt = now;
        this.store.isReordered = false;
        this.order = this.wanted();
        const names = new Set(this.order.map(row => row.name));
        for (const [name, line] of this.shown) {
            if (names.has(name)) continue;
            line.row.remove();
            this.shown.delete(name);
        }
        let at = this.body.firstElementChild;
        for (const row of this.order) {
            const line = this.shown.get(row.name) || this.makeLine(row);
            if (line.row === at) at = at.nextElementSibling;
            else this.body.insertBefore(line.row, at);
        }
        if (!names.has(this.selected)) this.select(this.order.length ? this.order[0].name : "");
        this.heard.arranged();
    }

    makeLine(row) {
        const line = { row: element("tr"), cells: new Map(), sparkAt: -SPARK_MS };
        line.row.dataset.name = row.name;
        for (const column of COLUMNS) {
            const cell = element("td", column.css);
            line.cells.set(column.key, cell);
            line.row.append(cell);
        }
        const name = line.cells.get("name");
        line.label = element("b", "", row.item);
        line.word = element("em");
        line.about = element("small");
        name.append(line.label, line.word, line.about);
        const svg = svgElement("svg", { viewBox: `0 0 ${SPARK.width} ${SPARK.height}`,
            preserveAspectRatio: "none", "aria-hidden": "true" });
        line.spark = svgElement("path", {});
        svg.append(line.spark);
        line.cells.get("spark").append(svg);
        line.mark = element("i");
        line.track = element("div", "track");
        line.track.append(line.mark);
        line.cells.get("range").append(line.track);
        line.row.classList.toggle("selected", row.name === this.selected);
        this.shown.set(row.name, line);
        row.isDirty = true;
        return line;
    }

    drawRow(row) {
        const line = this.shown.get(row.name);
        const word = wordOf(row);
        row.isDirty = false;
        if (line.row.dataset.word !== word) line.row.dataset.word = word;
        setText(line.word, word);
        const about = word && row.text ? row.text : aboutOf(row);
        setText(line.about, about);
        line.about.title = about;
        const change = changeOf(row);
        line.row.dataset.way = change > 0 ? "up" : change < 0 ? "down" : "";
        for (const column of COLUMNS) {
            if (!column.text) continue;
            const cell = line.cells.get(column.key);
            setText(cell, column.text(row));
            const changed = column.flashes && row.changed.get(column.flashes(row));
            if (changed) flash(cell, changed);
        }
        const range = rangeOf(row);
        line.track.hidden = !isNumber(range);
        if (isNumber(range)) line.mark.style.left = `${(100 * range).toFixed(1)}%`;
        line.hasNewSpark = true;
        row.changed.clear();
    }

    drawSpark(row, line, now) {
        line.hasNewSpark = false;
        line.sparkAt = now;
        line.spark.setAttribute("d", sparkPath(row.history));
    }

    /* ---- the selected row ---- */

    select(name) {
        const before = this.shown.get(this.selected), line = this.shown.get(name);
        if (before) before.row.classList.remove("selected");
        this.selected = name;
        if (line) line.row.classList.add("selected");
    }

    move(by) {
        const at = this.order.findIndex(row => row.name === this.selected);
        const next = this.order[Math.min(this.order.length - 1, Math.max(0, at + by))];
        if (!next) return;
        this.select(next.name);
        this.shown.get(next.name).row.scrollIntoView({ block: "nearest" });
        this.heard.moved(next.name);
    }
}

/* Of the theme that is on; main.js keeps them. */
const flashColors = { up: "", down: "" };
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/* A cell whose value moved; it lights up and fades. */
function flash(cell, way) {
    const kind = way > 0 ? "up" : "down";
    cell.dataset.flashed = kind;
    cell.dataset.flashes = Number(cell.dataset.flashes || 0) + 1;
    const color = flashColors[kind];
    const frames = [{ boxShadow: `${COVER} ${color}` }, { boxShadow: `${COVER} transparent` }];
    for (const one of cell.getAnimations()) one.cancel();
    cell.animate(frames, { duration: calm.matches ? 200 : FLASH_MS, easing: "ease-out" });
}
