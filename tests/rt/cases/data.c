/* SPDX-License-Identifier: BSD-3-Clause
 * Cases of datatypes and reductions. */
#include "tests/rt/cases/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A datatype with holes whose blocks are in reverse order. The counts cover all ways in which a backend sends messages. */
static int strided(struct member *m)
{
	size_t counts[] = { 0, 1, 5, 400, 9000 };
	const int64_t offset[] = { 12, 0 };
	const size_t length[] = { 1, 2 };
	MPIX_Sched s = case_load(m, team_bcast);
	MPIX_Sched_type type, other;

	NEED(s);
	for (size_t c = 0; c < ELEMENTS(counts); c++) {
		size_t n = counts[c], words = n * 5;
		int32_t *data = malloc(words * 4 + 4);
		void *buffers[] = { data };
		struct MPIX_Sched_bind b = case_bind(buffers, 1, n, MPIX_SCHED_BYTE);
		MPIX_Sched_request req;

		CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 2, offset, length, 20, &type));
		/* The same signature in memory without holes: ranks may differ in this. */
		CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, (int64_t[]){ 0 }, (size_t[]){ 3 }, 12,
					    &other));
		b.type = m->rank % 2 ? other : type;
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_type_free(&type));
		CALL(MPIX_Sched_type_free(&other));
		for (int e = 1; e < 5; e++) {
			for (size_t i = 0; i < words; i++)
				data[i] = m->rank ? -7 : (int32_t)i * e;
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			/* The packed order is word 3, word 0, word 1 of each element. */
			for (size_t i = 0; i < n; i++) {
				const int at[3] = { 3, 0, 1 };

				for (size_t k = 0; k < 3; k++) {
					int32_t want = (int32_t)(i * 5 + (size_t)at[k]) * e;
					int32_t got = m->rank % 2 ? data[i * 3 + k] : data[i * 5 + (size_t)at[k]];

					NEED(got == want);
				}
				if (m->rank && m->rank % 2 == 0) /* holes are not written */
					NEED(data[i * 5 + 2] == -7 && data[i * 5 + 4] == -7);
			}
		}
		CALL(MPIX_Sched_free(&req));
		free(data);
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A negative extent, on odd ranks only: each element lies before its predecessor. */
static int backwards(struct member *m)
{
	enum { N = 70000 };
	static const size_t counts[] = { 5, N };
	MPIX_Sched s = case_load(m, team_bcast);
	MPIX_Sched_type type;
	MPIX_Sched_request req;
	int32_t *data = malloc(N * sizeof *data);

	NEED(s && data);
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ 1 },
				    m->rank % 2 ? -4 : 4, &type));
	for (size_t c = 0; c < ELEMENTS(counts); c++) {
		size_t n = counts[c];
		void *buffers[] = { m->rank % 2 ? data + n - 1 : data };
		struct MPIX_Sched_bind b = case_bind(buffers, 1, n, MPIX_SCHED_BYTE);

		b.type = type;
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		for (size_t i = 0; i < n; i++)
			data[i] = m->rank ? -1 : (int)i;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (size_t i = 0; i < n; i++)
			NEED(data[m->rank % 2 ? n - 1 - i : i] == (int)i);
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_type_free(&type));
	CALL(MPIX_Sched_unload(&s));
	free(data);
	return 0;
}

static int builtin(struct member *m)
{
	MPIX_Sched s = case_load(m, case_fold);
	double data[300];
	void *buffers[] = { data, NULL };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, 300, MPIX_SCHED_DOUBLE);
	MPIX_Sched_request req;

	NEED(s);
	b.builtin = MPIX_SCHED_SUM;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 1; e < 20; e++) {
		for (int i = 0; i < 300; i++)
			data[i] = m->rank * 1000 + i * e;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < 300; i++) {
			double want = 0;

			for (int r = m->rank; r < m->size; r++)
				want += r * 1000 + i * e;
			NEED(data[i] == want);
		}
	}
	CALL(MPIX_Sched_free(&req));
	b.builtin = MPIX_SCHED_BXOR; /* not defined for doubles */
	if (m->size > 1)
		NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG && case_detail_has(m, "not defined"));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* The operation (a, b) op (c, d) = (a·c, a·d + b), which is associative, but does not commute. */
