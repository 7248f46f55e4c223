/* SPDX-License-Identifier: BSD-3-Clause
 * Cases of requests: their life from init to free, many at once, dumps of active ones, and errors of each. */
#include "tests/rt/cases/cases.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child of the process may free its copy of an idle request, and nobody else sees that. */
static int freed_by_child(struct member *m, MPIX_Sched_request req)
{
	int status = 1;
	const pid_t pid = fork();

	if (!pid)
		_exit(MPIX_Sched_free(&req));
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	return 0;
}

/* n elements at `data`. Starts of many elements in the heap soon only say that they have begun. */
static int live(struct member *m, int *data, int n)
{
	MPIX_Sched s = case_load(m, team_bcast);
	MPIX_Sched_request req;
	int flag, active;
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, (size_t)n, MPIX_SCHED_INT32);

	NEED(s);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_unload(&s)); /* the request keeps the schedule */
	CALL(MPIX_Sched_wait(req)); /* returns at once, as the request is not active */
	CALL(MPIX_Sched_test(req, &flag));
	NEED(flag == 1);
	for (int e = 0; e < 200; e++) {
		for (int i = 0; i < n; i++)
			data[i] = m->rank ? -1 : e * 1000 + i;
		if (e == 100 && __libc_single_threaded && freed_by_child(m, req))
			return 1;
		CALL(MPIX_Sched_start(req));
		if (e % 8 == 0 && m->rank == 0 && m->size > 1) {
			/* It may be complete already, but stays active until it is tested or waited for. */
			NEED(MPIX_Sched_start(req) == MPIX_SCHED_ERR_STATE);
			NEED(MPIX_Sched_free(&req) == MPIX_SCHED_ERR_STATE);
			for (flag = 0; e == 192 && !flag;)
				CALL(MPIX_Sched_request_get_status(req, &flag, NULL));
			NEED(MPIX_Sched_start(req) == MPIX_SCHED_ERR_STATE);
		}
		CALL(MPIX_Sched_progress(m->ctx, &active));
		NEED(active == 1);
		if (e % 2)
			CALL(MPIX_Sched_wait(req));
		else
			for (flag = 0; !flag;)
				CALL(MPIX_Sched_test(req, &flag));
		CALL(MPIX_Sched_progress(m->ctx, &active));
		NEED(active == 0);
		for (int i = 0; i < n; i++)
			NEED(data[i] == e * 1000 + i);
	}
	CALL(MPIX_Sched_free(&req));
	NEED(!req);
	CALL(MPIX_Sched_free(&req));
	return 0;
}

static int life(struct member *m)
{
	int data[100], *many;

	if (live(m, data, 100))
		return 1;
	CALL(MPIX_Sched_alloc(m->ctx, 16384 * sizeof *many, (void **)&many));
	if (live(m, many, 16384))
		return 1;
	CALL(MPIX_Sched_dealloc(m->ctx, many));
	return 0;
}

/* A rank starts long after the others have sent it a message of private memory, and maybe the next one: ranks are up to an epoch
 * apart. */
