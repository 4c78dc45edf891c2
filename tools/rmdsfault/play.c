/* play.c - the script: orders are carried out at once, waits and expectations take their time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "inside.h"

#define SECOND_NS 1000000000ull

enum outcome { DONE, WAITS, FAILED };

/* ---- telling how it went ---- */

/* "expect request X" */
static void step_text(const struct fault_step *step, char *out, size_t size)
{
    bool has_event = step->verb == FAULT_EXPECT || step->verb == FAULT_FORBID;
    bool is_any = strcmp(step->name, "*") == 0;

    size_t used = (size_t)snprintf(out, size, "%s", fault_verb_name((enum fault_verb)step->verb));
    const char *between = " ";
    for (unsigned kind = 0; has_event && kind < FAULT_SEEN_KINDS && used < size; kind++) {
        if (!(step->kinds >> kind & 1u))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s", between,
                                 fault_seen_name((enum fault_seen)kind));
        between = "|";
    }
    if (used < size && step->name[0] && !(has_event && is_any))
        (void)snprintf(out + used, size - used, " %.60s", step->name);
}

static void tell(struct fault_engine *engine, enum fault_act kind, bool is_on, unsigned line,
                 const char *text)
{
    const struct fault_action action = {
        .kind = kind, .is_on = is_on, .line = (uint16_t)line, .text = text
    };

    (void)engine->act(engine->owner, &action);
}

static void finish(struct fault_engine *engine, const struct fault_step *step, enum outcome outcome,
                   const char *why)
{
    char name[200], text[768];

    step_text(step, name, sizeof(name));
    if (outcome == DONE)
        (void)snprintf(text, sizeof(text), "%s", name);
    else
        (void)snprintf(text, sizeof(text), "%s: %s", name, why);
    tell(engine, FAULT_ACT_STEP, outcome == DONE, step->line, text);
    if (outcome == FAILED && !engine->is_live) {
        engine->play.is_over = true;
        tell(engine, FAULT_ACT_DONE, false, step->line, text);
    }
}

/* ---- waiting ---- */

static uint32_t wanted(const struct fault_step *step)
{
    return step->has_number ? 1 : step->number;
}

/* Why an expectation cannot come true or a ban was broken. */
static void describe(const struct fault_engine *engine, const struct fault_step *step, char *out,
                     size_t size)
{
    const struct play *play = &engine->play;
    char seen[300];

    fault_seen_describe(engine, play->mark, seen, sizeof(seen));
    if (play->has_exited)
        (void)snprintf(out, size, "the application has ended (exit code %u); seen: %s",
                       play->exit_code, seen);
    else if (step->verb == FAULT_FORBID)
        (void)snprintf(out, size, "it came %u times; seen: %s", play->found, seen);
    else
        (void)snprintf(out, size, "%u of %u came in %.3g s; seen: %s", play->found, wanted(step),
                       (double)step->duration_ns / (double)SECOND_NS, seen);
}

static enum outcome start_waiting(struct fault_engine *engine, uint64_t now_ns,
                                  const struct fault_step *step)
{
    struct play *play = &engine->play;

    play->is_waiting = true;
    play->until_ns = now_ns + step->duration_ns;
    play->found = 0;
    if (step->verb == FAULT_EXPECT)
        play->found = fault_seen_take(engine, play->mark, step, wanted(step));
    return WAITS;
}

static enum outcome look(struct fault_engine *engine, uint64_t now_ns,
                         const struct fault_step *step)
{
    const struct play *play = &engine->play;
    bool is_over = now_ns >= play->until_ns;

    switch (step->verb) {
    case FAULT_EXPECT:
        if (play->found >= wanted(step))
            return DONE;
        return is_over || play->has_exited ? FAILED : WAITS;
    case FAULT_FORBID:
        if (play->found >= wanted(step) ||
            (play->has_exited && (step->kinds >> FAULT_SEEN_EXIT & 1u)))
            return FAILED;
        return is_over || play->has_exited ? DONE : WAITS; /* nothing more can come */
    default:
        return is_over ? DONE : WAITS;
    }
}

/* A statement may wait for this event. */
void fault_play_event(struct fault_engine *engine, struct seen *seen)
{
    struct play *play = &engine->play;
    const struct fault_step *step = &engine->script.steps[play->next];

    if (seen->kind == FAULT_SEEN_EXIT) {
        play->has_exited = true;
        play->exit_code = seen->code;
    }
    if (play->is_waiting && !play->is_over && step->verb != FAULT_WAIT &&
        fault_seen_fits(seen, step)) {
        seen->is_taken = step->verb == FAULT_EXPECT;
        play->found++;
    }
}

