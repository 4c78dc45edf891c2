/* xml.h - a reader of the little XML that data files use. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_XML_H
#define TOOLS_XML_H

#include <stdbool.h>
#include <stddef.h>

#define XML_ATTRIBUTE_MAX 12
#define XML_NAME_MAX      48
#define XML_TEXT_MAX      8192
#define XML_DEPTH_MAX     16

/* Elements in order, one at a time; what stands between them is passed over. */
struct xml {
    const char *at;
    const char *end;
    unsigned line;
    unsigned depth;
    bool closes; /* the element just opened is closed in itself */
    char open[XML_DEPTH_MAX][XML_NAME_MAX];
    char name[XML_NAME_MAX];
    struct {
        char name[XML_NAME_MAX];
        const char *value; /* in `text`, entities replaced */
    } attributes[XML_ATTRIBUTE_MAX];
    size_t attribute_count;
    char text[XML_TEXT_MAX];
    const char *error; /* why XML_BAD */
};

enum xml_event { XML_OPEN, XML_CLOSE, XML_END, XML_BAD };

void xml_init(struct xml *xml, const char *text, size_t length);
/* XML_OPEN: name and attributes; XML_CLOSE: name. An element closed in itself gives both. */
enum xml_event xml_next(struct xml *xml);
/* The value of an attribute, or NULL. */
const char *xml_attribute(const struct xml *xml, const char *name);

#endif