static int late(struct member *m)
{
	const size_t sizes[] = { 100, 40000, 100000, 400000, 5000000 };
	MPIX_Sched s = case_load(m, team_bcast);
	char *data = malloc(5000000);

	NEED(s && data);
	for (size_t k = 0; k < ELEMENTS(sizes); k++) {
		void *buffers[] = { data };
		struct MPIX_Sched_bind b = case_bind(buffers, 1, sizes[k], MPIX_SCHED_BYTE);
		MPIX_Sched_request req;

		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		for (int e = 0; e < 10; e++) {
			memset(data, m->rank ? -1 : e, sizes[k]);
			if (m->rank && e % 3 == 0)
				usleep(10000);
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			for (size_t i = 0; i < sizes[k]; i++)
				NEED(data[i] == e);
		}
		CALL(MPIX_Sched_free(&req));
	}
	free(data);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static const char swap[] = "schedule swap\n"
			   "buffer in give[p * count]\n"
			   "buffer out take[p * count]\n"
			   "rank r of p {\n"
			   "  copy give[r * count +: count] into take[r * count +: count]\n"
			   "  for k = 1 to p - 1 {\n"
			   "    send give[(r + k) mod p * count +: count] to (r + k) mod p\n"
			   "    recv take[(r - k) mod p * count +: count] from (r - k) mod p\n"
			   "  }\n"
			   "}\n";

/* Long blocks, from memory that others can load, and not: a rank with an odd number receives before it copies its own, but not for long
 * if rank 0 is late. */
static int swapped(struct member *m)
{
	const size_t bytes = 600000, all = bytes * (size_t)m->size;
	MPIX_Sched s = case_load(m, swap);
	MPIX_Sched_request req;
	char *give[2] = { NULL, malloc(all) }, *take[2] = { NULL, malloc(all) };

	NEED(s && give[1] && take[1]);
	CALL(MPIX_Sched_alloc(m->ctx, all, (void **)&give[0]));
	CALL(MPIX_Sched_alloc(m->ctx, all, (void **)&take[0]));
	for (int private = 0; private < 2; private++) {
		char *in = give[private], *out = take[private];
		struct MPIX_Sched_bind b = case_bind((void *[]){ in, out }, 2, bytes, MPIX_SCHED_BYTE);

		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		for (int e = 0; e < 6; e++) {
			for (int k = 0; k < m->size; k++)
				memset(in + bytes * (size_t)k, e * 16 + m->rank * 4 + k, bytes);
			memset(out, -1, all);
			if (m->rank == 0 && e % 3 == 1)
				usleep(3000);
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			for (size_t i = 0; i < all; i++)
				NEED(out[i] == (char)(e * 16 + (int)(i / bytes) * 4 + m->rank));
		}
		CALL(MPIX_Sched_free(&req));
		if (private) {
			free(in);
			free(out);
		} else {
			CALL(MPIX_Sched_dealloc(m->ctx, in));
			CALL(MPIX_Sched_dealloc(m->ctx, out));
		}
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* True if ranks that share memory have a CPU each. */
static bool have_cpus(const struct member *m)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) >= m->size;
}

enum { LENT = 1500 };

/* Carries out an epoch of a bcast that rank 1 starts when rank 0 says so: after it has tested its own request some times, or if it is
 * to complete alone, has completed it. *flag: whether its last test has found it complete */
static int bcast_late(struct member *m, MPIX_Sched_request req, char *data, char x, bool alone, int *flag)
{
	char nothing = 0, all[TEAM_MAX];

	memset(data, m->rank ? -1 : x, LENT);
	*flag = 0;
	if (m->rank == 0) {
		CALL(MPIX_Sched_start(req));
		for (int i = 0; i < 100; i++)
			CALL(MPIX_Sched_request_get_status(req, flag, NULL));
		usleep(1000);
		if (alone) {
			CALL(MPIX_Sched_wait(req));
			memset(data, -2, LENT);
		}
	}
	NEED(team_allgather(&nothing, all, 1, m) == 0);
	if (m->rank)
		CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	for (int i = 0; i < LENT && (m->rank || !alone); i++)
		NEED(data[i] == x);
	NEED(team_allgather(&nothing, all, 1, m) == 0); /* rank 0 has credit for the next epoch */
	return 0;
}

/* A short message from the heap is lent to a rank that is on time. After it was late the sender completes alone, and so it does if it
 * is rebound to private memory. */
static int lent(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	char private[LENT], *heap;
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;
	int flag;

	NEED(s);
	CALL(MPIX_Sched_alloc(m->ctx, LENT, (void **)&heap));
	b = case_bind((void *[]){ heap }, 1, LENT, MPIX_SCHED_BYTE);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	NEED(bcast_late(m, req, heap, 1, false, &flag) == 0);
	NEED(!flag || !have_cpus(m));
	NEED(bcast_late(m, req, heap, 2, true, &flag) == 0);
	NEED(bcast_late(m, req, heap, 3, false, &flag) == 0);
	NEED(!flag || !have_cpus(m));
	NEED(bcast_late(m, req, heap, 4, true, &flag) == 0);
	NEED(bcast_late(m, req, heap, 5, true, &flag) == 0);
	CALL(MPIX_Sched_rebind(req, (void *[]){ m->rank ? heap : private }, 1));
	for (char x = 6; x < 10; x++)
		NEED(bcast_late(m, req, m->rank ? heap : private, x, true, &flag) == 0);
	CALL(MPIX_Sched_rebind(req, (void *[]){ heap }, 1));
	NEED(bcast_late(m, req, heap, 10, false, &flag) == 0);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, heap));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

