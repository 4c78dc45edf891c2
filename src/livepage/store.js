/* store.js - services, items and chains: what was asked for, what came, and how good it is. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const ROWS_MAX = 500;
const CHAIN_RECORDS_MAX = 60;
const HISTORY_MAX = 900, HISTORY_MS = 200;
const PACK = 100; /* requests of one frame */
const AGAIN_MS = [2000, 4000, 8000, 16000, 30000];
const DELAYS_MAX = 600, DELAY_WINDOW_MS = 30000;
const LAST_FIELDS = ["TRDPRC_1", "PRIMACT_1", "LAST", "BID", "ASK"];
const HEADLINES_MAX = 200;
const SEGMENTS_MAX = 200, STORY_TEXT_MAX = 200000;
const LINK = /^(?:LINK_|LONGLINK)(\d+)$/;

function makeRow(name) {
    return {
        name, ...splitName(name), stream: 0, kind: "asked", text: "", isOld: false, isOwn: false,
        fields: noFields(), decimals: noFields(), fieldCount: 0, changed: new Map(), history: [],
        updates: 0, tries: 0, againAt: 0, imageAt: 0, updateAt: 0, links: null, next: "", isDirty: true,
        table: null, terminal: null, block: null, headlines: [], segment: "", isSegment: false,
        view: "price",
    };
}

/* Which of its views shows an item. */
function viewOf(row) {
    if (row.table) return "table";
    if (row.terminal) return "page";
    if (row.block !== null) return "block";
    if (typeof row.fields.SEG_TEXT === "string") return "story";
    if (row.headlines.length && !isNumber(lastOf(row))) return "news";
    return Object.keys(row.fields).some(name => ROW_FIELD.test(name)) ? "page" : "price";
}

/* The price that stands for the item. */
function lastOf(row) {
    for (const field of LAST_FIELDS)
        if (isNumber(row.fields[field])) return row.fields[field];
    return NaN;
}

function closeOf(row) {
    for (const field of ["HST_CLOSE", "ADJUST_CLS", "OFF_CLOSE"])
        if (isNumber(row.fields[field])) return row.fields[field];
    return NaN;
}

function changeOf(row) {
    const close = closeOf(row);
    if (isNumber(close)) return lastOf(row) - close;
    return isNumber(row.fields.NETCHNG_1) ? row.fields.NETCHNG_1 : NaN;
}

function percentOf(row) {
    const close = isNumber(closeOf(row)) ? closeOf(row) : lastOf(row) - changeOf(row);
    return close > 0 ? 100 * changeOf(row) / close : NaN;
}

function decimalsOfRow(row) {
    let most = 0;
    for (const field of ["TRDPRC_1", "BID", "ASK", "PRIMACT_1", "HST_CLOSE"])
        most = Math.max(most, row.decimals[field] || 0);
    return most;
}

/* How long updates took. A clock of day is told as it is; the tracker counts from a time that
 * nobody here knows, so it says how much longer than the fastest one. */
class Delays {
    constructor() {
        this.clear();
    }

    clear() {
        Object.assign(this, { kind: "", samples: [], at: 0, least: Infinity, before: Infinity });
        this.windowAt = 0;
    }

    add(kind, ms) {
        if (this.kind !== kind) this.clear();
        this.kind = kind;
        this.samples[this.at] = ms;
        this.at = (this.at + 1) % DELAYS_MAX;
    }

    tracker(us, now) {
        const raw = now - us / 1000;
        const known = Math.min(this.least, this.before);
        if (this.kind !== "spread" || raw - known > 60000) {
            this.clear();
            this.kind = "spread";
            this.windowAt = now;
        }
        if (now - this.windowAt >= DELAY_WINDOW_MS) {
            this.before = this.least;
            this.least = Infinity;
            this.windowAt = now;
        }
        this.least = Math.min(this.least, raw);
        this.add("spread", raw - Math.min(this.least, this.before));
    }

    update(fields, now, day) {
        if (isNumber(fields.TIM_TRK_1)) {
            this.tracker(fields.TIM_TRK_1, now);
            return;
        }
        const sent = isNumber(fields.QUOTIM_MS) ? fields.QUOTIM_MS : fields.SALTIM_MS;
        const ms = day - sent;
        if (isNumber(sent) && ms >= 0 && ms < 60000) this.add("clock", ms);
    }

    quantile(q) {
        return quantile(this.samples.filter(isNumber).sort((a, b) => a - b), q);
    }
}

