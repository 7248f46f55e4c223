/* SPDX-License-Identifier: BSD-3-Clause
 * crowd processes|threads: three ranks on two CPUs, of which ranks 1 and 2 share one. Rank 1 waits for a message. It spins before it
 * first yields if the message comes from rank 0, although rank 2 has not started; it yields at once if it comes from rank 2. A function
 * that chooses how to wait is called where the rank would yield, and learns how long it has spun. Prints a line. */
#include "tests/rt/team.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPINS 48u /* a rank that spins does so for longer, one that yields at once does not come that far */

static const char from[] = "schedule from(root = 0)\nbuffer in a[count]\nbuffer out b[count]\nrank r of p {\n"
			   "  assert p == 3 and root != 1, \"rank 1 receives\"\n"
			   "  if r == root { send a to 1 }\n  if r == 1 { recv b from root }\n}\n";

static cpu_set_t cpus[2];
static struct shared {
	_Atomic uint64_t first; /* 1 + iterations before the first yield of the wait under way; 0: not yet */
} *shared;

static enum MPIX_Sched_way note_first(const struct MPIX_Sched_energy_info *info, void *arg)
{
	uint64_t none = 0;

	(void)arg;
	atomic_compare_exchange_strong(&shared->first, &none, 1 + info->iterations);
	return MPIX_SCHED_YIELD;
}

static int receive(struct member *m, MPIX_Sched_request req, bool here)
{
	uint64_t first;

	atomic_store(&shared->first, 0);
	if (team_meet(m))
		return 1;
	CALL(MPIX_Sched_energy_handler_reg(m->ctx, note_first, NULL));
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	CALL(MPIX_Sched_energy_handler_dereg(m->ctx));
	first = atomic_load(&shared->first);
	if ((first <= SPINS) != here)
		fprintf(stderr, "crowd: from rank %d the first yield came after %d iterations\n", here ? 2 : 0, (int)first - 1);
	return first == 0 || (first <= SPINS) != here;
}

/* Sends once rank 1 has come to its first yield. */
static int send(struct member *m, MPIX_Sched_request req)
{
	if (team_meet(m))
		return 1;
	for (int i = 0; !atomic_load(&shared->first); i++) {
		NEED(i < 20000);
		usleep(1000);
	}
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	return 0;
}

static int message_from(struct member *m, int root)
{
	int32_t *a, *b;
	void *buffers[2];
	const int64_t value = root;
	const struct MPIX_Sched_param param = { .name = "root", .value = &value, .n = 1 };
	const struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					      .buffers = buffers,
					      .nbuffers = 2,
					      .count = 1,
					      .basic = MPIX_SCHED_INT32,
					      .params = &param,
					      .nparams = 1 };
	MPIX_Sched_request req;
	MPIX_Sched s;
	int bad;

	CALL(MPIX_Sched_alloc(m->ctx, sizeof *a, (void **)&a));
	CALL(MPIX_Sched_alloc(m->ctx, sizeof *b, (void **)&b));
	buffers[0] = a;
	buffers[1] = b;
	*a = 1000 + root;
	*b = 0;
	CALL(MPIX_Sched_load_mem(m->ctx, "from", from, strlen(from), &s));
	CALL(MPIX_Sched_init(s, m->group, &bind, &req));
	CALL(MPIX_Sched_unload(&s));
	if (m->rank == 1)
		bad = receive(m, req, root == 2) || *b != 1000 + root;
	else
		bad = m->rank == root ? send(m, req) : team_meet(m);
	bad |= team_meet(m);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_dealloc(m->ctx, a));
	CALL(MPIX_Sched_dealloc(m->ctx, b));
	return bad;
}

static int crowd(struct member *m)
{
	sched_setaffinity(0, sizeof cpus[0], &cpus[m->rank != 0]);
	for (int i = 0; i < 4; i++)
		if (message_from(m, i % 2 ? 2 : 0))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	cpu_set_t all = { 0 }, two = { 0 };
	int n = 0, bad;

	if (argc < 2)
		return 2;
	sched_getaffinity(0, sizeof all, &all);
	for (int c = 0; c < CPU_SETSIZE && n < 2; c++)
		if (CPU_ISSET(c, &all)) {
			CPU_SET(c, &cpus[n++]);
			CPU_SET(c, &two);
		}
	if (n < 2) {
		printf("skip wait.crowd.%s there is one CPU\n", argv[1]);
		return 0;
	}
	sched_setaffinity(0, sizeof two, &two); /* more ranks than CPUs */
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	bad = team_run(3, !strcmp(argv[1], "threads"), crowd, NULL);
	printf("%s wait.crowd.%s\n", bad ? "FAIL" : "ok", argv[1]);
	return bad;
}
