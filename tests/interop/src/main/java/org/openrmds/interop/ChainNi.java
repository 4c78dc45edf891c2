/* ChainNi.java - an EMA non-interactive provider, seen by EMA consumers through the chain. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmProvider;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.ReqMsg;
import java.util.HashMap;
import java.util.Map;

public final class ChainNi {
    private ChainNi() {}

    private static final String SERVICE = "NI_PUB"; /* of the library's default configuration */
    private static final Map<String, Long> COUNTS = new HashMap<>();
    private static final Map<String, Long> HANDLES = new HashMap<>();
    private static final int CLOSED = OmmState.StreamState.CLOSED;
    private static final int SUSPECT = OmmState.DataState.SUSPECT;
    private static OmmProvider provider;
    private static ChainKit.Consumer consumer;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        start();
        for (int i = 0; i < 100; i++) refresh("NI" + i);
        consumer = new ChainKit.Consumer();
        report.test("published items are served", ChainNi::served);
        report.test("an item asked before it is published waits", ChainNi::early);
        report.test("updates follow without a gap", ChainNi::updates);
        report.test("a late consumer gets the present image", ChainNi::late);
        report.test("an item closed by the provider is closed", ChainNi::closed);
        report.test("posts are refused", ChainNi::posts);
        report.test("an item nobody publishes is not found", ChainNi::unknown);
        report.test("the provider goes and comes back", ChainNi::restart);
        consumer.close();
        provider.uninitialize();
        report.end();
    }

    private static void start() {
        HANDLES.clear();
        provider =
                EmaFactory.createOmmProvider(
                        EmaFactory.createOmmNiProviderConfig()
                                .host("localhost:" + ChainKit.port("NIPROV"))
                                .username("publisher"));
    }

    private static long handle(String name) {
        return HANDLES.computeIfAbsent(name, n -> HANDLES.size() + 1L);
    }

    private static void refresh(String name) {
        long count = COUNTS.computeIfAbsent(name, n -> 0L);
        provider.submit(
                EmaFactory.createRefreshMsg()
                        .serviceName(SERVICE)
                        .name(name)
                        .complete(true)
                        .state(OmmState.StreamState.OPEN, OmmState.DataState.OK)
                        .payload(ChainKit.fields(name, count, true)),
                handle(name));
    }

    private static void update(String name) {
        long count = COUNTS.merge(name, 1L, Long::sum);
        provider.submit(
                EmaFactory.createUpdateMsg()
                        .serviceName(SERVICE)
                        .name(name)
                        .payload(ChainKit.fields(name, count, false)),
                handle(name));
    }

    private static ReqMsg request(String name) {
        return EmaFactory.createReqMsg().serviceName(SERVICE).name(name);
    }

    private static void served() {
        for (int i = 0; i < 100; i++) consumer.open("NI" + i, request("NI" + i));
        for (int i = 0; i < 100; i++) {
            ChainKit.Seen seen = consumer.awaitRefresh("NI" + i);
            check(seen.isSolicited && seen.isOpenOk() && seen.isComplete, "" + seen);
        }
    }

    private static void early() {
        consumer.open("EARLY", request("EARLY"));
        consumer.awaitSuspect("EARLY");
        refresh("EARLY");
        check(consumer.awaitRefresh("EARLY").isOpenOk(), "EARLY is not open");
        update("EARLY");
        consumer.awaitCounter("EARLY", 1, ChainKit.SECONDS);
    }

    private static void updates() {
        for (int round = 0; round < 50; round++) for (int i = 0; i < 100; i++) update("NI" + i);
        for (int i = 0; i < 100; i++) consumer.awaitCounter("NI" + i, 50, ChainKit.SECONDS);
    }

    private static void late() {
        ChainKit.Consumer other = new ChainKit.Consumer("other");
        other.open("NI7", request("NI7"));
        ChainKit.Seen seen = other.awaitRefresh("NI7");
        check(seen.count() == 50 && seen.isSolicited, "" + seen);
        other.open("NI8", request("NI8").interestAfterRefresh(false));
        seen = other.awaitRefresh("NI8");
        check(seen.count() == 50 && seen.stream == OmmState.StreamState.NON_STREAMING, "" + seen);
        update("NI7");
        other.awaitCounter("NI7", 51, ChainKit.SECONDS);
        other.close();
    }

    private static void closed() {
        provider.submit(
                EmaFactory.createStatusMsg()
                        .serviceName(SERVICE)
                        .name("EARLY")
                        .state(CLOSED, SUSPECT, OmmState.StatusCode.NOT_FOUND, "no more"),
                handle("EARLY"));
        ChainKit.Seen seen =
                consumer.awaitStatus("EARLY", CLOSED, SUSPECT, OmmState.StatusCode.NOT_FOUND);
        check("no more".equals(seen.stateText), "" + seen);
    }

    private static void posts() {
        long item = consumer.open("NI3", request("NI3"));
        consumer.awaitRefresh("NI3");
        consumer.ema()
                .submit(
                        EmaFactory.createPostMsg()
                                .postId(1)
                                .serviceName(SERVICE)
                                .name("NI3")
                                .domainType(6)
                                .solicitAck(true)
                                .complete(true)
                                .payload(ChainKit.fields("NI3", 1, false)),
                        item);
        ChainKit.Seen ack = consumer.await("nack", s -> s.is("ack", "NI3"));
        check(ack.nack == 2, "not DENIED_BY_SRC: " + ack.text); /* DENIED_BY_SRC */
    }

    private static void unknown() {
        consumer.open("NOBODY", request("NOBODY"));
        consumer.await(
                "not found",
                30,
                s ->
                        s.is("status", "NOBODY")
                                && s.isState(CLOSED, SUSPECT, OmmState.StatusCode.NOT_FOUND));
    }

    private static void restart() {
        consumer.forget();
        provider.uninitialize();
        consumer.awaitSuspect("NI5");
        start();
        for (int i = 0; i < 100; i++) refresh("NI" + i);
        check(
                consumer.await("NI5 back", ChainKit.SECONDS, s -> s.is("refresh", "NI5") && s.isOpenOk()).count()
                        == 50,
                "NI5 has an old image");
        update("NI5");
        consumer.awaitCounter("NI5", 51, ChainKit.SECONDS);
    }
}
