/* SPDX-License-Identifier: BSD-3-Clause
 * cases [NAME...]: the library as its users call it, with ranks as threads and as processes (CUnit). Prints a line for each
 * test. */
#include "tests/rt/team.h"

#include <CUnit/CUnit.h>
#include <pthread.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ELEMENTS(a) (sizeof(a) / sizeof *(a))

/* A chain that folds from the right, so that the order of operands shows. */
static const char fold_text[] = "schedule fold\n"
				"buffer inout data[count]\n"
				"buffer scratch part[count]\n"
				"rank r of p {\n"
				"  if r + 1 < p { got: recv part from r + 1\n"
				"    fold: reduce data with part into data\n fold requires got }\n"
				"  if r > 0 { up: send data to r - 1\n up requires fold }\n"
				"}\n";

/* b = a op b, with the operands the other way round. */
static const char fold_left_text[] = "schedule fold_left\n"
				     "buffer inout data[count]\n"
				     "buffer scratch part[count]\n"
				     "rank r of p {\n"
				     "  if r > 0 { got: recv part from r - 1\n"
				     "    fold: reduce part into data\n fold requires got }\n"
				     "  if r + 1 < p { on: send data to r + 1\n on requires fold }\n"
				     "}\n";

static const char ring_text[] = "schedule ring\n"
				"buffer in mine[count]\n"
				"buffer out theirs[count]\n"
				"rank r of p { send mine to (r + 1) mod p; recv theirs from (r - 1) mod p }\n";

static pid_t main_pid;

/* What goalc makes of texts: then these are loaded in their place. */
static const struct {
	const char *text, *options;
} compiled[] = { { fold_text, "-T fuse" }, { fold_left_text, "-T 'segment:size=1998;fuse'" } };
static bool take_compiled;
static char image[2][4096];
static size_t image_len[2];

static MPIX_Sched load(struct member *m, const char *text)
{
	size_t len = strlen(text);
	MPIX_Sched s = NULL;

	for (size_t i = 0; i < ELEMENTS(compiled) && take_compiled; i++)
		if (text == compiled[i].text) {
			text = image[i];
			len = image_len[i];
			break;
		}
	MPIX_Sched_load_mem(m->ctx, "test.goal", text, len, &s);
	return s;
}

/* Runs goalc, which lies beside this program. */
static bool compile_all(void)
{
	char dir[] = "/tmp/cases.XXXXXX", self[256], line[1024], path[64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	bool ok = n > 0 && mkdtemp(dir);

	self[n > 0 ? n : 0] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ELEMENTS(compiled) && ok; i++) {
		snprintf(line, sizeof line, "printf %%s '%s' | timeout 60 %s/../bin/goalc /dev/stdin -o %s/out %s",
			 compiled[i].text, self, dir, compiled[i].options);
		snprintf(path, sizeof path, "%s/out", dir);
		ok = system(line) == 0;

		FILE *f = ok ? fopen(path, "rb") : NULL;

		image_len[i] = f ? fread(image[i], 1, sizeof image[i], f) : 0;
		ok = f && feof(f);
		if (f)
			fclose(f);
		unlink(path);
	}
	rmdir(dir);
	return ok;
}

static struct MPIX_Sched_bind bind_to(void *const *buffers, size_t n, size_t count, enum MPIX_Sched_basic basic)
{
	return (struct MPIX_Sched_bind){ .struct_size = sizeof(struct MPIX_Sched_bind),
					 .buffers = buffers,
					 .nbuffers = n,
					 .count = count,
					 .basic = basic };
}

static bool detail_has(struct member *m, const char *text)
{
	char detail[512];

	MPIX_Sched_error_detail(m->ctx, detail, sizeof detail);
	if (strstr(detail, text))
		return true;
	fprintf(stderr, "rank %d: \"%s\" does not contain \"%s\"\n", m->rank, detail, text);
	return false;
}

/* ---- the life of a request ---- */

static int life(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	MPIX_Sched_request req;
	int data[100], flag;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 100, MPIX_SCHED_INT32);

	NEED(s);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_unload(&s)); /* the request keeps it */
	CALL(MPIX_Sched_wait(req)); /* not active: at once */
	CALL(MPIX_Sched_test(req, &flag));
	NEED(flag == 1);
	for (int e = 0; e < 200; e++) {
		for (int i = 0; i < 100; i++)
			data[i] = m->rank ? -1 : e * 1000 + i;
		CALL(MPIX_Sched_start(req));
		if (e == 0 && m->rank == 0 && m->size > 1) {
			/* Whether it is complete already depends on the others, but not its state. */
			NEED(MPIX_Sched_start(req) == MPIX_SCHED_ERR_STATE);
			NEED(MPIX_Sched_free(&req) == MPIX_SCHED_ERR_STATE);
		}
		if (e % 2)
			CALL(MPIX_Sched_wait(req));
		else
			for (flag = 0; !flag;)
				CALL(MPIX_Sched_test(req, &flag));
		for (int i = 0; i < 100; i++)
			NEED(data[i] == e * 1000 + i);
	}
	CALL(MPIX_Sched_free(&req));
	NEED(!req);
	CALL(MPIX_Sched_free(&req));
	return 0;
}

/* ---- many requests of two groups, started in different orders ---- */

enum { MANY = 6 };

/* Completes all of reqs, in one of the ways there are. */
static int complete_all(struct member *m, MPIX_Sched_request *reqs, int n, int way)
{
	int index, flag = 0, count, done = 0, indices[MANY + 1], errors[MANY + 1];
	bool seen[MANY + 1] = { false };

	switch (way) {
	case 0:
		CALL(MPIX_Sched_waitall((size_t)n, reqs));
		break;
	case 1:
		for (;; done++) {
			CALL(MPIX_Sched_waitany((size_t)n, reqs, &index));
			if (index == MPIX_SCHED_UNDEFINED)
				break;
			NEED(index >= 0 && index < n && reqs[index] && !seen[index]);
			seen[index] = true;
		}
		NEED(done == MANY);
		break;
	case 2:
		memset(errors, 0x7f, sizeof errors);
		while (!flag) {
			CALL(MPIX_Sched_testall((size_t)n, reqs, &flag, errors));
			if (!flag) /* all or none: one that is complete can still be seen to be active */
				for (int i = 0; i < n; i++)
					NEED(!reqs[i] || MPIX_Sched_start(reqs[i]) == MPIX_SCHED_ERR_STATE);
		}
		for (int i = 0; i < n; i++)
			NEED(errors[i] == 0);
		break;
	case 3:
		for (;;) {
			CALL(MPIX_Sched_testany((size_t)n, reqs, &index, &flag));
			if (flag && index == MPIX_SCHED_UNDEFINED)
				break;
			NEED(flag == (index != MPIX_SCHED_UNDEFINED));
			done += flag;
		}
		NEED(done == MANY);
		break;
	case 4:
	case 5:
		for (;;) {
			CALL((way == 4 ? MPIX_Sched_waitsome : MPIX_Sched_testsome)((size_t)n, reqs, &count, indices,
										    way == 4 ? errors : NULL));
			if (count == MPIX_SCHED_UNDEFINED)
				break;
			NEED(way == 5 || count > 0);
			for (int k = 0; k < count; k++) {
				NEED(reqs[indices[k]] && !seen[indices[k]] && (!k || indices[k] > indices[k - 1]));
				NEED(way == 5 || errors[k] == 0);
				seen[indices[k]] = true;
			}
			done += count;
		}
		NEED(done == MANY);
		break;
	default:
		for (int i = n - 1; i >= 0; i--) {
			for (flag = 0; !flag;)
				CALL(MPIX_Sched_request_get_status(reqs[i], &flag, errors));
			NEED(errors[0] == 0);
			NEED(!reqs[i] || MPIX_Sched_start(reqs[i]) == MPIX_SCHED_ERR_STATE); /* it stays active */
			CALL(MPIX_Sched_test(reqs[i], &flag));
			NEED(flag);
		}
	}
	/* Now none is active. */
	CALL(MPIX_Sched_testall((size_t)n, reqs, &flag, NULL));
	NEED(flag);
	CALL(MPIX_Sched_testany((size_t)n, reqs, &index, &flag));
	NEED(flag && index == MPIX_SCHED_UNDEFINED);
	CALL(MPIX_Sched_testsome((size_t)n, reqs, &count, indices, errors));
	NEED(count == MPIX_SCHED_UNDEFINED);
	CALL(MPIX_Sched_waitsome((size_t)n, reqs, &count, indices, errors));
	NEED(count == MPIX_SCHED_UNDEFINED);
	return 0;
}

