/* SPDX-License-Identifier: BSD-3-Clause
 * Overlaps a persistent broadcast with work. It binds once. In each round it starts the broadcast, computes
 * and tests in turn, and waits until the broadcast is complete. Run it with
 *
 *     goalrun -n 4 -- ./overlap_bcast bcast_binomial.goal */
#include <mpix_sched.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNT 100000 /* doubles in a broadcast */
#define ROUNDS 20
#define PIECES 50 /* pieces of work in a round; a test follows each */
#define STEPS 2000 /* steps of a piece */

static MPIX_Sched_ctx ctx;

/* Ends this rank if a call failed. goalrun then ends the other ranks, and its exit status is 1. */
static void must(const char *call, int rc)
{
	char text[1024];

	if (rc == MPIX_SCHED_SUCCESS)
		return;
	MPIX_Sched_error_detail(ctx, text, sizeof text);
	fprintf(stderr, "%s: %s: %s\n", call, MPIX_Sched_error_string(rc), text);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	timespec_get(&t, TIME_UTC);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Does a piece of work that is independent of the broadcast: a part of the integral of 4 / (1 + x * x) from 0 to 1. */
static double work(int piece)
{
	const double h = 1.0 / (PIECES * STEPS);
	double sum = 0;

	for (int i = piece * STEPS; i < (piece + 1) * STEPS; i++) {
		double x = (i + 0.5) * h;

		sum += 4 / (1 + x * x) * h;
	}
	return sum;
}

int main(int argc, char **argv)
{
	MPIX_Sched_group group;
	MPIX_Sched sched;
	MPIX_Sched_request req;
	int rank, size, early = 0;
	double *data, working = 0, waiting = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: overlap_bcast SCHEDULE\n");
		return 2;
	}
	must("ctx_create", MPIX_Sched_ctx_create(&ctx));
	must("group_world", MPIX_Sched_group_world(ctx, &group));
	must("group_rank", MPIX_Sched_group_rank(group, &rank, &size));
	must("load", MPIX_Sched_load(ctx, argv[1], &sched));
	/* Any memory can be bound; other ranks can read this memory directly, which is faster. */
	must("alloc", MPIX_Sched_alloc(ctx, COUNT * sizeof *data, (void **)&data));

	/* The schedule has one buffer, and a parameter "root", which keeps its default, rank 0. */
	void *buffers[] = { data };
	const struct MPIX_Sched_bind bind = {
		.struct_size = sizeof bind,
		.buffers = buffers,
		.nbuffers = 1,
		.count = COUNT,
		.basic = MPIX_SCHED_DOUBLE,
	};
	must("init", MPIX_Sched_init(sched, group, &bind, &req));

	for (int round = 0; round < ROUNDS; round++) {
		double began, worked, pi = 0;
		int complete = 0;

		if (rank == 0) /* new data: between two rounds the program may write to the buffer */
			for (int i = 0; i < COUNT; i++)
				data[i] = round + i;
		must("start", MPIX_Sched_start(req));

		/* Until it is complete the buffer belongs to the library. Without tests in between, this rank makes no
		 * progress while it computes, and the ranks below it in the tree wait for it. */
		began = now_ms();
		for (int piece = 0; piece < PIECES; piece++) {
			pi += work(piece);
			if (!complete)
				must("test", MPIX_Sched_test(req, &complete));
		}
		worked = now_ms();
		must("wait", MPIX_Sched_wait(req)); /* returns at once if the request is complete */
		working += worked - began;
		waiting += now_ms() - worked;
		early += complete;

		for (int i = 0; i < COUNT; i++)
			if (data[i] != round + i) {
				fprintf(stderr, "rank %d, round %d: element %d is wrong\n", rank, round, i);
				return 1;
			}
		if (pi < 3.14159265 || pi > 3.14159266) {
			fprintf(stderr, "rank %d, round %d: the work went wrong\n", rank, round);
			return 1;
		}
	}
	if (rank == 0) {
		printf("%d broadcasts of %d doubles to %d ranks, every element right\n", ROUNDS, COUNT, size);
		printf("rank 0 worked for %.3f ms and waited for %.3f ms; complete before the wait: %.1f %%\n", working,
		       waiting, 100.0 * early / ROUNDS);
	}

	must("free", MPIX_Sched_free(&req));
	must("dealloc", MPIX_Sched_dealloc(ctx, data));
	must("unload", MPIX_Sched_unload(&sched));
	must("group_free", MPIX_Sched_group_free(&group));
	must("ctx_free", MPIX_Sched_ctx_free(&ctx));
	return 0;
}
