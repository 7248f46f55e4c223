/* SPDX-License-Identifier: BSD-3-Clause
 * nomem: one rank runs out of memory at each allocation of a bind in turn. All ranks must get the same error,
 * nothing may leak, and the group must go on working. */
#include "tests/alloc/hook.h"
#include "tests/rt/team.h"

#include <stdio.h>
#include <string.h>

static const char text[] = "schedule s\nbuffer inout data[count]\nbuffer scratch part[count]\n"
			   "rank r of p {\n"
			   "  if r > 0 { got: recv part from r - 1\n"
			   "    sum: reduce data with part into data\n sum requires got }\n"
			   "  if r + 1 < p { on: send data to r + 1\n on requires sum }\n}\n";

static _Atomic int results[TEAM_MAX];

static int run(struct member *m)
{
	MPIX_Sched s;
	double data[500] = { 0 };
	void *buffers[] = { data, NULL };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = buffers,
				     .nbuffers = 2,
				     .count = 500,
				     .basic = MPIX_SCHED_DOUBLE,
				     .builtin = MPIX_SCHED_SUM };
	char nothing = 0, all[TEAM_MAX];
	int failures = 0;

	CALL(MPIX_Sched_load_mem(m->ctx, "s", text, strlen(text), &s));
	for (int n = 1; n < 1000; n++) {
		MPIX_Sched_request req = NULL;
		long left;

		if (m->rank == 1)
			goal_fail_at = n;
		results[m->rank] = MPIX_Sched_init(s, m->group, &b, &req);
		left = goal_fail_at;
		goal_fail_at = 0;
		NEED(team_allgather(&nothing, all, 1, m) == 0);
		NEED(results[0] == results[m->rank]);
		NEED(results[0] == 0 || results[0] == MPIX_SCHED_ERR_NOMEM);
		failures += results[0] != 0;
		if (!results[0]) {
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			CALL(MPIX_Sched_free(&req));
		}
		if (m->rank == 1 && left > 0) /* there are no more allocations to fail */
			results[TEAM_MAX - 1] = 1;
		NEED(team_allgather(&nothing, all, 1, m) == 0);
		if (results[TEAM_MAX - 1])
			break;
	}
	NEED(failures > 10);
	if (m->rank == 1)
		printf("%d allocations failed, one at a time\n", failures);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

int main(void)
{
	int bad = team_run(3, true, run, NULL);

	printf("%s nomem.bind\n", bad ? "FAIL" : "ok");
	return bad != 0;
}
