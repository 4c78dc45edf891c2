// JsonDifferences.java - where our JSON and the vendor's converter's may differ, and why.
// SPDX-License-Identifier: Apache-2.0
package org.openrmds.interop;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.regex.Pattern;

/** What JsonInterop lets pass: each line has its reason. */
final class JsonDifferences {
    private static final String KINDS = "(Fields|Elements|FilterList|Vector|Map|Series|Message|Opaque|Xml)";

    /** What is said of a difference, and why it may be. */
    private static final String[][] KNOWN = {
        {".*encodedDataBody\\(\\) is not initialized.*",
            "a payload of no bytes: the converter refuses the message, ours names its kind"},
        {".*(Batch/View request|batch data missing).*",
            "a batch or view without its names: the converter refuses the message"},
        {".* (adds|lacks) .*/" + KINDS + ": (\\{\\}|\"\"|null)",
            "an entry of no bytes: ours names its kind, the converter leaves it out"},
        {".*/Code: (# \\| (null|#)|#)", "a state code without a name: ours is its number, the converter's null or left out"},
        {".*: \"\" \\| null", "no bytes: ours is an empty string, the converter's null"},
        {".* adds .*/Text: (\"\"|null)", "an empty text of a state: ours leaves it out"},
        {".* lacks .*/(Complete|Solicited|ClearCache|KeyInUpdates|Streaming): false",
            "no flag is set: the converter says nothing of what is absent then"},
        {".* differs at .*/Message/" + KINDS + ": .* \\| \\{\\}",
            "XML or opaque bytes in a message within a message: the converter writes {}"},
        {".* lacks .*/Name: .*", "a name of the type that is Cookie for a login: the converter hides it in every domain"},
        {".*: \"#.*\" \\| \"#?--.*\"", "a date without month or year: the specification cuts it, the converter writes --"},
        {".*: \"(.*#:#:#\\.#)\" \\| \"\\1\"", "zeros at the end of a fraction of a second: the specification keeps groups of three"},
        {".*: \"(.*#:#:#)\\.#\" \\| \"\\1\"", "zeros at the end of a fraction of a second: the specification keeps groups of three"},
        {".* differs at .*: \".*\\\\\\\\.*", "two backslashes in a row: the converter writes one of them"},
        {".*/Code: \"GapFill\" \\| .*", "code 34 has the name of the specification; the converter has that of 35"},
        {".* lacks .*/View: \\[\\]", "a view without fields: ours is an empty list"},
        {"the vendor's text (adds|lacks) .*Elements/\\*: .*", "the converter escapes no names of elements"},
        {".* is no JSON: .*", "the converter escapes no names of elements, and an empty one is a bare null"},
        {".* differs at .*: \"\" \\| \\{\\}", "no bytes of XML or opaque: ours is an empty string, the converter's {}"},
        {".* differs at .*/(F_#|\\*)/(Opaque|Xml): .* \\| \\{\\}|.*/(Opaque|Xml): .* \\| \\{\\}",
            "XML or opaque bytes in a message of a field: the converter writes {}"},
        {".*/Entries: \\[.*", "entries behind one of no bytes: the converter leaves them out"},
        {"our text read by the vendor (adds|lacks|differs at) .*",
            "the converter's reader forgets members, and keeps those of an earlier message"},
        {".* (throws|refused): .*", "the converter fails"},
    };

    private static final Pattern[] PATTERNS = new Pattern[KNOWN.length];

    static {
        for (int i = 0; i < KNOWN.length; i++) {
            PATTERNS[i] = Pattern.compile(KNOWN[i][0], Pattern.DOTALL);
        }
    }

    private JsonDifferences() {}

    /** Numbers in names and errors are many; what is said of them is one thing. */
    static String general(String text) {
        return text.replaceAll("[0-9]+", "#");
    }

    /** The same value: a NaN or an infinity is a string in ours and bare in the vendor's, a float has other digits. */
    static boolean same(JsonNode a, JsonNode b) {
        if (a.isNumber() && b.isNumber()) {
            return a.decimalValue().compareTo(b.decimalValue()) == 0
                || Double.compare(a.doubleValue(), b.doubleValue()) == 0
                || Math.abs(a.doubleValue()) > 0 && a.floatValue() == b.floatValue()
                    && a.toString().length() < 16;
        }
        return a.equals(b) || a.asText().equals(b.asText()) && a.isNumber() | b.isNumber();
    }

    /** Null: it is not known. */
    static String reason(String what, String text) {
        String said = what + ": " + general(text);
        for (int i = 0; i < KNOWN.length; i++) {
            if (PATTERNS[i].matcher(said).matches()) {
                return KNOWN[i][1];
            }
        }
        return null;
    }
}
