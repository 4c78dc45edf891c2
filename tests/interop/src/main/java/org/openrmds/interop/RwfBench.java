// RwfBench.java - the work of rwf_bench, done by the Java library; prints "name,ns" for each.
// SPDX-License-Identifier: Apache-2.0
package org.openrmds.interop;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataDictionary;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.Date;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.DictionaryEntry;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.Real;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.StateCodes;
import com.refinitiv.eta.codec.Time;
import com.refinitiv.eta.codec.UpdateMsg;
import com.refinitiv.eta.transport.TransportFactory;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * RwfBench [DICTIONARY [cpu]]
 *
 * <p>Objects are made once and used again, as the library's own examples do; every field is decoded
 * to its type, found in the dictionary. Each figure is the median of rounds after a warm-up; with
 * "cpu" it is what the thread had of the CPU.
 */
public final class RwfBench {
    private static final int COPIES = 64;
    private static final int ROUNDS = 15;
    private static final long ROUND_NS = 60_000_000L;
    private static final long WARM_UP_NS = 3_000_000_000L;
    private static final int REFRESH_FIELDS = 60;
    private static final int[] FIDS = { 22, 25, 30, 31, 6, 178, 32, 11, 18, 14, 16, 131 };
    private static final long[] VALUES = { 39810, 39815, 1, 1, 39812, 100, 8719016, 535 };
    private static final int[] HINTS = { 12, 12, 14, 14, 12, 14, 14, 12 };

    private final DataDictionary dictionary = CodecFactory.createDataDictionary();
    private final DecodeIterator in = CodecFactory.createDecodeIterator();
    private final EncodeIterator out = CodecFactory.createEncodeIterator();
    private final Msg msg = CodecFactory.createMsg();
    private final FieldList list = CodecFactory.createFieldList();
    private final FieldEntry entry = CodecFactory.createFieldEntry();
    private final Real real = CodecFactory.createReal();
    private final Date date = CodecFactory.createDate();
    private final Time time = CodecFactory.createTime();
    private final com.refinitiv.eta.codec.Enum code = CodecFactory.createEnum();
    private final com.refinitiv.eta.codec.UInt number = CodecFactory.createUInt();
    private final Buffer text = CodecFactory.createBuffer();
    private final Buffer target = CodecFactory.createBuffer();
    private final ByteBuffer targetBytes = ByteBuffer.allocate(4096);
    private final Buffer[] updates = new Buffer[COPIES];
    private final Buffer[] refreshes = new Buffer[COPIES];
    private final Buffer name = CodecFactory.createBuffer();
    private final Buffer group = RwfDescribe.buffer(new byte[] { 0, 1 });
    private final Buffer display = CodecFactory.createBuffer();
    private long sum;

    private interface Work {
        void run(int i);
    }

    private static void check(int rc) {
        if (rc < CodecReturnCodes.SUCCESS) {
            throw new IllegalStateException(CodecReturnCodes.toString(rc));
        }
    }

    private RwfBench(String path) {
        com.refinitiv.eta.transport.Error error = TransportFactory.createError();
        if (dictionary.loadFieldDictionary(path, error) < 0) {
            throw new IllegalStateException(path + ": " + error.text());
        }
        name.data("IBM.N");
        display.data("INTL BUS MACHINE");
        for (int i = 0; i < COPIES; i++) {
            encodeUpdate();
            updates[i] = RwfDescribe.buffer(RwfDescribe.bytes(target));
            encodeRefresh();
            refreshes[i] = RwfDescribe.buffer(RwfDescribe.bytes(target));
        }
    }

    private void addField(int i) {
        entry.clear();
        entry.fieldId(FIDS[i]);
        if (i < VALUES.length) {
            entry.dataType(DataTypes.REAL);
            real.value(VALUES[i], HINTS[i]);
            check(entry.encode(out, real));
        } else if (FIDS[i] == 18) {
            entry.dataType(DataTypes.TIME);
            time.clear();
            time.hour(15);
            time.minute(52);
            time.second(12);
            check(entry.encode(out, time));
        } else if (FIDS[i] == 16) {
            entry.dataType(DataTypes.DATE);
            date.year(2005);
            date.month(11);
            date.day(16);
            check(entry.encode(out, date));
        } else {
            entry.dataType(DataTypes.ENUM);
            code.value(1);
            check(entry.encode(out, code));
        }
    }

    private void start() {
        targetBytes.clear();
        target.data(targetBytes);
        out.clear();
        check(out.setBufferAndRWFVersion(target, 14, 1));
    }

    private void startList() {
        list.clear();
        list.applyHasStandardData();
        check(list.encodeInit(out, null, 0));
    }

