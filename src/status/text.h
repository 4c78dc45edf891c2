/* text.h - text from outside, as JSON and metrics want it. Private to status. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATUS_TEXT_H
#define STATUS_TEXT_H

#include "httpd/server.h"

/* Without the quotation marks. What is not UTF-8, or a control byte, becomes visible. */
void text_add_json(struct http_answer *answer, const char *text);
void text_add_label(struct http_answer *answer, const char *text, size_t length);

#endif
