/* out.h - a tree written as text for people, as JSON or as XML. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWFDUMP_OUT_H
#define RWFDUMP_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rmds/rwf_types.h"

/*
 * A node has a name, then its values, then its lists of nodes and nodes. In XML it is an element,
 * its values are attributes; in JSON an object, in text a line, deeper nodes indented:
 *
 *     out_begin(out, "map");
 *     out_word(out, "key_type", "UINT");
 *     out_list(out, "entries");
 *     out_begin(out, "entry"); ... out_end(out);
 *     out_list_end(out);
 *     out_end(out);
 */
enum out_format {
    OUT_TEXT,
    OUT_JSON,
    OUT_XML,
};

#define OUT_DEPTH_MAX 128

struct out {
    FILE *file;
    enum out_format format;
    bool has_colour; /* text alone */
    unsigned depth;
    struct {
        const char *name;
        bool is_list;
        bool has_content; /* something stands in it already */
    } level[OUT_DEPTH_MAX];
};

void out_init(struct out *out, FILE *file, enum out_format format, bool has_colour);

/* What stands around all messages. */
void out_open(struct out *out);
void out_close(struct out *out);

void out_begin(struct out *out, const char *name);
void out_end(struct out *out);
void out_list(struct out *out, const char *name);
void out_list_end(struct out *out);

/* Values of the open node. */
void out_word(struct out *out, const char *key, const char *word);
void out_int(struct out *out, const char *key, int64_t number);
void out_uint(struct out *out, const char *key, uint64_t number);
void out_number(struct out *out, const char *key, const char *digits); /* as it is to stand */
void out_text(struct out *out, const char *key,
              struct rwf_bytes utf8); /* what is not becomes U+FFFD */
void out_hex(struct out *out, const char *key, struct rwf_bytes bytes);
void out_blank(struct out *out, const char *key);
void out_error(struct out *out, const char *what);

/* A field or element starts its line with these in text; plain values else. `name` may be empty. */
void out_heading(struct out *out, bool has_id, int id, struct rwf_bytes name);

#endif
