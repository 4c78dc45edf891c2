/* ChainMixed.java - two kinds of provider and two kinds of consumer on one chain at the same time. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmProvider;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.eta.codec.RequestMsgFlags;

/*
 * An interactive and a non-interactive EMA provider publish at once; an EMA consumer and one of
 * ETA without a watch list have items of both. Each gets every update of every item.
 */
public final class ChainMixed {
    private ChainMixed() {}

    private static final String NI_SERVICE = "NI_PUB"; /* of the library's default configuration */
    private static final int ITEMS = 50;
    private static final int ROUNDS = 200;
    private static final int MARKET_PRICE = 6;
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

    /* Opens all items of both on one connection of ETA; the id of a service is what EMA was told. */
    private static void openRaw(ChainRaw.Raw raw, int asked, int sent) {
        int streaming = RequestMsgFlags.STREAMING;
        for (int i = 0; i < ITEMS; i++) {
            raw.request(10 + i, MARKET_PRICE, streaming, ours(i), null, asked);
            raw.request(1000 + i, MARKET_PRICE, streaming, theirs(i), null, sent);
        }
        for (int i = 0; i < ITEMS; i++) {
            int stream = i;
            raw.await("refresh", g -> g.isRefresh(10 + stream));
            raw.await("refresh", g -> g.isRefresh(1000 + stream));
        }
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
            openRaw(raw, asked, sent);
            Thread other = new Thread(ChainMixed::publish);
            other.start();
            for (int round = 0; round < ROUNDS; round++) interactive.publishAll();
            for (int n = 0; n < 2 * ITEMS * ROUNDS; n++) raw.await("update " + n, g -> g.isUpdate());
            other.join();
            check(raw.poll(g -> g.isUpdate()) == null, "an update too many");
        }
        for (int i = 0; i < ITEMS; i++) {
            consumer.awaitCounter(ours(i), ROUNDS, 30);
            consumer.awaitCounter(theirs(i), ROUNDS, 30);
        }
    }
}
