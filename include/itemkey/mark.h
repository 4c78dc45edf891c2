/* itemkey/mark.h - what two sources of one stream send alike of a message. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ITEMKEY_MARK_H
#define ITEMKEY_MARK_H

#include "rrmp/position.h"
#include "rrmp/record.h"

/* Of a message as the backbone carries it. Of a REFRESH only the payload counts: its state and
 * flags depend on who asked. */
void itemkey_mark(struct rrmp_view message, struct rrmp_mark *mark);

#endif
