/* ChainTools.java - our two tools, each with EMA at the other end, and the time in TIM_TRK_1. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

public final class ChainTools {
    private ChainTools() {}

    private static final int ITEMS = 10;
    private static final int UPDATES = 200;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        report.test("an EMA consumer reads the time of sink_driven_src", ChainTools::publisher);
        report.test("rmdstestclient measures an EMA provider by its time", ChainTools::checker);
        report.end();
    }

    private static Peer testClient(String... arguments) throws Exception {
        String[] all = new String[arguments.length + 6];
        System.arraycopy(
                new String[] {"-S", SERVICE, "-h", "127.0.0.1", "-p", ChainKit.port("P2PS")},
                0, all, 0, 6);
        System.arraycopy(arguments, 0, all, 6, arguments.length);
        return new Peer(ChainKit.program("rmdstestclient"), all);
    }

    /* Until its item can be had: an EMA consumer asks for the dictionary when it starts. */
    private static void awaitService() throws Exception {
        try (Peer first = testClient("-il", "FIRST", "-e", "-timeout", "" + ChainKit.SECONDS)) {
            int code = first.exitCode(2 * ChainKit.SECONDS);
            check(code == 0, "no item of sink_driven_src: rmdstestclient ended with " + code);
        }
    }

    private static void publisher() throws Exception {
        long start = ChainKit.nowUs();
        try (Peer sds =
                new Peer(
                        ChainKit.program("sink_driven_src"),
                        "-S", SERVICE, "-N", ChainKit.port("PROVIDER"), "-dict", ".",
                        "-seqdata", "-tsa", "-U", "1000")) {
            awaitService();
            ChainKit.Consumer consumer = new ChainKit.Consumer();
            consumer.judgeContent(false);
            for (int i = 0; i < ITEMS; i++) consumer.open("IT" + i);
            for (int i = 0; i < ITEMS; i++) consumer.awaitRefresh("IT" + i);
            for (int i = 0; i < UPDATES; i++)
                checkTime(consumer.await("update", s -> s.kind.equals("update")), start);
            consumer.close();
            check(sds.isAlive(), "sink_driven_src has ended");
            sds.kill();
        }
    }

    /* It was made after `start`, and before it was seen. */
    private static void checkTime(ChainKit.Seen seen, long start) {
        String time = seen.fields.get(ChainKit.TIM_TRK_1);
        check(time != null, "no time in " + seen.text);
        check(seen.text.contains("TIM_TRK_1"), "the dictionary does not name it: " + seen.text);
        long us = Long.parseLong(time);
        check(us >= start && us <= ChainKit.nowUs(), "made at " + us + ", this began at " + start);
    }

    private static void checker() throws Exception {
        ChainProvider provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        try (Peer client = testClient("-il", "TIM.A", "-tt", "-secs", "1")) {
            provider.await("request", l -> l.equals("req TIM.A"));
            while (client.isAlive() && provider.item("TIM.A") != null) {
                provider.publishAll();
                Eta.rest();
            }
            int code = client.exitCode(ChainKit.SECONDS);
            check(code == 0, "rmdstestclient ended with " + code);
            String said = client.await("rmdstestclient: latency (all): ", ChainKit.SECONDS);
            check(said.matches(".*: [1-9][0-9]*, mean .*, negative 0"), said);
        }
        provider.close();
    }
}
