/* ChainMarketfeed.java - Marketfeed records, ripples and ANSI pages, seen by EMA consumers. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.DataType;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumer;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.access.RmtesBuffer;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import com.refinitiv.eta.ansipage.Page;
import com.refinitiv.eta.ansipage.PageUpdate;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.RequestMsgFlags;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Vector;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

public final class ChainMarketfeed {
    private ChainMarketfeed() {}

    private static final int TRDPRC_1 = 6;
    private static final int CHAIN = 5; /* TRDPRC_1 to TRDPRC_5 */
    private static final int TRADES = 1000;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        report.test("who joins after trades sees what one sees who rippled", ChainMarketfeed::ripples);
        report.test("who opens a page late sees what the first one sees", ChainMarketfeed::pages);
        report.test("who opens a page of rows late sees what EMA makes of its updates", ChainMarketfeed::rows);
        report.test("records of Marketfeed are field lists for EMA", ChainMarketfeed::records);
        report.test("an EMA provider publishes records", ChainMarketfeed::emaProvider);
        report.test("EMA leaves DisableDataConversion out of its login", ChainMarketfeed::emaLogin);
        report.test("a reload changes who gets records as they come", ChainMarketfeed::reload);
        report.end();
    }

    /* Until its items can be had: an EMA consumer asks for the dictionary when it starts. */
    static void awaitService() throws Exception {
        try (Peer first =
                new Peer(
                        ChainKit.program("rmdstestclient"),
                        "-S", SERVICE, "-h", "127.0.0.1", "-p", ChainKit.port("P2PS"),
                        "-il", "FIRST", "-e", "-timeout", "" + ChainKit.SECONDS)) {
            check(first.exitCode(2 * ChainKit.SECONDS) == 0, "no item of the service");
        }
    }

    /* ---- ripples ---- */

    private static void ripples() throws Exception {
        try (ChainProvider provider = new ChainProvider()) {
            provider.await("login", l -> l.startsWith("login"));
            awaitService();
            ripples(provider);
        }
    }

    private static void ripples(ChainProvider provider) throws Exception {
        ChainKit.Consumer early = new ChainKit.Consumer();
        early.open("RIP.A");
        ChainKit.Seen image = early.awaitRefresh("RIP.A");
        long[] held = new long[CHAIN];
        for (int i = 0; i < CHAIN; i++) held[i] = image.mantissas.get(TRDPRC_1 + i);
        provider.publish("RIP.A", TRADES);
        for (int n = 0; n < TRADES; n++) {
            long trade = early.awaitUpdate("RIP.A").mantissas.get(TRDPRC_1);
            System.arraycopy(held, 0, held, 1, CHAIN - 1); /* EMA leaves that to us */
            held[0] = trade;
        }
        ChainKit.Consumer late = new ChainKit.Consumer();
        late.open("RIP.A");
        ChainKit.Seen seen = late.awaitRefresh("RIP.A");
        for (int i = 0; i < CHAIN; i++)
            check(
                    seen.mantissas.get(TRDPRC_1 + i) == held[i],
                    "TRDPRC_" + (i + 1) + " is not " + held[i] + ": " + seen.text);
        check(provider.count(l -> l.equals("req RIP.A")) == 1, "the image is not of a cache");
        early.close();
        late.close();
    }

    /* ---- payloads as they are ---- */

    /* A consumer that looks at what comes by itself. */
    private abstract static class Client implements OmmConsumerClient {
        abstract void take(Msg msg);

        @Override
        public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
            take(msg);
        }

        @Override
        public void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
            take(msg);
        }

        @Override
        public void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
    }

    private static byte[] copy(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    /* One that keeps the bytes of pages and records. */
    private static final class Bytes extends Client {
        final BlockingQueue<byte[]> seen = new LinkedBlockingQueue<>();

        /* EMA calls a type that it does not know an error; the bytes of the whole message are there. */
        @Override
        void take(Msg msg) {
            if (msg.payload().dataType() == DataType.DataTypes.ANSI_PAGE) {
                seen.add(copy(msg.payload().ansiPage().buffer()));
            } else if (msg.payload().dataType() == DataType.DataTypes.ERROR) {
                String all = new String(copy(msg.asHex()), StandardCharsets.ISO_8859_1);
                seen.add(all.substring(all.indexOf('\u001c')).getBytes(StandardCharsets.ISO_8859_1));
            }
        }

        byte[] await() throws InterruptedException {
            byte[] bytes = seen.poll(ChainKit.SECONDS, TimeUnit.SECONDS);
            check(bytes != null, "neither a page nor a record came");
            return bytes;
        }
    }

    private static void show(Page page, byte[] bytes) {
        page.decode(new ByteArrayInputStream(bytes), new Vector<PageUpdate>());
    }

    private static String text(Page page) {
        StringBuilder out = new StringBuilder();
        for (short row = 1; row <= 25; row++) {
            for (short column = 1; column <= 80; column++) out.append(page.getChar(row, column));
            out.append('\n');
        }
        return out.toString().replace('\0', ' ');
    }

    private static void pages() throws Exception {
        try (ChainProvider provider = new ChainProvider()) {
            provider.await("login", l -> l.startsWith("login"));
            awaitService();
            pages(provider);
        }
    }

    private static void pages(ChainProvider provider) throws Exception {
        ChainKit.Consumer consumer = new ChainKit.Consumer();
        Bytes early = new Bytes();
        Bytes late = new Bytes();
        Page first = new Page((short) 25, (short) 80);
        Page second = new Page((short) 25, (short) 80);
        consumer.ema().registerClient(ChainKit.request("PAGE.A"), early);
        show(first, early.await());
        provider.publish("PAGE.A", 100);
        for (int i = 0; i < 100; i++) show(first, early.await());
        check(text(first).contains("1.0100"), "the page has no rate: " + text(first));
        ChainKit.Consumer other = new ChainKit.Consumer();
        other.ema().registerClient(ChainKit.request("PAGE.A"), late);
        show(second, late.await());
        check(text(first).equals(text(second)), "early\n" + text(first) + "late\n" + text(second));
        check(provider.count(l -> l.equals("req PAGE.A")) == 1, "the page is not of a cache");
        consumer.close();
        other.close();
    }

    /* ---- pages of rows ---- */

    /* One that leaves partial updates to EMA. */
    private static final class Rows extends Client {
        private final RmtesBuffer[] rows = new RmtesBuffer[ChainKit.ROWS];
        private int messages;

        @Override
        synchronized void take(Msg msg) {
            if (msg.payload().dataType() != DataType.DataTypes.FIELD_LIST) return;
            for (FieldEntry entry : msg.payload().fieldList()) {
                int row = entry.fieldId() - ChainKit.ROW80_1;
                if (rows[row] == null) rows[row] = EmaFactory.createRmtesBuffer();
                rows[row].apply(entry.rmtes());
            }
            messages++;
            notifyAll();
        }

        synchronized String await(int count) throws InterruptedException {
            long end = System.nanoTime() + ChainKit.SECONDS * 1_000_000_000L;
            while (messages < count) {
                check(System.nanoTime() < end, messages + " messages of " + count);
                wait(200);
            }
            StringBuilder out = new StringBuilder();
            for (RmtesBuffer row : rows) out.append(row).append('\n');
            return out.toString();
        }
    }

    private static void rows() throws Exception {
        try (ChainProvider provider = new ChainProvider()) {
            provider.await("login", l -> l.startsWith("login"));
            awaitService();
            rows(provider);
        }
    }

    private static void rows(ChainProvider provider) throws Exception {
        ChainKit.Consumer consumer = new ChainKit.Consumer();
        Rows early = new Rows();
        consumer.ema().registerClient(ChainKit.request("ROWS.A"), early);
        early.await(1);
        provider.publish("ROWS.A", 200);
        String first = early.await(201);
        check(first.contains("ZUERCHER KB") && first.contains("0200"), first);
        ChainKit.Consumer other = new ChainKit.Consumer();
        Rows late = new Rows();
        other.ema().registerClient(ChainKit.request("ROWS.A"), late);
        String second = late.await(1);
        check(first.equals(second), "early\n" + first + "late\n" + second);
        check(provider.count(l -> l.equals("req ROWS.A")) == 1, "the page is not of a cache");
        consumer.close();
        other.close();
        shown(first);
    }

    /* rmdstestclient shows the same rows. */
    private static void shown(String rows) throws Exception {
        try (Peer client =
                new Peer(
                        ChainKit.program("rmdstestclient"),
                        "-S", SERVICE, "-h", "127.0.0.1", "-p", ChainKit.port("P2PS"),
                        "-il", "ROWS.A", "-page", "-e", "-timeout", "" + ChainKit.SECONDS)) {
            client.await("PAGE ROWS.A", ChainKit.SECONDS);
            int number = 1;
            for (String row : rows.split("\n")) {
                String start = String.format("%3d |", number++);
                String line = client.await(start, ChainKit.SECONDS);
                check(line.equals(start + row), "row " + line + "\nis not  " + row);
            }
        }
    }

    /* ---- records ---- */

    /* EMA leaves DisableDataConversion out of its login, see emaLogin(): so this consumer is one of ETA. */
    private static void rawRecords(int serviceId) {
        int[] types = new int[2]; /* of the image and of an update */
        String[] texts = new String[2];
        try (ChainRaw.Raw raw = new ChainRaw.Raw()) {
            raw.judge =
                    (msg, payload) -> {
                        if (msg.streamId() != 5 || msg.containerType() == DataTypes.NO_DATA) return;
                        int at = msg.msgClass() == MsgClasses.REFRESH ? 0 : 1;
                        types[at] = msg.containerType();
                        byte[] bytes = new byte[msg.encodedDataBody().length()];
                        ByteBuffer from = msg.encodedDataBody().data().duplicate();
                        from.position(msg.encodedDataBody().position());
                        from.get(bytes);
                        texts[at] = new String(bytes, StandardCharsets.ISO_8859_1);
                    };
            raw.login("native", ChainRaw.attributes("DisableDataConversion", 1));
            raw.await("login refresh", g -> g.isRefresh(1));
            raw.request(5, EmaRdm.MMT_MARKET_PRICE, RequestMsgFlags.STREAMING, "MF.A", null, serviceId);
            raw.await("refresh", g -> g.isRefresh(5));
            raw.await("update", g -> g.isUpdate(5));
        }
        for (int type : types) check(type == RecordPayload.RECORD, "type " + type);
        check(texts[0].startsWith("\u001c340\u001fXX\u001dMF.A\u001f"), "image: " + texts[0]);
        check(texts[1].startsWith("\u001c316\u001fXX\u001dMF.A"), "update: " + texts[1]);
        check(texts[1].contains("\u001e22\u001f+"), "no BID: " + texts[1]);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    /* The configuration says of the user "native" that he gets records as they come. */
    private static void emaProvider(ChainProvider provider) throws Exception {
        ChainKit.Consumer early = new ChainKit.Consumer();
        ChainKit.Consumer raw = new ChainKit.Consumer("native");
        Bytes records = new Bytes();
        early.open("MF.B");
        check(early.awaitRefresh("MF.B").count() == 0, "the image is another one");
        raw.ema().registerClient(ChainKit.request("MF.B"), records);
        records.await();
        provider.publish("MF.B", 100);
        early.awaitCounter("MF.B", 100, ChainKit.SECONDS);
        for (int i = 1; i <= 100; i++) {
            String record = text(records.await());
            check(record.equals(text(ChainKit.record("MF.B", i, false))), "record " + i + ": " + record);
        }
        ChainKit.Consumer late = new ChainKit.Consumer();
        late.open("MF.B");
        check(late.awaitRefresh("MF.B").count() == 100, "the late image is another one");
        Bytes lateRecords = new Bytes();
        raw.ema().registerClient(ChainKit.request("MF.B"), lateRecords);
        String image = text(lateRecords.await());
        check(image.equals(text(ChainKit.record("MF.B", 100, true))), "image " + image);
        check(provider.count(l -> l.equals("req MF.B")) == 1, "an image is not of a cache");
        early.close();
        late.close();
        raw.close();
    }

    private static void emaProvider() throws Exception {
        try (ChainProvider provider = new ChainProvider()) {
            provider.await("login", l -> l.startsWith("login"));
            awaitService();
            emaProvider(provider);
        }
    }

    private static final String APPLICATION = "one-that-wants-records";

    private static ReqMsg login() {
        return EmaFactory.createReqMsg()
                .domainType(EmaRdm.MMT_LOGIN)
                .name("user")
                .nameType(EmaRdm.USER_NAME)
                .attrib(
                        ChainKit.elements(
                                EmaFactory.createElementEntry().ascii("ApplicationName", APPLICATION),
                                EmaFactory.createElementEntry().uintValue("DisableDataConversion", 1)));
    }

    /* If this fails, EMA has learned to send it: then the documents may say so, and a test use it. */
    private static void emaLogin() throws Exception {
        try (ChainProvider provider = new ChainProvider();
                Relay relay = new Relay()) {
            provider.await("login", l -> l.startsWith("login"));
            awaitService();
            OmmConsumer consumer =
                    EmaFactory.createOmmConsumer(
                            EmaFactory.createOmmConsumerConfig()
                                    .addAdminMsg(login())
                                    .host("localhost:" + relay.port()));
            relay.await(APPLICATION, 1);
            long handle =
                    consumer.registerClient(
                            EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN), new Bytes());
            consumer.reissue(login(), handle);
            String all = relay.await(APPLICATION, 2);
            check(!all.contains("DisableDataConversion"), "EMA sends DisableDataConversion now");
            consumer.uninitialize();
        }
    }

    /* The data type of the image that a new login of the user gets. */
    private static int typeFor(String user) throws Exception {
        BlockingQueue<Integer> types = new LinkedBlockingQueue<>();
        try (ChainKit.Consumer consumer = new ChainKit.Consumer(user)) {
            Client client =
                    new Client() {
                        @Override
                        void take(Msg msg) {
                            if (msg.payload().dataType() != DataType.DataTypes.NO_DATA)
                                types.add(msg.payload().dataType());
                        }
                    };
            consumer.ema().registerClient(ChainKit.request("MF.D"), client);
            Integer type = types.poll(ChainKit.SECONDS, TimeUnit.SECONDS);
            check(type != null, "no image of MF.D");
            return type;
        }
    }

    private static void reload() throws Exception {
        try (ChainProvider provider = new ChainProvider()) {
            provider.await("login", l -> l.startsWith("login"));
            awaitService();
            check(typeFor("native") == DataType.DataTypes.ERROR, "this is no record");
            Files.writeString(
                    Path.of("rmds.cnf"),
                    "*p2ps*allowDisableDataConversion : False\n",
                    StandardOpenOption.APPEND);
            ChainKit.chain("hup", "p2ps");
            long end = System.nanoTime() + ChainKit.SECONDS * 1_000_000_000L;
            while (typeFor("native") != DataType.DataTypes.FIELD_LIST)
                check(System.nanoTime() < end, "the reload does not change what a login gets");
        }
    }

    private static void records() throws Exception {
        try (Peer sds =
                new Peer(
                        ChainKit.program("sink_driven_src"),
                        "-S", SERVICE, "-N", ChainKit.port("PROVIDER"), "-dict", ".",
                        "-marketfeed", "-tsa", "-U", "100")) {
            awaitService();
            ChainKit.Consumer consumer = new ChainKit.Consumer();
            consumer.judgeContent(false);
            consumer.open("MF.A");
            ChainKit.Seen image = consumer.awaitRefresh("MF.A");
            check(image.fields.containsKey(ChainKit.BID), "no BID in " + image.text);
            check(image.fields.size() > 60, "fields are missing: " + image.text);
            for (int i = 0; i < 20; i++) {
                ChainKit.Seen update = consumer.awaitUpdate("MF.A");
                check(update.count() >= 0, "no ACVOL_1 in " + update.text);
                check(update.fields.containsKey(ChainKit.TIM_TRK_1), "no time: " + update.text);
            }
            rawRecords(consumer.serviceId());
            consumer.close();
            check(sds.isAlive(), "sink_driven_src has ended");
            sds.kill();
        }
    }
}
