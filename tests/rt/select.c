/* SPDX-License-Identifier: BSD-3-Clause
 * MPIX_Sched_select as an MPI library would use it: what is selected fits the call and works, on the first time and
 * from the context's memory. "select refused" instead expects that a bcast is refused when it is selected or bound, and prints
 * how; "select apart" selects on several nodes, "select reproducible" with GOAL_REPRODUCIBLE=1; "select on SCHEDULE
 * [COLLECTIVE]" expects that one on two ranks, for a bcast if no other collective is given. The table is that of GOAL_SELECT, if it is set, and the installed one. */
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 1000

static void keep_left(const void *in, void *inout, size_t n, void *arg)
{
	(void)arg;
	memcpy(inout, in, n * sizeof(int32_t));
}

static int names(struct member *m, const struct MPIX_Sched_call *call, const char *want)
{
	struct MPIX_Sched_info info = { .struct_size = sizeof info };
	MPIX_Sched sched;

	for (int times = 0; times < 2; times++) {
		CALL(MPIX_Sched_select(m->group, call, &sched));
		CALL(MPIX_Sched_get_info(sched, &info));
		NEED(!strcmp(info.name, want));
		NEED(!strcmp(info.implements, call->collective));
		CALL(MPIX_Sched_unload(&sched));
	}
	return 0;
}

static int allreduce(struct member *m, size_t count)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call,
					      .collective = "MPI_Allreduce",
					      .count = count,
					      .basic = MPIX_SCHED_INT32 };
	int32_t *mine = malloc(count * sizeof *mine), *sum = malloc(count * sizeof *sum);
	void *buffers[8] = { mine, sum };
	struct MPIX_Sched_info info = { .struct_size = sizeof info };
	struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					.buffers = buffers,
					.count = count,
					.basic = MPIX_SCHED_INT32,
					.builtin = MPIX_SCHED_SUM };
	MPIX_Sched_request req;
	MPIX_Sched sched;

	CALL(MPIX_Sched_select(m->group, &call, &sched));
	CALL(MPIX_Sched_get_info(sched, &info));
	bind.nbuffers = info.nbuffers;
	CALL(MPIX_Sched_init(sched, m->group, &bind, &req));
	CALL(MPIX_Sched_unload(&sched));
	for (int epoch = 0; epoch < 3; epoch++) {
		for (size_t i = 0; i < count; i++)
			mine[i] = m->rank + (int32_t)i + epoch;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (size_t i = 0; i < count; i++)
			NEED(sum[i] == m->size * (m->size - 1) / 2 + m->size * ((int32_t)i + epoch));
	}
	CALL(MPIX_Sched_free(&req));
	free(mine);
	free(sum);
	return 0;
}

