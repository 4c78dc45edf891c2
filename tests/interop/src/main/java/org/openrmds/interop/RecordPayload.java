/* RecordPayload.java - a Marketfeed record as payload of a message of EMA. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmOpaque;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.UpdateMsg;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;

/*
 * EMA Java 3.9.1 has no call for container type 139: its payload() writes 128 (no data) for every type
 * that it does not know. So the record is an opaque first, and then the number is changed in the message
 * that EMA has made; EMA sends it.
 */
final class RecordPayload {
    static final int RECORD = 139;
    private static final Field MESSAGE = field();

    private RecordPayload() {}

    private static Field field() {
        try {
            Field field = Class.forName("com.refinitiv.ema.access.MsgImpl").getDeclaredField("_rsslMsg");
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("EMA keeps its message elsewhere now", e);
        }
    }

    private static OmmOpaque opaque(byte[] record) {
        return EmaFactory.createOmmOpaque().buffer(ByteBuffer.wrap(record));
    }

    private static void setType(Msg msg) {
        try {
            ((com.refinitiv.eta.codec.Msg) MESSAGE.get(msg)).containerType(RECORD);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    static void put(RefreshMsg msg, byte[] record) {
        setType(msg.payload(opaque(record)));
    }

    static void put(UpdateMsg msg, byte[] record) {
        setType(msg.payload(opaque(record)));
    }
}
