/* item.js - the page of one item: its price and history, or what else it is; its fields. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const CHART_MS = 250;

class ItemPage {
    constructor(store, heard) {
        Object.assign(this, { store, heard, name: "", pointer: null, drawnAt: 0, lines: new Map() });
        Object.assign(this, { view: "", askShape: "" });
        this.box = byId("item");
        this.make();
    }

    make() {
        const head = element("header");
        this.title = element("h1");
        this.about = element("p", "about");
        this.close = element("button", "close", "\u2715");
        this.close.type = "button";
        this.close.title = "Close (Esc)";
        this.close.setAttribute("aria-label", "Close");
        this.close.addEventListener("click", () => this.heard.close());
        this.drop = element("button", "drop", "Remove");
        this.drop.type = "button";
        this.drop.title = "Remove from the list (Delete)";
        this.drop.addEventListener("click", () => this.heard.remove(this.name));
        const names = element("div", "names");
        names.append(this.title, this.about);
        head.append(names, this.drop, this.close);
        this.price = element("div", "price");
        this.last = element("b");
        this.move = element("span");
        this.state = element("p", "state");
        this.price.append(this.last, this.move);
        this.chart = svgElement("svg", { class: "chart", role: "img" });
        this.chart.addEventListener("pointermove", event => {
            const box = this.chart.getBoundingClientRect();
            this.pointer = (event.clientX - box.left) / box.width;
            this.drawnAt = 0;
        });
        this.chart.addEventListener("pointerleave", () => {
            this.pointer = null;
            this.drawnAt = 0;
        });
        this.ask = element("p", "ask");
        this.views = {
            table: new TableView(this.heard), page: new ScreenView(),
            news: new NewsView(this.heard), story: new StoryView(this.store), block: new BlockView(),
        };
        this.makeFields();
        this.box.append(head, this.price, this.state, this.ask, this.chart,
            ...Object.values(this.views).map(view => view.box), this.facts, this.search, this.list);
    }

    makeFields() {
        this.facts = element("dl", "facts");
        this.search = element("input", "fieldFind");
        this.search.placeholder = "Find a field";
        this.search.setAttribute("aria-label", "Find a field");
        this.search.spellcheck = false;
        this.search.addEventListener("input", () => this.filter());
        this.list = element("table", "fields");
        this.rows = element("tbody");
        this.list.append(this.rows);
    }

    show(name) {
        if (name === this.name) return;
        this.name = name;
        this.box.hidden = !name;
        document.body.classList.toggle("hasItem", Boolean(name));
        this.lines.clear();
        this.rows.replaceChildren();
        this.chart.replaceChildren();
        this.setView("");
        this.search.value = "";
        this.drawnAt = 0;
        this.isNew = true;
        this.box.scrollTop = 0;
    }

    row() {
        return this.store.rows.get(this.name);
    }

    /* Before the grid, which forgets what has changed. */
    draw(now) {
        const row = this.row();
        if (!row) return;
        const { view } = row;
        if (view !== this.view) this.setView(view);
        if (row.isDirty || this.isNew) this.drawWords(row);
        if (now - this.drawnAt >= CHART_MS) {
            this.drawnAt = now;
            if (view === "price") drawChart(this.chart, row, this.pointer);
            else this.views[view].draw(row);
            this.drawFacts(row);
            this.drawAsk(row);
        }
        this.isNew = false;
    }

    setView(view) {
        if (this.views[this.view]) this.views[this.view].clear();
        this.view = view;
        this.drawnAt = 0;
        this.box.dataset.view = view;
        for (const [name, one] of Object.entries(this.views)) one.box.hidden = name !== view;
    }

    /* A name that is not found as prices may be there as something else. */
    drawAsk(row) {
        const { services, service: name } = this.store;
        const service = [...services.values()].find(one => one.name === name);
        const isLost = row.kind === "closed" && !row.imageAt;
        const others = isLost && service ? service.domains.filter(word => word !== row.domain) : [];
        const shape = others.length ? [row.name, ...others].join("\n") : "";
        if (shape === this.askShape) return;
        this.askShape = shape;
        const buttons = others.map(word => {
            const button = element("button", "", domainTitle(word));
            button.type = "button";
            button.addEventListener("click", () => this.heard.follow(joinName(word, row.item)));
            return button;
        });
        this.ask.replaceChildren(...(others.length ? ["Ask for it as "] : []), ...buttons);
    }

    drawWords(row) {
        const decimals = decimalsOfRow(row), change = changeOf(row), word = wordOf(row);
        setText(this.title, row.item);
        setText(this.about, [titleOf(row), kindOf(row), this.store.service, row.fields.CURRENCY]
            .filter(text => typeof text === "string" && text.trim()).join(" \u00b7 "));
        setText(this.last, priceText(isNumber(lastOf(row)) ? lastOf(row) : null, decimals) || "-");
        setText(this.move, isNumber(change) ? `${change < 0 ? "\u25bc" : "\u25b2"} ` +
            `${signedText(change, decimals)}  ${signedText(percentOf(row), 2, "\u2009%")}` : "");
        this.price.dataset.way = change > 0 ? "up" : change < 0 ? "down" : "";
        this.box.dataset.word = word;
        setText(this.state, this.sentence(row, word));
        const isShown = name => !(this.view === "page" && ROW_FIELD.test(name)) &&
            !(this.view === "story" && name === "SEG_TEXT");
        for (const [name, value] of Object.entries(row.fields))
            if (isShown(name)) this.drawField(row, name, value);
        for (const [name, line] of this.lines) {
            if (Object.hasOwn(row.fields, name) && isShown(name)) continue;
            line.row.remove();
            this.lines.delete(name);
        }
        this.search.hidden = this.list.hidden = this.lines.size === 0;
    }

    sentence(row, word) {
        const why = row.text ? `: ${row.text}` : "";
        const isPrice = this.view === "price";
        if (word === "closed") return `Closed${why}. No more ${isPrice ? "prices" : "updates"} come.`;
        if (word === "old") return "Old: what was known before the connection was lost.";
        if (word === "suspect")
            return `Suspect${why}. ${isPrice ? "The prices" : "What is shown"} may be wrong.`;
        return word === "asked" ? "Asked for; no answer yet." : "Open, and up to date.";
    }

    drawField(row, name, value) {
        let line = this.lines.get(name);
        if (!line) {
            line = { row: element("tr"), name: element("th", "", name), value: element("td") };
            line.name.scope = "row";
            line.row.append(line.name, line.value);
            this.lines.set(name, line);
            this.place(line, name);
        }
        const text = fieldText(value, row.decimals[name] || 0);
        line.value.classList.toggle("num", isNumber(value));
        setText(line.value, text);
        const changed = row.changed.get(name);
        if (changed !== undefined && !this.isNew) flash(line.value, changed || 1);
    }

    place(line, name) {
        const after = [...this.lines.keys()].filter(other => other > name).sort()[0];
        this.rows.insertBefore(line.row, after ? this.lines.get(after).row : null);
        line.row.hidden = !name.includes(this.search.value.trim().toUpperCase());
    }

    filter() {
        const wanted = this.search.value.trim().toUpperCase();
        for (const [name, line] of this.lines) line.row.hidden = !name.includes(wanted);
    }

    drawFacts(row) {
        const { low, high } = boundsOf(row.history);
        const decimals = decimalsOfRow(row);
        const seen = row.updateAt || row.imageAt;
        const span = (from, to) => isNumber(from) && isNumber(to) && to >= from
            ? `${grouped(from, decimals)} \u2013 ${grouped(to, decimals)}` : "-";
        const facts = [
            ["Updates", grouped(row.updates, 0)],
            ["Last update", seen ? `${spanText(performance.now() - seen)} ago` : "-"],
        ];
        if (this.view === "price")
            facts.push(["Seen here", span(low, high)], ["Day", span(row.fields.LOW_1, row.fields.HIGH_1)]);
        if (this.facts.childElementCount !== facts.length)
            this.facts.replaceChildren(...facts.map(() => {
                const fact = element("div");
                fact.append(element("dt"), element("dd"));
                return fact;
            }));
        facts.forEach(([name, text], at) => {
            setText(this.facts.children[at].firstChild, name);
            setText(this.facts.children[at].lastChild, text);
        });
    }
}
