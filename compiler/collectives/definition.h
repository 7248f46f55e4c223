/* SPDX-License-Identifier: BSD-3-Clause
 * The definitions of MPI's collectives (collectives.goal), as binaries. */
#ifndef COMPILER_COLLECTIVES_DEFINITION_H
#define COMPILER_COLLECTIVES_DEFINITION_H

#include "format/bin.h"

/* Compiles the n-th definition of a name, from 0, into an owned image; NULL there when there is none. */
int definition_open(const char *name, unsigned n, void **image, struct bin *b);
bool definition_known(const char *name);

#endif
