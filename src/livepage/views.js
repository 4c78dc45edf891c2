/* views.js - items that are no price: tables of rows, pages, headlines, stories, texts. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const KEY_HEADS = { Map: "Key", Vector: "Place", FilterList: "Filter", Series: "" };

function linkButton(text, go) {
    const button = element("button", "link", text);
    button.type = "button";
    button.addEventListener("click", go);
    return button;
}

/* Rows of a map, a vector, a series or a filter list. */
class TableView {
    constructor(heard) {
        Object.assign(this, { heard, lines: new Map(), shape: "" });
        this.box = element("div", "view tableView");
        this.note = element("p", "note");
        this.head = element("tr");
        this.body = element("tbody");
        const table = element("table", "rows"), head = element("thead");
        const place = element("div", "place");
        head.append(this.head);
        table.append(head, this.body);
        place.append(table);
        this.box.append(this.note, place);
    }

    clear() {
        this.lines.clear();
        this.body.replaceChildren();
        this.head.replaceChildren();
        this.shape = "";
    }

    draw(row) {
        const { table } = row;
        const shape = [table.kind, row.name, ...table.columns.keys()].join("\n");
        if (shape !== this.shape) this.makeHead(table, shape);
        setText(this.note, this.words(table));
        for (const [key, line] of this.lines) {
            if (table.rows.get(key) === line.data) continue;
            line.row.remove();
            this.lines.delete(key);
        }
        const isNew = this.lines.size === 0; /* an image: it is no news that it is there */
        let at = this.body.firstElementChild;
        for (const data of table.order()) {
            const line = this.lines.get(data.key) || this.makeLine(row, data, isNew);
            if (line.row === at) at = at.nextElementSibling;
            else this.body.insertBefore(line.row, at);
            if (data.isDirty || line.isNew) this.drawLine(table, data, line);
        }
    }

    words(table) {
        const count = rowsText(table.rows.size);
        if (!table.isCut) return count;
        return table.kind === "Series" ? `${count}: older ones are not kept`
            : `${count}: the item has more than the page keeps`;
    }

    makeHead(table, shape) {
        this.clear();
        this.shape = shape;
        const names = [...table.columns.keys()];
        const key = KEY_HEADS[table.kind] ? [element("th", "", KEY_HEADS[table.kind])] : [];
        this.heads = new Map(names.map(name => [name, element("th", "", name)]));
        for (const cell of this.heads.values()) cell.scope = "col";
        this.head.replaceChildren(...key, ...this.heads.values());
    }

    makeLine(row, data, isNew) {
        const { table } = row;
        const line = { data, row: element("tr"), cells: new Map(), isNew: true };
        if (KEY_HEADS[table.kind]) {
            line.key = element("th", "", data.label);
            line.key.scope = "row";
            const go = () => this.heard.follow(data.label);
            if (row.domain === "SymbolList" && data.label)
                line.key.replaceChildren(linkButton(data.label, go));
            line.row.append(line.key);
        }
        for (const name of table.columns.keys()) {
            const cell = element("td");
            line.cells.set(name, cell);
            line.row.append(cell);
        }
        this.lines.set(data.key, line);
        if (!isNew) line.flashes = true;
        return line;
    }

    drawLine(table, data, line) {
        if (line.key && line.key.textContent !== data.label) setText(line.key, data.label);
        line.row.dataset.side = sideOf(data);
        for (const [name, cell] of line.cells) {
            const value = data.fields[name];
            cell.classList.toggle("num", isNumber(value));
            if (isNumber(value)) this.heads.get(name).classList.add("num");
            setText(cell, fieldText(value, table.columns.get(name)));
            const way = data.changed.get(name);
            if (way !== undefined && !line.isNew) flash(cell, way || 1);
            else if (line.isNew && line.flashes) flash(cell, 1);
        }
        data.changed.clear();
        data.isDirty = line.isNew = line.flashes = false;
    }
}

/* A page: as many cells as it has, and what changed in a row lights up. */
class ScreenView {
    constructor() {
        this.box = element("div", "view screenView");
        this.screen = element("pre", "screen");
        this.box.append(this.screen);
        this.clear();
    }

    clear() {
        this.rows = [];
        this.screen.replaceChildren();
    }

    draw(row) {
        const screen = row.terminal ? row.terminal.screen() : screenOf(row.fields);
        if (!screen) return;
        const isNew = this.rows.length !== screen.rows.length;
        if (isNew) {
            this.rows = screen.rows.map(() => null);
            this.screen.replaceChildren(...screen.rows.map(() => element("div")));
        }
        this.screen.dataset.width = screen.width;
        screen.rows.forEach((text, at) => {
            const before = this.rows[at];
            if (text === before) return;
            this.rows[at] = text;
            this.drawRow(this.screen.children[at], before, text);
        });
    }

    /* An empty row has its height, too. */
    drawRow(line, before, text) {
        if (before === null) {
            setText(line, text || " ");
            return;
        }
        const a = Array.from(before), b = Array.from(text);
        while (a.length < b.length) a.push(" ");
        while (b.length < a.length) b.push(" ");
        let from = 0, to = b.length;
        while (from < to && a[from] === b[from]) from++;
        while (to > from && a[to - 1] === b[to - 1]) to--;
        const changed = element("span", "", b.slice(from, to).join(""));
        line.replaceChildren(b.slice(0, from).join(""), changed, b.slice(to).join("").trimEnd());
        flash(changed, 1);
    }
}

/* Headlines, the newest first; each opens its story. */
class NewsView {
    constructor(heard) {
        this.heard = heard;
        this.box = element("div", "view newsView");
        this.list = element("ol", "headlines");
        this.box.append(this.list);
        this.clear();
    }

    clear() {
        this.shown = [];
        this.list.replaceChildren();
    }

    draw(row) {
        const fresh = [...row.headlines];
        const known = this.shown.length ? fresh.indexOf(this.shown[0]) : fresh.length;
        if (known === 0) return;
        const count = known < 0 ? fresh.length : known;
        if (known < 0) this.list.replaceChildren();
        const lines = fresh.slice(0, count).map(one => this.makeLine(one));
        this.list.prepend(...lines);
        while (this.list.childElementCount > HEADLINES_MAX) this.list.lastElementChild.remove();
        if (this.shown.length) for (const line of lines) flash(line, 1);
        this.shown = fresh;
    }

    makeLine(one) {
        const line = element("li"), text = element("span", "text");
        if (one.story) text.append(linkButton(one.text, () => this.heard.follow(one.story)));
        else text.textContent = one.text;
        line.append(element("time", "", one.time), text, element("small", "", one.story));
        return line;
    }
}

/* A story: the text of its segments, one behind the other. */
class StoryView {
    constructor(store) {
        this.store = store;
        this.box = element("div", "view storyView");
        this.note = element("p", "note");
        this.text = element("article");
        this.box.append(this.note, this.text);
    }

    clear() {
        this.text.textContent = "";
    }

    draw(row) {
        const story = this.store.storyOf(row);
        const count = story.segments === 1 ? "1 segment" : `${story.segments} segments`;
        setText(this.note, story.missing ? `${count}; ${story.missing} is missing` : count);
        setText(this.text, story.text);
    }
}

/* XML, JSON, bytes: as a text. */
class BlockView {
    constructor() {
        this.box = element("div", "view blockView");
        this.text = element("pre");
        this.box.append(this.text);
    }

    clear() {
        this.text.textContent = "";
    }

    draw(row) {
        setText(this.text, row.block);
    }
}