static int many(struct member *m)
{
	enum { N = MANY };
	MPIX_Sched s = load(m, ring_text);
	MPIX_Sched_group second;
	MPIX_Sched_request reqs[N], mixed[N + 1];
	int in[N][50], out[N][50];
	void *buffers[N][2];

	NEED(s);
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &second));
	for (int k = 0; k < N; k++) {
		buffers[k][0] = in[k];
		buffers[k][1] = out[k];
		struct MPIX_Sched_bind b = bind_to(buffers[k], 2, 50, MPIX_SCHED_INT32);

		CALL(MPIX_Sched_init(s, k % 2 ? second : m->group, &b, &reqs[k]));
	}
	CALL(MPIX_Sched_group_free(&second)); /* requests keep it */
	for (int e = 0; e < 350; e++) {
		int left = (m->rank + m->size - 1) % m->size;

		for (int k = 0; k < N; k++)
			for (int i = 0; i < 50; i++) {
				in[k][i] = (e * N + k) * 1000 + m->rank * 50 + i;
				out[k][i] = -1;
			}
		for (int k = 0; k < N; k++)
			mixed[k] = reqs[(k * 5 + m->rank + e) % N]; /* 5 and 6 are coprime */
		mixed[N] = MPIX_SCHED_REQUEST_NULL;
		CALL(MPIX_Sched_startall(N + 1, mixed));
		NEED(MPIX_Sched_startall(1, reqs) == MPIX_SCHED_ERR_STATE);
		NEED(complete_all(m, mixed, N + 1, (e + m->rank) % 7) == 0); /* another way on each rank */
		for (int k = 0; k < N; k++)
			for (int i = 0; i < 50; i++)
				NEED(out[k][i] == (e * N + k) * 1000 + left * 50 + i);
	}
	for (int k = 0; k < N; k++)
		CALL(MPIX_Sched_free(&reqs[k]));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* ---- subgroups ---- */

/* The sum of v over a group's ranks, by way of a ring that everybody walks once. */
static int ring_once(struct member *m, MPIX_Sched_request req, const int *in, const int *out, int left)
{
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	NEED(*out == *in - m->rank + left);
	return 0;
}

