/* SPDX-License-Identifier: BSD-3-Clause
 * The binary of LogGOPSim, as its program txt2bin writes it. Numbers are little-endian and not aligned:
 *
 *   u64 magic; u32 ranks; u8 highest cpu; u8 highest nic
 *   for each rank: u64 begin, u64 end of its part, counted from byte 8 of the file
 *   the part of each rank:
 *     u32 ops; u32 roots; u32 root[roots], the ops without dependencies
 *     for each op: u32 dependencies; u8 type (1 send, 2 recv, 3 calc); u32 peer; u64 size; u32 tag; u8 cpu; u8 nic;
 *                  u32 number and u32 position of the ops that require it; the same for those that irequire it
 *     u32 list[]: the ops at these positions
 *
 * The peer and tag of a recv are 2^32 - 1 for any. */
#ifndef COMPILER_IR_LOGGOPSIM_H
#define COMPILER_IR_LOGGOPSIM_H

#include "compiler/ir/ir.h"
#include "util/text.h"

#define LOGGOPSIM_MAGIC 4223u

/* Makes a graph of plain GOAL, which the caller owns, of such a binary. Returns 0, -ERR_NOMEM, or -ERR_CORRUPT, with the reason
 * in *why. */
int loggopsim_read(const void *image, size_t size, struct ir_graph *g, struct text *why);
/* Makes such a binary, which the caller owns, of a graph. As in --emit=goal, what is neither a message nor a calc becomes a calc of
 * 0 ns. Returns 0, -ERR_NOMEM, or -ERR_RANGE, with the reason in *why, if a number does not fit. */
int loggopsim_write(const struct ir_graph *g, void **image, size_t *size, struct text *why);

#endif
