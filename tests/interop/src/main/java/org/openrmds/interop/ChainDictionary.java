/* ChainDictionary.java - consumers download the provider's own dictionary through the chain. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.FieldEntry;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumer;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/*
 * The provider's dictionary is that of conf/ with one field more, which nobody else has. What the
 * consumer's library calls that field says whose dictionary it was given.
 */
public final class ChainDictionary {
    private ChainDictionary() {}

    private static final String OWN_NAME = "OWN_FIELD";
    private static final Path FOLDER = Path.of(System.getenv("CHAIN_DIR"));
    private static final Path FIELDS = FOLDER.resolve("RDMFieldDictionary");
    private static String original;
    private static ChainProvider provider;

    /* The name of the field, as an application that has just started sees it. */
    private static final class Reader implements OmmConsumerClient {
        private final CountDownLatch done = new CountDownLatch(1);
        private volatile String name = "?";

        @Override
        public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
            for (FieldEntry entry : msg.payload().fieldList())
                if (entry.fieldId() == ChainKit.OWN_FIELD) name = entry.name();
            done.countDown();
        }

        @Override
        public void onUpdateMsg(UpdateMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onStatusMsg(StatusMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onGenericMsg(GenericMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAckMsg(AckMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
    }

    private static String nameAtConsumer() throws InterruptedException {
        Reader reader = new Reader();
        OmmConsumer consumer =
                EmaFactory.createOmmConsumer(
                        EmaFactory.createOmmConsumerConfig()
                                .host("localhost:" + ChainKit.port("P2PS"))
                                .username("user"));
        consumer.registerClient(ChainKit.request("OWN.A"), reader);
        check(reader.done.await(ChainKit.SECONDS, TimeUnit.SECONDS), "no image of OWN.A");
        consumer.uninitialize();
        return reader.name;
    }

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        original = Files.readString(FIELDS, StandardCharsets.ISO_8859_1);
        dictionary("7.0", true);
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        report.test("a consumer is given the provider's dictionary", ChainDictionary::own);
        report.test("the first version stays when the provider comes with another one",
                ChainDictionary::first);
        report.test("a consumer that comes while there is no service waits", ChainDictionary::early);
        report.test("a restarted p2ps and src_dist have the new one", ChainDictionary::next);
        report.test("files that are configured come before the provider's", ChainDictionary::files);
        provider.close();
        report.end();
    }

    private static void dictionary(String version, boolean hasOwn) throws IOException {
        String text = original.replaceFirst("!tag Version +\\S+", "!tag Version  " + version);
        check(!text.equals(original), "no version in the dictionary");
        if (hasOwn)
            text +=
                    OWN_NAME + " \"A field of one's own\" " + ChainKit.OWN_FIELD
                            + " NULL INTEGER 5 UINT64 5\n";
        Files.writeString(FIELDS, text, StandardCharsets.ISO_8859_1);
    }

    private static void own() throws InterruptedException {
        String name = nameAtConsumer();
        check(OWN_NAME.equals(name), "the field is called " + name);
    }

    private static void restartProvider() {
        int logins = provider.count(l -> l.startsWith("login"));
        check(logins > 0, "the provider was never found");
        provider.close();
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
    }

    private static void first() throws IOException, InterruptedException {
        dictionary("8.0", false);
        restartProvider();
        String name = nameAtConsumer();
        check(OWN_NAME.equals(name), "the field is called " + name);
    }

    /* Its library asks for the dictionary when the service comes up, not before. */
    private static void early() throws Exception {
        provider.close();
        FutureTask<String> name = new FutureTask<>(ChainDictionary::nameAtConsumer);
        new Thread(name).start();
        provider = new ChainProvider();
        check(OWN_NAME.equals(name.get()), "the field is called " + name.get());
    }

    private static void next() throws InterruptedException {
        ChainKit.chain("stop", "p2ps");
        ChainKit.chain("stop", "src_dist");
        ChainKit.chain("start", "src_dist");
        ChainKit.chain("start", "p2ps");
        String name = nameAtConsumer();
        check(!OWN_NAME.equals(name), "the old dictionary is still served");
    }

    private static void files() throws IOException, InterruptedException {
        String conf = System.getenv("RMDS_SOURCE_DIR") + "/conf/";
        dictionary("9.0", true);
        restartProvider();
        Files.writeString(
                FOLDER.resolve("rmds.cnf"),
                "*p2ps*dictionaryPath : " + conf + "RDMFieldDictionary, " + conf + "enumtype.def\n",
                StandardOpenOption.APPEND);
        ChainKit.chain("stop", "p2ps");
        ChainKit.chain("stop", "src_dist");
        ChainKit.chain("start", "src_dist");
        ChainKit.chain("start", "p2ps");
        String name = nameAtConsumer();
        check(!OWN_NAME.equals(name), "the provider's dictionary is served");
    }
}
