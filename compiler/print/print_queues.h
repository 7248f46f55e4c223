/* SPDX-License-Identifier: BSD-3-Clause
 * Output of lowered schedules by goalc. */
#ifndef COMPILER_PRINT_PRINT_QUEUES_H
#define COMPILER_PRINT_PRINT_QUEUES_H

#include "compiler/ir/ir.h"
#include "util/text.h"

#include <json-c/json.h>

/* Prints the entries that one rank posts, a line for each entry. */
void print_rank_queues(struct text *t, const struct bin *b, const struct ir_graph *g, uint32_t rank);
/* Returns the queues that the ranks post: for each rank an array of queues. */
json_object *print_json_queues(const struct bin *b, const struct ir_graph *g);
/* Prints the numbers of queues and entries that each rank needs, and of ops left to its CPU. */
void print_queue_needs(struct text *t, const struct ir_graph *g);
json_object *print_json_queue_needs(const struct ir_graph *g);

#endif