static void affine(const void *in, void *inout, size_t count, void *arg)
{
	const int64_t *x = in;
	int64_t *y = inout;

	(*(int *)arg)++;
	for (size_t i = 0; i < 2 * count; i += 2) {
		int64_t a = x[i] * y[i], b = x[i] * y[i + 1] + x[i + 1];

		y[i] = a;
		y[i + 1] = b;
	}
}

static int user_op(struct member *m)
{
	const char *texts[] = { case_fold, case_fold_left };

	for (int way = 0; way < 2; way++) {
		MPIX_Sched s = case_load(m, texts[way]);
		int64_t data[2 * 40];
		void *buffers[] = { data, NULL };
		struct MPIX_Sched_bind b = case_bind(buffers, 2, 40, MPIX_SCHED_BYTE);
		int calls = 0, from = way ? 0 : m->rank, to = way ? m->rank : m->size - 1;
		MPIX_Sched_request req;
		MPIX_Sched_op op;
		MPIX_Sched_type pair;

		NEED(s);
		CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT64, 1, (int64_t[]){ 0 }, (size_t[]){ 2 }, 16,
					    &pair));
		CALL(MPIX_Sched_op_create(m->ctx, affine, &calls, 0, &op));
		b.op = op;
		b.type = pair;
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_op_free(&op));
		CALL(MPIX_Sched_type_free(&pair));
		for (int e = 1; e < 10; e++) {
			for (int i = 0; i < 40; i++) {
				data[2 * i] = m->rank % 3 + 1;
				data[2 * i + 1] = i * e + m->rank;
			}
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			for (int i = 0; i < 40; i++) {
				int64_t a = to % 3 + 1, c = i * e + to;

				for (int r = to - 1; r >= from; r--) {
					int64_t ra = r % 3 + 1, rb = i * e + r;

					c = ra * c + rb;
					a = ra * a;
				}
				NEED(data[2 * i] == a && data[2 * i + 1] == c);
			}
		}
		NEED(calls == (from < to ? 9 : 0));
		CALL(MPIX_Sched_free(&req));
		CALL(MPIX_Sched_unload(&s));
	}
	return 0;
}

/* Like affine, with elements of three words, the third of which is a sum. A chunk of a long message ends inside an element. */
static void affine_sum(const void *in, void *inout, size_t count, void *arg)
{
	const int64_t *x = in;
	int64_t *y = inout;

	(void)arg;
	for (size_t i = 0; i < count; i++, x += 3, y += 3) {
		int64_t a = x[0] * y[0] % 1009, b = (x[0] * y[1] + x[1]) % 1009;

		y[0] = a;
		y[1] = b;
		y[2] += x[2];
	}
}

static int user_op_long(struct member *m)
{
	enum { N = 6993 };
	const char *texts[] = { case_fold, case_fold_left };

	for (int way = 0; way < 2; way++) {
		MPIX_Sched s = case_load(m, texts[way]);
		int64_t *data = calloc(3 * N, sizeof *data);
		void *buffers[] = { data, NULL };
		struct MPIX_Sched_bind b = case_bind(buffers, 2, N, MPIX_SCHED_BYTE);
		int from = way ? 0 : m->rank, to = way ? m->rank : m->size - 1;
		MPIX_Sched_request req;
		MPIX_Sched_op op;
		MPIX_Sched_type three;

		NEED(s && data);
		CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT64, 1, (int64_t[]){ 0 }, (size_t[]){ 3 }, 24, &three));
		CALL(MPIX_Sched_op_create(m->ctx, affine_sum, NULL, 0, &op));
		b.op = op;
		b.type = three;
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_op_free(&op));
		CALL(MPIX_Sched_type_free(&three));
		for (int e = 1; e < 6; e++) {
			for (int i = 0; i < 3 * N; i++)
				data[i] = (m->rank * 7 + i * e) % 1009;
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			for (int i = 0; i < N; i++) {
				int64_t want[3], r = to;

				for (int k = 0; k < 3; k++)
					want[k] = (r * 7 + (3 * i + k) * e) % 1009;
				for (r = to - 1; r >= from; r--) {
					int64_t x[3];

					for (int k = 0; k < 3; k++)
						x[k] = (r * 7 + (3 * i + k) * e) % 1009;
					affine_sum(x, want, 1, NULL);
				}
				NEED(!memcmp(want, data + 3 * i, sizeof want));
			}
		}
		CALL(MPIX_Sched_free(&req));
		CALL(MPIX_Sched_unload(&s));
		free(data);
	}
	return 0;
}

