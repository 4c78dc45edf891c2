/* chart.js - the history of a price: a spark of a row, and the chart of an item. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const AXIS_MAX = 50;
const FLAT = 1e-13; /* values that differ by a smaller share are one: doubles have 16 digits */
const SPARK = { width: 96, height: 24, points: 90 };

function svgElement(tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
}

function boundsOf(points) {
    let low = Infinity, high = -Infinity;
    for (const point of points) {
        if (!isNumber(point.value)) continue;
        low = Math.min(low, point.value);
        high = Math.max(high, point.value);
    }
    return { low, high };
}

/* Steps, not slopes: a price holds until the next one. Gaps stay open. */
function pathOf(points, x, y, isStepped) {
    let path = "", isDown = false, before = 0;
    for (const point of points) {
        if (!isNumber(point.value)) {
            if (isDown && isStepped) path += `H${x(point).toFixed(1)}`;
            isDown = false;
            continue;
        }
        const [left, top] = [x(point).toFixed(1), y(point.value).toFixed(1)];
        if (!isDown) path += `M${left} ${top}`;
        else if (isStepped) path += `H${left}` + (top === before ? "" : `V${top}`);
        else path += `L${left} ${top}`;
        isDown = true;
        before = top;
    }
    return path;
}

function sparkPath(history) {
    const points = history.slice(-SPARK.points);
    const { low, high } = boundsOf(points);
    if (!(high >= low) || points.length < 2) return "";
    const span = high - low || 1;
    const places = new Map(points.map((point, at) => [point, at]));
    const step = (SPARK.width - 4) / Math.max(1, points.length - 1);
    return pathOf(points, point => 2 + places.get(point) * step,
        value => SPARK.height - 3 - (SPARK.height - 6) * (value - low) / span, false);
}

/* Round steps of an axis: 1, 2 or 5 times a power of ten, at most `most` of them. A step that is
 * smaller than the distance of two doubles leads nowhere: one mark is left. */
function axisSteps(low, high, most) {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find(times => times * power >= rough) * power;
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) {
        if (found.length === AXIS_MAX || at === found[found.length - 1]) break;
        found.push(at);
    }
    return found;
}

function timeSteps(from, to, most) {
    const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200];
    const step = 1000 * (seconds.find(one => (to - from) / 1000 / one <= most) || 14400);
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
    return found;
}

/* The frame of a chart: where values and times stand. */
function chartFrame(svg, points, close) {
    const box = svg.getBoundingClientRect();
    const width = Math.max(160, box.width), height = Math.max(100, box.height);
    let { low, high } = boundsOf(points);
    if (isNumber(close) && Math.abs(close - (low + high) / 2) < 2 * (high - low)) {
        low = Math.min(low, close);
        high = Math.max(high, close);
    }
    const most = Math.max(Math.abs(low), Math.abs(high));
    const pad = (high - low > most * FLAT ? high - low : most * 0.001 || 1) * 0.12;
    low -= pad;
    high += pad;
    const from = points[0].at, to = Math.max(Date.now(), from + 10000);
    const right = width - 70, bottom = height - 22;
    return {
        width, height, low, high, from, to, right, bottom,
        x: at => 6 + (right - 6) * (at - from) / (to - from),
        y: value => 8 + (bottom - 8) * (high - value) / (high - low),
    };
}

function drawAxes(svg, frame, decimals, tagged) {
    for (const value of axisSteps(frame.low, frame.high, Math.max(2, frame.height / 48))) {
        const y = frame.y(value).toFixed(1);
        if (y < 8 || y > frame.bottom) continue;
        svg.append(svgElement("line", { class: "rule", x1: 6, x2: frame.right, y1: y, y2: y }));
        if (!isNumber(tagged) || Math.abs(frame.y(tagged) - y) > 17)
            svg.append(svgElement("text", { x: frame.right + 9, y: Number(y) + 4 },
                grouped(value, decimals)));
    }
    for (const at of timeSteps(frame.from, frame.to, Math.max(2, frame.width / 110))) {
        const x = frame.x(at);
        if (x < 24 || x > frame.right - 24) continue;
        svg.append(svgElement("text", { x: x.toFixed(1), y: frame.height - 6, class: "time" },
            clockText(at)));
    }
}

/* The chart of one item. `pointer`: where the person points, as a share of the width, or null. */
function drawChart(svg, row, pointer) {
    svg.replaceChildren();
    const points = row.history;
    if (!points.some(point => isNumber(point.value))) return;
    const decimals = decimalsOfRow(row);
    const frame = chartFrame(svg, points, closeOf(row));
    svg.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    const now = points[points.length - 1];
    drawAxes(svg, frame, decimals, now.value);
    const all = isNumber(now.value) ? [...points, { at: frame.to, value: now.value }] : points;
    const path = pathOf(all, point => frame.x(point.at), frame.y, true);
    const kind = changeOf(row) < 0 ? "down" : "up";
    const close = closeOf(row);
    if (close > frame.low && close < frame.high) {
        const y = frame.y(close).toFixed(1);
        svg.append(svgElement("line", { class: "close", x1: 6, x2: frame.right, y1: y, y2: y }));
    }
    if (all === points || !points.some(point => !isNumber(point.value))) {
        const left = frame.x(points[0].at).toFixed(1);
        svg.append(svgElement("path", { class: `area ${kind}`,
            d: `${path}V${frame.bottom}H${left}Z` }));
    }
    svg.append(svgElement("path", { class: `line ${kind}`, d: path }));
    if (isNumber(now.value)) drawTag(svg, frame, now.value, decimals, kind);
    if (pointer !== null) drawPointer(svg, frame, points, pointer, decimals);
}

function drawTag(svg, frame, value, decimals, kind) {
    const y = frame.y(value);
    svg.append(svgElement("circle", { class: `dot ${kind}`, cx: frame.right, cy: y.toFixed(1), r: 3.5 }),
        svgElement("rect", { class: `tag ${kind}`, x: frame.right + 5, y: (y - 9).toFixed(1),
            width: 65, height: 18, rx: 4 }),
        svgElement("text", { class: "tagged", x: frame.right + 9, y: (y + 4).toFixed(1) },
            grouped(value, decimals)));
}

function drawPointer(svg, frame, points, pointer, decimals) {
    const at = frame.from + (frame.to - frame.from) *
        Math.min(1, Math.max(0, (pointer * frame.width - 6) / (frame.right - 6)));
    let found = null;
    for (const point of points)
        if (point.at <= at) found = point;
    if (!found) return;
    const x = frame.x(at), isLeft = x > frame.width / 2;
    const text = isNumber(found.value) ? grouped(found.value, decimals) : "no price";
    svg.append(svgElement("line", { class: "pointer", x1: x, x2: x, y1: 4, y2: frame.bottom }),
        svgElement("text", { class: `pointed ${isLeft ? "end" : ""}`,
            x: x + (isLeft ? -8 : 8), y: 16 }, `${clockText(at)}  ${text}`));
    if (isNumber(found.value))
        svg.append(svgElement("circle", { class: "pointer", cx: x, cy: frame.y(found.value), r: 3.5 }));
}
