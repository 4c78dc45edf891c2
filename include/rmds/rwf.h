/* rwf.h - the whole of the RWF codec. Read rwf_types.h first, then what you need. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_H
#define RMDS_RWF_H

#include "rmds/rwf_container.h" /* read field lists, element lists, maps, vectors, series, ... */
#include "rmds/rwf_directory.h" /* the services of a source directory */
#include "rmds/rwf_encode.h"    /* write them, and messages */
#include "rmds/rwf_message.h"   /* read messages; peek at, patch and splice encoded ones */
#include "rmds/rwf_types.h"     /* numbers, names, plain structs */
#include "rmds/rwf_value.h"     /* primitives to C values and text, and back */

#endif
