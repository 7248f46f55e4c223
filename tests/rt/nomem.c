/* SPDX-License-Identifier: BSD-3-Clause
 * nomem: one rank runs out of memory at each allocation of a call in turn. All ranks must get the same error,
 * nothing may leak, and the group must go on working. */
#include "tests/alloc/hook.h"
#include "tests/rt/team.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "schedule s\nbuffer inout data[count]\nbuffer scratch part[count]\n"
			   "rank r of p {\n"
			   "  if r > 0 { got: recv part from r - 1\n"
			   "    sum: reduce data with part into data\n sum requires got }\n"
			   "  if r + 1 < p { on: send data to r + 1\n on requires sum }\n}\n";

static _Atomic int results[TEAM_MAX];

/* Makes rank 1's allocations fail, one in each round, until there are no more: call(m, arg) is collective, and
 * undo(m, arg) follows it where it succeeded. */
static int sweep(struct member *m, const char *what, int (*call)(struct member *, void *),
		 int (*undo)(struct member *, void *), void *arg)
{
	char nothing = 0, all[TEAM_MAX];
	int failures = 0;

	for (int n = 1; n < 1000; n++) {
		long left;

		if (m->rank == 1)
			goal_fail_at = n;
		results[m->rank] = call(m, arg);
		left = goal_fail_at;
		goal_fail_at = 0;
		NEED(team_allgather(&nothing, all, 1, m) == 0);
		NEED(results[0] == results[m->rank]);
		NEED(results[0] == 0 || results[0] == MPIX_SCHED_ERR_NOMEM);
		failures += results[0] != 0;
		if (!results[0])
			NEED(undo(m, arg) == 0);
		if (m->rank == 1) /* whether there are no more allocations to fail */
			results[TEAM_MAX - 1] = left > 0;
		NEED(team_allgather(&nothing, all, 1, m) == 0);
		if (results[TEAM_MAX - 1])
			break;
	}
	NEED(failures > 2);
	if (m->rank == 1)
		printf("%s: %d allocations failed, one at a time\n", what, failures);
	return 0;
}

struct binding {
	MPIX_Sched s;
	MPIX_Sched_request req;
	MPIX_Sched_group sub;
	double data[500];
};

static int init(struct member *m, void *arg)
{
	struct binding *b = arg;
	void *buffers[] = { b->data, NULL };
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					.buffers = buffers,
					.nbuffers = 2,
					.count = 500,
					.basic = MPIX_SCHED_DOUBLE,
					.builtin = MPIX_SCHED_SUM };

	return MPIX_Sched_init(b->s, m->group, &bind, &b->req);
}

static int use(struct member *m, void *arg)
{
	struct binding *b = arg;

	CALL(MPIX_Sched_start(b->req));
	CALL(MPIX_Sched_wait(b->req));
	CALL(MPIX_Sched_free(&b->req));
	return 0;
}

static int split(struct member *m, void *arg)
{
	struct binding *b = arg;

	return MPIX_Sched_group_split(m->group, 0, 0, &b->sub);
}

static int leave(struct member *m, void *arg)
{
	struct binding *b = arg;

	CALL(MPIX_Sched_group_free(&b->sub));
	return 0;
}

/* Reading the tables and compiling what they say, which a context does once. */
static int choose(struct member *m)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Bcast" };
	MPIX_Sched sched;
	int failures = 0;

	/* All of the first ones, then a sample: compiling takes many. */
	for (long n = 1, left = 0; m->rank == 1 && !left; n += n < 100 ? 1 : n / 12) {
		int err;

		goal_fail_at = n;
		err = MPIX_Sched_select(m->group, &call, &sched);
		left = goal_fail_at;
		goal_fail_at = 0;
		NEED(err == 0 || err == MPIX_SCHED_ERR_NOMEM);
		failures += err != 0;
		if (!err)
			CALL(MPIX_Sched_unload(&sched));
	}
	NEED(m->rank != 1 || failures > 50);
	if (m->rank == 1)
		printf("select: %d allocations failed, one at a time\n", failures);
	return 0;
}

/* Pending ops cannot be shown, but the call says so and goes on. */
static int dump(struct member *m, struct binding *b)
{
	char nothing = 0, all[TEAM_MAX], got[256] = "";
	int fds[2];

	NEED(init(m, b) == 0 && pipe(fds) == 0);
	if (m->rank == 1) { /* it waits for rank 0 */
		CALL(MPIX_Sched_start(b->req));
		goal_fail_at = 1;
		CALL(MPIX_Sched_dump(m->ctx, fds[1]));
		goal_fail_at = 0;
		NEED(read(fds[0], got, sizeof got - 1) > 0 && strstr(got, "no memory to look at its ops\n"));
	}
	NEED(team_allgather(&nothing, all, 1, m) == 0);
	if (m->rank != 1)
		CALL(MPIX_Sched_start(b->req));
	CALL(MPIX_Sched_wait(b->req));
	CALL(MPIX_Sched_free(&b->req));
	close(fds[0]);
	close(fds[1]);
	return 0;
}

static int run(struct member *m)
{
	struct binding b = { 0 };

	CALL(MPIX_Sched_load_mem(m->ctx, "s", text, strlen(text), &b.s));
	NEED(sweep(m, "bind", init, use, &b) == 0);
	NEED(sweep(m, "split", split, leave, &b) == 0);
	NEED(choose(m) == 0);
	NEED(dump(m, &b) == 0);
	CALL(MPIX_Sched_unload(&b.s));
	return 0;
}

int main(void)
{
	int bad = team_run(3, true, run, NULL);

	printf("%s nomem.bind\n", bad ? "FAIL" : "ok");
	return bad != 0;
}
