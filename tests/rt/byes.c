/* SPDX-License-Identifier: BSD-3-Clause
 * byes: of two ranks one always frees its request first, and the other one when it has heard of that, as it waits for another
 * request. Afterwards no queue pairs are left of these requests. Who starts or rebinds such a request once more is told, and the
 * other requests go on. Prints a line. */
#include "tests/rt/count.h"
#include "tests/rt/team.h"

#include <stdio.h>
#include <string.h>

enum { TIMES = 60, LEFT = 4 /* queue pairs, of the last requests */ };

static int once(struct member *m, MPIX_Sched_request req)
{
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	return 0;
}

/* The sends wait for the recvs, so nobody has to say that a buffer is free. */
static const char text[] = "schedule many\nbuffer inout data[101 * count]\n"
			   "rank r of p { if p > 1 {\n"
			   "  for i = 0 to 99 { if r == 1 { recv data[i * count +: count] from 0 tag i } }\n"
			   "  if r == 1 { send data[100 * count +: count] to 0 tag 100 }\n"
			   "  if r == 0 { go: recv data[100 * count +: count] from 1 tag 100\n"
			   "    for i = 0 to 99 { out[i]: send data[i * count +: count] to 1 tag i\n out[i] requires go } }\n"
			   "} }\n";

static bool told(struct member *m, int rc)
{
	char why[300];

	MPIX_Sched_error_detail(m->ctx, why, sizeof why);
	return rc == MPIX_SCHED_ERR_DEAD && strstr(why, "has left: it has freed its request");
}

/* Rank 0 frees a request, then rank 1 rebinds and starts it, or the other way round it starts until it must wait. */
static int go_on_alone(struct member *m, MPIX_Sched s, size_t count, bool rebinds, MPIX_Sched_request late)
{
	static unsigned char memory[2][101 * 200];
	void *buffers[2] = { memory[0], memory[1] };
	const struct MPIX_Sched_bind bind = {
		.struct_size = sizeof bind, .buffers = buffers, .nbuffers = 1, .basic = MPIX_SCHED_BYTE, .count = count
	};
	MPIX_Sched_request req;
	int rc = 0;

	CALL(MPIX_Sched_init(s, m->group, &bind, &req));
	NEED(once(m, req) == 0);
	if (m->rank != rebinds)
		CALL(MPIX_Sched_free(&req));
	for (int k = 0; k < 3; k++)
		NEED(once(m, late) == 0 && team_meet(m) == 0);
	if (m->rank == rebinds) {
		if (rebinds)
			NEED(told(m, MPIX_Sched_rebind(req, &buffers[1], 1)));
		for (int i = 0; i < 20 && !rc; i++) {
			rc = MPIX_Sched_start(req);
			rc = rc ? rc : MPIX_Sched_wait(req);
		}
		NEED(told(m, rc));
		CALL(MPIX_Sched_free(&req));
	}
	for (int k = 0; k < 3; k++)
		NEED(once(m, late) == 0 && team_meet(m) == 0);
	return 0;
}

static int run(struct member *m)
{
	unsigned char data[2] = { 0 };
	void *buffers[2] = { &data[0], &data[1] };
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind, .nbuffers = 1, .basic = MPIX_SCHED_BYTE, .count = 1 };
	MPIX_Sched_request early, late;
	MPIX_Sched s, many;
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
	pairs = count_printed("PATH=$PATH:/sbin:/usr/sbin rdma resource show qp | grep -c 'type RC'");
	NEED(pairs > 0 && pairs <= LEFT);
	NEED(team_meet(m) == 0);
	CALL(MPIX_Sched_load_mem(m->ctx, "many.goal", text, strlen(text), &many));
	NEED(go_on_alone(m, s, 1, false, late) == 0);
	NEED(go_on_alone(m, many, 200, true, late) == 0);
	CALL(MPIX_Sched_free(&late));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&many));
	return 0;
}

int main(void)
{
	if (team_run(2, false, run, NULL))
		return 1;
	printf("ok byes %d requests that a rank freed first\n", TIMES);
	return 0;
}
