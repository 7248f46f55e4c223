/* SPDX-License-Identifier: BSD-3-Clause
 * Cases of bound memory: the heap, rebinding, and buffers in place. */
#include "tests/rt/cases/cases.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Memory cannot be freed while a request is bound to it. */
static int bound_heap(struct member *m)
{
	MPIX_Sched s = case_load(m, team_bcast);
	void *p;
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;

	NEED(s);
	CALL(MPIX_Sched_alloc(m->ctx, 400, &p));
	b = case_bind(&p, 1, 100, MPIX_SCHED_INT32);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	NEED(MPIX_Sched_dealloc(m->ctx, p) == MPIX_SCHED_ERR_STATE);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, p));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Memory that is freed is allocated again, from the lowest address that has room, and no two blocks overlap. */
static int reused_heap(struct member *m)
{
	enum { BLOCKS = 40 };
	unsigned char *block[BLOCKS] = { 0 };
	size_t size[BLOCKS] = { 0 };
	unsigned seed = (unsigned)m->rank + 1;
	void *lowest, *again;

	CALL(MPIX_Sched_alloc(m->ctx, 1, &lowest));
	for (int turn = 0; turn < 4000; turn++) {
		const int k = rand_r(&seed) % BLOCKS;

		for (size_t i = 0; i < size[k]; i++)
			NEED(block[k][i] == k + 1);
		if (size[k]) {
			CALL(MPIX_Sched_dealloc(m->ctx, block[k]));
			size[k] = 0;
			continue;
		}
		size[k] = 1 + (size_t)rand_r(&seed) % 700;
		CALL(MPIX_Sched_alloc(m->ctx, size[k], (void **)&block[k]));
		memset(block[k], k + 1, size[k]);
	}
	CALL(MPIX_Sched_dealloc(m->ctx, lowest));
	CALL(MPIX_Sched_alloc(m->ctx, 1, &again));
	NEED(again == lowest);
	CALL(MPIX_Sched_dealloc(m->ctx, again));
	for (int k = 0; k < BLOCKS; k++)
		if (size[k])
			CALL(MPIX_Sched_dealloc(m->ctx, block[k]));
	return 0;
}

/* Blocks from 4 KiB on begin with a page, and short ones have the room between them. */
static int heap_pages(struct member *m)
{
	enum { BLOCKS = 12 };
	char *block[BLOCKS], *between, *again;
	const size_t size = 4096;

	for (size_t k = 0; k < BLOCKS; k++) {
		CALL(MPIX_Sched_alloc(m->ctx, size + 100 * k, (void **)&block[k]));
		NEED((uintptr_t)block[k] % 4096 == 0);
		for (size_t i = 0; i < size + 100 * k; i++)
			NEED(block[k][i] == 0);
		memset(block[k], -1, size + 100 * k);
	}
	CALL(MPIX_Sched_alloc(m->ctx, 700, (void **)&between));
	NEED(between < block[BLOCKS - 1]);
	CALL(MPIX_Sched_dealloc(m->ctx, between));
	CALL(MPIX_Sched_dealloc(m->ctx, block[3]));
	CALL(MPIX_Sched_dealloc(m->ctx, block[4]));
	CALL(MPIX_Sched_alloc(m->ctx, size + 400, (void **)&again));
	NEED(again == block[3]);
	CALL(MPIX_Sched_alloc(m->ctx, size, (void **)&block[4]));
	NEED(block[4] > block[3] && block[4] < block[5] && (uintptr_t)block[4] % 4096 == 0);
	for (size_t i = 0; i < size; i++)
		NEED(block[4][i] == 0);
	for (size_t k = 0; k < BLOCKS; k++)
		CALL(MPIX_Sched_dealloc(m->ctx, block[k]));
	CALL(MPIX_Sched_alloc(m->ctx, BLOCKS * size, (void **)&again));
	NEED(again <= block[1]); /* what was between them is one piece again */
	CALL(MPIX_Sched_dealloc(m->ctx, again));
	return 0;
}

/* The memory of requests is counted when they are bound, and stays counted. A caller with the struct of an older version gets
 * only its fields. */
