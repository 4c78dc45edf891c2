/* RsslBench.java - the exchange of rssl_bench between two programs on the ETA transport. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.transport.BindOptions;
import com.refinitiv.eta.transport.ConnectOptions;
import com.refinitiv.eta.transport.Error;
import com.refinitiv.eta.transport.ReadArgs;
import com.refinitiv.eta.transport.Server;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.transport.TransportFactory;
import com.refinitiv.eta.transport.TransportReturnCodes;
import com.refinitiv.eta.transport.WriteArgs;
import com.refinitiv.eta.transport.WritePriorities;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;

/*
 * RsslBench send RECEIVERS SIZE packed|single     says "port N"; sends until it is killed
 * RsslBench receive PORT RECEIVERS                says "count MESSAGES NANOSECONDS" ten times a second
 */
public final class RsslBench {
    private RsslBench() {}

    public static void main(String[] args) throws Exception {
        Eta.startUnlocked();
        if (args[0].equals("send"))
            send(Integer.parseInt(args[1]), Integer.parseInt(args[2]), args[3].equals("packed"));
        else receive(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
    }

    private static void openAll(List<Eta.Link> links, int count) {
        long open = 0;
        while (open < count) {
            open = 0;
            for (Eta.Link link : links) {
                link.advance();
                if (link.failed) throw new IllegalStateException("handshake: " + link.error.text());
                if (link.isOpen()) open++;
            }
            Eta.rest();
        }
    }

    /* Full frames to one channel, as many as it takes now. */
    private static void sendSome(Eta.Link link, byte[] message, boolean packed, Error error,
            WriteArgs writeArgs) {
        for (int frame = 0; frame < 10; frame++) {
            TransportBuffer buffer = link.channel.getBuffer(packed ? 6142 : message.length, packed, error);
            if (buffer == null) break;
            int room = packed ? 6142 : message.length;
            while (room >= message.length) {
                buffer.data().put(message);
                if (!packed) break;
                room = link.channel.packBuffer(buffer, error);
            }
            int rc = link.channel.write(buffer, writeArgs, error);
            if (rc < TransportReturnCodes.SUCCESS && rc != TransportReturnCodes.WRITE_FLUSH_FAILED
                    && rc != TransportReturnCodes.WRITE_CALL_AGAIN)
                throw new IllegalStateException("write: " + error.text());
        }
        link.channel.flush(error);
    }

    private static void send(int count, int size, boolean packed) {
        BindOptions options = Eta.bindOptions();
        options.guaranteedOutputBuffers(200);
        options.maxOutputBuffers(200);
        options.sysRecvBufSize(65536);
        Server server = Eta.bind(options);
        System.out.println("port " + Eta.portOf(server));
        List<Eta.Link> links = new ArrayList<>();
        while (links.size() < count) {
            Eta.Link link = Eta.accept(server, false);
            if (link != null) links.add(link);
            for (Eta.Link other : links) other.advance();
        }
        openAll(links, count);
        byte[] message = new byte[size];
        for (int i = 0; i < size; i++) message[i] = (byte) i;
        Error error = TransportFactory.createError();
        WriteArgs writeArgs = TransportFactory.createWriteArgs();
        writeArgs.priority(WritePriorities.HIGH);
        for (;;) {
            for (int i = 0; i < count; i++) {
                message[3] = (byte) (i + 5); /* its own stream id */
                sendSome(links.get(i), message, packed, error, writeArgs);
            }
        }
    }

    private static void receive(int port, int count) throws Exception {
        Selector selector = Selector.open();
        List<Eta.Link> links = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ConnectOptions options = Eta.connectOptions(port);
            options.guaranteedOutputBuffers(20);
            options.numInputBuffers(20);
            links.add(Eta.connect(options));
        }
        openAll(links, count);
        for (Eta.Link link : links)
            link.channel.selectableChannel().register(selector, SelectionKey.OP_READ, link);
        Error error = TransportFactory.createError();
        ReadArgs readArgs = TransportFactory.createReadArgs();
        long messages = 0;
        long told = System.nanoTime();
        for (;;) {
            selector.select(100);
            for (SelectionKey key : selector.selectedKeys()) {
                Eta.Link link = (Eta.Link) key.attachment();
                int rc;
                do {
                    if (link.channel.read(readArgs, error) != null) messages++;
                    rc = readArgs.readRetVal();
                    if (rc == TransportReturnCodes.FAILURE) System.exit(0);
                } while (rc > 0);
            }
            selector.selectedKeys().clear();
            long now = System.nanoTime();
            if (now - told >= 100_000_000L) {
                System.out.println("count " + messages + " " + now);
                told = now;
            }
        }
    }
}
