/* rmds/rwf_rmtes.h - RMTES strings: partial updates, and their text as UTF-8. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_RMTES_H
#define RMDS_RWF_RMTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An RMTES string is a byte string of ISO 2022 kind: bytes 20..7E and A0..FF stand for characters
 * of two of four designated sets, and escape sequences say which. At the start of a string:
 *
 *   G0  ASCII                   in the left half (20..7E)
 *   G1  basic set 2: Latin      in the right half (A0..FF)
 *   G2  JIS X 0201 katakana
 *   G3  JIS X 0208 kanji, two bytes each
 *
 *   0F 0E                G0, G1 to the left half          1B 6E, 1B 6F   G2, G3 to the left half
 *   1B 7E, 1B 7D, 1B 7C  G1, G2, G3 to the right half     8E, 8F         one character of G2, G3
 *   1B 28..2B F          designate a one-byte set as G0..G3: 42 ASCII, 4A JIS Latin,
 *                        49 and 32 katakana, 31 basic set 2, 33 kanji (of G3)
 *   1B 24 28..2B F       designate a two-byte set: 42, 33, 34 kanji; 47, 48 CNS planes 1 and 2
 *   1B 25 30             the rest of the string is UTF-8
 *
 * In an update the content of a field may be partial, that is, hold commands that move over the
 * bytes of the string received before:
 *
 *   1B 5B <decimal n> 60     continue at byte n (counted from 0)
 *   1B 5B <decimal n> 62     write the byte that stands directly before n times more
 *
 * Content that holds a position changes the string, and what it does not write over stays. Content
 * without one replaces the string; a repetition in it is only a shorter spelling.
 *
 * A program that keeps an image must apply them, or the next refresh that it sends is broken text.
 * Nothing here allocates, blocks, or keeps state between calls.
 */

/* Does this content hold a command, so that it must be applied before it is text? */
bool rwf_rmtes_is_partial(const uint8_t *content, size_t length);

/*
 * Apply received content to the stored string: replaces it, or, if the content holds a position,
 * changes it in place. `stored` has room for `capacity` bytes and holds *stored_length of them;
 * bytes that a command jumps over and that were never written become blanks. On failure
 * (MD_ERR_MALFORMED: a command is broken or unfinished, or a repetition has no byte before it;
 * MD_ERR_FULL: it leads beyond `capacity`) neither the string nor *stored_length has changed.
 * `content` may not overlap `stored`.
 */
int rwf_rmtes_apply(uint8_t *stored, size_t capacity, size_t *stored_length, const uint8_t *content,
                    size_t length);

/*
 * The text of a whole string as UTF-8 in `text`, *text_length bytes, not terminated. What has no
 * character (an unknown set, an illegal byte) becomes U+FFFD; a 00 ends the text; a command is
 * shown by its effect at the place where it stands (repetition) or passed over (position).
 * Returns MD_ERR_FULL when `size` bytes are too few; `text` then holds the whole characters that
 * fitted. Three times the length of a string without repetition is always enough.
 */
int rwf_rmtes_to_utf8(const uint8_t *string, size_t length, char *text, size_t size,
                      size_t *text_length);

/* The same for the content of an update: positions stay in the text, for a consumer that keeps the
 * string and applies them. */
int rwf_rmtes_update_to_utf8(const uint8_t *content, size_t length, char *text, size_t size,
                             size_t *text_length);

/*
 * The string of a text in UTF-8 in the sets that a string begins with, ASCII and Latin: a byte for
 * each character, so that positions in the text, or of later updates, mean the same cells. Control
 * characters stand for themselves. Returns MD_ERR_RANGE when a character is in neither set or the
 * text is no UTF-8 (ESC 25 30 and the text is a string then, but its cells are others; in an update
 * with positions it writes over what it should leave), and MD_ERR_FULL when `size` bytes are too
 * few; `length` of them are always enough.
 */
int rwf_rmtes_from_utf8(const uint8_t *text, size_t length, uint8_t *string, size_t size,
                        size_t *string_length);

#endif