static int counted_memory(struct member *m)
{
	struct MPIX_Sched_stats before = { .struct_size = sizeof before }, bound = before, after = before, old = before;
	MPIX_Sched s = case_load(m, team_bcast);
	int data[100] = { 0 };
	void *p = data;
	struct MPIX_Sched_bind b;
	MPIX_Sched_request req;

	NEED(s);
	CALL(MPIX_Sched_stats(m->ctx, &before));
	b = case_bind(&p, 1, 100, MPIX_SCHED_INT32);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_stats(m->ctx, &bound));
	NEED(bound.requests == before.requests + 1 && bound.shared_bytes > before.shared_bytes &&
	     bound.private_bytes > before.private_bytes && bound.scratch_bytes == before.scratch_bytes);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_stats(m->ctx, &after));
	NEED(!memcmp(&after, &bound, sizeof after));
	old.struct_size = offsetof(struct MPIX_Sched_stats, requests);
	CALL(MPIX_Sched_stats(m->ctx, &old));
	NEED(old.struct_size == offsetof(struct MPIX_Sched_stats, requests) && !old.requests && !old.shared_bytes);
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* Ranks rebind at random times, independently, to one of two buffers in the heap and two in private memory. */
static int rebind(struct member *m)
{
	const size_t counts[] = { 7, 3000, 10000, 1 << 18 };
	const int left = (m->rank + m->size - 1) % m->size;
	MPIX_Sched s = case_load(m, team_ring);
	unsigned seed = (unsigned)m->rank + 1;

	NEED(s);
	for (size_t c = 0; c < ELEMENTS(counts); c++) {
		size_t n = counts[c];
		int *place[4];
		void *buffers[2];
		struct MPIX_Sched_bind b = case_bind(buffers, 2, n, MPIX_SCHED_INT32);
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
			/* A third of the ranks never rebinds; the others do so often, and then seldom, so that starts become brief. */
			if (m->rank % 3 != 2 && rand_r(&seed) % 6 < (e / 50 % 2 ? 1 : 4)) {
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
		/* Only memory that is not bound can be freed; a failed rebind changes nothing. */
		buffers[0] = place[0];
		buffers[1] = place[1];
		CALL(MPIX_Sched_rebind(req, buffers, 2));
		NEED(MPIX_Sched_dealloc(m->ctx, place[0]) == MPIX_SCHED_ERR_STATE);
		CALL(MPIX_Sched_dealloc(m->ctx, place[2]));
		NEED(MPIX_Sched_rebind(req, buffers, 1) == MPIX_SCHED_ERR_ARG && case_detail_has(m, "theirs is not given"));
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

/* Rebinds with a scratch buffer, a reduction, and a datatype that has holes on some ranks. */
static int rebind_strided(struct member *m)
{
	enum { N = 2000 };
	const int64_t offset[] = { 4, 12 };
	const size_t length[] = { 1, 1 };
	MPIX_Sched s = case_load(m, case_fold);
	MPIX_Sched_type type;
	MPIX_Sched_request req;
	int32_t *place[3];
	void *buffers[2] = { NULL, NULL };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, N, MPIX_SCHED_BYTE);
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
			if (m->rank % 2 && i % 2 == 0) /* a hole keeps its value */
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

/* Private memory that the receiver cannot read needs a copy in the heap. If there is no room for it, rebinding fails and the
 * request stays bound to the old buffers. */
static int rebind_no_memory(struct member *m)
{
	enum { N = 3 << 19 };
	const bool staged = getenv("GOAL_SHM_DIRECT") != NULL;
	MPIX_Sched s = case_load(m, team_ring);
	int *in = NULL, *out = NULL, *private = calloc(N, sizeof *private);
	void *buffers[2];
	struct MPIX_Sched_bind b = case_bind(buffers, 2, N, MPIX_SCHED_INT32);
	MPIX_Sched_request req;
	struct rlimit old, none;
	int rc;

	NEED(s && private);
	CALL(MPIX_Sched_alloc(m->ctx, N * sizeof *in, (void **)&in));
	CALL(MPIX_Sched_alloc(m->ctx, N * sizeof *out, (void **)&out));
	buffers[0] = in;
	buffers[1] = out;
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	if (getpid() != case_main_pid && staged) { /* threads need no copy, and a limit applies to a whole process */
		NEED(getrlimit(RLIMIT_FSIZE, &old) == 0);
		none = (struct rlimit){ 4096, old.rlim_max };
		signal(SIGXFSZ, SIG_IGN);
		NEED(setrlimit(RLIMIT_FSIZE, &none) == 0);
		buffers[0] = private;
		rc = MPIX_Sched_rebind(req, buffers, 2);
		NEED(setrlimit(RLIMIT_FSIZE, &old) == 0);
		NEED(rc == MPIX_SCHED_ERR_NOMEM && case_detail_has(m, "no 6291456 bytes of shared memory"));
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

/* The page faults of this thread so far. */
static long faults(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) ? -1 : u.ru_minflt;
}

/* Binding touches no scratch memory, also where an earlier request had it. */
static int scratch_untouched(struct member *m)
{
	enum { N = 1 << 22, PAGES = N * sizeof(int) / 4096 };
	MPIX_Sched s = case_load(m, case_fold);
	void *data = calloc(N, sizeof(int)), *buffers[] = { data, NULL };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, N, MPIX_SCHED_INT32);
	MPIX_Sched_request req;

	NEED(s && data);
	b.builtin = MPIX_SCHED_SUM;
	for (int k = 0; k < 2; k++) {
		const long before = faults();

		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		NEED(faults() - before < PAGES / 4);
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_unload(&s));
	free(data);
	return 0;
}

/* The first starts of requests make few pages for slots, although their rings are deep: a third of what as many slots would have, at most. */
static int rings_grow(struct member *m)
{
	enum { N = 8192, REQUESTS = 8, STARTS = 100 };
	MPIX_Sched s = case_load(m, team_bcast);
	void *data = calloc(N, 1);
	struct MPIX_Sched_bind b = case_bind(&data, 1, N, MPIX_SCHED_BYTE);
	MPIX_Sched_request req[REQUESTS];
	void *pages = mmap(NULL, N * STARTS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long before, all;

	NEED(s && data && pages != MAP_FAILED);
	before = faults();
	memset(pages, 1, N * STARTS);
	all = faults() - before;
	munmap(pages, N * STARTS);
	for (int k = 0; k < REQUESTS; k++)
		CALL(MPIX_Sched_init(s, m->group, &b, &req[k]));
	before = faults();
	for (int k = 0; k < REQUESTS; k++)
		for (int i = 0; i < STARTS; i++) {
			CALL(MPIX_Sched_start(req[k]));
			CALL(MPIX_Sched_wait(req[k]));
		}
	NEED(3 * (faults() - before) < all * REQUESTS);
	for (int k = 0; k < REQUESTS; k++)
		CALL(MPIX_Sched_free(&req[k]));
	CALL(MPIX_Sched_unload(&s));
	free(data);
	return 0;
}

/* Start leaves a large copy to wait. */
static int start_copies_little(struct member *m)
{
	static const char text[] = "schedule s\nbuffer in mine[count]\nbuffer out theirs[count]\n"
				   "rank r of p { copy mine into theirs }\n";
	const size_t counts[] = { 4096, 4097, 1 << 20 };
	MPIX_Sched s = case_load(m, text);
	const char *progress = getenv("GOAL_PROGRESS");
	const bool alone = !progress || !strcmp(progress, "app");

	NEED(s);
	for (size_t c = 0; c < ELEMENTS(counts); c++) {
		const size_t n = counts[c];
		char *mine = malloc(n), *theirs = calloc(1, n);
		void *buffers[] = { mine, theirs };
		struct MPIX_Sched_bind b = case_bind(buffers, 2, n, MPIX_SCHED_BYTE);
		MPIX_Sched_request req;

		NEED(mine && theirs);
		memset(mine, 1 + m->rank, n);
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		CALL(MPIX_Sched_start(req));
		if (alone)
			NEED(theirs[n - 1] == (n > 4096 ? 0 : 1 + m->rank));
		CALL(MPIX_Sched_wait(req));
		NEED(!memcmp(mine, theirs, n));
		CALL(MPIX_Sched_free(&req));
		free(mine);
		free(theirs);
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* The memory of a message is unmapped before it is read. The reader gets an error, and so does the sender; if the sender, which copies
 * as well, is the first, the reader learns that it is gone. */
static int vanished(struct member *m)
{
	enum { N = 1 << 18 };
	MPIX_Sched s;
	void *buffers[1] = { NULL };
	struct MPIX_Sched_bind b = case_bind(buffers, 1, N, MPIX_SCHED_INT32);
	MPIX_Sched_request req;
	const char *backend = getenv("GOAL_BACKEND");
	const bool kept = backend && !strcmp(backend, "verbs"); /* registered memory is kept */
	int rc;

	if (getpid() == case_main_pid || getenv("GOAL_SHM_DIRECT")) /* else a rank itself reads unmapped memory */
		return 0;
	s = case_load(m, team_bcast);
	buffers[0] = mmap(NULL, N * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(s && buffers[0] != MAP_FAILED);
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	CALL(MPIX_Sched_start(req)); /* it may go through slots */
	CALL(MPIX_Sched_wait(req));
	if (m->rank == 0)
		munmap(buffers[0], N * sizeof(int));
	CALL(MPIX_Sched_start(req));
	rc = MPIX_Sched_wait(req);
	if (kept)
		NEED(rc == 0);
	else if (m->rank == 0)
		NEED(rc != 0);
	else
		NEED(rc == MPIX_SCHED_ERR_DEAD ||
		     (rc == MPIX_SCHED_ERR_SYS && case_detail_has(m, "process_vm_readv from rank 0: Bad address")));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

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
	MPIX_Sched s = case_load(m, gather_text);
	int mine[5], all[5 * TEAM_MAX], other[5 * TEAM_MAX];
	void *buffers[2] = { mine, all };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, 5, MPIX_SCHED_INT32);
	MPIX_Sched_request req;

	NEED(s);
	b.params = params;
	b.nparams = 2;
	for (int way = 0; way < 2; way++) { /* 1: the root is in place; the other ranks never are */
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
		/* Rebinding cannot change whether a buffer is in place. */
		buffers[0] = way && is_root ? mine : MPIX_SCHED_IN_PLACE;
		NEED(MPIX_Sched_rebind(req, buffers, 2) == MPIX_SCHED_ERR_ARG &&
		     case_detail_has(m, way && is_root ? "mine was bound in place" : "mine was not bound in place"));
		CALL(MPIX_Sched_free(&req));
	}
	/* A buffer cannot be in place if the schedule does not allow it. */
	buffers[0] = is_root ? mine : MPIX_SCHED_IN_PLACE;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == (m->size > 1 ? MPIX_SCHED_ERR_ARG : 0));
	if (m->size > 1)
		NEED(case_detail_has(m, "the buffer mine cannot be in place on this rank"));
	else
		CALL(MPIX_Sched_free(&req));
	buffers[0] = mine;
	buffers[1] = MPIX_SCHED_IN_PLACE;
	NEED(MPIX_Sched_init(s, m->group, &b, &req) == MPIX_SCHED_ERR_ARG &&
	     case_detail_has(m, "the buffer all cannot be in place"));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* A rank that only sends rebinds from the heap to private memory, and then does nothing but wait. */
static int rebind_sender(struct member *m)
{
	enum { N = 1 << 16 };
	MPIX_Sched s = case_load(m, team_chain);
	char *private = calloc(1, N), *data;
	void *heap;
	struct MPIX_Sched_bind b = case_bind(&heap, 1, N, MPIX_SCHED_BYTE);
	MPIX_Sched_request req;

	NEED(s && private);
	CALL(MPIX_Sched_alloc(m->ctx, N, &heap));
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	data = m->rank ? heap : private;
	for (int e = 0; e < 20; e++) {
		if (e == 1 && !m->rank)
			CALL(MPIX_Sched_rebind(req, (void *[]){ private }, 1));
		memset(data, m->rank ? 0 : e, N);
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		NEED(!e || (data[0] == e && data[N - 1] == e));
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, heap));
	CALL(MPIX_Sched_unload(&s));
	free(private);
	return 0;
}

const struct test_case memory_cases[] = {
	{ .name = "rebind", .fn = rebind, .sizes = { 1, 2, 4 } },
	{ .name = "rebind_sender", .fn = rebind_sender, .sizes = { 2 } },
	{ .name = "rebind_strided", .fn = rebind_strided, .sizes = { 2, 3 }, .reduces = true },
	{ .name = "rebind_no_memory", .fn = rebind_no_memory, .sizes = { 2 } },
	{ .name = "scratch_untouched", .fn = scratch_untouched, .sizes = { 2 } },
	{ .name = "rings_grow", .fn = rings_grow, .sizes = { 2 } },
	{ .name = "start_copies_little", .fn = start_copies_little, .sizes = { 1, 2 } },
	{ .name = "vanished", .fn = vanished, .sizes = { 2 } },
	{ .name = "counted_memory", .fn = counted_memory, .sizes = { 1, 3 } },
	{ .name = "reused_heap", .fn = reused_heap, .sizes = { 1, 2 } },
	{ .name = "heap_pages", .fn = heap_pages, .sizes = { 1, 2 } },
	{ .name = "bound_heap", .fn = bound_heap, .sizes = { 1, 3 } },
	{ .name = "in_place", .fn = in_place, .sizes = { 1, 2, 4 } },
	{ .name = NULL },
};
