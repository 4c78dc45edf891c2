// JsonInterop.java - our JSON and the vendor's converter's, of the same random messages.
// SPDX-License-Identifier: Apache-2.0
package org.openrmds.interop;

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataDictionary;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.json.converter.ConversionResults;
import com.refinitiv.eta.json.converter.ConverterFactory;
import com.refinitiv.eta.json.converter.DecodeJsonMsgOptions;
import com.refinitiv.eta.json.converter.GetJsonMsgOptions;
import com.refinitiv.eta.json.converter.JsonConverter;
import com.refinitiv.eta.json.converter.JsonConverterError;
import com.refinitiv.eta.json.converter.JsonConverterProperties;
import com.refinitiv.eta.json.converter.JsonMsg;
import com.refinitiv.eta.json.converter.ParseJsonOptions;
import com.refinitiv.eta.json.converter.RWFToJsonOptions;
import com.refinitiv.eta.json.converter.ServiceNameIdConverter;
import com.refinitiv.eta.transport.TransportFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * JsonInterop JSON_RANDOM SEED COUNT
 *
 * <p>JSON_RANDOM prints messages as RWF and as JSON of ours. The vendor's converter writes the same
 * RWF, and reads our JSON and writes that again: both must say what our JSON says, but for the
 * differences in JsonDifferences, each of which has a reason.
 */
public final class JsonInterop {
    private static final int TEXT_MAX = 1 << 21;
    private static final int SHOWN = 5;
    private static final int JSON_TWO = Codec.JSON_PROTOCOL_TYPE;

