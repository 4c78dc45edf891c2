/* replay.c - rmdsrec replay: a provider that plays a recording. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "control.h"
#include "rec.h"

#define BUFFERS      30000u
#define TURN_RECORDS 2000u /* in one turn of the loop */
#define FULL_NS      MD_NS_PER_MS
#define ROUND_NS     MD_NS_PER_MS /* a round of a loop takes so long at least */

/* When the record at hand is due. */
static uint64_t due_of(const struct replay *replay)
{
    uint64_t at_ns = replay->player.record.mono_ns;

    if (replay->speed <= 0 || at_ns <= replay->begun_at_ns)
        return 0;
    return replay->begun_ns + (uint64_t)((double)(at_ns - replay->begun_at_ns) / replay->speed);
}

static void begin(struct replay *replay, uint64_t at_ns)
{
    replay->is_playing = true;
    replay->begun_ns = at_ns;
    replay->begun_at_ns = replay->at_ns;
    replay->rounds++;
    (void)md_loop_timer_at(replay->timer, at_ns);
}

/* A range that has one record would be played without an end. */
static uint64_t next_round_ns(const struct replay *replay)
{
    uint64_t now_ns = md_clock_mono_ns();

    return now_ns - replay->begun_ns < ROUND_NS ? replay->begun_ns + ROUND_NS : now_ns;
}

static void end(struct replay *replay)
{
    if (replay->loops && replay_place(replay, replay->from_ns) == MD_OK) {
        stage_refresh_all(replay->stage);
        begin(replay, next_round_ns(replay));
        stage_flush(replay->stage);
        return;
    }
    stage_flush(replay->stage);
    replay->is_over = true;
    printf(PROGRAM ": the recording has ended\n");
    fflush(stdout);
    if (replay->ends)
        md_loop_stop(replay->stage->loop);
}

static bool has_record(const struct replay *replay)
{
    return replay->player.has_record &&
           (!replay->to_ns || replay->player.record.mono_ns < replay->to_ns);
}

/* False: the turn is over; the timer runs for what comes next. */
static bool play_one(struct replay *replay, uint64_t now_ns)
{
    struct player *player = &replay->player;

    if (!has_record(replay)) {
        end(replay);
        return false;
    }
    uint64_t due_ns = due_of(replay);
    if (due_ns > now_ns) {
        (void)md_loop_timer_at(replay->timer, due_ns);
        return false;
    }
    if (!stage_has_room(replay->stage)) {
        (void)md_loop_timer_at(replay->timer, now_ns + FULL_NS);
        return false;
    }
    if (due_ns > 0 && now_ns - due_ns > replay->late_max_ns)
        replay->late_max_ns = now_ns - due_ns;
    stage_play(replay->stage);
    player_step(player);
    replay->records++;
    return true;
}

static void on_timer(void *owner)
{
    struct replay *replay = owner;
    uint64_t now_ns = md_clock_mono_ns();
    unsigned count = 0;

    if (replay->is_paused || replay->is_over)
        return;
    while (count < TURN_RECORDS && play_one(replay, now_ns))
        count++;
    stage_flush(replay->stage);
    if (count == TURN_RECORDS)
        (void)md_loop_timer_at(replay->timer, 0);
}

static void on_wait(void *owner)
{
    struct replay *replay = owner;

    if (replay->is_playing || replay->is_paused ||
        replay->stage->stats.watches < replay->wait_items)
        return;
    md_loop_timer_stop(replay->wait);
    begin(replay, md_clock_mono_ns());
}

static void on_signal(void *owner, int signal)
{
    struct replay *replay = owner;

    (void)signal;
    md_loop_stop(replay->stage->loop);
}

/* ---- the command line ---- */

static int understand(const struct words *w, struct replay *replay)
{
    uint64_t port = 14002, id = 1, buffers = BUFFERS;
    double speed = 1;
    char error[512];

    if (!rec_parse_uint(w->port, 0, 65535, &port))
        return rec_usage("-N is a port, 0 to 65535 (0: any)", w->port);
    if (!rec_parse_uint(w->id, 1, 60000, &id))
        return rec_usage("-id is a number, 1 to 60000", w->id);
    if (w->speed && strcmp(w->speed, "max") == 0)
        speed = 0;
    else if (!rec_parse_real(w->speed, 0.001, 1e6, &speed))
        return rec_usage("-speed is a factor, or max", w->speed);
    if (!rec_parse_uint(w->wait_items, 0, 100000000, &replay->wait_items))
        return rec_usage("-waitItems is a number", w->wait_items);
    if (!rec_parse_uint(w->max_buffers, 10, 1000000, &buffers))
        return rec_usage("-maxBuffers is a number, 10 to 1000000", w->max_buffers);
    if (w->names && itemlist_add_names(&replay->only, w->names, error, sizeof(error)) != MD_OK)
        return rec_usage(error, NULL);
    if (wire_make(&w->wire, true, &replay->stage->wire, error, sizeof(error)) != MD_OK)
        return rec_usage(error, NULL);
    replay->stage->buffers = (uint32_t)buffers;
    replay->port = (uint16_t)port;
    replay->address = w->address;
    replay->speed = speed;
    replay->control_path = w->control;
    replay->takes_input = w->takes_input;
    replay->loops = w->loops;
    replay->ends = w->ends;
    replay->config = (struct player_config){ .path = w->file,
                                             .dict = w->dict,
                                             .as = w->as,
                                             .is_series = w->is_series,
                                             .first_id = (uint16_t)id,
                                             .only = &replay->only };
    return REC_OK;
}

