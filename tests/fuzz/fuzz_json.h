/* fuzz_json.h - what the fuzzers of JSON share: a dictionary, and the proof that a text is JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_JSON_H
#define FUZZ_JSON_H

#include <stdlib.h>

#include "rmds/rwf.h"
#include "json/read.h"
#include "json/write.h"

#define FUZZ_JSON_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_json {
    struct rwf_dictionary *dictionary;
    struct json_reader *reader;
    struct json_reader *judge;
    struct json_read_context read;
    struct json_write_context write;
    uint8_t *text;
};

static inline void fuzz_json_start(struct fuzz_json *f)
{
    static const char fields[] = "BID \"BID\" 22 NULL PRICE 17 REAL64 7\n"
                                 "TICK \"T\" 14 NULL ENUMERATED 1 ( 2 ) ENUM 1\n"
                                 "TIM \"TIM\" 18 NULL TIME 5 TIME 5\n"
                                 "DAT \"DAT\" 16 NULL DATE 11 DATE 4\n"
                                 "NAM \"NAM\" 3 NULL ALPHANUMERIC 16 RMTES_STRING 16\n"
                                 "VOL \"VOL\" 32 NULL INTEGER 15 UINT64 8\n";
    static const char enums[] = "TICK 14\n1 #DE# up\n2 #FE# down\n";
    struct rwf_dictionary_error error;

    if (f->reader)
        return;
    if (rwf_dictionary_create(&f->dictionary) != 0 ||
        rwf_dictionary_load_fields(f->dictionary, "", fields, strlen(fields), &error) != 0 ||
        rwf_dictionary_load_enums(f->dictionary, "", enums, strlen(enums), &error) != 0 ||
        json_reader_create(FUZZ_JSON_MAX, &f->reader) != 0 ||
        json_reader_create(FUZZ_JSON_MAX, &f->judge) != 0)
        abort();
    f->text = malloc(FUZZ_JSON_MAX);
    f->read = (struct json_read_context){
        .dictionary = f->dictionary,
        .catches_keys = true,
        .catches_fields = true,
    };
    f->write = (struct json_write_context){ .dictionary = f->dictionary, .expands_enums = true };
}

static inline bool fuzz_json_is_utf8(const uint8_t *p, size_t length)
{
    for (size_t at = 0; at < length;) {
        unsigned lead = p[at++];
        unsigned more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;

        if (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4))
            return false;
        for (; more > 0; more--, at++) {
            if (at >= length || (p[at] & 0xC0) != 0x80)
                return false;
        }
    }
    return true;
}

/* The text is one object of strict JSON: the reader finds no mistake of form in it. */
static inline void fuzz_json_judge(struct fuzz_json *f, size_t length)
{
    static const char parser[] = "JSON Parser Error";
    struct json_read read;

    json_reader_start(f->judge, &f->read, rwf_bytes(f->text, length));
    while (json_reader_next(f->judge, &read)) {
        if (read.kind == JSON_READ_BAD && read.error.text.length >= sizeof(parser) - 1 &&
            memcmp(read.error.text.data, parser, sizeof(parser) - 1) == 0 &&
            !memmem(read.error.text.data, read.error.text.length, "too deep", 8))
            abort();
    }
    for (size_t i = 0; i < length; i++) {
        if (f->text[i] < 0x20)
            abort();
    }
    if (!fuzz_json_is_utf8(f->text, length))
        abort();
}

static inline void fuzz_json_message(struct fuzz_json *f, struct rwf_bytes message)
{
    struct json_written written;

    memcpy(f->text, "{\"ID\":1", 7);
    if (json_write_message(&f->write, message, f->text + 7, FUZZ_JSON_MAX - 7, &written) != RWF_OK)
        return;
    if (written.stream_at >= written.length || written.solicited_at >= written.length)
        abort();
    fuzz_json_judge(f, 7 + written.length);
}

static inline void fuzz_json_error(struct fuzz_json *f, const struct json_read *read)
{
    size_t length = json_write_error(read->id, &read->error, f->text, FUZZ_JSON_MAX);

    if (length)
        fuzz_json_judge(f, length);
}

#endif
