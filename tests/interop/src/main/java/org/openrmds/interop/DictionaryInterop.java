// DictionaryInterop.java - dictionaries and RMTES strings, ours and the Java library's.
// SPDX-License-Identifier: Apache-2.0
package org.openrmds.interop;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataDictionary;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.DictionaryEntry;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.EnumType;
import com.refinitiv.eta.codec.Int;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.RmtesBuffer;
import com.refinitiv.eta.codec.RmtesCacheBuffer;
import com.refinitiv.eta.codec.RmtesDecoder;
import com.refinitiv.eta.rdm.Dictionary;
import com.refinitiv.eta.transport.TransportFactory;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** DictionaryInterop PEER FIELDS ENUMS SEED: PEER is our rwf_dictionary_peer. */
public final class DictionaryInterop {
    private static final int STRINGS = 2000;

    private final com.refinitiv.eta.transport.Error error = TransportFactory.createError();
    private int failed;

    private DictionaryInterop() {}

    private void check(boolean good, String what) {
        if (!good) {
            System.out.println("FAIL: " + what);
            failed++;
        }
    }

    private static List<String> run(List<String> input, int[] status, String... command) throws IOException,
        InterruptedException {
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        List<String> lines = new ArrayList<>();
        Thread writer = new Thread(() -> {
            try (PrintWriter out = new PrintWriter(process.getOutputStream(), false, StandardCharsets.US_ASCII)) {
                for (String line : input) {
                    out.println(line);
                }
            }
        });
        writer.start();
        try (BufferedReader in =
            new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        }
        writer.join();
        status[0] = process.waitFor();
        return lines;
    }

    private static DecodeIterator iterator(byte[] bytes) {
        DecodeIterator it = CodecFactory.createDecodeIterator();
        it.clear();
        it.setBufferAndRWFVersion(RwfDescribe.buffer(bytes), 14, 1);
        return it;
    }

    private DataDictionary load(String fields, String enums) {
        DataDictionary dictionary = CodecFactory.createDataDictionary();
        check(dictionary.loadFieldDictionary(fields, error) >= 0, fields + ": " + error.text());
        check(dictionary.loadEnumTypeDictionary(enums, error) >= 0, enums + ": " + error.text());
        return dictionary;
    }

    private void compare(DataDictionary expected, DataDictionary got) {
        check(expected.numberOfEntries() == got.numberOfEntries(), "number of fields");
        check(expected.enumTableCount() == got.enumTableCount(), "number of tables");
        for (int fid = expected.minFid(); fid <= expected.maxFid(); fid++) {
            DictionaryEntry x = expected.entry(fid);
            DictionaryEntry y = got.entry(fid);
            if (x == null || x.rwfType() == 0) {
                continue;
            }
            boolean same = y != null && x.acronym().equals(y.acronym()) && x.ddeAcronym().equals(y.ddeAcronym())
                && x.rippleToField() == y.rippleToField() && x.fieldType() == y.fieldType()
                && x.length() == y.length() && x.enumLength() == y.enumLength() && x.rwfType() == y.rwfType()
                && x.rwfLength() == y.rwfLength() && (x.enumTypeTable() == null) == (y.enumTypeTable() == null);
            check(same, "field " + fid);
            if (same && x.enumTypeTable() != null) {
                compareTables(fid, x.enumTypeTable().enumTypes(), y.enumTypeTable().enumTypes());
            }
        }
    }

    private void compareTables(int fid, EnumType[] expected, EnumType[] got) {
        for (int i = 0; i < expected.length; i++) {
            EnumType x = expected[i];
            EnumType y = i < got.length ? got[i] : null;
            check(x == null ? y == null : y != null && x.value() == y.value() && x.display().equals(y.display()),
                "value " + i + " of field " + fid);
        }
    }

    /** The library reads what we send, in parts of several sizes. */
    private void oursToJava(String peer, String fields, String enums, DataDictionary expected) throws Exception {
        for (int size : new int[] { 1200, 3000, 6142, 60000 }) {
            int[] status = new int[1];
            DataDictionary got = CodecFactory.createDataDictionary();
            List<String> parts =
                run(new ArrayList<>(), status, peer, "parts", fields, enums, Integer.toString(size));
            check(status[0] == 0 && !parts.isEmpty(), "our peer made no parts of " + size);
            for (String part : parts) {
                DecodeIterator it = iterator(RwfDescribe.bytes(RwfDescribe.buffer(RwfGenerate.unhex(part))));
                Msg msg = CodecFactory.createMsg();
                check(msg.decode(it) == CodecReturnCodes.SUCCESS, "the header of a part");
                int rc = msg.msgKey().name().toString().equals("RWFFld")
                    ? got.decodeFieldDictionary(it, Dictionary.VerbosityValues.NORMAL, error)
                    : got.decodeEnumTypeDictionary(it, Dictionary.VerbosityValues.NORMAL, error);
                check(rc >= 0, "a part: " + error.text());
            }
            compare(expected, got);
            System.out.println("parts of " + size + " bytes: " + parts.size());
        }
    }

