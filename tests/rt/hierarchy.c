/* SPDX-License-Identifier: BSD-3-Clause
 * hierarchy [MPI_Bcast] [MPI_Allreduce], of a job that somebody has launched: starts what is selected STARTS times, looks at
 * every element, and prints for each rank how many messages it has sent over the network for that. "hierarchy turns ..." does so
 * in a group in which two nodes take turns, and "hierarchy apart" prints how a group is refused whose ranks are in no order. */
#include "tests/rt/team.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 3000, STARTS = 5 };

static int collective(struct member *m, const char *name)
{
	static int64_t mine[COUNT], sum[COUNT];
	const bool bcast = !strcmp(name, "MPI_Bcast");
	const struct MPIX_Sched_call call = { .struct_size = sizeof call,
					      .collective = name,
					      .count = COUNT,
					      .basic = MPIX_SCHED_INT64 };
	void *buffers[] = { mine, sum };
	const struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					      .buffers = buffers,
					      .nbuffers = bcast ? 1 : 2,
					      .count = COUNT,
					      .basic = MPIX_SCHED_INT64,
					      .builtin = bcast ? MPIX_SCHED_NO_OP : MPIX_SCHED_SUM };
	struct MPIX_Sched_stats before = { .struct_size = sizeof before }, after = before;
	struct MPIX_Sched_info info = { .struct_size = sizeof info };
	MPIX_Sched_request req;
	MPIX_Sched sched;

	CALL(MPIX_Sched_stats(m->ctx, &before));
	CALL(MPIX_Sched_select(m->group, &call, &sched));
	CALL(MPIX_Sched_get_info(sched, &info));
	NEED(strstr(info.name, "_by_node"));
	CALL(MPIX_Sched_init(sched, m->group, &bind, &req));
	CALL(MPIX_Sched_unload(&sched));
	for (int e = 0; e < STARTS; e++) {
		for (int i = 0; i < COUNT; i++)
			mine[i] = bcast && m->rank ? -1 : m->rank + i * (e + 1);
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < COUNT; i++)
			NEED(bcast ? mine[i] == i * (e + 1) :
				     sum[i] == m->size * (m->size - 1) / 2 + (int64_t)m->size * i * (e + 1));
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_stats(m->ctx, &after));
	printf("%s: rank %d sent %d\n", name, m->rank, (int)(after.sent - before.sent));
	return 0;
}

/* Every second rank comes later: of two nodes with two ranks each they take turns. */
static int take_turns(struct member *m)
{
	MPIX_Sched_group group;

	CALL(MPIX_Sched_group_split(m->group, 0, m->rank % 2 * m->size + m->rank, &group));
	CALL(MPIX_Sched_group_free(&m->group));
	m->group = group;
	CALL(MPIX_Sched_group_rank(m->group, &m->rank, &m->size));
	return 0;
}

/* The second rank is the last one. */
static int apart(struct member *m)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Bcast", .count = 1 };
	MPIX_Sched_group group;
	MPIX_Sched sched;
	char text[512];

	CALL(MPIX_Sched_group_split(m->group, 0, m->rank == 1 ? m->size : m->rank, &group));
	NEED(MPIX_Sched_select(group, &call, &sched) == MPIX_SCHED_ERR_UNSUPPORTED);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	printf("%s\n", text);
	CALL(MPIX_Sched_group_free(&group));
	return 0;
}

int main(int argc, char **argv)
{
	struct member self = { 0 }, *m = &self;

	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_world(m->ctx, &m->group));
	CALL(MPIX_Sched_group_rank(m->group, &m->rank, &m->size));
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "apart")    ? apart(m) :
		    !strcmp(argv[i], "turns")    ? take_turns(m) :
						   collective(m, argv[i]))
			return 1;
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	return 0;
}
