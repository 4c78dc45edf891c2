/* ChainMixed.java - two kinds of provider and two kinds of consumer on one chain at the same time. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmProvider;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.Real;
import com.refinitiv.eta.codec.RealHints;
import com.refinitiv.eta.codec.RequestMsgFlags;
import com.refinitiv.eta.codec.UInt;
import java.util.HashMap;
import java.util.Map;

/*
 * An interactive and a non-interactive EMA provider publish at once; an EMA consumer and one of
 * ETA without a watch list have items of both. Each gets every update of every item, in order and
 * with the content it was published with.
 */
public final class ChainMixed {
    private ChainMixed() {}

    private static final String NI_SERVICE = "NI_PUB"; /* of the library's default configuration */
    private static final int ITEMS = 50;
    private static final int ROUNDS = 200;
    private static final int MARKET_PRICE = 6;
    private static final int OURS = 10; /* streams of ETA: the first of each provider's items */
    private static final int THEIRS = 1000;
    private static ChainProvider interactive;
    private static OmmProvider publisher;
    private static ChainKit.Consumer consumer;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        interactive = new ChainProvider();
        publisher =
                EmaFactory.createOmmProvider(
                        EmaFactory.createOmmNiProviderConfig()
                                .host("localhost:" + ChainKit.port("NIPROV"))
                                .username("publisher"));
        for (int i = 0; i < ITEMS; i++) refresh(i);
        interactive.await("login", l -> l.startsWith("login"));
        consumer = new ChainKit.Consumer();
        report.test("two providers and two consumers at once", ChainMixed::together);
        consumer.close();
        publisher.uninitialize();
        interactive.close();
        report.end();
    }

    private static String ours(int i) {
        return "ASKED" + i;
    }

    private static String theirs(int i) {
        return "SENT" + i;
    }

    private static ReqMsg request(String item) {
        return EmaFactory.createReqMsg().serviceName(NI_SERVICE).name(item);
    }

    private static void refresh(int i) {
        publisher.submit(
                EmaFactory.createRefreshMsg()
                        .serviceName(NI_SERVICE)
                        .name(theirs(i))
                        .complete(true)
                        .state(OmmState.StreamState.OPEN, OmmState.DataState.OK)
                        .payload(ChainKit.fields(theirs(i), 0, true)),
                i + 1L);
    }

    private static void publish() {
        for (int round = 1; round <= ROUNDS; round++) {
            for (int i = 0; i < ITEMS; i++)
                publisher.submit(
                        EmaFactory.createUpdateMsg()
                                .serviceName(NI_SERVICE)
                                .name(theirs(i))
                                .payload(ChainKit.fields(theirs(i), round, false)),
                        i + 1L);
        }
    }

    /* What one stream of ETA is told: each value as the name and the counter say, no field more. */
    private static final class Stream {
        private final String item;
        private final Map<Integer, String> fields = new HashMap<>();
        long count = -1;

        Stream(String item) {
            this.item = item;
        }

        void take(boolean isImage, DecodeIterator payload) {
            read(payload);
            String volume = fields.getOrDefault(ChainKit.ACVOL_1, "");
            long next = isImage ? 0 : count + 1;
            check(
                    volume.equals(hinted(ChainKit.volume(next), RealHints.EXPONENT0)),
                    item + ": ACVOL_1 " + volume + " follows the count " + count);
            count = next;
            check(fields.equals(wanted(isImage)), item + " " + fields + ", not " + wanted(isImage));
        }

        private Map<Integer, String> wanted(boolean isImage) {
            Map<Integer, String> wanted = new HashMap<>();
            long bid = ChainKit.bid(item, count);
            if (isImage) {
                wanted.put(1, "62");
                wanted.put(3, item);
            }
            wanted.put(ChainKit.BID, hinted(bid, RealHints.EXPONENT_2));
            wanted.put(ChainKit.ASK, hinted(bid + 4, RealHints.EXPONENT_2));
            wanted.put(ChainKit.ACVOL_1, hinted(ChainKit.volume(count), RealHints.EXPONENT0));
            return wanted;
        }

        private static String hinted(long value, int hint) {
            return value + " of hint " + hint;
        }

        private void read(DecodeIterator payload) {
            FieldList list = CodecFactory.createFieldList();
            FieldEntry entry = CodecFactory.createFieldEntry();
            fields.clear();
            Eta.check(list.decode(payload, null), "field list");
            for (; ; ) {
                int ret = entry.decode(payload);
                if (ret == CodecReturnCodes.END_OF_CONTAINER) return;
                Eta.check(ret, "field");
                String before = fields.put(entry.fieldId(), value(entry.fieldId(), payload));
                check(before == null, item + " has the field " + entry.fieldId() + " twice");
            }
        }

        private static String value(int field, DecodeIterator payload) {
            if (field == 1) {
                UInt number = CodecFactory.createUInt();
                Eta.check(number.decode(payload), "number");
                return String.valueOf(number.toLong());
            }
            if (field == 3) {
                Buffer text = CodecFactory.createBuffer();
                Eta.check(text.decode(payload), "text");
                return text.toString();
            }
            Real real = CodecFactory.createReal();
            Eta.check(real.decode(payload), "real");
            return hinted(real.toLong(), real.hint());
        }
    }

    private static void judge(Map<Integer, Stream> streams, Msg msg, DecodeIterator payload) {
        boolean isImage = msg.msgClass() == MsgClasses.REFRESH;
        if (msg.domainType() != MARKET_PRICE || !isImage && msg.msgClass() != MsgClasses.UPDATE)
            return;
        Stream stream = streams.get(msg.streamId());
        check(stream != null, "a message of stream " + msg.streamId());
        check(msg.containerType() == DataTypes.FIELD_LIST, stream.item + ": no field list");
        check(!isImage || stream.count < 0, stream.item + ": a second image");
        stream.take(isImage, payload);
    }

    /* Opens all items of both on one connection of ETA; the id of a service is what EMA was told. */
    private static Map<Integer, Stream> openRaw(ChainRaw.Raw raw, int asked, int sent) {
        int streaming = RequestMsgFlags.STREAMING;
        Map<Integer, Stream> streams = new HashMap<>();
        for (int i = 0; i < ITEMS; i++) {
            streams.put(OURS + i, new Stream(ours(i)));
            streams.put(THEIRS + i, new Stream(theirs(i)));
        }
        raw.judge = (msg, payload) -> judge(streams, msg, payload);
        for (int i = 0; i < ITEMS; i++) {
            raw.request(OURS + i, MARKET_PRICE, streaming, ours(i), null, asked);
            raw.request(THEIRS + i, MARKET_PRICE, streaming, theirs(i), null, sent);
        }
        for (int i = 0; i < ITEMS; i++) {
            int stream = i;
            raw.await("refresh", g -> g.isRefresh(OURS + stream));
            raw.await("refresh", g -> g.isRefresh(THEIRS + stream));
        }
        return streams;
    }

    private static void together() throws InterruptedException {
        for (int i = 0; i < ITEMS; i++) consumer.open(ours(i));
        for (int i = 0; i < ITEMS; i++) consumer.awaitRefresh(ours(i));
        int asked = consumer.serviceId();
        for (int i = 0; i < ITEMS; i++) consumer.open(theirs(i), request(theirs(i)));
        for (int i = 0; i < ITEMS; i++) consumer.awaitRefresh(theirs(i));
        int sent = consumer.serviceId();
        check(asked != sent, "two services have one id");
        try (ChainRaw.Raw raw = ChainRaw.Raw.loggedIn()) {
            Map<Integer, Stream> streams = openRaw(raw, asked, sent);
            Thread other = new Thread(ChainMixed::publish);
            other.start();
            for (int round = 0; round < ROUNDS; round++) interactive.publishAll();
            for (int n = 0; n < 2 * ITEMS * ROUNDS; n++) raw.await("update " + n, g -> g.isUpdate());
            other.join();
            check(raw.poll(g -> g.isUpdate()) == null, "an update too many");
            for (Stream stream : streams.values())
                check(stream.count == ROUNDS, stream.item + " ends at " + stream.count);
        }
        for (int i = 0; i < ITEMS; i++) {
            consumer.awaitCounter(ours(i), ROUNDS, ChainKit.SECONDS);
            consumer.awaitCounter(theirs(i), ROUNDS, ChainKit.SECONDS);
        }
    }
}
