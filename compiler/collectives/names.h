/* SPDX-License-Identifier: BSD-3-Clause
 * The names of the collectives that have a definition. The build extracts them from collectives.goal without a
 * compiler. */
#ifndef COMPILER_COLLECTIVES_NAMES_H
#define COMPILER_COLLECTIVES_NAMES_H

#include "util/nearest.h"

#include <stdbool.h>

/* Returns the name under which collectives.goal defines a collective: usually `name` itself. */
const char *collective_defined_as(const char *name);
/* True if a collective of that name is defined. */
bool collective_known(const char *name);
/* Searches the names of all collectives for the nearest one to an unknown name. */
struct nearest collective_nearest(const char *name);

#endif
