/* SPDX-License-Identifier: BSD-3-Clause
 * Binds of ranks that promise to bind alike: later ones need not wait for the other ranks. */
#include "tests/rt/cases/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waits until all ranks have come here. */
static int meet(struct member *m)
{
	char byte = 0, all[TEAM_MAX];

	return team_allgather(&byte, all, 1, m);
}

static struct MPIX_Sched_bind alike(void *const *buffers, size_t n, size_t count)
{
	struct MPIX_Sched_bind b = case_bind(buffers, n, count, MPIX_SCHED_INT32);

	b.alike = 1;
	return b;
}

/* Requests of several counts, of which many are kept, are started in one order and freed in another on each rank. Now and then one of
 * them does not promise anything. */
static int mixed(struct member *m)
{
	enum { KEPT = 24, COUNTS = 10 };
	MPIX_Sched s = case_load(m, team_ring);
	static const int step[] = { 1, 5, 7, 11 };
	MPIX_Sched_request req[KEPT];
	int from = (m->rank + m->size - 1) % m->size, mine[KEPT][COUNTS], theirs[KEPT][COUNTS];

	NEED(s);
	for (int turn = 0; turn < 40; turn++) {
		for (int i = 0; i < KEPT; i++) {
			void *buffers[] = { mine[i], theirs[i] };
			const size_t count = turn % 8 < 4 ? 1 : 1 + (size_t)(turn + i) % COUNTS;
			struct MPIX_Sched_bind b = alike(buffers, 2, count);

			b.alike = (turn + i) % 9 != 0;
			CALL(MPIX_Sched_init(s, m->group, &b, &req[i]));
			memset(theirs[i], 0, sizeof theirs[i]);
			for (int k = 0; k < COUNTS; k++)
				mine[i][k] = 1000 * m->rank + 100 * turn + 10 * i + k;
			if (turn % 3 == 0)
				CALL(MPIX_Sched_start(req[i]));
		}
		for (int i = 0; i < KEPT && turn % 3; i++)
			CALL(MPIX_Sched_start(req[(i * 5 + m->rank) % KEPT]));
		for (int n = 0, i = 0; n < KEPT; n++, i = (i + step[m->rank % 4]) % KEPT) {
			const int count = turn % 8 < 4 ? 1 : 1 + (turn + i) % COUNTS;

			CALL(MPIX_Sched_wait(req[i]));
			for (int k = 0; k < COUNTS; k++)
				NEED(theirs[i][k] == (k < count ? 1000 * from + 100 * turn + 10 * i + k : 0));
			CALL(MPIX_Sched_free(&req[i]));
		}
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* The heap grows while requests are made. */
static int many(struct member *m)
{
	enum { MANY = 3000 };
	static const int value = 5;
	MPIX_Sched s = case_load(m, team_ring);
	MPIX_Sched_request *req = calloc(MANY, sizeof *req);
	int *theirs = calloc(MANY, sizeof *theirs);

	NEED(s && req && theirs);
	for (int i = 0; i < MANY; i++) {
		void *buffers[] = { (void *)&value, &theirs[i] };
		const struct MPIX_Sched_bind b = alike(buffers, 2, 1);

		CALL(MPIX_Sched_init(s, m->group, &b, &req[i]));
	}
	CALL(MPIX_Sched_startall(MANY, req));
	CALL(MPIX_Sched_waitall(MANY, req));
	for (int i = 0; i < MANY; i++) {
		NEED(theirs[i] == value);
		CALL(MPIX_Sched_free(&req[i]));
	}
	CALL(MPIX_Sched_unload(&s));
	free(req);
	free(theirs);
	return 0;
}

/* From the third on, binds wait for nobody: rank 0 binds, starts, completes and frees one before any other rank binds it. */
static int ahead(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	int data = -1;
	void *buffers[] = { &data };
	const struct MPIX_Sched_bind b = alike(buffers, 1, 1);
	MPIX_Sched_request req;

	NEED(s);
	for (int i = 0; i < 4; i++) {
		if (i == 2 && m->rank)
			NEED(!meet(m));
		data = m->rank ? -1 : 7 + i;
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		NEED(data == 7 + i);
		CALL(MPIX_Sched_free(&req));
		if (i == 3 && !m->rank)
			NEED(!meet(m));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A rank that breaks its promise gets an error, and so do those that wait for its data. */
static int broken(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	int data[2] = { 1, 2 };
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = alike(buffers, 1, 1);
	MPIX_Sched_request req;

	NEED(s);
	for (int i = 0; i < 2; i++) {
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_free(&req));
	}
	if (m->rank) {
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_start(req));
		NEED(MPIX_Sched_wait(req) == MPIX_SCHED_ERR_DEAD);
		CALL(MPIX_Sched_free(&req));
	} else {
		b.count = 2;
		NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_MISMATCH &&
		     case_detail_has(m, "binds what it has bound before, rank 0 does not"));
	}
	b.count = 1;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_DEAD);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* What binds were to take stays in the heap as long as the group, or until binds of other counts take the place of these. */
static int returned(struct member *m)
{
	const size_t large = 100000;
	MPIX_Sched s = case_load(m, team_ring);
	int mine[40] = { 0 }, theirs[40];
	void *buffers[] = { mine, theirs }, *before, *after;

	NEED(s);
	CALL(MPIX_Sched_alloc(m->ctx, large, &before));
	CALL(MPIX_Sched_dealloc(m->ctx, before));
	for (int turn = 0; turn < 3; turn++) {
		MPIX_Sched_group sub;

		CALL(MPIX_Sched_group_split(m->group, 0, 0, &sub));
		for (int i = 0; i < 200; i++) {
			struct MPIX_Sched_bind b = alike(buffers, 2, turn ? 1 + (size_t)(i / 5) : 1);
			MPIX_Sched_request req;

			CALL(MPIX_Sched_init(s, sub, &b, &req));
			if (i == 199) /* the group lives as long as the request */
				CALL(MPIX_Sched_group_free(&sub));
			CALL(MPIX_Sched_free(&req));
		}
		NEED(!meet(m));
		CALL(MPIX_Sched_alloc(m->ctx, large, &after));
		NEED(after == before);
		CALL(MPIX_Sched_dealloc(m->ctx, after));
		NEED(!meet(m)); /* else the board of the next turn may come first */
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

const struct test_case stock_cases[] = {
	{ .name = "stock_mixed", .fn = mixed, .sizes = { 1, 2, 5 } },
	{ .name = "stock_many", .fn = many, .sizes = { 1, 4 } },
	{ .name = "stock_ahead", .fn = ahead, .sizes = { 1, 2, 5 } },
	{ .name = "stock_broken", .fn = broken, .sizes = { 2, 4 } },
	{ .name = "stock_returned", .fn = returned, .sizes = { 1, 4 } },
	{ .name = NULL },
};
