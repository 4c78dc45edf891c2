// RwfGenerate.java - random messages made with the Java library's encoder.
// SPDX-License-Identifier: Apache-2.0
package org.openrmds.interop;

import com.refinitiv.eta.codec.AckMsg;
import com.refinitiv.eta.codec.Array;
import com.refinitiv.eta.codec.ArrayEntry;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.Date;
import com.refinitiv.eta.codec.DateTime;
import com.refinitiv.eta.codec.ElementEntry;
import com.refinitiv.eta.codec.ElementList;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.FilterEntry;
import com.refinitiv.eta.codec.FilterList;
import com.refinitiv.eta.codec.GenericMsg;
import com.refinitiv.eta.codec.MapEntry;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.MsgKey;
import com.refinitiv.eta.codec.PostMsg;
import com.refinitiv.eta.codec.PostUserInfo;
import com.refinitiv.eta.codec.Qos;
import com.refinitiv.eta.codec.Real;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.RequestMsg;
import com.refinitiv.eta.codec.Series;
import com.refinitiv.eta.codec.SeriesEntry;
import com.refinitiv.eta.codec.State;
import com.refinitiv.eta.codec.StatusMsg;
import com.refinitiv.eta.codec.Time;
import com.refinitiv.eta.codec.UpdateMsg;
import com.refinitiv.eta.codec.Vector;
import com.refinitiv.eta.codec.VectorEntry;
import java.nio.ByteBuffer;
import java.util.Random;

/**
 * Containers within containers are encoded first and given as bytes, so that every length has its
 * shortest form: a vector of mode "min".
 */
final class RwfGenerate {
    private static final int[] PRIMITIVES = { 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19 };
    private static final int[] CONTAINERS = { 132, 132, 133, 135, 136, 137, 138, 141, 128, 130, 131, 142 };

    private final Random random;