/* The rows of the table that tests/compiler/select.sh makes. */
static int all(struct member *m)
{
	struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Bcast", .count = 100 };
	int64_t offset = 0;
	size_t length = 10;
	MPIX_Sched sched = NULL;

	NEED(!names(m, &call, "bcast_linear"));
	call.basic = MPIX_SCHED_DOUBLE; /* 800 bytes */
	NEED(!names(m, &call, "bcast_binomial"));
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_BYTE, 1, &offset, &length, 16, &call.type));
	NEED(!names(m, &call, "bcast_binomial")); /* 1000 bytes */
	call.count = 50;
	NEED(!names(m, &call, "bcast_linear"));
	CALL(MPIX_Sched_type_free(&call.type));
	call.basic = MPIX_SCHED_DOUBLE;
	call.count = SIZE_MAX;
	NEED(!names(m, &call, "bcast_binomial"));
	call.topology = MPIX_SCHED_CART;
	NEED(!names(m, &call, "bcast_knomial"));

	call = (struct MPIX_Sched_call){ .struct_size = sizeof call, .collective = "MPI_Reduce", .count = 1 };
	NEED(!names(m, &call, "reduce_rabenseifner"));
	CALL(MPIX_Sched_op_create(m->ctx, keep_left, NULL, 1, &call.op));
	NEED(!names(m, &call, "reduce_chain"));
	CALL(MPIX_Sched_op_free(&call.op));
	CALL(MPIX_Sched_op_create(m->ctx, keep_left, NULL, 0, &call.op));
	NEED(!names(m, &call, "reduce_binomial"));
	CALL(MPIX_Sched_op_free(&call.op));

	call.reproducible = 1;
	NEED(!names(m, &call, "reduce_binomial"));
	call.count = 1 << 20;
	NEED(!names(m, &call, "reduce_binomial"));
	call.reproducible = 0;
	NEED(!names(m, &call, "reduce_rabenseifner"));

	call = (struct MPIX_Sched_call){ .struct_size = sizeof call, .collective = "MPI_Scan", .count = 1 };
	NEED(!names(m, &call, "scan_chain"));
	NEED(!allreduce(m, 1) && !allreduce(m, COUNT));

	call.collective = "MPI_Nothing";
	NEED(MPIX_Sched_select(m->group, &call, &sched) == MPIX_SCHED_ERR_ARG);
	call.collective = "MPI_Bcast";
	call.topology = (enum MPIX_Sched_topology)3;
	NEED(MPIX_Sched_select(m->group, &call, &sched) == MPIX_SCHED_ERR_ARG);
	call.topology = MPIX_SCHED_NO_TOPOLOGY;
	call.struct_size--;
	NEED(MPIX_Sched_select(m->group, &call, &sched) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_select(m->group, NULL, &sched) == MPIX_SCHED_ERR_ARG);
	call.struct_size++;
	call.collective = "neighbor_reduce";
	NEED(MPIX_Sched_select(m->group, &call, &sched) == MPIX_SCHED_ERR_UNSUPPORTED);
	NEED(!sched);
	return 0;
}

static int apart(struct member *m)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Scan", .count = 1 };

	return names(m, &call, "scan_binomial");
}

static const char *collective = "MPI_Bcast";

/* On two ranks: it gets the schedule m->arg. */
static int on(struct member *m)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = collective, .count = 100 };

	return names(m, &call, m->arg);
}

static void take_right(const void *in, void *inout, size_t n, void *arg)
{
	(void)in, (void)inout, (void)n, (void)arg;
}

/* With GOAL_REPRODUCIBLE=1: one schedule for all counts. */
static int reproducible(struct member *m)
{
	struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Allreduce", .count = 1, .basic = MPIX_SCHED_DOUBLE };
	MPIX_Sched sched = NULL;

	for (; call.count < 10000000; call.count *= 10)
		NEED(!names(m, &call, "allreduce_recursive_doubling"));
	call.collective = "MPI_Bcast";
	NEED(!names(m, &call, "bcast_linear"));
	call.collective = "MPI_Reduce_scatter";
	NEED(!names(m, &call, "reduce_scatter_recursive_halving"));
	CALL(MPIX_Sched_op_create(m->ctx, take_right, NULL, 0, &call.op));
	NEED(MPIX_Sched_select(m->group, &call, &sched) == MPIX_SCHED_ERR_UNSUPPORTED);
	CALL(MPIX_Sched_op_free(&call.op));
	return 0;
}

static int refused(struct member *m)
{
	const struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Bcast", .count = 1 };
	char text[512];
	void *buffers[] = { text };
	const struct MPIX_Sched_bind bind = { .struct_size = sizeof bind, .buffers = buffers, .nbuffers = 1, .count = 1 };
	MPIX_Sched_request req = NULL;
	MPIX_Sched sched = NULL;
	int err = MPIX_Sched_select(m->group, &call, &sched);

	if (!err) {
		err = MPIX_Sched_init(sched, m->group, &bind, &req);
		CALL(MPIX_Sched_unload(&sched));
	}
	NEED(err && !sched && !req);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	if (m->rank == 0)
		printf("%s: %s\n", MPIX_Sched_error_string(err), text);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "apart"))
		return team_run(4, false, apart, NULL);
	if (argc > 1 && !strcmp(argv[1], "reproducible"))
		return team_run(4, true, reproducible, NULL);
	if (argc > 3)
		collective = argv[3];
	if (argc > 2 && !strcmp(argv[1], "on"))
		return team_run(2, false, on, argv[2]) || team_run(2, true, on, argv[2]);
	if (argc > 1)
		return team_run(1, true, refused, NULL);
	return team_run(4, true, all, NULL) || team_run(3, false, all, NULL);
}
