/* form.h - forms: how some watches want their records; each record is made once per form. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_FORM_H
#define P2PS_FORM_H

#include "private.h"

/* The form with these properties, made for this client if it is not there; P2PS_NONE when there are
 * too many, or the client has its share of views. */
uint32_t p2ps_form_take(struct p2ps_core *core, uint32_t client, uint8_t flags, uint8_t pace,
                        const int16_t *fields, size_t field_count);
void p2ps_form_give(struct p2ps_core *core, uint32_t form);
/* The form in place of this one, which it gives back, for a client that may see those fields;
 * P2PS_NONE: there are too many, and `form` stays. Watches that see the same fields in the end
 * share what is made for them, whatever each has asked for. */
uint32_t p2ps_form_impose(struct p2ps_core *core, uint32_t client, uint32_t form,
                          const struct entitle_answer *seen);

#endif