enum { MANY = 6 };

/* Completes all requests with one of the functions that test or wait; `way` selects it. */
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
			if (!flag) /* all or none: even a complete request stays active */
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
			NEED(!reqs[i] || MPIX_Sched_start(reqs[i]) == MPIX_SCHED_ERR_STATE); /* the request stays active */
			CALL(MPIX_Sched_test(reqs[i], &flag));
			NEED(flag);
		}
	}
	/* Now no request is active. */
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
	MPIX_Sched s = case_load(m, team_ring);
	MPIX_Sched_group second;
	MPIX_Sched_request reqs[N], mixed[N + 1];
	int in[N][50], out[N][50];
	void *buffers[N][2];

	NEED(s);
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &second));
	for (int k = 0; k < N; k++) {
		buffers[k][0] = in[k];
		buffers[k][1] = out[k];
		struct MPIX_Sched_bind b = case_bind(buffers[k], 2, 50, MPIX_SCHED_INT32);

		CALL(MPIX_Sched_init(s, k % 2 ? second : m->group, &b, &reqs[k]));
	}
	CALL(MPIX_Sched_group_free(&second)); /* the requests keep the group */
	for (int e = 0; e < 126; e++) {
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
		NEED(complete_all(m, mixed, N + 1, (e + m->rank) % 7) == 0); /* each rank uses another function */
		for (int k = 0; k < N; k++)
			for (int i = 0; i < 50; i++)
				NEED(out[k][i] == (e * N + k) * 1000 + left * 50 + i);
	}
	for (int k = 0; k < N; k++)
		CALL(MPIX_Sched_free(&reqs[k]));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Binding and freeing again and again does not use up the heap. */
static int churn(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	static _Thread_local int data[20000];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 20000, MPIX_SCHED_INT32);

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

struct watch {
	struct member *m;
	int fd, rc;
};

