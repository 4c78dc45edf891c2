/* ChaosWatch.java - an EMA consumer of the chaos harness, in the words of chaos_watch. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.DataType;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumer;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.Payload;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/*
 * ChaosWatch HOST:PORT,HOST:PORT SERVICE FILE_OF_ITEMS CONFIGURATION: items of sequence data from
 * one of the hosts, from the next one when that is lost; the library connects, logs in and asks
 * again. CONFIGURATION is the library's file, which is written here. `dump` and `quit` on standard
 * input; on standard output what chaos_watch says there (tests/system/chaos/world.py reads it).
 */
public final class ChaosWatch implements OmmConsumerClient {
    private static final int ACVOL_1 = 32;
    private static final int COUNTS = 1 << 22;
    private static final int TICK_MS = 50;

    private static final class Item {
        final String name;
        long count = -1; /* of the last message; -1: none yet */
        long dataNs; /* when it came */
        boolean isOpen;
        boolean isSuspect; /* told so, and no image or good state since */
        boolean mayJump; /* told suspect, or merged: the next image may stand anywhere */
        boolean isMerged; /* told so: an update may stand for several */

        Item(String name) {
            this.name = name;
        }
    }

    private final Item[] items;
    private long updates;
    private long images;
    private long resyncs;
    private long toldMissing;
    private long suspects;
    private long violations;
    private boolean isOver; /* the library says of each item that it is closed */

    private ChaosWatch(List<String> names) {
        items = names.stream().map(Item::new).toArray(Item[]::new);
    }

    private static String value(String name, Object what) {
        return "<" + name + " value=\"" + what + "\"/>";
    }

