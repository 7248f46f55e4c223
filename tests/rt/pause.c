/* SPDX-License-Identifier: BSD-3-Clause
 * pause processes|threads: communication cores, which the environment asks for, do nothing for a context that is paused,
 * until it is resumed; its own calls do all meanwhile. Prints a line. */
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 3, EPOCHS = 3 };

/* How far ranks have come. */
static struct shared {
	_Atomic int started, looked, done;
} *shared;

static bool until(const _Atomic int *word, int value)
{
	for (int i = 0; i < 30000 && atomic_load(word) < value; i++)
		usleep(1000);
	return atomic_load(word) >= value;
}

/* The middle: nothing goes on before it resumes, and all of it then, though it neither tests nor waits. */
static int middle(struct member *m, MPIX_Sched_request req, int epoch)
{
	CALL(MPIX_Sched_progress_pause(m->ctx));
	if (epoch % 2)
		CALL(MPIX_Sched_progress_pause(m->ctx)); /* one resume ends them all */
	CALL(MPIX_Sched_start(req));
	atomic_store(&shared->started, epoch);
	NEED(until(&shared->looked, epoch));
	CALL(MPIX_Sched_progress_resume(m->ctx));
	NEED(until(&shared->done, epoch));
	CALL(MPIX_Sched_wait(req));
	return 0;
}

static int end(struct member *m, MPIX_Sched_request req, int epoch)
{
	const struct timespec some = { 0, 1000000 };
	int flag;

	CALL(MPIX_Sched_start(req));
	NEED(until(&shared->started, epoch));
	for (int i = 0; i < 30; i++) {
		nanosleep(&some, NULL);
		CALL(MPIX_Sched_test(req, &flag));
		NEED(!flag);
	}
	atomic_store(&shared->looked, epoch);
	CALL(MPIX_Sched_wait(req));
	atomic_store(&shared->done, epoch);
	return 0;
}

/* In memory that no other process reaches. */
static int turns(struct member *m, size_t count, int base)
{
	int64_t *data = calloc(count, sizeof *data);
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					.buffers = (void *[]){ data },
					.nbuffers = 1,
					.count = count,
					.basic = MPIX_SCHED_INT64 };
	MPIX_Sched_request req;
	MPIX_Sched s;

	NEED(data);
	CALL(MPIX_Sched_load_mem(m->ctx, "chain.goal", team_chain, strlen(team_chain), &s));
	CALL(MPIX_Sched_init(s, m->group, &bind, &req));
	for (int epoch = base + 1; epoch <= base + EPOCHS; epoch++) {
		for (size_t i = 0; i < count; i++)
			data[i] = m->rank ? -1 : epoch * 1000 + (int64_t)i;
		if (m->rank == 1 && middle(m, req, epoch))
			return 1;
		if (m->rank == 2 && end(m, req, epoch))
			return 1;
		if (m->rank == 0) {
			NEED(until(&shared->started, epoch)); /* else rank 1's start would do all that it has to */
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
		}
		for (size_t i = 0; i < count; i++)
			NEED(data[i] == epoch * 1000 + (int64_t)i);
	}
	/* Paused while active, and to the end. */
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_progress_pause(m->ctx));
	CALL(MPIX_Sched_wait(req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	free(data);
	return 0;
}

static int run(struct member *m)
{
	NEED(MPIX_Sched_progress_pause(NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_progress_resume(NULL) == MPIX_SCHED_ERR_ARG);
	CALL(MPIX_Sched_progress_resume(m->ctx)); /* nothing is paused */
	if (turns(m, 5, 0)) /* leaves a pause, in which the next is bound */
		return 1;
	if (m->rank != 1)
		CALL(MPIX_Sched_progress_resume(m->ctx));
	return turns(m, 100000, EPOCHS);
}

int main(int argc, char **argv)
{
	bool threads = argc > 1 && !strcmp(argv[1], "threads");
	int wrong;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	wrong = team_run(RANKS, threads, run, NULL);
	printf("%s pause.%s\n", wrong ? "FAIL" : "ok", threads ? "threads" : "processes");
	return wrong != 0;
}
