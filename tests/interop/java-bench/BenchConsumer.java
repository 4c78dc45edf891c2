/* BenchConsumer.java - a consumer on the ETA transport for `rmds bench peers`. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.codec.AckMsg;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.DataStates;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.PostMsg;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.State;
import com.refinitiv.eta.codec.StatusMsg;
import com.refinitiv.eta.codec.StreamStates;
import com.refinitiv.eta.transport.ConnectOptions;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/*
 * BenchConsumer SERVICE; commands:
 *
 * run PORT DOMAIN ITEMS SECS DISCARD POSTS GENERICS COUNTS   one run, on a connection of its own
 * quit
 *
 * It says "open OPEN REFUSED SECONDS" when every item has its image or its refusal, DISCARD seconds later it begins to
 * measure, with so many posts and generic messages a second; SECS seconds later it says "measured" and waits for the
 * file COUNTS, in which the provider says how far each item has come; then "result {JSON}".
 */
public final class BenchConsumer {
    private static final int FIRST = 5; /* stream id of the first item */
    private static final long SECOND = 1_000_000_000L;
    private static final long SETUP_NS = 60 * SECOND;
    private static final long OPEN_NS = 180 * SECOND;
    private static final long DRAIN_NS = 15 * SECOND;
    private static final long QUIET_NS = SECOND / 2;
    private static final int POSTS_KEPT = 1 << 16;

    private final String service;
    private final Selector selector = Selector.open();
    private final BenchCommands commands = new BenchCommands(selector);
    private final BenchContent content = new BenchContent();
    private final BenchLatency updates = new BenchLatency();
    private final BenchLatency posts = new BenchLatency();
    private final BenchLatency generics = new BenchLatency();
    private final long[] postedUs = new long[POSTS_KEPT];

    /* Of one run. */
    private BenchWire wire;
    private int domain;
    private long[] last; /* of each item: the count it has come to; -1: no image yet */
    private boolean[] isSuspect;
    private int serviceId;
    private boolean isLoggedIn;
    private int images;
    private int refused;
    private boolean isMeasuring;
    private long received;
    private long inTime; /* updates while measuring */
    private long lost;
    private long told;
    private long backwards;
    private long suspects;
    private long postsSent;
    private long postsAcked;
    private long genericsSent;
    private long genericsBack;
    private long lastUpdateNs;

    private BenchConsumer(String service) throws IOException {
        this.service = service;
    }

    public static void main(String[] args) throws Exception {
        Eta.startUnlocked();
        BenchConsumer consumer = new BenchConsumer(args[0]);
        BenchCommands.say("ready");
        for (; ; ) {
            String[] words = consumer.commands.next();
            if (words == null) consumer.selector.select(1000);
            else if (words[0].equals("run")) consumer.run(words);
            else if (words[0].equals("quit")) return;
            else BenchCommands.say("no such command: " + words[0]);
        }
    }

    /* ---- what comes ---- */

    private void take(Msg msg) {
        int at = msg.streamId() - FIRST;
        switch (msg.msgClass()) {
            case MsgClasses.UPDATE:
                if (at >= 0 && at < last.length) update(at, msg);
                break;
            case MsgClasses.REFRESH:
                refresh(at, (RefreshMsg) msg);
                break;
            case MsgClasses.STATUS:
                if (at >= 0 && ((StatusMsg) msg).checkHasState()) status(at, ((StatusMsg) msg).state());
                break;
            case MsgClasses.ACK:
                acknowledged((AckMsg) msg);
                break;
            case MsgClasses.GENERIC:
                content.decode(wire.in(), msg.containerType());
                genericsBack++;
                generics.record(BenchContent.nowUs() - content.timeUs);
                break;
            default: /* nothing is expected of others */
        }
    }

    private void update(int at, Msg msg) {
        content.decode(wire.in(), msg.containerType());
        received++;
        if (isMeasuring) {
            inTime++;
            if (content.timeUs != 0) updates.record(BenchContent.nowUs() - content.timeUs);
        }
        follow(at, content.count);
    }

    /* The next one of that item is one more than the last. */
    private void follow(int at, long count) {
        if (count < 0 || last[at] < 0) return; /* of a provider that does not count */
        if (count > last[at]) lost += count - last[at] - 1;
        else backwards++;
        last[at] = Math.max(count, last[at]);
    }

