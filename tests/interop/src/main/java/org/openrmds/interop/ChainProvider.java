/* ChainProvider.java - an EMA interactive provider whose items do as their names say. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.ema.access.ComplexType;
import com.refinitiv.ema.access.DataType;
import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FilterEntry;
import com.refinitiv.ema.access.FilterList;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.MapEntry;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmIProviderConfig;
import com.refinitiv.ema.access.OmmProvider;
import com.refinitiv.ema.access.OmmProviderClient;
import com.refinitiv.ema.access.OmmProviderEvent;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.PostMsg;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/*
 * NONE.*    is not known         DENY.*   may not be seen       SILENT.* gets no answer
 * PARTS.*   has an image in three parts                         RETRY.*  closed-recover once
 * GROUP<n>.* are of item group n        RIP.*, PAGE.*, ROWS.* see ChainKit.payload()
 * MF.* are records of Marketfeed
 * others    have an image and as many updates as publish() makes
 */
final class ChainProvider implements OmmProviderClient, AutoCloseable {
    static final class Item {
        long handle;
        String name;
        String service;
        int domain;
        long count;
        boolean isPrivate;
        boolean isStreaming;
        long client;
    }

    /* What its service serves: all that have a name, and one of nobody but us. */
    static final int[] DOMAINS = {
        EmaRdm.MMT_MARKET_PRICE,
        EmaRdm.MMT_MARKET_BY_ORDER,
        EmaRdm.MMT_MARKET_BY_PRICE,
        EmaRdm.MMT_MARKET_MAKER,
        EmaRdm.MMT_SYMBOL_LIST,
        EmaRdm.MMT_YIELD_CURVE,
        200
    };

    private final OmmProvider provider;
    private final Map<Long, Item> items = new LinkedHashMap<>();
    private final List<String> log = new ArrayList<>();
    private final Map<String, Long> counters;
    private final Map<String, byte[]> locks = new LinkedHashMap<>();
    private final Map<String, Integer> refused = new LinkedHashMap<>();
    private final Thread dispatcher = new Thread(this::dispatch, "provider");
    private volatile boolean isClosing;
    private int serviceId;

    ChainProvider() {
        this(new LinkedHashMap<>());
    }

    /* `counters` outlive the provider: a restarted one goes on where the old one was. */
    ChainProvider(Map<String, Long> counters) {
        this.counters = counters;
        provider =
                EmaFactory.createOmmProvider(
                        EmaFactory.createOmmIProviderConfig(configuration())
                                .port(ChainKit.port("PROVIDER"))
                                .operationModel(OmmIProviderConfig.OperationModel.USER_DISPATCH)
                                .providerName("Provider"),
                        this);
        dispatcher.start();
    }

    /*
     * The library calls us with its own lock held, and takes it in submit(). With a thread of its own
     * that was a deadlock with who submits from here; so our lock always comes first.
     */
    private void dispatch() {
        while (!isClosing) {
            boolean more;
            synchronized (this) {
                more =
                        provider.dispatch(OmmProvider.DispatchTimeout.NO_WAIT)
                                == OmmProvider.DispatchReturn.DISPATCHED;
            }
            if (!more) LockSupport.parkNanos(200000);
        }
    }

    private static String value(String name, Object what) {
        return "<" + name + " value=\"" + what + "\"/>";
    }