    /* A consumer of a list of channels; it tries the next one soon, and for ever. */
    private static String configuration(String[] hosts) {
        StringBuilder names = new StringBuilder();
        StringBuilder channels = new StringBuilder();
        for (String host : hosts) {
            String[] parts = host.split(":");
            names.append(names.length() > 0 ? "," : "").append(host);
            channels.append("<Channel>")
                    .append(value("Name", host))
                    .append(value("ChannelType", "ChannelType::RSSL_SOCKET"))
                    .append(value("Host", parts[0]))
                    .append(value("Port", parts[1]))
                    .append("</Channel>");
        }
        return "<?xml version=\"1.0\"?><EmaConfig><ConsumerGroup><ConsumerList><Consumer>"
                + value("Name", "Chaos")
                + value("ChannelSet", names)
                + value("ReconnectAttemptLimit", -1)
                + value("ReconnectMinDelay", 100)
                + value("ReconnectMaxDelay", 500)
                + "</Consumer></ConsumerList></ConsumerGroup><ChannelGroup><ChannelList>"
                + channels
                + "</ChannelList></ChannelGroup></EmaConfig>";
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        ChaosWatch watch = new ChaosWatch(Files.readAllLines(Path.of(arguments[2])));
        Path file = Files.writeString(Path.of(arguments[3]), configuration(arguments[0].split(",")));
        OmmConsumer consumer =
                EmaFactory.createOmmConsumer(
                        EmaFactory.createOmmConsumerConfig(file.toString())
                                .username("ema")
                                .consumerName("Chaos"));
        for (Item item : watch.items)
            consumer.registerClient(
                    EmaFactory.createReqMsg().serviceName(arguments[1]).name(item.name), watch, item);
        Thread ticker = new Thread(watch::tick);
        ticker.setDaemon(true);
        ticker.start();
        BufferedReader orders =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); "dump".equals(order); order = orders.readLine())
            watch.dump();
        watch.stop();
        consumer.uninitialize();
        watch.end();
    }

    private void tick() {
        try {
            while (true) {
                Thread.sleep(TICK_MS);
                report();
            }
        } catch (InterruptedException over) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void report() {
        int open = 0;
        int suspect = 0;
        long now = System.nanoTime();
        long oldest = now;
        for (Item item : items) {
            if (item.isOpen) open++;
            if (item.isSuspect) suspect++;
            oldest = Math.min(oldest, item.dataNs);
        }
        say("T %d %d %d %d %d %d %d", now, items.length, open, suspect, oldest, updates, violations);
    }

    private synchronized void dump() {
        for (Item item : items)
            say(
                    "D %s %d %s",
                    item.name, item.count, !item.isOpen ? "closed" : item.isSuspect ? "suspect" : "ok");
        say("D.");
    }

    private synchronized void stop() {
        isOver = true;
    }

    private synchronized void end() {
        say("E %d %d %d %d %d %d", updates, images, resyncs, toldMissing, suspects, violations);
    }

    private static void say(String format, Object... values) {
        System.out.println(String.format(format, values));
    }

    private void violation(Item item, String format, Object... values) {
        violations++;
        say("V %d %s %s", System.nanoTime(), item.name, String.format(format, values));
    }

    private static long counterOf(Payload payload) {
        if (payload.dataType() != DataType.DataTypes.FIELD_LIST) return -1;
        for (FieldEntry entry : payload.fieldList())
            if (entry.fieldId() == ACVOL_1) return entry.real().mantissa() - COUNTS;
        return -1;
    }

    @Override
    public synchronized void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
        Item item = (Item) event.closure();
        long count = counterOf(msg.payload());
        long last = item.count;
        long step = (count - last) & (COUNTS - 1);

        updates++;
        item.dataNs = System.nanoTime();
        item.count = count;
        if (count < 0) violation(item, "update without a counter");
        else if (last < 0) violation(item, "update %d before its image", count);
        else if (step == 0) violation(item, "update %d twice", count);
        else if (step >= COUNTS / 2) violation(item, "update %d after %d", count, last);
        else if (step > 1 && !item.isMerged)
            violation(
                    item,
                    "update %d after %d, %d missing%s",
                    count,
                    last,
                    step - 1,
                    item.isSuspect ? ", suspect but without an image" : "");
        else if (step > 1) {
            resyncs++;
            toldMissing += step - 1;
        }
    }

    @Override
    public synchronized void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
        Item item = (Item) event.closure();
        long count = counterOf(msg.payload());
        long step = (count - item.count) & (COUNTS - 1);

        images++;
        item.dataNs = System.nanoTime();
        if (count < 0) violation(item, "image without a counter");
        if (item.count >= 0 && step != 0) {
            boolean isAhead = step < COUNTS / 2;
            if (!item.mayJump)
                violation(item, "image %d after %d, and nothing was told", count, item.count);
            else if (!item.isSuspect && !isAhead)
                violation(item, "image %d goes back behind %d, told as merged", count, item.count);
            resyncs++;
            if (isAhead) toldMissing += step;
        }
        item.count = count;
        item.isOpen = msg.state().streamState() == OmmState.StreamState.OPEN;
        item.isSuspect = msg.state().dataState() == OmmState.DataState.SUSPECT;
        item.mayJump = item.isSuspect;
    }

    @Override
    public synchronized void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
        if (isOver || !msg.hasState()) return;
        Item item = (Item) event.closure();
        OmmState state = msg.state();

        if (state.statusCode() == OmmState.StatusCode.JUST_IN_TIME_CONFLATION_STARTED)
            item.mayJump = item.isMerged = true;
        if (state.statusCode() == OmmState.StatusCode.TICK_BY_TICK_RESUMED) item.isMerged = false;
        if (state.streamState() != OmmState.StreamState.OPEN) {
            item.isOpen = false;
            violation(item, "closed, though the library asks again: %s", state);
        }
        if (state.dataState() == OmmState.DataState.SUSPECT) {
            suspects++;
            item.isSuspect = item.mayJump = true;
        } else if (state.dataState() == OmmState.DataState.OK && item.isSuspect) {
            /* Good again without an image: then nothing may be missing. */
            item.isSuspect = item.mayJump = false;
        }
    }

    @Override
    public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
}
