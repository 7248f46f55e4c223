/* SPDX-License-Identifier: BSD-3-Clause
 * Executes the entries that ranks post to command queues, with packets in a random order, and compares the bytes with
 * the result of the ops. It shares no code with the lowering or the verifier. It accepts all entries whose ranges lie
 * in their buffers. */
#ifndef TESTS_QUEUES_EXEC_H
#define TESTS_QUEUES_EXEC_H

#include "compiler/analysis/events.h"
#include "compiler/ir/smcq.h"

#define EPOCHS 3u

/* Initial and expected contents of the buffers; the same for a lowered graph and its mutants. */
struct scene;
/* Makes the scene of a graph. waits[a * nranks + b] is true if rank b must not complete before rank a has started. All
 * arguments are borrowed. */
struct scene *scene_new(const struct ir_graph *g, const struct ir_events *ev, const bool *waits);
void scene_free(struct scene *w);

enum outcome { OUT_RIGHT, OUT_HANG, OUT_WRONG, OUT_STRAY, OUT_EARLY, OUTCOMES };
extern const char *const outcome_words[OUTCOMES];

/* The event that happens as late as possible: an arrival of an epoch, or the start or the completion of a rank. */
enum late { LATE_NOTHING, LATE_ARRIVAL, LATE_START, LATE_DONE };
struct order {
	uint64_t seed;
	enum late late;
	uint32_t rank, entry, epoch;
};

/* Executes EPOCHS starts of each rank, one right after the other. */
enum outcome carry_out(const struct scene *w, const struct smcq *s, const struct order *o);

#endif