static int bind_ring(struct member *m, MPIX_Sched_group g, int *in, int *out, MPIX_Sched_request *req)
{
	MPIX_Sched s = load(m, ring_text);
	void *buffers[] = { in, out };
	struct MPIX_Sched_bind b = bind_to(buffers, 2, 3000, MPIX_SCHED_INT32);

	NEED(s);
	CALL(MPIX_Sched_init(s, g, &b, req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int split(struct member *m)
{
	static _Thread_local int in[4][3000], out[4][3000];
	const bool even = m->rank % 2 == 0;
	MPIX_Sched_group half, none, same, quarter;
	MPIX_Sched_request reqs[4];
	int rank, size, halves = (m->size + even) / 2;

	/* Backwards, by key; then in the order of the ranks. */
	CALL(MPIX_Sched_group_split(m->group, even, -m->rank, &half));
	CALL(MPIX_Sched_group_rank(half, &rank, &size));
	NEED(size == halves && rank == size - 1 - m->rank / 2);
	CALL(MPIX_Sched_group_split(m->group, 7, 3, &same));
	CALL(MPIX_Sched_group_rank(same, &rank, &size));
	NEED(size == m->size && rank == m->rank);
	/* Nobody, or all but rank 0. */
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
	/* One rank's argument is wrong. */
	NEED(MPIX_Sched_group_split(m->group, m->rank == m->size - 1 ? -2 : 0, 0, &none) == MPIX_SCHED_ERR_ARG);
	NEED(detail_has(m, "color") && !none);
	NEED(MPIX_Sched_group_split(NULL, 0, 0, &none) == MPIX_SCHED_ERR_ARG);
	/* A split of a split: alone or in pairs. */
	CALL(MPIX_Sched_group_split(half, m->rank / 4, 0, &quarter));
	/* Requests of all of them at once; the groups are freed first. */
	NEED(bind_ring(m, m->group, in[0], out[0], &reqs[0]) == 0 && bind_ring(m, half, in[1], out[1], &reqs[1]) == 0 &&
	     bind_ring(m, same, in[2], out[2], &reqs[2]) == 0 && bind_ring(m, quarter, in[3], out[3], &reqs[3]) == 0);
	CALL(MPIX_Sched_group_rank(quarter, &rank, &size));
	const int n[4] = { m->size, halves, m->size, size };
	/* The rank in m->group of the left neighbour. In half ranks go down by 2. */
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
	/* Over and over: the heap does not run full. */
	for (int e = 0; e < 200; e++) {
		CALL(MPIX_Sched_group_split(m->group, even, 0, &half));
		CALL(MPIX_Sched_group_free(&half));
	}
	return 0;
}

/* A subgroup that a member leaves; others go on. */
static int split_leaves(struct member *m)
{
	static _Thread_local int in[2][3000], out[2][3000];
	const bool odd = m->rank % 2;
	MPIX_Sched_group half;
	MPIX_Sched_request req, all;
	int rc = 0;
	char nothing = 0, got[TEAM_MAX];

	CALL(MPIX_Sched_group_split(m->group, odd, 0, &half));
	NEED(bind_ring(m, half, in[0], out[0], &req) == 0 && bind_ring(m, m->group, in[1], out[1], &all) == 0);
	CALL(MPIX_Sched_group_free(&half));
	if (m->rank == 1) {
		CALL(MPIX_Sched_free(&req));
	} else {
		for (int e = 0; e < 10 && !rc; e++) {
			rc = MPIX_Sched_start(req);
			rc = rc ? rc : MPIX_Sched_wait(req);
		}
		NEED(odd ? rc == MPIX_SCHED_ERR_DEAD && detail_has(m, "rank 0 has left") : !rc);
		CALL(MPIX_Sched_free(&req));
	}
	/* The whole group is as it was. */
	for (int i = 0; i < 3000; i++)
		in[1][i] = i + m->rank;
	NEED(ring_once(m, all, in[1], out[1], (m->rank + m->size - 1) % m->size) == 0);
	NEED(team_allgather(&nothing, got, 1, m) == 0);
	CALL(MPIX_Sched_free(&all));
	return 0;
}

/* A process that dies: the groups that it is in fail, others do not. */
static int split_dies(struct member *m)
{
	static int in[2][3000], out[2][3000];
	const bool odd = m->rank % 2;
	MPIX_Sched_group half;
	MPIX_Sched_request req, all;
	int rc = 0;

	if (getpid() == main_pid) /* threads die together */
		return 0;
	CALL(MPIX_Sched_group_split(m->group, odd, -m->rank, &half));
	NEED(bind_ring(m, half, in[0], out[0], &req) == 0 && bind_ring(m, m->group, in[1], out[1], &all) == 0);
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
		/* Rank 1 of 5 is the last one of its half. */
		NEED(rc == MPIX_SCHED_ERR_DEAD && detail_has(m, "rank 1 died"));
	}
	while (!(rc = MPIX_Sched_start(all)) && !(rc = MPIX_Sched_wait(all)))
		;
	NEED(rc == MPIX_SCHED_ERR_DEAD && detail_has(m, "rank 1 died"));
	NEED(MPIX_Sched_group_split(m->group, 0, 0, &half) == MPIX_SCHED_ERR_DEAD);
	for (int e = 0; e < 100 && !odd; e++) {
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	CALL(MPIX_Sched_free(&all));
	CALL(MPIX_Sched_free(&req));
	return 0;
}

/* ---- datatypes ---- */

/* Every other int of a struct with a hole, in reverse order of blocks; large enough for all transports. */
static int strided(struct member *m)
{
	size_t counts[] = { 0, 1, 5, 400, 9000 };
	const int64_t offset[] = { 12, 0 };
	const size_t length[] = { 1, 2 };
	MPIX_Sched s = load(m, team_bcast);
	MPIX_Sched_type type, other;

	NEED(s);
	for (size_t c = 0; c < ELEMENTS(counts); c++) {
		size_t n = counts[c], words = n * 5;
		int32_t *data = malloc(words * 4 + 4);
		void *buffers[] = { data };
		struct MPIX_Sched_bind b = bind_to(buffers, 1, n, MPIX_SCHED_BYTE);
		MPIX_Sched_request req;

		CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 2, offset, length, 20, &type));
		/* The same signature in memory without holes: legal between the ranks. */
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
			/* Packed order is: word 3, word 0, word 1 of each element. */
			for (size_t i = 0; i < n; i++) {
				const int at[3] = { 3, 0, 1 };

				for (size_t k = 0; k < 3; k++) {
					int32_t want = (int32_t)(i * 5 + (size_t)at[k]) * e;
					int32_t got = m->rank % 2 ? data[i * 3 + k] : data[i * 5 + (size_t)at[k]];

					NEED(got == want);
				}
				if (m->rank && m->rank % 2 == 0) /* holes are not touched */
					NEED(data[i * 5 + 2] == -7 && data[i * 5 + 4] == -7);
			}
		}
		CALL(MPIX_Sched_free(&req));
		free(data);
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* ---- reductions ---- */

static int builtin(struct member *m)
{
	MPIX_Sched s = load(m, fold_text);
	double data[300];
	void *buffers[] = { data, NULL };
	struct MPIX_Sched_bind b = bind_to(buffers, 2, 300, MPIX_SCHED_DOUBLE);
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
	b.builtin = MPIX_SCHED_BXOR; /* not on doubles */
	if (m->size > 1)
		NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG && detail_has(m, "not defined"));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* (a, b) op (c, d) = (a·c, a·d + b): associative, but the order matters. */
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
	const char *texts[] = { fold_text, fold_left_text };

	for (int way = 0; way < 2; way++) {
		MPIX_Sched s = load(m, texts[way]);
		int64_t data[2 * 40];
		void *buffers[] = { data, NULL };
		struct MPIX_Sched_bind b = bind_to(buffers, 2, 40, MPIX_SCHED_BYTE);
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

/* Elements of three words, of which a chunk of a long message ends with a part: the third is a plain sum. */
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
	const char *texts[] = { fold_text, fold_left_text };

	for (int way = 0; way < 2; way++) {
		MPIX_Sched s = load(m, texts[way]);
		int64_t *data = calloc(3 * N, sizeof *data);
		void *buffers[] = { data, NULL };
		struct MPIX_Sched_bind b = bind_to(buffers, 2, N, MPIX_SCHED_BYTE);
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

/* ---- what goes wrong ---- */

static int disagree(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast), other = load(m, ring_text);
	int data[64], more[64];
	void *buffers[] = { data, more };
	struct MPIX_Sched_bind b = bind_to(buffers, 2, 64, MPIX_SCHED_INT32), wrong;
	struct MPIX_Sched_param root = { "root", &(int64_t){ m->rank == 1 }, 1 };
	struct MPIX_Sched_param no_root = { "root", &(int64_t){ 99 }, 1 };
	struct MPIX_Sched_param unknown = { "rooot", &(int64_t){ 0 }, 1 };
	const bool odd = m->rank == 1;
	MPIX_Sched_request req = NULL;

	NEED(s && other);
	/* One rank is different: all of them hear of it, in the same words. */
	NEED(MPIX_Sched_init(odd ? other : s, m->group, &b, &req) == MPIX_SCHED_ERR_MISMATCH);
	NEED(detail_has(m, "rank 1 binds another schedule than rank 0"));
	wrong = b;
	wrong.count = odd ? 63 : 64;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_MISMATCH);
	NEED(detail_has(m, "rank 1 binds another count than rank 0"));
	wrong = b;
	wrong.basic = odd ? MPIX_SCHED_FLOAT : MPIX_SCHED_INT32;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_MISMATCH);
	wrong = b;
	wrong.params = &root;
	wrong.nparams = 1;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_MISMATCH);
	NEED(detail_has(m, "rank 1 binds other parameters than rank 0"));
	/* One rank's arguments are wrong: the same. */
	wrong = b;
	wrong.buffers = odd ? (void *[]){ NULL, NULL } : buffers;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_ARG);
	NEED(detail_has(m, "rank 1: the buffer data is not given"));
	wrong = b;
	wrong.params = odd ? &unknown : NULL;
	wrong.nparams = odd;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_PARAM && detail_has(m, "rooot"));
	wrong.params = &no_root;
	wrong.nparams = 1;
	NEED(MPIX_Sched_init(s, m->group, &wrong, &req) == MPIX_SCHED_ERR_FAULT && detail_has(m, "root"));
	/* And after all that the group still works. */
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&other));
	return 0;
}

/* Two ranks whose sizes agree in count but not in what the schedule makes of a parameter of their own. */
static int sizes_differ(struct member *m)
{
	static const char text[] = "schedule s(local n)\n"
				   "buffer inout data[count]\n"
				   "rank r of p { if r == 0 { send data[0 +: n] to 1 } else if r == 1 { recv data[0 +: n] from 0 } }\n";
	static const char extra[] = "schedule s(local n)\n"
				    "buffer inout data[count]\n"
				    "rank r of p { for k = 1 to n { if r == 0 { send data to 1 } else if r == 1 { recv data from 0 tag k - 1 } } }\n";
	MPIX_Sched s = load(m, text), t = load(m, extra);
	int data[64];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 64, MPIX_SCHED_INT32);
	struct MPIX_Sched_param n = { "n", &(int64_t){ m->rank ? 20 : 10 }, 1 };
	struct MPIX_Sched_param two = { "n", &(int64_t){ 2 }, 1 };
	MPIX_Sched_request req;

	NEED(s && t);
	b.params = &n;
	b.nparams = 1;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_MISMATCH && detail_has(m, "bytes"));
	b.params = &two;
	NEED(MPIX_Sched_init(t, m->group, &b, &req) == MPIX_SCHED_ERR_UNMATCHED && detail_has(m, "partner"));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&t));
	return 0;
}

