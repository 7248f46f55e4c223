/* SPDX-License-Identifier: BSD-3-Clause
 * MPIX_Sched_group_set_transport, and what becomes of its faults: wrong structs, too few tags, functions that fail, messages that
 * do not match. Four ranks on two nodes. Prints a line for each case. */
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, COUNT = 3000, TYPE_COUNT = 500, FAULT = 17 };

static bool says(struct member *m, const char *text)
{
	char detail[512];

	MPIX_Sched_error_detail(m->ctx, detail, sizeof detail);
	if (!strstr(detail, text))
		fprintf(stderr, "rank %d: \"%s\" does not contain \"%s\"\n", m->rank, detail, text);
	return strstr(detail, text);
}

static int join(struct member *m)
{
	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group));
	return 0;
}

static int leave(struct member *m)
{
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	team_transport_end(m);
	return 0;
}

static int bind_text(struct member *m, const char *text, const struct MPIX_Sched_bind *with, MPIX_Sched_request *req)
{
	MPIX_Sched s;
	int rc;

	CALL(MPIX_Sched_load_mem(m->ctx, "text", text, strlen(text), &s));
	rc = MPIX_Sched_init(s, m->group, with, req);
	MPIX_Sched_unload(&s);
	return rc;
}

static int bind_ring(struct member *m, void *const *buffers, MPIX_Sched_type type, MPIX_Sched_request *req)
{
	const struct MPIX_Sched_bind with = { .struct_size = sizeof with,
					      .buffers = buffers,
					      .nbuffers = 2,
					      .count = type ? TYPE_COUNT : COUNT,
					      .basic = MPIX_SCHED_INT32,
					      .type = type };

	return bind_text(m, team_ring, &with, req);
}

static int arguments(struct member *m)
{
	struct MPIX_Sched_transport good, bad;
	MPIX_Sched_group half;
	const char *name;
	int nodes;

	if (join(m))
		return 1;
	CALL(MPIX_Sched_group_backend(m->group, &name));
	NEED(!strcmp(name, "shm")); /* which asks for a transport */
	NEED(MPIX_Sched_group_backend(NULL, &name) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_group_backend(m->group, NULL) == MPIX_SCHED_ERR_ARG);
	good = bad = team_transport_make(m, "app");
	NEED(MPIX_Sched_group_set_transport(NULL, &good) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_group_set_transport(m->group, NULL) == MPIX_SCHED_ERR_ARG);
	bad.struct_size--;
	NEED(MPIX_Sched_group_set_transport(m->group, &bad) == MPIX_SCHED_ERR_ARG && says(m, "struct_size"));
	bad = good;
	bad.test = NULL;
	NEED(MPIX_Sched_group_set_transport(m->group, &bad) == MPIX_SCHED_ERR_ARG && says(m, "function"));
	bad = good;
	bad.tags = 0;
	NEED(MPIX_Sched_group_set_transport(m->group, &bad) == MPIX_SCHED_ERR_ARG && says(m, "tags"));
	CALL(MPIX_Sched_group_set_transport(m->group, &good));
	NEED(MPIX_Sched_group_set_transport(m->group, &good) == MPIX_SCHED_ERR_STATE && says(m, "already"));
	CALL(MPIX_Sched_group_split(m->group, m->rank % 2, 0, &half));
	NEED(MPIX_Sched_group_set_transport(half, &good) == MPIX_SCHED_ERR_STATE && says(m, "split"));
	NEED(MPIX_Sched_group_nodes(m->group, NULL) == MPIX_SCHED_ERR_ARG);
	CALL(MPIX_Sched_group_nodes(m->group, &nodes));
	NEED(nodes == 2);
	CALL(MPIX_Sched_group_nodes(half, &nodes));
	NEED(nodes == 1);
	CALL(MPIX_Sched_group_backend(m->group, &name));
	NEED(!strcmp(name, "mpi"));
	CALL(MPIX_Sched_group_free(&half));
	return leave(m);
}

/* Ranks that have no transport, and one that has none alone. */
static int without(struct member *m)
{
	static int mine[COUNT], theirs[COUNT];
	void *buffers[] = { mine, theirs };
	MPIX_Sched_request req;

	if (join(m))
		return 1;
	NEED(bind_ring(m, buffers, NULL, &req) == MPIX_SCHED_ERR_UNSUPPORTED && says(m, "is on another node"));
	if (m->rank != 1 && team_transport(m, "app"))
		return 1;
	NEED(bind_ring(m, buffers, NULL, &req) != MPIX_SCHED_SUCCESS);
	return leave(m);
}

