/* terminal.js - pages: rows of page records, and ANSI pages, which are bytes for a terminal. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const SCREEN_ROWS = 25, SCREEN_COLUMNS = 80;
const REGION_BOTTOM = 24;
const PARAMETERS_MAX = 32, PARAMETER_MAX = 9999;
const LINES_DRAWN = "\u25c6\u2592\u2409\u240c\u240d\u240a\u00b0\u00b1\u2424\u240b\u2518" +
    "\u2510\u250c\u2514\u253c\u23ba\u23bb\u2500\u23bc\u23bd\u251c\u2524\u2534\u252c\u2502" +
    "\u2264\u2265\u03c0\u2260\u00a3\u00b7";

/* The rows of page records, by the names of their fields. */
const ROW_FIELD = /^ROW(64|80|99)_(\d{1,2})$/;
const ROWS_OF = { 64: 14, 80: 25, 99: 20 };

/* The screen of a page record: its width and its rows; null when it is none. */
function screenOf(fields) {
    const found = { 64: [], 80: [], 99: [] };
    for (const [name, value] of Object.entries(fields)) {
        const match = ROW_FIELD.exec(name), at = match ? Number(match[2]) : 0;
        if (at >= 1 && at <= ROWS_OF[match[1]] && (typeof value === "string" || value === null))
            found[match[1]][at - 1] = value || "";
    }
    const width = [80, 64, 99].sort((a, b) => found[b].length - found[a].length)[0];
    if (!found[width].length) return null;
    const rows = Array.from({ length: ROWS_OF[width] },
        (_, at) => cells(found[width][at] || "", width));
    return { width, rows };
}

/* As many characters as the row has cells; what is not printable is a blank. */
function cells(text, width) {
    const printable = text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
    return Array.from(printable).slice(0, width).join("").trimEnd();
}

/* The characters of an ANSI page, without their colours; docs/pages-and-marketfeed.md has the rules. */
class Terminal {
    constructor() {
        this.reset();
    }

    reset() {
        this.grid = Array.from({ length: SCREEN_ROWS }, () => this.blank());
        this.cursor = { row: 0, column: 0, sets: ["B", "B"], shift: 0, wraps: false };
        this.save();
        Object.assign(this, { top: 0, bottom: REGION_BOTTOM - 1, isDue: false });
    }

    blank() {
        return Array(SCREEN_COLUMNS).fill(" ");
    }

    save() {
        this.saved = { ...this.cursor, sets: [...this.cursor.sets] };
    }

    screen() {
        return { width: SCREEN_COLUMNS, rows: this.grid.map(row => row.join("").trimEnd()) };
    }

    move(row, column) {
        this.cursor.row = row;
        this.cursor.column = column;
        this.isDue = false;
    }

    /* Rows move up (or down) by `count`; those that become free are plain. */
    scroll(top, bottom, count, isUp) {
        const rows = bottom - top + 1, by = Math.min(count, rows);
        const free = Array.from({ length: by }, () => this.blank());
        const moved = this.grid.slice(top, bottom + 1);
        const now = isUp ? [...moved.slice(by), ...free] : [...free, ...moved.slice(0, rows - by)];
        this.grid.splice(top, rows, ...now);
    }

    down() {
        this.isDue = false;
        if (this.cursor.row === this.bottom) this.scroll(this.top, this.bottom, 1, true);
        else if (this.cursor.row < SCREEN_ROWS - 1) this.cursor.row++;
    }

    up() {
        this.isDue = false;
        if (this.cursor.row === this.top) this.scroll(this.top, this.bottom, 1, false);
        else if (this.cursor.row > 0) this.cursor.row--;
    }

    /* One payload. A sequence that it cuts off is forgotten with it. */
    apply(bytes) {
        for (let at = 0; at < bytes.length;) {
            const byte = bytes[at++];
            if ((byte & 0x7f) === 0x1b) at = this.escape(bytes, at);
            else if ((byte & 0x7f) < 0x20) this.control(byte & 0x1f);
            else if (byte !== 0x7f && byte !== 0xff) this.write(byte);
        }
        this.isDue = false;
    }

    write(byte) {
        const { cursor } = this;
        if (this.isDue && cursor.wraps) {
            this.isDue = false;
            if (cursor.row !== SCREEN_ROWS - 1) {
                this.down();
                cursor.column = 0;
            }
        }
        const isDrawn = cursor.sets[cursor.shift] === "0" && byte >= 0x60 && byte <= 0x7e;
        this.grid[cursor.row][cursor.column] =
            isDrawn ? LINES_DRAWN[byte - 0x60] : String.fromCharCode(byte);
        if (cursor.column < SCREEN_COLUMNS - 1) cursor.column++;
        else this.isDue = cursor.wraps;
    }

    control(byte) {
        const { cursor } = this;
        if (byte === 8) this.move(cursor.row, Math.max(0, cursor.column - 1));
        else if (byte === 9)
            cursor.column = Math.min(SCREEN_COLUMNS - 1, (cursor.column >> 3) * 8 + 8);
        else if (byte === 10) this.down();
        else if (byte === 13) this.move(cursor.row, 0);
        else if (byte === 14 || byte === 15) cursor.shift = Number(byte === 14);
    }