    /** We read what the library sends. */
    private void javaToUs(String peer, String fields, String enums, DataDictionary dictionary) throws Exception {
        for (int size : new int[] { 1500, 6000, 60000 }) {
            List<String> parts = new ArrayList<>();
            Int fid = CodecFactory.createInt();
            fid.value(dictionary.minFid());
            Int table = CodecFactory.createInt();
            table.value(0);
            for (boolean isEnum : new boolean[] { false, true }) {
                int rc;
                do {
                    EncodeIterator it = CodecFactory.createEncodeIterator();
                    Buffer buffer = CodecFactory.createBuffer();
                    buffer.data(ByteBuffer.allocate(size));
                    it.setBufferAndRWFVersion(buffer, 14, 1);
                    rc = isEnum
                        ? dictionary.encodeEnumTypeDictionaryAsMultiPart(it, table, Dictionary.VerbosityValues.NORMAL,
                            error)
                        : dictionary.encodeFieldDictionary(it, fid, Dictionary.VerbosityValues.NORMAL, error);
                    if (rc < 0) {
                        check(false, "the library does not encode: " + error.text());
                        return;
                    }
                    parts.add(RwfGenerate.hex(RwfDescribe.bytes(buffer)));
                } while (rc == CodecReturnCodes.DICT_PART_ENCODED);
            }
            int[] status = new int[1];
            run(parts, status, peer, "check", fields, enums);
            check(status[0] == 0, "what we read of the library's parts of " + size);
            System.out.println("the library's parts of " + size + " bytes: " + parts.size());
        }
    }

    // ---- RMTES ----

    /** A byte of the right half; the vendor's own signs left out, which the library doubles. */
    private static int right(Random random) {
        int c;
        do {
            c = 0xa1 + random.nextInt(94);
        } while (c == 0xa4 || c == 0xa6 || c == 0xb4 || c == 0xd0 || c == 0xf0);
        return c;
    }

    /**
     * Content of kinds that both sides are meant to read alike; `length`: of the string before, 0
     * if it may not be changed in part (half an escape sequence is nothing to agree about).
     */
    private static byte[] content(Random random, int length) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        boolean partial = length > 0 && random.nextInt(3) > 0;
        int sets = partial ? 0 : random.nextInt(5);
        if (sets == 1) {
            out.writeBytes(new byte[] { 0x1b, 0x25, 0x30 });
            out.writeBytes("\u00e9 \u20ac \u4e9c".substring(random.nextInt(4)).getBytes(StandardCharsets.UTF_8));
            return out.toByteArray();
        }
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            if (partial) {
                out.writeBytes(("\u001b[" + random.nextInt(length) + "`").getBytes(StandardCharsets.US_ASCII));
            }
            if (sets == 2) {
                out.writeBytes(new byte[] { 0x1b, 0x7d }); // katakana to the right
            }
            for (int j = 1 + random.nextInt(6); j > 0; j--) {
                int high = sets == 2 ? 0xa1 + random.nextInt(63) : right(random);
                out.write(random.nextInt(3) == 0 ? high : 0x20 + random.nextInt(95));
            }
            if (partial && random.nextInt(3) == 0) {
                out.writeBytes(("\u001b[" + random.nextInt(5) + "b").getBytes(StandardCharsets.US_ASCII));
            }
            if (sets == 3) { // a kanji, and back to Latin
                out.writeBytes(new byte[] { 0x1b, 0x7c, (byte) (0xb0 + random.nextInt(30)),
                    (byte) (0xa1 + random.nextInt(94)), 0x1b, 0x7e });
            }
            if (sets == 4) { // a Latin character from the left half
                out.writeBytes(new byte[] { 0x0e, (byte) (0x41 + random.nextInt(10)), 0x0f });
            }
        }
        return out.toByteArray();
    }

    private void rmtes(String peer, long seed) throws Exception {
        Random random = new Random(seed);
        RmtesDecoder decoder = CodecFactory.createRmtesDecoder();
        List<String> input = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        RmtesCacheBuffer cache = CodecFactory.createRmtesCacheBuffer(256);
        for (int i = 0; i < STRINGS; i++) {
            boolean plain = true;
            for (int j = 0; j < cache.length(); j++) {
                plain &= (cache.byteData().get(j) & 0xff) >= 0x20;
            }
            byte[] content = content(random, plain ? cache.length() : 0);
            check(decoder.RMTESApplyToCache(RwfDescribe.buffer(content), cache) >= 0, "the library's apply");
            RmtesBuffer text = CodecFactory.createRmtesBuffer(1024);
            check(decoder.RMTESToUTF8(text, cache) >= 0, "the library's text");
            byte[] utf8 = new byte[text.length()];
            for (int j = 0; j < utf8.length; j++) {
                utf8[j] = text.byteData().get(j);
            }
            byte[] stored = new byte[cache.length()];
            for (int j = 0; j < stored.length; j++) {
                stored[j] = cache.byteData().get(j);
            }
            input.add(RwfGenerate.hex(content));
            expected.add(RwfGenerate.hex(stored) + "\t"
                + RwfGenerate.hex(utf8));
        }
        int[] status = new int[1];
        List<String> got = run(input, status, peer, "rmtes");
        check(status[0] == 0 && got.size() == STRINGS, "our peer gave up");
        int different = 0;
        for (int i = 0; i < got.size() && different < 10; i++) {
            if (!got.get(i).equals(expected.get(i))) {
                check(false, "RMTES " + input.get(i) + ": ours " + got.get(i) + ", the library's "
                    + expected.get(i));
                different++;
            }
        }
        System.out.println("seed " + seed + ": " + got.size() + " RMTES strings");
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 4) {
            System.err.println("usage: DictionaryInterop PEER FIELDS ENUMS SEED");
            System.exit(2);
        }
        DictionaryInterop test = new DictionaryInterop();
        DataDictionary dictionary = test.load(args[1], args[2]);
        test.oursToJava(args[0], args[1], args[2], dictionary);
        test.javaToUs(args[0], args[1], args[2], dictionary);
        test.rmtes(args[0], Long.parseLong(args[3]));
        System.exit(test.failed == 0 ? 0 : 1);
    }
}
