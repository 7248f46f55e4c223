/* SPDX-License-Identifier: BSD-3-Clause
 * The calls of the collectives in diff. The arguments of each are written once, for three functions: the blocking one, the
 * persistent one, and that with large counts. C and D are the fields with counts and displacements. */
#include "diff.h"

#include <stdlib.h>

const char *const coll_name[C_COUNT] = {
#define X(NAME, name) #name,
	COLLECTIVES(X)
#undef X
};

#define A_Barrier(C, D)
#define A_Bcast(C, D) s->buf, s->count, s->type, a->root,
#define SEND s->buf, s->count, s->type
#define RECV r->buf, r->count, r->type
#define SENDS(C, D) s->buf, s->C, s->D, s->type
#define RECVS(C, D) r->buf, r->C, r->D, r->type
#define A_Gather(C, D) SEND, RECV, a->root,
#define A_Gatherv(C, D) SEND, RECVS(C, D), a->root,
#define A_Scatter(C, D) SEND, RECV, a->root,
#define A_Scatterv(C, D) SENDS(C, D), RECV, a->root,
#define A_Allgather(C, D) SEND, RECV,
#define A_Allgatherv(C, D) SEND, RECVS(C, D),
#define A_Alltoall(C, D) SEND, RECV,
#define A_Alltoallv(C, D) SENDS(C, D), RECVS(C, D),
#define A_Alltoallw(C, D) s->buf, s->C, s->D, s->types, r->buf, r->C, r->D, r->types,
#define A_Reduce(C, D) s->buf, r->buf, s->count, s->type, a->op, a->root,
#define A_Allreduce(C, D) s->buf, r->buf, s->count, s->type, a->op,
#define A_Reduce_scatter(C, D) s->buf, r->buf, r->C, s->type, a->op,
#define A_Reduce_scatter_block(C, D) s->buf, r->buf, r->count, s->type, a->op,
#define A_Scan(C, D) A_Allreduce(C, D)
#define A_Exscan(C, D) A_Allreduce(C, D)
#define A_Neighbor_allgather(C, D) SEND, RECV,
#define A_Neighbor_allgatherv(C, D) SEND, RECVS(C, D),
#define A_Neighbor_alltoall(C, D) SEND, RECV,
#define A_Neighbor_alltoallv(C, D) SENDS(C, D), RECVS(C, D),
#define A_Neighbor_alltoallw(C, D) s->buf, s->C, s->adispls, s->types, r->buf, r->C, r->adispls, r->types,

int call_blocking(enum coll c, const struct args *a)
{
	const struct given *s = &a->send, *r = &a->recv;

	switch (c) {
#define X(NAME, name) \
	case C_##NAME: \
		return MPI_##name(A_##name(counts, displs) a->comm);
		COLLECTIVES(X)
#undef X
	default:
		abort();
	}
}

#if MPI_VERSION >= 4
/* There is no MPI_Barrier_init_c: nothing is counted. */
#define MPI_Barrier_init_c MPI_Barrier_init

static int call_large(enum coll c, const struct args *a, MPI_Request *request)
{
	const struct given *s = &a->send, *r = &a->recv;

	switch (c) {
#define X(NAME, name) \
	case C_##NAME: \
		return MPI_##name##_init_c(A_##name(lcounts, adispls) a->comm, a->info, request);
		COLLECTIVES(X)
#undef X
	default:
		abort();
	}
}
#endif

int call_init(enum coll c, const struct args *a, bool large, MPI_Request *request)
{
	const struct given *s = &a->send, *r = &a->recv;

#if MPI_VERSION >= 4
	if (large)
		return call_large(c, a, request);
#endif
	(void)large;
	switch (c) {
#define X(NAME, name) \
	case C_##NAME: \
		return MPI_##name##_init(A_##name(counts, displs) a->comm, a->info, request);
		COLLECTIVES(X)
#undef X
	default:
		abort();
	}
}
