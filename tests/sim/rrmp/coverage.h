/* coverage.h - what happened in the runs, counted; a row that stays zero is a hole in the proof. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_COVERAGE_H
#define RRMPSIM_COVERAGE_H

#include <stdint.h>

#define IN_ENGINES   1u /* must occur when models stand around the engines */
#define IN_CORES     2u /* must occur when the cores of the programs run */
#define IN_BOTH      3u
#define IN_FILTERS   4u  /* must occur with --filters */
#define IN_RATES     8u  /* must occur with --rates */
#define IN_FOLLOWERS 16u /* must occur with --followers */
#define IN_WISHES    32u /* must occur with --wishes */
#define IN_MIRRORS   64u /* must occur in the scenario mirrors, and nothing else must there */

/* ROW(name, where, group, text) */
#define COVERAGE(ROW)                                                                              \
    ROW(kills, IN_BOTH, "fault", "process killed")                                                 \
    ROW(hangs, IN_BOTH, "fault", "process hung")                                                   \
    ROW(node_kills, IN_BOTH, "fault", "daemon killed")                                             \
    ROW(partitions, IN_BOTH, "fault", "partition")                                                 \
    ROW(laps, IN_BOTH, "fault", "ring lapped")                                                     \
    ROW(losses, IN_BOTH, "fault", "loss beyond repair")                                            \
    ROW(lost, IN_BOTH, "fault", "record lost")                                                     \
    ROW(ring_full, IN_BOTH, "fault", "outbound ring full")                                         \
    ROW(hostile, IN_BOTH, "fault", "hostile record")                                               \
    ROW(mutated, IN_BOTH, "fault", "record said again with bytes changed")                         \
    ROW(provider_losses, IN_BOTH, "fault", "provider lost")                                        \
    ROW(silences, IN_CORES, "fault", "provider silent")                                            \
    ROW(jams, IN_CORES, "fault", "connection to provider full")                                    \
    ROW(login_refusals, IN_CORES, "fault", "provider refuses our login")                           \
    ROW(refusals_for_now, IN_CORES, "fault", "provider refuses for now")                           \
    ROW(service_downs, IN_CORES, "fault", "provider takes service down")                           \
    ROW(item_ends, IN_CORES, "fault", "provider ends an item")                                     \
    ROW(group_states, IN_CORES, "fault", "provider says group suspect")                            \
    ROW(group_moves, IN_CORES, "fault", "item moves to another group")                             \
    ROW(permission_changes, IN_CORES, "fault", "permission data change")                           \
    ROW(consumer_stops, IN_CORES, "fault", "consumer stops reading")                               \
    ROW(consumer_deaths, IN_CORES, "fault", "consumer dies")                                       \
    ROW(consumer_cuts, IN_CORES, "fault", "consumer cut by p2ps")                                  \
    ROW(opens, IN_BOTH, "request", "open")                                                         \
    ROW(closes, IN_BOTH, "request", "close")                                                       \
    ROW(reissues, IN_BOTH, "request", "re-issue")                                                  \
    ROW(batches, IN_CORES, "request", "batch")                                                     \
    ROW(views, IN_CORES, "request", "view")                                                        \
    ROW(keyed, IN_CORES, "request", "key in updates")                                              \
    ROW(pauses, IN_CORES, "request", "pause")                                                      \
    ROW(resumes, IN_CORES, "request", "resume")                                                    \
    ROW(pauses_all, IN_CORES, "request", "pause of all")                                           \
    ROW(no_refreshes, IN_CORES, "request", "re-issue without refresh")                             \
    ROW(priorities, IN_CORES, "request", "priority")                                               \
    ROW(paced, IN_RATES, "request", "rate")                                                        \
    ROW(rate_changes, IN_RATES, "request", "another rate")                                         \
    ROW(unlisted_rates, IN_RATES, "request", "rate that nobody offers")                            \
    ROW(snapshot_opens, IN_CORES, "request", "snapshot")                                           \
    ROW(snapshot_reissues, IN_CORES, "request", "snapshot asked for again")                        \
    ROW(privates, IN_BOTH, "request", "private stream")                                            \
    ROW(logins, IN_CORES, "request", "login")                                                      \
    ROW(logouts, IN_CORES, "request", "logout")                                                    \
    ROW(posts, IN_BOTH, "request", "post")                                                         \
    ROW(posts_off_stream, IN_CORES, "request", "post off stream")                                  \
    ROW(generics, IN_BOTH, "request", "generic message up")                                        \
    ROW(bad_services, IN_CORES, "request", "unknown service")                                      \
    ROW(dictionaries, IN_ENGINES, "request", "dictionary part")                                    \
    ROW(images, IN_BOTH, "delivered", "image part")                                                \
    ROW(images_unsolicited, IN_CORES, "delivered", "image unsolicited")                            \
    ROW(images_of_parts, IN_CORES, "delivered", "image of several parts")                          \
    ROW(updates, IN_BOTH, "delivered", "update")                                                   \
    ROW(updates_withheld, IN_CORES, "delivered", "update after one withheld")                      \
    ROW(merged, IN_FILTERS | IN_RATES, "delivered", "merged update")                               \
    ROW(intervals_judged, IN_RATES, "delivered", "update of a rate, its interval undisturbed")     \
    ROW(merged_slow, IN_CORES, "delivered", "update merged for a slow consumer")                   \
    ROW(runs_behind_filtered, IN_FILTERS, "delivered", "update after one left out")                \
    ROW(images_compared, IN_CORES, "delivered", "image compared with that of src_dist")            \
    ROW(statuses, IN_BOTH, "delivered", "status of one item")                                      \
    ROW(states_by_directory, IN_CORES, "delivered", "status by directory")                         \
    ROW(states_by_group, IN_CORES, "delivered", "status by group")                                 \
    ROW(suspects, IN_BOTH, "delivered", "told suspect")                                            \
    ROW(conflations, IN_CORES, "delivered", "told conflated")                                      \
    ROW(resumptions, IN_CORES, "delivered", "told real time again")                                \
    ROW(closed, IN_BOTH, "delivered", "closed")                                                    \
    ROW(closed_recover, IN_CORES, "delivered", "closed, recover")                                  \
    ROW(not_entitled, IN_CORES, "delivered", "not entitled")                                       \
    ROW(not_found, IN_CORES, "delivered", "not found")                                             \
    ROW(snapshots, IN_BOTH, "delivered", "snapshot answered")                                      \
    ROW(private_updates, IN_BOTH, "delivered", "update of a private stream")                       \
    ROW(generics_down, IN_CORES, "delivered", "generic message down")                              \
    ROW(directory, IN_BOTH, "delivered", "directory change")                                       \
    ROW(service_downs_told, IN_CORES, "delivered", "service down")                                 \
    ROW(services_deleted, IN_RATES, "delivered", "service deleted")                                \
    ROW(service_ups_told, IN_CORES, "delivered", "service up again")                               \
    ROW(acks, IN_BOTH, "delivered", "ack")                                                         \
    ROW(naks, IN_CORES, "delivered", "nak")                                                        \
    ROW(post_lost, IN_ENGINES, "delivered", "post without answer")                                 \
    ROW(from_p2ps_cache, IN_CORES, "delivered", "image from the cache of p2ps")                    \
    ROW(followed_bound, IN_FOLLOWERS, "follower", "told to be bound")                              \
    ROW(followed_lists, IN_FOLLOWERS, "follower", "part of a list")                                \
    ROW(followed_images, IN_FOLLOWERS, "follower", "image")                                        \
    ROW(followed_updates, IN_FOLLOWERS, "follower", "update")                                      \
    ROW(followed_ends, IN_FOLLOWERS, "follower", "end")                                            \
    ROW(followed_moves, IN_FOLLOWERS, "follower", "item moved to another source")                  \
    ROW(followed_names_refused, IN_FOLLOWERS, "follower", "name that nobody has")                  \
    ROW(followed_races, IN_FOLLOWERS, "follower", "item opened as another opens it")               \
    ROW(followed_judged, IN_FOLLOWERS, "follower", "compared with what is bound")                  \
    ROW(wishes, IN_WISHES, "backbone", "process says what it wants")                               \
    ROW(left_out, IN_WISHES, "backbone", "record not sent to a node")                              \
    ROW(refused, IN_BOTH, "backbone", "refusal")                                                   \
    ROW(gap_hits, IN_BOTH, "backbone", "item hit by GAPITEMS")                                     \
    ROW(not_held, IN_BOTH, "backbone", "gap log did not hold")                                     \
    ROW(whole, IN_BOTH, "backbone", "whole service recovered")                                     \
    ROW(failovers, IN_BOTH, "backbone", "failover of a service")                                   \
    ROW(unicast_images, IN_BOTH, "backbone", "image by unicast, bound")                            \
    ROW(redundant, IN_BOTH, "backbone", "image redundant")                                         \
    ROW(held_over, IN_BOTH, "backbone", "hold overflow")                                           \
    ROW(audits, IN_BOTH, "backbone", "audit")                                                      \
    ROW(audit_mended, IN_BOTH, "backbone", "mended by audit")                                      \
    ROW(moves[0][1], IN_CORES, "transition", "parked to queued")                                   \
    ROW(moves[0][2], IN_CORES, "transition", "parked to asked")                                    \
    ROW(moves[1][0], IN_CORES, "transition", "queued to parked")                                   \
    ROW(moves[1][2], IN_CORES, "transition", "queued to asked")                                    \
    ROW(moves[1][4], IN_CORES, "transition", "queued to live")                                     \
    ROW(moves[2][0], IN_CORES, "transition", "asked to parked")                                    \
    ROW(moves[2][1], IN_CORES, "transition", "asked to queued")                                    \
    ROW(moves[2][3], IN_CORES, "transition", "asked to filling")                                   \
    ROW(moves[2][4], IN_CORES, "transition", "asked to live")                                      \
    ROW(moves[3][2], IN_CORES, "transition", "filling to asked")                                   \
    ROW(moves[3][4], IN_CORES, "transition", "filling to live")                                    \
    ROW(moves[4][0], IN_CORES, "transition", "live to parked")                                     \
    ROW(moves[4][1], IN_CORES, "transition", "live to queued")                                     \
    ROW(moves[4][2], IN_CORES, "transition", "live to asked")                                      \
    ROW(experiments[1], IN_CORES, "experiment", "k records lost")                                  \
    ROW(experiments[2], IN_CORES, "experiment", "one ring lapped")                                 \
    ROW(experiments[3], IN_CORES, "experiment", "one src_dist killed")                             \
    ROW(experiments[4], IN_CORES, "experiment", "one daemon killed")                               \
    ROW(experiments[5], IN_CORES, "experiment", "one p2ps hangs or dies")                          \
    ROW(experiments[6], IN_CORES, "experiment", "one consumer stops or dies")                      \
    ROW(experiments[7], IN_CORES, "experiment", "one p2ps asks for thousands")                     \
    ROW(mirror_faults[0], IN_MIRRORS, "mirror", "src_dist killed")                                 \
    ROW(mirror_faults[1], IN_MIRRORS, "mirror", "its daemon killed")                               \
    ROW(mirror_faults[2], IN_MIRRORS, "mirror", "its provider lost")                               \
    ROW(mirror_faults[3], IN_MIRRORS, "mirror", "parted from one p2ps, both active")               \
    ROW(mirror_resumed, IN_MIRRORS, "mirror", "item that went on at the other")                    \
    ROW(mirror_moved, IN_MIRRORS, "mirror", "item moved back")                                     \
    ROW(mirror_told, IN_MIRRORS, "mirror", "suspect told, as numbers are not equal")               \
    ROW(numbers[0], IN_MIRRORS, "numbers", "each the next")                                        \
    ROW(numbers[1], IN_MIRRORS, "numbers", "wrap")                                                 \
    ROW(numbers[2], IN_MIRRORS, "numbers", "holes")                                                \
    ROW(numbers[3], IN_MIRRORS, "numbers", "several messages with one")                            \
    ROW(numbers[4], IN_MIRRORS, "numbers", "most messages without")                                \
    ROW(numbers[5], IN_MIRRORS, "numbers", "src_dist merges and leaves out")                       \
    ROW(numbers[6], IN_MIRRORS, "numbers", "back to 1 without an image")                           \
    ROW(numbers[7], IN_MIRRORS, "numbers", "from 1 at a provider that came again")                 \
    ROW(numbers[8], IN_MIRRORS, "numbers", "others at one provider")                               \
    ROW(numbers[9], IN_MIRRORS, "numbers", "equal, the messages not")