    private final ObjectMapper mapper = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
        .enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS)
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS).build();
    private final JsonConverterError error = ConverterFactory.createJsonConverterError();
    private final Map<String, Integer> counts = new TreeMap<>();
    private final DataDictionary dictionary = CodecFactory.createDataDictionary();
    private JsonConverter converter;
    private int failed;
    private int differences; // of the message that is looked at
    private int agreed;

    private JsonInterop(String fields) {
        com.refinitiv.eta.transport.Error why = TransportFactory.createError();
        if (dictionary.loadFieldDictionary(fields, why) < 0) {
            throw new IllegalStateException(why.text());
        }
        build();
    }

    /** Anew after each message that it refuses: its pools are not in order then. */
    private void build() {
        ServiceNameIdConverter services = new ServiceNameIdConverter() {
            @Override
            public int serviceNameToId(String name, JsonConverterError unused) {
                return Integer.parseInt(name);
            }
        };
        converter = ConverterFactory.createJsonConverterBuilder()
            .setProperty(JsonConverterProperties.JSON_CPC_PROTOCOL_VERSION, JSON_TWO)
            .setProperty(JsonConverterProperties.JSON_CPC_EXPAND_ENUM_FIELDS, false)
            .setProperty(JsonConverterProperties.JSON_CPC_CATCH_UNKNOWN_JSON_FIDS, false)
            .setServiceConverter(services).setDictionary(dictionary).build(error);
        if (converter == null) {
            throw new IllegalStateException(error.getText());
        }
    }

    /** The converter's text of a message; null: it refuses it. */
    private String write(Msg msg) {
        RWFToJsonOptions options = ConverterFactory.createRWFToJsonOptions();
        ConversionResults results = ConverterFactory.createConversionResults();
        options.setMajorVersion(Codec.majorVersion());
        options.setMinorVersion(Codec.minorVersion());
        options.setJsonProtocolType(JSON_TWO);
        error.clear();
        if (converter.convertRWFToJson(msg, options, results, error) < CodecReturnCodes.SUCCESS) {
            return null;
        }
        Buffer out = CodecFactory.createBuffer();
        out.data(ByteBuffer.allocate(results.getLength() + 64));
        GetJsonMsgOptions get = ConverterFactory.createGetJsonMsgOptions();
        get.jsonProtocolType(JSON_TWO);
        get.streamId(msg.streamId());
        get.isCloseMsg(msg.msgClass() == com.refinitiv.eta.codec.MsgClasses.CLOSE);
        if (converter.getJsonBuffer(out, get, error) < CodecReturnCodes.SUCCESS) {
            return null;
        }
        byte[] bytes = new byte[out.length()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = out.data().get(out.position() + i);
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private String writeBytes(byte[] bytes) {
        DecodeIterator it = CodecFactory.createDecodeIterator();
        Msg msg = CodecFactory.createMsg();
        it.clear();
        it.setBufferAndRWFVersion(RwfDescribe.buffer(bytes), Codec.majorVersion(), Codec.minorVersion());
        if (msg.decode(it) < CodecReturnCodes.SUCCESS) {
            return null;
        }
        if (msg.encodedDataBody().data() == null) { // it refuses a message without a payload otherwise
            Buffer none = CodecFactory.createBuffer();
            none.data(ByteBuffer.allocate(0));
            msg.encodedDataBody(none);
        }
        return write(msg);
    }

    /** What the converter reads of a text, written by it again; null: it refuses it. */
    private String readAndWrite(String text) {
        Buffer in = CodecFactory.createBuffer();
        ParseJsonOptions parse = ConverterFactory.createParseJsonOptions();
        DecodeJsonMsgOptions decode = ConverterFactory.createDecodeJsonMsgOptions();
        JsonMsg json = ConverterFactory.createJsonMsg();
        in.data(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
        parse.setProtocolType(JSON_TWO);
        decode.setJsonProtocolType(JSON_TWO);
        decode.setRsslProtocolType(Codec.protocolType());
        decode.setMajorVersion(Codec.majorVersion());
        decode.setMinorVersion(Codec.minorVersion());
        error.clear();
        if (converter.parseJsonBuffer(in, parse, error) < CodecReturnCodes.SUCCESS
            || converter.decodeJsonMsg(json, decode, error) < CodecReturnCodes.SUCCESS) {
            return null;
        }
        Buffer rwf = json.rwfMsg().encodedMsgBuffer();
        byte[] bytes = new byte[rwf.length()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = rwf.data().get(rwf.position() + i);
        }
        return writeBytes(bytes);
    }

    private void ask(String what, String seed, String ours, Supplier<String> theirs) throws IOException {
        try {
            String text = theirs.get();
            compare(what, seed, ours, text);
            if (text != null) {
                return;
            }
        } catch (RuntimeException e) {
            note(what + " throws", seed, e.toString());
        }
        build();
    }

    private void compare(String what, String seed, String ours, String theirs) throws IOException {
        if (theirs == null) {
            note(what + " refused", seed, String.valueOf(error.getText()));
            return;
        }
        JsonNode a = mapper.readTree(ours);
        JsonNode b;
        try {
            b = mapper.readTree(theirs);
        } catch (IOException e) {
            note(what + " is no JSON", seed, theirs);
            return;
        }
        b = b.isArray() ? b.get(0) : b;
        differ(what, seed, "", a, b);
    }

    private void note(String what, String seed, String text) {
        differences++;
        String known = JsonDifferences.reason(what, text);
        int count = counts.merge(known == null ? what : "known: " + known, 1, Integer::sum);
        if (known == null) {
            failed++;
            if (count <= SHOWN) {
                System.out.println("DIFFERENCE: seed " + seed + ": " + what + ": "
                    + (text.length() < 500 ? text : text.substring(0, 500)));
            }
        }
    }

    private void differ(String what, String seed, String path, JsonNode a, JsonNode b) {
        if (a.isObject() && b.isObject()) {
            TreeSet<String> names = new TreeSet<>();
            for (Iterator<String> it = a.fieldNames(); it.hasNext();) {
                names.add(it.next());
            }
            for (Iterator<String> it = b.fieldNames(); it.hasNext();) {
                names.add(it.next());
            }
            for (String name : names) {
                String at = path + "/" + (path.endsWith("Elements") ? "*" : JsonDifferences.general(name));
                if (!a.has(name) || !b.has(name)) {
                    note(what + " " + (a.has(name) ? "lacks " : "adds ") + at, seed,
                        a.has(name) ? a.get(name).toString() : b.get(name).toString());
                } else {
                    differ(what, seed, at, a.get(name), b.get(name));
                }
            }
        } else if (a.isArray() && b.isArray() && a.size() == b.size()) {
            for (int i = 0; i < a.size(); i++) {
                differ(what, seed, path + "[]", a.get(i), b.get(i));
            }
        } else if (!JsonDifferences.same(a, b)) {
            note(what + " differs at " + path, seed, a + " | " + b);
        }
    }

    private void line(String[] columns) throws IOException {
        String ours = columns[2];
        differences = 0;
        ask("the vendor's text", columns[0], ours, () -> writeBytes(RwfGenerate.unhex(columns[1])));
        if (differences == 0) {
            agreed++;
            ask("our text read by the vendor", columns[0], ours, () -> readAndWrite(ours));
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 3) {
            System.err.println("usage: JsonInterop JSON_RANDOM SEED COUNT");
            System.exit(2);
        }
        Path fields = Files.createTempFile("json-interop", ".fields");
        int read = 0;
        JsonInterop interop = null;
        Process random = new ProcessBuilder(args[0], args[1], args[2], fields.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader in =
            new BufferedReader(new InputStreamReader(random.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine(), read++) {
                interop = interop == null ? new JsonInterop(fields.toString()) : interop;
                interop.line(line.split("\t"));
            }
        } finally {
            Files.delete(fields);
        }
        boolean isGood = random.waitFor() == 0 && read == Integer.parseInt(args[2]);
        System.out.println("seed " + args[1] + ": " + read + " messages"
            + (interop == null ? "" : ", " + interop.agreed + " of them without any difference"));
        if (interop != null) {
            interop.counts.forEach((what, count) -> System.out.println(count + " x " + what));
            isGood = isGood && interop.failed == 0;
        }
        System.exit(isGood ? 0 : 1);
    }
}
