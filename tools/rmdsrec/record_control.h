/* record_control.h - commands to a recorder that runs: st, rotate, q. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_CONTROL_H
#define RECORD_CONTROL_H

#include "record.h"

/* MD_OK also without a socket; else it has said why. */
int record_control_start(struct recorder *recorder);
void record_control_stop(struct recorder *recorder);

#endif
