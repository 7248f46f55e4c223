/* SPDX-License-Identifier: BSD-3-Clause
 * The definitions of MPI's collectives, as binaries. The build compiles them from collectives.goal (compiler/bootstrap/),
 * so that nothing has to be compiled when a schedule is held against one. */
#ifndef COMPILER_COLLECTIVES_DEFINITION_H
#define COMPILER_COLLECTIVES_DEFINITION_H

#include "format/read.h"

/* Opens the n-th definition of a collective, from 0: 1, or 0 when there are not so many, or -ERR_x. */
int definition_open(const char *name, unsigned n, struct bin *b);

#endif
