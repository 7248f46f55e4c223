/* SPDX-License-Identifier: BSD-3-Clause
 * firsts BINARY BYTES TIMES: two threads of each rank bind at the same time, in two groups of a context, which has bound nothing
 * before. Its data arrive, and nothing of it is left. Run by goalrun, with a binary of one buffer whose root is rank 0. */
#include "mpix_sched.h"
#include "tests/rt/count.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPIX_Sched_ctx ctx;
static MPIX_Sched_group groups[2];
static MPIX_Sched sched;
static pthread_barrier_t both;
static int rank, size;
static size_t bytes;

static void fail(const char *what)
{
	char detail[300] = "";

	MPIX_Sched_error_detail(ctx, detail, sizeof detail);
	fprintf(stderr, "rank %d: %s: %s\n", rank, what, detail);
	exit(1);
}

#define CALL(x) ((x) ? fail(#x) : (void)0)

static void *bind_one(void *group)
{
	char *data = malloc(bytes);
	void *buffers[1] = { data };
	const struct MPIX_Sched_bind bind = {
		.struct_size = sizeof bind, .buffers = buffers, .nbuffers = 1, .count = bytes, .basic = MPIX_SCHED_BYTE
	};
	MPIX_Sched_request req;

	if (!data)
		fail("malloc");
	memset(data, rank ? 0 : 7, bytes);
	pthread_barrier_wait(&both);
	CALL(MPIX_Sched_init(sched, *(MPIX_Sched_group *)group, &bind, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	if (data[0] != 7 || data[bytes - 1] != 7)
		fail("wrong data");
	CALL(MPIX_Sched_free(&req));
	free(data);
	return NULL;
}

int main(int argc, char **argv)
{
	int files = 0;

	if (argc != 4)
		return 2;
	bytes = strtoul(argv[2], NULL, 10);
	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < atoi(argv[3]); i++) {
		pthread_t other;

		CALL(MPIX_Sched_ctx_create(&ctx));
		CALL(MPIX_Sched_group_world(ctx, &groups[0]));
		CALL(MPIX_Sched_group_rank(groups[0], &rank, &size));
		CALL(MPIX_Sched_group_split(groups[0], 0, 0, &groups[1]));
		CALL(MPIX_Sched_load(ctx, argv[1], &sched));
		CALL(pthread_create(&other, NULL, bind_one, &groups[1]));
		bind_one(&groups[0]);
		pthread_join(other, NULL);
		MPIX_Sched_unload(&sched);
		MPIX_Sched_group_free(&groups[1]);
		MPIX_Sched_group_free(&groups[0]);
		MPIX_Sched_ctx_free(&ctx);
		files = i ? files : count_entries("/proc/self/fd");
		if (count_entries("/proc/self/fd") != files)
			fail("file descriptors are left");
	}
	return 0;
}
