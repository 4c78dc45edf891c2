/* base/err.h - the one set of result codes shared by every module. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_ERR_H
#define MD_ERR_H

/*
 * A function that can fail returns int: 0 on success, one of these (negative) on failure.
 * They are outcomes the caller is expected to handle. A broken promise inside our own code is
 * not an outcome: that is MD_ASSERT.
 */
enum md_err {
    MD_OK = 0,
    MD_ERR_SHORT = -1,     /* ran past the end of the bytes given */
    MD_ERR_MALFORMED = -2, /* bytes present but not legal */
    MD_ERR_RANGE = -3,     /* a number outside its documented limits */
    MD_ERR_FULL = -4,      /* a bounded queue, pool, window or output buffer is full */
    MD_ERR_NOMEM = -5,
    MD_ERR_SYS = -6,          /* a system call failed; errno says why */
    MD_ERR_NOT_FOUND = -7,    /* no such object */
    MD_ERR_EXISTS = -8,       /* it is there already */
    MD_ERR_STATE = -9,        /* not allowed in the present state */
    MD_ERR_UNSUPPORTED = -10, /* legal, but not in this version */
    MD_ERR_AGAIN = -11,       /* nothing now; try again when woken */
    MD_ERR_CLOSED = -12,      /* the other end is gone */
};

/* Fixed text for logs, e.g. "malformed"; never NULL. */
const char *md_err_name(int err);

#endif