    private void refresh(int at, RefreshMsg msg) {
        if (msg.domainType() == BenchAdmin.LOGIN) {
            isLoggedIn = msg.state().streamState() == StreamStates.OPEN;
        } else if (msg.domainType() == BenchAdmin.SOURCE) {
            serviceId = Math.max(serviceId, BenchAdmin.serviceIn(wire, msg, service));
        } else if (at >= 0 && at < last.length) {
            content.decode(wire.in(), msg.containerType());
            if (last[at] < 0) images++;
            else told += Math.max(content.count - last[at], 0); /* the image says openly what it skips */
            last[at] = Math.max(content.count, 0);
            isSuspect[at] = msg.state().dataState() == DataStates.SUSPECT;
        }
    }

    private void status(int at, State state) {
        if (at < last.length && state.streamState() != StreamStates.OPEN) {
            if (last[at] < 0) refused++;
            last[at] = Math.max(last[at], 0);
        }
        if (state.dataState() == DataStates.SUSPECT) {
            suspects++;
            if (at < last.length) isSuspect[at] = true;
        }
    }

    private void acknowledged(AckMsg msg) {
        postsAcked++;
        posts.record(BenchContent.nowUs() - postedUs[(int) msg.ackId() & (POSTS_KEPT - 1)]);
    }

    /* ---- what goes ---- */

    private void post(int at) {
        if (!wire.begin(200, false)) return;
        PostMsg msg = (PostMsg) CodecFactory.createMsg();
        msg.msgClass(MsgClasses.POST);
        msg.streamId(FIRST + at);
        msg.domainType(domain);
        msg.containerType(DataTypes.FIELD_LIST);
        msg.applyPostComplete();
        msg.applyAck();
        msg.applyHasPostId();
        msg.postId(++postsSent);
        msg.postUserInfo().userId(1);
        msg.postUserInfo().userAddr(0x7f000001);
        long us = BenchContent.nowUs();
        postedUs[(int) postsSent & (POSTS_KEPT - 1)] = us;
        BenchWire.check(msg.encodeInit(wire.out, 0));
        content.stamp(wire.out, us);
        BenchWire.check(msg.encodeComplete(wire.out, true));
        wire.end();
    }

    /* ---- the course of a run ---- */

    private interface Condition {
        boolean holds() throws IOException;
    }

    /* False: not in that time, or the connection is gone. */
    private boolean turnUntil(long forNs, int waitMs, Condition condition) throws IOException {
        long end = System.nanoTime() + forNs;
        for (; ; ) {
            if (wire.isOpen()) wire.read(this::take);
            boolean isQueued = wire.flush();
            wire.ping();
            if (condition.holds()) return true;
            if (wire.isGone || System.nanoTime() > end) return false;
            selector.select(isQueued || !wire.link.isOpen() ? 1 : waitMs);
            selector.selectedKeys().clear();
        }
    }

    private boolean setUp(int port) throws IOException {
        ConnectOptions options = Eta.connectOptions(port);
        options.guaranteedOutputBuffers(BenchWire.BUFFERS);
        wire = new BenchWire(Eta.connect(options));
        wire.channel.selectableChannel().register(selector, SelectionKey.OP_READ | SelectionKey.OP_CONNECT);
        if (!turnUntil(SETUP_NS, 1, wire::isOpen)) return false;
        wire.channel.selectableChannel().keyFor(selector).interestOps(SelectionKey.OP_READ);
        send(1, BenchAdmin.LOGIN, "bench");
        if (!turnUntil(SETUP_NS, 10, () -> isLoggedIn)) return false;
        long end = System.nanoTime() + SETUP_NS;
        do { /* the chain may not have heard of the provider yet */
            send(2, BenchAdmin.SOURCE, null);
        } while (!turnUntil(SECOND / 5, 10, () -> serviceId >= 0) && System.nanoTime() < end);
        return serviceId >= 0;
    }

    private boolean send(int stream, int requestDomain, String name) {
        if (!wire.begin(300, false)) return false;
        BenchAdmin.request(wire, stream, requestDomain, name, serviceId);
        return true;
    }

    /* All items, as fast as the connection takes the requests. */
    private boolean open(int items) throws IOException {
        int[] asked = {0};
        return turnUntil(OPEN_NS, 1, () -> {
            for (int some = 0; some < 500 && asked[0] < items; some++) {
                if (!send(FIRST + asked[0], domain, "RIC" + asked[0] + ".O")) break;
                asked[0]++;
            }
            wire.flush();
            return images + refused >= items;
        });
    }