    RwfGenerate(long seed) {
        random = new Random(seed);
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) {
            text.append(String.format("%02x", b & 0xff));
        }
        return text.toString();
    }

    static byte[] unhex(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    byte[] message() {
        return message(4);
    }

    private interface Work {
        void encode(EncodeIterator it);
    }

    private static void check(int code) {
        if (code < CodecReturnCodes.SUCCESS) {
            throw new IllegalStateException("the Java library does not encode: " + CodecReturnCodes.toString(code));
        }
    }

    private static byte[] encode(Work work) {
        EncodeIterator it = CodecFactory.createEncodeIterator();
        Buffer buffer = CodecFactory.createBuffer();
        buffer.data(ByteBuffer.allocate(1 << 18));
        check(it.setBufferAndRWFVersion(buffer, 14, 1));
        work.encode(it);
        return RwfDescribe.bytes(buffer);
    }

    // ---- numbers, values ----

    private boolean chance(int percent) {
        return random.nextInt(100) < percent;
    }

    /** Mostly at the places where a length changes. */
    private long number(int bits) {
        long mask = bits == 64 ? -1L : (1L << bits) - 1;
        long edge = 1L << random.nextInt(bits);
        switch (random.nextInt(4)) {
            case 0: return random.nextLong() & mask;
            case 1: return (edge - 1) & mask;
            case 2: return edge & mask;
            default: return random.nextInt(256) & mask;
        }
    }

    private long signed(int bits) {
        long value = number(bits - 1);
        return chance(50) ? -value - 1 : value;
    }

    private byte[] bytes(int min, int max) {
        byte[] bytes = new byte[Math.min(max, Math.max(min, chance(5) ? 120 + random.nextInt(150)
            : random.nextInt(12)))];
        random.nextBytes(bytes);
        return bytes;
    }

    private Buffer buffer(int min, int max) {
        return RwfDescribe.buffer(bytes(min, max));
    }

    private Date date() {
        Date d = CodecFactory.createDate();
        d.year(1 + random.nextInt(4095));
        d.month(1 + random.nextInt(12));
        d.day(1 + random.nextInt(28));
        return d;
    }

    private void time(Time t) {
        int parts = random.nextInt(5);
        t.hour(random.nextInt(24));
        t.minute(random.nextInt(60));
        t.second(parts > 0 ? random.nextInt(60) : 0);
        t.millisecond(parts > 1 ? random.nextInt(1000) : 0);
        t.microsecond(parts > 2 ? random.nextInt(1000) : 0);
        t.nanosecond(parts > 3 ? random.nextInt(1000) : 0);
    }

    private void qos(Qos q) {
        q.timeliness(1 + random.nextInt(3));
        q.rate(1 + random.nextInt(3));
        q.dynamic(chance(50));
        q.timeInfo(q.timeliness() > 2 ? (int) number(16) : 0);
        q.rateInfo(q.rate() > 2 ? (int) number(16) : 0);
    }

    private void state(State s) {
        s.streamState(1 + random.nextInt(5));
        s.dataState(random.nextInt(3));
        s.code(random.nextInt(36));
        s.text(buffer(0, 100));
    }

    /** A value of that type, as the object that the library's entries take; null: blank. */
    private Object value(int type) {
        if (chance(8)) {
            return null;
        }
        switch (type) {
            case DataTypes.INT: {
                com.refinitiv.eta.codec.Int v = CodecFactory.createInt();
                v.value(signed(64));
                return v;
            }
            case DataTypes.UINT: {
                com.refinitiv.eta.codec.UInt v = CodecFactory.createUInt();
                v.value(number(64));
                return v;
            }
            case DataTypes.FLOAT: {
                com.refinitiv.eta.codec.Float v = CodecFactory.createFloat();
                v.value((float) random.nextGaussian());
                return v;
            }
            case DataTypes.DOUBLE: {
                com.refinitiv.eta.codec.Double v = CodecFactory.createDouble();
                v.value(random.nextGaussian());
                return v;
            }
            case DataTypes.REAL: {
                Real v = CodecFactory.createReal();
                v.value(signed(64), random.nextInt(31));
                return v;
            }
            case DataTypes.DATE:
                return date();
            case DataTypes.TIME: {
                Time v = CodecFactory.createTime();
                time(v);
                return v;
            }
            case DataTypes.DATETIME: {
                DateTime v = CodecFactory.createDateTime();
                Date d = date();
                v.year(d.year());
                v.month(d.month());
                v.day(d.day());
                time(v.time());
                return v;
            }
            case DataTypes.QOS: {
                Qos v = CodecFactory.createQos();
                qos(v);
                return v;
            }
            case DataTypes.STATE: {
                State v = CodecFactory.createState();
                state(v);
                return v;
            }
            case DataTypes.ENUM: {
                com.refinitiv.eta.codec.Enum v = CodecFactory.createEnum();
                v.value((int) number(16));
                return v;
            }
            default:
                return buffer(1, 300);
        }
    }

    private void field(FieldEntry e, EncodeIterator it, Object v) {
        if (v == null) {
            check(e.encodeBlank(it));
        } else if (v instanceof com.refinitiv.eta.codec.Int) {
            check(e.encode(it, (com.refinitiv.eta.codec.Int) v));
        } else if (v instanceof com.refinitiv.eta.codec.UInt) {
            check(e.encode(it, (com.refinitiv.eta.codec.UInt) v));
        } else if (v instanceof com.refinitiv.eta.codec.Float) {
            check(e.encode(it, (com.refinitiv.eta.codec.Float) v));
        } else if (v instanceof com.refinitiv.eta.codec.Double) {
            check(e.encode(it, (com.refinitiv.eta.codec.Double) v));
        } else if (v instanceof Real) {
            check(e.encode(it, (Real) v));
        } else if (v instanceof Date) {
            check(e.encode(it, (Date) v));
        } else if (v instanceof Time) {
            check(e.encode(it, (Time) v));
        } else if (v instanceof DateTime) {
            check(e.encode(it, (DateTime) v));
        } else if (v instanceof Qos) {
            check(e.encode(it, (Qos) v));
        } else if (v instanceof State) {
            check(e.encode(it, (State) v));
        } else if (v instanceof com.refinitiv.eta.codec.Enum) {
            check(e.encode(it, (com.refinitiv.eta.codec.Enum) v));
        } else {
            check(e.encode(it, (Buffer) v));
        }
    }

    private void element(ElementEntry e, EncodeIterator it, Object v) {
        if (v == null) {
            check(e.encodeBlank(it));
        } else if (v instanceof com.refinitiv.eta.codec.Int) {
            check(e.encode(it, (com.refinitiv.eta.codec.Int) v));
        } else if (v instanceof com.refinitiv.eta.codec.UInt) {
            check(e.encode(it, (com.refinitiv.eta.codec.UInt) v));
        } else if (v instanceof com.refinitiv.eta.codec.Float) {
            check(e.encode(it, (com.refinitiv.eta.codec.Float) v));
        } else if (v instanceof com.refinitiv.eta.codec.Double) {
            check(e.encode(it, (com.refinitiv.eta.codec.Double) v));
        } else if (v instanceof Real) {
            check(e.encode(it, (Real) v));
        } else if (v instanceof Date) {
            check(e.encode(it, (Date) v));
        } else if (v instanceof Time) {
            check(e.encode(it, (Time) v));
        } else if (v instanceof DateTime) {
            check(e.encode(it, (DateTime) v));
        } else if (v instanceof Qos) {
            check(e.encode(it, (Qos) v));
        } else if (v instanceof State) {
            check(e.encode(it, (State) v));
        } else if (v instanceof com.refinitiv.eta.codec.Enum) {
            check(e.encode(it, (com.refinitiv.eta.codec.Enum) v));
        } else {
            check(e.encode(it, (Buffer) v));
        }
    }

    private byte[] array() {
        return encode(it -> {
            Array array = CodecFactory.createArray();
            ArrayEntry entry = CodecFactory.createArrayEntry();
            boolean ints = chance(50);
            array.primitiveType(ints ? DataTypes.INT : DataTypes.ASCII_STRING);
            array.itemLength(ints && chance(50) ? 4 : 0);
            check(array.encodeInit(it));
            for (int i = random.nextInt(6); i > 0; i--) {
                entry.clear();
                if (ints) {
                    com.refinitiv.eta.codec.Int v = CodecFactory.createInt();
                    v.value(signed(32));
                    check(entry.encode(it, v));
                } else {
                    check(entry.encode(it, buffer(1, 30)));
                }
            }
            check(array.encodeComplete(it, true));
        });
    }

    // ---- containers ----

    private int containerType(int depth) {
        int type = CONTAINERS[random.nextInt(CONTAINERS.length)];
        return depth > 0 || type == 128 || type == 130 || type == 131 || type == 142 ? type : 130;
    }

    private byte[] container(int type, int depth) {
        switch (type) {
            case DataTypes.FIELD_LIST: return fieldList(depth);
            case DataTypes.ELEMENT_LIST: return elementList(depth);
            case DataTypes.MAP: return map(depth);
            case DataTypes.VECTOR: return vector(depth);
            case DataTypes.SERIES: return series(depth);
            case DataTypes.FILTER_LIST: return filterList(depth);
            case DataTypes.MSG: return message(depth - 1);
            default: return bytes(1, 300);
        }
    }

    private int entryType(int depth) {
        if (chance(10)) {
            return DataTypes.ARRAY;
        }
        int type = depth > 0 && chance(15) ? containerType(depth - 1) : DataTypes.NO_DATA;
        return type == DataTypes.NO_DATA ? PRIMITIVES[random.nextInt(PRIMITIVES.length)] : type;
    }

    private byte[] fieldList(int depth) {
        return encode(it -> {
            FieldList list = CodecFactory.createFieldList();
            FieldEntry entry = CodecFactory.createFieldEntry();
            list.applyHasStandardData();
            if (chance(20)) {
                list.applyHasInfo();
                list.dictionaryId((int) number(15));
                list.fieldListNum((int) number(16));
            }
            check(list.encodeInit(it, null, 0));
            for (int i = random.nextInt(8); i > 0; i--) {
                int type = entryType(depth);
                entry.clear();
                entry.fieldId(type * 100 + random.nextInt(100));
                entry.dataType(type);
                if (type == DataTypes.ARRAY) {
                    entry.encodedData(RwfDescribe.buffer(array()));
                    check(entry.encode(it));
                } else if (type > 127) {
                    entry.encodedData(RwfDescribe.buffer(container(type, depth - 1)));
                    check(entry.encode(it));
                } else {
                    field(entry, it, value(type));
                }
            }
            check(list.encodeComplete(it, true));
        });
    }

    private byte[] elementList(int depth) {
        return encode(it -> {
            ElementList list = CodecFactory.createElementList();
            ElementEntry entry = CodecFactory.createElementEntry();
            list.applyHasStandardData();
            if (chance(20)) {
                list.applyHasInfo();
                list.elementListNum((int) number(16));
            }
            check(list.encodeInit(it, null, 0));
            for (int i = random.nextInt(8); i > 0; i--) {
                int type = entryType(depth);
                entry.clear();
                entry.name(buffer(1, 200));
                entry.dataType(type);
                if (type == DataTypes.ARRAY) {
                    entry.encodedData(RwfDescribe.buffer(array()));
                    check(entry.encode(it));
                } else if (type > 127) {
                    entry.encodedData(RwfDescribe.buffer(container(type, depth - 1)));
                    check(entry.encode(it));
                } else {
                    element(entry, it, value(type));
                }
            }
            check(list.encodeComplete(it, true));
        });
    }

    private byte[] map(int depth) {
        return encode(it -> {
            com.refinitiv.eta.codec.Map map = CodecFactory.createMap();
            MapEntry entry = CodecFactory.createMapEntry();
            int type = containerType(depth - 1);
            boolean numbers = chance(50);
            map.keyPrimitiveType(numbers ? DataTypes.UINT : DataTypes.BUFFER);
            map.containerType(type);
            boolean perm = chance(20);
            if (perm) {
                map.applyHasPerEntryPermData();
            }
            if (chance(20)) {
                map.applyHasKeyFieldId();
                map.keyFieldId((int) signed(16));
            }
            if (chance(30)) {
                map.applyHasTotalCountHint();
                map.totalCountHint((int) number(30));
            }
            if (type != DataTypes.NO_DATA && chance(30)) {
                map.applyHasSummaryData();
                map.encodedSummaryData(RwfDescribe.buffer(container(type, depth - 1)));
            }
            check(map.encodeInit(it, 0, 0));
            for (int i = 1 + random.nextInt(5); i > 0; i--) {
                entry.clear();
                entry.action(1 + random.nextInt(3));
                if (perm) { // at least one: the flag says so
                    entry.applyHasPermData();
                    entry.permData(buffer(1, 200));
                }
                if (type != DataTypes.NO_DATA && entry.action() != 3) {
                    entry.encodedData(RwfDescribe.buffer(container(type, depth - 1)));
                }
                if (numbers) {
                    com.refinitiv.eta.codec.UInt key = CodecFactory.createUInt();
                    key.value(number(64));
                    check(entry.encode(it, key));
                } else {
                    check(entry.encode(it, buffer(1, 100)));
                }
            }
            check(map.encodeComplete(it, true));
        });
    }

    private byte[] vector(int depth) {
        return encode(it -> {
            Vector vector = CodecFactory.createVector();
            VectorEntry entry = CodecFactory.createVectorEntry();
            int type = containerType(depth - 1);
            vector.containerType(type);
            boolean perm = chance(20);
            if (perm) {
                vector.applyHasPerEntryPermData();
            }
            if (chance(30)) {
                vector.applySupportsSorting();
            }
            if (chance(30)) {
                vector.applyHasTotalCountHint();
                vector.totalCountHint((int) number(30));
            }
            if (type != DataTypes.NO_DATA && chance(30)) {
                vector.applyHasSummaryData();
                vector.encodedSummaryData(RwfDescribe.buffer(container(type, depth - 1)));
            }
            check(vector.encodeInit(it, 0, 0));
            for (int i = 1 + random.nextInt(5); i > 0; i--) {
                entry.clear();
                entry.action(1 + random.nextInt(5));
                entry.index(number(30));
                if (perm) {
                    entry.applyHasPermData();
                    entry.permData(buffer(1, 200));
                }
                if (type != DataTypes.NO_DATA && entry.action() != 3 && entry.action() != 5) {
                    entry.encodedData(RwfDescribe.buffer(container(type, depth - 1)));
                }
                check(entry.encode(it));
            }
            check(vector.encodeComplete(it, true));
        });
    }

    private byte[] series(int depth) {
        return encode(it -> {
            Series series = CodecFactory.createSeries();
            SeriesEntry entry = CodecFactory.createSeriesEntry();
            int type = containerType(depth - 1);
            series.containerType(type);
            if (chance(30)) {
                series.applyHasTotalCountHint();
                series.totalCountHint((int) number(30));
            }
            if (type != DataTypes.NO_DATA && chance(30)) {
                series.applyHasSummaryData();
                series.encodedSummaryData(RwfDescribe.buffer(container(type, depth - 1)));
            }
            check(series.encodeInit(it, 0, 0));
            for (int i = 1 + random.nextInt(5); i > 0; i--) {
                entry.clear();
                if (type != DataTypes.NO_DATA) {
                    entry.encodedData(RwfDescribe.buffer(container(type, depth - 1)));
                }
                check(entry.encode(it));
            }
            check(series.encodeComplete(it, true));
        });
    }

    private byte[] filterList(int depth) {
        return encode(it -> {
            FilterList list = CodecFactory.createFilterList();
            FilterEntry entry = CodecFactory.createFilterEntry();
            int type = containerType(depth - 1);
            list.containerType(type);
            boolean perm = chance(20);
            if (perm) {
                list.applyHasPerEntryPermData();
            }
            if (chance(30)) {
                list.applyHasTotalCountHint();
                list.totalCountHint((int) number(8));
            }
            check(list.encodeInit(it));
            for (int i = 1 + random.nextInt(5); i > 0; i--) {
                int own = chance(30) ? containerType(depth - 1) : -1;
                int effective = own >= 0 ? own : type;
                entry.clear();
                entry.action(1 + random.nextInt(3));
                entry.id(random.nextInt(256));
                if (own >= 0) {
                    entry.applyHasContainerType();
                    entry.containerType(own);
                }
                if (perm) {
                    entry.applyHasPermData();
                    entry.permData(buffer(1, 200));
                }
                if (effective != DataTypes.NO_DATA && entry.action() != 3) {
                    entry.encodedData(RwfDescribe.buffer(container(effective, depth - 1)));
                }
                check(entry.encode(it));
            }
            check(list.encodeComplete(it, true));
        });
    }

    // ---- messages ----

    private void key(MsgKey key) {
        if (chance(80)) {
            key.applyHasServiceId();
            key.serviceId((int) number(16));
        }
        if (chance(80)) {
            key.applyHasName();
            key.name(buffer(1, 255));
            if (chance(50)) {
                key.applyHasNameType();
                key.nameType((int) number(8));
            }
        }
        if (chance(30)) {
            key.applyHasFilter();
            key.filter(number(32));
        }
        if (chance(30)) {
            key.applyHasIdentifier();
            key.identifier((int) signed(32));
        }
        if (chance(20)) {
            key.applyHasAttrib();
            key.attribContainerType(DataTypes.ELEMENT_LIST);
            key.encodedAttrib(RwfDescribe.buffer(elementList(0)));
        }
    }

    private void pui(PostUserInfo info) {
        info.userAddr(number(32));
        info.userId(number(32));
    }

    private byte[] message(int depth) {
        Msg m = CodecFactory.createMsg();
        m.msgClass(1 + random.nextInt(8));
        m.domainType((int) number(8));
        m.streamId((int) signed(32));
        int type = containerType(depth);
        m.containerType(type);
        if (type != DataTypes.NO_DATA) {
            m.encodedDataBody(RwfDescribe.buffer(container(type, depth)));
        }
        switch (m.msgClass()) {
            case MsgClasses.REQUEST: request((RequestMsg) m); break;
            case MsgClasses.REFRESH: refresh((RefreshMsg) m); break;
            case MsgClasses.STATUS: status((StatusMsg) m); break;
            case MsgClasses.UPDATE: update((UpdateMsg) m); break;
            case MsgClasses.ACK: ack((AckMsg) m); break;
            case MsgClasses.GENERIC: generic((GenericMsg) m); break;
            case MsgClasses.POST: post((PostMsg) m); break;
            default: m.flags(chance(50) ? 2 : 0); break;
        }
        return encode(it -> check(m.encode(it)));
    }

    private void request(RequestMsg m) {
        m.flags((int) number(13) & 0x1f3c);
        if (chance(50)) {
            m.applyHasPriority();
            m.priority().priorityClass((int) number(8));
            m.priority().count((int) number(16));
        }
        if (chance(50)) {
            m.applyHasQos();
            qos(m.qos());
        }
        if (chance(20)) {
            m.applyHasWorstQos();
            qos(m.worstQos());
        }
        key(m.msgKey());
        if (chance(20)) {
            m.applyHasExtendedHdr();
            m.extendedHeader(buffer(1, 255));
        }
    }

    private void refresh(RefreshMsg m) {
        m.flags((int) number(15) & 0x4760);
        state(m.state());
        m.groupId(buffer(0, 100));
        if (chance(50)) {
            m.applyHasSeqNum();
            m.seqNum(number(32));
        }
        if (chance(30)) {
            m.applyHasPermData();
            m.permData(buffer(1, 300));
        }
        if (chance(50)) {
            m.applyHasQos();
            qos(m.qos());
        }
        if (chance(50)) {
            m.applyHasMsgKey();
            key(m.msgKey());
        }
        if (chance(20)) {
            m.applyHasExtendedHdr();
            m.extendedHeader(buffer(1, 255));
        }
        if (chance(20)) {
            m.applyHasPostUserInfo();
            pui(m.postUserInfo());
        }
        if (chance(30)) {
            m.applyHasPartNum();
            m.partNum((int) number(15));
        }
    }

    private void status(StatusMsg m) {
        m.flags((int) number(11) & 0x4c0);
        if (chance(70)) {
            m.applyHasState();
            state(m.state());
        }
        if (chance(30)) {
            m.applyHasGroupId();
            m.groupId(buffer(1, 100));
        }
        if (chance(30)) {
            m.applyHasPermData();
            m.permData(buffer(1, 300));
        }
        if (chance(50)) {
            m.applyHasMsgKey();
            key(m.msgKey());
        }
        if (chance(20)) {
            m.applyHasExtendedHdr();
            m.extendedHeader(buffer(1, 255));
        }
        if (chance(20)) {
            m.applyHasPostUserInfo();
            pui(m.postUserInfo());
        }
    }

    private void update(UpdateMsg m) {
        m.flags((int) number(11) & 0x5c0);
        m.updateType((int) number(8));
        if (chance(50)) {
            m.applyHasSeqNum();
            m.seqNum(number(32));
        }
        if (chance(30)) {
            m.applyHasConfInfo();
            m.conflationCount(1 + (int) (number(15) % 32767));
            m.conflationTime((int) number(16));
        }
        if (chance(30)) {
            m.applyHasPermData();
            m.permData(buffer(1, 300));
        }
        if (chance(50)) {
            m.applyHasMsgKey();
            key(m.msgKey());
        }
        if (chance(20)) {
            m.applyHasExtendedHdr();
            m.extendedHeader(buffer(1, 255));
        }
        if (chance(20)) {
            m.applyHasPostUserInfo();
            pui(m.postUserInfo());
        }
    }

    private void ack(AckMsg m) {
        m.flags((int) number(7) & 0x44);
        m.ackId(number(32));
        if (chance(30)) {
            m.applyHasNakCode();
            m.nakCode(1 + random.nextInt(255));
        }
        if (chance(30)) {
            m.applyHasText();
            m.text(buffer(1, 400));
        }
        if (chance(50)) {
            m.applyHasSeqNum();
            m.seqNum(number(32));
        }
        if (chance(50)) {
            m.applyHasMsgKey();
            key(m.msgKey());
        }
        if (chance(20)) {
            m.applyHasExtendedHdr();
            m.extendedHeader(buffer(1, 255));
        }
    }

    private void generic(GenericMsg m) {
        m.flags((int) number(15) & 0x4010);
        if (chance(50)) {
            m.applyHasSeqNum();
            m.seqNum(number(32));
        }
        if (chance(50)) {
            m.applyHasSecondarySeqNum();
            m.secondarySeqNum(number(32));
        }
        if (chance(30)) {
            m.applyHasPermData();
            m.permData(buffer(1, 300));
        }
        if (chance(50)) {
            m.applyHasMsgKey();
            key(m.msgKey());
        }
        if (chance(20)) {
            m.applyHasExtendedHdr();
            m.extendedHeader(buffer(1, 255));
        }
        if (chance(30)) {
            m.applyHasPartNum();
            m.partNum((int) number(15));
        }
    }

    private void post(PostMsg m) {
        m.flags((int) number(10) & 0x60);
        pui(m.postUserInfo());
        if (chance(50)) {
            m.applyHasSeqNum();
            m.seqNum(number(32));
        }
        if (chance(50)) {
            m.applyHasPostId();
            m.postId(number(32));
        }
        if (chance(30)) {
            m.applyHasPermData();
            m.permData(buffer(1, 300));
        }
        if (chance(50)) {
            m.applyHasMsgKey();
            key(m.msgKey());
        }
        if (chance(20)) {
            m.applyHasExtendedHdr();
            m.extendedHeader(buffer(1, 255));
        }
        if (chance(30)) {
            m.applyHasPartNum();
            m.partNum((int) number(15));
        }
        if (chance(30)) {
            m.applyHasPostUserRights();
            m.postUserRights(random.nextInt(8));
        }
    }
}