    /* The library's own configuration, but for the domains: of its default it serves not all. */
    private static String configuration() {
        StringBuilder domains =
                new StringBuilder(value("CapabilitiesEntry", EmaRdm.MMT_DICTIONARY));
        for (int domain : DOMAINS) domains.append(value("CapabilitiesEntry", domain));
        String text =
                "<?xml version=\"1.0\"?><EmaConfig><IProviderGroup><IProviderList><IProvider>"
                        + value("Name", "Provider") + value("Directory", "Directory")
                        + "</IProvider></IProviderList></IProviderGroup>"
                        + "<DictionaryGroup><DictionaryList><Dictionary>"
                        + value("Name", "Dictionary")
                        + value("DictionaryType", "DictionaryType::FileDictionary")
                        + value("RdmFieldDictionaryFileName", "./RDMFieldDictionary")
                        + value("EnumTypeDefFileName", "./enumtype.def")
                        + value("RdmFieldDictionaryItemName", "RWFFld")
                        + value("EnumTypeDefItemName", "RWFEnum")
                        + "</Dictionary></DictionaryList></DictionaryGroup>"
                        + "<DirectoryGroup><DirectoryList><Directory>" + value("Name", "Directory")
                        + "<Service>" + value("Name", ChainKit.SERVICE)
                        + "<InfoFilter>" + value("ServiceId", 1) + value("Vendor", "openrmds")
                        + value("IsSource", 0) + value("AcceptingConsumerStatus", 0)
                        + value("ItemList", "") + value("SupportsQoSRange", 0)
                        + value("SupportsOutOfBandSnapshots", 1) + "<QoS><QoSEntry>"
                        + value("Timeliness", "Timeliness::RealTime")
                        + value("Rate", "Rate::TickByTick") + "</QoSEntry></QoS>"
                        + "<Capabilities>" + domains + "</Capabilities><DictionariesProvided>"
                        + value("DictionariesProvidedEntry", "Dictionary")
                        + "</DictionariesProvided><DictionariesUsed>"
                        + value("DictionariesUsedEntry", "Dictionary") + "</DictionariesUsed></InfoFilter>"
                        + "<StateFilter>" + value("ServiceState", 1) + value("AcceptingRequests", 1)
                        + "</StateFilter></Service></Directory></DirectoryList></DirectoryGroup>"
                        + "</EmaConfig>";
        try {
            return Files.writeString(Path.of("EmaProvider.xml"), text).toString();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    synchronized Item item(String name) {
        for (Item item : items.values()) if (item.name.equals(name)) return item;
        return null;
    }

    synchronized int openItems() {
        return items.size();
    }

    /* What happened, one line each: "req NAME", "reissue NAME", "close NAME", "post ..." */
    synchronized int count(Predicate<String> wanted) {
        return (int) log.stream().filter(wanted).count();
    }

    void await(String what, Predicate<String> wanted) {
        await(what, 1, wanted);
    }

    /* Each line is looked at once: ten thousand awaited ones must not cost ten thousand walks of the log. */
    synchronized void await(String what, int times, Predicate<String> wanted) {
        long end = System.nanoTime() + ChainKit.SECONDS * 1000000000L;
        int looked = 0;
        int found = 0;
        while (true) {
            for (; looked < log.size(); looked++) if (wanted.test(log.get(looked))) found++;
            if (found >= times) return;
            long left = (end - System.nanoTime()) / 1000000;
            if (left <= 0)
                throw new IllegalStateException("the provider saw no " + what + ": " + tail());
            try {
                wait(left);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    synchronized String tail() {
        return log.subList(Math.max(0, log.size() - 20), log.size()).toString();
    }

    private void note(String line) {
        log.add(line);
        notifyAll();
    }

    /* `updates` more for the item. */
    synchronized void publish(String name, int updates) {
        Item item = item(name);
        ChainKit.check(item != null, "the provider has no item " + name);
        for (int i = 0; i < updates; i++) update(item);
    }

    /* The permission data of the item, in hexadecimal digits: of its images from now on. */
    synchronized void lock(String name, String hex) {
        locks.put(name, HexFormat.of().parseHex(hex));
    }

    /* And told now to who has the item, by a status. (The library sends none without a state.) */
    synchronized void changeLock(String name, String hex) {
        lock(name, hex);
        Item item = item(name);
        provider.submit(
                EmaFactory.createStatusMsg()
                        .domainType(item.domain)
                        .serviceName(item.service)
                        .name(item.name)
                        .state(OmmState.StreamState.OPEN, OmmState.DataState.OK, 0, "another lock")
                        .permissionData(ByteBuffer.wrap(locks.get(name))),
                item.handle);
    }

    /* An update with permission data of its own. */
    synchronized void publishLocked(String name, String hex) {
        Item item = item(name);
        item.count++;
        counters.put(item.name, item.count);
        provider.submit(
                EmaFactory.createUpdateMsg()
                        .domainType(item.domain)
                        .permissionData(ByteBuffer.wrap(HexFormat.of().parseHex(hex)))
                        .payload(ChainKit.payload(item.name, item.count, false)),
                item.handle);
    }

    synchronized void publishAll() {
        for (Item item : items.values()) if (item.isStreaming) update(item);
    }

    private void update(Item item) {
        item.count++;
        counters.put(item.name, item.count);
        UpdateMsg msg =
                EmaFactory.createUpdateMsg()
                        .domainType(item.domain)
                        .payload(ChainKit.payload(item.name, item.count, false));
        if (item.name.startsWith("MF."))
            RecordPayload.put(msg, ChainKit.record(item.name, item.count, false));
        if (item.name.startsWith("PERM")) msg.permissionData(permission());
        provider.submit(msg, item.handle);
    }

    private static ByteBuffer permission() {
        return ByteBuffer.wrap("7".getBytes(StandardCharsets.US_ASCII));
    }

    synchronized void refresh(String name, boolean solicited) {
        image(item(name), solicited);
    }

    private void image(Item item, boolean solicited) {
        RefreshMsg msg =
                EmaFactory.createRefreshMsg()
                        .domainType(item.domain)
                        .serviceName(item.service)
                        .name(item.name)
                        .solicited(solicited)
                        .complete(true)
                        .clearCache(true)
                        .privateStream(item.isPrivate)
                        .state(
                                item.isStreaming
                                        ? OmmState.StreamState.OPEN
                                        : OmmState.StreamState.NON_STREAMING,
                                OmmState.DataState.OK,
                                OmmState.StatusCode.NONE,
                                "all is well")
                        .payload(ChainKit.payload(item.name, item.count, true));
        if (item.name.startsWith("MF."))
            RecordPayload.put(msg, ChainKit.record(item.name, item.count, true));
        if (item.name.startsWith("PERM")) msg.permissionData(permission());
        if (locks.containsKey(item.name))
            msg.permissionData(ByteBuffer.wrap(locks.get(item.name)));
        if (item.name.startsWith("GROUP")) msg.itemGroup(groupId(item.name.charAt(5) - '0'));
        provider.submit(msg, item.handle);
        if (!item.isStreaming) items.remove(item.handle);
    }

    /* The image of domain MARKET_BY_ORDER in three parts: a map with one order in each. */
    private void parts(Item item) {
        for (int part = 0; part < 3; part++) {
            com.refinitiv.ema.access.Map map =
                    ChainKit.map(
                            DataType.DataTypes.ASCII,
                            EmaFactory.createMapEntry()
                                    .keyAscii(
                                            "order" + part,
                                            MapEntry.MapAction.ADD,
                                            ChainKit.fields(item.name, part, false)));
            provider.submit(
                    EmaFactory.createRefreshMsg()
                            .domainType(item.domain)
                            .serviceName(item.service)
                            .name(item.name)
                            .solicited(true)
                            .partNum(part)
                            .clearCache(part == 0)
                            .complete(part == 2)
                            .state(OmmState.StreamState.OPEN, OmmState.DataState.OK)
                            .payload(map),
                    item.handle);
        }
    }

    synchronized void status(String name, int stream, int data, int code, String text) {
        Item item = item(name);
        statusTo(item.handle, item, stream, data, code, text);
        if (stream != OmmState.StreamState.OPEN) items.remove(item.handle);
    }

    private void statusTo(long handle, Item item, int stream, int data, int code, String text) {
        provider.submit(
                EmaFactory.createStatusMsg()
                        .domainType(item.domain)
                        .serviceName(item.service)
                        .name(item.name)
                        .privateStream(item.isPrivate)
                        .state(stream, data, code, text),
                handle);
    }

    synchronized void generic(String name, String keyName, String text) {
        Item item = item(name);
        provider.submit(
                EmaFactory.createGenericMsg()
                        .domainType(item.domain)
                        .name(keyName)
                        .payload(
                                ChainKit.elements(
                                        EmaFactory.createElementEntry().ascii("Text", text))),
                item.handle);
    }

    /* A change of the service, to all: STATE with an optional Status, or its end. */
    synchronized void serviceState(boolean isUp, OmmStateText status) {
        ElementList state =
                ChainKit.elements(
                        EmaFactory.createElementEntry().uintValue("ServiceState", isUp ? 1 : 0),
                        EmaFactory.createElementEntry()
                                .uintValue("AcceptingRequests", isUp ? 1 : 0));
        if (status != null)
            state.add(
                    EmaFactory.createElementEntry()
                            .state("Status", status.stream(), status.data(), 0, status.text()));
        FilterList filters = EmaFactory.createFilterList();
        filters.add(
                EmaFactory.createFilterEntry().elementList(2, FilterEntry.FilterAction.SET, state));
        directory(MapEntry.MapAction.UPDATE, filters);
    }

    private static ByteBuffer groupId(int number) {
        return ByteBuffer.wrap(new byte[] {0, (byte) number});
    }

    /* A status for all items of a group. (The library does not survive a merge.) */
    synchronized void group(int group, OmmStateText status) {
        /* The library ends their streams without a word. */
        if (status.stream() == OmmState.StreamState.CLOSED_RECOVER)
            items.values().removeIf(item -> item.name.startsWith("GROUP" + group));
        ElementList change =
                ChainKit.elements(
                        EmaFactory.createElementEntry().buffer("Group", groupId(group)),
                        EmaFactory.createElementEntry()
                                .state("Status", status.stream(), status.data(), 0, status.text()));
        FilterList filters = EmaFactory.createFilterList();
        filters.add(
                EmaFactory.createFilterEntry()
                        .elementList(3, FilterEntry.FilterAction.SET, change));
        directory(MapEntry.MapAction.UPDATE, filters);
    }

    record OmmStateText(int stream, int data, String text) {}

    private void directory(int action, ComplexType payload) {
        com.refinitiv.ema.access.Map map =
                ChainKit.map(
                        DataType.DataTypes.UINT,
                        EmaFactory.createMapEntry().keyUInt(serviceId, action, payload));
        provider.submit(
                EmaFactory.createUpdateMsg()
                        .domainType(EmaRdm.MMT_DIRECTORY)
                        .payload(map),
                0);
    }

    @Override
    public synchronized void onReqMsg(ReqMsg msg, OmmProviderEvent event) {
        if (msg.domainType() == EmaRdm.MMT_LOGIN) {
            note("login " + msg.name());
            /* Whoever was here before has gone, whether the library has said so or not. */
            items.values().removeIf(item -> item.client != event.clientHandle());
            provider.submit(
                    EmaFactory.createRefreshMsg()
                            .domainType(EmaRdm.MMT_LOGIN)
                            .name(msg.name())
                            .nameType(EmaRdm.USER_NAME)
                            .complete(true)
                            .solicited(true)
                            .state(OmmState.StreamState.OPEN, OmmState.DataState.OK)
                            .attrib(
                                    ChainKit.elements(
                                            EmaFactory.createElementEntry()
                                                    .uintValue("SupportOMMPost", 1))),
                    event.handle());
            return;
        }
        Item item = new Item();
        item.handle = event.handle();
        item.client = event.clientHandle();
        item.name = msg.name();
        item.service = msg.serviceName();
        item.domain = msg.domainType();
        item.isPrivate = msg.privateStream();
        item.isStreaming = msg.interestAfterRefresh();
        item.count = counters.getOrDefault(item.name, 0L);
        serviceId = msg.serviceId();
        note("req " + item.name);
        answer(item);
    }

    private void answer(Item item) {
        int suspect = OmmState.DataState.SUSPECT;
        if (item.name.startsWith("NONE.")) {
            int code = OmmState.StatusCode.NOT_FOUND;
            statusTo(item.handle, item, OmmState.StreamState.CLOSED, suspect, code, "not known");
        } else if (item.name.startsWith("DENY.")) {
            int code = OmmState.StatusCode.NOT_AUTHORIZED;
            statusTo(item.handle, item, OmmState.StreamState.CLOSED, suspect, code, "not for you");
        } else if (item.name.startsWith("RETRY.") && refused.merge(item.name, 1, Integer::sum) == 1) {
            statusTo(item.handle, item, OmmState.StreamState.CLOSED_RECOVER, suspect, 0, "later");
        } else if (item.name.startsWith("SILENT.")) {
            items.put(item.handle, item);
        } else if (item.name.startsWith("PARTS.")) {
            items.put(item.handle, item);
            parts(item);
        } else {
            items.put(item.handle, item);
            image(item, true);
        }
    }

    @Override
    public synchronized void onReissue(ReqMsg msg, OmmProviderEvent event) {
        Item item = items.get(event.handle());
        note("reissue " + (item == null ? msg.name() : item.name));
        if (item == null || !msg.initialImage()) return;
        if (item.name.startsWith("PARTS.")) parts(item);
        else if (!item.name.startsWith("SILENT.")) image(item, true);
    }

    @Override
    public synchronized void onClose(ReqMsg msg, OmmProviderEvent event) {
        Item item = items.remove(event.handle());
        note("close " + (item == null ? "?" : item.name));
    }

    /* Posts whose name or text begins with NAK are refused; others are published and acknowledged. */
    @Override
    public synchronized void onPostMsg(PostMsg msg, OmmProviderEvent event) {
        String name = msg.hasName() ? msg.name() : "";
        Item item = items.get(event.handle());
        boolean onStream = item != null;
        note(
                "post "
                        + (onStream ? "on " + item.name : "off " + name)
                        + " "
                        + DataType.asString(msg.payload().dataType()));
        if (item == null) item = item(name);
        if (msg.payload().dataType() == DataType.DataTypes.UPDATE_MSG && item != null) {
            UpdateMsg posted = msg.payload().updateMsg();
            note("posted by " + msg.publisherIdUserId());
            provider.submit(
                    EmaFactory.createUpdateMsg()
                            .domainType(item.domain)
                            .publisherId(msg.publisherIdUserId(), msg.publisherIdUserAddress())
                            .payload(posted.payload().fieldList()),
                    item.handle);
        }
        if (!msg.solicitAck()) return;
        com.refinitiv.ema.access.AckMsg ack =
                EmaFactory.createAckMsg().domainType(msg.domainType()).ackId(msg.postId());
        if (msg.hasSeqNum()) ack.seqNum(msg.seqNum());
        if (name.startsWith("NAK")) ack.nackCode(1).text("no posts here");
        provider.submit(ack, event.handle());
    }

    @Override
    public synchronized void onGenericMsg(GenericMsg msg, OmmProviderEvent event) {
        Item item = items.get(event.handle());
        note("generic " + (msg.hasName() ? msg.name() : "") + (item == null ? "" : " on " + item.name));
        if (item != null && msg.hasName()) generic(item.name, "echo", msg.name());
    }

    @Override
    public void onRefreshMsg(RefreshMsg msg, OmmProviderEvent event) {}

    @Override
    public void onStatusMsg(StatusMsg msg, OmmProviderEvent event) {}

    @Override
    public void onAllMsg(Msg msg, OmmProviderEvent event) {}

    @Override
    public void close() {
        isClosing = true;
        try {
            dispatcher.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        provider.uninitialize();
    }
}
