/* main.js - the page: connection, store and views put together; what is kept between visits. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const KEPT = "openrmds.live";
const DEMO_VENDOR = "openrmds", DEMO_LIST = ["0#DEMO"];
const WHY_MS = 3000;
const SAID_MS = 12000;

function browserWires() {
    const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/WebSocket`;
    return {
        socket: () => new WebSocket(address, "tr_json2"),
        now: () => performance.now(),
        later: (work, ms) => setTimeout(work, ms),
        cancel: timer => clearTimeout(timer),
        random: Math.random,
        /* 426 is what p2ps answers when all is well. */
        why: async () => {
            try {
                const signal = AbortSignal.timeout(WHY_MS);
                const answer = await fetch("/WebSocket", { signal, cache: "no-store" });
                return answer.status === 426 ? "" : (await answer.text()).trim().slice(0, 200);
            } catch (error) {
                return "";
            }
        },
    };
}

class Live {
    constructor() {
        this.kept = this.read();
        this.search = byId("search");
        this.feed = new Feed(browserWires(), {
            state: () => this.onState(), login: () => this.onLogin(),
            message: message => this.onMessage(message),
        });
        this.store = new Store((...messages) => this.feed.send(...messages));
        this.store.service = this.kept.service || "";
        this.grid = new Grid(this.store, {
            open: name => this.openItem(name), arranged: () => this.onArranged(),
            moved: name => this.item.name && this.openItem(name),
        });
        this.item = new ItemPage(this.store, {
            close: () => this.openItem(""), remove: name => this.remove(name),
            follow: name => this.follow(name),
        });
        this.rates = [];
        this.listen();
        this.setTheme(this.kept.theme || "auto");
        this.store.open(this.kept.items || []);
        if (this.kept.user) this.feed.login({ user: this.kept.user, password: "", token: "" });
        else this.askLogin("");
        setInterval(() => this.tick(), 1000);
        requestAnimationFrame(() => this.draw());
    }

    /* ---- what is kept ---- */

    read() {
        try {
            const kept = JSON.parse(localStorage.getItem(KEPT));
            return kept && typeof kept === "object" ? kept : {};
        } catch (error) {
            return {};
        }
    }

    keep(more) {
        Object.assign(this.kept, more);
        try {
            localStorage.setItem(KEPT, JSON.stringify(this.kept));
        } catch (error) {
            this.store.said = "This browser keeps nothing: the list is gone with the page";
        }
    }

    /* ---- what a person does ---- */

    listen() {
        document.addEventListener("keydown", event => onKey(event, this));
        byId("find").addEventListener("submit", event => {
            event.preventDefault();
            this.find();
        });
        this.search.addEventListener("input", () => this.grid.setFind(this.search.value.trim()));
        byId("service").addEventListener("change", event => {
            this.store.setService(event.target.value);
            this.openItem("");
            this.keep({ service: this.store.service });
            this.fillDomains();
        });
        byId("domain").addEventListener("change", () => this.search.focus());
        byId("again").addEventListener("click", () => this.feed.retry());
        byId("theme").addEventListener("click", () => this.turnTheme());
        byId("help").addEventListener("click", () => byId("keys").showModal());
        byId("leave").addEventListener("click", () => this.leave());
        byId("login").addEventListener("cancel", event => event.preventDefault());
        document.querySelector("#login form").addEventListener("submit", event => {
            event.preventDefault();
            this.login();
        });
        matchMedia("(prefers-color-scheme: dark)")
            .addEventListener("change", () => this.setTheme(this.kept.theme || "auto"));
        addEventListener("online", () => this.feed.retry());
        addEventListener("hashchange", () => this.readAddress());
        fillKeys(byId("keyList"));
    }