static int arguments(struct member *m)
{
	MPIX_Sched_ctx ctx = NULL;
	MPIX_Sched s = NULL;
	MPIX_Sched_group g = NULL;
	MPIX_Sched_request req = NULL;
	MPIX_Sched_type type;
	struct MPIX_Sched_bind none = { 0 };
	void *p = NULL;
	int major, flag, index;

	NEED(MPIX_Sched_ctx_create(NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_ctx_free(&ctx) == 0);
	NEED(MPIX_Sched_load(m->ctx, "/nonexistent", &s) == MPIX_SCHED_ERR_SYS && detail_has(m, "/nonexistent"));
	NEED(MPIX_Sched_load_mem(m->ctx, "x", "schedule", 8, &s) == MPIX_SCHED_ERR_SYNTAX && detail_has(m, "x:1:"));
	NEED(MPIX_Sched_load_mem(m->ctx, "x", "\x89GSB\r\n\x1a\n", 8, &s) == MPIX_SCHED_ERR_TRUNCATED);
	NEED(MPIX_Sched_load_mem(m->ctx, "x", NULL, 8, &s) == MPIX_SCHED_ERR_ARG);
	NEED(!s);
	NEED(MPIX_Sched_group_create(m->ctx, 3, 2, team_allgather, m, &g) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_init(NULL, m->group, &none, &req) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_start(NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_wait(NULL) == 0 && MPIX_Sched_waitall(0, NULL) == 0);
	NEED(MPIX_Sched_test(NULL, &flag) == 0 && flag == 1);
	NEED(MPIX_Sched_waitany(0, NULL, &index) == 0 && index == MPIX_SCHED_UNDEFINED);
	NEED(MPIX_Sched_waitany(1, &req, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_testany(1, &req, &index, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_testall(1, NULL, &flag, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_testsome(1, &req, &index, NULL, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_waitsome((size_t)1 << 40, &req, &index, &index, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_request_get_status(NULL, &flag, &index) == 0 && flag == 1 && index == 0);
	NEED(MPIX_Sched_request_get_status(NULL, NULL, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_get_version(&major, &major, NULL) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 0, NULL, NULL, 0, &type) == MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ SIZE_MAX }, 0, &type) ==
	     MPIX_SCHED_ERR_ARG);
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ 0 }, 4, &type) ==
		     MPIX_SCHED_ERR_ARG && detail_has(m, "is empty"));
	NEED(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_BYTE, 2, (int64_t[]){ 0, 0 },
				    (size_t[]){ (size_t)1 << 40, 1 }, 4, &type) == MPIX_SCHED_ERR_ARG &&
	     detail_has(m, "the datatype is too large"));
	NEED(strcmp(MPIX_Sched_error_string(MPIX_SCHED_ERR_DEAD), "a rank of the group died") == 0);
	NEED(*MPIX_Sched_error_string(12345));
	NEED(strcmp(MPIX_Sched_error_string(INT_MIN), MPIX_Sched_error_string(INT_MAX)) == 0);
	/* The heap. */
	NEED(MPIX_Sched_alloc(m->ctx, (size_t)1 << 60, &p) == MPIX_SCHED_ERR_NOMEM);
	NEED(MPIX_Sched_dealloc(m->ctx, &p) == MPIX_SCHED_ERR_ARG);
	for (size_t size = 0; size < 5000000; size = size * 3 + 1) {
		char *q;

		CALL(MPIX_Sched_alloc(m->ctx, size, &p));
		q = p;
		NEED((uintptr_t)p % 64 == 0);
		for (size_t i = 0; i < size; i++)
			NEED(q[i] == 0);
		memset(p, 0xff, size);
		NEED(MPIX_Sched_dealloc(m->ctx, q + 1) == MPIX_SCHED_ERR_ARG);
		CALL(MPIX_Sched_dealloc(m->ctx, p));
		NEED(MPIX_Sched_dealloc(m->ctx, p) == MPIX_SCHED_ERR_ARG);
	}
	return 0;
}

/* Elements that lie one before the other: a negative extent, on odd ranks only. */
static int backwards(struct member *m)
{
	enum { N = 70000 };
	static const size_t counts[] = { 5, N };
	MPIX_Sched s = load(m, team_bcast);
	MPIX_Sched_type type;
	MPIX_Sched_request req;
	int32_t *data = malloc(N * sizeof *data);

	NEED(s && data);
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ 1 },
				    m->rank % 2 ? -4 : 4, &type));
	for (size_t c = 0; c < ELEMENTS(counts); c++) {
		size_t n = counts[c];
		void *buffers[] = { m->rank % 2 ? data + n - 1 : data };
		struct MPIX_Sched_bind b = bind_to(buffers, 1, n, MPIX_SCHED_BYTE);

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

static bool refused(struct member *m, MPIX_Sched s, const struct MPIX_Sched_bind *b, int code,
		    const char *text)
{
	MPIX_Sched_request req = NULL;

	return MPIX_Sched_init(s, m->group, b, &req) == code && !req && detail_has(m, text);
}

/* What a schedule declares, and arguments that do not go with it. */
static int declared(struct member *m)
{
	static const char text[] = "schedule s(n = 2, w[2])\nbuffer in mine[count]\nbuffer inout both[n]\n"
				   "buffer scratch own[count]\nrank r of p { x: copy mine into own\n"
				   "  y: copy own[0 +: w[0]] into both[0 +: w[0]]\n y requires x }\n";
	static const char plain[] = "num_ranks 1\nrank 0 { calc 1 }\n";
	static const char *const names[] = { "mine", "both", "own" };
	static const char *const modes[] = { "in", "inout", "scratch" };
	MPIX_Sched s = load(m, text), p = load(m, plain);
	MPIX_Sched_request req = NULL;
	MPIX_Sched_type type;
	struct MPIX_Sched_param w = { "w", (int64_t[]){ 1, 5 }, 2 }, n = { "n", (int64_t[]){ 1, 2 }, 2 };
	int data[4] = { 41, 42, 43, 44 }, both[2] = { 0 }, major = -1, minor = -1, patch = -1;
	void *buffers[] = { data, both, NULL };
	struct MPIX_Sched_bind b = bind_to(buffers, 3, 4, MPIX_SCHED_INT32), wrong;
	const char *name, *mode;

	NEED(s && p);
	CALL(MPIX_Sched_get_version(&major, &minor, &patch));
	NEED(major == MPIX_SCHED_VERSION_MAJOR && minor == MPIX_SCHED_VERSION_MINOR);
	NEED(patch == MPIX_SCHED_VERSION_PATCH);
	for (uint32_t i = 0; i < 3; i++) {
		CALL(MPIX_Sched_get_buffer(s, i, &name, &mode));
		NEED(strcmp(name, names[i]) == 0 && strcmp(mode, modes[i]) == 0);
	}
	NEED(MPIX_Sched_get_buffer(s, 3, &name, &mode) == MPIX_SCHED_ERR_ARG);

	b.params = &w;
	b.nparams = 1;
	wrong = b;
	wrong.basic = (enum MPIX_Sched_basic)1000;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_ARG, "no basic datatype 1000"));
	wrong = b;
	wrong.params = &n;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_PARAM, "n needs one value"));
	wrong.params = &(struct MPIX_Sched_param){ "w", NULL, 1 };
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_PARAM, "w needs values"));
	wrong.params = NULL;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_ARG, "params is NULL"));
	wrong.nparams = 0;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_PARAM, ": w"));
	wrong = b;
	wrong.count = SIZE_MAX / 2;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_ARG, "the count is too large"));
	wrong.count = SIZE_MAX / 4 - 1;
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_OVERFLOW, "buffer mine is too large"));
	wrong.count = (size_t)1 << 50; /* the shared heap cannot have its scratch buffer */
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_NOMEM, "for own"));
	wrong = b;
	wrong.params = &(struct MPIX_Sched_param){ "w", (int64_t[]){ 3, 3 }, 2 };
	NEED(refused(m, s, &wrong, MPIX_SCHED_ERR_BOUNDS, "(line 6)"));
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, 1, &(int64_t){ 0 }, &(size_t){ 1 }, 4, &type));
	wrong = (struct MPIX_Sched_bind){ .struct_size = sizeof wrong, .type = type };
	NEED(refused(m, p, &wrong, MPIX_SCHED_ERR_ARG, "it takes no datatype"));
	CALL(MPIX_Sched_type_free(&type));

	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	NEED(both[0] == 41 && both[1] == 0);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&p));
	return 0;
}

/* ---- meetings that fail ---- */

struct spoilt {
	struct member *m;
	int round, fails; /* the round that fails */
	bool swaps, dies;
};

static int spoilt_allgather(const void *in, void *out, size_t size, void *arg)
{
	struct spoilt *sp = arg;

	if (++sp->round == sp->fails || team_allgather(in, out, size, sp->m))
		return 1;
	if (sp->swaps && sp->m->size > 1) { /* ranks 0 and 1 */
		char first[TEAM_RECORD];

		memcpy(first, out, size);
		memcpy(out, (char *)out + size, size);
		memcpy((char *)out + size, first, size);
	}
	if (sp->dies)
		_exit(0);
	return 0;
}

