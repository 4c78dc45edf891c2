/* words.js - values and states as a person reads them. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const DECIMALS_MAX = 8;

const byId = id => document.getElementById(id);

/* Text goes into the page as text only, whatever it says. */
function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
}

function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
}

function isNumber(value) {
    return typeof value === "number" && Number.isFinite(value);
}

/* JSON drops trailing zeros: 39.90 arrives as 39.9. Small numbers have an exponent: 5e-7. */
function decimalsOf(value) {
    if (!isNumber(value)) return 0;
    const [digits, exponent] = String(value).split("e");
    const behind = (digits.split(".")[1] || "").length - Number(exponent || 0);
    return Math.min(DECIMALS_MAX, Math.max(0, behind));
}

function grouped(value, decimals) {
    return value.toLocaleString("en-US",
        { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function priceText(value, decimals) {
    if (value === null || value === undefined) return "";
    return isNumber(value) ? grouped(value, decimals) : String(value);
}

/* With its sign, a real minus. */
function signedText(value, decimals, unit = "") {
    if (!isNumber(value)) return "";
    const text = grouped(Math.abs(value), decimals) + unit;
    return Number(value.toFixed(decimals)) === 0 ? text : (value > 0 ? "+" : "\u2212") + text;
}

function amountText(value) {
    if (!isNumber(value)) return value === null || value === undefined ? "" : String(value);
    if (Math.abs(value) >= 1e9) return grouped(value / 1e9, 2) + " bn";
    return grouped(value, decimalsOf(value));
}

/* Any field as it came: objects are arrays, states and the like. */
function fieldText(value, decimals) {
    if (isNumber(value)) return grouped(value, Math.min(decimals, DECIMALS_MAX));
    return wordsOf(value);
}

function spanText(ms) {
    const s = Math.max(0, Math.round(ms / 1000));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
    return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

function delayText(ms) {
    if (!isNumber(ms)) return "-";
    if (ms < 10) return `${ms.toFixed(1)} ms`;
    return ms < 10000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`;
}

function clockText(time) {
    return new Date(time).toLocaleTimeString("en-GB");
}

/* Domains of items: the word of tr_json2, and what a person calls it. */
const DOMAINS = new Map([
    [6, ["MarketPrice", "Prices"]], [7, ["MarketByOrder", "Book by order"]],
    [8, ["MarketByPrice", "Book by price"]], [9, ["MarketMaker", "Market makers"]],
    [10, ["SymbolList", "Symbol list"]], [11, ["ServiceProviderStatus", "Provider status"]],
    [12, ["History", "History"]], [13, ["Headline", "Headlines"]], [14, ["Story", "Stories"]],
    [15, ["ReplayHeadline", "Headlines again"]], [16, ["ReplayStory", "Stories again"]],
    [17, ["Transaction", "Transactions"]], [22, ["YieldCurve", "Yield curve"]],
    [27, ["Contribution", "Contributions"]], [30, ["Analytics", "Analytics"]],
    [31, ["Reference", "Reference"]], [33, ["NewsTextAnalytics", "News analytics"]],
    [34, ["EconomicIndicator", "Indicators"]], [35, ["Poll", "Polls"]],
    [36, ["Forecast", "Forecasts"]], [37, ["MarketByTime", "Book by time"]],
]);
const PRICES = "MarketPrice";
const OWN_DOMAIN_MIN = 128, OWN_DOMAIN_MAX = 255;

/* "Domain130" is a domain without a name. */
function domainWord(number) {
    const known = DOMAINS.get(number);
    if (known) return known[0];
    return number >= OWN_DOMAIN_MIN && number <= OWN_DOMAIN_MAX ? `Domain${number}` : "";
}

/* The number of a domain without a name; 0: it has one. */
function numberOf(word) {
    const own = /^Domain(\d+)$/.exec(word);
    return own ? Number(own[1]) : 0;
}

function domainTitle(word) {
    const known = [...DOMAINS.values()].find(one => one[0] === word);
    return known ? known[1] : word;
}

/* A row's name is that of its item, with the domain in front unless it has prices:
 * "MarketByPrice:VOD.L". */
function splitName(name) {
    const at = name.indexOf(":");
    const typed = at > 0 && at < name.length - 1 ? name.slice(0, at).toLowerCase() : "";
    const known = typed && [...DOMAINS.values()].find(one => one[0].toLowerCase() === typed);
    const own = /^domain(\d{3})$/.exec(typed);
    const word = known ? known[0] : own ? domainWord(Number(own[1])) : "";
    return word ? { domain: word, item: name.slice(at + 1) } : { domain: PRICES, item: name };
}

function joinName(domain, item) {
    return domain === PRICES ? item : `${domain}:${item}`;
}

const CODES = {
    NotFound: "not found", Timeout: "no answer in time", NotEntitled: "not permitted",
    NoResources: "no resources", TooManyItems: "too many items", SourceUnknown: "unknown service",
    UsageError: "wrong use", GapDetected: "updates were lost",
};

/* A State as { kind, text }: open, suspect, again (closed, worth another try) or closed. */
function stateOf(state) {
    const stream = state.Stream || "Unspecified";
    const code = state.Code && state.Code !== "None" ? CODES[state.Code] || String(state.Code) : "";
    const text = String(state.Text || code || "");
    if (stream === "ClosedRecover") return { kind: "again", text };
    if (stream === "Closed" || stream === "Redirected") return { kind: "closed", text };
    if (state.Data === "Suspect") return { kind: "suspect", text };
    return { kind: state.Data === "NoChange" ? "same" : "open", text };
}

/* The names that somebody typed: blanks, commas and semicolons stand between them. */
function namesIn(text) {
    const names = text.split(/[\s,;]+/).filter(name => name && splitName(name).item.length <= 255);
    return [...new Set(names)];
}

function quantile(sorted, q) {
    return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] : NaN;
}