/* The domains of items among the capabilities of a service; prices first. */
function domainsOf(capabilities) {
    const values = plainValue(plainValue(capabilities));
    const words = (Array.isArray(values) ? values : []).map(Number).map(domainWord).filter(Boolean);
    return [...new Set(words.sort((a, b) => Number(b === PRICES) - Number(a === PRICES)))];
}

class Store {
    constructor(send, now = () => performance.now()) {
        Object.assign(this, { send, now, rows: new Map(), streams: new Map(), services: new Map() });
        Object.assign(this, { service: "", nextId: FIRST_ID, updates: 0, isLive: false, said: "" });
        this.delays = new Delays();
        this.budget = { rows: ALL_ROWS_MAX };
        this.isReordered = true;
    }

    /* ---- what is wanted ---- */

    roots() {
        return [...this.rows.values()].filter(row => row.isOwn).map(row => row.name);
    }

    add(name) {
        let row = this.rows.get(name);
        if (row) return row;
        if (this.rows.size >= ROWS_MAX) {
            this.said = `Not more than ${ROWS_MAX} items: ${name} was not opened`;
            return null;
        }
        row = makeRow(name);
        this.rows.set(name, row);
        this.isReordered = true;
        return row;
    }

    open(names) {
        const made = [];
        for (const name of names) {
            const row = this.add(name);
            if (!row) break;
            row.isOwn = true;
            if (!row.stream) made.push(row);
        }
        this.request(made);
    }

    remove(name) {
        const row = this.rows.get(name);
        if (!row) return;
        row.isOwn = false;
        this.sweep();
        if (!this.rows.has(name)) return;
        const whole = [...this.rows.values()].find(one => one !== row
            && ((one.links || []).includes(name) || one.segment === name));
        this.said = `${name} belongs to ${whole.name}: close that to be rid of it`;
    }

    /* What no row of one's own leads to goes, also a chain that leads to itself. */
    sweep() {
        const reached = new Set(this.roots());
        for (const name of reached) { /* visits the names that it adds, too */
            const row = this.rows.get(name);
            for (const link of [...(row.links || []), row.segment])
                if (this.rows.has(link)) reached.add(link);
        }
        for (const row of [...this.rows.values()]) if (!reached.has(row.name)) this.drop(row);
    }

    drop(row) {
        this.rows.delete(row.name);
        if (row.table) row.table.clear();
        this.isReordered = true;
        if (!row.stream) return;
        this.streams.delete(row.stream);
        if (row.kind !== "closed") this.send({ ID: row.stream, Type: "Close" });
    }

    clear() {
        for (const row of this.rows.values()) row.isOwn = false;
        this.sweep();
    }

    /* Every item is asked for at the other service. */
    setService(name) {
        if (name === this.service) return;
        const roots = this.roots();
        this.clear();
        this.service = name;
        this.open(roots);
    }

    /* An item of a service that is not there yet would be closed for good. */
    isOffered() {
        return this.isLive && [...this.services.values()].some(one => one.name === this.service);
    }

    request(rows) {
        if (!this.isOffered()) return;
        const messages = rows.map(row => {
            if (row.stream) this.streams.delete(row.stream);
            row.stream = this.nextId++;
            row.againAt = 0;
            this.streams.set(row.stream, row);
            const key = { Name: row.item };
            if (this.service) key.Service = this.service;
            const message = { ID: row.stream, Key: key, KeyInUpdates: false };
            if (row.domain !== PRICES) message.Domain = numberOf(row.domain) || row.domain;
            return message;
        });
        for (let at = 0; at < messages.length; at += PACK)
            this.send(...messages.slice(at, at + PACK));
    }

    /* ---- the connection ---- */

    connected() {
        this.isLive = true;
        this.streams.clear();
        this.services.clear();
        this.delays.clear();
        for (const row of this.rows.values()) row.stream = 0;
        this.send({ ID: DIRECTORY_ID, Domain: "Source", Key: { Filter: 3 } });
    }

    /* What was seen last stays, and is old until its new image is there. */
    disconnected() {
        if (!this.isLive) return;
        this.isLive = false;
        for (const row of this.rows.values()) {
            row.stream = 0;
            row.tries = 0;
            row.againAt = 0;
            this.age(row);
        }
    }

    age(row) {
        if (row.kind === "closed") row.kind = "asked";
        row.isOld = row.imageAt > 0;
        row.isDirty = true;
        this.mark(row, NaN);
    }

    /* Once a second. */
    tick() {
        const due = [...this.rows.values()].filter(row => row.againAt && this.now() >= row.againAt);
        this.request(due);
    }

