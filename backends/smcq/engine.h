/* SPDX-License-Identifier: BSD-3-Clause
 * smcq: the interface to an engine, which carries out the entries that ranks post to command queues. smcq.c has what
 * all engines share: it checks what may be bound, runs the entries that are left to a CPU, and decides when a rank is
 * done. */
#ifndef BACKENDS_SMCQ_ENGINE_H
#define BACKENDS_SMCQ_ENGINE_H

#include "backends/backend.h"

/* Input of an engine for a bound schedule; valid until unmake. The queues and entries have been checked
 * (bin_check_queues). Their offsets and lengths count elements of b->layout->basic bytes; the buffers are contiguous. */
struct smcq_job {
	/* bound schedule of this rank: b->dir_row is the rank's part of the binary, b->buffers are those of bind */
	const struct be_bind *b;
	struct bin_posts posts; /* queues and entries of this rank */
};

/* Numbers of notices that a rank has received since make; the numbers only grow. */
struct smcq_notices {
	uint64_t locals, remotes; /* local and remote notices, as in struct bin_queues */
};

/* An engine's state of a bound schedule. An engine's own struct begins with it. */
struct smcq_part {
	const struct smcq_job *job;
};

struct smcq_engine;

/* First member of the struct that an engine stores in group_state for a context. */
struct smcq_state {
	const struct smcq_engine *engine;
};

/* The functions of an engine. A function with the same name as one of struct be_ops does the same. Errors are reported
 * by group_error. */
struct smcq_engine {
	const char *name;
	/* Makes the engine's state of a bound schedule. Local. Even after an error the caller passes *out to unmake. The
	 * engine uses `off` and `size` of *handle as it likes; peers get them by group_handle. */
	int (*make)(const struct smcq_job *job, struct smcq_part **out, struct be_handle *handle);
	/* Connects this rank to its peers. Collective; returns the same on all ranks. */
	int (*connect)(struct smcq_part *l, int err);
	/* As in struct be_ops. Memory that the engine's library keeps is not counted. */
	void (*memory)(const struct smcq_part *l, struct be_memory *m);
	/* Frees the state that make has made. NULL is allowed. */
	void (*unmake)(struct smcq_part *l);
	/* Posts all entries of all command queues again, except those of posted queues. */
	int (*start)(struct smcq_part *l, uint64_t epoch);
	/* Returns 1 when all entries that start has posted have been issued, so that they may be posted again; 0 if not yet,
	 * or -ERR_x. */
	int (*poll)(struct smcq_part *l, struct smcq_notices *notices);
	/* Posts all entries of a posted queue again. */
	int (*post)(struct smcq_part *l, uint32_t queue);
	/* Returns the credit that packets have brought to a CPU's queue or a posted queue, since make. */
	uint64_t (*credit)(const struct smcq_part *l, uint32_t queue);
	/* Gives `sps` credits to a queue of this rank, after the CPU has run an entry. */
	int (*release)(struct smcq_part *l, uint32_t queue, uint32_t sps);
	int (*rebind)(struct smcq_part *l, const struct be_buffer *buffers);
	/* For diagnosis: returns how many entries of a queue have been issued in this epoch. NULL if the engine cannot
	 * know. */
	uint32_t (*issued)(const struct smcq_part *l, uint32_t queue, uint64_t epoch);
	/* As in struct be_ops, for a rank that has left. NULL if the engine itself reports what can never arrive. */
	bool (*waits_for)(const struct smcq_part *l, uint32_t rank);
	/* As in struct be_ops. NULL if a bell rings for every notice. */
	uint64_t (*alarm)(const struct smcq_part *l);
	/* As in struct be_ops. NULL if the engine stores nothing in group_state. */
	void (*close)(void *state);
};

#endif
