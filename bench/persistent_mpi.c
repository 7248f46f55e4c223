/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent collectives of an MPI library beside its blocking ones, in one run: persistent_mpi COLLECTIVE BYTES ITERS. With
 * libgoalmpi loaded (goalmpi-run(1)) the persistent ones are served by schedules; the blocking ones are the library's own.
 *
 * The two sides take turns, iteration by iteration. Before each, all ranks write new data into their buffers and pass a
 * barrier; afterwards the results are compared with what they have to be. The time of an iteration is that of the slowest
 * rank. Prints: init of the request in us (the second one, as a program binds many), the medians of persistent and of
 * blocking in us, the ratio of the medians, and the 10th and 90th percentile of the ratios of neighbouring iterations. */
#include <mpi.h>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, count;
static double *in, *out;

/* ---- the collectives ---- */

#define COMM MPI_COMM_WORLD
#define BLOCKS in, count, MPI_DOUBLE, out, count, MPI_DOUBLE

enum { BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, REDUCE_SCATTER_BLOCK, KINDS };
static const char *const names[KINDS] = { "barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce",
					  "reduce_scatter_block" };

static int bind(int kind, MPI_Request *req)
{
	switch (kind) {
	case BARRIER:
		return MPI_Barrier_init(COMM, MPI_INFO_NULL, req);
	case BCAST:
		return MPI_Bcast_init(in, count, MPI_DOUBLE, 0, COMM, MPI_INFO_NULL, req);
	case GATHER:
		return MPI_Gather_init(BLOCKS, 0, COMM, MPI_INFO_NULL, req);
	case SCATTER:
		return MPI_Scatter_init(BLOCKS, 0, COMM, MPI_INFO_NULL, req);
	case ALLGATHER:
		return MPI_Allgather_init(BLOCKS, COMM, MPI_INFO_NULL, req);
	case ALLTOALL:
		return MPI_Alltoall_init(BLOCKS, COMM, MPI_INFO_NULL, req);
	case REDUCE:
		return MPI_Reduce_init(in, out, count, MPI_DOUBLE, MPI_SUM, 0, COMM, MPI_INFO_NULL, req);
	case ALLREDUCE:
		return MPI_Allreduce_init(in, out, count, MPI_DOUBLE, MPI_SUM, COMM, MPI_INFO_NULL, req);
	default:
		return MPI_Reduce_scatter_block_init(in, out, count, MPI_DOUBLE, MPI_SUM, COMM, MPI_INFO_NULL, req);
	}
}

static int block(int kind)
{
	switch (kind) {
	case BARRIER:
		return MPI_Barrier(COMM);
	case BCAST:
		return MPI_Bcast(in, count, MPI_DOUBLE, 0, COMM);
	case GATHER:
		return MPI_Gather(BLOCKS, 0, COMM);
	case SCATTER:
		return MPI_Scatter(BLOCKS, 0, COMM);
	case ALLGATHER:
		return MPI_Allgather(BLOCKS, COMM);
	case ALLTOALL:
		return MPI_Alltoall(BLOCKS, COMM);
	case REDUCE:
		return MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, COMM);
	case ALLREDUCE:
		return MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, COMM);
	default:
		return MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, COMM);
	}
}

/* ---- data: element i of rank r in iteration k is a small integer, so that sums are exact ---- */

static double value(int r, long i, int k)
{
	return (double)((r * 7 + i * 3 + k * 5) % 97);
}

static long blocks_in(int kind)
{
	return kind == SCATTER || kind == ALLTOALL || kind == REDUCE_SCATTER_BLOCK ? size : 1;
}

static void fill(int kind, int k)
{
	const long n = kind == BARRIER ? 0 : count * blocks_in(kind);

	for (long i = 0; i < n; i++)
		in[i] = kind == BCAST && rank ? -1 : value(rank, i, k);
	for (long i = 0; i < (kind == BARRIER || kind == BCAST ? 0 : (long)count * size); i++)
		out[i] = -1;
}

static double sum(long i, int k)
{
	double s = 0;

	for (int r = 0; r < size; r++)
		s += value(r, i, k);
	return s;
}

