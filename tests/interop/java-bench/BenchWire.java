/* BenchWire.java - one connection of the programs of `rmds bench peers`: frames, packed or single, and their flush. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.transport.Channel;
import com.refinitiv.eta.transport.Error;
import com.refinitiv.eta.transport.ReadArgs;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.transport.TransportFactory;
import com.refinitiv.eta.transport.TransportReturnCodes;
import com.refinitiv.eta.transport.WriteArgs;
import com.refinitiv.eta.transport.WritePriorities;
import java.util.function.Consumer;

/*
 * A message is encoded between begin() and end(), straight into the buffer of the transport. A packed one shares its
 * buffer with the next ones until there is no room for another.
 */
final class BenchWire {
    static final int BUFFERS = 5000;
    private static final int FRAME = 6142;
    private static final int MESSAGE_MAX = 3000;
    private static final long PING_US = 10_000_000;

    final Eta.Link link;
    final Channel channel;
    final EncodeIterator out = CodecFactory.createEncodeIterator();
    boolean isGone;
    private final Error error = TransportFactory.createError();
    private final ReadArgs readArgs = TransportFactory.createReadArgs();
    private final WriteArgs writeArgs = TransportFactory.createWriteArgs();
    private final DecodeIterator in = CodecFactory.createDecodeIterator();
    private final Msg msg = CodecFactory.createMsg();
    private TransportBuffer buffer;
    private boolean isPacked;
    private boolean hasUnsent;
    private int pendingBytes;
    private long lastWriteUs = BenchContent.nowUs();

    BenchWire(Eta.Link link) {
        this.link = link;
        channel = link.channel;
        writeArgs.priority(WritePriorities.HIGH);
    }

    DecodeIterator in() {
        return in;
    }

    /* The handshake goes on; false: the connection is not open yet. */
    boolean isOpen() {
        if (link.isOpen()) return true;
        link.advance();
        isGone = link.failed;
        return link.isOpen();
    }

    /* Room for one message; false: no buffer is free, and nothing was begun. */
    boolean begin(int length, boolean packed) {
        if (buffer != null && !packed) writeBuffer();
        if (buffer == null) {
            buffer = channel.getBuffer(packed ? FRAME : length, packed, error);
            if (buffer == null) return false;
            isPacked = packed;
        }
        out.clear();
        check(out.setBufferAndRWFVersion(buffer, channel.majorVersion(), channel.minorVersion()));
        return true;
    }

    void end() {
        if (isPacked) {
            int room = channel.packBuffer(buffer, error);
            if (room < TransportReturnCodes.SUCCESS) throw new IllegalStateException("pack: " + error.text());
            hasUnsent = true;
            if (room < MESSAGE_MAX) writeBuffer();
        } else {
            writeBuffer();
        }
    }

    private void writeBuffer() {
        int rc = channel.write(buffer, writeArgs, error);
        while (rc == TransportReturnCodes.WRITE_CALL_AGAIN) {
            channel.flush(error);
            rc = channel.write(buffer, writeArgs, error);
        }
        buffer = null;
        hasUnsent = false;
        lastWriteUs = BenchContent.nowUs();
        if (rc < TransportReturnCodes.SUCCESS && rc != TransportReturnCodes.WRITE_FLUSH_FAILED) {
            isGone = true;
        } else if (rc > 0) {
            pendingBytes = rc;
        }
    }

    /* True: something is still queued, because the socket takes no more now. */
    boolean flush() {
        if (isGone) return false;
        if (buffer != null && hasUnsent) writeBuffer();
        if (pendingBytes > 0 && !isGone) {
            pendingBytes = channel.flush(error);
            if (pendingBytes < 0) {
                isGone = true;
                pendingBytes = 0;
            }
        }
        return pendingBytes > 0;
    }

    /* Ping when nothing was written for a while. */
    void ping() {
        if (isGone || !link.isOpen() || BenchContent.nowUs() - lastWriteUs < PING_US) return;
        lastWriteUs = BenchContent.nowUs();
        if (channel.ping(error) > 0) pendingBytes = 1;
    }

    /* Give every message that is there to `taker`, in()'s iterator at its payload. */
    void read(Consumer<Msg> taker) {
        for (; ; ) {
            TransportBuffer got = channel.read(readArgs, error);
            int rc = readArgs.readRetVal();
            if (got != null) {
                in.clear();
                check(in.setBufferAndRWFVersion(got, channel.majorVersion(), channel.minorVersion()));
                check(msg.decode(in));
                taker.accept(msg);
            } else if (rc == TransportReturnCodes.FAILURE) {
                isGone = true;
                return;
            }
            if (got == null && rc != TransportReturnCodes.READ_PING || isGone) return;
        }
    }

    static void check(int rc) {
        if (rc < CodecReturnCodes.SUCCESS) throw new IllegalStateException(CodecReturnCodes.toString(rc));
    }

    void close() {
        isGone = true;
        link.close();
    }
}
