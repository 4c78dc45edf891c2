/* Rssl.java - the RSSL channel against the real transport, in both roles. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import com.refinitiv.eta.transport.BindOptions;
import com.refinitiv.eta.transport.CompressionTypes;
import com.refinitiv.eta.transport.ConnectOptions;
import com.refinitiv.eta.transport.ConnectionTypes;
import com.refinitiv.eta.transport.Server;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.transport.TransportFactory;
import com.refinitiv.eta.valueadd.reactor.ConsumerRole;
import com.refinitiv.eta.valueadd.reactor.Reactor;
import com.refinitiv.eta.valueadd.reactor.ReactorCallbackReturnCodes;
import com.refinitiv.eta.valueadd.reactor.ReactorChannelEventTypes;
import com.refinitiv.eta.valueadd.reactor.ReactorConnectInfo;
import com.refinitiv.eta.valueadd.reactor.ReactorConnectOptions;
import com.refinitiv.eta.valueadd.reactor.ReactorDispatchOptions;
import com.refinitiv.eta.valueadd.reactor.ReactorErrorInfo;
import com.refinitiv.eta.valueadd.reactor.ReactorFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/* Rssl PEER clients|servers|liveness|tls|many */
public final class Rssl {
    private static final int[] SIZES = {
        1, 2, 29, 30, 74, 299, 300, 1000, 6100, 6141, 6142, 6143, 6144, 6145, 6146, 7000, 12280, 20000,
        65535, 65536, 131072, 524288, 1048576, 2097152
    };
    private static final String[] COMPRESSIONS = {"none", "zlib", "lz4"};
    private static final int[] COMPRESSION_TYPES = {
        CompressionTypes.NONE, CompressionTypes.ZLIB, CompressionTypes.LZ4
    };
    private static int passed;

    private static String peer;

    private Rssl() {}

    public static void main(String[] args) throws Exception {
        peer = args[0];
        Eta.start();
        switch (args[1]) {
            case "clients" -> clients();
            case "servers" -> servers();
            case "liveness" -> liveness();
            case "tls" -> tls();
            case "many" -> many();
            default -> throw new IllegalArgumentException(args[1]);
        }
        System.out.println(passed + " cases passed");
        System.exit(0);
    }

    private static void passed(String name) {
        passed++;
        System.out.println("ok " + name);
    }

    private static void require(boolean condition, String what) {
        if (!condition) throw new IllegalStateException(what);
    }

