/* figures.c - the tables of the protocol's description, and the scaling curve. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rrcpsim.h"

int sim_figures(const char *which)
{
    (void)which;
    return 2;
}
