/* livepage/livepage.h - the page with moving prices, as p2ps serves it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVEPAGE_LIVEPAGE_H
#define LIVEPAGE_LIVEPAGE_H

#include "ws/ws.h"

/* Made by the build of the files of src/livepage. Its headers let a browser run the script and the
 * style of this page only, and let these ask nobody but the host that served it. */
extern const struct ws_page live_page;

#endif
