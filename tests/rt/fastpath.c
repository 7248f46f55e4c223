/* SPDX-License-Identifier: BSD-3-Clause
 * fastpath: starts and waits whose peers have come already, between two calls of getppid() that a tracer
 * can see. Counts allocations itself. */
#include "tests/rt/team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
static _Atomic long allocations;

__attribute__((visibility("default"))) void *malloc(size_t n)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(n);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t s)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(n, s);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(p, n);
}

__attribute__((visibility("default"))) void free(void *p)
{
	atomic_fetch_add(&allocations, 1);
	__libc_free(p);
}

static const char text[] = "schedule s\nbuffer inout data[count]\n"
			   "rank r of p { assert p == 2, \"for two ranks\"; if r == 0 { send data to 1 } else { recv data from 0 } }\n";

static _Atomic int *turn; /* shared by both */

/* Waits without a system call until it is step n's turn. */
static void until(int n)
{
	while (atomic_load(turn) < n)
		;
}

static int run(struct member *m)
{
	size_t counts[] = { 8, 1000, 1 << 20 };

	for (int c = 0; c < 3; c++) {
		void *data;
		MPIX_Sched s;
		MPIX_Sched_request req;
		long before;

		CALL(MPIX_Sched_load_mem(m->ctx, "s", text, strlen(text), &s));
		CALL(MPIX_Sched_alloc(m->ctx, counts[c], &data));
		struct MPIX_Sched_bind b = { .struct_size = sizeof b,
					     .buffers = &data,
					     .nbuffers = 1,
					     .count = counts[c] };
		CALL(MPIX_Sched_init(s, m->group, &b, &req));
		NEED(atomic_load(&allocations) > 10); /* the library's are counted */
		memset(data, 1, counts[c]);
		for (int e = 0; e < 100; e++) {
			int base = (c * 100 + e) * 4 + 1;

			/* The receiver starts, the sender starts, the receiver waits, the sender waits. */
			if (e == 1) { /* pages are there, and lines */
				before = atomic_load(&allocations);
				getppid();
			}
			until(base + (m->rank ? 0 : 1));
			CALL(MPIX_Sched_start(req));
			atomic_fetch_add(turn, 1);
			until(base + (m->rank ? 2 : 3));
			CALL(MPIX_Sched_wait(req));
			atomic_fetch_add(turn, 1);
		}
		getppid();
		before = atomic_load(&allocations) - before;
		printf("rank %d, %zu bytes: %ld allocations\n", m->rank, counts[c], before);
		NEED(before == 0);
		CALL(MPIX_Sched_free(&req));
		CALL(MPIX_Sched_dealloc(m->ctx, data));
		CALL(MPIX_Sched_unload(&s));
		fflush(stdout);
	}
	return 0;
}

int main(void)
{
	int bad;

	turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_store(turn, 1);
	bad = team_run(2, false, run, NULL);
	return bad != 0;
}