/* Makes a group by a spoilt allgather. */
static int meet(struct spoilt *sp)
{
	MPIX_Sched_group g = NULL;
	int rc = MPIX_Sched_group_create(sp->m->ctx, sp->m->rank, sp->m->size, spoilt_allgather, sp, &g);

	return g ? -1 : rc;
}

/* The caller's allgather fails, mixes ranks up, or its rank dies between the rounds: all hear the cause. */
static int meeting_fails(struct member *m)
{
	struct spoilt fails = { .m = m, .fails = 1 }, swaps = { .m = m, .swaps = true };
	struct spoilt dies = { .m = m, .fails = 2, .dies = m->rank == m->size - 1 };

	NEED(meet(&fails) == MPIX_SCHED_ERR_SYS && detail_has(m, "the caller's allgather failed"));
	NEED(meet(&swaps) == MPIX_SCHED_ERR_ARG && detail_has(m, "the allgather gave rank 1 in place of 0"));
	if (getpid() == main_pid) /* threads die together */
		return 0;
	if (m->rank)
		NEED(meet(&dies) != 0);
	else
		NEED(meet(&dies) == MPIX_SCHED_ERR_DEAD && detail_has(m, "died"));
	return 0;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Makes a group where rank who may have so many descriptors. */
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

/* One rank has too few descriptors, for each step of the making: the others hear which, at once. */
static int meeting_without_files(struct member *m)
{
	char text[64], nothing = 0, got[TEAM_MAX];

	if (getpid() == main_pid) /* a limit is the process's */
		return 0;
	for (int who = 0; who < m->size; who += m->size - 1) {
		MPIX_Sched_group g = NULL;
		int free_fd = dup(0), rc = -1, failed = 0;

		close(free_fd);
		snprintf(text, sizeof text, "rank %d: ", who);
		for (int files = free_fd; rc; files++) {
			const double since = seconds();

			NEED(team_allgather(&nothing, got, 1, m) == 0);
			rc = meet_with(m, who, (rlim_t)files, &g);
			NEED(!rc == !!g && seconds() - since < 2);
			NEED(!rc || (rc == MPIX_SCHED_ERR_FILES && detail_has(m, text) && detail_has(m, "file descriptors")));
			failed += rc != 0;
		}
		NEED(failed > 2);
		CALL(MPIX_Sched_group_free(&g));
	}
	return 0;
}

/* Memory that is bound cannot be given back before. */
static int bound_heap(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	void *p;
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;

	NEED(s);
	CALL(MPIX_Sched_alloc(m->ctx, 400, &p));
	b = bind_to(&p, 1, 100, MPIX_SCHED_INT32);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	NEED(MPIX_Sched_dealloc(m->ctx, p) == MPIX_SCHED_ERR_STATE);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, p));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Binding and freeing over and over does not use up the heap. */
static int churn(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	static _Thread_local int data[20000];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 20000, MPIX_SCHED_INT32);

	NEED(s);
	for (int e = 0; e < 200; e++) {
		MPIX_Sched_request req;

		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		data[19999] = m->rank ? 0 : e;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		NEED(data[19999] == e);
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A rank that leaves instead of doing its part does not hang the others. */
static int leaves(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	int data[4];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 4, MPIX_SCHED_INT32);
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
		NEED(rc == MPIX_SCHED_ERR_DEAD && detail_has(m, "rank 1 has left"));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A rank does not take part in a call of all ranks any more: who waits for it is told within a second. It has freed the
 * group, with and without a request that still uses it; or it ends. */
static int leaves_alone(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	int data[4], last = m->size - 1;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 4, MPIX_SCHED_INT32);
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
			since = seconds();
			rc = kind & 1 ? MPIX_Sched_group_split(g, 0, 0, &sub) : MPIX_Sched_init(s, g, &b, &req);
			NEED(rc == MPIX_SCHED_ERR_DEAD && detail_has(m, left) && seconds() - since < 1);
			CALL(MPIX_Sched_group_free(&g));
		}
		NEED(team_allgather(&nothing, got, 1, m) == 0);
		CALL(MPIX_Sched_free(&bound));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* The last rank leaves. The others hear so one after another, and each of them leaves or ends then: who comes later is told
 * of the last rank all the same. */
static int leaves_first(struct member *m)
{
	const int last = m->size - 1;
	MPIX_Sched_group g, sub = NULL;
	char nothing = 0, got[TEAM_MAX];

	for (int ends = 0; ends < 2; ends++) {
		NEED(team_allgather(&nothing, got, 1, m) == 0);
		if (ends && getpid() == main_pid) /* threads end together */
			return 0;
		CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &g));
		if (m->rank != last) {
			usleep((useconds_t)(last - 1 - m->rank) * 150000);
			NEED(MPIX_Sched_group_split(g, 0, 0, &sub) == MPIX_SCHED_ERR_DEAD && detail_has(m, "rank 3 has left"));
			if (ends)
				_exit(0);
		}
		CALL(MPIX_Sched_group_free(&g));
	}
	return 0;
}

/* One rank calls init or split without what it needs: an error on all. The group can be used as before. */
static int fails_alone(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	int data[4];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 4, MPIX_SCHED_INT32), cut = b;
	const bool bad = m->rank == m->size - 1;
	const char *by = m->size == 2 ? "rank 1: " : "rank 3: ";
	MPIX_Sched_request req = NULL;
	MPIX_Sched_group sub = NULL;

	NEED(s);
	cut.struct_size = 8;
	NEED(MPIX_Sched_init(bad ? NULL : s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG && detail_has(m, by));
	NEED(MPIX_Sched_init(s, m->group, bad ? NULL : &b, &req) == MPIX_SCHED_ERR_ARG && detail_has(m, by));
	NEED(MPIX_Sched_init(s, m->group, bad ? &cut : &b, &req) == MPIX_SCHED_ERR_ARG && detail_has(m, by));
	NEED(detail_has(m, "struct_size is 8"));
	NEED(MPIX_Sched_init(s, m->group, &b, bad ? NULL : &req) == MPIX_SCHED_ERR_ARG && detail_has(m, by));
	NEED(MPIX_Sched_group_split(m->group, 0, 0, bad ? NULL : &sub) == MPIX_SCHED_ERR_ARG && detail_has(m, by));
	NEED(!req && !sub);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* One rank splits the group where the others bind: they must not take its record for a contract. */
static int calls_differ(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	int data[4];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 4, MPIX_SCHED_INT32);
	MPIX_Sched_request req = NULL;
	MPIX_Sched_group sub = NULL;
	int rc;

	NEED(s);
	for (int who = 0; who < m->size; who += m->size - 1) {
		rc = m->rank == who ? MPIX_Sched_group_split(m->group, 0, 0, &sub) : MPIX_Sched_init(s, m->group, &b, &req);
		NEED(rc == MPIX_SCHED_ERR_MISMATCH && detail_has(m, "MPIX_Sched_group_split") && detail_has(m, "MPIX_Sched_init"));
		NEED(!sub && !req);
	}
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A child that was forked frees what it has inherited: its parent is still in the group. */
static int child_frees(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	int data[4], status = -1;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 4, MPIX_SCHED_INT32);
	MPIX_Sched_request req;
	MPIX_Sched_group half;
	pid_t pid;

	if (getpid() == main_pid) /* a child of a process with threads may not do this */
		return 0;
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

/* Errors are told for each request: here one of a group that rank 1 has left, and one of a group that lives. */
static int mixed_errors(struct member *m)
{
	MPIX_Sched s = load(m, team_bcast);
	MPIX_Sched_group second;
	MPIX_Sched_request reqs[2];
	int data[2][4] = { { 0 } }, flag = 0, count, indices[2], errors[2] = { -7, -7 }, error, done = 0;
	char nothing = 0, all[TEAM_MAX];

	NEED(s);
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &second));
	for (int k = 0; k < 2; k++) {
		void *buffers[] = { data[k] };
		struct MPIX_Sched_bind b = bind_to(buffers, 1, 4, MPIX_SCHED_INT32);

		CALL(MPIX_Sched_init(s, k ? second : m->group, &b, &reqs[k]));
	}
	CALL(MPIX_Sched_group_free(&second));
	if (m->rank == 1)
		CALL(MPIX_Sched_free(&reqs[1])); /* the last of its group */
	for (int e = 0; e < 3; e++) { /* rank 0 sends: it may be ahead */
		int rc = 0;

		if (m->rank == 1) {
			CALL(MPIX_Sched_start(reqs[0]));
			CALL(MPIX_Sched_wait(reqs[0]));
			continue;
		}
		NEED(MPIX_Sched_start(reqs[0]) == 0);
		rc = MPIX_Sched_start(reqs[1]);
		if (m->rank || rc) {
			CALL(MPIX_Sched_wait(reqs[0]));
			continue;
		}
		if (e == 1) { /* both, whatever they end with */
			for (flag = 0; !flag;)
				rc = MPIX_Sched_testall(2, reqs, &flag, errors);
			NEED(errors[0] == 0 && rc == errors[1]);
		} else {
			for (done = 0; done < 2; done += count) {
				rc = MPIX_Sched_waitsome(2, reqs, &count, indices, errors);
				for (int k = 0; k < count; k++)
					NEED(errors[k] == (indices[k] ? rc : 0));
			}
		}
	}
	if (m->rank == 0) {
		CALL(MPIX_Sched_request_get_status(reqs[1], &flag, &error));
		NEED(flag && error == MPIX_SCHED_ERR_DEAD);
		CALL(MPIX_Sched_request_get_status(reqs[0], &flag, &error));
		NEED(flag && error == 0);
	}
	NEED(team_allgather(&nothing, all, 1, m) == 0);
	for (int k = 0; k < 2; k++)
		CALL(MPIX_Sched_free(&reqs[k]));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* ---- other buffers ---- */

