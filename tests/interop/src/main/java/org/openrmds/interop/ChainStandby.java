/* ChainStandby.java - EMA consumers with a connection to each of two p2ps. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public final class ChainStandby {
    private ChainStandby() {}

    private static final int MANY = 200;
    private static final int LOSSES = 3; /* of one p2ps, then the other, and so on */
    /* By service the library asks a standby that came back for all items, and then says in one more
     * message that it stands by. It drops the connection when that finds none of its 100 output
     * buffers free; with this mark it empties them each 1,000 bytes, not each 6,144. */
    private static final String HIGH_WATER = "1000";
    private static final int BACK_S = 30; /* the library's reconnects included */
    private static final Map<String, Long> COUNTERS = new ConcurrentHashMap<>();
    private static ChainProvider provider;

    /* The configuration file of the library: a consumer for each of the two modes. */
    private static String configuration() throws IOException {
        StringBuilder text = new StringBuilder("<?xml version=\"1.0\"?><EmaConfig>");
        text.append("<ConsumerGroup><ConsumerList>");
        for (String mode : new String[] {"LOGIN_BASED", "SERVICE_BASED"})
            text.append("<Consumer>")
                    .append(value("Name", mode))
                    .append(value("WarmStandbyChannelSet", "Set_" + mode))
                    .append("</Consumer>");
        text.append("</ConsumerList></ConsumerGroup><WarmStandbyGroup><WarmStandbyList>");
        for (String mode : new String[] {"LOGIN_BASED", "SERVICE_BASED"})
            text.append("<WarmStandbyChannel>")
                    .append(value("Name", "Set_" + mode))
                    .append(value("StartingActiveServer", "Server_P2PS"))
                    .append(value("StandbyServerSet", "Server_P2PS2"))
                    .append(value("WarmStandbyMode", "WarmStandbyMode::" + mode))
                    .append("</WarmStandbyChannel>");
        text.append("</WarmStandbyList></WarmStandbyGroup>");
        text.append("<WarmStandbyServerInfoGroup><WarmStandbyServerInfoList>");
        for (String name : new String[] {"P2PS", "P2PS2"})
            text.append("<WarmStandbyServerInfo>")
                    .append(value("Name", "Server_" + name))
                    .append(value("Channel", name))
                    .append("</WarmStandbyServerInfo>");
        text.append("</WarmStandbyServerInfoList></WarmStandbyServerInfoGroup>");
        text.append("<ChannelGroup><ChannelList>");
        for (String name : new String[] {"P2PS", "P2PS2"})
            text.append("<Channel>")
                    .append(value("Name", name))
                    .append(value("ChannelType", "ChannelType::RSSL_SOCKET"))
                    .append(value("Host", "localhost"))
                    .append(value("Port", ChainKit.port(name)))
                    .append(value("HighWaterMark", HIGH_WATER))
                    .append("</Channel>");
        text.append("</ChannelList></ChannelGroup></EmaConfig>");
        return Files.writeString(Path.of("EmaStandby.xml"), text).toString();
    }

    private static String value(String name, String what) {
        return "<" + name + " value=\"" + what + "\"/>";
    }

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        String file = configuration();
        provider = new ChainProvider(COUNTERS);
        provider.await("login", l -> l.startsWith("login"));
        report.test("standby by login", () -> follows(file, "LOGIN_BASED"));
        report.test("standby by service", () -> follows(file, "SERVICE_BASED"));
        provider.close();
        report.end();
    }

    /* Every update once, in order: the consumer checks it. */
    private static void ticks(ChainKit.Consumer consumer) {
        for (int i = 0; i < 3; i++) provider.publishAll();
        for (int i = 0; i < MANY; i++)
            consumer.awaitCounter("IT" + i, COUNTERS.get("IT" + i), ChainKit.SECONDS);
    }

    /* The p2ps it follows is gone: fresh images from the other one, then its updates. */
    private static void loses(ChainKit.Consumer consumer, String program) {
        consumer.forget();
        ChainKit.chain("kill", program);
        consumer.awaitCount(
                "items back", MANY, BACK_S, s -> s.kind.equals("refresh") && s.isOpenOk());
        check(
                consumer.size(s -> s.kind.equals("status") && !s.isSuspect() && !s.isOpenOk()) == 0,
                "an item was closed");
        ticks(consumer);
    }

    /* The standby holds all items, too: before that the library has nothing to fail over to. */
    private static void standsBy(String program) {
        ChainKit.chain("level", program + " p2ps.worker.0.watches " + MANY);
    }

    /* Started again it is the standby, of which nothing else is seen. */
    private static void comesBack(ChainKit.Consumer consumer, String program) {
        ChainKit.chain("start", program);
        standsBy(program);
        consumer.forget();
        ticks(consumer);
    }

    private static void follows(String file, String mode) {
        ChainKit.Consumer consumer = ChainKit.Consumer.ofFile(file, mode);

        for (int i = 0; i < MANY; i++) consumer.open("IT" + i);
        consumer.awaitCount("refreshes", MANY, BACK_S, s -> s.kind.equals("refresh"));
        ticks(consumer);
        standsBy("p2ps2");
        check(provider.openItems() == MANY, "an item is open twice at the provider");
        for (int i = 0; i < LOSSES; i++) {
            String active = i % 2 == 0 ? "p2ps" : "p2ps2";
            loses(consumer, active);
            comesBack(consumer, active);
        }
        consumer.close();
    }
}