struct coverage {
    uint64_t kills, hangs, node_kills, partitions, laps, losses, lost, ring_full, hostile;
    uint64_t mutated;
    uint64_t mirror_faults[4], mirror_resumed, mirror_moved, mirror_told, numbers[10];
    uint64_t provider_losses, silences, jams, login_refusals, refusals_for_now, service_downs;
    uint64_t item_ends, group_states, group_moves, permission_changes, consumer_stops,
        updates_withheld, merged, merged_slow, runs_behind_filtered, images_compared;
    uint64_t services_deleted, paced, rate_changes, unlisted_rates, intervals_judged;
    uint64_t consumer_deaths, consumer_cuts;
    uint64_t opens, closes, reissues, batches, views, keyed, pauses, resumes, pauses_all;
    uint64_t no_refreshes, priorities, snapshot_opens, snapshot_reissues, privates, logins, logouts,
        posts;
    uint64_t posts_off_stream, generics, bad_services, dictionaries;
    uint64_t images, images_unsolicited, images_of_parts, updates, statuses, states_by_directory;
    uint64_t states_by_group, suspects, conflations, resumptions, closed, closed_recover;
    uint64_t not_entitled, not_found, snapshots, private_updates, generics_down, directory;
    uint64_t service_downs_told, service_ups_told, acks, naks, post_lost, from_p2ps_cache;
    uint64_t refused, gap_hits, not_held, whole, failovers, unicast_images, redundant, held_over;
    uint64_t audits, audit_mended, wishes, left_out;
    uint64_t followed_bound, followed_lists, followed_images, followed_updates, followed_ends;
    uint64_t followed_moves, followed_names_refused, followed_races, followed_judged;
    uint64_t moves[5][5]; /* of items in a p2ps, as seen every 20 ms */
    uint64_t experiments[8];
};

#endif
