/* BenchAdmin.java - login, directory, refreshes, acknowledgements, generic messages of `rmds bench peers`. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.codec.AckMsg;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataStates;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.ElementEntry;
import com.refinitiv.eta.codec.ElementList;
import com.refinitiv.eta.codec.FilterEntryActions;
import com.refinitiv.eta.codec.GenericMsg;
import com.refinitiv.eta.codec.MapEntryActions;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.PostMsg;
import com.refinitiv.eta.codec.Qos;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.RequestMsg;
import com.refinitiv.eta.codec.StateCodes;
import com.refinitiv.eta.codec.StatusMsg;
import com.refinitiv.eta.codec.StreamStates;
import com.refinitiv.eta.codec.UInt;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryMsgFactory;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryMsgType;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryRefresh;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.Service;
import java.nio.ByteBuffer;
import java.util.List;

/* One service, up from the beginning. */
final class BenchAdmin {
    static final int LOGIN = 1;
    static final int SOURCE = 4;
    static final int DICTIONARY = 5;
    static final int SERVICE_ID = 1;
    private static final int ADMIN_MAX = 2000;

    private final String service;
    private final RefreshMsg refresh = (RefreshMsg) newMsg(MsgClasses.REFRESH);
    private final AckMsg ack = (AckMsg) newMsg(MsgClasses.ACK);
    private final GenericMsg generic = (GenericMsg) newMsg(MsgClasses.GENERIC);
    private final Buffer group = CodecFactory.createBuffer();

    BenchAdmin(String service) {
        this.service = service;
        group.data(ByteBuffer.wrap(new byte[] {0, 1}));
    }

    private static Msg newMsg(int msgClass) {
        Msg msg = CodecFactory.createMsg();
        msg.msgClass(msgClass);
        return msg;
    }

    private static void begin(BenchWire wire, int length) {
        if (!wire.begin(length, false)) throw new IllegalStateException("no buffer for an answer");
    }

    /* ---- answers of the provider ---- */

    void answer(BenchWire wire, RequestMsg msg) {
        if (msg.domainType() == LOGIN) login(wire, msg);
        else if (msg.domainType() == SOURCE) directory(wire, msg);
        else refuse(wire, msg);
    }

    /* A complete, solicited refresh whose payload is encoded between this and finishRefresh(). */
    void startRefresh(BenchWire wire, int stream, int domain, int container, Buffer name, boolean isStreaming) {
        refresh.clear();
        refresh.msgClass(MsgClasses.REFRESH);
        refresh.streamId(stream);
        refresh.domainType(domain);
        refresh.containerType(container);
        refresh.applySolicited();
        refresh.applyRefreshComplete();
        refresh.applyClearCache();
        refresh.applyHasQos();
        refresh.qos().timeliness(1);
        refresh.qos().rate(1);
        refresh.state().streamState(isStreaming ? StreamStates.OPEN : StreamStates.NON_STREAMING);
        refresh.state().dataState(DataStates.OK);
        refresh.state().code(StateCodes.NONE);
        refresh.groupId(group);
        refresh.applyHasMsgKey();
        refresh.msgKey().applyHasName();
        refresh.msgKey().name(name);
        refresh.msgKey().applyHasServiceId();
        refresh.msgKey().serviceId(SERVICE_ID);
        BenchWire.check(refresh.encodeInit(wire.out, 0));
    }

    void finishRefresh(BenchWire wire) {
        BenchWire.check(refresh.encodeComplete(wire.out, true));
        wire.end();
    }

    private static Buffer loginAttributes() {
        Buffer bytes = CodecFactory.createBuffer();
        bytes.data(ByteBuffer.allocate(200));
        com.refinitiv.eta.codec.EncodeIterator out = CodecFactory.createEncodeIterator();
        BenchWire.check(out.setBufferAndRWFVersion(bytes, 14, 1));
        ElementList list = CodecFactory.createElementList();
        list.applyHasStandardData();
        BenchWire.check(list.encodeInit(out, null, 0));
        ElementEntry entry = CodecFactory.createElementEntry();
        Buffer name = CodecFactory.createBuffer();
        UInt yes = CodecFactory.createUInt();
        yes.value(1);
        for (String element : new String[] {"AllowSuspectData", "SupportOMMPost"}) {
            name.data(element);
            entry.clear();
            entry.name(name);
            entry.dataType(DataTypes.UINT);
            BenchWire.check(entry.encode(out, yes));
        }
        BenchWire.check(list.encodeComplete(out, true));
        return bytes;
    }

    private void login(BenchWire wire, RequestMsg msg) {
        if (msg.checkNoRefresh()) return;
        begin(wire, ADMIN_MAX);
        refresh.clear();
        refresh.msgClass(MsgClasses.REFRESH);
        refresh.streamId(msg.streamId());
        refresh.domainType(LOGIN);
        refresh.containerType(DataTypes.NO_DATA);
        refresh.applySolicited();
        refresh.applyRefreshComplete();
        refresh.state().streamState(StreamStates.OPEN);
        refresh.state().dataState(DataStates.OK);
        refresh.groupId(group);
        refresh.applyHasMsgKey();
        refresh.msgKey().applyHasName();
        refresh.msgKey().name(msg.msgKey().name());
        refresh.msgKey().applyHasAttrib();
        refresh.msgKey().attribContainerType(DataTypes.ELEMENT_LIST);
        refresh.msgKey().encodedAttrib(loginAttributes());
        BenchWire.check(refresh.encode(wire.out));
        wire.end();
    }