/* Tags are used again, as late as possible. */
static int tags(struct member *m)
{
	static int mine[COUNT], theirs[COUNT];
	void *buffers[] = { mine, theirs };
	struct MPIX_Sched_transport t;
	MPIX_Sched_request reqs[4], more;

	if (join(m))
		return 1;
	t = team_transport_make(m, "app");
	t.tags = 4;
	CALL(MPIX_Sched_group_set_transport(m->group, &t));
	for (int i = 0; i < 4; i++)
		CALL(bind_ring(m, buffers, NULL, &reqs[i]));
	NEED(bind_ring(m, buffers, NULL, &more) == MPIX_SCHED_ERR_RANGE && says(m, "too few tags: 4"));
	for (int e = 0; e < 40; e++) {
		const int i = e * 7 % 4;

		CALL(MPIX_Sched_free(&reqs[i]));
		CALL(bind_ring(m, buffers, NULL, &reqs[i]));
		mine[COUNT - 1] = 1000 * m->rank + e;
		CALL(MPIX_Sched_start(reqs[i]));
		CALL(MPIX_Sched_wait(reqs[i]));
		NEED(theirs[COUNT - 1] == 1000 * ((m->rank + m->size - 1) % m->size) + e);
	}
	for (int i = 0; i < 4; i++)
		CALL(MPIX_Sched_free(&reqs[i]));
	return leave(m);
}

static int fail_init(void *state, void *buf, size_t bytes, int peer, uint32_t tag, void **message)
{
	(void)state, (void)buf, (void)bytes, (void)peer, (void)tag, (void)message;
	return FAULT;
}

static int fail_start(void *state, void *message)
{
	(void)state, (void)message;
	return FAULT;
}

/* One rank cannot make a message: then no rank has a request. It cannot start one: then all requests fail. */
static int faults(struct member *m)
{
	static int mine[COUNT], theirs[COUNT];
	void *buffers[] = { mine, theirs };
	struct MPIX_Sched_transport t;
	MPIX_Sched_request req;

	for (int starts = 0; starts < 2; starts++) {
		if (join(m))
			return 1;
		t = team_transport_make(m, "app");
		if (m->rank == 1 && starts)
			t.start = fail_start;
		else if (m->rank == 1)
			t.recv_init = fail_init;
		CALL(MPIX_Sched_group_set_transport(m->group, &t));
		if (!starts) {
			NEED(bind_ring(m, buffers, NULL, &req) == MPIX_SCHED_ERR_SYS && says(m, "rank 1: the transport reports error 17"));
		} else {
			CALL(bind_ring(m, buffers, NULL, &req));
			/* Ranks 3 and 0 need nothing of rank 1, so they may be faster; their next starts need its neighbour. */
			for (int e = 0, rc = MPIX_SCHED_SUCCESS; rc != MPIX_SCHED_ERR_DEAD; e++) {
				NEED(rc == MPIX_SCHED_SUCCESS && e < m->size);
				rc = MPIX_Sched_start(req);
				if (rc == MPIX_SCHED_SUCCESS)
					rc = MPIX_Sched_wait(req);
			}
			NEED(m->rank != 1 || says(m, "the transport reports error 17"));
			CALL(MPIX_Sched_free(&req));
		}
		if (leave(m))
			return 1;
	}
	return 0;
}

/* What the ranks bind differs in a parameter that each has for itself. */
static int differs(struct member *m)
{
	static const struct {
		const char *text;
		int err;
		const char *says;
	} rows[] = {
		{ "schedule s(local n)\nbuffer inout data[4 * count]\n"
		  "rank r of p { if r == 0 { send data[0 +: n] to 1 } else if r == 1 { recv data[0 +: n] from 0 } }\n",
		  MPIX_SCHED_ERR_MISMATCH, "another size" },
		{ "schedule s(local n)\nbuffer inout data[4 * count]\n"
		  "rank r of p { if r == 0 { for i = 1 to n { send data to 1 } } else if r == 1 { recv data from 0 } }\n",
		  MPIX_SCHED_ERR_UNMATCHED, "have 1 and 0 partners" },
		{ "schedule s(local n)\nbuffer inout data[4 * count]\n"
		  "rank r of p { if r == 0 { send data to 1 tag n } else if r == 1 { recv data from 0 tag 1 } }\n",
		  MPIX_SCHED_ERR_UNMATCHED, "no partner with its tag" },
	};
	int data[4];
	const int64_t n = m->rank == 0 ? 2 : 1;
	void *buffers[] = { data };
	const struct MPIX_Sched_param param = { "n", &n, 1 };
	const struct MPIX_Sched_bind with = { .struct_size = sizeof with, .buffers = buffers, .nbuffers = 1, .count = 1,
					      .basic = MPIX_SCHED_INT32, .params = &param, .nparams = 1 };
	MPIX_Sched_request req;

	if (join(m) || team_transport(m, "app"))
		return 1;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		NEED(bind_text(m, rows[i].text, &with, &req) == rows[i].err && says(m, rows[i].says));
	return leave(m);
}

