/* SPDX-License-Identifier: BSD-3-Clause
 * byes: of two ranks one always frees its request first, and the other one when it has heard of that, as it waits for another
 * request. Afterwards no queue pairs are left of these requests. Prints a line. */
#include "tests/rt/team.h"

#include <stdio.h>
#include <string.h>

enum { TIMES = 60, LEFT = 4 /* queue pairs, of the last requests */ };

static int count_pairs(void)
{
	FILE *f = popen("PATH=$PATH:/sbin:/usr/sbin rdma resource show qp | grep -c 'type RC'", "r");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static int once(struct member *m, MPIX_Sched_request req)
{
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	return 0;
}

static int run(struct member *m)
{
	unsigned char data[2] = { 0 };
	void *buffers[2] = { &data[0], &data[1] };
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind, .nbuffers = 1, .basic = MPIX_SCHED_BYTE, .count = 1 };
	MPIX_Sched_request early, late;
	MPIX_Sched s;
	int pairs;

	CALL(MPIX_Sched_load_mem(m->ctx, "chain.goal", team_chain, strlen(team_chain), &s));
	bind.buffers = &buffers[1];
	CALL(MPIX_Sched_init(s, m->group, &bind, &late));
	bind.buffers = &buffers[0];
	for (int i = 0; i < TIMES; i++) {
		CALL(MPIX_Sched_init(s, m->group, &bind, &early));
		NEED(once(m, early) == 0);
		if (m->rank == 0)
			CALL(MPIX_Sched_free(&early));
		for (int k = 0; k < 3; k++)
			NEED(once(m, late) == 0 && team_meet(m) == 0);
		CALL(MPIX_Sched_free(&early));
	}
	NEED(team_meet(m) == 0);
	NEED(once(m, late) == 0);
	NEED(team_meet(m) == 0);
	pairs = count_pairs();
	NEED(pairs > 0 && pairs <= LEFT);
	NEED(team_meet(m) == 0);
	CALL(MPIX_Sched_free(&late));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

int main(void)
{
	if (team_run(2, false, run, NULL))
		return 1;
	printf("%d requests that a rank freed first have left no queue pairs\n", TIMES);
	return 0;
}
