/* SPDX-License-Identifier: BSD-3-Clause
 * The names of the collectives that have a definition. They come from the text of collectives.goal, without a compiler. */
#ifndef COMPILER_COLLECTIVES_NAMES_H
#define COMPILER_COLLECTIVES_NAMES_H

#include <stdbool.h>

/* The name under which collectives.goal defines a collective; name itself where it has no other. */
const char *collective_defined_as(const char *name);
/* Whether a collective of that name is defined. */
bool collective_known(const char *name);

#endif
