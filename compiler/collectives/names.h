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
/* Returns the collective's own name, which is static, so that equal names are equal pointers; NULL if there is none of that name. */
const char *collective_name(const char *name);
/* True for collectives with an operation, and for collectives of neighbours in a grid or a graph. The names say so. */
bool collective_reduces(const char *name);
bool collective_near(const char *name);
/* Searches the names of all collectives for the nearest one to an unknown name. */
struct nearest collective_nearest(const char *name);

#endif