/* Elements with gaps go through slots; other buffers are bound between epochs. */
static int gaps(struct member *m)
{
	static int mine[2][3 * TYPE_COUNT], theirs[2][3 * TYPE_COUNT];
	const int left = (m->rank + m->size - 1) % m->size;
	MPIX_Sched_request reqs[2];
	MPIX_Sched_type type;

	if (join(m) || team_transport(m, "app"))
		return 1;
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 2, (int64_t[]){ 0, 8 }, (size_t[]){ 1, 1 }, 12, &type));
	CALL(bind_ring(m, (void *[]){ mine[0], theirs[0] }, type, &reqs[0]));
	CALL(bind_ring(m, (void *[]){ mine[0], theirs[0] }, NULL, &reqs[1]));
	CALL(MPIX_Sched_type_free(&type));
	for (int e = 0; e < 20; e++) {
		int *from = mine[e / 2 % 2], *to = theirs[e / 2 % 2];

		CALL(MPIX_Sched_rebind(reqs[0], (void *[]){ from, to }, 2));
		for (int i = 0; i < 3 * TYPE_COUNT; i++) {
			from[i] = 10000 * m->rank + i + e;
			to[i] = -1;
		}
		CALL(MPIX_Sched_start(reqs[0]));
		CALL(MPIX_Sched_wait(reqs[0]));
		for (int i = 0; i < 3 * TYPE_COUNT; i++)
			NEED(to[i] == (i % 3 == 1 ? -1 : 10000 * left + i + e));
	}
	CALL(MPIX_Sched_free(&reqs[0]));
	CALL(MPIX_Sched_free(&reqs[1]));
	return leave(m);
}

static int rebinds(struct member *m)
{
	static int mine[3][COUNT], theirs[3][COUNT];
	const int left = (m->rank + m->size - 1) % m->size;
	MPIX_Sched_request req;

	if (join(m) || team_transport(m, "app"))
		return 1;
	CALL(bind_ring(m, (void *[]){ mine[0], theirs[0] }, NULL, &req));
	for (int e = 0; e < 30; e++) {
		int *from = mine[(e + m->rank) % 3], *to = theirs[e * m->rank % 3];

		CALL(MPIX_Sched_rebind(req, (void *[]){ from, to }, 2));
		for (int i = 0; i < COUNT; i++)
			from[i] = 10000 * m->rank + i + e;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < COUNT; i++)
			NEED(to[i] == 10000 * left + i + e);
	}
	CALL(MPIX_Sched_free(&req));
	return leave(m);
}

static int (*test_message)(void *state, void *message, int *flag);
static int tested;

static int count_test(void *state, void *message, int *flag)
{
	tested++;
	return test_message(state, message, flag);
}

enum { MANY = 50 };

/* A loop that tests many requests makes progress on all of them once, not once for each. */
static int loops(struct member *m, const MPIX_Sched_request *reqs)
{
	enum { LOOPS = 20 };

	tested = 0;
	for (int k = 0; k < LOOPS * MANY; k++) {
		int flag;

		CALL(MPIX_Sched_test(reqs[k % MANY], &flag));
		NEED(!flag);
	}
	NEED(tested >= LOOPS * MANY && tested <= 5 * LOOPS * MANY);
	return 0;
}

static int passes(struct member *m)
{
	static int mine[COUNT], theirs[MANY][COUNT];
	const int left = (m->rank + m->size - 1) % m->size;
	struct MPIX_Sched_transport t;
	MPIX_Sched_request reqs[MANY];
	int all[RANKS];

	if (join(m))
		return 1;
	t = team_transport_make(m, "app");
	test_message = t.test;
	t.test = count_test;
	CALL(MPIX_Sched_group_set_transport(m->group, &t));
	for (int i = 0; i < MANY; i++)
		CALL(bind_ring(m, (void *[]){ mine, theirs[i] }, NULL, &reqs[i]));
	mine[COUNT - 1] = m->rank;
	if (!m->rank) {
		CALL(MPIX_Sched_startall(MANY, reqs));
		if (loops(m, reqs))
			return 1;
	}
	NEED(!team_allgather(&m->rank, all, sizeof *all, m)); /* the others start after that */
	if (m->rank)
		CALL(MPIX_Sched_startall(MANY, reqs));
	CALL(MPIX_Sched_waitall(MANY, reqs));
	for (int i = 0; i < MANY; i++) {
		NEED(theirs[i][COUNT - 1] == left);
		CALL(MPIX_Sched_free(&reqs[i]));
	}
	return leave(m);
}

int main(void)
{
	static const struct {
		const char *name;
		int (*fn)(struct member *);
	} rows[] = { { "arguments", arguments }, { "without", without }, { "tags", tags },	{ "faults", faults },
		     { "differs", differs },	 { "gaps", gaps },	 { "rebinds", rebinds },
		     { "passes", passes } };
	int bad = 0;

	setenv("TEAM_TRANSPORT", "app", 1);
	setenv("TEAM_NODES", "2", 1);
	unsetenv("GOAL_BACKEND");
	setenv("GOAL_VERBS_DEVICE", "none", 1); /* with a device, groups on several nodes would use that */
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const int rc = team_run_bare(RANKS, false, rows[i].fn, NULL);

		printf("%s transport.%s\n", rc ? "FAIL" : "ok", rows[i].name);
		bad |= rc;
	}
	return bad != 0;
}