/* ---- orders ---- */

static void loop(struct play *play, const struct fault_step *step)
{
    if (step->verb == FAULT_REPEAT) {
        play->left[play->depth++] = step->number;
    } else if (--play->left[play->depth - 1] > 0) {
        play->next = step->other;
    } else {
        play->depth--;
    }
}

static void set_value(struct fault_engine *engine, uint64_t now_ns, const struct fault_step *step)
{
    switch (step->verb) {
    case FAULT_DELAY:
        engine->delay_ns[step->choice] = step->duration_ns;
        break;
    case FAULT_GAP:
        engine->gap_ns = step->duration_ns;
        break;
    case FAULT_PARTS:
        engine->parts = step->number;
        break;
    case FAULT_LOSE:
        engine->lose = step->number;
        break;
    case FAULT_DOUBLE:
        engine->twice = step->number;
        break;
    case FAULT_SWAP:
        engine->swap = step->number;
        break;
    case FAULT_MERGE:
        engine->merge = step->number;
        break;
    case FAULT_TOKEN:
        engine->token_ns = step->duration_ns;
        break;
    case FAULT_UPDATES:
        engine->rate = step->number;
        engine->update_ns = now_ns + (step->number ? SECOND_NS / step->number : 0);
        break;
    default:
        engine->login = (enum fault_login)step->choice;
        memcpy(engine->login_text, step->text, sizeof(engine->login_text));
        break;
    }
}

static void drop_all(struct fault_engine *engine)
{
    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++)
        fault_drop(engine, i);
}

static void order(struct fault_engine *engine, uint64_t now_ns, const struct fault_step *step)
{
    const struct fault_action action = {
        .kind = step->verb == FAULT_LISTEN ? FAULT_ACT_LISTEN : FAULT_ACT_SILENCE,
        .is_on = step->choice != 0,
    };

    engine->play.mark = engine->seen_count;
    switch (step->verb) {
    case FAULT_SERVICE:
        fault_service_order(engine, step);
        break;
    case FAULT_ITEM:
        fault_item_order(engine, step);
        break;
    case FAULT_SEND:
        fault_send_order(engine, now_ns, step);
        break;
    case FAULT_DICTIONARY:
        fault_dictionary_order(engine, step);
        break;
    case FAULT_FRAME:
        fault_frame_order(engine, step);
        break;
    case FAULT_DISCONNECT:
        drop_all(engine);
        break;
    case FAULT_FORGET: /* what came so far fulfils nothing */
        break;
    case FAULT_LISTEN:
    case FAULT_SILENCE:
        (void)engine->act(engine->owner, &action);
        break;
    default:
        set_value(engine, now_ns, step);
        break;
    }
}

/* ---- one after the other ---- */

static enum outcome run(struct fault_engine *engine, uint64_t now_ns, const struct fault_step *step)
{
    struct play *play = &engine->play;

    switch (step->verb) {
    case FAULT_WAIT:
    case FAULT_EXPECT:
    case FAULT_FORBID:
        if (!play->is_waiting)
            (void)start_waiting(engine, now_ns, step);
        return look(engine, now_ns, step);
    case FAULT_REPEAT:
    case FAULT_END:
        loop(play, step);
        return DONE;
    case FAULT_SAY:
        tell(engine, FAULT_ACT_SAY, true, step->line, step->text);
        return DONE;
    default:
        order(engine, now_ns, step);
        return DONE;
    }
}

void fault_play(struct fault_engine *engine, uint64_t now_ns)
{
    struct play *play = &engine->play;
    unsigned budget = FAULT_PLAY_MAX;

    while (!play->is_over && play->next < engine->script.count && budget-- > 0) {
        const struct fault_step *step = &engine->script.steps[play->next];
        enum outcome outcome = run(engine, now_ns, step);
        char why[500];
        if (outcome == WAITS)
            return;
        play->is_waiting = false;
        if (outcome == FAILED)
            describe(engine, step, why, sizeof(why));
        play->next++;
        finish(engine, step, outcome, why);
    }
    if (!play->is_over && !engine->is_live && play->next == engine->script.count) {
        play->is_over = true;
        tell(engine, FAULT_ACT_DONE, true, 0, "");
    }
}
