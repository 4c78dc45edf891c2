/* page_view.h - pages of items, shown as rows: ANSI pages, and records whose fields are rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSTESTCLIENT_PAGE_VIEW_H
#define RMDSTESTCLIENT_PAGE_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "rmds/rwf.h"

enum { PAGE_VIEWS = 64 }; /* further items are not shown */

struct page_view_set;

int page_view_create(FILE *out, struct page_view_set **set); /* MD_ERR_NOMEM */
void page_view_destroy(struct page_view_set *set);           /* NULL is allowed */

/*
 * A refresh shows the whole page, an update the rows that it changed, with ^ under the changed
 * cells. `name` stays valid and stands for the item. False: the message has no page, or there are
 * more items than are shown.
 */
bool page_view_message(struct page_view_set *set, const char *name, const struct rwf_msg *msg);

#endif