    private void directory(BenchWire wire, RequestMsg msg) {
        begin(wire, ADMIN_MAX);
        DirectoryRefresh answer = (DirectoryRefresh) DirectoryMsgFactory.createMsg();
        answer.rdmMsgType(DirectoryMsgType.REFRESH);
        answer.clear();
        answer.streamId(msg.streamId());
        answer.applySolicited();
        answer.applyClearCache();
        answer.filter(msg.msgKey().filter());
        answer.state().streamState(StreamStates.OPEN);
        answer.state().dataState(DataStates.OK);
        Service only = DirectoryMsgFactory.createService();
        only.action(MapEntryActions.ADD);
        only.serviceId(SERVICE_ID);
        only.applyHasInfo();
        only.info().action(FilterEntryActions.SET);
        only.info().serviceName().data(service);
        only.info().applyHasIsSource();
        only.info().isSource(1);
        only.info().capabilitiesList().addAll(
                List.of((long) BenchContent.MARKET_PRICE, (long) BenchContent.MARKET_BY_ORDER));
        only.info().applyHasDictionariesUsed();
        only.info().dictionariesUsedList().addAll(List.of("RWFFld", "RWFEnum"));
        only.info().applyHasQos();
        Qos qos = CodecFactory.createQos();
        qos.timeliness(1);
        qos.rate(1);
        only.info().qosList().add(qos);
        only.applyHasState();
        only.state().action(FilterEntryActions.SET);
        only.state().serviceState(1);
        only.state().applyHasAcceptingRequests();
        only.state().acceptingRequests(1);
        answer.serviceList().add(only);
        BenchWire.check(answer.encode(wire.out));
        wire.end();
    }

    private void refuse(BenchWire wire, RequestMsg msg) {
        begin(wire, ADMIN_MAX);
        StatusMsg status = (StatusMsg) newMsg(MsgClasses.STATUS);
        status.streamId(msg.streamId());
        status.domainType(msg.domainType());
        status.containerType(DataTypes.NO_DATA);
        status.applyHasState();
        status.state().streamState(StreamStates.CLOSED);
        status.state().dataState(DataStates.SUSPECT);
        status.state().code(StateCodes.NOT_FOUND);
        BenchWire.check(status.encode(wire.out));
        wire.end();
    }

    void acknowledge(BenchWire wire, PostMsg post) {
        begin(wire, 200);
        ack.clear();
        ack.msgClass(MsgClasses.ACK);
        ack.streamId(post.streamId());
        ack.domainType(post.domainType());
        ack.containerType(DataTypes.NO_DATA);
        ack.ackId(post.postId());
        BenchWire.check(ack.encode(wire.out));
        wire.end();
    }

    /* ---- both ---- */

    void generic(BenchWire wire, int stream, int domain, BenchContent content, long us) {
        begin(wire, 200);
        generic.clear();
        generic.msgClass(MsgClasses.GENERIC);
        generic.streamId(stream);
        generic.domainType(domain);
        generic.containerType(DataTypes.FIELD_LIST);
        generic.applyMessageComplete();
        BenchWire.check(generic.encodeInit(wire.out, 0));
        content.stamp(wire.out, us);
        BenchWire.check(generic.encodeComplete(wire.out, true));
        wire.end();
    }

    /* ---- requests of the consumer ---- */

    static void request(BenchWire wire, int stream, int domain, String name, int serviceId) {
        RequestMsg msg = (RequestMsg) newMsg(MsgClasses.REQUEST);
        msg.streamId(stream);
        msg.domainType(domain);
        msg.containerType(DataTypes.NO_DATA);
        msg.applyStreaming();
        if (name != null) {
            msg.msgKey().applyHasName();
            Buffer text = CodecFactory.createBuffer();
            text.data(name);
            msg.msgKey().name(text);
        }
        if (domain == SOURCE) {
            msg.msgKey().applyHasFilter();
            msg.msgKey().filter(3);
        } else if (domain != LOGIN) {
            msg.msgKey().applyHasServiceId();
            msg.msgKey().serviceId(serviceId);
        }
        BenchWire.check(msg.encode(wire.out));
        wire.end();
    }

    /* The id of the service of that name in a directory message, or -1: not there, or not up. */
    static int serviceIn(BenchWire wire, Msg msg, String name) {
        DirectoryRefresh found = (DirectoryRefresh) DirectoryMsgFactory.createMsg();
        found.rdmMsgType(DirectoryMsgType.REFRESH);
        found.clear();
        if (found.decode(wire.in(), msg) < CodecReturnCodes.SUCCESS) return -1;
        for (Service one : found.serviceList()) {
            boolean isUp = !one.checkHasState() || one.state().serviceState() == 1;
            if (one.checkHasInfo() && one.info().serviceName().toString().equals(name) && isUp)
                return one.serviceId();
        }
        return -1;
    }
}