/* A rank adds up what several ranks send it. In every second epoch it comes late, and then adds all of them at once; the sums
 * have the same bits. */
static int all_at_once(struct member *m)
{
	enum { N = 20000 }; /* five chunks of a message */
	MPIX_Sched s = case_load(m, case_star);
	const char none = 0;
	char all[TEAM_MAX];
	double *data = NULL;
	void *buffers[2] = { NULL };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, N, MPIX_SCHED_DOUBLE);
	MPIX_Sched_request req;

	NEED(s);
	CALL(MPIX_Sched_alloc(m->ctx, N * sizeof *data, (void **)&data));
	buffers[0] = data;
	b.builtin = MPIX_SCHED_SUM;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e < 8; e++) {
		for (int i = 0; i < N; i++)
			data[i] = (m->rank % 2 ? 1e16 : -1.1) * (i + e) + m->rank;
		if (m->rank || e % 2)
			CALL(MPIX_Sched_start(req));
		NEED(!team_allgather(&none, all, 1, m));
		if (!m->rank && e % 2 == 0)
			CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < N && !m->rank; i++) {
			double want = -1.1 * (i + e);

			for (int r = 1; r < m->size; r++)
				want += (r % 2 ? 1e16 : -1.1) * (i + e) + r;
			NEED(data[i] == want);
		}
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, data));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Binding a commutative schedule with an operation that does not commute fails, with the same error on all ranks. */
static int commutative(struct member *m)
{
	MPIX_Sched s = case_load(m, "schedule sums commutative\nbuffer inout a[count]\nrank r of p { nop }\n");
	int data[4] = { 0 }, calls = 0;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 4, MPIX_SCHED_INT32);
	MPIX_Sched_request req;

	NEED(s);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	for (int commutes = 0; commutes < 2; commutes++) {
		CALL(MPIX_Sched_op_create(m->ctx, affine, &calls, commutes, &b.op));
		if (commutes) {
			CALL(MPIX_Sched_init(s, m->group, &b, &req));
			CALL(MPIX_Sched_free(&req));
		} else {
			NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG &&
			     case_detail_has(m, "it needs an operation that commutes"));
		}
		CALL(MPIX_Sched_op_free(&b.op));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

const struct test_case data_cases[] = {
	{ .name = "strided", .fn = strided, .sizes = { 1, 2, 4 } },
	{ .name = "builtin", .fn = builtin, .sizes = { 1, 2, 5 }, .reduces = true },
	{ .name = "user_op", .fn = user_op, .sizes = { 1, 2, 5 }, .reduces = true },
	{ .name = "user_op_long", .fn = user_op_long, .sizes = { 2, 3 }, .reduces = true },
	{ .name = "all_at_once", .fn = all_at_once, .sizes = { 2, 4, 5 }, .reduces = true },
	{ .name = "backwards", .fn = backwards, .sizes = { 1, 2, 4 } },
	{ .name = "commutative", .fn = commutative, .sizes = { 1, 3 } },
	{ .name = NULL },
};
