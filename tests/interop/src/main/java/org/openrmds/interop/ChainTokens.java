/* ChainTokens.java - EMA consumers that log in by a signed token, send a new one, and outlive it. */
/* SPDX-License-Identifier: Apache-2.0 */
package org.openrmds.interop;

import static org.openrmds.interop.ChainKit.check;

import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmState;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;

public final class ChainTokens {
    private ChainTokens() {}

    /* Of RFC 8037, which publishes it; tests/interop/keys.json has its public half. */
    private static final String KEY =
            "302e020100300506032b657004220420"
                    + "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    private static ChainProvider provider;

    public static void main(String[] arguments) throws Exception {
        ChainKit.Report report = new ChainKit.Report();
        provider = new ChainProvider();
        provider.await("login", l -> l.startsWith("login"));
        Files.writeString(
                Path.of(System.getenv("CHAIN_DIR"), "access.conf"),
                "user alice auth=jwt\nuser user\nuser bob auth=jwt disabled\n"
                        + "role rates claim=groups:rates\n"
                        + "allow @rates * RATES.*\ndeny * * RATES.*\n");
        ChainKit.chain("stop", "p2ps");
        ChainKit.chain("start", "p2ps");
        report.test("a token is let in, and its user is told", ChainTokens::letIn);
        report.test("an old one, another's and a changed one are not", ChainTokens::refused);
        report.test("a wrong new one is told, a good one is taken", ChainTokens::again);
        report.test("groups of a token are roles, of the next one, too", ChainTokens::groups);
        report.test("a login ends with its token", ChainTokens::expires);
        provider.close();
        report.end();
    }

