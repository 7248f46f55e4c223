/* SPDX-License-Identifier: BSD-3-Clause
 * Cases of groups: subgroups, ranks that leave or die, and failures while a group is created. */
#include "tests/rt/cases/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Starts the ring once, and checks the data from the left neighbour. */
static int ring_once(struct member *m, MPIX_Sched_request req, const int *in, const int *out, int left)
{
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	NEED(*out == *in - m->rank + left);
	return 0;
}

static int split(struct member *m)
{
	static _Thread_local int in[4][3000], out[4][3000];
	const bool even = m->rank % 2 == 0;
	MPIX_Sched_group half, none, same, quarter;
	MPIX_Sched_request reqs[4];
	int rank, size, halves = (m->size + even) / 2;

	/* First the key reverses the order of the ranks; then equal keys keep it. */
	CALL(MPIX_Sched_group_split(m->group, even, -m->rank, &half));
	CALL(MPIX_Sched_group_rank(half, &rank, &size));
	NEED(size == halves && rank == size - 1 - m->rank / 2);
	CALL(MPIX_Sched_group_split(m->group, 7, 3, &same));
	CALL(MPIX_Sched_group_rank(same, &rank, &size));
	NEED(size == m->size && rank == m->rank);
	/* First no rank is in a subgroup, then all but rank 0 are. */
	none = half;
	CALL(MPIX_Sched_group_split(m->group, MPIX_SCHED_UNDEFINED, 0, &none));
	NEED(!none);
	none = half;
	CALL(MPIX_Sched_group_split(m->group, m->rank ? 0 : MPIX_SCHED_UNDEFINED, 0, &none));
	NEED(!none == !m->rank);
	if (none) {
		CALL(MPIX_Sched_group_rank(none, &rank, &size));
		NEED(rank == m->rank - 1 && size == m->size - 1);
	}
	CALL(MPIX_Sched_group_free(&none));
	/* The color of one rank is wrong. */
	NEED(MPIX_Sched_group_split(m->group, m->rank == m->size - 1 ? -2 : 0, 0, &none) == MPIX_SCHED_ERR_ARG);
	NEED(case_detail_has(m, "color") && !none);
	NEED(MPIX_Sched_group_split(NULL, 0, 0, &none) == MPIX_SCHED_ERR_ARG);
	/* A subgroup of a subgroup has one or two ranks. */
	CALL(MPIX_Sched_group_split(half, m->rank / 4, 0, &quarter));
	/* Requests of all four groups run at the same time, after the groups have been freed. */
	NEED(case_bind_ring(m, m->group, in[0], out[0], &reqs[0]) == 0 && case_bind_ring(m, half, in[1], out[1], &reqs[1]) == 0 &&
	     case_bind_ring(m, same, in[2], out[2], &reqs[2]) == 0 && case_bind_ring(m, quarter, in[3], out[3], &reqs[3]) == 0);
	CALL(MPIX_Sched_group_rank(quarter, &rank, &size));
	const int n[4] = { m->size, halves, m->size, size };
	/* left[k] is the left neighbour's rank in m->group. In `half` that rank is higher by 2, as the order is reversed. */
	const int left[4] = { (m->rank + m->size - 1) % m->size,
			      m->rank + 2 < m->size ? m->rank + 2 : !even,
			      (m->rank + m->size - 1) % m->size, size == 1 ? m->rank : m->rank ^ 2 };

	CALL(MPIX_Sched_group_free(&same));
	CALL(MPIX_Sched_group_free(&half));
	CALL(MPIX_Sched_group_free(&quarter));
	for (int e = 0; e < 100; e++) {
		MPIX_Sched_request mixed[4];

		for (int k = 0; k < 4; k++) {
			mixed[k] = reqs[(k * 3 + m->rank + e) % 4];
			for (int i = 0; i < 3000; i++)
				in[k][i] = e * 100000 + k * 10000 + i * 16 + m->rank;
			memset(out[k], 0xff, sizeof out[k]);
		}
		CALL(MPIX_Sched_startall(4, mixed));
		CALL(MPIX_Sched_waitall(4, mixed));
		for (int k = 0; k < 4; k++)
			for (int i = 0; i < 3000; i++)
				NEED(n[k] > 0 && out[k][i] == in[k][i] - m->rank + left[k]);
		NEED(ring_once(m, reqs[1], in[1], out[1], left[1]) == 0);
	}
	for (int k = 0; k < 4; k++)
		CALL(MPIX_Sched_free(&reqs[k]));
	/* Splitting and freeing again and again must not use up the heap. */
	for (int e = 0; e < 200; e++) {
		CALL(MPIX_Sched_group_split(m->group, even, 0, &half));
		CALL(MPIX_Sched_group_free(&half));
	}
	return 0;
}

