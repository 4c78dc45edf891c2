/* fuzz_entitle_rules.c - any bytes as an access file, and as what is asked of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "entitle/entitle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct entitle_rules *rules;
    struct entitle_answer answer;
    size_t third = size / 3;

    if (entitle_rules_create(text, size, NULL, NULL, &rules) != 0)
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
    };
    /* Only a login may need somebody else's word: of a hash, or of the authority outside. */
    if (entitle_rules_judge(rules, &query, &answer) == ENTITLE_PENDING &&
        (query.kind != ENTITLE_LOGIN || (!answer.hash.length && !answer.is_outside)))
        abort();
    entitle_rules_destroy(rules);
    return 0;
}
