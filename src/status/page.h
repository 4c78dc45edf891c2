/* page.h - the status page, made from page.html by the build. Private to status. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_PAGE_H
#define STATUS_PAGE_H

#include "base/slice.h"

extern const struct md_slice status_page;

#endif
