/* ChainAccess.java - logins that are refused, and items a user may not see: the access file. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public final class ChainAccess {
    private ChainAccess() {}

    private static final int CLOSED = OmmState.StreamState.CLOSED;
    private static final int SUSPECT = OmmState.DataState.SUSPECT;
    private static final int NOT_ENTITLED = OmmState.StatusCode.NOT_AUTHORIZED;
    private static ChainProvider provider;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        rules(
                "user alice password=secret\nuser limited mounts=1\nuser user\n"
                        + "deny user * SECRET.*\nallow * * *\n");
        ChainKit.chain("stop", "p2ps");
        ChainKit.chain("start", "p2ps");
        report.test("a user nobody knows is refused", () -> refused("mallory", null));
        report.test("a wrong password is refused", () -> refused("alice", "wrong"));
        report.test("the right password is let in", ChainAccess::letIn);
        report.test("one mount too many is refused", ChainAccess::mounts);
        report.test("a denied item is not entitled, also when it is open", ChainAccess::denied);
        report.test("a reload takes rights away", ChainAccess::reload);
        report.test("a view is imposed, on images and updates", ChainAccess::imposed);
        provider.close();
        report.end();
    }

    private static void rules(String text) throws IOException {
        Files.writeString(Path.of(System.getenv("CHAIN_DIR"), "access.conf"), text);
    }

    private static void refused(String user, String password) {
        try {
            com.refinitiv.ema.access.OmmConsumerConfig config =
                    EmaFactory.createOmmConsumerConfig().username(user);
            if (password != null) config.password(password);
            new ChainKit.Consumer(config).close();
        } catch (OmmException e) {
            check(!e.getMessage().contains("timed out"), "no answer: " + e.getMessage());
            return;
        }
        throw new IllegalStateException(user + " was let in");
    }

    private static void letIn() {
        ChainKit.Consumer consumer =
                new ChainKit.Consumer(
                        EmaFactory.createOmmConsumerConfig().username("alice").password("secret"));
        consumer.open("SECRET.A");
        check(consumer.awaitRefresh("SECRET.A").isOpenOk(), "alice may see it");
        consumer.close();
    }

    private static void mounts() {
        ChainKit.Consumer first = new ChainKit.Consumer("limited");
        refused("limited", null);
        first.close();
    }

    private static void denied() {
        ChainKit.Consumer alice =
                new ChainKit.Consumer(
                        EmaFactory.createOmmConsumerConfig().username("alice").password("secret"));
        alice.open("SECRET.B");
        alice.awaitRefresh("SECRET.B");
        ChainKit.Consumer consumer = new ChainKit.Consumer();
        consumer.open("SECRET.A");
        consumer.open("SECRET.B");
        consumer.open("SECRET.C", ChainKit.request("SECRET.C").interestAfterRefresh(false));
        for (String item : new String[] {"SECRET.A", "SECRET.B", "SECRET.C"})
            consumer.awaitStatus(item, CLOSED, SUSPECT, NOT_ENTITLED);
        check(provider.count(l -> l.equals("req SECRET.C")) == 0, "the source was asked");
        consumer.open("PUBLIC");
        check(consumer.awaitRefresh("PUBLIC").isOpenOk(), "PUBLIC in " + SERVICE);
        consumer.close();
        alice.close();
    }

    private static void reload() throws IOException {
        ChainKit.Consumer consumer = new ChainKit.Consumer();
        consumer.open("PUBLIC.A");
        consumer.open("PUBLIC.B");
        consumer.awaitRefresh("PUBLIC.A");
        consumer.awaitRefresh("PUBLIC.B");
        rules("user user\ndeny user * PUBLIC.A\n");
        ChainKit.chain("hup", "p2ps");
        consumer.awaitStatus("PUBLIC.A", CLOSED, SUSPECT, NOT_ENTITLED);
        provider.publish("PUBLIC.B", 1);
        consumer.awaitCounter("PUBLIC.B", 1, ChainKit.SECONDS);
        consumer.close();
    }

    /* The application asks for all fields, and gets the one that its user may see. */
    private static void imposed() throws IOException {
        rules("user user\nuser desk\nfields desk * * keep " + ChainKit.ACVOL_1 + "\n");
        ChainKit.chain("hup", "p2ps");
        ChainKit.Consumer whole = new ChainKit.Consumer();
        ChainKit.Consumer desk = new ChainKit.Consumer("desk");
        desk.judgeContent(false);
        whole.open("CUT");
        desk.open("CUT");
        check(whole.awaitRefresh("CUT").fields.size() > 1, "the item has more fields");
        ChainKit.Seen image = desk.awaitRefresh("CUT");
        check(image.isOpenOk(), "the stream is open");
        onlyVolume(image);
        provider.publish("CUT", 3);
        desk.awaitCounter("CUT", 3, ChainKit.SECONDS);
        onlyVolume(desk.awaitUpdate("CUT"));
        whole.awaitCounter("CUT", 3, ChainKit.SECONDS);
        desk.close();
        whole.close();
    }

    private static void onlyVolume(ChainKit.Seen seen) {
        check(
                seen.fields.keySet().equals(java.util.Set.of(ChainKit.ACVOL_1)),
                "more than the field that may be seen: " + seen.fields);
    }
}