    private void encodeUpdate() {
        start();
        msg.clear();
        msg.msgClass(MsgClasses.UPDATE);
        msg.domainType(6);
        msg.streamId(5);
        msg.containerType(DataTypes.FIELD_LIST);
        ((UpdateMsg) msg).updateType(1);
        check(msg.encodeInit(out, 0));
        startList();
        for (int i = 0; i < FIDS.length; i++) {
            addField(i);
        }
        check(list.encodeComplete(out, true));
        check(msg.encodeComplete(out, true));
        sum += target.length();
    }

    private void encodeRefresh() {
        start();
        msg.clear();
        msg.msgClass(MsgClasses.REFRESH);
        msg.domainType(6);
        msg.streamId(5);
        msg.containerType(DataTypes.FIELD_LIST);
        RefreshMsg refresh = (RefreshMsg) msg;
        refresh.applySolicited();
        refresh.applyRefreshComplete();
        refresh.applyHasQos();
        refresh.qos().timeliness(1);
        refresh.qos().rate(1);
        refresh.state().streamState(1);
        refresh.state().dataState(1);
        refresh.state().code(StateCodes.NONE);
        refresh.groupId(group);
        refresh.applyHasMsgKey();
        refresh.msgKey().applyHasServiceId();
        refresh.msgKey().serviceId(260);
        refresh.msgKey().applyHasName();
        refresh.msgKey().name(name);
        check(msg.encodeInit(out, 0));
        startList();
        for (int i = 0; i < REFRESH_FIELDS; i++) {
            if (i % FIDS.length == FIDS.length - 1) {
                entry.clear();
                entry.fieldId(3);
                entry.dataType(DataTypes.RMTES_STRING);
                check(entry.encode(out, display));
            } else {
                addField(i % FIDS.length);
            }
        }
        check(list.encodeComplete(out, true));
        check(msg.encodeComplete(out, true));
        sum += target.length();
    }

    private void decode(Buffer bytes) {
        in.clear();
        check(in.setBufferAndRWFVersion(bytes, 14, 1));
        check(msg.decode(in));
        check(list.decode(in, null));
        int rc;
        while ((rc = entry.decode(in)) != CodecReturnCodes.END_OF_CONTAINER) {
            check(rc);
            DictionaryEntry def = dictionary.entry(entry.fieldId());
            switch (def == null ? DataTypes.UNKNOWN : def.rwfType()) {
                case DataTypes.REAL:
                    check(real.decode(in));
                    sum += real.toLong() + real.hint();
                    break;
                case DataTypes.ENUM:
                    check(code.decode(in));
                    sum += code.toInt();
                    break;
                case DataTypes.TIME:
                    check(time.decode(in));
                    sum += time.second();
                    break;
                case DataTypes.DATE:
                    check(date.decode(in));
                    sum += date.day();
                    break;
                case DataTypes.UINT:
                    check(number.decode(in));
                    sum += number.toLong();
                    break;
                default:
                    check(text.decode(in));
                    sum += text.length();
                    break;
            }
        }
    }

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static boolean cpuTime;

    private static long now() {
        return cpuTime ? THREADS.getCurrentThreadCpuTime() : System.nanoTime();
    }

    private static void measure(String what, Work work) {
        int i = 0;
        long until = System.nanoTime() + WARM_UP_NS;
        while (System.nanoTime() < until) {
            for (int j = 0; j < 1000; j++) {
                work.run(i++);
            }
        }
        double[] rounds = new double[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            long start = now();
            long done = 0;
            long now;
            do {
                for (int j = 0; j < 1000; j++) {
                    work.run(i++);
                }
                done += 1000;
                now = now();
            } while (now - start < ROUND_NS);
            rounds[round] = (double) (now - start) / done;
        }
        Arrays.sort(rounds);
        System.out.printf("%s,%.2f%n", what, rounds[ROUNDS / 2]);
    }

    public static void main(String[] args) {
        cpuTime = args.length > 1 && args[1].equals("cpu");
        RwfBench bench = new RwfBench(args.length > 0 ? args[0]
            : System.getenv("RMDS_SOURCE_DIR") + "/conf/RDMFieldDictionary");
        int payload = bench.updates[0].length() - 11;
        if (payload != 74) {
            throw new IllegalStateException("the update's field list has " + payload + " bytes, not 74");
        }
        measure("decode update", i -> bench.decode(bench.updates[i & (COPIES - 1)]));
        measure("encode update", i -> bench.encodeUpdate());
        measure("decode refresh", i -> bench.decode(bench.refreshes[i & (COPIES - 1)]));
        measure("encode refresh", i -> bench.encodeRefresh());
        if (bench.sum == 42) {
            System.out.println("(the sum is there so that the work is done)");
        }
    }
}
