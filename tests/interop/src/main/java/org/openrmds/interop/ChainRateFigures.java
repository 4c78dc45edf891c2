/* ChainRateFigures.java - updates a second of EMA consumers at four rates on the same items. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumer;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmQos;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/* ChainRateFigures ITEMS RATE SECONDS: RATE updates a second are published, shared out among ITEMS. */
public final class ChainRateFigures implements OmmConsumerClient {
    private static final int[] RATES = {
        OmmQos.Rate.TICK_BY_TICK, 100, 1000, OmmQos.Rate.JUST_IN_TIME_CONFLATED
    };
    private static final String[] NAMES = {"tick", "100 ms", "1 s", "jit"};
    private static final double TOLERANCE = 0.1;

    private final AtomicLongArray updates = new AtomicLongArray(RATES.length);
    private final AtomicIntegerArray images = new AtomicIntegerArray(RATES.length);
    private volatile String trouble;

    @Override
    public void onRefreshMsg(RefreshMsg message, OmmConsumerEvent event) {
        images.incrementAndGet((Integer) event.closure());
    }

    @Override
    public void onUpdateMsg(UpdateMsg message, OmmConsumerEvent event) {
        updates.incrementAndGet((Integer) event.closure());
    }

    @Override
    public void onStatusMsg(StatusMsg message, OmmConsumerEvent event) {
        trouble = message.hasState() ? message.state().toString() : message.toString();
    }

    @Override
    public void onGenericMsg(GenericMsg message, OmmConsumerEvent event) {}

    @Override
    public void onAckMsg(AckMsg message, OmmConsumerEvent event) {}

    @Override
    public void onAllMsg(Msg message, OmmConsumerEvent event) {}

    public static void main(String[] arguments) throws Exception {
        int items = Integer.parseInt(arguments[0]);
        int rate = Integer.parseInt(arguments[1]);
        int seconds = Integer.parseInt(arguments[2]);
        ChainKit.Report report = new ChainKit.Report();
        report.test(
                "each rate of EMA's gives the updates that it should",
                () -> new ChainRateFigures().measure(items, rate, seconds));
        report.end();
    }

    private void measure(int items, int rate, int seconds) throws Exception {
        String[] words = {
            "-S", SERVICE, "-N", ChainKit.port("PROVIDER"), "-dict", ".", "-seqdata", "-U", "" + rate
        };
        try (Peer publisher = new Peer(ChainKit.program("sink_driven_src"), words)) {
            awaitService();
            OmmConsumer consumer =
                    EmaFactory.createOmmConsumer(
                            EmaFactory.createOmmConsumerConfig()
                                    .username("rates")
                                    .host("localhost:" + ChainKit.port("P2PS")));
            open(consumer, items);
            long start = System.nanoTime();
            long[] before = counts();
            while (System.nanoTime() - start < seconds * 1000000000L) Eta.rest();
            long[] after = counts();
            double took = (System.nanoTime() - start) / 1e9;
            check(trouble == null, "a status came: " + trouble);
            consumer.uninitialize();
            publisher.kill();
            judge(before, after, took, items, rate);
        }
    }

    private static void awaitService() throws Exception {
        String[] words = {
            "-S", SERVICE, "-h", "127.0.0.1", "-p", ChainKit.port("P2PS"), "-il", "FIRST", "-e",
            "-timeout", "" + ChainKit.SECONDS
        };
        try (Peer first = new Peer(ChainKit.program("rmdstestclient"), words)) {
            check(first.exitCode(2 * ChainKit.SECONDS) == 0, "no item of sink_driven_src");
        }
    }

    private void open(OmmConsumer consumer, int items) {
        for (int rate = 0; rate < RATES.length; rate++) {
            for (int i = 0; i < items; i++)
                consumer.registerClient(
                        EmaFactory.createReqMsg()
                                .serviceName(SERVICE)
                                .name("RIC" + i)
                                .qos(OmmQos.Timeliness.REALTIME, RATES[rate]),
                        this,
                        rate);
        }
        for (int rate = 0; rate < RATES.length; rate++) {
            while (images.get(rate) < items) {
                check(trouble == null, trouble);
                Eta.rest();
            }
        }
    }

    private long[] counts() {
        long[] found = new long[RATES.length];
        for (int i = 0; i < found.length; i++) found[i] = updates.get(i);
        return found;
    }

    /* An item without an update in an interval has none to give: 1 s and 100 ms are slower. */
    private void judge(long[] before, long[] after, double took, int items, int rate) {
        double[] wanted = {rate, 10.0 * items, items, rate};
        StringBuilder wrong = new StringBuilder();
        for (int i = 0; i < RATES.length; i++) {
            double found = (after[i] - before[i]) / took;
            System.out.printf(
                    "%-7s %,9.0f updates/s, %,.0f expected: %.3f%n",
                    NAMES[i], found, wanted[i], found / wanted[i]);
            if (Math.abs(found / wanted[i] - 1) > TOLERANCE) wrong.append(NAMES[i]).append(" ");
        }
        check(wrong.length() == 0, "not within a tenth: " + wrong);
    }
}
