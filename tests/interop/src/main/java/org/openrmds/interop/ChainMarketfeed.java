/* ChainMarketfeed.java - Marketfeed records, ripples and ANSI pages, seen by EMA consumers. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.RefreshMsg;
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
        report.test("records of Marketfeed are field lists for EMA", ChainMarketfeed::records);
        report.end();
    }

    /* Until its items can be had: an EMA consumer asks for the dictionary when it starts. */
    private static void awaitService() throws Exception {
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

    /* A consumer that keeps the bytes of what comes. */
    private static final class Bytes implements OmmConsumerClient {
        final BlockingQueue<byte[]> seen = new LinkedBlockingQueue<>();

        private void take(Msg msg) {
            if (msg.payload().dataType() != com.refinitiv.ema.access.DataType.DataTypes.ANSI_PAGE)
                return;
            ByteBuffer buffer = msg.payload().ansiPage().buffer();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            seen.add(bytes);
        }

        byte[] await() throws InterruptedException {
            byte[] bytes = seen.poll(ChainKit.SECONDS, TimeUnit.SECONDS);
            check(bytes != null, "no page came");
            return bytes;
        }

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

    /* ---- records ---- */

    private static final int RECORD = 139; /* the container type, which the libraries do not name */

    /* EMA leaves out elements of a login that it does not know: so this consumer is one of ETA. */
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
        check(types[0] == RECORD && types[1] == RECORD, "types " + types[0] + " and " + types[1]);
        check(texts[0].startsWith("\u001c340\u001fXX\u001dMF.A\u001f"), "image: " + texts[0]);
        check(texts[1].startsWith("\u001c316\u001fXX\u001dMF.A"), "update: " + texts[1]);
        check(texts[1].contains("\u001e22\u001f+"), "no BID: " + texts[1]);
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
