/* pace.h - where a recording is that is played, and how fast it goes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PACE_H
#define PACE_H

#include "stage.h"

struct control;

struct replay {
    struct player player;
    struct stage *stage;
    struct itemlist only;
    struct player_config config;
    const char *address, *control_path;
    uint16_t port;
    double speed;            /* 0: as fast as it goes */
    uint64_t from_ns, to_ns; /* of the recording's monotonic clock */
    uint64_t wait_items;     /* played once so many streams are open */
    bool loops, ends, takes_input;
    bool is_playing, is_paused, is_over;
    uint64_t at_ns;                 /* where it begins to play, or goes on */
    uint64_t begun_ns, begun_at_ns; /* ours, when the recording was there */
    uint64_t records, rounds, late_max_ns;
    struct control *control;
    struct md_loop_timer *timer, *wait;
    struct md_loop_signal *signals[2];
};

/* To that moment, without telling anybody. MD_ERR_NOMEM. */
int replay_place(struct replay *replay, uint64_t mono_ns);
/* Where it is, by the recording's monotonic clock. */
uint64_t replay_position(const struct replay *replay);
void replay_pause(struct replay *replay);
void replay_go(struct replay *replay);
void replay_set_speed(struct replay *replay, double speed);
/* To that moment; watchers get its images. MD_ERR_NOMEM. */
int replay_seek(struct replay *replay, uint64_t mono_ns);

#endif
