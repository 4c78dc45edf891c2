/* xml.c - see xml.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "xml.h"

#include <stdlib.h>
#include <string.h>

void xml_init(struct xml *xml, const char *text, size_t length)
{
    memset(xml, 0, sizeof(*xml));
    xml->at = text;
    xml->end = text + length;
    xml->line = 1;
}

static enum xml_event bad(struct xml *xml, const char *why)
{
    xml->error = why;
    xml->at = xml->end;
    return XML_BAD;
}

static void step(struct xml *xml)
{
    xml->line += *xml->at == '\n';
    xml->at++;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_space(struct xml *xml)
{
    while (xml->at < xml->end && is_space(*xml->at))
        step(xml);
}

static bool starts(const struct xml *xml, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(xml->end - xml->at) >= length && memcmp(xml->at, text, length) == 0;
}

/* Behind the next `text`; false if there is none. */
static bool skip_past(struct xml *xml, const char *text)
{
    while (xml->at < xml->end && !starts(xml, text))
        step(xml);
    if (xml->at == xml->end)
        return false;
    xml->at += strlen(text);
    return true;
}

static bool read_name(struct xml *xml, char out[XML_NAME_MAX])
{
    size_t length = 0;

    while (xml->at < xml->end && !is_space(*xml->at) && !strchr("=/>\"<", *xml->at)) {
        if (length + 1 == XML_NAME_MAX)
            return false;
        out[length++] = *xml->at++;
    }
    out[length] = 0;
    return length > 0;
}

static size_t put_utf8(char *out, unsigned long code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* One of the five entities or a character number, of `length` bytes between & and ;. 0: unknown. */
static size_t entity(const char *name, size_t length, char *out)
{
    static const struct {
        const char *name;
        char c;
    } known[] = { { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' } };
    unsigned long code = 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0) {
            *out = known[i].c;
            return 1;
        }
    }
    if (length < 2 || name[0] != '#')
        return 0;
    int base = name[1] == 'x' ? 16 : 10;
    for (size_t i = base == 16 ? 2 : 1; i < length; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = strchr(digits, name[i] | (name[i] >= 'A' ? 0x20 : 0));
        if (!digit || digit - digits >= base)
            return 0;
        code = code * (unsigned)base + (unsigned long)(digit - digits);
        if (code > 0x10ffff)
            return 0;
    }
    return code == 0 ? 0 : put_utf8(out, code);
}

/* A value in double quotes, into xml->text from *used on. */
static const char *read_value(struct xml *xml, size_t *used)
{
    char *start = xml->text + *used;

    while (xml->at < xml->end && *xml->at != '"') {
        if (*used + 5 > XML_TEXT_MAX || *xml->at == '<')
            return NULL;
        if (*xml->at == '&') {
            const char *stop = memchr(xml->at, ';', (size_t)(xml->end - xml->at));
            size_t length =
                stop ? entity(xml->at + 1, (size_t)(stop - xml->at - 1), xml->text + *used) : 0;
            if (length == 0)
                return NULL;
            *used += length;
            xml->at = stop + 1;
            continue;
        }
        xml->text[(*used)++] = *xml->at;
        step(xml);
    }
    if (xml->at == xml->end)
        return NULL;
    xml->at++;
    xml->text[(*used)++] = 0;
    return start;
}

static enum xml_event read_open(struct xml *xml)
{
    size_t used = 0;

    xml->attribute_count = 0;
    if (!read_name(xml, xml->name))
        return bad(xml, "an element without a name, or with one that is too long");
    if (xml->depth == XML_DEPTH_MAX)
        return bad(xml, "elements are nested deeper than 16");
    memcpy(xml->open[xml->depth++], xml->name, XML_NAME_MAX);
    for (;;) {
        skip_space(xml);
        if (starts(xml, "/>")) {
            xml->at += 2;
            xml->closes = true;
            return XML_OPEN;
        }
        if (starts(xml, ">")) {
            xml->at++;
            return XML_OPEN;
        }
        if (xml->attribute_count == XML_ATTRIBUTE_MAX ||
            !read_name(xml, xml->attributes[xml->attribute_count].name))
            return bad(xml, "expected name=\"value\", > or />");
        skip_space(xml);
        if (!starts(xml, "="))
            return bad(xml, "expected = after the name of an attribute");
        xml->at++;
        skip_space(xml);
        if (!starts(xml, "\""))
            return bad(xml, "expected a value in double quotes");
        xml->at++;
        const char *value = read_value(xml, &used);
        if (!value)
            return bad(xml, "a value that does not end, is too long, or has an unknown entity");
        xml->attributes[xml->attribute_count++].value = value;
    }
}

static enum xml_event read_close(struct xml *xml)
{
    if (!read_name(xml, xml->name))
        return bad(xml, "a closing tag without a name");
    skip_space(xml);
    if (!starts(xml, ">") || xml->depth == 0 || strcmp(xml->open[xml->depth - 1], xml->name) != 0)
        return bad(xml, "a closing tag that does not match the open element");
    xml->at++;
    xml->depth--;
    return XML_CLOSE;
}

enum xml_event xml_next(struct xml *xml)
{
    if (xml->closes) {
        xml->closes = false;
        memcpy(xml->name, xml->open[--xml->depth], XML_NAME_MAX);
        return XML_CLOSE;
    }
    for (;;) {
        while (xml->at < xml->end && *xml->at != '<')
            step(xml);
        if (xml->at == xml->end)
            return xml->depth ? bad(xml, "the file ends within an element") : XML_END;
        if (starts(xml, "<!--")) {
            if (!skip_past(xml, "-->"))
                return bad(xml, "a comment that does not end");
        } else if (starts(xml, "<?")) {
            if (!skip_past(xml, "?>"))
                return bad(xml, "a processing instruction that does not end");
        } else if (starts(xml, "<!")) {
            return bad(xml, "document types and entities of one's own are not read");
        } else if (starts(xml, "</")) {
            xml->at += 2;
            return read_close(xml);
        } else {
            xml->at++;
            return read_open(xml);
        }
    }
}

const char *xml_attribute(const struct xml *xml, const char *name)
{
    for (size_t i = 0; i < xml->attribute_count; i++) {
        if (strcmp(xml->attributes[i].name, name) == 0)
            return xml->attributes[i].value;
    }
    return NULL;
}
