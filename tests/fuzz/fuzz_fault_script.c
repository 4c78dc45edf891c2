/* fuzz_fault_script.c - any text as a fault scenario, played to a client that does all it can. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bed {
    unsigned done;
    bool is_full;
};

static bool act(void *owner, const struct fault_action *action)
{
    struct bed *bed = owner;

    if (action->kind == FAULT_ACT_DONE)
        bed->done++;
    bed->is_full = !bed->is_full;
    return action->kind > FAULT_ACT_BROKEN || bed->is_full || action->count % 5 != 0;
}

static void play(const struct fault_script *script)
{
    static const char *const services[] = { "FEED" };
    static const char *const names[] = { "A", "IBM.N", "user" };
    struct bed bed = { .done = 0 };
    const struct fault_engine_config config = {
        .services = services, .service_count = 1, .script = script, .act = act, .owner = &bed
    };
    struct fault_engine *engine;
    uint64_t now_ns = 0;

    if (fault_engine_create(&config, now_ns, &engine) != 0)
        abort();
    for (unsigned i = 0; i < 200; i++) {
        const struct fault_event event = { .kind = i < 3
                                                       ? FAULT_SEEN_CONNECT
                                                       : (enum fault_seen)(i * 7 % FAULT_SEEN_EXIT),
                                           .client = i % 3,
                                           .stream_id = (int32_t)(i % 11),
                                           .domain = 6,
                                           .service_id = 1,
                                           .dictionary = (uint8_t)(i % 4),
                                           .is_streaming = i % 5 != 0,
                                           .no_refresh = i % 13 == 0,
                                           .name = names[i % 3] };
        if (event.kind != FAULT_SEEN_REISSUE)
            fault_engine_event(engine, now_ns, &event);
        uint64_t due = fault_engine_deadline(engine);
        now_ns = due != FAULT_NEVER && due > now_ns ? due : now_ns + 1000000;
        fault_engine_tick(engine, now_ns);
    }
    if (bed.done > 1)
        abort();
    fault_engine_destroy(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fault_script script;
    struct fault_script_error error;

    if (fault_script_parse(&script, (const char *)data, size, &error) != 0) {
        if (error.line == 0 || error.text[0] == 0 || strlen(error.text) >= sizeof(error.text))
            abort();
        return 0;
    }
    play(&script);
    return 0;
}
