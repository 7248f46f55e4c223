/* SPDX-License-Identifier: BSD-3-Clause
 * world SCHEDULE [die]: what a user's program does under goalrun; prints a line per rank. With "die" rank 1
 * ends in the middle. */
#include <mpix_sched.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPIX_Sched_ctx ctx;

static void must(int rc, const char *what)
{
	char text[256];

	if (!rc)
		return;
	MPIX_Sched_error_detail(ctx, text, sizeof text);
	fprintf(stderr, "%s: %s\n", what, text);
	exit(3);
}

int main(int argc, char **argv)
{
	MPIX_Sched s = NULL;
	MPIX_Sched_group world, again;
	MPIX_Sched_request req;
	int rank, size;
	void *data;

	must(MPIX_Sched_ctx_create(&ctx), "ctx");
	must(MPIX_Sched_group_world(ctx, &world), "world");
	must(MPIX_Sched_group_world(ctx, &again), "world again");
	must(MPIX_Sched_group_free(&again), "free");
	must(MPIX_Sched_group_rank(world, &rank, &size), "rank");
	must(argc > 1 ? MPIX_Sched_load(ctx, argv[1], &s) : 1, "load");
	must(MPIX_Sched_alloc(ctx, 400, &data), "alloc");
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = &data,
				     .nbuffers = 1,
				     .count = 100,
				     .basic = MPIX_SCHED_INT32 };
	must(MPIX_Sched_init(s, world, &b, &req), "init");
	for (int e = 0; e < 100; e++) {
		int *v = data;

		for (int i = 0; i < 100; i++)
			v[i] = rank ? 0 : e + i;
		if (argc > 2 && rank == 1 && e == 50)
			abort();
		must(MPIX_Sched_start(req), "start");
		must(MPIX_Sched_wait(req), "wait");
		for (int i = 0; i < 100; i++)
			if (v[i] != e + i)
				return 4;
	}
	printf("rank %d of %d\n", rank, size);
	must(MPIX_Sched_free(&req), "free");
	must(MPIX_Sched_dealloc(ctx, data), "dealloc");
	must(MPIX_Sched_unload(&s), "unload");
	must(MPIX_Sched_group_free(&world), "group");
	must(MPIX_Sched_ctx_free(&ctx), "ctx");
	return 0;
}
