/* ChainItems.java - what one EMA consumer does with items, through the whole chain. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.ACVOL_1;
import static org.openrmds.interop.ChainKit.ASK;
import static org.openrmds.interop.ChainKit.BID;
import static org.openrmds.interop.ChainKit.SERVICE;
import static org.openrmds.interop.ChainKit.check;
import static org.openrmds.interop.ChainKit.request;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.rdm.EmaRdm;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

public final class ChainItems {
    private ChainItems() {}

    private static ChainProvider provider;
    private static ChainKit.Consumer consumer;

    private static final int CLOSED = OmmState.StreamState.CLOSED;
    private static final int OPEN = OmmState.StreamState.OPEN;
    private static final int OK = OmmState.DataState.OK;
    private static final int SUSPECT = OmmState.DataState.SUSPECT;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        consumer = new ChainKit.Consumer();
        report.test("directory shows the service with dictionaries", ChainItems::directory);
        report.test("an item streams without a gap", ChainItems::streaming);
        report.test("saturation keeps every update in order", ChainItems::saturation);
        report.test("a snapshot is one refresh", ChainItems::snapshot);
        report.test("a batch of 1000 opens 1000 items", ChainItems::batch);
        report.test("a view shows its fields only, and changes", ChainItems::view);
        report.test("a re-issue brings a solicited image at the present cut", ChainItems::reissue);
        report.test("pause holds updates until resume", ChainItems::pause);
        report.test("an unknown item is closed not found", ChainItems::unknownItem);
        report.test("a service nobody offers is waited for", ChainItems::unknownService);
        report.test("an item the provider denies is not entitled", ChainItems::denied);
        report.test("closed-recover is asked again by the server", ChainItems::retry);
        report.test("an item the provider closes is closed", ChainItems::closedByProvider);
        report.test("suspect and back by a status", ChainItems::suspectAndBack);
        report.test("a status of a group reaches its items and no others", ChainItems::groups);
        report.test("a group to be asked for again is recovered", ChainItems::groupAgain);
        report.test("the provider's service id is the consumers'", ChainItems::serviceById);
        report.test("an unsolicited refresh replaces the image", ChainItems::unsolicited);
        report.test("an image in parts arrives in parts", ChainItems::parts);
        report.test("every domain passes", ChainItems::domains);
        report.test("posts on stream are acknowledged and published", ChainItems::postOnStream);
        report.test("posts off stream are acknowledged or refused", ChainItems::postOffStream);
        report.test("a refused post is nacked with code and text", ChainItems::postRefused);
        report.test("generic messages go both ways", ChainItems::generic);
        report.test("a private stream is not shared", ChainItems::privateStream);
        report.test("two consumers share one provider stream", ChainItems::sharing);
        report.test("10000 items stream at once", ChainItems::manyItems);
        report.test("a closed consumer leaves no interest", ChainItems::logout);
        if (report.hasFailed()) System.out.println("the provider saw " + provider.tail());
        provider.close();
        report.end();
    }

    private static void directory() {
        consumer.open(
                "directory",
                EmaFactory.createReqMsg().domainType(EmaRdm.MMT_DIRECTORY).serviceName(SERVICE));
        ChainKit.Seen seen = consumer.awaitRefresh("directory");
        for (String wanted : List.of(SERVICE, "RWFFld", "RWFEnum", "ServiceState"))
            check(seen.text.contains(wanted), wanted + " is not in " + seen.text);
    }

    private static void streaming() {
        long handle = consumer.open("IBM.N");
        ChainKit.Seen image = consumer.awaitRefresh("IBM.N");
        check(image.isSolicited && image.isComplete && image.isOpenOk(), "not as asked: " + image);
        check(SERVICE.equals(image.service) && "IBM.N".equals(image.name), "key: " + image.text);
        check("all is well".equals(image.stateText), "text: " + image.stateText);
        check("IBM.N".equals(image.fields.get(3)), "DSPLY_NAME: " + image);
        check(image.text.contains("itemGroup"), "no group: " + image.text);
        provider.publish("IBM.N", 500);
        consumer.awaitCounter("IBM.N", 500, ChainKit.SECONDS);
        consumer.ema().unregister(handle);
        provider.await("close", l -> l.equals("close IBM.N"));
    }

    private static void saturation() {
        consumer.keepUpdates(false);
        List<Long> handles = new ArrayList<>();
        for (int i = 0; i < 20; i++) handles.add(consumer.open("SAT" + i));
        consumer.awaitCount(
                "refreshes", 20, ChainKit.SECONDS, s -> s.kind.equals("refresh") && s.tag.startsWith("SAT"));
        long start = System.nanoTime();
        for (int round = 0; round < 5000; round++)
            for (int i = 0; i < 20; i++) provider.publish("SAT" + i, 1);
        for (int i = 0; i < 20; i++) consumer.awaitCounter("SAT" + i, 5000, ChainKit.SECONDS);
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf("    100000 updates in %.2f s%n", seconds);
        for (long handle : handles) consumer.ema().unregister(handle);
        consumer.keepUpdates(true);
        consumer.forget();
    }

    private static void snapshot() {
        consumer.open("SNAP", request("SNAP").interestAfterRefresh(false));
        ChainKit.Seen seen = consumer.awaitRefresh("SNAP");
        check(seen.stream == OmmState.StreamState.NON_STREAMING && seen.data == OK, "" + seen);
        check(seen.isSolicited && seen.isComplete, "" + seen);
        /* One more of an item that is open already. */
        long handle = consumer.open("SNAP2");
        consumer.awaitRefresh("SNAP2");
        provider.publish("SNAP2", 3);
        consumer.awaitCounter("SNAP2", 3, ChainKit.SECONDS);
        ChainKit.Consumer other = new ChainKit.Consumer();
        other.open("SNAP2", request("SNAP2").interestAfterRefresh(false));
        seen = other.awaitRefresh("SNAP2");
        check(seen.count() == 3, "an old image: " + seen);
        check(seen.stream == OmmState.StreamState.NON_STREAMING, "" + seen);
        other.close();
        consumer.ema().unregister(handle);
    }

    private static void batch() {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 1000; i++) names.add("BATCH" + i);
        consumer.open(
                        "batch",
                        EmaFactory.createReqMsg()
                                .serviceName(SERVICE)
                                .payload(ChainKit.batch(names)));
        consumer.awaitCount(
                "refreshes", 1000, ChainKit.SECONDS, s -> s.kind.equals("refresh") && s.tag.startsWith("BATCH"));
        provider.publishAll();
        consumer.awaitCount(
                "updates", 1000, ChainKit.SECONDS, s -> s.kind.equals("update") && s.tag.startsWith("BATCH"));
        consumer.forget();
    }

    private static void view() {
        long handle = consumer.open("VIEW", request("VIEW").payload(ChainKit.view(BID)));
        ChainKit.Seen seen = consumer.awaitRefresh("VIEW");
        check(seen.fields.keySet().equals(Set.of(BID)), "not the view: " + seen);
        provider.publish("VIEW", 1);
        seen = consumer.awaitUpdate("VIEW");
        check(seen.fields.keySet().equals(Set.of(BID)), "not the view: " + seen);
        consumer.ema().reissue(request("VIEW").payload(ChainKit.view(ASK, ACVOL_1)), handle);
        seen = consumer.awaitRefresh("VIEW");
        check(seen.isSolicited && seen.fields.keySet().equals(Set.of(ASK, ACVOL_1)), "" + seen);
        check(seen.count() == 1, "an old image: " + seen);
        provider.publish("VIEW", 1);
        seen = consumer.awaitUpdate("VIEW");
        check(seen.fields.keySet().equals(Set.of(ASK, ACVOL_1)), "not the view: " + seen);
        consumer.ema().unregister(handle);
    }

    private static void reissue() {
        long handle = consumer.open("AGAIN");
        consumer.awaitRefresh("AGAIN");
        provider.publish("AGAIN", 100);
        consumer.ema().reissue(request("AGAIN").priority(2, 5), handle);
        provider.publish("AGAIN", 100);
        ChainKit.Seen seen = consumer.awaitRefresh("AGAIN");
        check(seen.isSolicited && seen.isOpenOk(), "" + seen);
        consumer.awaitCounter("AGAIN", 200, ChainKit.SECONDS);
        consumer.ema().reissue(request("AGAIN").priority(3, 1).initialImage(false), handle);
        provider.publish("AGAIN", 10);
        consumer.awaitCounter("AGAIN", 210, ChainKit.SECONDS);
        check(consumer.poll(s -> s.is("refresh", "AGAIN")) == null, "a refresh nobody asked for");
        consumer.ema().unregister(handle);
    }

    private static void pause() {
        long handle = consumer.open("PAUSE");
        consumer.open("PAUSE.MARK");
        consumer.awaitRefresh("PAUSE");
        consumer.awaitRefresh("PAUSE.MARK");
        consumer.ema().reissue(request("PAUSE").pause(true).initialImage(false), handle);
        /* What comes back for a later request shows that the pause has arrived. */
        consumer.open("PAUSE.SYNC");
        consumer.awaitRefresh("PAUSE.SYNC");
        provider.publish("PAUSE", 10);
        provider.publish("PAUSE.MARK", 1);
        consumer.awaitUpdate("PAUSE.MARK");
        check(consumer.poll(s -> s.is("update", "PAUSE")) == null, "an update of a paused item");
        consumer.ema().reissue(request("PAUSE"), handle);
        ChainKit.Seen seen = consumer.awaitRefresh("PAUSE");
        check(seen.count() == 10, "an old image: " + seen);
        provider.publish("PAUSE", 1);
        consumer.awaitCounter("PAUSE", 11, ChainKit.SECONDS);
        consumer.ema().unregister(handle);
    }

    private static void unknownItem() {
        consumer.open("NONE.A");
        ChainKit.Seen seen =
                consumer.awaitStatus("NONE.A", CLOSED, SUSPECT, OmmState.StatusCode.NOT_FOUND);
        check("not known".equals(seen.stateText), "the provider's text is lost: " + seen);
        /* And again: a refused item may be asked anew. */
        consumer.open("NONE.A");
        consumer.awaitStatus("NONE.A", CLOSED, SUSPECT, OmmState.StatusCode.NOT_FOUND);
    }

    private static void unknownService() {
        consumer.open("NOWHERE", EmaFactory.createReqMsg().serviceName("NO_SERVICE").name("X"));
        consumer.awaitSuspect("NOWHERE");
        consumer.open("NOID", EmaFactory.createReqMsg().serviceId(65000).name("X"));
        consumer.await("status", s -> s.is("status", "NOID") && s.data == SUSPECT);
    }

    private static void denied() {
        consumer.open("DENY.A");
        ChainKit.Seen seen =
                consumer.awaitStatus(
                        "DENY.A", CLOSED, SUSPECT, OmmState.StatusCode.NOT_AUTHORIZED);
        check("not for you".equals(seen.stateText), "the provider's text is lost: " + seen);
    }

    private static void retry() {
        consumer.open("RETRY.A");
        ChainKit.Seen seen = consumer.awaitSuspect("RETRY.A");
        check("later".equals(seen.stateText), "the provider's text is lost: " + seen);
        seen = consumer.awaitRefresh("RETRY.A");
        check(seen.isOpenOk(), "" + seen);
    }

    private static void closedByProvider() {
        consumer.open("GOING");
        consumer.awaitRefresh("GOING");
        provider.publish("GOING", 5);
        provider.status("GOING", CLOSED, SUSPECT, OmmState.StatusCode.NOT_FOUND, "it has gone");
        ChainKit.Seen seen =
                consumer.awaitStatus("GOING", CLOSED, SUSPECT, OmmState.StatusCode.NOT_FOUND);
        check("it has gone".equals(seen.stateText), "" + seen);
        check(consumer.size(s -> s.is("update", "GOING")) == 5, "updates before the close");
        consumer.open("GOING");
        seen = consumer.awaitRefresh("GOING");
        check(seen.isOpenOk() && seen.count() == 5, "" + seen);
    }

    private static void suspectAndBack() {
        consumer.open("STALE");
        consumer.awaitRefresh("STALE");
        provider.status("STALE", OPEN, SUSPECT, OmmState.StatusCode.NONE, "line down");
        ChainKit.Seen seen = consumer.awaitSuspect("STALE");
        check("line down".equals(seen.stateText), "" + seen);
        /* One who comes now gets the image, and that it is suspect. */
        ChainKit.Consumer other = new ChainKit.Consumer();
        other.open("STALE");
        other.await("suspect image or status", s -> s.tag.equals("STALE") && s.isSuspect());
        provider.status("STALE", OPEN, OK, OmmState.StatusCode.NONE, "line up");
        consumer.awaitStatus("STALE", OPEN, OK, OmmState.StatusCode.NONE);
        other.await("open and ok", s -> s.tag.equals("STALE") && s.isOpenOk());
        provider.publish("STALE", 1);
        consumer.awaitCounter("STALE", 1, ChainKit.SECONDS);
        other.awaitCounter("STALE", 1, ChainKit.SECONDS);
        other.close();
    }

    private static void groups() {
        ChainProvider.OmmStateText down = new ChainProvider.OmmStateText(OPEN, SUSPECT, "group down");
        ChainProvider.OmmStateText up = new ChainProvider.OmmStateText(OPEN, OK, "group up");
        for (String item : new String[] {"GROUP7.A", "GROUP8.A"}) {
            consumer.open(item);
            consumer.awaitRefresh(item);
        }
        provider.group(7, down);
        check("group down".equals(consumer.awaitSuspect("GROUP7.A").stateText), "text");
        provider.group(7, up);
        consumer.awaitStatus("GROUP7.A", OPEN, OK, OmmState.StatusCode.NONE);
        check(consumer.poll(s -> s.is("status", "GROUP8.A")) == null, "the other group was told");
        for (String item : new String[] {"GROUP7.A", "GROUP8.A"}) {
            provider.publish(item, 1);
            consumer.awaitCounter(item, 1, ChainKit.SECONDS);
        }
    }

    private static void groupAgain() {
        int again = OmmState.StreamState.CLOSED_RECOVER;
        consumer.open("GROUP6.A");
        consumer.awaitRefresh("GROUP6.A");
        provider.group(6, new ChainProvider.OmmStateText(again, SUSPECT, "ask again"));
        consumer.awaitSuspect("GROUP6.A");
        /* A stale image may come before the new one. */
        ChainKit.Seen seen =
                consumer.await("refresh", s -> s.is("refresh", "GROUP6.A") && s.isOpenOk());
        provider.publish("GROUP6.A", 1);
        consumer.awaitCounter("GROUP6.A", seen.count() + 1, ChainKit.SECONDS);
    }

    private static void serviceById() {
        consumer.open("BY_ID");
        check(consumer.awaitRefresh("BY_ID").isOpenOk(), "not open");
        check(consumer.serviceId() == 1, "service id " + consumer.serviceId());
    }

    private static void unsolicited() {
        consumer.open("FRESH");
        consumer.awaitRefresh("FRESH");
        provider.publish("FRESH", 2);
        provider.refresh("FRESH", false);
        ChainKit.Seen seen = consumer.awaitRefresh("FRESH");
        check(!seen.isSolicited && seen.count() == 2, "" + seen);
        provider.publish("FRESH", 1);
        consumer.awaitCounter("FRESH", 3, ChainKit.SECONDS);
    }

    private static void parts() {
        int domain = EmaRdm.MMT_MARKET_BY_ORDER;
        consumer.open("PARTS.A", request("PARTS.A").domainType(domain));
        for (int part = 0; part < 3; part++) {
            ChainKit.Seen seen = consumer.awaitRefresh("PARTS.A");
            check(seen.isSolicited && seen.domain == domain, "" + seen);
            check(seen.isComplete == (part == 2), "completeness of part " + part);
            check(seen.text.contains("order" + part), "part " + part + ": " + seen.text);
        }
        /* Another one gets all parts, whether from an image or from the provider. */
        ChainKit.Consumer other = new ChainKit.Consumer();
        other.open("PARTS.A", request("PARTS.A").domainType(domain));
        StringBuilder text = new StringBuilder();
        for (boolean isComplete = false; !isComplete; ) {
            ChainKit.Seen seen = other.awaitRefresh("PARTS.A");
            text.append(seen.text);
            isComplete = seen.isComplete;
        }
        for (int part = 0; part < 3; part++)
            check(text.indexOf("order" + part) >= 0, "no order" + part + " in " + text);
        other.close();
    }

    /* Image, updates and a status of each domain. */
    private static void domains() {
        for (int domain : ChainProvider.DOMAINS) {
            String name = "DOMAIN" + domain;
            consumer.open(name, request(name).domainType(domain));
            ChainKit.Seen seen = consumer.awaitRefresh(name);
            check(seen.isSolicited && seen.isOpenOk() && seen.domain == domain, "" + seen.text);
            provider.publish(name, 3);
            for (int i = 1; i <= 3; i++) {
                seen = consumer.awaitUpdate(name);
                check(seen.domain == domain && seen.count() == i, "" + seen.text);
            }
            provider.status(name, OPEN, SUSPECT, OmmState.StatusCode.NONE, "line down");
            seen = consumer.awaitSuspect(name);
            check(seen.domain == domain && "line down".equals(seen.stateText), "" + seen.text);
        }
    }

    private static com.refinitiv.ema.access.PostMsg post(String name, long id, long number) {
        return EmaFactory.createPostMsg()
                .postId(id)
                .seqNum(number)
                .serviceName(SERVICE)
                .name(name)
                .domainType(EmaRdm.MMT_MARKET_PRICE)
                .publisherId(77, 0)
                .solicitAck(true)
                .complete(true)
                .payload(
                        EmaFactory.createUpdateMsg()
                                .payload(
                                        ChainKit.fieldList(
                                                EmaFactory.createFieldEntry().real(30, 4711, 14))));
    }

    private static void postOnStream() {
        ChainKit.Consumer other = new ChainKit.Consumer();
        other.open("POST");
        other.awaitRefresh("POST");
        long handle = consumer.open("POST");
        consumer.awaitRefresh("POST");
        for (int i = 1; i <= 20; i++) consumer.ema().submit(post("POST", i, 100 + i), handle);
        for (int i = 1; i <= 20; i++) {
            ChainKit.Seen ack = consumer.await("ack", s -> s.is("ack", "POST"));
            check(ack.ackId == i && ack.seqNum == 100 + i && ack.nack < 1, "ack: " + ack.text);
            check(consumer.awaitUpdate("POST").isOfPost, "the update does not say who posted");
            check(other.awaitUpdate("POST").fields.containsKey(30), "another consumer's update");
        }
        provider.await("publisher", l -> l.equals("posted by 77"));
        check(provider.count(l -> l.startsWith("post on POST")) == 20, "posts at the provider");
        other.close();
    }

    private static void postOffStream() {
        long login =
                consumer.open("login", EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN));
        consumer.awaitRefresh("login");
        consumer.ema().submit(post("OFFPOST", 7, 8), login);
        ChainKit.Seen ack = consumer.await("ack", s -> s.is("ack", "login"));
        check(ack.ackId == 7 && ack.seqNum == 8 && ack.nack < 1, "ack: " + ack.text);
        check(provider.count(l -> l.startsWith("post off OFFPOST")) == 1, "not seen there");
        consumer.ema().submit(post("NAK.OFF", 17, 18), login);
        ack = consumer.await("nack", s -> s.is("ack", "login"));
        check(ack.nack == 1 && ack.ackId == 17 && ack.seqNum == 18, "nack: " + ack.text);
        check("no posts here".equals(ack.stateText), "text: " + ack.text);
        check(provider.count(l -> l.startsWith("post off NAK.OFF")) == 1, "not seen there");
    }

    private static void postRefused() {
        long handle = consumer.open("NAK.A");
        consumer.awaitRefresh("NAK.A");
        consumer.ema().submit(post("NAK.A", 9, 10), handle);
        ChainKit.Seen ack = consumer.await("nack", s -> s.is("ack", "NAK.A"));
        check(ack.nack == 1 && ack.ackId == 9 && ack.seqNum == 10, "nack: " + ack.text);
        check("no posts here".equals(ack.stateText), "text: " + ack.text);
    }

    private static void generic() {
        long handle = consumer.open("GENERIC");
        consumer.awaitRefresh("GENERIC");
        consumer.ema()
                .submit(
                        EmaFactory.createGenericMsg()
                                .domainType(EmaRdm.MMT_MARKET_PRICE)
                                .name("gen1")
                                .payload(EmaFactory.createElementList()),
                        handle);
        ChainKit.Seen seen = consumer.await("generic", s -> s.is("generic", "GENERIC"));
        check("echo".equals(seen.name), "the key of a generic is its own: " + seen.text);
        check(seen.text.contains("gen1"), "payload: " + seen.text);
    }

    private static void privateStream() {
        long shared = consumer.open("PRIV");
        consumer.awaitRefresh("PRIV");
        long handle = consumer.open("PRIV.1", request("PRIV").privateStream(true));
        ChainKit.Seen seen = consumer.awaitRefresh("PRIV.1");
        check(seen.isPrivate && seen.isOpenOk(), "" + seen);
        provider.await("two streams", 2, l -> l.equals("req PRIV"));
        consumer.ema()
                .submit(
                        EmaFactory.createGenericMsg()
                                .domainType(EmaRdm.MMT_MARKET_PRICE)
                                .name("secret")
                                .payload(EmaFactory.createElementList()),
                        handle);
        provider.await("generic", l -> l.equals("generic secret on PRIV"));
        consumer.ema().unregister(handle);
        provider.await("close", 1, l -> l.equals("close PRIV"));
        consumer.ema().unregister(shared);
        provider.await("close", 2, l -> l.equals("close PRIV"));
    }

    private static void sharing() {
        ChainKit.Consumer other = new ChainKit.Consumer("another");
        consumer.open("SHARE");
        consumer.awaitRefresh("SHARE");
        provider.publish("SHARE", 50);
        other.open("SHARE");
        ChainKit.Seen seen = other.awaitRefresh("SHARE");
        check(seen.isSolicited && seen.isOpenOk(), "" + seen);
        provider.publish("SHARE", 50);
        consumer.awaitCounter("SHARE", 100, ChainKit.SECONDS);
        other.awaitCounter("SHARE", 100, ChainKit.SECONDS);
        check(provider.count(l -> l.equals("req SHARE")) == 1, "the provider was asked twice");
        other.close();
        provider.publish("SHARE", 1);
        consumer.awaitCounter("SHARE", 101, ChainKit.SECONDS);
    }

    private static void manyItems() {
        consumer.forget();
        consumer.keepUpdates(false);
        long start = System.nanoTime();
        List<Long> handles = new ArrayList<>();
        for (int i = 0; i < 10000; i++) handles.add(consumer.open("MANY" + i));
        consumer.awaitCount(
                "refreshes", 10000, ChainKit.SECONDS, s -> s.kind.equals("refresh") && s.tag.startsWith("MANY"));
        System.out.printf("    10000 images in %.2f s%n", (System.nanoTime() - start) / 1e9);
        for (int round = 0; round < 5; round++) provider.publishAll();
        for (int i = 0; i < 10000; i++) consumer.awaitCounter("MANY" + i, 5, ChainKit.SECONDS);
        for (long handle : handles) consumer.ema().unregister(handle);
        provider.await("closes", 10000, l -> l.startsWith("close MANY"));
        consumer.keepUpdates(true);
        consumer.forget();
    }

    private static void logout() throws InterruptedException {
        check(provider.openItems() > 0, "nothing is open");
        consumer.close();
        /*
         * The library looks at about 100 messages of a burst and then waits until something else
         * comes, so there is something else now and then.
         */
        ChainKit.Consumer other = new ChainKit.Consumer("other");
        long end = System.nanoTime() + ChainKit.SECONDS * 1000000000L;
        for (int i = 0; provider.openItems() > i && System.nanoTime() < end; i++) {
            other.open("STIR" + i);
            other.awaitRefresh("STIR" + i);
            Thread.sleep(200);
        }
        other.close();
        int left = provider.count(l -> l.startsWith("req BATCH"));
        left -= provider.count(l -> l.startsWith("close BATCH"));
        check(left == 0, left + " items are still open");
    }
}
