/* SPDX-License-Identifier: BSD-3-Clause
 * smcq: what carries out the entries that ranks post to command queues. Everything that engines share is in smcq.c: what
 * may be bound, the entries that are left to a CPU, and when a rank is done. */
#ifndef BACKENDS_SMCQ_ENGINE_H
#define BACKENDS_SMCQ_ENGINE_H

#include "backends/backend.h"

/* What an engine is given, as long as its link lives. The queues and entries have been checked (bin_check_queues);
 * offsets and lengths are elements of b->layout->basic bytes, the buffers are contiguous. */
struct smcq_job {
	const struct be_bind *b; /* buffers: at bind; b->entry: of this rank */
	struct bin_posts posts; /* of this rank */
};

/* What a rank has been told, since its link was made: these only grow. */
struct smcq_told {
	uint64_t locals, remotes; /* as in struct bin_queues */
};

/* An engine's part of a bound schedule; its own structure begins with this. */
struct smcq_link {
	const struct smcq_job *job;
};

struct smcq_engine;

/* What an engine keeps for a context by host_state begins with this. */
struct smcq_state {
	const struct smcq_engine *engine;
};

/* As in struct be_ops, where a call has the same name there. Errors are told by host_error. */
struct smcq_engine {
	const char *name;
	/* Local. *out is for unmake then, even after an error. place: off and size, for host_place on the peers. */
	int (*make)(const struct smcq_job *job, struct smcq_link **out, struct be_place *place);
	/* Collective: the same on all ranks. */
	int (*connect)(struct smcq_link *l, int err);
	/* NULL is harmless. */
	void (*unmake)(struct smcq_link *l);
	/* Posts all entries of all command queues once more, but for posted ones. */
	int (*start)(struct smcq_link *l, uint64_t epoch);
	/* 1 when all that was posted at start has been issued, so that it may be posted again; 0 if not yet, or -ERR_x. */
	int (*poll)(struct smcq_link *l, struct smcq_told *told);
	/* Posts all entries of a posted queue once more. */
	int (*post)(struct smcq_link *l, uint32_t queue);
	/* The credit that packets have brought to a CPU's queue, or to a posted one, ever. */
	uint64_t (*credit)(const struct smcq_link *l, uint32_t queue);
	/* Credit for a queue of this rank, whose CPU has done an entry. */
	int (*release)(struct smcq_link *l, uint32_t queue, uint32_t sps);
	int (*rebind)(struct smcq_link *l, const struct be_buffer *buffers);
	/* For diagnosis: how many entries of a queue have been issued in this epoch. NULL: that cannot be seen. */
	uint32_t (*issued)(const struct smcq_link *l, uint32_t queue, uint64_t epoch);
	/* As in struct be_ops; NULL: who is told of something is rung for. */
	uint64_t (*alarm)(const struct smcq_link *l);
	/* As in struct be_ops; NULL: it keeps nothing. */
	void (*close)(void *state);
};

#endif
