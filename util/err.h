/* SPDX-License-Identifier: BSD-3-Clause
 * Error numbers. A function that can fail returns 0 or a useful value on success, and -ERR_x on failure. */
#ifndef UTIL_ERR_H
#define UTIL_ERR_H

enum {
#define ERR(name, number, text) ERR_##name = number,
#include "util/err.def"
#undef ERR
};

/* Returns the sentence for an error number of either sign; never NULL. */
const char *err_text(int err);

#endif
