/* base/text.h - text from outside, before it is shown. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_TEXT_H
#define MD_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the UTF-8 character there, of three bytes at most; 0 if it is none that is to be
 * printed as it is: a control character, those of eight bits among them, is not. */
size_t md_text_printable(const char *text, size_t length);

/* The same, of four bytes at most. */
size_t md_text_plain(const char *text, size_t length);

/* True: all of it is UTF-8, and no control character, also none of those of eight bits. */
bool md_text_is_plain(const char *text, size_t length);

#define MD_TEXT_DOTTED_MAX 200u
/* For a terminal: what is no printable ASCII as a dot, cut off at so many bytes. Returns out. */
const char *md_text_dotted(const void *text, size_t length, char out[MD_TEXT_DOTTED_MAX + 1]);

#endif
