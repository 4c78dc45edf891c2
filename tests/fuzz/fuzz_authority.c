/* fuzz_authority.c - any bytes as what an authority says. The first byte: how they are cut. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "p2ps/authority/authority.h"

#define SECOND 1000000000ull
#define HELLO  "{\"hello\":\"openrmds-access\",\"version\":1}\n"

static const char file[] = "role rates\nuser * auth=authority\npeset IDN ids=257\n"
                           "pe IDN 62,144-150 NYSE | LSE\ngrant @rates IDN 7\ncontent S lock\n";
static const char lock[] = { 3, 1, 1, 0x62, (char)0xa1, 0x44, (char)0xc0 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever it gave a session can be judged. */
static void judge(const struct p2ps_authority_answer *answer)
{
    static struct entitle_rules *rules;
    const struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .user = { answer->user, strlen(answer->user) },
        .roles = { answer->roles, strlen(answer->roles) },
        .service = { "S", 1 },
        .item = { "I", 1 },
        .permission_data = { lock, sizeof(lock) },
        .is_lock_known = true,
    };
    struct entitle_answer out;
    struct entitle_view which;

    if (!rules && entitle_rules_create(file, strlen(file), NULL, NULL, &rules) != MD_OK)
        abort();
    if (query.roles.length >= sizeof(answer->roles))
        abort();
    const char *kind = entitle_rules_unknown(rules, query.roles, &which);
    if (kind && (which.data < answer->roles ||
                 which.data + which.length > answer->roles + query.roles.length))
        abort();
    if (entitle_rules_judge(rules, &query, &out) == ENTITLE_ALLOW && query.roles.length == 0)
        abort();
}

static void take_all(struct p2ps_authority *a)
{
    struct p2ps_authority_answer answer;
    char text[ENTITLE_TEXT_MAX];
    size_t length;

    while (p2ps_authority_answer(a, 3, &answer)) {
        if (strlen(answer.user) >= ENTITLE_TEXT_MAX || answer.ticket > 8)
            abort();
        if (answer.verdict == P2PS_AUTHORITY_ALLOW && answer.user[0] == 0)
            abort();
        if (strlen(answer.session) >= ENTITLE_TEXT_MAX)
            abort();
        if (answer.verdict == P2PS_AUTHORITY_ALLOW) {
            judge(&answer);
            p2ps_authority_end(a, (struct entitle_view){ answer.session, strlen(answer.session) },
                               (struct entitle_view){ answer.text, strlen(answer.text) });
        }
        p2ps_authority_look(a, (struct entitle_view){ answer.user, strlen(answer.user) },
                            answer.serial, text);
    }
    p2ps_authority_answered(a);
    p2ps_authority_news(a, 2 * SECOND);
    p2ps_authority_output(a, &length);
    p2ps_authority_sent(a, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct p2ps_authority *a;
    const struct p2ps_authority_config config = {
        .instance = "fuzz",
        .timeout_ns = SECOND,
        .window = 8,
        .holds = true,
    };
    struct p2ps_authority_question question = { .host = { "10.1.0.7:5122", 13 } };
    struct p2ps_authority_answer answer;

    if (size == 0 || p2ps_authority_create(&config, &a) != MD_OK)
        return 0;
    size_t step = data[0] % 17 + 1u;
    for (unsigned i = 0; i < 8; i++) {
        if (i == 1) { /* the first one waits for it */
            p2ps_authority_open(a, SECOND);
            p2ps_authority_input(a, SECOND, HELLO, strlen(HELLO));
        }
        question.user = (struct entitle_view){ i % 2 ? "alice" : "", i % 2 ? 5 : 0 };
        question.token = (struct entitle_view){ "t", 1 };
        question.is_renewal = i % 4 == 1;
        question.session = (struct entitle_view){ "s-1", question.is_renewal ? 3 : 0 };
        p2ps_authority_ask(a, SECOND, &question, 3, i, &answer);
    }
    for (size_t at = 1; at < size; at += step) {
        const char *bytes = (const char *)data + at;
        if (p2ps_authority_input(a, 2 * SECOND, bytes, size - at < step ? size - at : step))
            break;
        take_all(a);
    }
    p2ps_authority_tick(a, 90 * SECOND);
    p2ps_authority_close(a, 90 * SECOND);
    take_all(a);
    p2ps_authority_destroy(a);
    return 0;
}
