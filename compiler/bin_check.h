/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the reader and the checker of binaries; same terms as bin.h. */
#ifndef COMPILER_BIN_CHECK_H
#define COMPILER_BIN_CHECK_H

#include "compiler/bin.h"

/* The operand letters of an op kind (ops.def); "" for none or an unknown kind. */
const char *bin_operands(unsigned kind);
/* How many buffer ranges an op of this kind has: 0, 1 or 2. */
unsigned bin_nranges(unsigned kind);

/* A rank's section, taken apart. */
struct bin_view {
	uint32_t nops, ndeps, sizes;
	bool wide, pos;
	uint64_t bytes;
	const unsigned char *size_rows, *ops, *deps, *positions;
};

/* -ERR_CORRUPT when the section does not lie within RANKS. */
int bin_view_open(const struct bin *b, uint32_t entry, struct bin_view *v);
void bin_view_op(const struct bin_view *v, uint32_t i, struct bin_op32 *out);
uint32_t bin_view_dep(const struct bin_view *v, uint32_t i);
uint32_t bin_view_position(const struct bin_view *v, uint32_t i);

#endif
