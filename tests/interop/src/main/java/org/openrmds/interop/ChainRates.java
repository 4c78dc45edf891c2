/* ChainRates.java - EMA consumers that choose rates by their QoS; p2ps offers jit, 100 ms and 1 s. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmQos;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.rdm.EmaRdm;

public final class ChainRates {
    private ChainRates() {}

    private static final int REALTIME = OmmQos.Timeliness.REALTIME;
    private static final int TICK = OmmQos.Rate.TICK_BY_TICK;
    private static final int JIT = OmmQos.Rate.JUST_IN_TIME_CONFLATED;
    private static final int UPDATES = 200;

    private static ChainProvider provider;
    private static ChainKit.Consumer consumer;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        consumer = new ChainKit.Consumer();
        consumer.judgeSteps(false);
        report.test("the directory lists the rates", ChainRates::directory);
        report.test("without a QoS each update comes", ChainRates::each);
        report.test("an exact rate is given, and updates are merged", ChainRates::exact);
        report.test("of a range the best is given", ChainRates::range);
        report.test("what comes in one turn is merged just in time", ChainRates::jit);
        report.test("a rate that is not listed is not given", ChainRates::unlisted);
        report.test("another rate is another request", ChainRates::reissue);
        report.test("all rates of an item are one stream of the provider", ChainRates::shared);
        if (report.hasFailed()) System.out.println("the provider saw " + provider.tail());
        consumer.close();
        provider.close();
        report.end();
    }

    private static ReqMsg request(String name) {
        return EmaFactory.createReqMsg().serviceName(SERVICE).name(name);
    }

    private static ReqMsg request(String name, int rate) {
        return request(name).qos(REALTIME, rate);
    }

    private static void checkQos(ChainKit.Seen image, int rate) {
        check(image.qos.equals(REALTIME + "/" + rate), "QoS " + image.qos + " in " + image.text);
    }

    private static int updatesOf(String tag) {
        return consumer.size(s -> s.is("update", tag));
    }

    private static void directory() {
        consumer.open(
                "directory",
                EmaFactory.createReqMsg().domainType(EmaRdm.MMT_DIRECTORY).serviceName(SERVICE));
        String text = consumer.awaitRefresh("directory").text;
        for (String wanted :
                new String[] {
                    "RealTime/TickByTick", "RealTime/JustInTimeConflated", "RealTime/Rate: 100"
                }) check(text.contains(wanted), wanted + " is not in " + text);
    }

    private static void each() {
        consumer.open("EACH", request("EACH"));
        checkQos(consumer.awaitRefresh("EACH"), TICK);
        provider.publish("EACH", UPDATES);
        consumer.awaitCounter("EACH", UPDATES, ChainKit.SECONDS);
        check(updatesOf("EACH") == UPDATES, updatesOf("EACH") + " updates");
    }

    private static void exact() {
        consumer.open("EXACT", request("EXACT", 1000));
        checkQos(consumer.awaitRefresh("EXACT"), 1000);
        provider.publish("EXACT", UPDATES);
        consumer.awaitCounter("EXACT", UPDATES, ChainKit.SECONDS);
        check(updatesOf("EXACT") < UPDATES, "nothing was merged");
    }

    /* The best of those with a time, as the library understands it; it looks at the directory. */
    private static void range() {
        consumer.open("RANGE", request("RANGE", ReqMsg.Rate.BEST_CONFLATED_RATE));
        checkQos(consumer.awaitRefresh("RANGE"), 100);
        consumer.open("BEST", request("BEST", ReqMsg.Rate.BEST_RATE));
        checkQos(consumer.awaitRefresh("BEST"), TICK);
    }

    private static void jit() {
        consumer.open("JIT", request("JIT", ReqMsg.Rate.JIT_CONFLATED));
        checkQos(consumer.awaitRefresh("JIT"), JIT);
        provider.publish("JIT", UPDATES);
        consumer.awaitCounter("JIT", UPDATES, ChainKit.SECONDS);
    }

    /* The library looks at the directory and keeps such a request to itself. */
    private static void unlisted() {
        consumer.open("UNLISTED", request("UNLISTED", 250));
        ChainKit.Seen seen = consumer.await("status", s -> s.is("status", "UNLISTED"));
        check(!seen.isOpenOk(), "" + seen);
        check(provider.count(l -> l.equals("req UNLISTED")) == 0, "the provider was asked");
    }

    /* The library asks again with the rate that the stream has, whatever the application says. */
    private static void reissue() {
        long handle = consumer.open("AGAIN", request("AGAIN", 1000));
        checkQos(consumer.awaitRefresh("AGAIN"), 1000);
        provider.publish("AGAIN", 10);
        consumer.ema().reissue(request("AGAIN", 100), handle);
        ChainKit.Seen image = consumer.awaitRefresh("AGAIN");
        checkQos(image, 1000);
        check(image.isSolicited && image.isOpenOk(), "" + image);
        consumer.ema().unregister(handle);
        consumer.open("AGAIN", request("AGAIN", 100));
        checkQos(consumer.awaitRefresh("AGAIN"), 100);
        provider.publish("AGAIN", 10);
        consumer.awaitCounter("AGAIN", 20, ChainKit.SECONDS);
    }

    private static void shared() {
        consumer.judgeContent(false); /* tags are not the names of items */
        consumer.open("SHARE", request("SHARE"));
        consumer.open("SHARE.FAST", request("SHARE", 100));
        consumer.open("SHARE.SLOW", request("SHARE", 1000));
        for (String tag : new String[] {"SHARE", "SHARE.FAST", "SHARE.SLOW"})
            consumer.awaitRefresh(tag);
        provider.publish("SHARE", UPDATES);
        for (String tag : new String[] {"SHARE", "SHARE.FAST", "SHARE.SLOW"})
            consumer.awaitCounter(tag, UPDATES, ChainKit.SECONDS);
        check(updatesOf("SHARE") == UPDATES, updatesOf("SHARE") + " updates");
        check(updatesOf("SHARE.SLOW") < UPDATES, "nothing was merged");
        check(provider.count(l -> l.equals("req SHARE")) == 1, "the provider was asked twice");
    }
}