/* Ranks rebind now and then, each when it likes, between two places in the heap and two in private memory. */
static int rebind(struct member *m)
{
	const size_t counts[] = { 7, 3000, 1 << 18 };
	const int left = (m->rank + m->size - 1) % m->size;
	MPIX_Sched s = load(m, ring_text);
	unsigned seed = (unsigned)m->rank + 1;

	NEED(s);
	for (size_t c = 0; c < ELEMENTS(counts); c++) {
		size_t n = counts[c];
		int *place[4];
		void *buffers[2];
		struct MPIX_Sched_bind b = bind_to(buffers, 2, n, MPIX_SCHED_INT32);
		MPIX_Sched_request req;
		int in = 0, out = 2, rebinds = 0;

		for (int k = 0; k < 4; k++) {
			if (k % 2)
				place[k] = malloc(n * sizeof(int));
			else
				CALL(MPIX_Sched_alloc(m->ctx, n * sizeof(int), (void **)&place[k]));
		}
		buffers[0] = place[in];
		buffers[1] = place[out];
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		for (int e = 0; e < (n > 10000 ? 12 : 300); e++) {
			if (m->rank % 3 != 2 && rand_r(&seed) % 3) { /* some ranks never do */
				in = rand_r(&seed) % 4;
				out = (in + 1 + rand_r(&seed) % 3) % 4;
				buffers[0] = place[in];
				buffers[1] = place[out];
				CALL(MPIX_Sched_rebind(req, buffers, 2));
				rebinds++;
			}
			for (int k = 0; k < 4; k++)
				for (size_t i = 0; i < n; i++)
					place[k][i] = k == in ? e * 1000 + m->rank + (int)i * 3 : -1 - k;
			CALL(MPIX_Sched_start(req));
			NEED(MPIX_Sched_rebind(req, buffers, 2) == MPIX_SCHED_ERR_STATE);
			CALL(MPIX_Sched_wait(req));
			for (int k = 0; k < 4; k++)
				for (size_t i = 0; i < n; i++) {
					int want = k == in ? e * 1000 + m->rank + (int)i * 3 :
						   k == out ? e * 1000 + left + (int)i * 3 :
							      -1 - k;

					NEED(place[k][i] == want);
				}
		}
		NEED(rebinds > 0 || m->rank % 3 == 2);
		/* What is bound cannot be given back, the rest can; an error changes nothing. */
		buffers[0] = place[0];
		buffers[1] = place[1];
		CALL(MPIX_Sched_rebind(req, buffers, 2));
		NEED(MPIX_Sched_dealloc(m->ctx, place[0]) == MPIX_SCHED_ERR_STATE);
		CALL(MPIX_Sched_dealloc(m->ctx, place[2]));
		NEED(MPIX_Sched_rebind(req, buffers, 1) == MPIX_SCHED_ERR_ARG && detail_has(m, "theirs is not given"));
		NEED(MPIX_Sched_rebind(req, NULL, 1) == MPIX_SCHED_ERR_ARG);
		NEED(MPIX_Sched_dealloc(m->ctx, place[0]) == MPIX_SCHED_ERR_STATE);
		for (size_t i = 0; i < n; i++)
			place[0][i] = m->rank - (int)i;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (size_t i = 0; i < n; i++)
			NEED(place[1][i] == left - (int)i);
		CALL(MPIX_Sched_free(&req));
		CALL(MPIX_Sched_dealloc(m->ctx, place[0]));
		free(place[1]);
		free(place[3]);
	}
	NEED(MPIX_Sched_rebind(NULL, NULL, 0) == MPIX_SCHED_ERR_ARG);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* With scratch, a reduction, and a datatype with holes on some ranks. */
static int rebind_strided(struct member *m)
{
	enum { N = 2000 };
	const int64_t offset[] = { 4, 12 };
	const size_t length[] = { 1, 1 };
	MPIX_Sched s = load(m, fold_text);
	MPIX_Sched_type type;
	MPIX_Sched_request req;
	int32_t *place[3];
	void *buffers[2] = { NULL, NULL };
	struct MPIX_Sched_bind b = bind_to(buffers, 2, N, MPIX_SCHED_BYTE);
	const int words = m->rank % 2 ? 4 : 2;

	NEED(s);
	CALL(MPIX_Sched_type_create(m->ctx, MPIX_SCHED_INT32, m->rank % 2 ? 2 : 1,
				    m->rank % 2 ? offset : &(int64_t){ 0 }, m->rank % 2 ? length : &(size_t){ 2 },
				    words * 4, &type));
	b.type = type;
	b.builtin = MPIX_SCHED_SUM;
	for (int k = 0; k < 3; k++) {
		if (k)
			place[k] = calloc(N, (size_t)words * 4);
		else
			CALL(MPIX_Sched_alloc(m->ctx, N * (size_t)words * 4, (void **)&place[k]));
	}
	buffers[0] = place[0];
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e < 60; e++) {
		int32_t *p = place[(e + m->rank) % 3];

		buffers[0] = p;
		CALL(MPIX_Sched_rebind(req, buffers, 1));
		for (int i = 0; i < N * words; i++)
			p[i] = e + i / words + m->rank;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < N * words; i++) {
			int want = 0;

			for (int r = m->rank; r < m->size; r++)
				want += e + i / words + r;
			if (m->rank % 2 && i % 2 == 0) /* a hole */
				want = e + i / words + m->rank;
			NEED(p[i] == want);
		}
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_type_free(&type));
	CALL(MPIX_Sched_dealloc(m->ctx, place[0]));
	free(place[1]);
	free(place[2]);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Private memory that the receiver cannot read needs a copy in the heap: where there is no room for it, the
 * request stays bound to what it had. */
