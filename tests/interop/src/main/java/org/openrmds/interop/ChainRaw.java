/* ChainRaw.java - what only applications without a watch list send: ETA's codec and transport. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.eta.codec.Array;
import com.refinitiv.eta.codec.ArrayEntry;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CloseMsg;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.ElementEntry;
import com.refinitiv.eta.codec.ElementList;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.Int;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.RequestMsg;
import com.refinitiv.eta.codec.RequestMsgFlags;
import com.refinitiv.eta.codec.State;
import com.refinitiv.eta.codec.StatusMsg;
import com.refinitiv.eta.codec.UInt;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.Predicate;

public final class ChainRaw {
    private ChainRaw() {}

    private static final int STREAMING = RequestMsgFlags.STREAMING;
    private static final int NO_REFRESH = RequestMsgFlags.NO_REFRESH;
    private static final int LOGIN = 1;
    private static final int SOURCE = 4;
    private static final int MARKET_PRICE = 6;
    private static ChainProvider provider;
    private static int serviceId;

    record Got(int kind, int stream, int domain, int flags, String name, int[] state, int length) {
        boolean isState(int streamState, int data, int code) {
            return state != null && state[0] == streamState && state[1] == data && state[2] == code;
        }

        boolean isRefresh(int id) {
            return kind == MsgClasses.REFRESH && stream == id;
        }

        boolean isUpdate() {
            return kind == MsgClasses.UPDATE;
        }

        boolean isUpdate(int id) {
            return kind == MsgClasses.UPDATE && stream == id;
        }

        boolean isStatus(int id) {
            return kind == MsgClasses.STATUS && stream == id;
        }

        /* Of refreshes and updates. */
        boolean hasPermission() {
            return (flags & 0x02) != 0;
        }

        boolean isSolicited() {
            return (flags & 0x20) != 0;
        }
    }

    /* Looks at the payload of a message; the iterator stands at its beginning. */
    interface Judge {
        void look(Msg msg, DecodeIterator payload);
    }

    /* One connection. */
    static final class Raw implements AutoCloseable {
        final Eta.Link link = Eta.connect(Eta.connectOptions(Integer.parseInt(ChainKit.port("P2PS"))));
        final ArrayDeque<Got> got = new ArrayDeque<>();
        final ArrayDeque<byte[]> generics = new ArrayDeque<>(); /* as they came */
        Judge judge = (msg, payload) -> {};
        boolean isGone;

        Raw() {
            long end = System.nanoTime() + ChainKit.SECONDS * 1_000_000_000L;
            while (!link.isOpen() && !link.failed && System.nanoTime() < end) {
                link.advance();
                Eta.rest();
            }
            check(link.isOpen(), "no connection");
        }

        static Raw loggedIn() {
            Raw raw = new Raw();
            raw.request(1, LOGIN, STREAMING, "raw", null, 0);
            Got login = raw.await("login refresh", g -> g.isRefresh(1));
            check(login.isState(1, 1, 0) && login.isSolicited(), "login: " + login);
            return raw;
        }

        void take(byte[] bytes) {
            Buffer buffer = CodecFactory.createBuffer();
            buffer.data(ByteBuffer.wrap(bytes));
            DecodeIterator iterator = CodecFactory.createDecodeIterator();
            iterator.setBufferAndRWFVersion(buffer, 14, 1);
            Msg msg = CodecFactory.createMsg();
            Eta.check(msg.decode(iterator), "decode");
            if (msg.msgClass() == MsgClasses.GENERIC) generics.add(bytes);
            State state = null;
            int flags = msg.flags();
            if (msg.msgClass() == MsgClasses.REFRESH) state = ((RefreshMsg) msg).state();
            else if (msg.msgClass() == MsgClasses.STATUS && ((StatusMsg) msg).checkHasState())
                state = ((StatusMsg) msg).state();
            boolean hasName = msg.msgKey() != null && msg.msgKey().checkHasName();
            got.add(
                    new Got(
                            msg.msgClass(),
                            msg.streamId(),
                            msg.domainType(),
                            flags,
                            hasName ? msg.msgKey().name().toString() : null,
                            state == null
                                    ? null
                                    : new int[] {
                                        state.streamState(), state.dataState(), state.code()
                                    },
                            bytes.length));
            judge.look(msg, iterator);
        }

        boolean pump() {
            if (!isGone && !link.read(this::take)) isGone = true;
            return !isGone;
        }

        Got poll(Predicate<Got> wanted) {
            pump();
            for (Got one : got) {
                if (!wanted.test(one)) continue;
                got.remove(one);
                return one;
            }
            return null;
        }

        Got await(String what, Predicate<Got> wanted) {
            long end = System.nanoTime() + ChainKit.SECONDS * 1_000_000_000L;
            for (; ; ) {
                Got found = poll(wanted);
                if (found != null) return found;
                check(!isGone, "the connection is gone; no " + what + " in " + got);
                check(System.nanoTime() < end, "no " + what + " in " + got);
                Eta.rest();
            }
        }

        byte[] awaitBytes(String what, int kind) {
            await(what, g -> g.kind == kind);
            return generics.removeFirst();
        }

        void awaitEnd() {
            long end = System.nanoTime() + ChainKit.SECONDS * 1_000_000_000L;
            while (pump()) {
                check(System.nanoTime() < end, "the connection is still there");
                Eta.rest();
            }
        }

        void request(int stream, int domain, int flags, String name, Buffer payload, int service) {
            RequestMsg msg = (RequestMsg) CodecFactory.createMsg();
            msg.msgClass(MsgClasses.REQUEST);
            msg.streamId(stream);
            msg.domainType(domain);
            msg.flags(flags);
            msg.containerType(payload == null ? DataTypes.NO_DATA : DataTypes.ELEMENT_LIST);
            if (payload != null) msg.encodedDataBody(payload);
            if (name != null) {
                Buffer text = CodecFactory.createBuffer();
                text.data(name);
                msg.msgKey().applyHasName();
                msg.msgKey().name(text);
            }
            if (domain == SOURCE) {
                msg.msgKey().applyHasFilter();
                msg.msgKey().filter(63);
            }
            if (service != 0) {
                msg.msgKey().applyHasServiceId();
                msg.msgKey().serviceId(service);
            }
            if ((flags & RequestMsgFlags.HAS_QOS) != 0) {
                msg.qos().timeliness(3);
                msg.qos().timeInfo(1000);
                msg.qos().rate(1);
            }
            send(msg);
        }

        void login(String user, Buffer attributes) {
            RequestMsg msg = (RequestMsg) CodecFactory.createMsg();
            Buffer name = CodecFactory.createBuffer();
            name.data(user);
            msg.msgClass(MsgClasses.REQUEST);
            msg.streamId(1);
            msg.domainType(LOGIN);
            msg.flags(STREAMING);
            msg.containerType(DataTypes.NO_DATA);
            msg.msgKey().applyHasName();
            msg.msgKey().name(name);
            msg.msgKey().applyHasAttrib();
            msg.msgKey().attribContainerType(DataTypes.ELEMENT_LIST);
            msg.msgKey().encodedAttrib(attributes);
            send(msg);
        }

        void item(int stream, int flags, String name) {
            request(stream, MARKET_PRICE, flags, name, null, serviceId);
        }

        void close(int stream, int domain) {
            CloseMsg msg = (CloseMsg) CodecFactory.createMsg();
            msg.msgClass(MsgClasses.CLOSE);
            msg.streamId(stream);
            msg.domainType(domain);
            msg.containerType(DataTypes.NO_DATA);
            send(msg);
        }

        void send(Msg msg) {
            ByteBuffer bytes = ByteBuffer.allocate(8192);
            Buffer buffer = CodecFactory.createBuffer();
            buffer.data(bytes);
            EncodeIterator iterator = CodecFactory.createEncodeIterator();
            iterator.setBufferAndRWFVersion(buffer, 14, 1);
            Eta.check(msg.encode(iterator), "encode");
            byte[] out = new byte[buffer.length()];
            ByteBuffer from = buffer.data().duplicate();
            from.position(buffer.position());
            from.get(out);
            link.send(out, this::take);
        }

        @Override
        public void close() {
            link.close();
        }
    }

    static Buffer attributes(String element, long value) {
        Buffer buffer = CodecFactory.createBuffer();
        buffer.data(ByteBuffer.allocate(256));
        EncodeIterator iterator = CodecFactory.createEncodeIterator();
        iterator.setBufferAndRWFVersion(buffer, 14, 1);
        ElementList list = CodecFactory.createElementList();
        list.applyHasStandardData();
        Eta.check(list.encodeInit(iterator, null, 0), "list");
        ElementEntry entry = CodecFactory.createElementEntry();
        Buffer name = CodecFactory.createBuffer();
        name.data(element);
        entry.name(name);
        entry.dataType(DataTypes.UINT);
        UInt number = CodecFactory.createUInt();
        number.value(value);
        Eta.check(entry.encode(iterator, number), element);
        Eta.check(list.encodeComplete(iterator, true), "list");
        return buffer;
    }

    /* :ItemList and, with fields, a view. */
    private static Buffer elements(List<String> items, int... fields) {
        Buffer buffer = CodecFactory.createBuffer();
        buffer.data(ByteBuffer.allocate(4096));
        EncodeIterator iterator = CodecFactory.createEncodeIterator();
        iterator.setBufferAndRWFVersion(buffer, 14, 1);
        ElementList list = CodecFactory.createElementList();
        list.applyHasStandardData();
        Eta.check(list.encodeInit(iterator, null, 0), "list");
        if (items != null) array(iterator, ":ItemList", DataTypes.ASCII_STRING, items);
        if (fields.length > 0) {
            ElementEntry entry = CodecFactory.createElementEntry();
            Buffer name = CodecFactory.createBuffer();
            name.data(":ViewType");
            entry.name(name);
            entry.dataType(DataTypes.UINT);
            UInt type = CodecFactory.createUInt();
            type.value(1);
            Eta.check(entry.encode(iterator, type), "view type");
            array(
                    iterator,
                    ":ViewData",
                    DataTypes.INT,
                    java.util.Arrays.stream(fields).boxed().toList());
        }
        Eta.check(list.encodeComplete(iterator, true), "list");
        return buffer;
    }

    private static void array(EncodeIterator iterator, String name, int type, List<?> values) {
        ElementEntry entry = CodecFactory.createElementEntry();
        Buffer text = CodecFactory.createBuffer();
        text.data(name);
        entry.name(text);
        entry.dataType(DataTypes.ARRAY);
        Eta.check(entry.encodeInit(iterator, 0), name);
        Array array = CodecFactory.createArray();
        array.primitiveType(type);
        array.itemLength(type == DataTypes.INT ? 2 : 0);
        Eta.check(array.encodeInit(iterator), name);
        ArrayEntry one = CodecFactory.createArrayEntry();
        for (Object value : values) {
            if (value instanceof Integer number) {
                Int integer = CodecFactory.createInt();
                integer.value(number);
                Eta.check(one.encode(iterator, integer), name);
            } else {
                Buffer string = CodecFactory.createBuffer();
                string.data((String) value);
                Eta.check(one.encode(iterator, string), name);
            }
        }
        Eta.check(array.encodeComplete(iterator, true), name);
        Eta.check(entry.encodeComplete(iterator, true), name);
    }

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        /* An EMA consumer tells us the id of the service. */
        ChainKit.Consumer consumer = new ChainKit.Consumer();
        consumer.open("ID");
        consumer.awaitRefresh("ID");
        serviceId = consumer.serviceId();
        report.test("nothing goes before the login", ChainRaw::beforeLogin);
        report.test("login again, and logout", ChainRaw::loginAgain);
        report.test("permission data are for who did not decline them", ChainRaw::permissions);
        report.test("round trips are measured for who asks", ChainRaw::roundTrips);
        report.test("a second login stream is refused", ChainRaw::secondLogin);
        report.test("keys in updates", ChainRaw::keys);
        report.test("no refresh wanted", ChainRaw::noRefresh);
        report.test("pause of one and of all", ChainRaw::pause);
        report.test("a batch is one request", ChainRaw::batch);
        report.test("a batch with a view", ChainRaw::batchView);
        report.test("a batch without items is refused", ChainRaw::badBatch);
        report.test("an item may be open twice", ChainRaw::twice);
        report.test("another quality of service is refused", ChainRaw::badQos);
        report.test("a service id nobody has is refused", ChainRaw::badService);
        report.test("a re-issue may not change the item", ChainRaw::badReissue);
        report.test("closes of unknown streams are passed over", ChainRaw::unknownClose);
        report.test("garbage ends its own connection only", () -> garbage(consumer));
        consumer.close();
        provider.close();
        report.end();
    }

    private static void beforeLogin() {
        try (Raw raw = new Raw()) {
            raw.item(5, STREAMING, "RAW");
            Got got = raw.await("status", g -> g.isStatus(5));
            check(got.state[0] == 3 && got.state[1] == 2, "" + got);
        }
    }

    private static void loginAgain() {
        try (Raw raw = Raw.loggedIn()) {
            raw.request(1, LOGIN, STREAMING, "raw", null, 0);
            check(raw.await("second refresh", g -> g.isRefresh(1)).isSolicited(), "solicited");
            raw.request(2, SOURCE, STREAMING, null, null, 0);
            raw.await("directory", g -> g.isRefresh(2) && g.domain == SOURCE);
            raw.item(5, STREAMING, "OUT");
            raw.await("refresh", g -> g.isRefresh(5));
            raw.close(1, LOGIN);
            raw.awaitEnd();
        }
        provider.await("close", l -> l.equals("close OUT"));
    }

    /* ProvidePermissionExpressions 0 in the login: the same messages without permission data. */
    private static void permissions() {
        try (Raw with = Raw.loggedIn();
                Raw without = new Raw()) {
            without.login("bare", attributes("ProvidePermissionExpressions", 0));
            without.await("login refresh", g -> g.isRefresh(1));
            for (Raw raw : List.of(with, without)) {
                raw.item(5, STREAMING, "PERM");
                Got image = raw.await("refresh", g -> g.isRefresh(5));
                check(image.hasPermission() == (raw == with), "permission data of " + image);
            }
            provider.publish("PERM", 1);
            for (Raw raw : List.of(with, without)) {
                Got update = raw.await("update", g -> g.isUpdate(5));
                check(update.hasPermission() == (raw == with), "permission data of " + update);
            }
        }
    }

    /* RoundTripLatency 2 in the login: the message with the server's clock goes back at once. */
    private static void roundTrips() {
        try (Raw raw = new Raw()) {
            raw.login("rtt", attributes("RoundTripLatency", 2));
            raw.await("login refresh", g -> g.isRefresh(1));
            for (int round = 0; round < 2; round++) {
                byte[] asked = raw.awaitBytes("round trip", MsgClasses.GENERIC);
                boolean told =
                        new String(asked, StandardCharsets.ISO_8859_1).contains("RoundTripLatency");
                check(told == (round == 1), "the latency in round " + round);
                raw.link.send(asked, raw::take);
            }
        }
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING, "NORTT");
            raw.await("refresh", g -> g.isRefresh(5));
            check(raw.poll(g -> g.kind == MsgClasses.GENERIC) == null, "nobody asked");
        }
    }

    private static void secondLogin() {
        try (Raw raw = Raw.loggedIn()) {
            raw.request(9, LOGIN, STREAMING, "raw", null, 0);
            Got got = raw.await("refusal", g -> g.isStatus(9));
            check(got.isState(4, 2, 5), "" + got);
            raw.item(5, STREAMING, "STILL");
            raw.await("refresh", g -> g.isRefresh(5));
        }
    }

    private static void keys() {
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING | RequestMsgFlags.MSG_KEY_IN_UPDATES, "KEYS");
            raw.item(6, STREAMING, "KEYS");
            Got image = raw.await("refresh", g -> g.isRefresh(5));
            check("KEYS".equals(image.name) && image.isSolicited(), "" + image);
            raw.await("refresh", g -> g.isRefresh(6));
            provider.publish("KEYS", 1);
            Got with = raw.await("update", g -> g.isUpdate(5));
            check("KEYS".equals(with.name), "no key: " + with);
            Got without = raw.await("update", g -> g.isUpdate(6));
            check(without.name == null, "a key nobody asked for: " + without);
        }
    }

    private static void noRefresh() {
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING, "QUIET");
            raw.await("refresh", g -> g.isRefresh(5));
            raw.item(6, STREAMING | NO_REFRESH, "QUIET");
            raw.item(7, STREAMING, "QUIET.MARK");
            raw.await("refresh", g -> g.isRefresh(7));
            provider.publish("QUIET", 1);
            raw.await("update", g -> g.isUpdate(6));
            check(raw.poll(g -> g.isRefresh(6)) == null, "a refresh");
        }
    }

    private static void pause() {
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING, "P1");
            raw.item(6, STREAMING, "P2");
            raw.await("refresh", g -> g.isRefresh(5));
            raw.await("refresh", g -> g.isRefresh(6));
            raw.item(5, STREAMING | NO_REFRESH | RequestMsgFlags.PAUSE, "P1");
            raw.item(7, STREAMING, "P3");
            raw.await("refresh", g -> g.isRefresh(7));
            provider.publish("P1", 1);
            provider.publish("P2", 1);
            raw.await("update of the other", g -> g.isUpdate(6));
            check(raw.poll(g -> g.isUpdate(5)) == null, "an update of a paused item");
            raw.item(5, STREAMING, "P1");
            raw.await("refresh at resume", g -> g.isRefresh(5));
            int all = STREAMING | NO_REFRESH;
            raw.request(1, LOGIN, all | RequestMsgFlags.PAUSE, "raw", null, 0);
            raw.item(8, STREAMING, "P4");
            raw.await("refresh", g -> g.isRefresh(8));
            provider.publish("P1", 1);
            provider.publish("P2", 1);
            raw.item(9, STREAMING, "P5");
            raw.await("refresh", g -> g.isRefresh(9));
            check(raw.poll(g -> g.kind == MsgClasses.UPDATE) == null, "an update while paused");
            raw.request(1, LOGIN, all, "raw", null, 0);
            raw.await("what P1 missed", g -> g.isRefresh(5) || g.isUpdate(5));
            raw.await("what P2 missed", g -> g.isRefresh(6) || g.isUpdate(6));
            provider.publish("P2", 1);
            raw.await("update", g -> g.isUpdate(6));
        }
    }

    private static void batch() {
        try (Raw raw = Raw.loggedIn()) {
            List<String> names = List.of("B1", "NONE.B", "B3");
            raw.request(
                    10,
                    MARKET_PRICE,
                    STREAMING | RequestMsgFlags.HAS_BATCH,
                    null,
                    elements(names),
                    serviceId);
            Got end = raw.await("end of the batch", g -> g.isStatus(10));
            check(end.state[0] == 4, "" + end);
            check("B1".equals(raw.await("B1", g -> g.isRefresh(11)).name), "stream 11");
            check(raw.await("NONE.B", g -> g.isStatus(12)).isState(4, 2, 1), "stream 12");
            check("B3".equals(raw.await("B3", g -> g.isRefresh(13)).name), "stream 13");
            provider.publish("B3", 1);
            raw.await("update", g -> g.isUpdate(13));
        }
    }

    private static void batchView() {
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING, "BV1");
            int whole = raw.await("whole", g -> g.isRefresh(5)).length;
            raw.request(
                    10,
                    MARKET_PRICE,
                    STREAMING | RequestMsgFlags.HAS_BATCH | RequestMsgFlags.HAS_VIEW,
                    null,
                    elements(List.of("BV1", "BV2"), 22),
                    serviceId);
            raw.await("end of the batch", g -> g.isStatus(10));
            for (int stream = 11; stream <= 12; stream++) {
                int id = stream;
                Got got = raw.await("refresh", g -> g.isRefresh(id));
                check(got.length < whole, "not the view: " + got + ", whole: " + whole);
            }
        }
    }

    private static void badBatch() {
        try (Raw raw = Raw.loggedIn()) {
            int flags = STREAMING | RequestMsgFlags.HAS_BATCH;
            raw.request(10, MARKET_PRICE, flags, null, elements(null, 22), serviceId);
            Got got = raw.await("refusal", g -> g.isStatus(10));
            check(got.isState(4, 2, 23), "" + got);
        }
    }

    private static void twice() {
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING, "TWICE");
            raw.item(6, STREAMING, "TWICE");
            raw.await("refresh", g -> g.isRefresh(5));
            raw.await("refresh", g -> g.isRefresh(6));
            provider.publish("TWICE", 1);
            raw.await("update", g -> g.isUpdate(5));
            raw.await("update", g -> g.isUpdate(6));
            raw.close(5, MARKET_PRICE);
            raw.item(7, STREAMING, "TWICE.MARK");
            raw.await("refresh", g -> g.isRefresh(7));
            provider.publish("TWICE", 1);
            raw.await("update", g -> g.isUpdate(6));
            check(raw.poll(g -> g.isUpdate(5)) == null, "an update of a closed stream");
        }
    }

    private static void badQos() {
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING | RequestMsgFlags.HAS_QOS, "QOS");
            Got got = raw.await("refusal", g -> g.isStatus(5));
            check(got.isState(4, 2, 5), "" + got);
        }
    }

    private static void badService() {
        try (Raw raw = Raw.loggedIn()) {
            raw.request(5, MARKET_PRICE, STREAMING, "X", null, 64999);
            Got got = raw.await("refusal", g -> g.isStatus(5));
            check(got.isState(4, 2, 15), "" + got);
        }
    }

    private static void badReissue() {
        try (Raw raw = Raw.loggedIn()) {
            raw.item(5, STREAMING, "R1");
            raw.await("refresh", g -> g.isRefresh(5));
            raw.item(5, STREAMING, "R2");
            Got got = raw.await("refusal", g -> g.isStatus(5));
            check(got.isState(4, 2, 5), "" + got);
        }
    }

    private static void unknownClose() {
        try (Raw raw = Raw.loggedIn()) {
            raw.close(77, MARKET_PRICE);
            raw.close(78, SOURCE);
            raw.item(5, STREAMING, "AFTER");
            raw.await("refresh", g -> g.isRefresh(5));
        }
    }

    private static void garbage(ChainKit.Consumer consumer) {
        for (int length : new int[] {1, 2, 6, 40}) {
            try (Raw raw = Raw.loggedIn()) {
                byte[] bytes = new byte[length];
                java.util.Arrays.fill(bytes, (byte) 0xEE);
                raw.link.send(bytes, raw::take);
                raw.awaitEnd();
            }
        }
        provider.publish("ID", 1);
        consumer.awaitCounter("ID", 1, ChainKit.SECONDS);
    }
}
