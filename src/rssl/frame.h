/* frame.h - the header of a frame after the handshake. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_FRAME_H
#define RSSL_FRAME_H

/*
 *     u16 length | u8 flags | [u8 extended flags | [fragment header]] | payload
 *
 * A first fragment's header is u32 total length and the id, a further one's the id alone; the id
 * has two bytes, one in versions 11 and 12. A frame of 3 bytes is a ping.
 */
#define RSSL_FRAME_HEADER       3u
#define RSSL_FRAME_HEADER_MAX   10u

#define RSSL_FLAG_EXT           0x01u /* extended flags follow */
#define RSSL_FLAG_DATA          0x02u /* uncompressed */
#define RSSL_FLAG_COMP          0x04u /* compressed */
#define RSSL_FLAG_SPLIT         0x08u /* the compressed payload goes on in the next compressed frame */
#define RSSL_FLAG_PACKED        0x10u

#define RSSL_EXT_FRAGMENT_NEXT  0x04u
#define RSSL_EXT_FRAGMENT_FIRST 0x08u

#endif
