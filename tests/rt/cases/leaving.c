/* SPDX-License-Identifier: BSD-3-Clause
 * Cases in which a rank leaves, fails or forks while others wait for it. */
#include "tests/rt/cases/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A rank leaves instead of starting its request. The others do not hang. */
static int leaves(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	int data[4];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 4, MPIX_SCHED_INT32);
	MPIX_Sched_request req;
	int rc = 0;

	NEED(s);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e < 3 && m->rank != 1; e++) {
		rc = MPIX_Sched_start(req);
		rc = rc ? rc : MPIX_Sched_wait(req);
		if (rc)
			break;
	}
	if (m->rank == 0) /* it sends to rank 1 */
		NEED(rc == MPIX_SCHED_ERR_DEAD && case_detail_has(m, "rank 1 has left"));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A rank frees the group, with or without a request that still uses it. Ranks that then call a collective function get an
 * error within a second. */
static int leaves_alone(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	int data[4], last = m->size - 1;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 4, MPIX_SCHED_INT32);
	const char *left = last == 1 ? "rank 1 has left the group" : "rank 3 has left the group";
	char nothing = 0, got[TEAM_MAX];

	NEED(s);
	for (int kind = 0; kind < 4; kind++) {
		MPIX_Sched_group g, sub = NULL;
		MPIX_Sched_request bound = NULL, req = NULL;
		double since;
		int rc;

		CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &g));
		CALL(MPIX_Sched_init(s, g, &b, &bound));
		if (m->rank == last) {
			if (kind & 2)
				CALL(MPIX_Sched_free(&bound));
			CALL(MPIX_Sched_group_free(&g));
		} else {
			since = case_seconds();
			rc = kind & 1 ? MPIX_Sched_group_split(g, 0, 0, &sub) : MPIX_Sched_init(s, g, &b, &req);
			NEED(rc == MPIX_SCHED_ERR_DEAD && case_detail_has(m, left) && case_seconds() - since < 1);
			CALL(MPIX_Sched_group_free(&g));
		}
		NEED(team_allgather(&nothing, got, 1, m) == 0);
		CALL(MPIX_Sched_free(&bound));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* The last rank leaves. The others notice it one after another, and each of them then leaves or ends. The error of the later
 * ones must still name the last rank. */
static int leaves_first(struct member *m)
{
	const int last = m->size - 1;
	MPIX_Sched_group g, sub = NULL;
	char nothing = 0, got[TEAM_MAX];

	for (int ends = 0; ends < 2; ends++) {
		NEED(team_allgather(&nothing, got, 1, m) == 0);
		if (ends && getpid() == case_main_pid) /* a thread cannot end alone */
			return 0;
		CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &g));
		if (m->rank != last) {
			usleep((useconds_t)(last - 1 - m->rank) * 150000);
			NEED(MPIX_Sched_group_split(g, 0, 0, &sub) == MPIX_SCHED_ERR_DEAD && case_detail_has(m, "rank 3 has left"));
			if (ends)
				_exit(0);
		}
		CALL(MPIX_Sched_group_free(&g));
	}
	return 0;
}