    private static String part(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static String part(String text) {
        return part(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String token(String user, long life) {
        return token(user, life, "[]");
    }

    private static String token(String user, long life, String groups) {
        long now = System.currentTimeMillis() / 1000;
        String text =
                part("{\"alg\":\"EdDSA\",\"kid\":\"rfc8037\",\"typ\":\"JWT\"}")
                        + "."
                        + part(
                                "{\"sub\":\"%s\",\"aud\":\"rmds\",\"iat\":%d,\"exp\":%d,\"groups\":%s}"
                                        .formatted(
                                                user,
                                                Math.min(now, now + life),
                                                now + life,
                                                groups));
        try {
            PrivateKey key =
                    KeyFactory.getInstance("Ed25519")
                            .generatePrivate(
                                    new PKCS8EncodedKeySpec(HexFormat.of().parseHex(KEY)));
            Signature signature = Signature.getInstance("Ed25519");
            signature.initSign(key);
            signature.update(text.getBytes(StandardCharsets.UTF_8));
            return text + "." + part(signature.sign());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static ReqMsg request(String token) {
        ElementList elements = EmaFactory.createElementList();
        elements.add(EmaFactory.createElementEntry().ascii("ApplicationId", "256"));
        elements.add(EmaFactory.createElementEntry().ascii("Position", "127.0.0.1/net"));
        elements.add(EmaFactory.createElementEntry().ascii("AuthenticationToken", token));
        return EmaFactory.createReqMsg()
                .domainType(EmaRdm.MMT_LOGIN)
                .name("\0")
                .nameType(EmaRdm.USER_AUTH_TOKEN)
                .attrib(elements);
    }

    private static ChainKit.Consumer consumer(String token) {
        return new ChainKit.Consumer(
                EmaFactory.createOmmConsumerConfig().addAdminMsg(request(token)));
    }

    private static long login(ChainKit.Consumer consumer) {
        return consumer.open("login", EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN));
    }

    private static boolean has(String text, String element, String value) {
        return text.contains("ElementEntry name=\"" + element + "\"")
                && text.contains("value=\"" + value + "\"");
    }

    private static void letIn() {
        ChainKit.Consumer consumer = consumer(token("alice", 3600));
        login(consumer);
        ChainKit.Seen seen = consumer.awaitRefresh("login");
        check(seen.isOpenOk() && "alice".equals(seen.name), seen.toString());
        check(has(seen.text, "AuthenticationErrorText", "Success"), seen.text);
        check(seen.text.contains("AuthenticationTTReissue"), seen.text);
        consumer.open("A");
        check(consumer.awaitRefresh("A").isOpenOk(), "alice sees an item");
        consumer.close();
    }

    private static void refused() {
        String good = token("alice", 3600);
        for (String[] one :
                new String[][] {
                    {token("alice", -5), "token refused: expired"},
                    {token("mallory", 3600), "user name or password refused"},
                    {token("bob", 3600), "the user is disabled"},
                    {good.substring(0, good.length() - 4) + "AAAA", "token refused: signature"}
                }) {
            try {
                consumer(one[0]).close();
            } catch (OmmException e) {
                check(e.getMessage().contains(one[1]), one[1] + ": " + e.getMessage());
                continue;
            }
            throw new IllegalStateException("let in: " + one[1]);
        }
    }

    private static void again() throws IOException {
        ChainKit.Consumer consumer = consumer(token("alice", 3600));
        long login = login(consumer);
        consumer.awaitRefresh("login");
        consumer.open("B");
        consumer.awaitRefresh("B");
        consumer.ema().reissue(request(token("alice", -5)), login);
        ChainKit.Seen seen = consumer.awaitRefresh("login");
        check(seen.isOpenOk() && has(seen.text, "AuthenticationErrorCode", "3"), seen.text);
        provider.publish("B", 1);
        consumer.awaitCounter("B", 1, ChainKit.SECONDS);
        consumer.ema().reissue(request(token("alice", 7200)), login);
        seen = consumer.awaitRefresh("login");
        check(seen.isOpenOk() && has(seen.text, "AuthenticationErrorText", "Success"), seen.text);
        provider.publish("B", 1);
        consumer.awaitCounter("B", 2, ChainKit.SECONDS);
        consumer.close();
    }

    private static void groups() {
        ChainKit.Consumer consumer = consumer(token("alice", 3600, "[\"fx\",\"rates\"]"));
        long login = login(consumer);
        consumer.awaitRefresh("login");
        consumer.open("RATES.A");
        consumer.open("PUBLIC");
        check(consumer.awaitRefresh("RATES.A").isOpenOk(), "RATES.A is open to its role");
        consumer.awaitRefresh("PUBLIC");
        consumer.ema().reissue(request(token("alice", 3600, "[\"fx\"]")), login);
        consumer.awaitRefresh("login");
        consumer.awaitStatus(
                "RATES.A",
                OmmState.StreamState.CLOSED,
                OmmState.DataState.SUSPECT,
                OmmState.StatusCode.NOT_AUTHORIZED);
        consumer.open("RATES.B");
        consumer.awaitStatus(
                "RATES.B",
                OmmState.StreamState.CLOSED,
                OmmState.DataState.SUSPECT,
                OmmState.StatusCode.NOT_AUTHORIZED);
        provider.publish("PUBLIC", 1);
        consumer.awaitCounter("PUBLIC", 1, ChainKit.SECONDS);
        consumer.close();
    }

    /* The shortest life that this machine can log in with. */
    private static void expires() {
        ChainKit.Consumer consumer = null;
        for (long life = 2; consumer == null; life *= 2) {
            try {
                consumer = consumer(token("alice", life));
            } catch (OmmException e) {
                check(e.getMessage().contains("expired"), e.getMessage());
            }
        }
        login(consumer);
        ChainKit.Seen seen =
                consumer.await(
                        "end of the login",
                        s ->
                                s.is("status", "login")
                                        && s.stateText != null
                                        && s.stateText.contains("expired"));
        check(seen.stream == OmmState.StreamState.CLOSED, seen.toString());
        consumer.close();
    }
}
