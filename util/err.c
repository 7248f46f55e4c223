/* SPDX-License-Identifier: BSD-3-Clause
 * Sentences for error numbers. */
#include "util/err.h"

const char *err_text(int err)
{
	/* Negative numbers only: INT_MIN has no positive counterpart. */
	switch (err > 0 ? -err : err) {
	case 0:
		return "success";
#define ERR(name, number, text) \
	case -number:           \
		return text;
#include "util/err.def"
#undef ERR
	}
	return "unknown error";
}
