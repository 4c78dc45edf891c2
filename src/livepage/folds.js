/* folds.js - what messages change: strings in part; rows of maps, vectors, series, filter lists. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const TABLE_ROWS_MAX = 1000; /* of one item */
const ALL_ROWS_MAX = 50000; /* of all items together */
const COLUMNS_MAX = 60;
const CELL_TEXT_MAX = 400;
const FIELDS_MAX = 4000; /* of one item */
const FIELD_TEXT_MAX = 4096;
const BLOCK_TEXT_MAX = 65536;
const WRITES_MAX = 65536; /* characters that one content writes: it may repeat them */
const DEPTH_MAX = 16;

/* Containers that have rows, and payloads that are shown as a text. */
const TABLES = ["Map", "Vector", "Series", "FilterList"];
const BLOCKS = ["Xml", "Json", "Opaque", "Message"];

function cutText(text, most) {
    return text.length > most ? text.slice(0, most) + "\u2026" : text;
}

/* Fields by name, whatever the names are. */
function noFields() {
    return Object.create(null);
}

/* ---- strings that are updated in part ---- */

/* The characters of `before` with those of `content` written over them, or null: it is broken. */
function writeOver(before, content) {
    const kept = Array.from(before), written = [];
    const pieces = content.split(/\x1b\[(\d*)([`b])/);
    let at = 0, hasPosition = false, canRepeat = false, last = "", writes = 0;
    const write = char => {
        while (kept.length < at) kept.push(" ");
        kept[at++] = char;
        if (!hasPosition) written.push(char);
        last = char;
        canRepeat = true;
        writes++;
    };
    for (let i = 0; i < pieces.length; i += 3) {
        if (pieces[i].includes("\x1b[")) return null;
        for (const char of pieces[i]) write(char);
        if (i + 2 >= pieces.length) break;
        const number = Number(pieces[i + 1] || 0), isPosition = pieces[i + 2] === "`";
        if (number > FIELD_TEXT_MAX || (!isPosition && !canRepeat)) return null;
        if (isPosition) {
            at = number;
            hasPosition = true;
            canRepeat = false;
        } else {
            for (let n = 0; n < number; n++) write(last);
        }
        if (at > FIELD_TEXT_MAX || writes > WRITES_MAX) return null;
    }
    return (hasPosition ? kept : written).join("");
}

/* What a field is after `value` came for it. */
function foldValue(before, value, most = FIELD_TEXT_MAX) {
    if (typeof value !== "string") return value;
    if (!value.includes("\x1b[")) return cutText(value, most);
    const old = typeof before === "string" ? before : "";
    const folded = writeOver(old, value);
    return folded === null ? old : cutText(folded, most);
}

/* ---- values of elements, containers within a row ---- */

function plainValue(value) {
    const isTyped = value && typeof value === "object" && "Type" in value && "Data" in value;
    return isTyped ? value.Data : value;
}

function elementsOf(elements) {
    const made = noFields();
    for (const [name, value] of Object.entries(elements || {})) made[name] = plainValue(value);
    return made;
}

/* The fields of an entry, whatever container it holds. */
function fieldsOf(holder) {
    if (holder.Fields) return holder.Fields;
    if (holder.Elements) return elementsOf(holder.Elements);
    const name = [...TABLES, ...BLOCKS, "AnsiPage"].find(one => holder[one] !== undefined);
    return name ? { [name]: holder[name] } : {};
}

function entryWords(entry, depth) {
    const label = [entry.Key, entry.Index, entry.ID].find(one => one !== undefined);
    const words = wordsOf(fieldsOf(entry), depth);
    return label === undefined ? words : `${wordsOf(label, depth)}: ${words}`;
}

/* Anything in words: for what has no table of its own. */
function wordsOf(value, depth = 0) {
    if (value === null || value === undefined) return "";
    if (typeof value !== "object") return String(value);
    if (depth >= DEPTH_MAX) return "\u2026";
    const plain = plainValue(value);
    if (plain !== value) return wordsOf(plain, depth + 1);
    if (Array.isArray(value)) return value.map(one => wordsOf(one, depth + 1)).join(", ");
    if (Array.isArray(value.Entries))
        return value.Entries.map(entry => entryWords(entry, depth + 1)).join("; ");
    return Object.entries(value)
        .map(([name, one]) => `${name} ${wordsOf(one, depth + 1)}`).join(", ");
}

function bytesOf(base64) {
    try {
        return Array.from(atob(String(base64)), char => char.charCodeAt(0));
    } catch (error) {
        return [];
    }
}

/* Bytes as the text that they are, or in hexadecimal digits. */
function bytesText(base64) {
    const bytes = bytesOf(base64);
    if (bytes.every(byte => byte >= 0x20 && byte < 0x7f))
        return cutText(bytes.map(byte => String.fromCharCode(byte)).join(""), BLOCK_TEXT_MAX);
    const digits = bytes.slice(0, BLOCK_TEXT_MAX / 3)
        .map(byte => byte.toString(16).padStart(2, "0"));
    return digits.join(" ").replace(/((?:.. ){15}..) /g, "$1\n");
}

function blockText(name, payload) {
    if (name === "Opaque") return bytesText(payload);
    if (name === "Xml") return cutText(String(payload), BLOCK_TEXT_MAX);
    try {
        return cutText(JSON.stringify(payload, null, 2), BLOCK_TEXT_MAX);
    } catch (error) {
        return "It is nested too deeply to be shown";
    }
}

/* ---- rows ---- */

function newRow(key, label) {
    return { key, label: cutText(label, CELL_TEXT_MAX), fields: noFields(), changed: new Map() };
}

/* The rows of one item. `budget.rows`: how many more the page takes. */
class Table {
    constructor(budget) {
        Object.assign(this, { budget, kind: "", isCut: false, number: 0, isSorted: false });
        Object.assign(this, { rows: new Map(), columns: new Map() });
    }

    clear() {
        this.budget.rows += this.rows.size;
        this.rows.clear();
        this.columns.clear();
        Object.assign(this, { isCut: false, number: 0 });
    }

    /* One container of a message; one of another kind begins anew. */
    apply(kind, container) {
        if (kind !== this.kind) this.clear();
        this.kind = kind;
        if (kind === "Vector" && container.SupportSorting === true) {
            this.sortedEntries(container.Entries || []);
            return;
        }
        for (const entry of container.Entries || []) {
            if (kind === "Map") this.mapEntry(entry, container.KeyType);
            else if (kind === "Vector") this.vectorEntry(entry);
            else if (kind === "Series") this.seriesEntry(entry);
            else this.filterEntry(entry);
        }
    }

    mapEntry(entry, keyType) {
        const isBuffer = keyType === "Buffer" && typeof entry.Key === "string";
        const label = isBuffer ? bytesText(entry.Key) : wordsOf(entry.Key);
        const key = isBuffer ? entry.Key : label;
        if (entry.Action === "Delete") this.remove(key);
        else this.put(key, label, entry, entry.Action === "Update");
    }

    /* Places behind the last that is kept are not: those before them stay right. */
    isPlace(entry) {
        if (!Number.isInteger(entry.Index) || entry.Index < 0) return false;
        if (entry.Index < TABLE_ROWS_MAX) return true;
        this.isCut ||= entry.Action !== "Delete";
        return false;
    }

    vectorEntry(entry) {
        if (!this.isPlace(entry)) return;
        if (entry.Action === "Delete") this.remove(entry.Index);
        else this.put(entry.Index, String(entry.Index), entry, entry.Action === "Update");
    }

    /* Rows that are put in or taken out move those behind them: all of a message, then once. */
    sortedEntries(entries) {
        const places = [];
        let count = this.rows.size;
        for (const row of this.rows.values()) places[row.key] = row;
        this.budget.rows += count;
        this.rows.clear();
        for (const entry of entries) {
            const at = entry.Index;
            if (!this.isPlace(entry)) continue;
            if (entry.Action === "Delete") {
                if (places.splice(at, 1)[0]) count--;
                continue;
            }
            if (entry.Action === "Insert" && at < places.length) {
                places.splice(at, 0, undefined);
                if (places.length > TABLE_ROWS_MAX) {
                    if (places.pop()) count--;
                    this.isCut = true;
                }
            }
            if (!places[at]) {
                if (count >= TABLE_ROWS_MAX || count >= this.budget.rows) {
                    this.isCut = true;
                    continue;
                }
                places[at] = newRow(at, String(at));
                count++;
            }
            this.fill(places[at], entry, entry.Action === "Update");
        }
        places.forEach((row, at) => {
            if (!row) return;
            if (row.key !== at) Object.assign(row, { key: at, label: String(at), isDirty: true });
            this.keep(row);
        });
    }

    /* The newest rows stay. */
    seriesEntry(entry) {
        if (!this.hasRoom() && this.rows.size) {
            this.remove(this.rows.keys().next().value);
            this.isCut = true;
        }
        this.put(this.number++, "", entry, false);
    }

    filterEntry(entry) {
        const key = Number(entry.ID);
        if (entry.Action === "Clear") this.remove(key);
        else this.put(key, String(entry.ID), entry, entry.Action === "Update");
    }

    hasRoom() {
        return this.rows.size < TABLE_ROWS_MAX && this.budget.rows > 0;
    }

    keep(row) {
        this.rows.set(row.key, row);
        this.budget.rows--;
    }

    remove(key) {
        if (this.rows.delete(key)) this.budget.rows++;
    }

    put(key, label, entry, merges) {
        let row = this.rows.get(key);
        if (!row) {
            if (!this.hasRoom()) {
                this.isCut = true;
                return;
            }
            row = newRow(key, label);
            this.keep(row);
        }
        this.fill(row, entry, merges);
    }

    fill(row, entry, merges) {
        const before = row.fields;
        row.fields = merges ? before : noFields();
        for (const [name, value] of Object.entries(fieldsOf(entry)))
            this.cell(row, before, name, value);
        row.isDirty = true;
    }

    cell(row, before, name, value) {
        if (!this.columns.has(name)) {
            if (this.columns.size >= COLUMNS_MAX) {
                this.isCut = true;
                return;
            }
            this.columns.set(name, 0);
        }
        const old = Object.hasOwn(before, name) ? before[name] : undefined;
        const plain = value && typeof value === "object" ? wordsOf(value) : value;
        const now = foldValue(old, plain, CELL_TEXT_MAX);
        row.fields[name] = now;
        this.columns.set(name, Math.max(this.columns.get(name), decimalsOf(now)));
        if (old !== undefined && old !== now)
            row.changed.set(name, isNumber(now) && isNumber(old) ? Math.sign(now - old) : 0);
    }

    /* ---- the order in which a person reads them ---- */

    order() {
        const rows = [...this.rows.values()];
        if (this.kind === "Series") return rows.reverse();
        if (this.kind !== "Map") return rows.sort((a, b) => a.key - b.key);
        const isBook = this.columns.has("ORDER_PRC") && this.columns.has("ORDER_SIDE");
        return isBook ? ladder(rows) : rows;
    }
}

function sideOf(row) {
    const side = row.fields.ORDER_SIDE;
    return side === "ASK" || side === 2 ? "ask" : side === "BID" || side === 1 ? "bid" : "";
}

/* A book: sellers above buyers, the best prices where they meet. */
function ladder(rows) {
    const sides = ["ask", "bid", ""];
    const place = new Map(rows.map((row, at) => [row, at]));
    const price = row => isNumber(row.fields.ORDER_PRC) ? row.fields.ORDER_PRC : NaN;
    return rows.sort((a, b) => sides.indexOf(sideOf(a)) - sides.indexOf(sideOf(b))
        || price(b) - price(a) || place.get(a) - place.get(b));
}
