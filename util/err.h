/* SPDX-License-Identifier: BSD-3-Clause
 * Error numbers. Functions return 0 or a useful value, or -ERR_x. */
#ifndef UTIL_ERR_H
#define UTIL_ERR_H

enum {
#define ERR(name, number, text) ERR_##name = number,
#include "util/err.def"
#undef ERR
};

/* The sentence for an error number of either sign; never NULL. */
const char *err_text(int err);

#endif
