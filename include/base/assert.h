/* base/assert.h - promises inside our own code. Kept in release builds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_ASSERT_H
#define MD_ASSERT_H

#define MD_ASSERT(cond)                                                                            \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0))                                                          \
            md_assert_failed(#cond, __FILE__, __LINE__, __func__);                                 \
    } while (0)

/* Says what broke on standard error, then aborts. */
_Noreturn void md_assert_failed(const char *cond, const char *file, int line, const char *func);

#endif
