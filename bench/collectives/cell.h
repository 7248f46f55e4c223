/* SPDX-License-Identifier: BSD-3-Clause
 * What is measured: a collective, and the bytes of a block. Here are the data of its ranks. */
#ifndef BENCH_COLLECTIVES_CELL_H
#define BENCH_COLLECTIVES_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANKS_MAX 16
#define ROOT 0

/* Those from EXSCAN on are not written by hand, and those from REDUCE_SCATTER on have a count for each rank, all the same here. */
enum what {
	BARRIER,
	BCAST,
	REDUCE,
	ALLREDUCE,
	ALLGATHER,
	ALLTOALL,
	GATHER,
	SCATTER,
	SCAN,
	EXSCAN,
	REDUCE_SCATTER_BLOCK,
	REDUCE_SCATTER,
	ALLGATHERV,
	ALLTOALLV,
	GATHERV,
	SCATTERV,
	COLLECTIVES
};
extern const char *const what_names[COLLECTIVES];
/* Returns the collective of that name, or COLLECTIVES if there is none. */
enum what what_named(const char *name);

/* One rank's part of a measured collective: blocks of doubles, which are added up if the collective reduces. */
struct cell {
	_Alignas(64) enum what what; /* in one line, which is read before a start is measured */
	size_t count; /* doubles of a block */
	int rank, size;
	/* What the rank sends, and what it receives. They are one buffer in a broadcast. */
	double *in, *out;
	void *state; /* of the side that carries the collective out; begins with what its start takes, such as a handle */
};

/* Bytes that the buffers of a rank need; a broadcast needs `in` only. At least 8. */
size_t cell_in_bytes(const struct cell *c);
size_t cell_out_bytes(const struct cell *c);
/* Doubles that this rank sends, and doubles that it receives. 0 if it does not. */
size_t cell_sent(const struct cell *c);
size_t cell_received(const struct cell *c);

/* Writes the data of iteration k into the send buffer. They differ from one iteration to the next, and are small integers,
 * which add up exactly in any order. */
void cell_fill(const struct cell *c, uint64_t k);
/* Loads each word that this rank has received, and returns their sum. */
uint64_t cell_read(const struct cell *c);
/* Returns true if this rank has received what it has to in iteration k. */
bool cell_right(const struct cell *c, uint64_t k);

#endif
