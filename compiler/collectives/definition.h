/* SPDX-License-Identifier: BSD-3-Clause
 * The definitions of MPI collectives, as binaries. The build compiles them from collectives.goal (compiler/embed/),
 * so that checking a schedule against one needs no compiler. */
#ifndef COMPILER_COLLECTIVES_DEFINITION_H
#define COMPILER_COLLECTIVES_DEFINITION_H

#include "format/read.h"

/* Opens the n-th definition of a collective, counted from 0. Returns 1, 0 if there are fewer, or -ERR_x. */
int definition_open(const char *name, unsigned n, struct bin *b);

#endif
