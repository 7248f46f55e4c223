/* SPDX-License-Identifier: BSD-3-Clause
 * An MPI program that sums vectors over all ranks by a persistent schedule. In each round it compares the sums with those of
 * MPI_Allreduce, and it prints the least time of each. Run it with
 *
 *     mpirun -n 4 ./mpi_allreduce [SCHEDULE]
 *
 * Without an argument the schedule is the one that the selection table has for this number of ranks and bytes. */
#include <mpix_sched_mpi.h>

#include <stdio.h>
#include <stdlib.h>

#define COUNT 100000 /* doubles in a vector */
#define ROUNDS 20

static MPIX_Sched_ctx ctx;

/* Ends the MPI program if a call failed. */
static void must(const char *call, int rc)
{
	char text[1024];

	if (rc == MPIX_SCHED_SUCCESS)
		return;
	MPIX_Sched_error_detail(ctx, text, sizeof text);
	fprintf(stderr, "%s: %s: %s\n", call, MPIX_Sched_error_string(rc), text);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Loads the schedule in a file, or else selects one for the call. */
static MPIX_Sched get_schedule(MPIX_Sched_group group, const char *file)
{
	const struct MPIX_Sched_call call = {
		.struct_size = sizeof call,
		.collective = "MPI_Allreduce",
		.count = COUNT,
		.basic = MPIX_SCHED_DOUBLE,
	};
	MPIX_Sched sched;

	if (file)
		must("load", MPIX_Sched_load(ctx, file, &sched));
	else
		must("select", MPIX_Sched_select(group, &call, &sched));
	return sched;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

int main(int argc, char **argv)
{
	MPIX_Sched_group group;
	MPIX_Sched sched;
	MPIX_Sched_request req;
	double *mine, *sum, *expected, ours = 1e9, theirs = 1e9;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);

	must("ctx_create", MPIX_Sched_ctx_create(&ctx));
	must("group_from_comm", MPIX_Sched_group_from_comm(ctx, MPI_COMM_WORLD, &group));
	sched = get_schedule(group, argv[1]);
	/* Any memory can be bound; other ranks can read this memory directly, which is faster. */
	must("alloc", MPIX_Sched_alloc(ctx, COUNT * sizeof *mine, (void **)&mine));
	must("alloc", MPIX_Sched_alloc(ctx, COUNT * sizeof *sum, (void **)&sum));
	must("alloc", MPIX_Sched_alloc(ctx, COUNT * sizeof *expected, (void **)&expected));

	/* What MPI_Allreduce_init does. Buffers behind the first two are scratch, which the library allocates. */
	void *buffers[] = { mine, sum };
	const struct MPIX_Sched_bind bind = {
		.struct_size = sizeof bind,
		.buffers = buffers,
		.nbuffers = 2,
		.count = COUNT,
		.basic = MPIX_SCHED_DOUBLE,
		.builtin = MPIX_SCHED_SUM,
	};
	must("init", MPIX_Sched_init(sched, group, &bind, &req));

	for (int round = 0; round < ROUNDS; round++) {
		double began;

		for (int i = 0; i < COUNT; i++)
			mine[i] = i + rank * round; /* whole numbers, so that every order of the sum gives the same */

		MPI_Barrier(MPI_COMM_WORLD);
		began = MPI_Wtime();
		must("start", MPIX_Sched_start(req)); /* never waits: the program may compute from here to the wait */
		must("wait", MPIX_Sched_wait(req));
		ours = least(ours, MPI_Wtime() - began);

		MPI_Barrier(MPI_COMM_WORLD);
		began = MPI_Wtime();
		MPI_Allreduce(mine, expected, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		theirs = least(theirs, MPI_Wtime() - began);

		for (int i = 0; i < COUNT; i++)
			if (sum[i] != expected[i]) {
				fprintf(stderr, "rank %d, round %d: element %d is wrong\n", rank, round, i);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
	}
	if (rank == 0) {
		printf("%d sums of %d doubles on %d ranks, each as MPI_Allreduce has it\n", ROUNDS, COUNT, size);
		printf("least time on rank 0: %.1f us, MPI_Allreduce %.1f us\n", ours * 1e6, theirs * 1e6);
	}

	must("free", MPIX_Sched_free(&req));
	must("dealloc", MPIX_Sched_dealloc(ctx, mine));
	must("dealloc", MPIX_Sched_dealloc(ctx, sum));
	must("dealloc", MPIX_Sched_dealloc(ctx, expected));
	must("unload", MPIX_Sched_unload(&sched));
	must("group_free", MPIX_Sched_group_free(&group));
	must("ctx_free", MPIX_Sched_ctx_free(&ctx));
	MPI_Finalize();
	return 0;
}
