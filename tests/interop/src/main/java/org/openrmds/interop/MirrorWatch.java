/* MirrorWatch.java - an EMA consumer that counts what it loses, has twice, and is told. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.DataType;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.FieldList;
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
 * MirrorWatch HOST:PORT SERVICE FILE_OF_ITEMS: items of sequence data. To each line of standard
 * input it answers with what it has seen since the last one, as JSON; it ends with the input.
 */
public final class MirrorWatch implements OmmConsumerClient {
    private static final int ACVOL_1 = 32;
    private static final int COUNTS = 1 << 22;

    private static final class Item {
        long count = -1; /* of the last message; -1: none yet */
        long number = -1; /* its sequence number; -1: it has none */
        boolean isOpen;
        boolean isSuspect;
        boolean isMerged; /* told, since this program is slow */
        boolean hasMoved; /* an update came since the last report */
    }

    private final Item[] items;
    private long updates;
    private long lost;
    private long duplicates;
    private long reorders;
    private long numbers; /* sequence numbers that do not go on by one, where the counter does */
    private long suspects;
    private long images;
    private long closed;
    private long merged; /* updates that others of slow items stand for */

    private MirrorWatch(int count) {
        items = new Item[count];
        for (int i = 0; i < count; i++) items[i] = new Item();
    }

    public static void main(String[] arguments) throws IOException {
        List<String> names = Files.readAllLines(Path.of(arguments[2]));
        MirrorWatch watch = new MirrorWatch(names.size());
        OmmConsumer consumer =
                EmaFactory.createOmmConsumer(
                        EmaFactory.createOmmConsumerConfig().host(arguments[0]).username("ema"));
        for (int i = 0; i < names.size(); i++)
            consumer.registerClient(
                    EmaFactory.createReqMsg().serviceName(arguments[1]).name(names.get(i)),
                    watch,
                    watch.items[i]);
        BufferedReader orders =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (orders.readLine() != null) System.out.println(watch.report());
        consumer.uninitialize();
    }

    private synchronized String report() {
        int open = 0;
        int still = 0;
        for (Item item : items) {
            if (item.isOpen && !item.isSuspect) open++;
            if (!item.hasMoved) still++;
            item.hasMoved = false;
        }
        String said =
                String.format(
                        "{\"open\": %d, \"still\": %d, \"updates\": %d, \"lost\": %d, \"duplicates\": %d, "
                                + "\"reorders\": %d, \"numbers\": %d, \"suspects\": %d, \"images\": %d, "
                                + "\"closed\": %d, \"merged\": %d}",
                        open, still, updates, lost, duplicates, reorders, numbers, suspects, images, closed,
                        merged);
        updates = lost = duplicates = reorders = numbers = suspects = images = closed = merged = 0;
        return said;
    }

    private static long counterOf(Payload payload) {
        if (payload.dataType() != DataType.DataTypes.FIELD_LIST) return -1;
        FieldList list = payload.fieldList();
        for (FieldEntry entry : list)
            if (entry.fieldId() == ACVOL_1) return entry.real().mantissa() - COUNTS;
        return -1;
    }

    @Override
    public synchronized void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {
        Item item = (Item) event.closure();
        long count = counterOf(msg.payload());
        long step = (count - item.count) & (COUNTS - 1);

        updates++;
        if (item.count < 0) reorders++; /* before its image */
        else if (step == 0) duplicates++;
        else if (step >= COUNTS / 2) reorders++;
        else if (item.isMerged) merged += step - 1;
        else lost += step - 1;
        long number = msg.hasSeqNum() ? msg.seqNum() : -1;
        if (step == 1 && number >= 0 && item.number >= 0 && number != item.number + 1) numbers++;
        item.number = number;
        item.count = count;
        item.hasMoved = true;
    }

    private void state(Item item, OmmState state) {
        boolean isSuspect = state.dataState() == OmmState.DataState.SUSPECT;

        if (state.statusCode() == OmmState.StatusCode.JUST_IN_TIME_CONFLATION_STARTED)
            item.isMerged = true;
        if (state.statusCode() == OmmState.StatusCode.TICK_BY_TICK_RESUMED) item.isMerged = false;
        item.isOpen = state.streamState() == OmmState.StreamState.OPEN;
        if (!item.isOpen) closed++;
        if (isSuspect && item.count >= 0) suspects++;
        if (state.dataState() != OmmState.DataState.NO_CHANGE) item.isSuspect = isSuspect;
    }

    @Override
    public synchronized void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
        Item item = (Item) event.closure();

        images++;
        item.count = counterOf(msg.payload());
        item.number = msg.hasSeqNum() ? msg.seqNum() : -1;
        state(item, msg.state());
    }

    @Override
    public synchronized void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {
        if (msg.hasState()) state((Item) event.closure(), msg.state());
    }

    @Override
    public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

    @Override
    public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
}