static int rebind_no_memory(struct member *m)
{
	enum { N = 3 << 19 };
	const bool staged = getenv("GOAL_SHM_DIRECT") != NULL;
	MPIX_Sched s = load(m, ring_text);
	int *in = NULL, *out = NULL, *private = calloc(N, sizeof *private);
	void *buffers[2];
	struct MPIX_Sched_bind b = bind_to(buffers, 2, N, MPIX_SCHED_INT32);
	MPIX_Sched_request req;
	struct rlimit old, none;
	int rc;

	NEED(s && private);
	CALL(MPIX_Sched_alloc(m->ctx, N * sizeof *in, (void **)&in));
	CALL(MPIX_Sched_alloc(m->ctx, N * sizeof *out, (void **)&out));
	buffers[0] = in;
	buffers[1] = out;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	if (getpid() != main_pid && staged) { /* a limit is the process's, and threads need no copy */
		NEED(getrlimit(RLIMIT_FSIZE, &old) == 0);
		none = (struct rlimit){ 4096, old.rlim_max };
		signal(SIGXFSZ, SIG_IGN);
		NEED(setrlimit(RLIMIT_FSIZE, &none) == 0);
		buffers[0] = private;
		rc = MPIX_Sched_rebind(req, buffers, 2);
		NEED(setrlimit(RLIMIT_FSIZE, &old) == 0);
		NEED(rc == MPIX_SCHED_ERR_NOMEM && detail_has(m, "no 6291456 bytes of shared memory"));
	}
	for (int i = 0; i < N; i++)
		in[i] = m->rank + i;
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	for (int i = 0; i < N; i++)
		NEED(out[i] == (m->rank + m->size - 1) % m->size + i);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, in));
	CALL(MPIX_Sched_dealloc(m->ctx, out));
	free(private);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Memory that is gone when its message is to be read: an error for who reads; the sender hears of it. */
static int vanished(struct member *m)
{
	enum { N = 1 << 18 };
	MPIX_Sched s;
	void *buffers[1];
	struct MPIX_Sched_bind b = bind_to(buffers, 1, N, MPIX_SCHED_INT32);
	MPIX_Sched_request req;
	const char *backend = getenv("GOAL_BACKEND");
	const bool kept = backend && !strcmp(backend, "verbs"); /* what is registered */
	int rc;

	if (getpid() == main_pid || getenv("GOAL_SHM_DIRECT")) /* others touch it themselves */
		return 0;
	s = load(m, team_bcast);
	buffers[0] = mmap(NULL, N * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(s && buffers[0] != MAP_FAILED);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	if (m->rank == 0)
		munmap(buffers[0], N * sizeof(int));
	CALL(MPIX_Sched_start(req));
	rc = MPIX_Sched_wait(req);
	if (kept)
		NEED(rc == 0);
	else if (m->rank == 0)
		NEED(rc != 0);
	else
		NEED(rc == MPIX_SCHED_ERR_SYS && detail_has(m, "process_vm_readv from rank 0: Bad address"));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* ---- what ops wait for ---- */

struct watch {
	struct member *m;
	int fd, rc;
};

/* Looks at a context in which another thread waits. */
static void *watch(void *arg)
{
	struct watch *w = arg;
	char nothing = 0, all[TEAM_MAX];

	usleep(20000);
	w->rc = MPIX_Sched_dump(w->m->ctx, w->fd);
	team_allgather(&nothing, all, 1, w->m);
	return NULL;
}

static int dump(struct member *m)
{
	static const char text[] = "schedule d\nbuffer inout x[count]\nbuffer scratch y[2 * count]\n"
				   "rank r of p {\n"
				   "  if r == 0 and p > 1 {\n"
				   "    a: recv x from 1 tag 5\n"
				   "    b: copy x into y[count +: count]\n b requires a\n"
				   "    c: reduce x with y[count +: count] into x\n c requires b\n"
				   "    d: calc 7\n d irequires a\n d requires c\n"
				   "  } else if r == 1 { send x to 0 tag 5 }\n"
				   "}\n";
	static const char want[] =
		"rank 0: d epoch 2: op 0, recv x[0..9) from rank 1 tag 5 (test.goal:6): waits for the message\n"
		"rank 0: d epoch 2: op 1, copy x[0..9) into y[9..18) (test.goal:7): waits for op 0 (recv from rank 1)\n"
		"rank 0: d epoch 2: op 2, reduce x[0..9) with y[9..18) into x[0..9) (test.goal:9): waits for op 1 (copy)\n"
		"rank 0: d epoch 2: op 3, calc 7 (test.goal:11): waits for op 2 (reduce)\n"
		"rank 0: d epoch 2: is complete, but was not tested or waited for\n";
	static _Thread_local int in[3000], out[3000];
	MPIX_Sched s = load(m, text);
	MPIX_Sched_group alone;
	MPIX_Sched_request req, other;
	int x[9] = { 0 }, fds[2], flag = 0;
	void *buffers[] = { x, NULL };
	struct MPIX_Sched_bind b = bind_to(buffers, 2, 9, MPIX_SCHED_INT32);
	char got[4096], begin[64], nothing = 0, all[TEAM_MAX];
	ssize_t n;

	NEED(s && pipe(fds) == 0);
	b.builtin = MPIX_SCHED_SUM;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_dump(m->ctx, fds[1])); /* none is active: nothing */
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	if (m->rank != 1)
		CALL(MPIX_Sched_start(req));
	if (m->rank == 0) {
		CALL(MPIX_Sched_request_get_status(req, &flag, NULL));
		NEED(!flag);
		CALL(MPIX_Sched_dump(m->ctx, fds[1]));
	}
	NEED(team_allgather(&nothing, all, 1, m) == 0);
	if (m->rank == 1)
		CALL(MPIX_Sched_start(req));
	for (flag = 0; !flag;)
		CALL(MPIX_Sched_request_get_status(req, &flag, NULL));
	if (m->rank == 0) {
		CALL(MPIX_Sched_dump(m->ctx, fds[1]));
		n = read(fds[0], got, sizeof got - 1);
		NEED(n > 0);
		got[n] = '\0';
		if (strcmp(got, want))
			fprintf(stderr, "%s", got);
		NEED(strcmp(got, want) == 0);
	}
	CALL(MPIX_Sched_wait(req));
	if (m->rank == 0) {
		struct watch w = { .m = m, .fd = fds[1] };
		pthread_t id;

		CALL(MPIX_Sched_start(req));
		NEED(pthread_create(&id, NULL, watch, &w) == 0);
		CALL(MPIX_Sched_wait(req)); /* for rank 1, which waits for the watch */
		pthread_join(id, NULL);
		n = w.rc ? 0 : read(fds[0], got, sizeof got - 1);
		NEED(n > 0 && strncmp(got, "rank 0: d epoch 3: op 0, recv", 29) == 0);
	} else {
		NEED(team_allgather(&nothing, all, 1, m) == 0);
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	/* Ranks of a subgroup are told by both numbers. */
	CALL(MPIX_Sched_group_split(m->group, m->rank > 0, -m->rank, &alone));
	NEED(bind_ring(m, alone, in, out, &other) == 0);
	CALL(MPIX_Sched_start(other));
	CALL(MPIX_Sched_dump(m->ctx, fds[1]));
	n = read(fds[0], got, sizeof got - 1);
	NEED(n > 0);
	got[n] = '\0';
	snprintf(begin, sizeof begin, "rank %d of %d (%d of %d): ring epoch 1: ",
		 m->rank ? m->size - 1 - m->rank : 0, m->rank ? m->size - 1 : 1, m->rank, m->size);
	NEED(strncmp(got, begin, strlen(begin)) == 0);
	CALL(MPIX_Sched_wait(other));
	CALL(MPIX_Sched_free(&other));
	CALL(MPIX_Sched_group_free(&alone));
	NEED(MPIX_Sched_dump(NULL, 1) == MPIX_SCHED_ERR_ARG);
	CALL(MPIX_Sched_start(req));
	NEED(MPIX_Sched_dump(m->ctx, -1) == MPIX_SCHED_ERR_SYS && detail_has(m, "write"));
	CALL(MPIX_Sched_wait(req));
	close(fds[0]);
	close(fds[1]);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* ---- in place ---- */

static const char gather_text[] = "schedule gather(root = 0, local v[r]) implements MPI_Gather\n"
				  "buffer in mine[count] inplace all[r * count +: count] if r == root\n"
				  "buffer out all[r == root ? p * count : 0]\n"
				  "rank r of p {\n"
				  "  if r == root {\n"
				  "    copy mine into all[r * count +: count]\n"
				  "    for k = 1 to p - 1 {\n"
				  "      s = (r + k) mod p\n"
				  "      recv all[s * count +: count] from s\n"
				  "    }\n"
				  "  } else { send mine to root }\n"
				  "}\n";

static int in_place(struct member *m)
{
	const int64_t root = m->size - 1, v[TEAM_MAX] = { 0 };
	const struct MPIX_Sched_param params[] = { { "root", &root, 1 }, { "v", m->rank ? v : NULL, (size_t)m->rank } };
	const bool is_root = m->rank == root;
	MPIX_Sched s = load(m, gather_text);
	int mine[5], all[5 * TEAM_MAX], other[5 * TEAM_MAX];
	void *buffers[2] = { mine, all };
	struct MPIX_Sched_bind b = bind_to(buffers, 2, 5, MPIX_SCHED_INT32);
	MPIX_Sched_request req;

	NEED(s);
	b.params = params;
	b.nparams = 2;
	for (int way = 0; way < 2; way++) { /* of the root's own; the others' is their own buffer in any case */
		buffers[0] = way && is_root ? MPIX_SCHED_IN_PLACE : mine;
		buffers[1] = all;
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		for (int e = 0; e < 6; e++) {
			int *to = e < 3 ? all : other;

			if (e == 3) {
				buffers[1] = other;
				CALL(MPIX_Sched_rebind(req, buffers, 2));
			}
			memset(to, 0, sizeof all);
			for (int i = 0; i < 5; i++)
				(way && is_root ? to + root * 5 : mine)[i] = 1000 * e + 10 * m->rank + i;
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			for (int i = 0; is_root && i < 5 * m->size; i++)
				NEED(to[i] == 1000 * e + 10 * (i / 5) + i % 5);
		}
		/* What is in place stays so. */
		buffers[0] = way && is_root ? mine : MPIX_SCHED_IN_PLACE;
		NEED(MPIX_Sched_rebind(req, buffers, 2) == MPIX_SCHED_ERR_ARG &&
		     detail_has(m, way && is_root ? "mine was bound in place" : "mine was not bound in place"));
		CALL(MPIX_Sched_free(&req));
	}
	/* Not where the schedule does not say so. */
	buffers[0] = is_root ? mine : MPIX_SCHED_IN_PLACE;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == (m->size > 1 ? MPIX_SCHED_ERR_ARG : 0));
	if (m->size > 1)
		NEED(detail_has(m, "the buffer mine cannot be in place on this rank"));
	else
		CALL(MPIX_Sched_free(&req));
	buffers[0] = mine;
	buffers[1] = MPIX_SCHED_IN_PLACE;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG &&
	     detail_has(m, "the buffer all cannot be in place"));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A schedule that reorders refuses an operation that does not commute, on all ranks alike. */
static int commutative(struct member *m)
{
	MPIX_Sched s = load(m, "schedule sums commutative\nbuffer inout a[count]\nrank r of p { nop }\n");
	int data[4] = { 0 }, calls = 0;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = bind_to(buffers, 1, 4, MPIX_SCHED_INT32);
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
			     detail_has(m, "it needs an operation that commutes"));
		}
		CALL(MPIX_Sched_op_free(&b.op));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(struct member *);
	int sizes[4];
} cases[] = {
	{ "life", life, { 1, 2, 5, 0 } },
	{ "many", many, { 1, 3, 4, 0 } },
	{ "split", split, { 1, 2, 6, 0 } },
	{ "split_leaves", split_leaves, { 4, 0 } },
	{ "split_dies", split_dies, { 5, 0 } },
	{ "strided", strided, { 1, 2, 4, 0 } },
	{ "builtin", builtin, { 1, 2, 5, 0 } },
	{ "user_op", user_op, { 1, 2, 5, 0 } },
	{ "user_op_long", user_op_long, { 2, 3, 0 } },
	{ "disagree", disagree, { 2, 4, 0 } },
	{ "sizes_differ", sizes_differ, { 2, 3, 0 } },
	{ "arguments", arguments, { 1, 0 } },
	{ "declared", declared, { 1, 0 } },
	{ "backwards", backwards, { 1, 2, 4, 0 } },
	{ "meeting_fails", meeting_fails, { 2, 4, 0 } },
	{ "meeting_without_files", meeting_without_files, { 2, 3, 0 } },
	{ "rebind", rebind, { 1, 2, 4, 0 } },
	{ "rebind_strided", rebind_strided, { 2, 3, 0 } },
	{ "rebind_no_memory", rebind_no_memory, { 2, 0 } },
	{ "vanished", vanished, { 2, 0 } },
	{ "bound_heap", bound_heap, { 1, 3, 0 } },
	{ "churn", churn, { 3, 0 } },
	{ "dump", dump, { 3, 0 } },
	{ "leaves", leaves, { 2, 4, 0 } },
	{ "leaves_alone", leaves_alone, { 2, 4, 0 } },
	{ "leaves_first", leaves_first, { 4, 0 } },
	{ "fails_alone", fails_alone, { 2, 4, 0 } },
	{ "calls_differ", calls_differ, { 2, 4, 0 } },
	{ "child_frees", child_frees, { 2, 3, 0 } },
	{ "mixed_errors", mixed_errors, { 2, 0 } },
	{ "in_place", in_place, { 1, 2, 4, 0 } },
	{ "commutative", commutative, { 1, 3, 0 } },
};

