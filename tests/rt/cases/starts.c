/* SPDX-License-Identifier: BSD-3-Clause
 * Cases of starts of long messages: what a start tells the other ranks, in the first epoch, in later ones, and after a rebind. */
#include "tests/rt/cases/cases.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG ((size_t)1 << 20)
#define EPOCHS 12

static int meet(struct member *m)
{
	char nothing = 0, all[TEAM_MAX];

	return team_allgather(&nothing, all, 1, m);
}

/* Returns 0 if all bytes are x. */
static int check_bytes(const struct member *m, const char *data, char x)
{
	for (size_t i = 0; i < LONG; i++)
		NEED(data[i] == x);
	return 0;
}

/* An epoch of a bcast in which rank `first` starts first, and then leaves it all to the other one: it makes no progress before that one
 * is done, or, as the receiver, before it has all bytes. */
static int bcast_alone(struct member *m, MPIX_Sched_request req, char *data, char x, int first)
{
	int flag;

	memset(data, m->rank ? -1 : x, LONG);
	if (m->rank == first)
		CALL(MPIX_Sched_start(req));
	NEED(meet(m) == 0);
	if (m->rank != first)
		CALL(MPIX_Sched_start(req));
	if (m->rank && !first)
		CALL(MPIX_Sched_wait(req));
	for (int i = 0; i < 3 && !m->rank && first; i++)
		CALL(MPIX_Sched_request_get_status(req, &flag, NULL));
	NEED(meet(m) == 0);
	NEED(check_bytes(m, data, x) == 0);
	CALL(MPIX_Sched_wait(req));
	return meet(m);
}

/* Once the sender has started, the receiver can copy from its heap; once the receiver has started, the sender can copy to its heap. Both
 * holds for the buffers bound last. */
static int alone(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	char *heap[2];
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;

	NEED(s);
	for (int i = 0; i < 2; i++)
		CALL(MPIX_Sched_alloc(m->ctx, LONG, (void **)&heap[i]));
	b = case_bind((void *[]){ heap[0] }, 1, LONG, MPIX_SCHED_BYTE);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (char e = 0; e < EPOCHS; e++) {
		NEED(bcast_alone(m, req, heap[e / 3 % 2], e, e % 2) == 0);
		if (e % 3 == 2)
			CALL(MPIX_Sched_rebind(req, (void *[]){ heap[(e / 3 + 1) % 2] }, 1));
	}
	CALL(MPIX_Sched_free(&req));
	for (int i = 0; i < 2; i++)
		CALL(MPIX_Sched_dealloc(m->ctx, heap[i]));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Epochs of a ring of messages of private memory, whose way changes during trials and after them, and whose buffers change between. */
static int ring_of(struct member *m, MPIX_Sched s, size_t bytes, int epochs)
{
	int *in[2] = { malloc(bytes), malloc(bytes) }, *out[2] = { malloc(bytes), malloc(bytes) };
	const size_t n = bytes / sizeof(int);
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;

	NEED(in[0] && in[1] && out[0] && out[1]);
	b = case_bind((void *[]){ in[0], out[0] }, 2, n, MPIX_SCHED_INT32);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e < epochs; e++) {
		const int at = e / 40 % 2, left = (m->rank + m->size - 1) % m->size;

		for (size_t i = 0; i < n; i++)
			in[at][i] = e * TEAM_MAX + m->rank + (int)(i / 1000);
		memset(out[at], -1, bytes);
		if (e % 7 == m->rank)
			sched_yield();
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (size_t i = 0; i < n; i++)
			NEED(out[at][i] == e * TEAM_MAX + left + (int)(i / 1000));
		if (e % 40 == 39)
			CALL(MPIX_Sched_rebind(req, (void *[]){ in[!at], out[!at] }, 2));
	}
	CALL(MPIX_Sched_free(&req));
	for (int i = 0; i < 2; i++) {
		free(in[i]);
		free(out[i]);
	}
	return 0;
}

/* The second messages are longer than their rings, which have 1 MiB at most. */
static int settled(struct member *m)
{
	MPIX_Sched s = case_load(m, team_ring);

	NEED(s);
	NEED(ring_of(m, s, 100000, 260) == 0); /* with several trials of what is faster */
	NEED(ring_of(m, s, 1200000, 45) == 0);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Sums that a rank may store at the others while it makes them; with other buffers after some epochs. */
static int answered(struct member *m)
{
	enum { N = 20000 };
	const int at = m->rank < 1 ? 0 : m->rank < 3 ? m->rank - 1 : N;
	int64_t *data[2];
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;
	MPIX_Sched s = case_load(m, case_answer);

	NEED(s);
	for (int i = 0; i < 2; i++)
		CALL(MPIX_Sched_alloc(m->ctx, 2 * N * sizeof **data, (void **)&data[i]));
	b = case_bind((void *[]){ data[0], NULL }, 2, N, MPIX_SCHED_INT64);
	b.builtin = MPIX_SCHED_SUM;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e < 90; e++) {
		int64_t *now = data[e / 30 % 2];

		for (int i = 0; i < 2 * N; i++)
			now[i] = e * m->rank + i;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < N; i++)
			NEED(now[at + i] == (int64_t)m->size * i + e * m->size * (m->size - 1) / 2);
		if (e % 30 == 29)
			CALL(MPIX_Sched_rebind(req, (void *[]){ data[(e + 1) / 30 % 2], NULL }, 2));
	}
	CALL(MPIX_Sched_free(&req));
	for (int i = 0; i < 2; i++)
		CALL(MPIX_Sched_dealloc(m->ctx, data[i]));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Sums so long that their senders reduce a share of them, and now and then try how to store it. */
static int shared_out(struct member *m)
{
	enum { N = 100000 };
	int64_t *data;
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;
	MPIX_Sched s = case_load(m, case_star);

	NEED(s);
	CALL(MPIX_Sched_alloc(m->ctx, N * sizeof *data, (void **)&data));
	b = case_bind((void *[]){ data, NULL }, 2, N, MPIX_SCHED_INT64);
	b.builtin = MPIX_SCHED_SUM;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e < 12; e++) {
		for (int i = 0; i < N; i++)
			data[i] = e * m->rank + i;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < N && m->rank == 0; i++)
			NEED(data[i] == (int64_t)m->size * i + e * m->size * (m->size - 1) / 2);
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, data));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

const struct test_case start_cases[] = {
	{ .name = "shared_out", .fn = shared_out, .sizes = { 2, 3 }, .reduces = true },
	{ .name = "answered", .fn = answered, .sizes = { 2, 3, 4 }, .reduces = true },
	{ .name = "alone", .fn = alone, .sizes = { 2 } },
	{ .name = "settled", .fn = settled, .sizes = { 2, 3 } },
	{ .name = NULL },
};