/* From and to are seconds since the beginning of the recording. */
static int find_times(const struct words *w, struct replay *replay)
{
    const struct rec_facts *facts = &replay->player.facts;
    double from = 0, to = 0;

    if (!rec_parse_real(w->from, 0, 1e9, &from) || !rec_parse_real(w->to, 0, 1e9, &to))
        return rec_usage("-from and -to are seconds since the beginning", NULL);
    replay->from_ns = facts->first_mono_ns + (uint64_t)(from * 1e9);
    replay->to_ns = to > 0 ? facts->first_mono_ns + (uint64_t)(to * 1e9) : 0;
    if (replay_place(replay, replay->from_ns) != MD_OK) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return REC_FILE;
    }
    if (!has_record(replay))
        return rec_usage("nothing was recorded between -from and -to", NULL);
    return REC_OK;
}

static int start(struct replay *replay)
{
    struct stage *stage = replay->stage;

    stage->player = &replay->player;
    if (md_loop_create(0, &stage->loop) != MD_OK ||
        client_context_create(NULL, &stage->context) != MD_OK ||
        md_loop_timer_create(stage->loop, on_timer, replay, &replay->timer) != MD_OK ||
        md_loop_timer_create(stage->loop, on_wait, replay, &replay->wait) != MD_OK)
        return REC_FILE;
    if (!stage_open(stage, replay->address, replay->port))
        return REC_NO_LOGIN;
    if (!control_start(replay))
        return REC_FILE;
    (void)md_loop_signal_add(stage->loop, SIGINT, on_signal, replay, &replay->signals[0]);
    (void)md_loop_signal_add(stage->loop, SIGTERM, on_signal, replay, &replay->signals[1]);
    printf(PROGRAM ": listening on port %u\n", net_listener_port(stage->port));
    fflush(stdout);
    (void)md_loop_timer_every(replay->wait, 10 * MD_NS_PER_MS);
    on_wait(replay);
    return REC_OK;
}

static int report(struct replay *replay)
{
    const struct stage_stats *stats = &replay->stage->stats;
    struct rec_facts facts;

    rec_reader_facts(replay->player.source.reader, &facts);
    printf("played      %" PRIu64 " records in %" PRIu64 " rounds; %" PRIu64 " us late at most\n",
           replay->records, replay->rounds, (uint64_t)(replay->late_max_ns / MD_NS_PER_US));
    printf("sent        %" PRIu64 " messages, %" PRIu64 " bytes, %" PRIu64 " images for %" PRIu64
           " requests\n",
           stats->messages, stats->bytes, stats->images, stats->requests);
    printf("begun       with the images of %" PRIu64 " of %" PRIu64 " chunks\n",
           rec_folder_chunks_read(replay->player.folder), facts.chunks);
    printf("queues      %" PRIu64 " images waited for room, %" PRIu64
           " clients were disconnected\n",
           stats->owed, stats->dropped);
    if (stats->errors > 0)
        printf("errors      %" PRIu64 " messages\n", stats->errors);
    source_print_damages(&replay->player.source, stdout);
    return facts.damages > 0 || stats->errors > 0 ? REC_DAMAGED : REC_OK;
}

static void stop(struct replay *replay)
{
    struct stage *stage = replay->stage;

    control_stop(replay);
    if (stage->port)
        stage_close(stage);
    for (size_t i = 0; i < 2; i++) {
        if (replay->signals[i])
            md_loop_signal_remove(replay->signals[i]);
    }
    md_loop_timer_destroy(replay->timer);
    md_loop_timer_destroy(replay->wait);
    client_context_destroy(stage->context);
    wire_fini(&stage->wire);
    if (stage->loop)
        md_loop_destroy(stage->loop);
    player_close(&replay->player);
    itemlist_fini(&replay->only);
    free(stage);
    free(replay);
}

int replay_run(const struct words *words)
{
    struct replay *replay = calloc(1, sizeof(*replay));
    struct stage *stage = calloc(1, sizeof(*stage));

    if (!replay || !stage) {
        free(replay);
        free(stage);
        return REC_FILE;
    }
    replay->stage = stage;
    itemlist_init(&replay->only);
    int rc = understand(words, replay);
    if (rc == REC_OK && !player_open(&replay->config, &replay->player))
        rc = REC_FILE;
    if (rc == REC_OK)
        rc = find_times(words, replay);
    if (rc == REC_OK)
        rc = start(replay);
    if (rc == REC_OK) {
        (void)md_loop_run(stage->loop);
        rc = report(replay);
    }
    stop(replay);
    return rc;
}