    /* Enter: what is in the list is selected, everything else is asked for. */
    find() {
        const names = namesIn(this.search.value).map(name => this.fullName(name));
        const known = names.filter(name => this.nameOf(name));
        const asked = names.filter(name => !this.nameOf(name));
        if (names.length === 0) return;
        const only = this.grid.order;
        if (asked.length === 1 && known.length === 0 && only.length > 0 && !/[.#=/:]/.test(asked[0])) {
            this.leaveSearch();
            this.openItem(only[0].name);
            return;
        }
        this.store.open(asked);
        this.keep({ items: this.store.roots() });
        this.leaveSearch();
        const first = known.length ? this.nameOf(known[0]) : asked[0];
        this.grid.arrange(performance.now());
        this.grid.select(first);
        this.grid.move(0);
        if (known.length) this.openItem(first);
    }

    /* What is typed without a domain is of the one that is picked. */
    fullName(typed) {
        const { domain, item } = splitName(typed);
        return joinName(item === typed ? byId("domain").value || PRICES : domain, item);
    }

    /* Something that an item names: a story, a symbol, the same name in another domain. */
    follow(name) {
        this.store.open([name]);
        this.keep({ items: this.store.roots() });
        this.grid.arrange(performance.now());
        this.openItem(name);
    }

    nameOf(typed) {
        if (this.store.rows.has(typed)) return typed;
        const wanted = typed.toUpperCase();
        return [...this.store.rows.keys()].find(name => name.toUpperCase() === wanted) || "";
    }

    leaveSearch(keepsText = false) {
        if (!keepsText) {
            this.search.value = "";
            this.grid.setFind("");
        }
        byId("grid").focus();
    }

    openItem(name) {
        if (!this.store.rows.has(name)) name = "";
        this.item.show(name);
        if (name) this.grid.select(name);
        const hash = name ? `#${encodeURIComponent(name)}` : "";
        if (location.hash === hash) return;
        if (name && !location.hash) history.pushState(null, "", hash);
        else history.replaceState(null, "", hash || location.pathname + location.search);
    }

    readAddress() {
        let name = "";
        try {
            name = decodeURIComponent(location.hash.slice(1));
        } catch (error) {
            name = "";
        }
        if (name && splitName(name).item.length <= 255 && !this.store.rows.has(name))
            this.store.open([name]);
        this.openItem(name);
    }

    remove(name) {
        if (!name) return;
        const at = this.grid.order.findIndex(row => row.name === name);
        if (this.item.name === name) this.openItem("");
        this.store.remove(name);
        this.keep({ items: this.store.roots() });
        this.grid.arrange(performance.now());
        const next = this.grid.order[Math.min(at, this.grid.order.length - 1)];
        if (next) this.grid.select(next.name);
    }

    setFilter(filter) {
        this.grid.setFilter(filter);
        this.drawChips();
    }

    /* ---- login ---- */

    askLogin(said) {
        const dialog = byId("login");
        setText(byId("loginHost"), `p2ps at ${location.host}`);
        setText(byId("loginSaid"), said);
        byId("loginSaid").hidden = !said;
        byId("user").value = this.kept.user || byId("user").value || "guest";
        if (said) byId("secrets").open = true;
        if (!dialog.open) dialog.showModal();
        byId("user").focus();
        byId("user").select();
    }

    login() {
        const who = { user: byId("user").value.trim(), password: byId("password").value,
            token: byId("token").value.trim() };
        if (!who.user && !who.token) {
            this.askLogin("A user or a token is needed");
            return;
        }
        byId("login").close();
        byId("grid").focus();
        this.feed.login(who);
    }

    leave() {
        this.keep({ user: "" });
        this.feed.logout();
        this.store.disconnected();
        this.askLogin("");
    }

    /* ---- what comes ---- */

    onState() {
        const { state } = this.feed;
        if (state !== "live") this.store.disconnected();
        if (state === "refused") {
            this.keep({ user: "" });
            this.askLogin(`The login was refused: ${this.feed.problem}`);
        }
        this.drawState();
        this.drawChips();
    }

    onLogin() {
        if (!this.feed.who.password && !this.feed.who.token) this.keep({ user: this.feed.who.user });
        this.store.connected();
    }

    onMessage(message) {
        this.store.message(message);
        if (message.ID === DIRECTORY_ID) this.onServices();
    }

    onServices() {
        const select = byId("service");
        const names = [...this.store.services.values()].map(service => service.name);
        if (this.store.service && !names.includes(this.store.service))
            names.unshift(this.store.service);
        select.replaceChildren(...names.map(name => {
            const option = element("option", "", name);
            option.value = name;
            option.selected = name === this.store.service;
            return option;
        }));
        select.disabled = names.length < 2;
        this.fillDomains();
        this.openFirst();
        this.drawState();
    }

    /* The kinds of data that the service has, where it has more than prices. */
    fillDomains() {
        const select = byId("domain"), before = select.value || PRICES;
        const service = this.current();
        const words = [PRICES, ...(service ? service.domains : []).filter(word => word !== PRICES)];
        select.replaceChildren(...words.map(word => {
            const option = element("option", "", domainTitle(word));
            option.value = word;
            option.selected = word === before;
            return option;
        }));
        byId("kind").hidden = words.length < 2;
    }

    /* The publisher of the demo has a chain to begin with. */
    openFirst() {
        const service = this.current();
        if (!service || this.hasBegun) return;
        this.hasBegun = true;
        if (!this.kept.items && service.vendor === DEMO_VENDOR) this.store.open(DEMO_LIST);
        if (location.hash) this.readAddress();
    }

    current() {
        return [...this.store.services.values()].find(one => one.name === this.store.service);
    }

    /* An item goes with its chain, and so does its page. */
    onArranged() {
        if (this.item.name && !this.store.rows.has(this.item.name)) this.openItem("");
        this.drawChips();
        this.drawEmpty();
    }

    /* ---- drawing ---- */

    draw() {
        const now = performance.now();
        this.item.draw(now);
        this.grid.draw(now);
        requestAnimationFrame(() => this.draw());
    }

    tick() {
        const now = performance.now();
        this.feed.tick();
        this.store.tick();
        this.rates.push({ now, updates: this.store.updates });
        if (this.rates.length > 4) this.rates.shift();
        const first = this.rates[0];
        const rate = (this.store.updates - first.updates) / Math.max(1, (now - first.now) / 1000);
        setText(byId("rate"), this.feed.state === "live" ? grouped(Math.round(rate), 0) : "-");
        setText(byId("trip"), this.feed.state === "live" ? delayText(this.feed.trip) : "-");
        this.drawDelay();
        this.drawState();
        this.drawChips();
    }

    drawDelay() {
        const { delays } = this.store;
        byId("delayBox").hidden = !delays.kind;
        if (!delays.kind) return;
        const isClock = delays.kind === "clock";
        setText(byId("delayName"), isClock ? "latency p99" : "spread p99");
        byId("delayBox").title = isClock
            ? "99 of 100 updates came within this time of the time that they carry"
            : "99 of 100 updates took at most so much longer than the fastest one: the time that they "
              + "carry counts from the start of the publisher's host";
        setText(byId("delay"), delayText(delays.quantile(0.99)));
    }

    drawState() {
        const [kind, word, text] = this.words();
        const pill = byId("pill");
        pill.dataset.kind = kind;
        setText(pill.querySelector("b"), word);
        setText(pill.querySelector("span"), text);
        document.body.dataset.state = kind;
        this.drawNotice();
        document.title = kind === "live" ? "openrmds live" : `${word} - openrmds live`;
    }

    words() {
        const { feed } = this;
        switch (feed.state) {
        case "live":
            if (feed.lost) return ["warn", "SILENT", "no Pong for a Ping"];
            return ["live", "LIVE", feed.who.user || "token"];
        case "connecting":
        case "login":
            return [feed.problem ? "gone" : "wait", "CONNECTING", ""];
        case "waiting":
            return ["gone", "GONE", ""];
        case "refused":
            return ["gone", "REFUSED", ""];
        default:
            return ["off", "LOGGED OUT", ""];
        }
    }

    /* What is wrong, and what happens now. */
    problem() {
        const { feed, store } = this;
        if (feed.state === "waiting") {
            const left = Math.max(0, Math.ceil((feed.retryAt - performance.now()) / 1000));
            const old = [...store.rows.values()].some(row => row.isOld);
            return [feed.problem, `${old ? "The prices are old. " : ""}Next try in ${left} s.`];
        }
        if ((feed.state === "connecting" || feed.state === "login") && feed.problem)
            return [feed.problem, "Connecting again \u2026"];
        if (feed.state !== "live") return ["", ""];
        const service = this.current();
        if (store.service && store.services.size && !service)
            return [`Service ${store.service} is not offered`, "Its items wait; or pick another one."];
        if (!store.services.size && performance.now() - feed.since > 2000)
            return ["No service is there", "No publisher is connected to the chain."];
        if (service && !service.isUp)
            return [`Service ${service.name} is down`, "Its publisher is gone; prices come when it is back."];
        return ["", ""];
    }

    drawNotice() {
        const [what, more] = this.problem();
        const notice = byId("notice");
        notice.hidden = !what;
        setText(notice.querySelector("b"), what);
        setText(notice.querySelector("span"), more);
        byId("again").hidden = this.feed.state !== "waiting";
        this.drawSaid();
    }

    /* A remark stands for a while. */
    drawSaid() {
        const { said } = this.store, now = performance.now();
        if (said !== this.saidText) [this.saidText, this.saidAt] = [said, now];
        else if (said && now - this.saidAt >= SAID_MS) this.store.said = "";
        setText(byId("said"), this.store.said);
    }

    drawChips() {
        const rows = this.grid.prices();
        const names = { all: "All", up: "Up", down: "Down", trouble: "Not fine" };
        const chips = Object.entries(names).map(([key, name]) => ({
            key, name, count: rows.filter(FILTERS[key]).length, isOn: this.grid.filter === key,
        }));
        const chains = this.store.chains().filter(row => row.isOwn).map(row => ({
            key: `chain ${row.name}`, name: row.name, chain: row.name,
            count: this.membersOf(row, new Set()).size,
        }));
        const all = [...chips, ...chains];
        const shape = all.map(chip => chip.key).join("\n");
        const nav = byId("chips");
        if (this.chipShape !== shape) {
            this.chipShape = shape;
            nav.replaceChildren(...all.map(chip => this.makeChip(chip)));
        }
        all.forEach((chip, at) => {
            const node = nav.children[at];
            setText(node.querySelector("b"), grouped(chip.count, 0));
            if (!chip.chain) node.setAttribute("aria-pressed", String(Boolean(chip.isOn)));
            node.classList.toggle("none", chip.count === 0);
        });
    }

    membersOf(chain, seen) {
        const found = new Set();
        seen.add(chain.name);
        for (const name of chain.links || []) {
            const row = this.store.rows.get(name);
            if (!row || seen.has(name)) continue;
            if (row.links) for (const one of this.membersOf(row, seen)) found.add(one);
            else found.add(name);
        }
        return found;
    }

    makeChip(chip) {
        const node = element("button", chip.chain ? "chain" : chip.key);
        node.type = "button";
        node.append(element("span", "", chip.name), element("b"));
        if (chip.chain) {
            node.title = `Chain ${chip.name}: click to close it`;
            node.append(element("i", "", "\u2715"));
            node.addEventListener("click", () => this.remove(chip.chain));
        } else {
            node.addEventListener("click", () => this.setFilter(chip.key));
        }
        return node;
    }

    drawEmpty() {
        const empty = byId("empty");
        empty.hidden = this.grid.order.length > 0;
        const text = this.grid.prices().length > 0 ? "Nothing in the list fits. Enter opens what you typed."
            : "No items yet. Type a name and press Enter: an item such as TRI.N, or a chain such as 0#.FTSE.";
        setText(empty, text);
    }

    /* ---- light and dark ---- */

    setTheme(theme) {
        const isDark = theme === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches
            : theme === "dark";
        const root = document.documentElement;
        root.dataset.theme = isDark ? "dark" : "light";
        for (const kind of ["up", "down"])
            flashColors[kind] = getComputedStyle(root).getPropertyValue(`--flash-${kind}`);
    }

    turnTheme() {
        const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
        this.keep({ theme });
        this.setTheme(theme);
    }
}

const hints = [["/", "find or open"], ["\u2191\u2193", "select"], ["Enter", "item"], ["s", "sort"],
    ["t", "theme"], ["?", "all keys"]];
for (const [key, text] of hints) {
    const hint = element("span");
    hint.append(element("kbd", "", key), text);
    byId("hints").append(hint);
}
const live = new Live();