/* One rank calls init or split with an argument missing. All ranks get an error, and the group can still be used. */
static int fails_alone(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	int data[4];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 4, MPIX_SCHED_INT32), cut = b;
	const bool bad = m->rank == m->size - 1;
	const char *by = m->size == 2 ? "rank 1: " : "rank 3: ";
	MPIX_Sched_request req = NULL;
	MPIX_Sched_group sub = NULL;

	NEED(s);
	cut.struct_size = 8;
	NEED(MPIX_Sched_init(bad ? NULL : s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG && case_detail_has(m, by));
	NEED(MPIX_Sched_init(s, m->group, bad ? NULL : &b, &req) == MPIX_SCHED_ERR_ARG && case_detail_has(m, by));
	NEED(MPIX_Sched_init(s, m->group, bad ? &cut : &b, &req) == MPIX_SCHED_ERR_ARG && case_detail_has(m, by));
	NEED(case_detail_has(m, "struct_size is 8"));
	NEED(MPIX_Sched_init(s, m->group, &b, bad ? NULL : &req) == MPIX_SCHED_ERR_ARG && case_detail_has(m, by));
	NEED(MPIX_Sched_group_split(m->group, 0, 0, bad ? NULL : &sub) == MPIX_SCHED_ERR_ARG && case_detail_has(m, by));
	NEED(!req && !sub);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* One rank splits the group while the others bind. They must not mistake its record of a split for one of a bind. */
static int calls_differ(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	int data[4];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 4, MPIX_SCHED_INT32);
	MPIX_Sched_request req = NULL;
	MPIX_Sched_group sub = NULL;
	int rc;

	NEED(s);
	for (int who = 0; who < m->size; who += m->size - 1) {
		rc = m->rank == who ? MPIX_Sched_group_split(m->group, 0, 0, &sub) : MPIX_Sched_init(s, m->group, &b, &req);
		NEED(rc == MPIX_SCHED_ERR_MISMATCH && case_detail_has(m, "MPIX_Sched_group_split") && case_detail_has(m, "MPIX_Sched_init"));
		NEED(!sub && !req);
	}
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A forked child frees the objects that it has inherited. Its parent stays in the group. */
static int child_frees(struct member *m)
{
	int data[4], status = -1;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 4, MPIX_SCHED_INT32);
	MPIX_Sched_request req;
	MPIX_Sched_group half;
	MPIX_Sched s;
	pid_t pid;

	if (getpid() == case_main_pid) /* the child of a process with threads must not call these functions */
		return 0;
	s = case_load(m, team_bcast);
	NEED(s);
	CALL(MPIX_Sched_group_split(m->group, 0, 0, &half));
	CALL(MPIX_Sched_init(s, half, &b, &req));
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		int bad = MPIX_Sched_free(&req) || MPIX_Sched_group_free(&half) || MPIX_Sched_group_free(&m->group) ||
			  MPIX_Sched_unload(&s) || MPIX_Sched_ctx_free(&m->ctx);

		_exit(bad);
	}
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	for (int e = 0; e < 3; e++) {
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_init(s, half, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_group_free(&half));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Rank 0 receives the data, or sends it, and waits for rank 2 as well. */
static const char with_third[] =
	"schedule w(sends = 0)\n"
	"buffer inout data[count]\n"
	"buffer inout small[1]\n"
	"rank r of p { if p == 3 {\n"
	"  if r == 0 and sends { send data to 1 } else if r == 0 { recv data from 1 }\n"
	"  if r == 1 and sends { recv data from 0 } else if r == 1 { send data to 0 }\n"
	"  if r == 0 { recv small from 2 } else if r == 2 { send small to 0 } } }\n";

/* Waits until the slot of the rank that has died, which it needs no more, has a number. */
static void await(struct member *m, uint64_t number)
{
	while (atomic_load(&m->team->slots[2].seq) != number)
		usleep(1000);
}

/* Rank 2 dies. Rank 0, which waits for it, gets an error, and uses its memory for something else. Rank 1, which starts later, neither
 * stores there, nor takes what is there for what was sent. */
static int after_death(struct member *m, int64_t sends)
{
	enum { N = 1 << 22 };
	const struct MPIX_Sched_param param = { "sends", &sends, 1 };
	char *data = malloc(N), small = 0;
	void *buffers[] = { data, &small };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, N, MPIX_SCHED_BYTE);
	MPIX_Sched_request req;
	MPIX_Sched s;
	int rc;

	if (getpid() == case_main_pid) { /* a thread cannot die alone */
		free(data);
		return 0;
	}
	NEED(data);
	memset(data, 1 + m->rank, N);
	CALL(MPIX_Sched_load_mem(m->ctx, "with_third", with_third, strlen(with_third), &s));
	b.params = &param;
	b.nparams = 1;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_unload(&s));
	NEED(team_meet(m) == 0);
	if (m->rank == 2)
		_exit(0);
	if (m->rank == 1)
		await(m, UINT64_MAX);
	rc = MPIX_Sched_start(req);
	rc = rc ? rc : MPIX_Sched_wait(req);
	NEED(rc == MPIX_SCHED_ERR_DEAD && case_detail_has(m, "rank 2 died"));
	CALL(MPIX_Sched_free(&req));
	memset(data, 9, N);
	if (m->rank == 0) {
		atomic_store(&m->team->slots[2].seq, UINT64_MAX);
		await(m, UINT64_MAX - 1);
	} else {
		atomic_store(&m->team->slots[2].seq, UINT64_MAX - 1);
	}
	NEED(data[0] == 9 && !memcmp(data, data + 1, N - 1));
	free(data);
	return 0;
}

static int stores_after_death(struct member *m)
{
	return after_death(m, 0);
}

static int reads_after_death(struct member *m)
{
	return after_death(m, 1);
}

/* A forked child frees a group whose requests are gone, so that the threads of its parent, if it has some, sleep. */
static int child_frees_group(struct member *m)
{
	int in[3000] = { 0 }, out[3000], status = -1;
	MPIX_Sched_request req;
	pid_t pid;

	if (getpid() == case_main_pid)
		return 0;
	NEED(!case_bind_ring(m, m->group, in, out, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	CALL(MPIX_Sched_free(&req));
	usleep(50000); /* until a thread that has nothing to do sleeps */
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		alarm(10);
		_exit(MPIX_Sched_group_free(&m->group) || MPIX_Sched_ctx_free(&m->ctx));
	}
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	return 0;
}

const struct test_case leaving_cases[] = {
	{ .name = "leaves", .fn = leaves, .sizes = { 2, 4 } },
	{ .name = "leaves_alone", .fn = leaves_alone, .sizes = { 2, 4 } },
	{ .name = "leaves_first", .fn = leaves_first, .sizes = { 4 } },
	{ .name = "fails_alone", .fn = fails_alone, .sizes = { 2, 4 } },
	{ .name = "calls_differ", .fn = calls_differ, .sizes = { 2, 4 } },
	{ .name = "stores_after_death", .fn = stores_after_death, .sizes = { 3 } },
	{ .name = "reads_after_death", .fn = reads_after_death, .sizes = { 3 } },
	{ .name = "child_frees", .fn = child_frees, .sizes = { 2, 3 } },
	{ .name = "child_frees_group", .fn = child_frees_group, .sizes = { 2 } },
	{ .name = NULL },
};
