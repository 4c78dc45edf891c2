/* ChainKit.java - an EMA consumer and an EMA provider that remember, for the chain suites. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.ComplexType;
import com.refinitiv.ema.access.Data;
import com.refinitiv.ema.access.DataType;
import com.refinitiv.ema.access.ElementEntry;
import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.FieldList;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.MapEntry;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmArray;
import com.refinitiv.ema.access.OmmConsumer;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerConfig;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmReal;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;

final class ChainKit {
    private ChainKit() {}

    static final String SERVICE = "DIRECT_FEED";
    static final int BID = 22;
    static final int ASK = 25;
    static final int ACVOL_1 = 32;
    static final int TIM_TRK_1 = 3902; /* when the update was made, as the performance tools have it */
    static final int OWN_FIELD = 25001; /* only ChainDictionary's provider has it in its files */
    static final int SECONDS = 90; /* how long something may take before it counts as missing */

    private static final BufferedReader HARNESS =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    static String port(String name) {
        String value = System.getenv("CHAIN_" + name + "_PORT");
        if (value == null) throw new IllegalStateException("run this with chain.py");
        return value;
    }

    /* One of our programs. */
    static String program(String name) {
        return System.getenv("CHAIN_BIN") + "/" + name;
    }

    /* The clock of TIM_TRK_1, of one host: that of the programs is the same. */
    static long nowUs() {
        return System.nanoTime() / 1000;
    }

    /* Asks chain.py for something. */
    static void chain(String verb, String program) {
        System.out.println("@" + verb + " " + program);
        try {
            String answer = HARNESS.readLine();
            if (!"ok".equals(answer)) throw new IllegalStateException(answer);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /* The content of item `name` after `count` updates: a function of the two. */
    static long volume(long count) {
        return (count % 0x400000) + 0x400000;
    }

    static long bid(String name, long count) {
        return Math.floorMod(name.hashCode() * 31L + count * 7, 100000L);
    }

    static final int ROW80_1 = 315;
    static final int ROWS = 25;

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
    }

    /* A page of rows: an update changes a few bytes of two of them, at a position, by a repetition. */
    private static FieldList rows(long count, boolean isImage) {
        FieldList list = EmaFactory.createFieldList();
        for (int row = 0; isImage && row < ROWS; row++)
            list.add(
                    EmaFactory.createFieldEntry()
                            .rmtes(ROW80_1 + row, bytes(String.format("%-80s", "ROW " + (row + 1) + " BANK"))));
        if (isImage) return list;
        int row = (int) (count % ROWS);
        String price = String.format("\u001b[%d`%04d", 20 + count % 50, count);
        list.add(EmaFactory.createFieldEntry().rmtes(ROW80_1 + row, bytes(price)));
        list.add(
                EmaFactory.createFieldEntry()
                        .rmtes(ROW80_1 + (row + 7) % ROWS, bytes("\u001b[75`*\u001b[3b\u001b[10`ZUERCHER KB")));
        return list;
    }

    private static String real(long hundredths) {
        return hundredths == 0 ? "-0.00" : String.format("+%d.%02d", hundredths / 100, hundredths % 100);
    }

    /* Items MF.*: what fields() says, as a Marketfeed record. */
    static byte[] record(String name, long count, boolean isImage) {
        String text =
                (isImage ? "\u001c340" : "\u001c316") + "\u001fXX\u001d" + name + (isImage ? "\u001f62" : "")
                        + "\u001f" + count % 65536
                        + "\u001e" + BID + "\u001f" + real(bid(name, count))
                        + "\u001e" + ASK + "\u001f" + real(bid(name, count) + 4)
                        + "\u001e" + ACVOL_1 + "\u001f+" + volume(count) + "\u001c";
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /* Items RIP.*: an image with the last five trades, updates with one; PAGE.*: an ANSI page; ROWS.*: a
     * page of rows. */
    static ComplexType payload(String name, long count, boolean isImage) {
        if (name.startsWith("RIP.")) {
            FieldList list = EmaFactory.createFieldList();
            for (int i = 0; i < (isImage ? 5 : 1); i++)
                list.add(
                        EmaFactory.createFieldEntry()
                                .real(6 + i, 1000 + count - i, OmmReal.MagnitudeType.EXPONENT_NEG_2));
            return list;
        }
        if (name.startsWith("ROWS.")) return rows(count, isImage);
        if (name.startsWith("PAGE."))
            return EmaFactory.createOmmAnsiPage()
                    .string(
                            isImage
                                    ? "\u001b[1;1HMONEY MARKET\u001b[3;1HEUR"
                                    : String.format(
                                            "\u001b[%d;5H\u001b[%dm1.%04d", 3 + count % 9, count % 2 * 7, count));
        return fields(name, count, isImage);
    }

    static FieldList fields(String name, long count, boolean isImage) {
        FieldList list = EmaFactory.createFieldList();
        int hundredths = OmmReal.MagnitudeType.EXPONENT_NEG_2;
        if (isImage) {
            list.add(EmaFactory.createFieldEntry().uintValue(1, 62));
            list.add(EmaFactory.createFieldEntry().ascii(3, name));
            if (name.startsWith("OWN."))
                list.add(EmaFactory.createFieldEntry().uintValue(OWN_FIELD, 7));
        }
        list.add(EmaFactory.createFieldEntry().real(BID, bid(name, count), hundredths));
        list.add(EmaFactory.createFieldEntry().real(ASK, bid(name, count) + 4, hundredths));
        list.add(
                EmaFactory.createFieldEntry()
                        .real(ACVOL_1, volume(count), OmmReal.MagnitudeType.EXPONENT_0));
        if (!isImage && name.startsWith("TIM."))
            list.add(EmaFactory.createFieldEntry().uintValue(TIM_TRK_1, nowUs()));
        return list;
    }

    /* One message as the application saw it. */
    static final class Seen {
        String kind = ""; /* refresh update status generic ack */
        String tag = ""; /* what the request was registered with */
        int domain;
        int streamId;
        String name;
        String service;
        String text = ""; /* the message as the library prints it */
        int stream = -1;
        int data = -1;
        int code = -1;
        String stateText = "";
        String qos = ""; /* of a refresh: timeliness and rate, as the library numbers them */
        boolean isSolicited;
        boolean isComplete;
        boolean isPrivate;
        boolean isOfPost;
        boolean hasSeqNum;
        long seqNum;
        long ackId;
        int nack; /* -1: none */
        Map<Integer, String> fields = new TreeMap<>();
        Map<Integer, Long> mantissas = new TreeMap<>();

        boolean is(String wantedKind, String wantedTag) {
            return kind.equals(wantedKind) && tag.equals(wantedTag);
        }

        boolean isState(int wantedStream, int wantedData, int wantedCode) {
            return stream == wantedStream && data == wantedData && code == wantedCode;
        }

        boolean isOpenOk() {
            return stream == OmmState.StreamState.OPEN && data == OmmState.DataState.OK;
        }

        boolean isSuspect() {
            return stream == OmmState.StreamState.OPEN && data == OmmState.DataState.SUSPECT;
        }

        long count() {
            Long volume = mantissas.get(ACVOL_1);
            return volume == null ? -1 : volume - 0x400000;
        }

        /* Its content is that of `name` after count() updates. */
        void checkContent(String item) {
            long n = count();
            check(n >= 0, "no ACVOL_1 in " + text);
            /* A view may have left one out. */
            long bid = mantissas.getOrDefault(BID, bid(item, n));
            long ask = mantissas.getOrDefault(ASK, bid(item, n) + 4);
            check(bid == bid(item, n), item + " has a wrong BID: " + text);
            check(ask == bid(item, n) + 4, item + " has a wrong ASK: " + text);
        }

        @Override
        public String toString() {
            return kind
                    + " of "
                    + tag
                    + (stream < 0 ? "" : " state " + stream + "/" + data + "/" + code + " " + stateText)
                    + (isSolicited ? " solicited" : "")
                    + " "
                    + fields;
        }
    }

    static void check(boolean is, String what) {
        if (!is) throw new IllegalStateException(what);
    }

    private static void takeFields(Seen seen, Data payload) {
        if (payload.dataType() != DataType.DataTypes.FIELD_LIST) return;
        for (FieldEntry entry : (FieldList) payload) {
            seen.fields.put(entry.fieldId(), entry.load().toString());
            if (entry.loadType() == DataType.DataTypes.REAL && entry.code() == Data.DataCode.NO_CODE)
                seen.mantissas.put(entry.fieldId(), entry.real().mantissa());
        }
    }

    /* An EMA consumer in its default configuration but for host, port and user. */
    static final class Consumer implements OmmConsumerClient, AutoCloseable {
        private final OmmConsumer consumer;
        private final ArrayDeque<Seen> seen = new ArrayDeque<>();
        private final Map<String, Long> lastCount = new TreeMap<>();
        private String broken;
        private long updates;
        private boolean keepsUpdates = true;
        private boolean judgesContent = true;
        private boolean judgesSteps = true;
        private volatile int serviceId;

        Consumer() {
            this("user");
        }

        Consumer(String user) {
            this(EmaFactory.createOmmConsumerConfig().username(user));
        }

        Consumer(OmmConsumerConfig config) {
            consumer = EmaFactory.createOmmConsumer(config.host("localhost:" + port("P2PS")));
        }

        private Consumer(String file, String name) {
            consumer =
                    EmaFactory.createOmmConsumer(
                            EmaFactory.createOmmConsumerConfig(file).username(name).consumerName(name));
        }

        /* Connected as the library's own configuration file says for the consumer `name`. */
        static Consumer ofFile(String file, String name) {
            return new Consumer(file, name);
        }

        /* Of the last message that had one. */
        int serviceId() {
            return serviceId;
        }

        OmmConsumer ema() {
            return consumer;
        }

        long open(String item) {
            return open(item, EmaFactory.createReqMsg().serviceName(SERVICE).name(item));
        }

        long open(String tag, ReqMsg request) {
            return consumer.registerClient(request, this, tag);
        }

        synchronized void keepUpdates(boolean keep) {
            keepsUpdates = keep;
        }

        /* Not where another program publishes: its counters are ours, its prices are not. */
        synchronized void judgeContent(boolean judge) {
            judgesContent = judge;
        }

        /* Not where updates are merged: then they go on by more than one, never back. */
        synchronized void judgeSteps(boolean judge) {
            judgesSteps = judge;
        }

        synchronized void forget() {
            seen.clear();
        }

        synchronized long updates() {
            return updates;
        }

        synchronized int size(Predicate<Seen> wanted) {
            return (int) seen.stream().filter(wanted).count();
        }

        synchronized Seen poll(Predicate<Seen> wanted) {
            for (Seen one : seen) {
                if (!wanted.test(one)) continue;
                seen.remove(one);
                return one;
            }
            return null;
        }

        /* The first message that fits, waited for; it is taken out, others stay. */
        Seen await(String what, Predicate<Seen> wanted) {
            return await(what, SECONDS, wanted);
        }

        synchronized Seen await(String what, int seconds, Predicate<Seen> wanted) {
            long end = System.nanoTime() + seconds * 1000000000L;
            for (; ; ) {
                if (broken != null) throw new IllegalStateException(broken);
                Seen found = poll(wanted);
                if (found != null) return found;
                long left = (end - System.nanoTime()) / 1000000;
                if (left <= 0) throw new IllegalStateException("no " + what + "; seen: " + tail());
                try {
                    wait(left);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        /* Until `wanted` many fit; they stay where they are. */
        synchronized void awaitCount(String what, int count, int seconds, Predicate<Seen> wanted) {
            long end = System.nanoTime() + seconds * 1000000000L;
            while (size(wanted) < count) {
                if (broken != null) throw new IllegalStateException(broken);
                long left = (end - System.nanoTime()) / 1000000;
                if (left <= 0)
                    throw new IllegalStateException(
                            size(wanted) + " of " + count + " " + what + "; seen: " + tail());
                try {
                    wait(Math.min(left, 200));
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        /* Until the item has had `count` updates, every one of them. */
        synchronized void awaitCounter(String item, long count, int seconds) {
            long end = System.nanoTime() + seconds * 1000000000L;
            while (lastCount.getOrDefault(item, -1L) < count) {
                if (broken != null) throw new IllegalStateException(broken);
                if (System.nanoTime() > end)
                    throw new IllegalStateException(
                            item + " is at " + lastCount.get(item) + ", not " + count + tail());
                try {
                    wait(200);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        Seen awaitRefresh(String tag) {
            return await("refresh of " + tag, s -> s.is("refresh", tag));
        }

        Seen awaitStatus(String tag, int stream, int data, int code) {
            return await(
                    "status " + stream + "/" + data + "/" + code + " of " + tag,
                    s -> s.is("status", tag) && s.isState(stream, data, code));
        }

        Seen awaitSuspect(String tag) {
            return await("suspect status of " + tag, s -> s.is("status", tag) && s.isSuspect());
        }

        Seen awaitUpdate(String tag) {
            return await("update of " + tag, s -> s.is("update", tag));
        }

        private String tail() {
            StringBuilder out = new StringBuilder();
            int skip = Math.max(0, seen.size() - 12);
            for (Seen one : seen) if (skip-- <= 0) out.append("\n    ").append(one);
            return out.length() == 0 ? " nothing" : out.toString();
        }

        private synchronized void take(Seen one) {
            if (one.kind.equals("refresh") && one.count() >= 0) {
                lastCount.put(one.tag, one.count());
                if (judgesContent) one.checkContent(one.name);
            } else if (one.kind.equals("update")) {
                updates++;
                follow(one);
                if (!keepsUpdates) {
                    notifyAll();
                    return;
                }
            }
            seen.add(one);
            notifyAll();
        }

        /* Every update of an item carries the next number of its counter. */
        private void follow(Seen one) {
            if (one.count() < 0) return;
            Long last = lastCount.put(one.tag, one.count());
            boolean isNext = last == null || one.count() == (last + 1) % 0x400000;
            if (judgesSteps ? !isNext : last != null && one.count() <= last)
                broken = one.tag + ": update " + one.count() + " follows " + last;
            if (judgesContent) one.checkContent(one.name == null ? one.tag : one.name);
        }

        private Seen begin(String kind, Msg msg, OmmConsumerEvent event) {
            Seen one = new Seen();
            one.kind = kind;
            one.tag = String.valueOf(event.closure());
            one.domain = msg.domainType();
            one.streamId = msg.streamId();
            one.name = msg.hasName() ? msg.name() : null;
            if (msg.hasServiceId()) serviceId = msg.serviceId();
            one.text = keepsUpdates ? msg.toString() : "";
            takeFields(one, msg.payload().data());
            return one;
        }

        private static void state(Seen one, OmmState state) {
            one.stream = state.streamState();
            one.data = state.dataState();
            one.code = state.statusCode();
            one.stateText = state.statusText();
        }

        @Override
        public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
            guard(
                    () -> {
                        Seen one = begin("refresh", msg, event);
                        state(one, msg.state());
                        if (msg.hasQos()) one.qos = msg.qos().timeliness() + "/" + msg.qos().rate();
                        one.isSolicited = msg.solicited();
                        one.isComplete = msg.complete();
                        one.isPrivate = msg.privateStream();
                        one.service = msg.hasServiceName() ? msg.serviceName() : null;
                        /* A batch has one closure for many items. */
                        if (one.tag.equals("batch")) one.tag = one.name;
                        take(one);
                    });
        }

        @Override
        public void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
            guard(
                    () -> {
                        Seen one = begin("update", msg, event);
                        one.isOfPost = msg.hasPublisherId();
                        if (one.tag.equals("batch")) one.tag = one.name;
                        take(one);
                    });
        }

        @Override
        public void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
            guard(
                    () -> {
                        Seen one = begin("status", msg, event);
                        if (msg.hasState()) state(one, msg.state());
                        one.isPrivate = msg.privateStream();
                        take(one);
                    });
        }

        @Override
        public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {
            guard(() -> take(begin("generic", msg, event)));
        }

        @Override
        public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {
            guard(
                    () -> {
                        Seen one = begin("ack", msg, event);
                        one.ackId = msg.ackId();
                        one.hasSeqNum = msg.hasSeqNum();
                        one.seqNum = msg.hasSeqNum() ? msg.seqNum() : 0;
                        one.nack = msg.hasNackCode() ? msg.nackCode() : -1;
                        one.stateText = msg.hasText() ? msg.text() : "";
                        take(one);
                    });
        }

        @Override
        public void onAllMsg(Msg msg, OmmConsumerEvent event) {}

        private void guard(Runnable work) {
            try {
                work.run();
            } catch (RuntimeException e) {
                synchronized (this) {
                    broken = e.toString();
                    notifyAll();
                }
            }
        }

        @Override
        public void close() {
            consumer.uninitialize();
        }
    }

    static ElementList elements(ElementEntry... entries) {
        ElementList list = EmaFactory.createElementList();
        for (ElementEntry entry : entries) list.add(entry);
        return list;
    }

    static FieldList fieldList(FieldEntry... entries) {
        FieldList list = EmaFactory.createFieldList();
        for (FieldEntry entry : entries) list.add(entry);
        return list;
    }

    static com.refinitiv.ema.access.Map map(int keyType, MapEntry entry) {
        com.refinitiv.ema.access.Map map = EmaFactory.createMap().keyType(keyType);
        map.add(entry);
        return map;
    }

    static ReqMsg request(String item) {
        return EmaFactory.createReqMsg().serviceName(SERVICE).name(item);
    }

    static ElementList view(int... fields) {
        OmmArray array = EmaFactory.createOmmArray().fixedWidth(2);
        for (int field : fields) array.add(EmaFactory.createOmmArrayEntry().intValue(field));
        return elements(
                EmaFactory.createElementEntry().uintValue(":ViewType", 1),
                EmaFactory.createElementEntry().array(":ViewData", array));
    }

    static ElementList batch(Iterable<String> names) {
        OmmArray array = EmaFactory.createOmmArray();
        for (String name : names) array.add(EmaFactory.createOmmArrayEntry().ascii(name));
        return elements(EmaFactory.createElementEntry().array(":ItemList", array));
    }

    /* One named test after the other; the rest goes on when one fails. */
    static final class Report {
        private int failed;
        private int done;

        interface Test {
            void run() throws Exception;
        }

        private final Logger quiet = Logger.getLogger("com.refinitiv");

        Report() {
            if (System.getenv("CHAIN_VERBOSE") == null) quiet.setLevel(Level.OFF);
            /* The library's threads would keep the process alive. */
            Thread.setDefaultUncaughtExceptionHandler(
                    (thread, e) -> {
                        e.printStackTrace(System.out);
                        System.exit(1);
                    });
        }

        void test(String name, Test test) {
            long start = System.nanoTime();
            String filter = System.getenv("CHAIN_ONLY");
            if (filter != null && !name.matches(".*(" + filter + ").*")) return;
            String said = "ok";
            try {
                test.run();
            } catch (Exception | AssertionError e) {
                failed++;
                said = "FAILED: " + e;
                if (!(e instanceof IllegalStateException)) e.printStackTrace(System.out);
            }
            done++;
            long ms = (System.nanoTime() - start) / 1000000;
            System.out.println((said.equals("ok") ? "ok     " : "") + name + (said.equals("ok") ? "" : " " + said) + " (" + ms + " ms)");
        }

        boolean hasFailed() {
            return failed > 0;
        }

        void end() {
            System.out.println(done + " tests, " + failed + " failed");
            System.exit(failed == 0 ? 0 : 1);
        }
    }
}
