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
    struct entitle_query query = {
        .kind = size % 3 == 0   ? ENTITLE_LOGIN
                : size % 3 == 1 ? ENTITLE_ITEM
                                : ENTITLE_PUBLISH,
        .user = { text, third },
        .password = { text + third, third },
        .service = { text + third, third },
        .item = { text + 2 * third, third },
    };
    if (entitle_rules_judge(rules, &query, &answer) == ENTITLE_PENDING)
        abort();
    entitle_rules_destroy(rules);
    return 0;
}
