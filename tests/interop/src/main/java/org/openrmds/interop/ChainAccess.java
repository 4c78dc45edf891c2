/* ChainAccess.java - logins that are refused, and items a user may not see: the access file. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.PostMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public final class ChainAccess {
    private ChainAccess() {}

    private static final int CLOSED = OmmState.StreamState.CLOSED;
    private static final int SUSPECT = OmmState.DataState.SUSPECT;
    private static final int NOT_ENTITLED = OmmState.StatusCode.NOT_AUTHORIZED;
    private static final int ACCESS_DENIED = 1;
    private static ChainProvider provider;
    private static int probes;

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
        report.test("where, with what and at how many places is told", ChainAccess::codes);
        report.test("a denied item is not entitled, also when it is open", ChainAccess::denied);
        report.test("a reload takes rights away", ChainAccess::reload);
        report.test("a view is imposed, on images and updates", ChainAccess::imposed);
        report.test("new permission data close an item, and open it again", ChainAccess::locks);
        report.test("an update with a stricter lock is for some", ChainAccess::stricterUpdate);
        report.test("a denied post off a stream is nacked, and on it", ChainAccess::posts);
        report.test("who may post nothing is told at his login", ChainAccess::noPosts);
        provider.close();
        report.end();
    }

    private static void rules(String text) throws IOException {
        Files.writeString(Path.of(System.getenv("CHAIN_DIR"), "access.conf"), text);
    }

    /* Once a user that they alone have is let in, they are in force. */
    private static void takeRules(String text) throws IOException {
        String probe = "probe" + ++probes;
        rules(text + "user " + probe + "\n");
        ChainKit.chain("hup", "p2ps");
        long end = System.nanoTime() + ChainKit.SECONDS * 1000000000L;
        while (true) {
            try {
                new ChainKit.Consumer(probe).close();
                return;
            } catch (OmmException e) {
                check(System.nanoTime() < end, "the rules are not read: " + e.getMessage());
            }
        }
    }

    private static void refused(String user, String password) {
        refused(user, password, "");
    }

    private static void refused(String user, String password, String text) {
        try {
            com.refinitiv.ema.access.OmmConsumerConfig config =
                    EmaFactory.createOmmConsumerConfig().username(user);
            if (password != null) config.password(password);
            new ChainKit.Consumer(config).close();
        } catch (OmmException e) {
            check(!e.getMessage().contains("timed out"), "no answer: " + e.getMessage());
            check(e.getMessage().contains(text), text + ": " + e.getMessage());
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
        refused("limited", null, "the user has as many connections as he may have");
        first.close();
    }

    /* EMA comes with application id 256, from 127.0.0.1; each has its own code, and EMA gives up. */
    private static void codes() throws IOException {
        takeRules(
                "user alice password=secret\nuser limited mounts=1\nuser user\n"
                        + "user app application=300\nuser desk7 position=10.1.0.7*\nuser far from=192.0.2.0/24\nuser safe tls=yes\n"
                        + "user gone expires=2020-01-01\nuser off disabled\n"
                        + "deny user * SECRET.*\nallow * * *\n");
        refused("app", null, "the application 256 is not allowed to app");
        refused("far", null, "far may not come from 127.0.0.1");
        refused("desk7", null, "is not allowed to desk7");
        refused("safe", null, "must use TLS");
        refused("gone", null, "the user expired at");
        refused("off", null, "the user is disabled");
        refused("m\u0085", null, "control characters");
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
        takeRules("user user\ndeny user * PUBLIC.A\n");
        consumer.awaitStatus("PUBLIC.A", CLOSED, SUSPECT, NOT_ENTITLED);
        provider.publish("PUBLIC.B", 1);
        consumer.awaitCounter("PUBLIC.B", 1, ChainKit.SECONDS);
        consumer.close();
    }

    /* The application asks for all fields, and gets the one that its user may see. */
    private static void imposed() throws IOException {
        takeRules("user user\nuser desk\nfields desk * * keep " + ChainKit.ACVOL_1 + "\n");
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

    private static final String LOCK_62 = "03010162c0";
    private static final String LOCK_63 = "03010163c0";

    private static void lockRules() throws IOException {
        takeRules(
                "user basic\nuser full\npeset P ids=257\ncontent * lock\n"
                        + "grant basic P 62\ngrant full P 62,63\n");
    }

    private static void locks() throws IOException {
        lockRules();
        provider.lock("LOCK.A", LOCK_62);
        ChainKit.Consumer basic = new ChainKit.Consumer("basic");
        ChainKit.Consumer full = new ChainKit.Consumer("full");
        basic.open("LOCK.A");
        full.open("LOCK.A");
        check(basic.awaitRefresh("LOCK.A").isOpenOk(), "62 is held");
        check(full.awaitRefresh("LOCK.A").isOpenOk(), "62 is held, too");
        provider.changeLock("LOCK.A", LOCK_63);
        ChainKit.Seen seen = basic.awaitStatus("LOCK.A", CLOSED, SUSPECT, NOT_ENTITLED);
        check("Access Denied: User req to PE(63)".equals(seen.stateText), seen.stateText);
        basic.open("LOCK.A");
        basic.awaitStatus("LOCK.A", CLOSED, SUSPECT, NOT_ENTITLED);
        provider.publish("LOCK.A", 1);
        full.awaitCounter("LOCK.A", 1, ChainKit.SECONDS);
        provider.changeLock("LOCK.A", LOCK_62);
        full.await("the second lock", s -> s.is("status", "LOCK.A") && s.text.contains("another"));
        full.await("the first lock", s -> s.is("status", "LOCK.A") && s.text.contains("another"));
        basic.open("LOCK.A");
        check(basic.awaitRefresh("LOCK.A").isOpenOk(), "62 is enough again");
        provider.publish("LOCK.A", 1);
        basic.awaitCounter("LOCK.A", 2, ChainKit.SECONDS);
        full.awaitCounter("LOCK.A", 2, ChainKit.SECONDS);
        basic.close();
        full.close();
    }

    private static void stricterUpdate() throws IOException {
        lockRules();
        provider.lock("LOCK.B", LOCK_62);
        ChainKit.Consumer basic = new ChainKit.Consumer("basic");
        ChainKit.Consumer full = new ChainKit.Consumer("full");
        basic.judgeSteps(false);
        basic.open("LOCK.B");
        full.open("LOCK.B");
        basic.awaitRefresh("LOCK.B");
        full.awaitRefresh("LOCK.B");
        provider.publishLocked("LOCK.B", LOCK_63);
        provider.publish("LOCK.B", 1);
        full.awaitCounter("LOCK.B", 2, ChainKit.SECONDS);
        basic.awaitCounter("LOCK.B", 2, ChainKit.SECONDS);
        check(full.updates() == 2, "who holds 63 gets both: " + full.updates());
        check(basic.updates() == 1, "who does not gets the second one: " + basic.updates());
        check(basic.poll(s -> s.is("status", "LOCK.B")) == null, "and its stream stays as it is");
        basic.close();
        full.close();
    }

    private static PostMsg post(String name, long id) {
        return EmaFactory.createPostMsg()
                .postId(id)
                .serviceName(SERVICE)
                .name(name)
                .domainType(EmaRdm.MMT_MARKET_PRICE)
                .solicitAck(true)
                .complete(true)
                .payload(
                        EmaFactory.createUpdateMsg()
                                .payload(
                                        ChainKit.fieldList(
                                                EmaFactory.createFieldEntry().real(30, 4711, 14))));
    }

    private static long login(ChainKit.Consumer consumer) {
        long login =
                consumer.open("login", EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN));
        consumer.awaitRefresh("login");
        return login;
    }

    private static void posts() throws IOException {
        takeRules("default posts deny\nuser poster\nallow poster * MINE.* do=post\nallow * * *\n");
        ChainKit.Consumer poster = new ChainKit.Consumer("poster");
        long login = login(poster);
        poster.ema().submit(post("OTHER.A", 1), login);
        ChainKit.Seen ack = poster.await("nack", s -> s.is("ack", "login"));
        check(ack.ackId == 1 && ack.nack == ACCESS_DENIED, "nack: " + ack.text);
        poster.ema().submit(post("MINE.A", 2), login);
        ack = poster.await("ack", s -> s.is("ack", "login"));
        check(ack.ackId == 2 && ack.nack < 1, "ack: " + ack.text);
        long item = poster.open("OTHER.B");
        poster.awaitRefresh("OTHER.B");
        poster.ema().submit(post("OTHER.B", 3), item);
        ack = poster.await("nack", s -> s.is("ack", "OTHER.B"));
        check(ack.ackId == 3 && ack.nack == ACCESS_DENIED, "nack: " + ack.text);
        check(provider.count(l -> l.startsWith("post") && l.contains("OTHER")) == 0, "it came");
        poster.close();
    }

    /* The library sends a post all the same, off the stream. */
    private static void noPosts() throws IOException {
        takeRules("default posts deny\nuser poster\nuser reader\nallow poster * * do=post\n");
        for (String user : new String[] {"reader", "poster"}) {
            ChainKit.Consumer consumer = new ChainKit.Consumer(user);
            long login =
                    consumer.open("login", EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN));
            boolean may = user.equals("poster");
            String want = "name=\"SupportOMMPost\" dataType=\"UInt\" value=\"" + (may ? 1 : 0);
            String text = consumer.awaitRefresh("login").text;
            check(text.contains(want), user + ": " + text);
            consumer.ema().submit(post("POST.B", 1), login);
            ChainKit.Seen ack = consumer.await("nack", s -> s.is("ack", "login"));
            check(may ? ack.nack < 1 : ack.nack == ACCESS_DENIED, user + ": " + ack.text);
            consumer.close();
        }
        check(provider.count(l -> l.startsWith("post off POST.B")) == 1, "one of them may");
    }

    private static void onlyVolume(ChainKit.Seen seen) {
        check(
                seen.fields.keySet().equals(java.util.Set.of(ChainKit.ACVOL_1)),
                "more than the field that may be seen: " + seen.fields);
    }
}
