// RwfDescribe.java - what the Java library decodes, in the notation of tests/vectors/rwf/README.md.
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
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.ElementEntry;
import com.refinitiv.eta.codec.ElementList;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.FilterEntry;
import com.refinitiv.eta.codec.FilterList;
import com.refinitiv.eta.codec.GenericMsg;
import com.refinitiv.eta.codec.LocalElementSetDefDb;
import com.refinitiv.eta.codec.LocalFieldSetDefDb;
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

final class RwfDescribe {
    /** The library refused the bytes. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String where, int code) {
            super(where + " " + CodecReturnCodes.toString(code));
        }
    }

    /** The definitions in scope: of the innermost map, vector or series. */
    private static final class Scope {
        LocalFieldSetDefDb fields;
        LocalElementSetDefDb elements;
        int[] count = new int[16]; // entries of each definition, -1: none

        Scope() {
            java.util.Arrays.fill(count, -1);
        }
    }

    private static final String[] PRIMITIVES = {
        "0", "1", "2", "INT", "UINT", "FLOAT", "DOUBLE", "7", "REAL", "DATE", "TIME", "DATETIME", "QOS", "STATE",
        "ENUM", "ARRAY", "BUFFER", "ASCII", "UTF8", "RMTES"
    };
    private static final String[] SET_TYPES = {
        "INT1", "UINT1", "INT2", "UINT2", "INT4", "UINT4", "INT8", "UINT8", "FLOAT4", "DOUBLE8", "REAL4RB",
        "REAL8RB", "DATE4", "TIME3", "TIME5", "DATETIME7", "DATETIME9", "DATETIME11", "DATETIME12", "TIME7", "TIME8"
    };
    private static final String[] CONTAINERS = {
        "NODATA", "129", "OPAQUE", "XML", "FL", "EL", "ANSI", "FLT", "VEC", "MAP", "SER", "139", "140", "MSG", "JSON"
    };

    private final StringBuilder out = new StringBuilder();

    private RwfDescribe() {}

    static String message(byte[] bytes) throws Refused {
        RwfDescribe d = new RwfDescribe();
        d.msg(buffer(bytes));
        return d.out.toString();
    }

    static Buffer buffer(byte[] bytes) {
        Buffer b = CodecFactory.createBuffer();
        b.data(ByteBuffer.wrap(bytes), 0, bytes.length);
        return b;
    }

    static byte[] bytes(Buffer b) {
        byte[] copy = new byte[b.length()];
        for (int i = 0; i < copy.length; i++) {
            copy[i] = b.data().get(b.position() + i);
        }
        return copy;
    }

    static String typeName(int type) {
        if (type >= 0 && type < PRIMITIVES.length) {
            return PRIMITIVES[type];
        }
        if (type >= 64 && type < 64 + SET_TYPES.length) {
            return SET_TYPES[type - 64];
        }
        if (type >= 128 && type < 128 + CONTAINERS.length) {
            return CONTAINERS[type - 128];
        }
        return Integer.toString(type);
    }

    /** The type of a field, by the rule of the vector files. */
    static int fieldType(int fid) {
        switch (fid) {
            case 1: case 2: return DataTypes.UINT;
            case 3: return DataTypes.RMTES_STRING;
            case 4: case 14: case 15: return DataTypes.ENUM;
            case 5: case 18: case 270: return DataTypes.TIME;
            case 6: case 22: case 25: case 30: case 31: case 32: return DataTypes.REAL;
            case 16: return DataTypes.DATE;
            default: break;
        }
        int t = fid / 100;
        boolean primitive = t >= 3 && t <= 19 && t != 7;
        boolean container = (t >= 130 && t <= 138) || t == 141 || t == 142;
        return fid > 0 && (primitive || container) ? t : DataTypes.BUFFER;
    }

