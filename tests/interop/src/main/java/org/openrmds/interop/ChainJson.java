/* ChainJson.java - a JSON consumer beside an EMA one: permission data that change. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;

public final class ChainJson {
    private ChainJson() {}

    private static final String LOCK_62 = "03010162c0";
    private static final String LOCK_63 = "03010163c0";
    private static final int WS_PORT = 14204; /* as CMakeLists.txt has it */
    private static ChainProvider provider;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        Files.writeString(
                Path.of(System.getenv("CHAIN_DIR"), "access.conf"),
                "user basic\nuser full\npeset P ids=257\ncontent * lock\n"
                        + "grant basic P 62\ngrant full P 62,63\n");
        ChainKit.chain("stop", "p2ps");
        ChainKit.chain("start", "p2ps");
        report.test("new permission data close an item, and open it again", ChainJson::locks);
        report.test("an update with a stricter lock is for some", ChainJson::stricterUpdate);
        provider.close();
        report.end();
    }

    /* The messages of one connection, as they come: the objects of each frame, text by text. */
    private static final class Client implements WebSocket.Listener, AutoCloseable {
        private final WebSocket socket;
        private final StringBuilder part = new StringBuilder();
        private final List<String> heard = new ArrayList<>();

        Client(String user) {
            socket =
                    HttpClient.newHttpClient()
                            .newWebSocketBuilder()
                            .subprotocols("tr_json2")
                            .buildAsync(
                                    URI.create("ws://127.0.0.1:" + WS_PORT + "/WebSocket"), this)
                            .join();
            send("{\"ID\":1,\"Domain\":\"Login\",\"Key\":{\"Name\":\"" + user + "\"}}");
            await(1, "Refresh");
        }

        void send(String text) {
            socket.sendText(text, true).join();
        }

        void open(int stream, String item) {
            send(
                    "{\"ID\":%d,\"Key\":{\"Name\":\"%s\",\"Service\":\"%s\"}}"
                            .formatted(stream, item, SERVICE));
        }

        /* A frame is an array of messages, each of which begins with its ID. */
        @Override
        public synchronized CompletionStage<?> onText(
                WebSocket from, CharSequence text, boolean isLast) {
            part.append(text);
            if (isLast) {
                for (String one : part.toString().split("(?=\\{\"(?:ID|Type)\":)")) {
                    if (one.contains("\"Type\":\"Ping\"")) send("{\"Type\":\"Pong\"}");
                    else heard.add(one);
                }
                part.setLength(0);
                notifyAll();
            }
            from.request(1);
            return null;
        }

        private static boolean isOf(String one, int stream, String kind) {
            return one.startsWith("{\"ID\":" + stream + ",")
                    && one.contains("\"Type\":\"" + kind + "\"");
        }

        /* The first one of the stream and kind; those before it on the stream are dropped. */
        synchronized String await(int stream, String kind) {
            long end = System.nanoTime() + ChainKit.SECONDS * 1000000000L;
            while (true) {
                while (!heard.isEmpty()) {
                    String one = heard.remove(0);
                    if (isOf(one, stream, kind)) return one;
                }
                long left = (end - System.nanoTime()) / 1000000;
                check(left > 0, "no " + kind + " on " + stream);
                try {
                    wait(left);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        @Override
        public void close() {
            socket.abort();
        }
    }

    private static void isDenied(String status) {
        check(status.contains("\"Stream\":\"Closed\""), status);
        check(status.contains("\"Code\":\"NotEntitled\""), status);
        check(status.contains("Access Denied: User req to PE(63)"), status);
    }

    private static void locks() {
        provider.lock("LOCK.J", LOCK_62);
        ChainKit.Consumer full = new ChainKit.Consumer("full");
        full.open("LOCK.J");
        full.awaitRefresh("LOCK.J");
        try (Client basic = new Client("basic")) {
            basic.open(5, "LOCK.J");
            basic.await(5, "Refresh");
            provider.changeLock("LOCK.J", LOCK_63);
            isDenied(basic.await(5, "Status"));
            basic.open(6, "LOCK.J");
            isDenied(basic.await(6, "Status"));
            provider.changeLock("LOCK.J", LOCK_62);
            full.await("the status", s -> s.is("status", "LOCK.J"));
            full.await("the next one", s -> s.is("status", "LOCK.J"));
            basic.open(7, "LOCK.J");
            basic.await(7, "Refresh");
            provider.publish("LOCK.J", 1);
            basic.await(7, "Update");
        }
        full.close();
    }

    private static void stricterUpdate() {
        provider.lock("LOCK.K", LOCK_62);
        try (Client basic = new Client("basic");
                Client full = new Client("full")) {
            basic.open(5, "LOCK.K");
            full.open(5, "LOCK.K");
            basic.await(5, "Refresh");
            full.await(5, "Refresh");
            provider.publishLocked("LOCK.K", LOCK_63);
            provider.publish("LOCK.K", 1);
            check(full.await(5, "Update").contains("PermData"), "who holds 63 gets both");
            check(!full.await(5, "Update").contains("PermData"), "and then the second one");
            check(!basic.await(5, "Update").contains("PermData"), "who does not, the second one");
        }
    }
}