/* Dumps a context in which another thread waits. */
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
	MPIX_Sched s = case_load(m, text);
	MPIX_Sched_group alone;
	MPIX_Sched_request req, other;
	int x[9] = { 0 }, fds[2], flag = 0;
	void *buffers[] = { x, NULL };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, 9, MPIX_SCHED_INT32);
	char got[4096], begin[64], nothing = 0, all[TEAM_MAX];
	ssize_t n;

	NEED(s && pipe(fds) == 0);
	b.builtin = MPIX_SCHED_SUM;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_dump(m->ctx, fds[1])); /* prints nothing, as no request is active */
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
		CALL(MPIX_Sched_wait(req)); /* waits for rank 1, which starts only after watch() has dumped */
		pthread_join(id, NULL);
		n = w.rc ? 0 : read(fds[0], got, sizeof got - 1);
		NEED(n > 0 && strncmp(got, "rank 0: d epoch 3: op 0, recv", 29) == 0);
	} else {
		NEED(team_allgather(&nothing, all, 1, m) == 0);
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	/* The dump names ranks of a subgroup by their numbers in the subgroup and in the whole group. */
	CALL(MPIX_Sched_group_split(m->group, m->rank > 0, -m->rank, &alone));
	NEED(case_bind_ring(m, alone, in, out, &other) == 0);
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
	NEED(MPIX_Sched_dump(m->ctx, -1) == MPIX_SCHED_ERR_SYS && case_detail_has(m, "write"));
	CALL(MPIX_Sched_wait(req));
	close(fds[0]);
	close(fds[1]);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

enum { AHEAD = 1, LINE = 4, LINES = 250 }; /* epochs; elements that fit in a line, or need several */

/* A rank that only sends completes an epoch once the receiver has started the one before. The receiver gets the data of each. */
static int ahead(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	char nothing = 0, all[TEAM_MAX];

	NEED(s);
	for (int n = LINE; n <= LINES; n += LINES - LINE) {
		int data[LINES];
		struct MPIX_Sched_bind b = case_bind((void *[]){ data }, 1, (size_t)n, MPIX_SCHED_INT32);
		MPIX_Sched_request req;
		int flag = 0;

		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		for (int e = 1; e <= AHEAD + 1 && m->rank == 0; e++) {
			for (int i = 0; i < n; i++)
				data[i] = e * n + i;
			CALL(MPIX_Sched_start(req));
			if (e <= AHEAD)
				CALL(MPIX_Sched_wait(req));
		}
		for (int i = 0; i < 100 && m->rank == 0; i++)
			CALL(MPIX_Sched_request_get_status(req, &flag, NULL));
		NEED(!flag);
		NEED(team_allgather(&nothing, all, 1, m) == 0);
		for (int e = 1; e <= AHEAD + 1 && m->rank; e++) {
			CALL(MPIX_Sched_start(req));
			CALL(MPIX_Sched_wait(req));
			for (int i = 0; i < n; i++)
				NEED(data[i] == e * n + i);
		}
		if (m->rank == 0)
			CALL(MPIX_Sched_wait(req));
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Ranks that each had a CPU when their group was made, but share one now, and later may part again. */
static int shares(struct member *m)
{
	static const char ring[] = "schedule ring\nbuffer in a[count]\nbuffer out b[count]\n"
				   "rank r of p { send a to (r + 1) mod p\n recv b from (r - 1) mod p }\n";
	MPIX_Sched s = case_load(m, ring);
	MPIX_Sched_request req;
	int a = 0, b = 0, first = 0;
	struct MPIX_Sched_bind bind = case_bind((void *[]){ &a, &b }, 2, 1, MPIX_SCHED_INT32);
	cpu_set_t mine, one;

	NEED(s);
	CALL(MPIX_Sched_init(s, m->group, &bind, &req));
	NEED(sched_getaffinity(0, sizeof mine, &mine) == 0);
	while (!CPU_ISSET(first, &mine))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	for (int e = 0; e < 600; e++) {
		if (e % 300 == 0)
			NEED(sched_setaffinity(0, sizeof mine, e ? &mine : &one) == 0);
		a = e * m->size + m->rank;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		NEED(b == e * m->size + (m->rank + m->size - 1) % m->size);
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Errors are returned for each request: one request is of a group that rank 1 has left, the other of an intact group. */
static int mixed_errors(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	MPIX_Sched_group second;
	MPIX_Sched_request reqs[2];
	int data[2][4] = { { 0 } }, flag = 0, count, indices[2], errors[2] = { -7, -7 }, error, done = 0;
	char nothing = 0, all[TEAM_MAX];

	NEED(s);
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &second));
	for (int k = 0; k < 2; k++) {
		void *buffers[] = { data[k] };
		struct MPIX_Sched_bind b = case_bind(buffers, 1, 4, MPIX_SCHED_INT32);

		CALL(MPIX_Sched_init(s, k ? second : m->group, &b, &reqs[k]));
	}
	CALL(MPIX_Sched_group_free(&second));
	if (m->rank == 1)
		CALL(MPIX_Sched_free(&reqs[1])); /* rank 1's last request in this group */
	for (int e = 0; e < 3; e++) { /* rank 0 only sends, so it may be ahead of the others */
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
		if (e == 1) { /* completes both requests, with or without an error */
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

/* Ranks that neither test nor wait get their data, and pass it on, if somebody calls MPIX_Sched_progress. */
static int helped(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	MPIX_Sched_request req;
	volatile int data[100];
	void *buffers[] = { (void *)data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 100, MPIX_SCHED_INT32);
	const double began = case_seconds();
	int active = -1;

	NEED(s);
	NEED(MPIX_Sched_progress(NULL, &active) == MPIX_SCHED_ERR_ARG);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_progress(m->ctx, &active));
	NEED(active == 0);
	for (int i = 0; i < 100; i++)
		data[i] = m->rank ? -1 : i;
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_progress(m->ctx, &active));
	NEED(active == 1);
	while (data[99] != 99) {
		CALL(MPIX_Sched_progress(m->ctx, NULL));
		NEED(case_seconds() - began < 30);
	}
	CALL(MPIX_Sched_progress(m->ctx, &active)); /* it may be complete, but no test or wait has said so */
	NEED(active == 1);
	CALL(MPIX_Sched_wait(req));
	CALL(MPIX_Sched_free(&req));
	return 0;
}

/* Binds that repeat one exchange no results. If one rank binds another message than before, and the others do not, all ranks get
 * the error, and later binds succeed again. Each rank frees its requests as soon as it can: others may not be connected yet. */
static int repeats(struct member *m)
{
	static const char text[] = "schedule s(local n)\n"
				   "buffer inout data[count]\n"
				   "rank r of p { if r == 0 { send data[0 +: n] to 1 } else if r == 1 { recv data[0 +: n] from 0 } }\n";
	MPIX_Sched s = case_load(m, text);
	int data[64];
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, 64, MPIX_SCHED_INT32);
	int64_t n;
	struct MPIX_Sched_param param = { "n", &n, 1 };
	MPIX_Sched_request req;

	NEED(s);
	b.params = &param;
	b.nparams = 1;
	for (int i = 0; i < 200; i++) {
		const bool differs = i % 5 == 4;

		n = 1 + i / 50 % 2 + (differs && m->rank == 1);
		data[0] = m->rank ? -1 : i;
		if (differs) {
			NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_MISMATCH && case_detail_has(m, "bytes"));
			continue;
		}
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		NEED(m->rank != 1 || data[0] == i);
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Binds and runs a schedule once: each rank gets the number of its distance-th neighbour to the left, in the first n elements. */
static int run_shift(struct member *m, MPIX_Sched s, size_t count, struct MPIX_Sched_param *param, int distance, int n)
{
	int a[4] = { 10 * m->rank + 1, 10 * m->rank + 2, 10 * m->rank + 3, 10 * m->rank + 4 }, b[4] = { 0 };
	void *buffers[] = { a, b };
	struct MPIX_Sched_bind bind = case_bind(buffers, 2, count, MPIX_SCHED_INT32);
	const int from = (m->rank + m->size - distance) % m->size;
	MPIX_Sched_request req;

	bind.params = param;
	bind.nparams = param != NULL;
	CALL(MPIX_Sched_init(s, m->group, &bind, &req));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	for (int i = 0; i < 4; i++)
		NEED(b[i] == (i < n ? 10 * from + i + 1 : 0));
	CALL(MPIX_Sched_free(&req));
	return 0;
}

/* An image keeps the ops of the last binds: they are those of the same arguments, and not of others. */
static int recalled(struct member *m)
{
	static const char one[] = "schedule one(k = 1)\nbuffer in a[count]\nbuffer out b[count]\n"
				  "rank r of p { send a to (r + k) mod p\n recv b from (r - k) mod p }\n";
	static const char two[] = "schedule two(w[2])\nbuffer in a[count]\nbuffer out b[count]\n"
				  "rank r of p { send a[0 +: w[1]] to (r + w[0]) mod p\n recv b[0 +: w[1]] from (r - w[0]) mod p }\n";
	MPIX_Sched s = case_load(m, one), t = case_load(m, two);

	NEED(s && t);
	for (int i = 0; i < 48; i++) {
		const int distance = i % 4 ? 1 + i / 2 % 2 : 1, n = 1 + i / 5 % 3;
		struct MPIX_Sched_param k = { "k", &(int64_t){ distance }, 1 };
		struct MPIX_Sched_param w = { "w", (int64_t[]){ distance, n }, 2 };

		if (run_shift(m, s, (size_t)n, i % 4 ? &k : NULL, distance, n) || run_shift(m, t, 4, &w, distance, n))
			return 1;
	}
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_unload(&t));
	return 0;
}

/* Passes a byte on and back, from rank `first` to the other one. */
static const char there_and_back[] =
	"schedule t(first = 0)\n"
	"buffer inout data[count]\n"
	"buffer inout back[count]\n"
	"rank r of p { if p == 2 {\n"
	"  if r == first { send data to 1 - r\n recv back from 1 - r }\n"
	"  else { got: recv data from 1 - r\n on: send data to 1 - r\n on requires got } } }\n";

/* A wait for requests of two contexts makes progress on both: each rank waits first for what the other one has yet to pass on. */
static int several_contexts(struct member *m)
{
	enum { N = 1 << 16 };
	char *data = calloc(4, N);
	MPIX_Sched_ctx other;
	MPIX_Sched_group group;
	MPIX_Sched_request reqs[2];

	NEED(data);
	CALL(MPIX_Sched_ctx_create(&other));
	CALL(MPIX_Sched_group_create(other, m->rank, m->size, team_allgather, m, &group));
	for (int i = 0; i < 2; i++) {
		const int64_t first = i;
		const struct MPIX_Sched_param param = { "first", &first, 1 };
		void *buffers[] = { data + 2 * i * N, data + (2 * i + 1) * N };
		struct MPIX_Sched_bind b = case_bind(buffers, 2, N, MPIX_SCHED_BYTE);
		MPIX_Sched s;

		b.params = &param;
		b.nparams = 1;
		CALL(MPIX_Sched_load_mem(i ? other : m->ctx, "there", there_and_back, strlen(there_and_back), &s));
		CALL(MPIX_Sched_init(s, i ? group : m->group, &b, &reqs[i == m->rank ? 0 : 1]));
		CALL(MPIX_Sched_unload(&s));
	}
	for (int e = 1; e <= 20; e++) {
		memset(data + 2 * m->rank * N, e, N);
		CALL(MPIX_Sched_startall(2, reqs));
		CALL(MPIX_Sched_waitall(2, reqs));
		NEED(data[(2 * m->rank + 1) * N] == e && data[(2 * m->rank + 2) * N - 1] == e);
	}
	CALL(MPIX_Sched_free(&reqs[0]));
	CALL(MPIX_Sched_free(&reqs[1]));
	CALL(MPIX_Sched_group_free(&group));
	CALL(MPIX_Sched_ctx_free(&other));
	free(data);
	return 0;
}

static const char add_own[] =
	"schedule add_own\n"
	"buffer inout data[count]\n"
	"buffer in add[count]\n"
	"rank r of p { reduce add into data }\n";

struct slow {
	MPIX_Sched_ctx ctx;
	MPIX_Sched_request req;
	_Atomic bool begun;
	int rc;
};

static void slow_op(const void *a, void *b, size_t n, void *arg)
{
	struct slow *s = arg;

	(void)a;
	(void)b;
	(void)n;
	atomic_store(&s->begun, true);
	usleep(100000);
}

static void *start_slow(void *arg)
{
	struct slow *s = arg;

	s->rc = MPIX_Sched_start(s->req) || MPIX_Sched_progress(s->ctx, NULL);
	return NULL;
}

/* Another thread makes progress on all requests of the context, and is held up, while an idle one is freed: nobody starts that. */
static int freed_beside(struct member *m)
{
	enum { N = 1 << 16 };
	struct slow slow = { .ctx = m->ctx };
	int *values = calloc(2, N); /* too many for a start to reduce them */
	void *heap, *own[] = { values, values + N / sizeof *values };
	struct MPIX_Sched_bind b = case_bind(own, 2, N / sizeof *values, MPIX_SCHED_INT32);
	MPIX_Sched_group self;
	MPIX_Sched_op op;
	MPIX_Sched_request req;
	MPIX_Sched s;
	pthread_t thread;

	NEED(values);
	CALL(MPIX_Sched_group_create(m->ctx, 0, 1, team_alone, NULL, &self));
	CALL(MPIX_Sched_op_create(m->ctx, slow_op, &slow, 1, &op));
	CALL(MPIX_Sched_load_mem(m->ctx, "add_own", add_own, strlen(add_own), &s));
	b.op = op;
	CALL(MPIX_Sched_init(s, self, &b, &slow.req));
	CALL(MPIX_Sched_unload(&s));
	s = case_load(m, team_chain);
	NEED(s);
	CALL(MPIX_Sched_alloc(m->ctx, N, &heap));
	b = case_bind(&heap, 1, N, MPIX_SCHED_BYTE);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e < 10; e++) {
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	memset(heap, 1 + m->rank, N);
	if (m->rank == 0)
		CALL(MPIX_Sched_start(req));
	NEED(team_meet(m) == 0);
	if (m->rank == 1) {
		NEED(pthread_create(&thread, NULL, start_slow, &slow) == 0);
		while (!atomic_load(&slow.begun))
			sched_yield();
		CALL(MPIX_Sched_free(&req));
		NEED(pthread_join(thread, NULL) == 0 && !slow.rc);
		NEED(*(char *)heap == 2);
		CALL(MPIX_Sched_wait(slow.req));
	} else {
		NEED(MPIX_Sched_wait(req) == MPIX_SCHED_ERR_DEAD); /* the peer has freed its request */
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_free(&slow.req));
	CALL(MPIX_Sched_op_free(&op));
	CALL(MPIX_Sched_unload(&s));
	CALL(MPIX_Sched_group_free(&self));
	free(values);
	return 0;
}

const struct test_case request_cases[] = {
	{ .name = "life", .fn = life, .sizes = { 1, 2, 5 } },
	{ .name = "late", .fn = late, .sizes = { 2, 3 } },
	{ .name = "swapped", .fn = swapped, .sizes = { 2, 3 } },
	{ .name = "lent", .fn = lent, .sizes = { 2 } },
	{ .name = "ahead", .fn = ahead, .sizes = { 2 } },
	{ .name = "shares", .fn = shares, .sizes = { 2, 3 } },
	{ .name = "many", .fn = many, .sizes = { 1, 3, 4 } },
	{ .name = "churn", .fn = churn, .sizes = { 3 } },
	{ .name = "repeats", .fn = repeats, .sizes = { 2, 5 } },
	{ .name = "recalled", .fn = recalled, .sizes = { 3, 4 } },
	{ .name = "helped", .fn = helped, .sizes = { 1, 2, 5 } },
	{ .name = "dump", .fn = dump, .sizes = { 3 } },
	{ .name = "mixed_errors", .fn = mixed_errors, .sizes = { 2 } },
	{ .name = "several_contexts", .fn = several_contexts, .sizes = { 2 } },
	{ .name = "freed_beside", .fn = freed_beside, .sizes = { 2 } },
	{ .name = NULL },
};
