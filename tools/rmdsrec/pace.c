/* pace.c - see pace.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

#include "base/clock.h"
#include "base/err.h"

int replay_place(struct replay *replay, uint64_t mono_ns)
{
    replay->at_ns = mono_ns;
    /* The records of that moment itself are played. */
    return player_seek(&replay->player, mono_ns > 0 ? mono_ns - 1 : 0);
}

uint64_t replay_position(const struct replay *replay)
{
    const struct player *player = &replay->player;
    uint64_t last_ns = player->facts.last_mono_ns;
    uint64_t next_ns = player->has_record ? player->record.mono_ns : last_ns;

    if (!replay->is_playing || replay->is_paused)
        return replay->at_ns;
    if (replay->is_over || replay->speed <= 0)
        return replay->is_over ? last_ns : next_ns;
    uint64_t played_ns =
        (uint64_t)((double)(md_clock_mono_ns() - replay->begun_ns) * replay->speed);
    /* Records that are late are still to come. */
    return replay->begun_at_ns + played_ns < next_ns ? replay->begun_at_ns + played_ns : next_ns;
}

void replay_pause(struct replay *replay)
{
    replay->at_ns = replay_position(replay);
    replay->is_paused = true;
    md_loop_timer_stop(replay->timer);
}

void replay_go(struct replay *replay)
{
    if (!replay->is_paused)
        return;
    replay->is_paused = false;
    if (!replay->is_playing)
        return; /* it waits for its items, as before */
    replay->begun_at_ns = replay->at_ns;
    replay->begun_ns = md_clock_mono_ns();
    (void)md_loop_timer_at(replay->timer, 0);
}

void replay_set_speed(struct replay *replay, double speed)
{
    replay->begun_at_ns = replay_position(replay);
    replay->begun_ns = md_clock_mono_ns();
    replay->speed = speed;
    if (replay->is_playing)
        (void)md_loop_timer_at(replay->timer, 0);
}

int replay_seek(struct replay *replay, uint64_t mono_ns)
{
    int rc = replay_place(replay, mono_ns);

    replay->is_over = false;
    replay->begun_at_ns = mono_ns;
    replay->begun_ns = md_clock_mono_ns();
    stage_refresh_all(replay->stage);
    if (replay->is_playing)
        (void)md_loop_timer_at(replay->timer, 0);
    return rc;
}