/* A rank leaves a subgroup. The other groups keep working. */
static int split_leaves(struct member *m)
{
	static _Thread_local int in[2][3000], out[2][3000];
	const bool odd = m->rank % 2;
	MPIX_Sched_group half;
	MPIX_Sched_request req, all;
	int rc = 0;
	char nothing = 0, got[TEAM_MAX];

	CALL(MPIX_Sched_group_split(m->group, odd, 0, &half));
	NEED(case_bind_ring(m, half, in[0], out[0], &req) == 0 && case_bind_ring(m, m->group, in[1], out[1], &all) == 0);
	CALL(MPIX_Sched_group_free(&half));
	if (m->rank == 1) {
		CALL(MPIX_Sched_free(&req));
	} else {
		for (int e = 0; e < 10 && !rc; e++) {
			rc = MPIX_Sched_start(req);
			rc = rc ? rc : MPIX_Sched_wait(req);
		}
		NEED(odd ? rc == MPIX_SCHED_ERR_DEAD && case_detail_has(m, "rank 0 has left") : !rc);
		CALL(MPIX_Sched_free(&req));
	}
	/* The whole group still works. */
	for (int i = 0; i < 3000; i++)
		in[1][i] = i + m->rank;
	NEED(ring_once(m, all, in[1], out[1], (m->rank + m->size - 1) % m->size) == 0);
	NEED(team_allgather(&nothing, got, 1, m) == 0);
	CALL(MPIX_Sched_free(&all));
	return 0;
}

/* A process dies. The groups that it belongs to fail, others do not. */
static int split_dies(struct member *m)
{
	static int in[2][3000], out[2][3000];
	const bool odd = m->rank % 2;
	MPIX_Sched_group half;
	MPIX_Sched_request req, all;
	int rc = 0;

	if (getpid() == case_main_pid) /* a thread cannot die alone */
		return 0;
	CALL(MPIX_Sched_group_split(m->group, odd, -m->rank, &half));
	NEED(case_bind_ring(m, half, in[0], out[0], &req) == 0 && case_bind_ring(m, m->group, in[1], out[1], &all) == 0);
	CALL(MPIX_Sched_group_free(&half));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	if (m->rank == 1)
		_exit(0);
	if (odd) {
		while (!rc) {
			rc = MPIX_Sched_start(req);
			rc = rc ? rc : MPIX_Sched_wait(req);
		}
		/* Rank 1 of 5 has the number 1 in its half, too, which is the last. */
		NEED(rc == MPIX_SCHED_ERR_DEAD && case_detail_has(m, "rank 1 died"));
	}
	while (!(rc = MPIX_Sched_start(all)) && !(rc = MPIX_Sched_wait(all)))
		;
	NEED(rc == MPIX_SCHED_ERR_DEAD && case_detail_has(m, "rank 1 died"));
	NEED(MPIX_Sched_group_split(m->group, 0, 0, &half) == MPIX_SCHED_ERR_DEAD);
	for (int e = 0; e < 100 && !odd; e++) {
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	CALL(MPIX_Sched_free(&all));
	CALL(MPIX_Sched_free(&req));
	return 0;
}

struct spoilt {
	struct member *m;
	int round, fails; /* number of calls so far; number of the call that fails */
	bool swaps, dies;
};

static int spoilt_allgather(const void *in, void *out, size_t size, void *arg)
{
	struct spoilt *sp = arg;

	if (++sp->round == sp->fails || team_allgather(in, out, size, sp->m))
		return 1;
	if (sp->swaps && sp->m->size > 1) { /* swaps the data of ranks 0 and 1 */
		char first[TEAM_RECORD];

		memcpy(first, out, size);
		memcpy(out, (char *)out + size, size);
		memcpy((char *)out + size, first, size);
	}
	if (sp->dies)
		_exit(0);
	return 0;
}

/* Creates a group with a spoilt allgather. */
static int meet(struct spoilt *sp)
{
	MPIX_Sched_group g = NULL;
	int rc = MPIX_Sched_group_create(sp->m->ctx, sp->m->rank, sp->m->size, spoilt_allgather, sp, &g);

	return g ? -1 : rc;
}

/* The caller's allgather fails, confuses ranks, or its rank dies between two calls. All ranks get an error with the cause. */
static int meeting_fails(struct member *m)
{
	struct spoilt fails = { .m = m, .fails = 1 }, swaps = { .m = m, .swaps = true };
	struct spoilt dies = { .m = m, .fails = 2, .dies = m->rank == m->size - 1 };

	NEED(meet(&fails) == MPIX_SCHED_ERR_SYS && case_detail_has(m, "the caller's allgather failed"));
	NEED(meet(&swaps) == MPIX_SCHED_ERR_ARG && case_detail_has(m, "the allgather gave rank 1 in place of 0"));
	if (getpid() == case_main_pid) /* a thread cannot die alone */
		return 0;
	if (m->rank)
		NEED(meet(&dies) != 0);
	else
		NEED(meet(&dies) == MPIX_SCHED_ERR_DEAD && case_detail_has(m, "died"));
	return 0;
}

/* Creates a group while rank `who` is limited to this number of file descriptors. */
static int meet_with(struct member *m, int who, rlim_t files, MPIX_Sched_group *g)
{
	struct rlimit old, less;
	int rc = -1;

	if (!getrlimit(RLIMIT_NOFILE, &old)) {
		less = (struct rlimit){ files, old.rlim_max };
		if (m->rank != who || !setrlimit(RLIMIT_NOFILE, &less))
			rc = MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, g);
		setrlimit(RLIMIT_NOFILE, &old);
	}
	return rc;
}