    static String bytesText(byte[] bytes) {
        boolean printable = bytes.length > 0;
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) {
            printable &= b >= 0x20 && b < 0x7f && b != '"' && b != '\\';
        }
        if (printable) {
            return text.append('"').append(new String(bytes, java.nio.charset.StandardCharsets.US_ASCII)).append('"')
                .toString();
        }
        text.append('#');
        for (byte b : bytes) {
            text.append(String.format("%02x", b & 0xff));
        }
        return text.toString();
    }

    private DecodeIterator iterator(Buffer b) {
        DecodeIterator it = CodecFactory.createDecodeIterator();
        it.clear();
        it.setBufferAndRWFVersion(buffer(bytes(b)), 14, 1);
        return it;
    }

    private void add(String head, Object... items) {
        out.append(" (").append(head);
        for (Object item : items) {
            out.append(' ').append(item);
        }
        out.append(')');
    }

    private static String text(Buffer b) {
        return bytesText(bytes(b));
    }

    private static int check(String where, int code) throws Refused {
        if (code < CodecReturnCodes.SUCCESS) {
            throw new Refused(where, code);
        }
        return code;
    }

    // ---- primitives ----

    private static String time(Time t) {
        return t.hour() + " " + t.minute() + " " + t.second() + " " + t.millisecond() + " " + t.microsecond() + " "
            + t.nanosecond();
    }

    private static String date(Date d) {
        return d.year() + " " + d.month() + " " + d.day();
    }

    private static String qos(Qos q) {
        return q.timeliness() + " " + q.rate() + " " + (q.isDynamic() ? 1 : 0) + " " + q.timeInfo() + " "
            + q.rateInfo();
    }

    private static String state(State s) {
        return s.streamState() + " " + s.dataState() + " " + s.code() + " " + text(s.text());
    }

    private String value(int type, Buffer content) throws Refused {
        if (content.length() == 0) {
            return "blank";
        }
        DecodeIterator it = iterator(content);
        String where = typeName(type);
        switch (type) {
            case DataTypes.INT: {
                com.refinitiv.eta.codec.Int v = CodecFactory.createInt();
                check(where, v.decode(it));
                return Long.toString(v.toLong());
            }
            case DataTypes.UINT: {
                com.refinitiv.eta.codec.UInt v = CodecFactory.createUInt();
                check(where, v.decode(it));
                return Long.toUnsignedString(v.toLong());
            }
            case DataTypes.FLOAT: {
                com.refinitiv.eta.codec.Float v = CodecFactory.createFloat();
                check(where, v.decode(it));
                return String.format("x%08x", Float.floatToRawIntBits(v.toFloat()));
            }
            case DataTypes.DOUBLE: {
                com.refinitiv.eta.codec.Double v = CodecFactory.createDouble();
                check(where, v.decode(it));
                return String.format("x%016x", Double.doubleToRawLongBits(v.toDouble()));
            }
            case DataTypes.REAL: {
                Real v = CodecFactory.createReal();
                int code = check(where, v.decode(it));
                return code == CodecReturnCodes.BLANK_DATA ? "blank1" : "(r " + v.hint() + " " + v.toLong() + ")";
            }
            case DataTypes.DATE: {
                Date v = CodecFactory.createDate();
                check(where, v.decode(it));
                return "(d " + date(v) + ")";
            }
            case DataTypes.TIME: {
                Time v = CodecFactory.createTime();
                check(where, v.decode(it));
                return "(t " + time(v) + ")";
            }
            case DataTypes.DATETIME: {
                DateTime v = CodecFactory.createDateTime();
                check(where, v.decode(it));
                return "(dt " + date(v.date()) + " " + time(v.time()) + ")";
            }
            case DataTypes.QOS: {
                Qos v = CodecFactory.createQos();
                check(where, v.decode(it));
                return "(q " + qos(v) + ")";
            }
            case DataTypes.STATE: {
                State v = CodecFactory.createState();
                check(where, v.decode(it));
                return "(s " + state(v) + ")";
            }
            case DataTypes.ENUM: {
                com.refinitiv.eta.codec.Enum v = CodecFactory.createEnum();
                check(where, v.decode(it));
                return Integer.toString(v.toInt());
            }
            default:
                return text(content);
        }
    }

    private void array(Buffer content) throws Refused {
        DecodeIterator it = iterator(content);
        Array array = CodecFactory.createArray();
        ArrayEntry entry = CodecFactory.createArrayEntry();
        int code = check("array", array.decode(it));
        out.append("(ARR ").append(typeName(array.primitiveType())).append(' ').append(array.itemLength());
        while (code != CodecReturnCodes.NO_DATA
            && (code = check("array item", entry.decode(it))) != CodecReturnCodes.END_OF_CONTAINER) {
            out.append(' ').append(value(array.primitiveType(), entry.encodedData()));
        }
        out.append(')');
    }

    /** The type and content of an entry. */
    private void content(int type, Buffer content) throws Refused {
        out.append(' ').append(typeName(type)).append(' ');
        if (content.length() == 0) {
            out.append("blank");
        } else {
            any(type, content, new Scope());
        }
    }

    private void any(int type, Buffer bytes, Scope scope) throws Refused {
        switch (type) {
            case DataTypes.ARRAY: array(bytes); return;
            case DataTypes.FIELD_LIST: fieldList(bytes, scope); return;
            case DataTypes.ELEMENT_LIST: elementList(bytes, scope); return;
            case DataTypes.MAP: map(bytes); return;
            case DataTypes.VECTOR: vector(bytes); return;
            case DataTypes.SERIES: series(bytes); return;
            case DataTypes.FILTER_LIST: filterList(bytes); return;
            case DataTypes.MSG: msg(bytes); return;
            default: out.append(type < 128 ? value(type, bytes) : text(bytes)); return;
        }
    }

    // ---- lists ----

    private void fieldList(Buffer bytes, Scope scope) throws Refused {
        DecodeIterator it = iterator(bytes);
        FieldList list = CodecFactory.createFieldList();
        FieldEntry entry = CodecFactory.createFieldEntry();
        int code = check("field list", list.decode(it, scope.fields));
        out.append("(FL (fl 0x").append(Integer.toHexString(list.flags())).append(')');
        if (list.checkHasInfo()) {
            add("info", list.dictionaryId(), list.fieldListNum());
        }
        if (list.checkHasSetId()) {
            add("setid", list.setId());
        }
        int sets = list.checkHasSetData() && scope.fields != null && list.setId() < 16 ? scope.count[list.setId()] : -1;
        if (list.checkHasSetData() && sets < 0) {
            add("setraw", text(list.encodedSetData()));
        } else if (list.checkHasSetData()) {
            out.append(" (set");
        }
        int at = 0;
        boolean standard = false;
        while (code != CodecReturnCodes.NO_DATA
            && (code = check("field", entry.decode(it))) != CodecReturnCodes.END_OF_CONTAINER) {
            if (at++ >= Math.max(sets, 0) && !standard) {
                out.append(sets >= 0 ? ") (std" : " (std");
                standard = true;
            }
            out.append(" (f ").append(entry.fieldId());
            content(standard ? fieldType(entry.fieldId()) : entry.dataType(), entry.encodedData());
            out.append(')');
        }
        close(sets, standard, list.checkHasStandardData());
    }

    private void close(int sets, boolean standard, boolean hasStandard) {
        if (sets >= 0 && !standard) {
            out.append(')');
        }
        if (standard) {
            out.append(')');
        } else if (hasStandard) {
            out.append(" (std)");
        }
        out.append(')');
    }

    private void elementList(Buffer bytes, Scope scope) throws Refused {
        DecodeIterator it = iterator(bytes);
        ElementList list = CodecFactory.createElementList();
        ElementEntry entry = CodecFactory.createElementEntry();
        int code = check("element list", list.decode(it, scope.elements));
        out.append("(EL (fl 0x").append(Integer.toHexString(list.flags())).append(')');
        if (list.checkHasInfo()) {
            add("num", list.elementListNum());
        }
        if (list.checkHasSetId()) {
            add("setid", list.setId());
        }
        int sets =
            list.checkHasSetData() && scope.elements != null && list.setId() < 16 ? scope.count[list.setId()] : -1;
        if (list.checkHasSetData() && sets < 0) {
            add("setraw", text(list.encodedSetData()));
        } else if (list.checkHasSetData()) {
            out.append(" (set");
        }
        int at = 0;
        boolean standard = false;
        while (code != CodecReturnCodes.NO_DATA
            && (code = check("element", entry.decode(it))) != CodecReturnCodes.END_OF_CONTAINER) {
            if (at++ >= Math.max(sets, 0) && !standard) {
                out.append(sets >= 0 ? ") (std" : " (std");
                standard = true;
            }
            out.append(" (e ").append(text(entry.name()));
            if (entry.dataType() == DataTypes.NO_DATA) {
                out.append(" NODATA");
            } else {
                content(entry.dataType(), entry.encodedData());
            }
            out.append(')');
        }
        close(sets, standard, list.checkHasStandardData());
    }

    // ---- map, vector, series, filter list ----

    private void container(String head, int type, Buffer bytes, Scope scope) throws Refused {
        out.append(" (").append(head).append(' ');
        if (bytes.length() == 0) {
            out.append('#');
        } else {
            any(type, bytes, scope);
        }
        out.append(')');
    }

    /** A block of definitions as text; the library's own reading of it is tried by the set data. */
    private void definitions(Buffer block, int type, DecodeIterator it, Scope scope) throws Refused {
        boolean fields = type == DataTypes.FIELD_LIST;
        ByteBuffer in = ByteBuffer.wrap(bytes(block));
        if ((!fields && type != DataTypes.ELEMENT_LIST) || block.length() < 2 || in.get(1) == 0) {
            add("setdefs", text(block));
            return;
        }
        in.get();
        int count = in.get() & 0xff;
        out.append(" (setdefs (").append(fields ? "FDB" : "EDB");
        for (int i = 0; i < count; i++) {
            int id = rb15(in);
            int entries = in.get() & 0xff;
            scope.count[id] = entries;
            out.append(" (def ").append(id);
            for (int j = 0; j < entries; j++) {
                if (fields) {
                    out.append(" (").append(in.getShort());
                } else {
                    byte[] name = new byte[rb15(in)];
                    in.get(name);
                    out.append(" (").append(bytesText(name));
                }
                out.append(' ').append(typeName(in.get() & 0xff)).append(')');
            }
            out.append(')');
        }
        out.append("))");
        if (fields) {
            scope.fields = CodecFactory.createLocalFieldSetDefDb();
            check("definitions", scope.fields.decode(it));
        } else {
            scope.elements = CodecFactory.createLocalElementSetDefDb();
            check("definitions", scope.elements.decode(it));
        }
    }

    private static int rb15(ByteBuffer in) {
        int first = in.get() & 0xff;
        return first < 0x80 ? first : (first & 0x7f) << 8 | (in.get() & 0xff);
    }

    private static String action(int action, String... names) {
        return action >= 1 && action <= names.length ? names[action - 1] : Integer.toString(action);
    }

    private void map(Buffer bytes) throws Refused {
        DecodeIterator it = iterator(bytes);
        com.refinitiv.eta.codec.Map map = CodecFactory.createMap();
        MapEntry entry = CodecFactory.createMapEntry();
        Scope scope = new Scope();
        int code = check("map", map.decode(it));
        out.append("(MAP (fl 0x").append(Integer.toHexString(map.flags())).append(')');
        add("ktype", typeName(map.keyPrimitiveType()));
        add("ct", typeName(map.containerType()));
        if (map.checkHasKeyFieldId()) {
            add("keyfid", map.keyFieldId());
        }
        if (map.checkHasSetDefs()) {
            definitions(map.encodedSetDefs(), map.containerType(), it, scope);
        }
        if (map.checkHasSummaryData()) {
            container("summary", map.containerType(), map.encodedSummaryData(), scope);
        }
        if (map.checkHasTotalCountHint()) {
            add("hint", map.totalCountHint());
        }
        while (code != CodecReturnCodes.NO_DATA
            && (code = check("map entry", entry.decode(it, null))) != CodecReturnCodes.END_OF_CONTAINER) {
            out.append(" (me ").append(action(entry.action(), "UPDATE", "ADD", "DELETE"));
            if (entry.checkHasPermData()) {
                add("perm", text(entry.permData()));
            }
            add("key", value(map.keyPrimitiveType(), entry.encodedKey()));
            if (entry.action() != 3 && map.containerType() != DataTypes.NO_DATA) {
                container("data", map.containerType(), entry.encodedData(), scope);
            }
            out.append(')');
        }
        out.append(')');
    }

    private void vector(Buffer bytes) throws Refused {
        DecodeIterator it = iterator(bytes);
        Vector vector = CodecFactory.createVector();
        VectorEntry entry = CodecFactory.createVectorEntry();
        Scope scope = new Scope();
        int code = check("vector", vector.decode(it));
        out.append("(VEC (fl 0x").append(Integer.toHexString(vector.flags())).append(')');
        add("ct", typeName(vector.containerType()));
        if (vector.checkSupportsSorting()) {
            out.append(" (sort)");
        }
        if (vector.checkHasSetDefs()) {
            definitions(vector.encodedSetDefs(), vector.containerType(), it, scope);
        }
        if (vector.checkHasSummaryData()) {
            container("summary", vector.containerType(), vector.encodedSummaryData(), scope);
        }
        if (vector.checkHasTotalCountHint()) {
            add("hint", vector.totalCountHint());
        }
        while (code != CodecReturnCodes.NO_DATA
            && (code = check("vector entry", entry.decode(it))) != CodecReturnCodes.END_OF_CONTAINER) {
            out.append(" (ve ").append(action(entry.action(), "UPDATE", "SET", "CLEAR", "INSERT", "DELETE"));
            out.append(' ').append(entry.index());
            if (entry.checkHasPermData()) {
                add("perm", text(entry.permData()));
            }
            if (entry.action() != 3 && entry.action() != 5 && vector.containerType() != DataTypes.NO_DATA) {
                container("data", vector.containerType(), entry.encodedData(), scope);
            }
            out.append(')');
        }
        out.append(')');
    }

    private void series(Buffer bytes) throws Refused {
        DecodeIterator it = iterator(bytes);
        Series series = CodecFactory.createSeries();
        SeriesEntry entry = CodecFactory.createSeriesEntry();
        Scope scope = new Scope();
        int code = check("series", series.decode(it));
        out.append("(SER (fl 0x").append(Integer.toHexString(series.flags())).append(')');
        add("ct", typeName(series.containerType()));
        if (series.checkHasSetDefs()) {
            definitions(series.encodedSetDefs(), series.containerType(), it, scope);
        }
        if (series.checkHasSummaryData()) {
            container("summary", series.containerType(), series.encodedSummaryData(), scope);
        }
        if (series.checkHasTotalCountHint()) {
            add("hint", series.totalCountHint());
        }
        while (code != CodecReturnCodes.NO_DATA
            && (code = check("series entry", entry.decode(it))) != CodecReturnCodes.END_OF_CONTAINER) {
            out.append(" (se");
            if (series.containerType() != DataTypes.NO_DATA) {
                container("data", series.containerType(), entry.encodedData(), scope);
            }
            out.append(')');
        }
        out.append(')');
    }

    private void filterList(Buffer bytes) throws Refused {
        DecodeIterator it = iterator(bytes);
        FilterList list = CodecFactory.createFilterList();
        FilterEntry entry = CodecFactory.createFilterEntry();
        int code = check("filter list", list.decode(it));
        out.append("(FLT (fl 0x").append(Integer.toHexString(list.flags())).append(')');
        add("ct", typeName(list.containerType()));
        if (list.checkHasTotalCountHint()) {
            add("hint", list.totalCountHint());
        }
        while (code != CodecReturnCodes.NO_DATA
            && (code = check("filter entry", entry.decode(it))) != CodecReturnCodes.END_OF_CONTAINER) {
            int type = entry.checkHasContainerType() ? entry.containerType() : list.containerType();
            out.append(" (fe ").append(action(entry.action(), "UPDATE", "SET", "CLEAR"));
            out.append(' ').append(entry.id());
            if (entry.checkHasContainerType()) {
                add("ct", typeName(type));
            }
            if (entry.checkHasPermData()) {
                add("perm", text(entry.permData()));
            }
            if (entry.action() != 3 && type != DataTypes.NO_DATA) {
                container("data", type, entry.encodedData(), new Scope());
            }
            out.append(')');
        }
        out.append(')');
    }

    // ---- messages ----

    private void key(MsgKey key) throws Refused {
        out.append(" (key (fl 0x").append(Integer.toHexString(key.flags())).append(')');
        if (key.checkHasServiceId()) {
            add("svc", key.serviceId());
        }
        if (key.checkHasName()) {
            add("name", text(key.name()));
        }
        if (key.checkHasNameType() && key.checkHasName()) {
            add("ntype", key.nameType());
        }
        if (key.checkHasFilter()) {
            add("filter", key.filter());
        }
        if (key.checkHasIdentifier()) {
            add("ident", key.identifier());
        }
        if (key.checkHasAttrib()) {
            out.append(" (attrib ").append(typeName(key.attribContainerType())).append(' ');
            if (key.encodedAttrib().length() == 0) {
                out.append('#');
            } else {
                any(key.attribContainerType(), key.encodedAttrib(), new Scope());
            }
            out.append(')');
        }
        out.append(')');
    }

    private void pui(PostUserInfo info) {
        add("pui", info.userAddr(), info.userId());
    }

    private void request(RequestMsg m) throws Refused {
        if (m.checkHasPriority()) {
            add("prio", m.priority().priorityClass(), m.priority().count());
        }
        if (m.checkHasQos()) {
            add("qos", qos(m.qos()));
        }
        if (m.checkHasWorstQos()) {
            add("wqos", qos(m.worstQos()));
        }
        key(m.msgKey());
        if (m.checkHasExtendedHdr()) {
            add("ext", text(m.extendedHeader()));
        }
    }

    private void refresh(RefreshMsg m) throws Refused {
        if (m.checkHasSeqNum()) {
            add("seq", m.seqNum());
        }
        add("state", state(m.state()));
        add("group", text(m.groupId()));
        if (m.checkHasPermData()) {
            add("perm", text(m.permData()));
        }
        if (m.checkHasQos()) {
            add("qos", qos(m.qos()));
        }
        if (m.checkHasMsgKey()) {
            key(m.msgKey());
        }
        if (m.checkHasExtendedHdr()) {
            add("ext", text(m.extendedHeader()));
        }
        if (m.checkHasPostUserInfo()) {
            pui(m.postUserInfo());
        }
        if (m.checkHasPartNum()) {
            add("part", m.partNum());
        }
    }

    private void status(StatusMsg m) throws Refused {
        if (m.checkHasState()) {
            add("state", state(m.state()));
        }
        if (m.checkHasGroupId()) {
            add("group", text(m.groupId()));
        }
        if (m.checkHasPermData()) {
            add("perm", text(m.permData()));
        }
        if (m.checkHasMsgKey()) {
            key(m.msgKey());
        }
        if (m.checkHasExtendedHdr()) {
            add("ext", text(m.extendedHeader()));
        }
        if (m.checkHasPostUserInfo()) {
            pui(m.postUserInfo());
        }
    }

    private void update(UpdateMsg m) throws Refused {
        add("utype", m.updateType());
        if (m.checkHasSeqNum()) {
            add("seq", m.seqNum());
        }
        if (m.checkHasConfInfo()) {
            add("conf", m.conflationCount(), m.conflationTime());
        }
        if (m.checkHasPermData()) {
            add("perm", text(m.permData()));
        }
        if (m.checkHasMsgKey()) {
            key(m.msgKey());
        }
        if (m.checkHasExtendedHdr()) {
            add("ext", text(m.extendedHeader()));
        }
        if (m.checkHasPostUserInfo()) {
            pui(m.postUserInfo());
        }
    }

    private void ack(AckMsg m) throws Refused {
        add("ackid", m.ackId());
        if (m.checkHasNakCode()) {
            add("nak", m.nakCode());
        }
        if (m.checkHasText()) {
            add("text", text(m.text()));
        }
        if (m.checkHasSeqNum()) {
            add("seq", m.seqNum());
        }
        if (m.checkHasMsgKey()) {
            key(m.msgKey());
        }
        if (m.checkHasExtendedHdr()) {
            add("ext", text(m.extendedHeader()));
        }
    }

    private void generic(GenericMsg m) throws Refused {
        if (m.checkHasSeqNum()) {
            add("seq", m.seqNum());
        }
        if (m.checkHasSecondarySeqNum()) {
            add("seq2", m.secondarySeqNum());
        }
        if (m.checkHasPermData()) {
            add("perm", text(m.permData()));
        }
        if (m.checkHasMsgKey()) {
            key(m.msgKey());
        }
        if (m.checkHasExtendedHdr()) {
            add("ext", text(m.extendedHeader()));
        }
        if (m.checkHasPartNum()) {
            add("part", m.partNum());
        }
    }

    private void post(PostMsg m) throws Refused {
        pui(m.postUserInfo());
        if (m.checkHasSeqNum()) {
            add("seq", m.seqNum());
        }
        if (m.checkHasPostId()) {
            add("postid", m.postId());
        }
        if (m.checkHasPermData()) {
            add("perm", text(m.permData()));
        }
        if (m.checkHasMsgKey()) {
            key(m.msgKey());
        }
        if (m.checkHasExtendedHdr()) {
            add("ext", text(m.extendedHeader()));
        }
        if (m.checkHasPartNum()) {
            add("part", m.partNum());
        }
        if (m.checkHasPostUserRights()) {
            add("rights", m.postUserRights());
        }
    }

    private void msg(Buffer bytes) throws Refused {
        String[] heads = { "", "request", "refresh", "status", "update", "close", "ack", "generic", "post" };
        Msg m = CodecFactory.createMsg();
        check("message", m.decode(iterator(bytes)));
        if (m.msgClass() < 1 || m.msgClass() >= heads.length) {
            throw new Refused("message class " + m.msgClass(), CodecReturnCodes.FAILURE);
        }
        out.append('(').append(heads[m.msgClass()]);
        add("dom", m.domainType());
        add("sid", m.streamId());
        add("fl", "0x" + Integer.toHexString(m.flags()));
        add("ct", typeName(m.containerType()));
        switch (m.msgClass()) {
            case MsgClasses.REQUEST: request((RequestMsg) m); break;
            case MsgClasses.REFRESH: refresh((RefreshMsg) m); break;
            case MsgClasses.STATUS: status((StatusMsg) m); break;
            case MsgClasses.UPDATE: update((UpdateMsg) m); break;
            case MsgClasses.ACK: ack((AckMsg) m); break;
            case MsgClasses.GENERIC: generic((GenericMsg) m); break;
            case MsgClasses.POST: post((PostMsg) m); break;
            default:
                if ((m.flags() & 1) != 0) {
                    add("ext", text(m.extendedHeader()));
                }
                break;
        }
        if (m.encodedDataBody().length() > 0) {
            container("body", m.containerType(), m.encodedDataBody(), new Scope());
        }
        out.append(')');
    }
}
