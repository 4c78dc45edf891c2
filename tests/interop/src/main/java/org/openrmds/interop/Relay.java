/* Relay.java - one connection to p2ps, passed on byte for byte; what its client sent is kept. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

final class Relay implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    private final ByteArrayOutputStream sent = new ByteArrayOutputStream();
    private Socket client;
    private Socket server;

    Relay() throws IOException {
        start(this::serve);
    }

    int port() {
        return listener.getLocalPort();
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                work.run();
                            } catch (IOException e) {
                                /* One side has closed: the other one sees it, too. */
                            }
                        },
                        "relay");
        thread.setDaemon(true);
        thread.start();
    }

    private void serve() throws IOException {
        client = listener.accept();
        server = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(ChainKit.port("P2PS")));
        start(() -> copy(server.getInputStream(), client.getOutputStream(), null));
        copy(client.getInputStream(), server.getOutputStream(), sent);
    }

    private void copy(InputStream in, OutputStream out, ByteArrayOutputStream kept) throws IOException {
        byte[] bytes = new byte[65536];
        for (int length; (length = in.read(bytes)) > 0; ) {
            if (kept != null)
                synchronized (this) {
                    kept.write(bytes, 0, length);
                    notifyAll();
                }
            out.write(bytes, 0, length);
            out.flush();
        }
    }

    /* Until the client has sent the text so many times; then all that it has sent, one character a byte. */
    synchronized String await(String text, int times) throws InterruptedException {
        long end = System.nanoTime() + ChainKit.SECONDS * 1_000_000_000L;
        while (true) {
            String all = sent.toString(StandardCharsets.ISO_8859_1);
            if (all.split(text, -1).length > times) return all;
            ChainKit.check(System.nanoTime() < end, "not sent " + times + " times: " + text);
            wait(200);
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
            if (client != null) client.close();
            if (server != null) server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
