/* base/check.h - the walks that prove a module's tables: x_check() in each engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CHECK_H
#define MD_CHECK_H

/*
 * A check function walks the tables of one object, changes and allocates nothing, and returns NULL,
 * or the text of the first condition that does not hold. Simulators call it after their steps, unit
 * tests when they settle, fuzzers after each input. No program calls it on its data path.
 */
#define MD_REQUIRE(condition)                                                                      \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            return #condition;                                                                     \
    } while (0)

#define MD_REQUIRE_ALL(call)                                                                       \
    do {                                                                                           \
        const char *md_broken = (call);                                                            \
                                                                                                   \
        if (__builtin_expect(md_broken != 0, 0))                                                   \
            return md_broken;                                                                      \
    } while (0)

#endif