    private void measure(double seconds, int postRate, int genericRate) throws IOException {
        BenchAdmin admin = new BenchAdmin(service);
        int wait = postRate + genericRate > 0 ? 1 : 20;
        long start = System.nanoTime();
        isMeasuring = true;
        turnUntil((long) (seconds * SECOND), wait, () -> {
            double elapsed = (double) (System.nanoTime() - start) / SECOND;
            while (postsSent < (long) (elapsed * postRate)) post((int) (postsSent % last.length));
            for (; genericsSent < (long) (elapsed * genericRate); genericsSent++)
                admin.generic(wire, FIRST + (int) (genericsSent % last.length), domain, content,
                        BenchContent.nowUs());
            wire.flush();
            return false;
        });
        isMeasuring = false;
    }

    /* What the provider made of each item, and did not arrive. */
    private void drain(Path counts) throws IOException {
        lastUpdateNs = System.nanoTime();
        long[] before = {received};
        if (!turnUntil(DRAIN_NS, 1, () -> Files.exists(counts))) return;
        List<String> lines = Files.readAllLines(counts);
        turnUntil(DRAIN_NS, 20, () -> {
            long now = System.nanoTime();
            if (received != before[0]) lastUpdateNs = now;
            before[0] = received;
            return now - lastUpdateNs > QUIET_NS && postsAcked >= postsSent && genericsBack >= genericsSent
                    || now - lastUpdateNs > 6 * QUIET_NS;
        });
        for (String line : lines) {
            String[] words = line.split(" ");
            int at = Integer.parseInt(words[0].substring(3, words[0].indexOf('.')));
            long missing = at < last.length && last[at] >= 0 ? Long.parseLong(words[1]) - last[at] : 0;
            if (missing > 0 && isSuspect[at]) told += missing;
            else if (missing > 0) lost += missing;
        }
    }

    private void clear(int items, int itemDomain) {
        domain = itemDomain;
        last = new long[items];
        Arrays.fill(last, -1);
        isSuspect = new boolean[items];
        serviceId = -1;
        isLoggedIn = false;
        images = 0;
        refused = 0;
        received = 0;
        inTime = 0;
        lost = 0;
        told = 0;
        backwards = 0;
        suspects = 0;
        postsSent = 0;
        postsAcked = 0;
        genericsSent = 0;
        genericsBack = 0;
        updates.clear();
        posts.clear();
        generics.clear();
    }

    private void run(String[] words) throws IOException {
        int items = Integer.parseInt(words[3]);
        double seconds = Double.parseDouble(words[4]);
        clear(items, Integer.parseInt(words[2]));
        if (!setUp(Integer.parseInt(words[1]))) {
            BenchCommands.say("failed: no connection, no login, or the service is not up");
        } else {
            long start = System.nanoTime();
            boolean isOpen = open(items);
            double openSeconds = (double) (System.nanoTime() - start) / SECOND;
            if (!isOpen) {
                BenchCommands.say("failed: " + images + " of " + items + " images, " + refused + " refused");
            } else {
                BenchCommands.say("open " + images + " " + refused + " " + openSeconds);
                turnUntil((long) (Double.parseDouble(words[5]) * SECOND), 20, () -> false);
                measure(seconds, Integer.parseInt(words[6]), Integer.parseInt(words[7]));
                BenchCommands.say("measured");
                drain(Path.of(words[8]));
                say(items, seconds, openSeconds);
            }
        }
        wire.close();
        selector.selectNow();
    }

    private void say(int items, double seconds, double openSeconds) {
        BenchCommands.say(
                String.format(
                        "result {\"items\":%d,\"images\":%d,\"refused\":%d,\"images_s\":%.6f,\"received\":%d,"
                                + "\"updates_per_s\":%.1f,\"lost\":%d,\"told_lost\":%d,\"backwards\":%d,"
                                + "\"suspects\":%d,\"posts_sent\":%d,\"posts_acked\":%d,\"generics_sent\":%d,"
                                + "\"generics_back\":%d,\"is_gone\":%b,\"latency\":%s,\"post\":%s,\"generic\":%s}",
                        items, images, refused, openSeconds, received,
                        seconds > 0 ? inTime / seconds : 0.0, lost, told, backwards, suspects, postsSent,
                        postsAcked, genericsSent, genericsBack, wire.isGone, updates.json(), posts.json(),
                        generics.json()));
    }
}