    /* ---- messages ---- */

    message(message) {
        if (message.ID === DIRECTORY_ID) {
            this.directory(message);
            return;
        }
        const row = this.streams.get(message.ID);
        if (!row) return;
        if (message.Type === "Update") this.update(row, message);
        else if (message.Type === "Refresh") this.refresh(row, message);
        else if (message.Type === "Status" && message.State) this.status(row, message.State);
        else if (message.Type === "Error") this.end(row, String(message.Text || "an error"));
    }

    refresh(row, message) {
        const isFirst = message.ClearCache !== false && !(message.PartNumber > 0);
        const before = isFirst ? row.fields : null;
        if (isFirst) {
            row.fields = noFields();
            row.fieldCount = 0;
            row.terminal = row.block = null;
            if (row.table) row.table.clear();
            row.table = null;
        }
        row.updates++;
        row.imageAt = this.now();
        row.isOld = false;
        row.tries = 0;
        this.fold(row, message, before);
        this.status(row, message.State || {});
        if (row.kind === "asked") row.kind = "open";
        if (row.view === "price" && !Object.keys(row.fields).length)
            row.text ||= "It has no fields";
        this.findLinks(row);
    }

    update(row, message) {
        row.updates++;
        this.updates++;
        row.updateAt = this.now();
        this.fold(row, message, row.fields);
        const fields = message.Fields;
        if (!fields) return;
        const time = new Date();
        const midnight = Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate());
        this.delays.update(fields, this.now(), time.getTime() - midnight);
        if (row.links || "REF_COUNT" in fields) this.findLinks(row);
    }

    /* The payload of a message, whatever container it is. */
    fold(row, message, before) {
        row.isDirty = true;
        const kind = TABLES.find(name => message[name] && typeof message[name] === "object");
        if (kind) {
            row.table ||= new Table(this.budget);
            row.table.apply(kind, message[kind]);
            this.put(row, fieldsOf(message[kind].Summary || {}), before);
        } else if (message.AnsiPage !== undefined) {
            row.terminal ||= new Terminal();
            row.terminal.apply(bytesOf(message.AnsiPage));
        } else if (message.Fields || message.Elements) {
            this.put(row, message.Fields || elementsOf(message.Elements), before);
            if (row.domain === PRICES) this.read(row, message);
        } else {
            const name = BLOCKS.find(one => message[one] !== undefined);
            if (name) row.block = blockText(name, message[name]);
        }
        if (row.view !== "price" || !isNumber(lastOf(row))) row.view = viewOf(row);
    }

    put(row, fields, before) {
        for (const [name, sent] of Object.entries(fields)) {
            if (!Object.hasOwn(row.fields, name) && row.fieldCount++ >= FIELDS_MAX) continue;
            const old = before && Object.hasOwn(before, name) ? before[name] : undefined;
            const value = foldValue(row.fields[name], sent);
            row.fields[name] = value;
            row.decimals[name] = Math.max(row.decimals[name] || 0, decimalsOf(value));
            if (old === undefined || old === value || typeof value === "object") continue;
            row.changed.set(name, isNumber(value) && isNumber(old) ? Math.sign(value - old) : 0);
        }
        this.mark(row, lastOf(row));
    }

    /* A point of its history; NaN: it was interrupted. */
    mark(row, value) {
        const points = row.history;
        const last = points[points.length - 1];
        const at = Date.now();
        if (!isNumber(value) && (!last || !isNumber(last.value))) return;
        if (last && isNumber(last.value) && isNumber(value) && at - last.at < HISTORY_MS)
            last.value = value;
        else
            points.push({ at, value });
        if (points.length > HISTORY_MAX) points.splice(0, HISTORY_MAX / 10);
    }

    status(row, state) {
        const { kind, text } = stateOf(state);
        row.isDirty = true;
        if (kind === "closed") {
            this.end(row, text);
        } else if (kind === "again") {
            this.end(row, text);
            row.kind = "suspect";
            row.againAt = this.now() + AGAIN_MS[Math.min(row.tries++, AGAIN_MS.length - 1)];
        } else if (kind !== "same") {
            row.kind = row.imageAt || kind === "suspect" ? kind : "asked";
            row.text = kind === "suspect" ? text : "";
            if (kind === "suspect") this.mark(row, NaN);
        }
    }

    end(row, text) {
        this.streams.delete(row.stream);
        row.stream = 0;
        row.kind = "closed";
        row.text = text;
        row.isDirty = true;
        this.mark(row, NaN);
    }

    /* ---- news ---- */

    read(row, message) {
        const { fields } = row, sent = message.Fields || {};
        const whole = "BCAST_TEXT" in sent ? fields.BCAST_TEXT : ""; /* what came may be a part */
        const text = typeof whole === "string" ? whole.trim() : "";
        if (text) this.headline(row, text);
        if (typeof fields.SEG_TEXT === "string")
            this.follow(row, String(fields.SEG_FORW || "").trim());
    }

    /* The newest is the first; one that comes again with an image is there. */
    headline(row, text) {
        const one = { text, story: String(row.fields.PNAC || "").trim(),
            time: String(row.fields.TRDTIM_1 || row.fields.TIMACT || "").slice(0, 8) };
        const last = row.headlines[0];
        if (last && Object.keys(one).every(key => one[key] === last[key])) return;
        row.headlines.unshift(one);
        if (row.headlines.length > HEADLINES_MAX) row.headlines.pop();
    }

    /* The next segment of a story. */
    follow(row, name) {
        if (row.segment === name) return;
        row.segment = name;
        this.sweep();
        const count = [...this.rows.values()].filter(one => one.segment).length;
        if (!name || count > SEGMENTS_MAX) return;
        const isThere = this.rows.has(name), next = this.add(name);
        if (!next) return;
        if (!isThere) next.isSegment = true;
        if (!next.stream && next.kind === "asked") this.request([next]);
    }

    /* The text of a story from this segment on, and what is missing. */
    storyOf(row) {
        const seen = new Set(), story = { text: "", segments: 0, missing: "" };
        for (let one = row; one && !seen.has(one);) {
            seen.add(one);
            const piece = one.fields.SEG_TEXT;
            if (typeof piece !== "string") {
                story.missing = one.name;
                break;
            }
            story.text = cutText(story.text + piece, STORY_TEXT_MAX);
            story.segments++;
            if (one.segment && !this.rows.has(one.segment)) story.missing = one.segment;
            one = one.segment ? this.rows.get(one.segment) : null;
        }
        return story;
    }

    /* ---- chains ---- */

    findLinks(row) {
        if (row.domain !== PRICES) return;
        const found = [];
        for (const [name, value] of Object.entries(row.fields)) {
            const link = LINK.exec(name);
            if (link && typeof value === "string" && value.trim())
                found.push([Number(link[1]), value.trim()]);
        }
        if (found.length === 0 && !row.links && !/^\d+#/.test(row.name)) return;
        found.sort((a, b) => a[0] - b[0]);
        const next = String(row.fields.NEXT_LR || row.fields.LONGNEXTLR || "").trim();
        const links = found.map(one => one[1]);
        const hasNext = (row.links || []).includes(next);
        if (next && (hasNext || this.chains().length < CHAIN_RECORDS_MAX)) links.push(next);
        row.next = next;
        this.setLinks(row, links);
    }

    setLinks(row, links) {
        const before = row.links || [];
        const made = [];
        row.links = links;
        for (const name of links) {
            const member = this.add(name);
            if (member && !member.stream && member.kind === "asked") made.push(member);
        }
        if (before.some(name => !links.includes(name))) this.sweep();
        this.isReordered = true;
        this.request(made);
    }

    chains() {
        return [...this.rows.values()].filter(row => row.links);
    }

    /* ---- services ---- */

    directory(message) {
        if (message.Type === "Refresh") this.services.clear();
        for (const entry of (message.Map && message.Map.Entries) || []) {
            if (entry.Action === "Delete") this.services.delete(entry.Key);
            else this.describe(entry);
        }
        const first = this.services.values().next().value;
        if (!this.service && first) this.service = first.name;
        const waiting = [...this.rows.values()].filter(
            row => !row.stream && row.kind !== "closed" && !row.againAt);
        this.request(waiting);
        this.isReordered = true;
    }

    describe(entry) {
        const known = this.services.get(entry.Key)
            || { name: `service ${entry.Key}`, isUp: true, domains: [] };
        for (const filter of (entry.FilterList && entry.FilterList.Entries) || []) {
            const elements = filter.Elements || {};
            if (filter.ID === 1) {
                known.name = String(elements.Name || known.name);
                known.vendor = String(elements.Vendor || "");
                known.domains = domainsOf(elements.Capabilities);
            } else if (filter.ID === 2 && elements.ServiceState !== undefined) {
                const state = elements.ServiceState;
                known.isUp = (typeof state === "object" ? state.Data : state) === 1;
            }
        }
        this.services.set(entry.Key, known);
    }
}
