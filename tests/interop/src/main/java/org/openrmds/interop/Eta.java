/* Eta.java - the little of the ETA transport that the RSSL suites need. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.transport.AcceptOptions;
import com.refinitiv.eta.transport.BindOptions;
import com.refinitiv.eta.transport.Channel;
import com.refinitiv.eta.transport.ChannelState;
import com.refinitiv.eta.transport.ConnectOptions;
import com.refinitiv.eta.transport.ConnectionTypes;
import com.refinitiv.eta.transport.Error;
import com.refinitiv.eta.transport.InProgInfo;
import com.refinitiv.eta.transport.InitArgs;
import com.refinitiv.eta.transport.ReadArgs;
import com.refinitiv.eta.transport.Server;
import com.refinitiv.eta.transport.Transport;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.transport.TransportFactory;
import com.refinitiv.eta.transport.TransportReturnCodes;
import com.refinitiv.eta.transport.WriteArgs;
import com.refinitiv.eta.transport.WritePriorities;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.function.Consumer;

final class Eta {
    private Eta() {}

    static void start() {
        start(true); /* the reactor asks for it */
    }

    /* One thread only: the faster way. */
    static void startUnlocked() {
        start(false);
    }

    private static void start(boolean locking) {
        InitArgs args = TransportFactory.createInitArgs();
        args.globalLocking(locking);
        check(Transport.initialize(args, TransportFactory.createError()), "initialize");
    }

    static void check(int rc, String what) {
        if (rc < TransportReturnCodes.SUCCESS) throw new IllegalStateException(what + ": " + rc);
    }

    static void rest() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /* One channel with its state. */
    static final class Link {
        Channel channel;
        final Error error = TransportFactory.createError();
        final InProgInfo progress = TransportFactory.createInProgInfo();
        final ReadArgs readArgs = TransportFactory.createReadArgs();
        final WriteArgs writeArgs = TransportFactory.createWriteArgs();
        boolean failed;
        int pings;
        int refused;

        Link(Channel channel) {
            this.channel = channel;
        }

        boolean isOpen() {
            return channel.state() == ChannelState.ACTIVE;
        }

        /* Some progress with the handshake. */
        void advance() {
            if (failed || channel.state() != ChannelState.INITIALIZING) return;
            int rc = channel.init(progress, error);
            if (rc == TransportReturnCodes.CHAN_INIT_REFUSED) refused++;
            if (rc < TransportReturnCodes.SUCCESS) failed = true;
        }

        /* Give every message that is there to `taker`; false when the channel is gone. */
        boolean read(Consumer<byte[]> taker) {
            for (;;) {
                TransportBuffer buffer = channel.read(readArgs, error);
                int rc = readArgs.readRetVal();
                if (buffer != null) {
                    byte[] bytes = new byte[buffer.length()];
                    ByteBuffer data = buffer.data().duplicate();
                    data.position(buffer.dataStartPosition());
                    data.get(bytes);
                    taker.accept(bytes);
                }
                if (rc == TransportReturnCodes.READ_PING) pings++;
                if (rc == TransportReturnCodes.FAILURE) {
                    failed = true;
                    return false;
                }
                if (rc == TransportReturnCodes.READ_WOULD_BLOCK) return true;
            }
        }

        TransportBuffer buffer(int size, boolean packed, Consumer<byte[]> taker) {
            for (;;) {
                TransportBuffer buffer = channel.getBuffer(size, packed, error);
                if (buffer != null) return buffer;
                if (error.errorId() != TransportReturnCodes.NO_BUFFERS)
                    throw new IllegalStateException("getBuffer: " + error.text());
                flush(taker);
                rest();
            }
        }

        void write(TransportBuffer buffer, Consumer<byte[]> taker) {
            writeArgs.clear();
            writeArgs.priority(WritePriorities.HIGH);
            int rc = channel.write(buffer, writeArgs, error);
            while (rc == TransportReturnCodes.WRITE_CALL_AGAIN || rc == TransportReturnCodes.NO_BUFFERS) {
                flush(taker);
                if (rc == TransportReturnCodes.NO_BUFFERS) rest();
                rc = channel.write(buffer, writeArgs, error);
            }
            if (rc < TransportReturnCodes.SUCCESS && rc != TransportReturnCodes.WRITE_FLUSH_FAILED)
                throw new IllegalStateException("write: " + rc + " " + error.text());
            flush(taker);
        }

        void send(byte[] bytes, Consumer<byte[]> taker) {
            TransportBuffer buffer = buffer(bytes.length, false, taker);
            buffer.data().put(bytes);
            write(buffer, taker);
        }

        /* Flush, and read meanwhile, so that neither end waits for the other. */
        void flush(Consumer<byte[]> taker) {
            int rc = channel.flush(error);
            /* A message of many fragments needs that many buffers: the queue is kept short. */
            while (rc > 200_000) {
                read(taker);
                rest();
                rc = channel.flush(error);
            }
            if (rc < TransportReturnCodes.SUCCESS) failed = true;
            read(taker);
        }

        void close() {
            channel.close(error);
        }
    }

    static ConnectOptions connectOptions(int port) {
        ConnectOptions options = TransportFactory.createConnectOptions();
        options.unifiedNetworkInfo().address("localhost");
        options.unifiedNetworkInfo().serviceName(Integer.toString(port));
        options.connectionType(ConnectionTypes.SOCKET);
        options.blocking(false);
        options.majorVersion(14);
        options.minorVersion(1);
        options.tcpOpts().tcpNoDelay(true);
        options.guaranteedOutputBuffers(800);
        return options;
    }

    static Link connect(ConnectOptions options) {
        Error error = TransportFactory.createError();
        Channel channel = Transport.connect(options, error);
        if (channel == null) throw new IllegalStateException("connect: " + error.text());
        return new Link(channel);
    }

    static BindOptions bindOptions() {
        BindOptions options = TransportFactory.createBindOptions();
        options.serviceName("0");
        options.interfaceName("127.0.0.1");
        options.serverBlocking(false);
        options.channelsBlocking(false);
        options.majorVersion(14);
        options.minorVersion(1);
        options.tcpOpts().tcpNoDelay(true);
        options.guaranteedOutputBuffers(800);
        options.maxOutputBuffers(2000);
        return options;
    }

    static Server bind(BindOptions options) {
        Error error = TransportFactory.createError();
        Server server = Transport.bind(options, error);
        if (server == null) throw new IllegalStateException("bind: " + error.text());
        return server;
    }

    /* What was bound; portNumber() repeats what was asked for. */
    static int portOf(Server server) {
        try {
            ServerSocketChannel socket = (ServerSocketChannel) server.selectableChannel();
            return ((InetSocketAddress) socket.getLocalAddress()).getPort();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /* A waiting connection, or null. */
    static Link accept(Server server, boolean refuse) {
        AcceptOptions options = TransportFactory.createAcceptOptions();
        options.nakMount(refuse);
        Channel channel = server.accept(options, TransportFactory.createError());
        return channel == null ? null : new Link(channel);
    }
}