/* One rank has too few file descriptors, with each limit at which creating a group fails. The other ranks get an error at
 * once, which names the rank. */
static int meeting_without_files(struct member *m)
{
	char text[64], nothing = 0, got[TEAM_MAX];

	if (getpid() == case_main_pid) /* a limit applies to a whole process */
		return 0;
	for (int who = 0; who < m->size; who += m->size - 1) {
		MPIX_Sched_group g = NULL;
		int free_fd = dup(0), rc = -1, failed = 0;

		close(free_fd);
		snprintf(text, sizeof text, "rank %d: ", who);
		for (int files = free_fd; rc; files++) {
			const double since = case_seconds();

			NEED(team_allgather(&nothing, got, 1, m) == 0);
			rc = meet_with(m, who, (rlim_t)files, &g);
			NEED(!rc == !!g && case_seconds() - since < 2);
			NEED(!rc || (rc == MPIX_SCHED_ERR_FILES && case_detail_has(m, text) && case_detail_has(m, "file descriptors")));
			failed += rc != 0;
		}
		NEED(failed > 2);
		CALL(MPIX_Sched_group_free(&g));
	}
	return 0;
}

/* One rank has made more groups before than the others. */
static int other_groups(struct member *m)
{
	int in[3000] = { 0 }, out[3000];
	const int left = (m->rank + m->size - 1) % m->size;
	MPIX_Sched_group self = NULL, all, half, again;
	MPIX_Sched_request req;

	if (m->rank == 0)
		CALL(MPIX_Sched_group_create(m->ctx, 0, 1, team_alone, NULL, &self));
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &all));
	CALL(MPIX_Sched_group_split(all, 0, 0, &half));
	CALL(MPIX_Sched_group_split(half, 0, 0, &again));
	if (!getenv("TEAM_NODES")) { /* else there is no way from one node to the other */
		NEED(!case_bind_ring(m, again, in, out, &req));
		in[0] = 5 + m->rank;
		NEED(!ring_once(m, req, in, out, left));
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_group_free(&again));
	CALL(MPIX_Sched_group_free(&half));
	CALL(MPIX_Sched_group_free(&all));
	CALL(MPIX_Sched_group_free(&self));
	return 0;
}

const struct test_case group_cases[] = {
	{ .name = "split", .fn = split, .sizes = { 1, 2, 6 } },
	{ .name = "split_leaves", .fn = split_leaves, .sizes = { 4 } },
	{ .name = "split_dies", .fn = split_dies, .sizes = { 5 } },
	{ .name = "other_groups", .fn = other_groups, .sizes = { 2, 4 } },
	{ .name = "meeting_fails", .fn = meeting_fails, .sizes = { 2, 4 } },
	{ .name = "meeting_without_files", .fn = meeting_without_files, .sizes = { 2, 3 } },
	{ .name = NULL },
};