static size_t at;
static char **names; /* of the cases to run; none: all */

/* Whether there are ranks of this kind: KINDS may say which (default: all). */
static bool has_kind(const char *kind)
{
	const char *kinds = getenv("KINDS");

	return !kinds || strstr(kinds, kind);
}

static bool wanted(void)
{
	char **n = names;

	while (*n && strcmp(*n, cases[at].name) != 0)
		n++;
	return *n || !*names;
}

static void run_case(void)
{
	bool staged = getenv("GOAL_SHM_DIRECT") != NULL;
	bool reduces = cases[at].fn == builtin || cases[at].fn == user_op || cases[at].fn == user_op_long ||
		       cases[at].fn == rebind_strided;

	for (int threads = 0; threads < 2; threads++) {
		const char *kind = threads ? "threads" : "processes";

		for (int i = 0; wanted() && has_kind(kind) && cases[at].sizes[i] && (reduces || !take_compiled); i++) {
			int n = cases[at].sizes[i];
			bool ok = team_run(n, threads, cases[at].fn, NULL) == 0;

			CU_ASSERT(ok);
			printf("%s rt.%s %d %s%s%s\n", ok ? "ok" : "FAIL", cases[at].name, n, kind,
			       staged ? " staged" : "", take_compiled ? " fused" : "");
		}
	}
	at++;
}

int main(int argc, char **argv)
{
	unsigned bad;
	CU_pSuite suite;

	names = argv + (argc > 0);
	main_pid = getpid();
	if (!compile_all() || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	suite = CU_add_suite("rt", NULL, NULL);
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		CU_add_test(suite, cases[i].name, run_case);
	for (int staged = 0; staged < 2; staged++) {
		at = 0;
		if (staged)
			setenv("GOAL_SHM_DIRECT", "0", 1);
		CU_run_all_tests();
		take_compiled = true;
		at = 0;
		CU_run_all_tests();
		take_compiled = false;
	}
	bad = CU_get_number_of_failures();
	CU_cleanup_registry();
	return bad != 0;
}
