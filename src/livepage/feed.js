/* feed.js - one connection of tr_json2: login, pings, and how it comes back. */
/* SPDX-License-Identifier: Apache-2.0 */
"use strict";

const LOGIN_ID = 1, DIRECTORY_ID = 2, FIRST_ID = 10;
const PING_MS = 5000;
const PINGS_LOST_MAX = 3;
const ANSWER_MS = 15000; /* for the connection and the login together */
const STEADY_MS = 10000; /* a login that held for so long was a good one */
const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15000];

/*
 * States: off (needs a login), connecting, login, live, waiting (for the next try), refused.
 * `wires` is the world: socket(), now() in ms, later(f, ms), cancel(timer), random(), why().
 * `heard` gets state(feed), login(feed) and message(message).
 */
class Feed {
    constructor(wires, heard) {
        Object.assign(this, { wires, heard, state: "off", problem: "", who: null, socket: null });
        Object.assign(this, { tries: 0, timer: null, retryAt: 0, since: 0, received: 0 });
        this.clearPings();
    }

    clearPings() {
        Object.assign(this, { pingAt: 0, waitsForPong: false, lost: 0, heardAt: 0, trip: NaN });
    }

    become(state, problem = "") {
        this.state = state;
        this.problem = problem;
        this.since = this.wires.now();
        this.heard.state(this);
    }

    /* who: { user, password, token } */
    login(who) {
        this.who = who;
        this.tries = 0;
        this.connect();
    }

    logout() {
        this.who = null;
        this.hangUp();
        this.become("off");
    }

    hangUp() {
        const socket = this.socket;
        this.socket = null;
        this.wires.cancel(this.timer);
        if (!socket) return;
        socket.onopen = socket.onclose = socket.onmessage = null;
        socket.close();
    }

    connect() {
        this.hangUp();
        this.clearPings();
        const socket = this.wires.socket();
        this.socket = socket;
        socket.onopen = () => this.opened();
        socket.onclose = event => this.closed(event);
        socket.onmessage = event => this.frame(event.data);
        this.become("connecting", this.problem);
    }

    opened() {
        const elements = { ApplicationId: "256" };
        if (this.who.password) elements.Password = this.who.password;
        const key = { Name: this.who.user, Elements: elements };
        if (this.who.token) {
            elements.AuthenticationToken = this.who.token;
            if (!this.who.user) Object.assign(key, { NameType: "AuthnToken", Name: undefined });
        }
        this.become("login", this.problem);
        this.send({ ID: LOGIN_ID, Domain: "Login", Key: key });
    }

    send(...messages) {
        if (!this.socket || this.socket.readyState !== 1) return false;
        this.socket.send(JSON.stringify(messages.length === 1 ? messages[0] : messages));
        return true;
    }

    frame(text) {
        let messages;
        this.heardAt = this.wires.now();
        try {
            messages = JSON.parse(text);
        } catch (error) {
            this.drop("p2ps sent what is not JSON");
            return;
        }
        for (const message of Array.isArray(messages) ? messages : [messages])
            this.take(message);
    }

    take(message) {
        if (message.Type === "Ping") this.send({ Type: "Pong" });
        else if (message.Type === "Pong") this.pong();
        else if (message.ID === LOGIN_ID) this.answer(message);
        else if (this.state === "live") this.heard.message(message);
    }

    answer(message) {
        if (message.Type === "Error") {
            this.refused(message.Text || "the login was not understood");
            return;
        }
        if (!message.State) return;
        const { kind, text } = stateOf(message.State);
        if (kind === "closed") {
            this.refused(text || "no reason given");
        } else if (kind === "again") {
            this.drop(text || "the login was not accepted for now");
        } else if (message.Type === "Refresh" && this.state === "login") {
            this.become("live");
            this.heard.login(this);
            this.ping();
        }
    }

    /* Only a person may try again: the same words would be refused for ever. */
    refused(text) {
        this.who = null;
        this.hangUp();
        this.become("refused", text);
    }

    closed(event) {
        const was = this.state;
        const reason = event.reason ? `: ${event.reason}` : "";
        if (was === "connecting")
            this.drop(this.problem || "p2ps does not answer", true);
        else
            this.drop(`p2ps ended the connection${reason}`);
    }

    /* The next try after a pause that grows, and is not the same for all pages of a p2ps. */
    drop(problem, asksWhy = false) {
        if (this.state === "live" && this.wires.now() - this.since >= STEADY_MS) this.tries = 0;
        this.hangUp();
        const pause = PAUSES_MS[Math.min(this.tries, PAUSES_MS.length - 1)];
        const wait = pause * (0.75 + 0.5 * this.wires.random());
        this.tries++;
        this.retryAt = this.wires.now() + wait;
        this.timer = this.wires.later(() => this.connect(), wait);
        this.become("waiting", problem);
        if (asksWhy) this.ask();
    }

    /* A browser does not say why a WebSocket was refused: the words of HTTP do. */
    ask() {
        const at = this.since;
        this.wires.why().then(text => {
            if (!text || this.state !== "waiting" || this.since !== at) return;
            this.problem = text;
            this.heard.state(this);
        });
    }

    retry() {
        if (this.state !== "waiting") return;
        this.connect();
    }

    ping() {
        this.pingAt = this.wires.now();
        this.waitsForPong = this.send({ Type: "Ping" });
    }

    pong() {
        if (this.waitsForPong) this.trip = this.wires.now() - this.pingAt;
        this.waitsForPong = false;
        this.lost = 0;
    }

    /* Once a second. A Pong that is lost does not end the asking. */
    tick() {
        const now = this.wires.now();
        if (this.state === "connecting" || this.state === "login") {
            if (now - this.since >= ANSWER_MS) this.drop("p2ps does not answer");
            return;
        }
        if (this.state !== "live") return;
        if (this.waitsForPong && now - this.pingAt >= 2 * PING_MS) {
            this.lost++;
            this.trip = NaN;
            this.waitsForPong = false;
            if (this.lost >= PINGS_LOST_MAX && now - this.heardAt >= 2 * PING_MS) {
                this.drop("p2ps does not answer any more");
                return;
            }
            this.ping();
        } else if (!this.waitsForPong && now - this.pingAt >= PING_MS) {
            this.ping();
        }
    }
}
