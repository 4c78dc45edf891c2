/* fuzz_entitle_rules.c - any bytes as an access file, and as what is asked of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include "entitle/entitle.h"

/* Each file is what stands behind the place that its name gives. */
struct bytes {
    const char *data;
    size_t size;
};

static char *read_part(void *self, const char *path, size_t *length, char *why, size_t size)
{
    const struct bytes *bytes = self;
    size_t at = strlen(path) < bytes->size ? strlen(path) : bytes->size;
    char *text = malloc(bytes->size - at + 1);

    if (why && size)
        why[0] = 0;
    *length = bytes->size - at;
    if (text)
        memcpy(text, bytes->data + at, *length);
    return text;
}

static void tell(void *closure, const char *file, int line, const char *text)
{
    (void)closure;
    (void)text;
    if (!file || line < 0)
        abort();
}

static int create(const char *text, size_t size, struct entitle_rules **rules)
{
    struct bytes bytes = { text, size };
    const struct entitle_reader reader = { .read = read_part, .self = &bytes };

    /* Half of the inputs are files, which may include others. */
    return size % 2 ? entitle_rules_create_from("", &reader, tell, NULL, rules)
                    : entitle_rules_create(text, size, NULL, NULL, rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct entitle_rules *rules;
    struct entitle_answer answer;
    size_t third = size / 3;

    if (create(text, size, &rules) != 0)
        return 0;
    static const enum entitle_kind kinds[] = { ENTITLE_LOGIN, ENTITLE_ITEM, ENTITLE_PUBLISH,
                                               ENTITLE_POST, ENTITLE_AGAIN };
    struct entitle_query query = {
        .kind = kinds[size % 5],
        .domain = (uint8_t)size,
        .is_private = size % 2,
        .user = { text, third },
        .password = { text + third, third },
        .token = { text + third, third },
        .host = { text + third, third },
        .application = { text, third },
        .position = { text + third, third },
        .service = { text + third, third },
        .item = { text + 2 * third, third },
        .serial = { text, third < 40 ? third : 40 },
        .now_s = size,
        .is_plain = size % 3 == 0,
    };
    struct entitle_shown shown = { .issued_s = size,
                                   .is_signed = size % 2,
                                   .is_unread = size % 4 == 1 };
    memcpy(shown.jti, text, third < sizeof(shown.jti) ? third : sizeof(shown.jti) - 1);
    memcpy(shown.sum, text + third, third < sizeof(shown.sum) ? third : sizeof(shown.sum) - 1);
    query.shown = size % 7 ? &shown : NULL;
    if (size % 5 == 4 || size % 11 == 0)
        query.by = ENTITLE_BY_JWT;
    /* Only a login may need somebody else's word: of a hash, or of the authority outside. */
    if (entitle_rules_judge(rules, &query, &answer) == ENTITLE_PENDING &&
        (query.kind != ENTITLE_LOGIN || (!answer.hash.length && !answer.is_outside)))
        abort();
    entitle_rules_destroy(rules);
    return 0;
}
