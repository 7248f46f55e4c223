/* SPDX-License-Identifier: BSD-3-Clause
 * mpi [served|moved] BOARD INDEX: a rank of an MPI program with blocking and with persistent collectives. With libgoalmpi loaded
 * (goalmpi-run(1)) and the argument `served`, the persistent ones are served by schedules, and their buffers are in memory of
 * MPI_Alloc_mem or in ordinary memory; with `moved` and GOAL_MOVE=1 in ordinary memory that is moved to the shared heap. */
#include "bench/bench.h"
#include "bench/collectives/rank.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif
#define BLOCKING(name) MPI_##name

enum { ORDINARY, ALLOC_MEM };

struct bound {
	MPI_Request req[2];
	int counts[RANKS_MAX], displs[RANKS_MAX]; /* of a collective with a count for each rank */
};

/* Carries out the collective by the functions MPI_X or X_init, which `name` makes of X, with further arguments. */
#define CALL(c, name, ...)                                                                                                 \
	do {                                                                                                               \
		const struct bound *b = (c)->state;                                                                        \
		const MPI_Datatype t = MPI_DOUBLE;                                                                         \
		const int n = (int)(c)->count;                                                                             \
		double *in = (c)->in, *out = (c)->out;                                                                     \
                                                                                                                           \
		switch ((c)->what) {                                                                                       \
		case BARRIER:                                                                                              \
			return name(Barrier)(MPI_COMM_WORLD __VA_ARGS__);                                                  \
		case BCAST:                                                                                                \
			return name(Bcast)(in, n, t, ROOT, MPI_COMM_WORLD __VA_ARGS__);                                    \
		case REDUCE:                                                                                               \
			return name(Reduce)(in, out, n, t, MPI_SUM, ROOT, MPI_COMM_WORLD __VA_ARGS__);                     \
		case ALLREDUCE:                                                                                            \
			return name(Allreduce)(in, out, n, t, MPI_SUM, MPI_COMM_WORLD __VA_ARGS__);                        \
		case ALLGATHER:                                                                                            \
			return name(Allgather)(in, n, t, out, n, t, MPI_COMM_WORLD __VA_ARGS__);                           \
		case ALLTOALL:                                                                                             \
			return name(Alltoall)(in, n, t, out, n, t, MPI_COMM_WORLD __VA_ARGS__);                            \
		case GATHER:                                                                                               \
			return name(Gather)(in, n, t, out, n, t, ROOT, MPI_COMM_WORLD __VA_ARGS__);                        \
		case SCATTER:                                                                                              \
			return name(Scatter)(in, n, t, out, n, t, ROOT, MPI_COMM_WORLD __VA_ARGS__);                       \
		case EXSCAN:                                                                                               \
			return name(Exscan)(in, out, n, t, MPI_SUM, MPI_COMM_WORLD __VA_ARGS__);                           \
		case REDUCE_SCATTER_BLOCK:                                                                                 \
			return name(Reduce_scatter_block)(in, out, n, t, MPI_SUM, MPI_COMM_WORLD __VA_ARGS__);             \
		case REDUCE_SCATTER:                                                                                       \
			return name(Reduce_scatter)(in, out, b->counts, t, MPI_SUM, MPI_COMM_WORLD __VA_ARGS__);           \
		case ALLGATHERV:                                                                                           \
			return name(Allgatherv)(in, n, t, out, b->counts, b->displs, t, MPI_COMM_WORLD __VA_ARGS__);       \
		case ALLTOALLV:                                                                                            \
			return name(Alltoallv)(in, b->counts, b->displs, t, out, b->counts, b->displs, t, MPI_COMM_WORLD __VA_ARGS__); \
		case GATHERV:                                                                                              \
			return name(Gatherv)(in, n, t, out, b->counts, b->displs, t, ROOT, MPI_COMM_WORLD __VA_ARGS__);    \
		case SCATTERV:                                                                                             \
			return name(Scatterv)(in, b->counts, b->displs, t, out, n, t, ROOT, MPI_COMM_WORLD __VA_ARGS__);   \
		default:                                                                                                   \
			return name(Scan)(in, out, n, t, MPI_SUM, MPI_COMM_WORLD __VA_ARGS__);                             \
		}                                                                                                          \
	} while (0)
#define AND_REQUEST , MPI_INFO_NULL, req

static int run_blocking(struct cell *c)
{
	CALL(c, BLOCKING, );
}

static int init_request(struct cell *c, MPI_Request *req)
{
	CALL(c, PERSISTENT, AND_REQUEST);
}

static int init(struct rank *r, struct cell *c, int which)
{
	struct bound *b = c->state;

	return init_request(c, &b->req[which]) ? rank_fail(r, "init failed") : 0;
}

static int free_request(struct rank *r, struct cell *c, int which)
{
	struct bound *b = c->state;

	return MPI_Request_free(&b->req[which]) ? rank_fail(r, "MPI_Request_free failed") : 0;
}

static int start(struct cell *c)
{
	struct bound *b = c->state;

	return MPI_Start(&b->req[0]);
}

static int wait_for_it(struct cell *c)
{
	struct bound *b = c->state;

	return MPI_Wait(&b->req[0], MPI_STATUS_IGNORE);
}

/* Allocates a buffer that begins with a page, as large ones do with malloc. */
static int allocate(int kind, size_t bytes, double **p)
{
	return kind == ALLOC_MEM ? MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, p) : posix_memalign((void **)p, 4096, bytes);
}

static int prepare(struct rank *r, struct cell *c, const struct side *s)
{
	struct bound *b = c->state = calloc(1, sizeof *b);

	for (int i = 0; b && i < r->size; i++) {
		b->counts[i] = (int)c->count;
		b->displs[i] = (int)c->count * i;
	}
	if (!b || allocate(s->kind, cell_in_bytes(c), &c->in) || allocate(s->kind, cell_out_bytes(c), &c->out))
		return rank_fail(r, "out of memory");
	return 0;
}

static int release(struct rank *r, struct cell *c, const struct side *s)
{
	(void)r;
	free(c->state);
	if (s->kind == ALLOC_MEM)
		return MPI_Free_mem(c->in) | MPI_Free_mem(c->out);
	free(c->in);
	free(c->out);
	return 0;
}

static void progress(void)
{
	int flag;

	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

#define MEMORY .prepare = prepare, .release = release, .progress = progress
#define REQUESTS .init = init, .free = free_request, .start = start, .wait = wait_for_it

int main(int argc, char **argv)
{
	static const struct side own[] = {
		{ .name = "blocking", .kind = ORDINARY, MEMORY, .run = run_blocking },
		{ .name = "persistent", .kind = ORDINARY, MEMORY, REQUESTS },
	};
	static const struct side served[] = {
		{ .name = "alloc_mem", .kind = ALLOC_MEM, MEMORY, REQUESTS },
		{ .name = "ordinary", .kind = ORDINARY, MEMORY, REQUESTS },
	};
	static const struct side moved[] = { { .name = "moved", .kind = ORDINARY, MEMORY, REQUESTS } };
	const struct side *sides;
	struct rank r = { 0 };
	int rc;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r.size);
	if (rank_attach(&r, argc, argv) || r.size != r.group->size)
		MPI_Abort(MPI_COMM_WORLD, 1);
	bench_pin((unsigned)r.rank);
	sides = !strcmp(argv[1], "served") ? served : !strcmp(argv[1], "moved") ? moved : own;
	rc = rank_main(&r, sides, sides == moved ? 1 : 2);
	MPI_Finalize();
	return rc;
}
