/* output.h - packets for the transport. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_OUTPUT_H
#define RRCP_OUTPUT_H

#include "private.h"

int rrcp_output_init(struct rrcp *r);
void rrcp_output_fini(struct rrcp *r);

#endif
