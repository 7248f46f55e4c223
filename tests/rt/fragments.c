/* SPDX-License-Identifier: BSD-3-Clause
 * fragments processes|threads: large copies that a communication core and a rank share, which reaches its wait after a
 * random delay. Prints a line for each test. */
#include "tests/rt/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)16 << 20)
#define WORDS (BYTES / sizeof(uint64_t))
#define LEAST 6 /* starts */
#define MOST 150 /* of them, until both have had a part */

static const char text[] = "schedule s\n"
			   "buffer in mine[count]\nbuffer out twin[count]\nbuffer out came[count]\n"
			   "rank r of p {\n"
			   "  copy mine into twin\n"
			   "  send mine to (r + 1) mod p\n  recv came from (r - 1) mod p\n"
			   "}\n";

static uint64_t word(int rank, int epoch, size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)(rank * 1000 + epoch);
}

static size_t differ(const uint64_t *at, int rank, int epoch)
{
	size_t bad = 0;

	for (size_t i = 0; i < WORDS; i++)
		bad += at[i] != word(rank, epoch, i);
	return bad;
}

static _Atomic unsigned *shares; /* bit 0: a core has copied, bit 1: a rank; of all processes */

static int run(struct member *m)
{
	unsigned seed = (unsigned)m->rank + 1;
	void *buffers[3];
	uint64_t *mine, before = 0;
	MPIX_Sched_request req;
	MPIX_Sched schedule;

	CALL(MPIX_Sched_load_mem(m->ctx, "s", text, strlen(text), &schedule));
	for (int i = 0; i < 3; i++)
		CALL(MPIX_Sched_alloc(m->ctx, BYTES, &buffers[i]));
	struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = buffers, .nbuffers = 3, .count = BYTES };
	CALL(MPIX_Sched_init(schedule, m->group, &b, &req));
	mine = buffers[0];
	for (int e = 1, all[TEAM_MAX] = { 0 }; e <= LEAST || (e <= MOST && all[0] != 3); e++) {
		struct MPIX_Sched_stats s = { .struct_size = sizeof s };
		int share;

		for (size_t i = 0; i < WORDS; i++)
			mine[i] = word(m->rank, e, i);
		memset(buffers[1], 0, BYTES);
		memset(buffers[2], 0, BYTES);
		CALL(MPIX_Sched_start(req));
		seed = seed * 1664525u + 1013904223u;
		if (seed >> 31)
			usleep((seed >> 8) % 4000);
		CALL(MPIX_Sched_wait(req));
		NEED(differ(buffers[1], m->rank, e) == 0);
		NEED(differ(buffers[2], (m->rank + m->size - 1) % m->size, e) == 0);
		CALL(MPIX_Sched_stats(m->ctx, &s));
		NEED(s.copied_core + s.copied_joined - before <= 2 * BYTES); /* nothing twice */
		before = s.copied_core + s.copied_joined;
		atomic_fetch_or(shares, (s.copied_core ? 1 : 0) | (s.copied_joined ? 2 : 0));
		share = (int)atomic_load(shares);
		NEED(!team_allgather(&share, all, sizeof share, m)); /* all start as often as rank 0 */
	}
	NEED(before > 0);
	CALL(MPIX_Sched_free(&req));
	for (int i = 0; i < 3; i++)
		CALL(MPIX_Sched_dealloc(m->ctx, buffers[i]));
	CALL(MPIX_Sched_unload(&schedule));
	return 0;
}

int main(int argc, char **argv)
{
	const bool threads = argc > 1 && !strcmp(argv[1], "threads");
	int bad;

	shares = mmap(NULL, sizeof *shares, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setenv("GOAL_PROGRESS", "thread", 1);
	setenv("GOAL_FRAGMENT", "16", 1);
	bad = team_run(2, threads, run, NULL);
	printf("%s fragments.bytes %s\n", bad ? "FAIL" : "ok", argc > 1 ? argv[1] : "processes");
	/* Where one CPU is all there is, a rank may never come in between. */
	if (!bad)
		printf("%s fragments.shared\n", atomic_load(shares) == 3 ? "ok" : "skip");
	return bad != 0;
}
