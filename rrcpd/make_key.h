/* make_key.h - rrcpd --make-key FILE. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_MAKE_KEY_H
#define RRCPD_MAKE_KEY_H

/* Makes a key file that its owner alone can read, and says what to do with it. Returns the exit
 * code. An existing file stays. */
int make_key(const char *path);

#endif
