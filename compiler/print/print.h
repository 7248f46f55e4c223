/* SPDX-License-Identifier: BSD-3-Clause
 * Output of schedules by goalc. Each print_* except print_stats makes an owned, NUL-terminated text in *out and returns
 * 0 or -ERR_x. */
#ifndef COMPILER_PRINT_PRINT_H
#define COMPILER_PRINT_PRINT_H

#include "compiler/ir/ir.h"

struct ir_stats {
	uint64_t ranks, sends, recvs, calcs, copies, reduces, nops, bytes, edges, depth;
	bool has_depth; /* false if the depth is unknown, because the schedule has wildcards or a cycle */
	/* safe: number of messages that cannot arrive before their recv has started; ready: number that need a ready
	 * signal */
	uint64_t safe, ready;
	bool has_ready; /* false for plain GOAL */
};
int print_stats(const struct ir_graph *g, struct ir_stats *st);
int print_goal(const struct ir_graph *g, char **out);
int print_dot(const struct bin *b, const struct ir_graph *g, char **out);
int print_json(const struct bin *b, const struct ir_graph *g, char **out);
int print_dump(const struct bin *b, const struct ir_graph *g, char **out);

#endif
