/* BenchContent.java - what the programs of `rmds bench peers` send each other, made and read by the ETA codec. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.Date;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.Map;
import com.refinitiv.eta.codec.MapEntry;
import com.refinitiv.eta.codec.MapEntryActions;
import com.refinitiv.eta.codec.Real;
import com.refinitiv.eta.codec.Time;
import com.refinitiv.eta.codec.UInt;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/*
 * Market price: the twelve fields of the stock update of the published tests; an image has 48 prices more.
 * Market by order: a map; an update changes one order of it, an image adds twenty. ACVOL_1 has the place of an update
 * in the sequence of its item, TIM_TRK_1, where there is one, the microseconds of CLOCK_MONOTONIC at which it was made.
 */
final class BenchContent {
    static final int MARKET_PRICE = 6;
    static final int MARKET_BY_ORDER = 7;
    static final int COUNT = 32;
    static final int TIME = 3902;
    private static final int[] FIDS = {22, 25, 30, 31, 6, 178, 11, 18, 14, 16, 131};
    private static final int[] HINTS = {12, 12, 14, 14, 12, 14, 12};
    private static final int[] ORDER_FIDS = {3427, 3429, 3855};
    private static final int ORDERS = 20;
    private static final int[] IMAGE_FIDS = {
        7, 8, 9, 10, 12, 13, 19, 21, 23, 24, 26, 27, 34, 35, 36, 47, 48, 50, 51, 56, 57, 59, 60, 61,
        62, 63, 66, 69, 70, 71, 75, 76, 90, 91, 92, 93, 94, 95, 98, 100, 114, 120, 121, 122, 123, 124, 125, 130
    };

    private final FieldList list = CodecFactory.createFieldList();
    private final FieldEntry entry = CodecFactory.createFieldEntry();
    private final Map map = CodecFactory.createMap();
    private final MapEntry order = CodecFactory.createMapEntry();
    private final Buffer key = CodecFactory.createBuffer();
    private final Buffer[] orders = new Buffer[ORDERS];
    private final Real real = CodecFactory.createReal();
    private final UInt number = CodecFactory.createUInt();
    private final Date date = CodecFactory.createDate();
    private final Time time = CodecFactory.createTime();
    private final com.refinitiv.eta.codec.Enum code = CodecFactory.createEnum();

    /* Of what decode() read last: the count, or -1, and the time, or 0. */
    long count;
    long timeUs;

    BenchContent() {
        for (int i = 0; i < ORDERS; i++) {
            orders[i] = CodecFactory.createBuffer();
            orders[i].data(ByteBuffer.wrap(String.format("%08d", i).getBytes(StandardCharsets.US_ASCII)));
        }
        date.year(2005);
        date.month(11);
        date.day(16);
        time.hour(15);
        time.minute(52);
        time.second(12);
        code.value(1);
    }

    static long nowUs() {
        return System.nanoTime() / 1000;
    }

    static int container(int domain) {
        return domain == MARKET_BY_ORDER ? DataTypes.MAP : DataTypes.FIELD_LIST;
    }

    private static void check(int rc) {
        if (rc < CodecReturnCodes.SUCCESS) throw new IllegalStateException(CodecReturnCodes.toString(rc));
    }

    /* ---- encoding ---- */

    private void startList(EncodeIterator out) {
        list.clear();
        list.applyHasStandardData();
        check(list.encodeInit(out, null, 0));
    }

    private void addReal(EncodeIterator out, int fid, long value, int hint) {
        entry.clear();
        entry.fieldId(fid);
        entry.dataType(DataTypes.REAL);
        real.value(value, hint);
        check(entry.encode(out, real));
    }

    private void addUInt(EncodeIterator out, int fid, long value) {
        entry.clear();
        entry.fieldId(fid);
        entry.dataType(DataTypes.UINT);
        number.value(value);
        check(entry.encode(out, number));
    }

