/* ChainRecovery.java - what an EMA consumer sees when parts of the chain go and come back. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.OmmState;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public final class ChainRecovery {
    private ChainRecovery() {}

    private static final Map<String, Long> COUNTERS = new ConcurrentHashMap<>();
    private static ChainProvider provider;
    private static ChainKit.Consumer consumer;

    private static final int MANY = 500;
    private static final int OPEN = OmmState.StreamState.OPEN;
    private static final int SUSPECT = OmmState.DataState.SUSPECT;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        provider = new ChainProvider(COUNTERS);
        provider.await("login", l -> l.startsWith("login"));
        consumer = new ChainKit.Consumer();
        for (int i = 0; i < MANY; i++) consumer.open("IT" + i);
        consumer.awaitCount("refreshes", MANY, ChainKit.SECONDS, s -> s.kind.equals("refresh"));
        report.test("service down with a status, and up", () -> service(true));
        report.test("service down without a word, and up", () -> service(false));
        report.test("a request while the service is down waits for it", ChainRecovery::waits);
        report.test("the provider restarts", ChainRecovery::providerRestarts);
        report.test("p2ps restarts", () -> restarts("stop", "p2ps", true));
        report.test("p2ps is killed", () -> restarts("kill", "p2ps", true));
        report.test("src_dist restarts", () -> restarts("stop", "src_dist", false));
        report.test("src_dist is killed", () -> restarts("kill", "src_dist", false));
        if (System.getenv("CHAIN_IN_PROCESS") == null) {
            report.test("the rrcpd of p2ps restarts", () -> restarts("stop", "rrcpd2", false));
            report.test("the rrcpd of src_dist is killed", () -> restarts("kill", "rrcpd1", false));
        }
        if (report.hasFailed()) System.out.println("the provider saw " + provider.tail());
        consumer.close();
        provider.close();
        report.end();
    }

    private static void awaitAllSuspect() {
        consumer.awaitCount(
                "suspect states",
                MANY,
                ChainKit.SECONDS,
                s -> s.tag.startsWith("IT") && s.kind.equals("status") && s.isSuspect());
    }

    private static void awaitAllBack() {
        consumer.awaitCount(
                "items back",
                MANY,
                ChainKit.SECONDS,
                s -> s.tag.startsWith("IT") && s.kind.equals("refresh") && s.isOpenOk());
        /* And data flow as before. */
        provider.publishAll();
        for (int i = 0; i < MANY; i++)
            consumer.awaitCounter("IT" + i, COUNTERS.get("IT" + i), ChainKit.SECONDS);
    }

    private static void service(boolean withStatus) {
        provider.publishAll();
        for (int i = 0; i < MANY; i++) consumer.awaitCounter("IT" + i, COUNTERS.get("IT" + i), ChainKit.SECONDS);
        consumer.forget();
        provider.serviceState(
                false,
                withStatus ? new ChainProvider.OmmStateText(OPEN, SUSPECT, "feed down") : null);
        awaitAllSuspect();
        consumer.forget();
        provider.serviceState(true, null);
        awaitAllBack();
    }

    private static void waits() {
        consumer.forget();
        provider.serviceState(false, null);
        awaitAllSuspect();
        consumer.open("LATE");
        consumer.awaitSuspect("LATE");
        consumer.forget();
        provider.serviceState(true, null);
        check(consumer.awaitRefresh("LATE").isOpenOk(), "LATE is not open");
        awaitAllBack();
    }

    private static void providerRestarts() {
        consumer.forget();
        provider.close();
        awaitAllSuspect();
        consumer.forget();
        provider = new ChainProvider(COUNTERS);
        awaitAllBack();
    }

    private static void restarts(String how, String program, boolean isOurs) {
        consumer.forget();
        ChainKit.chain(how, program);
        if (isOurs) awaitAllSuspect(); /* the connection is gone: the library says so */
        ChainKit.chain("start", program);
        awaitAllSuspect();
        awaitAllBack();
    }
}