    /* Behind an ESC; returns where it ends. */
    escape(bytes, begin) {
        if (bytes[begin] === 0x5b) return this.sequence(bytes, begin + 1);
        let at = begin;
        while (bytes[at] >= 0x20 && bytes[at] <= 0x2f) at++;
        if (at >= bytes.length || (bytes[at] & 0x7f) === 0x1b) return at;
        const final = String.fromCharCode(bytes[at]);
        const set = "()".indexOf(String.fromCharCode(bytes[begin]));
        if (at === begin) this.obeyEscape(final);
        else if (at === begin + 1 && set >= 0 && final >= "0" && final <= "~")
            this.cursor.sets[set] = final;
        return at + 1;
    }

    obeyEscape(final) {
        if (final === "7") this.save();
        else if (final === "8") this.cursor = { ...this.saved, sets: [...this.saved.sets] };
        else if (final === "D") this.down();
        else if (final === "M") this.up();
        else if (final === "c") this.reset();
        else if (final === "E") {
            this.down();
            this.cursor.column = 0;
        }
    }

    /* Behind ESC [. An ESC in it is left to begin another one. */
    sequence(bytes, begin) {
        const numbers = [-1];
        let mark = "", isOther = false, at = begin;
        for (; at < bytes.length; at++) {
            const byte = bytes[at], char = String.fromCharCode(byte);
            if (char >= "0" && char <= "9") {
                if (numbers.length > PARAMETERS_MAX) continue;
                const before = Math.max(0, numbers[numbers.length - 1]);
                numbers[numbers.length - 1] = Math.min(PARAMETER_MAX, before * 10 + Number(char));
            } else if (char === ";") {
                if (numbers.length <= PARAMETERS_MAX) numbers.push(-1);
            } else if ((char === ">" || char === "?") && at === begin) {
                mark = char;
            } else if (byte >= 0x40 && byte <= 0x7e) {
                if (!isOther) this.obey(numbers.slice(0, PARAMETERS_MAX), mark, char);
                return at + 1;
            } else if ((byte & 0x7f) === 0x1b) {
                return at;
            } else {
                isOther = true;
            }
        }
        return at;
    }

    obey(numbers, mark, final) {
        const number = (at, absent) => numbers[at] > 0 ? numbers[at] : absent;
        if ((final === "h" || final === "l") && mark === "?" && numbers.includes(7))
            this.cursor.wraps = final === "h";
        if (mark) return;
        if (final === "r") this.region(numbers.length, number(0, 1), number(1, REGION_BOTTOM));
        else if ("Hf".includes(final)) this.place(numbers.length, number(0, 1), number(1, 1));
        else if ("ABCD".includes(final)) this.go(final, number(0, 1));
        else if (final === "J" || final === "K") this.erase(final === "J", number(0, 0));
        else if (final === "@" || final === "P") this.shift(number(0, 1), final === "@");
        else if ("LMST".includes(final)) this.shiftRows(number(0, 1), final);
    }

    region(count, top, bottom) {
        if (bottom > SCREEN_ROWS) bottom = REGION_BOTTOM;
        if (count > 2 || top >= bottom) return;
        this.top = top - 1;
        this.bottom = bottom - 1;
        this.move(0, 0);
    }

    place(count, row, column) {
        if (count <= 2 && row <= SCREEN_ROWS && column <= SCREEN_COLUMNS)
            this.move(row - 1, column - 1);
    }

    go(way, count) {
        const { cursor } = this;
        const stopUp = cursor.row >= this.top ? this.top : 0;
        const stopDown = cursor.row <= this.bottom ? this.bottom : SCREEN_ROWS - 1;
        if (way === "A") this.move(Math.max(stopUp, cursor.row - count), cursor.column);
        else if (way === "B") this.move(Math.min(stopDown, cursor.row + count), cursor.column);
        else if (way === "C") cursor.column = Math.min(SCREEN_COLUMNS - 1, cursor.column + count);
        else this.move(cursor.row, Math.max(0, cursor.column - count));
    }

    /* 0: from the cursor on, 1: up to it, 2: all of the page or of the row. */
    erase(isPage, what) {
        const { row, column } = this.cursor;
        if (what > 2) return;
        this.grid[row].fill(" ", what === 0 ? column : 0, what === 1 ? column + 1 : SCREEN_COLUMNS);
        for (let at = 0; isPage && at < SCREEN_ROWS; at++)
            if (what === 2 || (what === 0 ? at > row : at < row)) this.grid[at] = this.blank();
    }

    shift(count, inserts) {
        const { row, column } = this.cursor, line = this.grid[row];
        const by = Math.min(count, SCREEN_COLUMNS - column), free = Array(by).fill(" ");
        if (inserts) {
            line.splice(column, 0, ...free);
            line.length = SCREEN_COLUMNS;
        } else {
            line.splice(column, by);
            line.push(...free);
        }
    }

    shiftRows(count, final) {
        const { row } = this.cursor;
        if (row < this.top || row > this.bottom) return;
        this.scroll(row, this.bottom, count, final === "M" || final === "S");
        if (final === "L" || final === "M") this.move(row, 0);
    }
}