/* Elements that are wrong on this rank. */
static long wrong(int kind, int k)
{
	const bool all = kind == ALLGATHER || kind == ALLTOALL || (kind == GATHER && !rank);
	long bad = 0;

	if (kind == BARRIER || (!all && kind == GATHER) || (kind == REDUCE && rank))
		return 0;
	for (long i = 0; i < (all ? (long)count * size : count); i++) {
		const int from = (int)(i / (count ? count : 1));
		const long at = i % (count ? count : 1);

		if (kind == BCAST)
			bad += in[i] != value(0, i, k);
		else if (kind == SCATTER)
			bad += out[i] != value(0, (long)rank * count + i, k);
		else if (kind == ALLTOALL)
			bad += out[i] != value(from, (long)rank * count + at, k);
		else if (all)
			bad += out[i] != value(from, at, k);
		else
			bad += out[i] != sum(kind == REDUCE_SCATTER_BLOCK ? (long)rank * count + i : i, k);
	}
	return bad;
}

/* ---- measuring ---- */

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double one(int kind, int k, MPI_Request *req, long *bad)
{
	double t;

	fill(kind, k);
	MPI_Barrier(COMM);
	t = MPI_Wtime();
	if (req) {
		MPI_Start(req);
		MPI_Wait(req, MPI_STATUS_IGNORE);
	} else {
		block(kind);
	}
	t = MPI_Wtime() - t;
	*bad += wrong(kind, k);
	return t * 1e6;
}

int main(int argc, char **argv)
{
	int kind = 0, iters = argc > 3 ? atoi(argv[3]) : 0;
	double *mine, *most, *ratio, init;
	MPI_Request req[2];
	long bad[2] = { 0 }, all[2];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(COMM, &rank);
	MPI_Comm_size(COMM, &size);
	while (kind < KINDS && argc > 1 && strcmp(argv[1], names[kind]) != 0)
		kind++;
	if (argc != 4 || kind == KINDS || iters < 1) {
		fprintf(stderr, "usage: persistent_mpi COLLECTIVE BYTES ITERS\n");
		MPI_Abort(COMM, 2);
	}
	count = (int)(atol(argv[2]) / (long)sizeof(double));
	in = malloc(((size_t)count * (size_t)size + 1) * sizeof *in);
	out = malloc(((size_t)count * (size_t)size + 1) * sizeof *out);
	mine = malloc(5 * (size_t)iters * sizeof *mine);
	most = mine + 2 * iters;
	ratio = most + 2 * iters;
	for (int i = 0; i < 2; i++) {
		MPI_Barrier(COMM);
		init = MPI_Wtime();
		if (bind(kind, &req[i]))
			MPI_Abort(COMM, 1);
		init = (MPI_Wtime() - init) * 1e6;
	}
	for (int i = 0; i < 2; i++) { /* not counted: the first touch of buffers */
		one(kind, i, &req[0], &bad[0]);
		one(kind, i, NULL, &bad[1]);
	}
	for (int i = 0; i < iters; i++) {
		mine[i] = one(kind, i + 2, &req[0], &bad[0]);
		mine[iters + i] = one(kind, i + 2, NULL, &bad[1]);
	}
	MPI_Reduce(mine, most, 2 * iters, MPI_DOUBLE, MPI_MAX, 0, COMM);
	MPI_Reduce(bad, all, 2, MPI_LONG, MPI_SUM, 0, COMM);
	for (int i = 0; i < iters && !rank; i++)
		ratio[i] = most[i] / most[iters + i];
	if (!rank) {
		qsort(ratio, (size_t)iters, sizeof *ratio, ascending);
		qsort(most, (size_t)iters, sizeof *most, ascending);
		qsort(most + iters, (size_t)iters, sizeof *most, ascending);
		printf("%.1f %.2f %.2f %.2f %.2f %.2f%s\n", init, most[iters / 2], most[iters + iters / 2],
		       most[iters / 2] / most[iters + iters / 2], ratio[iters / 10], ratio[iters * 9 / 10],
		       all[1] ? " blocking-wrong" : all[0] ? " wrong" : "");
	}
	for (int i = 0; i < 2; i++)
		MPI_Request_free(&req[i]);
	free(in);
	free(out);
	free(mine);
	MPI_Finalize();
	return 0;
}