    private void addTwelve(EncodeIterator out, long at) {
        for (int i = 0; i < HINTS.length; i++) addReal(out, FIDS[i], 0x8000 + (at & 0x3ff) + i, HINTS[i]);
        addReal(out, COUNT, at, 14);
        entry.clear();
        entry.fieldId(18);
        entry.dataType(DataTypes.TIME);
        check(entry.encode(out, time));
        entry.clear();
        entry.fieldId(16);
        entry.dataType(DataTypes.DATE);
        check(entry.encode(out, date));
        for (int fid : new int[] {14, 131}) {
            entry.clear();
            entry.fieldId(fid);
            entry.dataType(DataTypes.ENUM);
            check(entry.encode(out, code));
        }
    }

    private void addOrder(EncodeIterator out, int which, int action, long at, long us) {
        order.clear();
        order.action(action);
        check(order.encodeInit(out, orders[which], 0));
        startList(out);
        for (int i = 0; i < ORDER_FIDS.length; i++) {
            if (i < 2) addReal(out, ORDER_FIDS[i], 0x8000 + (at & 0x3ff) + which, 12);
            else addUInt(out, ORDER_FIDS[i], 57132000 + (at & 0xffff));
        }
        addReal(out, COUNT, at, 14);
        if (us != 0) addUInt(out, TIME, us);
        check(list.encodeComplete(out, true));
        check(order.encodeComplete(out, true));
    }

    private void startMap(EncodeIterator out) {
        map.clear();
        map.keyPrimitiveType(DataTypes.BUFFER);
        map.containerType(DataTypes.FIELD_LIST);
        check(map.encodeInit(out, 0, 0));
    }

    /* The payload of an update; `us` 0: without a time. */
    void update(EncodeIterator out, int domain, long at, long us) {
        if (domain == MARKET_BY_ORDER) {
            startMap(out);
            addOrder(out, (int) (at % ORDERS), MapEntryActions.UPDATE, at, us);
            check(map.encodeComplete(out, true));
            return;
        }
        startList(out);
        addTwelve(out, at);
        if (us != 0) addUInt(out, TIME, us);
        check(list.encodeComplete(out, true));
    }

    void image(EncodeIterator out, int domain, long at) {
        if (domain == MARKET_BY_ORDER) {
            startMap(out);
            for (int i = 0; i < ORDERS; i++) addOrder(out, i, MapEntryActions.ADD, at, 0);
            check(map.encodeComplete(out, true));
            return;
        }
        startList(out);
        addTwelve(out, at);
        for (int fid : IMAGE_FIDS) addReal(out, fid, 0x8000 + fid, 12);
        check(list.encodeComplete(out, true));
    }

    /* What a post or a generic message carries: the time alone. */
    void stamp(EncodeIterator out, long us) {
        startList(out);
        addUInt(out, TIME, us);
        check(list.encodeComplete(out, true));
    }

    /* ---- decoding ---- */

    private void decodeList(DecodeIterator in) {
        check(list.decode(in, null));
        for (; ; ) {
            int rc = entry.decode(in);
            if (rc == CodecReturnCodes.END_OF_CONTAINER) return;
            check(rc);
            if (entry.fieldId() == COUNT) {
                check(real.decode(in));
                count = real.toLong();
            } else if (entry.fieldId() == TIME) {
                check(number.decode(in));
                timeUs = number.toLong();
            }
        }
    }

    /* The payload of a message, the iterator at its beginning. */
    void decode(DecodeIterator in, int container) {
        count = -1;
        timeUs = 0;
        if (container == DataTypes.FIELD_LIST) {
            decodeList(in);
        } else if (container == DataTypes.MAP) {
            check(map.decode(in));
            for (; ; ) {
                int rc = order.decode(in, key);
                if (rc == CodecReturnCodes.END_OF_CONTAINER) return;
                check(rc);
                if (order.action() != MapEntryActions.DELETE) decodeList(in);
            }
        }
    }
}