    private static void await(BooleanSupplier condition, int seconds, String what) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!condition.getAsBoolean()) {
            require(System.nanoTime() < end, "not within " + seconds + " s: " + what);
            Eta.rest();
        }
    }

    /* What is sent, what has come back. */
    private static final class Echo {
        final List<byte[]> sent = new ArrayList<>();
        int received;

        void take(byte[] bytes) {
            require(received < sent.size(), "more came than was sent");
            require(Arrays.equals(bytes, sent.get(received)),
                    "message " + received + " of " + sent.get(received).length + " bytes differs");
            received++;
        }

        byte[] make(int size, boolean random, int seed) {
            byte[] bytes = new byte[size];
            if (random) new Random(seed).nextBytes(bytes);
            else for (int i = 0; i < size; i++) bytes[i] = (byte) (seed + i % 40);
            sent.add(bytes);
            return bytes;
        }
    }

    private static void sendSizes(Eta.Link link, Echo echo) {
        for (int i = 0; i < SIZES.length; i++) link.send(echo.make(SIZES[i], i % 2 == 1, i), echo::take);
    }

    /* Frames of several messages each. */
    private static void sendPacked(Eta.Link link, Echo echo) {
        for (int frame = 0; frame < 50; frame++) {
            TransportBuffer buffer = link.buffer(6000, true, echo::take);
            for (int i = 0; i < 20; i++) {
                buffer.data().put(echo.make(10 + (frame + i) % 200, i % 3 == 0, i));
                require(link.channel.packBuffer(buffer, link.error) >= 0, "packBuffer");
            }
            link.write(buffer, echo::take);
        }
    }

    private static void exchange(Eta.Link link, boolean packed) {
        Echo echo = new Echo();
        sendSizes(link, echo);
        if (packed) sendPacked(link, echo);
        else for (int i = 0; i < 2000; i++) link.send(echo.make(10 + i % 200, i % 3 == 0, i), echo::take);
        await(() -> {
                link.flush(echo::take);
                return echo.received == echo.sent.size();
            }, 90, "all messages back");
        require(!link.failed, "the channel failed");
    }

    private static void open(Eta.Link link) {
        await(() -> {
                link.advance();
                return link.isOpen() || link.failed;
            }, 90, "the channel opens");
        require(link.isOpen(), "the channel did not open: " + link.error.text());
    }

    /* Their client, our server: every compression, frames packed or not by both, older versions. */
    private static void clients() throws Exception {
        for (int c = 0; c < COMPRESSIONS.length; c++) {
            for (boolean packed : new boolean[] {true, false}) {
                String mode = packed ? "-f6144" : "-1";
                try (Peer server = new Peer(peer, "server", "-c", COMPRESSIONS[c], mode)) {
                    ConnectOptions options = Eta.connectOptions(server.port());
                    options.compressionType(COMPRESSION_TYPES[c]);
                    Eta.Link link = Eta.connect(options);
                    open(link);
                    String opened = server.await("opened", 90);
                    require(opened.contains("compression=" + c), opened);
                    exchange(link, packed);
                    link.close();
                    require(server.await("closed", 90).contains("by the peer"), "reason");
                }
                passed("ETA client, " + COMPRESSIONS[c] + ", " + (packed ? "packed" : "single"));
            }
        }
        try (Peer server = new Peer(peer, "server", "-c", "zlib", "-C")) {
            Eta.Link link = Eta.connect(Eta.connectOptions(server.port()));
            open(link);
            require(server.await("opened", 90).contains("compression=1"), "forced");
            exchange(link, true);
            link.close();
        }
        passed("ETA client, zlib forced by the server");
        for (int version = 11; version <= 13; version++) {
            try (Peer server = new Peer(peer, "server", "-v", "" + version, "-c", "both")) {
                ConnectOptions options = Eta.connectOptions(server.port());
                options.compressionType(CompressionTypes.LZ4);
                Eta.Link link = Eta.connect(options);
                open(link);
                exchange(link, true); /* what it says first opens our side: there is no key */
                require(server.await("opened", 90).contains("version=" + version), "version");
                link.close();
            }
            passed("ETA client falls back to version " + version);
        }
        for (int fragment : new int[] {512, 1000, 3000}) {
            try (Peer server = new Peer(peer, "server", "-f", "" + fragment, "-c", "zlib")) {
                ConnectOptions options = Eta.connectOptions(server.port());
                options.compressionType(CompressionTypes.ZLIB);
                Eta.Link link = Eta.connect(options);
                open(link);
                exchange(link, false);
                link.close();
            }
            passed("ETA client, fragments of " + fragment);
        }
        try (Peer server = new Peer(peer, "server", "-r", "No room for you")) {
            Eta.Link link = Eta.connect(Eta.connectOptions(server.port()));
            await(() -> {
                    link.advance();
                    return link.failed;
                }, 90, "the refusal");
            require(link.refused == 1, "not refused but failed: " + link.error.text());
            link.close();
        }
        passed("ETA client is refused");
    }

    /* Send back what comes until the channel is gone. */
    private static void serveEcho(Eta.Link link) {
        List<byte[]> back = new ArrayList<>();
        while (link.read(back::add)) {
            while (!back.isEmpty()) link.send(back.remove(0), back::add);
            link.channel.flush(link.error);
            Eta.rest();
        }
    }

    private static Eta.Link acceptOne(Server server) {
        Eta.Link[] link = {null};
        await(() -> (link[0] = Eta.accept(server, false)) != null, 90, "a connection");
        return link[0];
    }

    /* Our client, their server. */
    private static void servers() throws Exception {
        for (int c = 0; c < COMPRESSIONS.length; c++) {
            for (String mode : new String[] {"-f6144", "-1"}) {
                BindOptions options = Eta.bindOptions();
                options.compressionType(COMPRESSION_TYPES[c]);
                options.compressionLevel(c == 1 && mode.equals("-1") ? 0 : 6);
                Server server = Eta.bind(options);
                try (Peer client =
                        new Peer(peer, "client", "-c", COMPRESSIONS[c], mode, "" + Eta.portOf(server))) {
                    Eta.Link link = acceptOne(server);
                    open(link);
                    String opened = client.await("opened", 90);
                    require(opened.contains("compression=" + c), opened);
                    serveEcho(link);
                    require(client.exitCode(90) == 0, "the client is not content");
                    link.close();
                }
                server.close(TransportFactory.createError());
                passed("ETA server, " + COMPRESSIONS[c] + (mode.equals("-1") ? ", single" : ", packed"));
            }
        }
        BindOptions forced = Eta.bindOptions();
        forced.compressionType(CompressionTypes.ZLIB);
        forced.forceCompression(true);
        Server server = Eta.bind(forced);
        try (Peer client = new Peer(peer, "client", "" + Eta.portOf(server))) {
            Eta.Link link = acceptOne(server);
            open(link);
            require(client.await("opened", 90).contains("compression=1"), "forced");
            serveEcho(link);
            require(client.exitCode(90) == 0, "the client is not content");
            link.close();
        }
        server.close(TransportFactory.createError());
        passed("ETA server forces zlib");

        for (int version = 11; version <= 13; version++) {
            BindOptions options = Eta.bindOptions();
            options.compressionType(CompressionTypes.LZ4);
            server = Eta.bind(options);
            try (Peer client =
                    new Peer(peer, "client", "-c", "both", "-v", "" + version, "" + Eta.portOf(server))) {
                Eta.Link link = acceptOne(server);
                open(link);
                require(client.await("opened", 90).contains("version=" + version), "version");
                serveEcho(link);
                require(client.exitCode(90) == 0, "the client is not content");
                link.close();
            }
            server.close(TransportFactory.createError());
            passed("ETA server is asked for version " + version);
        }
        Server refusing = Eta.bind(Eta.bindOptions());
        try (Peer client = new Peer(peer, "client", "" + Eta.portOf(refusing))) {
            Eta.Link[] link = {null};
            await(() -> (link[0] = Eta.accept(refusing, true)) != null, 90, "a connection");
            await(() -> {
                    link[0].advance();
                    return client.poll("closed refused by the server: Connection refused.") != null;
                }, 90, "the refusal");
            require(client.exitCode(90) == 3, "exit code");
            link[0].close();
        }
        refusing.close(TransportFactory.createError());
        passed("ETA server refuses our client");
    }

    /* Pings keep a connection; silence ends it, on both sides. */
    private static void liveness() throws Exception {
        try (Peer server = new Peer(peer, "server", "-p", "6")) {
            ConnectOptions options = Eta.connectOptions(server.port());
            options.pingTimeout(6);
            Eta.Link silent = Eta.connect(options);
            open(silent);
            require(silent.channel.pingTimeout() == 6, "ping timeout");
            Eta.Link lively = Eta.connect(options);
            open(lively);
            long[] last = {0};
            await(() -> {
                    if (System.nanoTime() - last[0] > 1_000_000_000L) {
                        lively.channel.ping(lively.error);
                        lively.channel.flush(lively.error);
                        last[0] = System.nanoTime();
                    }
                    lively.read(b -> {});
                    return !silent.read(b -> {});
                }, 90, "our server drops a silent client");
            require(server.await("closed", 90).contains("nothing heard"), "reason");
            require(silent.pings >= 2, "our server pings: " + silent.pings);
            require(lively.read(b -> {}), "a client that pings is kept");
            silent.close();
            lively.close();
        }
        passed("our server: pings, drops a silent ETA client, keeps a lively one");

        BindOptions options = Eta.bindOptions();
        options.pingTimeout(3);
        options.minPingTimeout(3);
        Server server = Eta.bind(options);
        try (Peer client = new Peer(peer, "client", "-p", "3", "-s", "30", "" + Eta.portOf(server))) {
            Eta.Link link = acceptOne(server);
            open(link);
            List<byte[]> back = new ArrayList<>();
            await(() -> {
                    boolean there = link.read(back::add);
                    while (!back.isEmpty()) link.send(back.remove(0), back::add);
                    return !there;
                }, 90, "our client drops a silent server");
            require(client.await("closed", 90).contains("nothing heard"), "reason");
            require(link.pings >= 2, "our client pings: " + link.pings);
            link.close();
        }
        server.close(TransportFactory.createError());
        passed("our client: pings, drops a silent ETA server");
        try (Peer frozen = new Peer(peer, "server", "-p", "3", "-z")) {
            reactorSeesSilence(frozen.port());
        }
        passed("the ETA reactor drops our server when it is frozen");
    }

    private static void reactorSeesSilence(int port) throws Exception {
        ReactorErrorInfo error = ReactorFactory.createReactorErrorInfo();
        Reactor reactor = ReactorFactory.createReactor(ReactorFactory.createReactorOptions(), error);
        ConsumerRole role = ReactorFactory.createConsumerRole();
        List<Integer> events = new ArrayList<>();
        role.channelEventCallback(event -> {
            events.add(event.eventType());
            return ReactorCallbackReturnCodes.SUCCESS;
        });
        role.defaultMsgCallback(event -> ReactorCallbackReturnCodes.SUCCESS);
        ReactorConnectInfo info = ReactorFactory.createReactorConnectInfo();
        Eta.connectOptions(port).copy(info.connectOptions());
        info.connectOptions().pingTimeout(3);
        info.initTimeout(90);
        ReactorConnectOptions options = ReactorFactory.createReactorConnectOptions();
        options.connectionList().add(info);
        options.reconnectAttemptLimit(0);
        require(reactor.connect(options, role, error) >= 0, "reactor connect: " + error);
        ReactorDispatchOptions dispatch = ReactorFactory.createReactorDispatchOptions();
        long[] up = {0};
        await(() -> {
                reactor.dispatchAll(null, dispatch, error);
                if (up[0] == 0 && events.contains(ReactorChannelEventTypes.CHANNEL_UP))
                    up[0] = System.nanoTime();
                return events.contains(ReactorChannelEventTypes.CHANNEL_DOWN);
            }, 90, "the reactor sees the silence");
        long after = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - up[0]);
        require(up[0] != 0 && after >= 500, "down " + after + " ms after up: not for silence");
        reactor.shutdown(error);
    }

    /* A self-signed certificate as a Java key store and as PEM files. */
    private static final class Keys {
        final Path folder = Files.createTempDirectory("rmds-keys");
        final Path store = folder.resolve("store.p12");
        final Path certificate = folder.resolve("cert.pem");
        final Path key = folder.resolve("key.pem");

        Keys() throws Exception {
            run("keytool", "-genkeypair", "-alias", "k", "-keyalg", "RSA", "-keysize", "2048",
                "-dname", "CN=localhost", "-ext", "SAN=dns:localhost,ip:127.0.0.1", "-validity", "2",
                "-storetype", "PKCS12", "-keystore", store.toString(), "-storepass", "changeit");
            run("openssl", "pkcs12", "-in", store.toString(), "-passin", "pass:changeit", "-nokeys",
                "-out", certificate.toString());
            run("openssl", "pkcs12", "-in", store.toString(), "-passin", "pass:changeit", "-nocerts",
                "-nodes", "-out", key.toString());
        }

        private static void run(String... command) throws Exception {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes());
            require(process.waitFor() == 0, command[0] + ": " + output);
        }

        void remove() throws Exception {
            for (Path file : new Path[] {store, certificate, key}) Files.deleteIfExists(file);
            Files.deleteIfExists(folder);
        }
    }

    private static void tls() throws Exception {
        for (String tool : new String[] {"openssl", "keytool"}) {
            try {
                Process process = new ProcessBuilder(tool, "-version").redirectErrorStream(true).start();
                process.getInputStream().readAllBytes();
                process.waitFor();
            } catch (java.io.IOException e) {
                System.out.println("SKIP: no " + tool + " in the path");
                System.exit(77);
            }
        }
        Keys keys = new Keys();
        try {
            tlsClient(keys);
            tlsServer(keys);
        } finally {
            keys.remove();
        }
    }

    private static void tlsClient(Keys keys) throws Exception {
        for (String version : new String[] {"1.2", "1.3"}) {
            try (Peer server =
                    new Peer(peer, "server", "-c", "zlib", "-t", "" + keys.certificate, "-k", "" + keys.key)) {
                ConnectOptions options = Eta.connectOptions(server.port());
                options.connectionType(ConnectionTypes.ENCRYPTED);
                options.encryptionOptions().connectionType(ConnectionTypes.SOCKET);
                options.encryptionOptions().KeystoreFile(keys.store.toString());
                options.encryptionOptions().KeystorePasswd("changeit");
                options.encryptionOptions().KeystoreType("PKCS12");
                options.encryptionOptions().SecurityProtocolVersions(new String[] {version});
                options.compressionType(CompressionTypes.ZLIB);
                Eta.Link link = Eta.connect(options);
                open(link);
                exchange(link, true);
                link.close();
                require(server.await("closed", 90).contains("by the peer"), "reason");
            }
            passed("ETA client over TLS " + version);
        }
    }

    private static void tlsServer(Keys keys) throws Exception {
        BindOptions options = Eta.bindOptions();
        options.connectionType(ConnectionTypes.ENCRYPTED);
        options.encryptionOptions().keystoreFile(keys.store.toString());
        options.encryptionOptions().keystorePasswd("changeit");
        options.encryptionOptions().keystoreType("PKCS12");
        Server server = Eta.bind(options);
        try (Peer client =
                new Peer(peer, "client", "-a", "" + keys.certificate, "" + Eta.portOf(server))) {
            Eta.Link link = acceptOne(server);
            open(link);
            serveEcho(link);
            require(client.exitCode(90) == 0, "the client is not content");
            link.close();
        }
        server.close(TransportFactory.createError());
        passed("ETA server over TLS");
    }

    /* A hundred connections at once, both ways. */
    private static void many() throws Exception {
        try (Peer server = new Peer(peer, "server", "-c", "both")) {
            int port = server.port();
            List<Eta.Link> links = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                ConnectOptions options = Eta.connectOptions(port);
                options.compressionType(COMPRESSION_TYPES[i % 3]);
                options.guaranteedOutputBuffers(20);
                links.add(Eta.connect(options));
            }
            await(() -> {
                    links.forEach(Eta.Link::advance);
                    return links.stream().allMatch(Eta.Link::isOpen);
                }, 90, "100 channels open");
            for (Eta.Link link : links) {
                Echo echo = new Echo();
                for (int i = 0; i < 50; i++) link.send(echo.make(200 * i + 1, i % 2 == 0, i), echo::take);
                await(() -> {
                        link.flush(echo::take);
                        return echo.received == echo.sent.size();
                    }, 90, "all messages back");
            }
            links.forEach(Eta.Link::close);
            for (int i = 0; i < 100; i++) server.await("closed", 90);
        }
        passed("100 ETA clients");

        Server server = Eta.bind(Eta.bindOptions());
        try (Peer client = new Peer(peer, "client", "-n", "100", "-1", "" + Eta.portOf(server))) {
            List<Eta.Link> links = new ArrayList<>();
            await(() -> {
                    for (Eta.Link link = Eta.accept(server, false); link != null;
                            link = Eta.accept(server, false)) links.add(link);
                    links.forEach(Eta.Link::advance);
                    for (Eta.Link link : links) {
                        if (!link.isOpen() || link.failed) continue;
                        List<byte[]> back = new ArrayList<>();
                        if (!link.read(back::add)) continue; /* it is content and gone */
                        while (!back.isEmpty()) link.send(back.remove(0), back::add);
                        link.channel.flush(link.error);
                    }
                    return !client.isAlive();
                }, 120, "100 clients served");
            require(client.exitCode(90) == 0, "a client is not content");
            links.forEach(Eta.Link::close);
        }
        server.close(TransportFactory.createError());
        passed("100 of our clients at an ETA server");
    }
}
