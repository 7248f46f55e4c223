/* SPDX-License-Identifier: BSD-3-Clause
 * many processes|threads [SEED]: 200 requests that are active at once. Each rank starts them in an order of its own, and
 * waits for some together, for the others one by one as they come, while it pauses and resumes those that communicate
 * for it. Prints a line. */
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 5, MANY = 200, EPOCHS = 8 };

static unsigned seed = 1;

struct rank {
	struct member *m;
	unsigned random;
	MPIX_Sched_request reqs[MANY];
	int64_t *data[MANY];
};

/* Short messages, and some that take another way. */
static size_t count_of(int k)
{
	return k % 20 ? 1 + (size_t)k % 7 : 3000;
}

static int bind_all(struct rank *r)
{
	struct member *m = r->m;
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind, .nbuffers = 1, .basic = MPIX_SCHED_INT64 };
	MPIX_Sched s;

	CALL(MPIX_Sched_load_mem(m->ctx, "chain.goal", team_chain, strlen(team_chain), &s));
	for (int k = 0; k < MANY; k++) {
		bind.count = count_of(k);
		bind.buffers = (void *const *)&r->data[k];
		if (k % 3)
			CALL(MPIX_Sched_alloc(m->ctx, bind.count * sizeof *r->data[k], (void **)&r->data[k]));
		else
			r->data[k] = calloc(bind.count, sizeof *r->data[k]);
		NEED(r->data[k]);
		CALL(MPIX_Sched_init(s, m->group, &bind, &r->reqs[k]));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int free_all(struct rank *r)
{
	struct member *m = r->m;

	for (int k = 0; k < MANY; k++) {
		CALL(MPIX_Sched_free(&r->reqs[k]));
		if (k % 3)
			CALL(MPIX_Sched_dealloc(m->ctx, r->data[k]));
		else
			free(r->data[k]);
	}
	return 0;
}

static int start_all(struct rank *r, int epoch)
{
	struct member *m = r->m;
	int order[MANY] = { 0 };

	for (int k = 0; k < MANY; k++) {
		const int at = rand_r(&r->random) % (k + 1);

		order[k] = order[at];
		order[at] = k;
	}
	for (int k = 0; k < MANY; k++) {
		const int i = order[k];

		for (size_t e = 0; e < count_of(i); e++)
			r->data[i][e] = m->rank ? -1 : epoch * 1000000 + i * 1000 + (int64_t)e;
		if (rand_r(&r->random) % 50 == 0)
			CALL(MPIX_Sched_progress_pause(m->ctx));
		if (rand_r(&r->random) % 20 == 0)
			CALL(MPIX_Sched_progress_resume(m->ctx));
		CALL(MPIX_Sched_start(r->reqs[i]));
	}
	return 0;
}

static int wait_all(struct rank *r)
{
	struct member *m = r->m;
	const int together = rand_r(&r->random) % MANY;
	int done[MANY], n, left = MANY - together;

	CALL(MPIX_Sched_waitall((size_t)together, r->reqs));
	while (left > 0) {
		CALL(MPIX_Sched_waitsome((size_t)(MANY - together), r->reqs + together, &n, done, NULL));
		NEED(n > 0 && n <= left);
		left -= n;
	}
	return 0;
}

static int run(struct member *m)
{
	struct rank r = { .m = m, .random = seed + (unsigned)m->rank };

	if (bind_all(&r))
		return 1;
	for (int epoch = 1; epoch <= EPOCHS; epoch++) {
		if (start_all(&r, epoch) || wait_all(&r))
			return 1;
		for (int k = 0; k < MANY; k++)
			for (size_t e = 0; e < count_of(k); e++)
				NEED(r.data[k][e] == epoch * 1000000 + k * 1000 + (int64_t)e);
	}
	return free_all(&r);
}

int main(int argc, char **argv)
{
	bool threads = argc > 1 && !strcmp(argv[1], "threads");
	int wrong;

	seed = argc > 2 ? (unsigned)atoi(argv[2]) : seed;
	wrong = team_run(RANKS, threads, run, NULL);
	printf("%s many.%s %d requests at once\n", wrong ? "FAIL" : "ok", threads ? "threads" : "processes", MANY);
	return wrong != 0;
}
